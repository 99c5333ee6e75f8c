//! Polynomial mutation within bounds.

/// Polynomial mutation with its exponents worked out (K. Deb, M. Goyal: *A combined genetic adaptive search (`GeneAS`) for
/// engineering design*, Computer Science and Informatics 26(4), 1996).
#[derive(Debug)]
pub(super) struct Polynomial {
    exponent: f64,
    inverse: f64,
    /// The exponent, if it is a whole number: multiplying costs less than a general power.
    whole: Option<i32>,
}

impl Polynomial {
    pub(super) fn new(index: f64) -> Self {
        let exponent = index + 1.0;
        let whole = (exponent.fract().abs() < f64::EPSILON && exponent < 256.0).then_some(exponent as i32);
        Self {
            exponent,
            inverse: 1.0 / exponent,
            whole,
        }
    }

    #[inline]
    fn power(&self, base: f64) -> f64 {
        self.whole
            .map_or_else(|| base.powf(self.exponent), |whole| power(base, whole))
    }

    /// `value` moved by the random number `u` from 0 to 1.
    pub(super) fn mutate(&self, value: f64, lower: f64, upper: f64, u: f64) -> f64 {
        let range = upper - lower;
        let shift = if u < 0.5 {
            let rest = 1.0 - (value - lower) / range;
            (2.0 * u + (1.0 - 2.0 * u) * self.power(rest)).powf(self.inverse) - 1.0
        } else {
            let rest = 1.0 - (upper - value) / range;
            1.0 - (2.0 * (1.0 - u) + (2.0 * u - 1.0) * self.power(rest)).powf(self.inverse)
        };
        (value + shift * range).max(lower).min(upper)
    }
}

/// `base` to a whole power by squaring. `powi` may differ between platforms; this does not.
fn power(mut base: f64, mut exponent: i32) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::*;

    #[test]
    fn the_extreme_draws_reach_the_bounds_and_the_middle_stays() {
        let p = Polynomial::new(20.0);
        assert_abs_diff_eq!(p.mutate(0.3, 0.0, 1.0, 0.0), 0.0, epsilon = 1e-12);
        assert_abs_diff_eq!(p.mutate(0.3, 0.0, 1.0, 1.0), 1.0, epsilon = 1e-12);
        assert_abs_diff_eq!(p.mutate(0.3, 0.0, 1.0, 0.5), 0.3, epsilon = 1e-12);
    }

    #[test]
    fn a_larger_draw_moves_further_up() {
        let p = Polynomial::new(5.0);
        let moved: Vec<f64> = (0..=20)
            .map(|i| p.mutate(2.0, 1.0, 5.0, f64::from(i) / 20.0))
            .collect();
        assert!(moved.windows(2).all(|w| w[0] <= w[1]));
    }
}
