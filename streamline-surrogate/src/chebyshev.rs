//! Weighted polynomial least squares on a scaled Chebyshev basis.

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use crate::SurrogateError;

/// More than any decomposition of a few columns needs.
const MAX_SWEEPS: usize = 10_000;

/// A polynomial in Chebyshev form over an interval.
///
/// The argument is scaled to −1 to 1 over the interval, where Chebyshev polynomials are nearly orthogonal: the
/// condition number of the basis stays near 2 at any degree, while raw powers reach 10⁸ at degree 5.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Chebyshev {
    low: f64,
    high: f64,
    coefficients: Vec<f64>,
}

impl Chebyshev {
    /// The polynomial of `degree` that minimises `Σ weight · (y − f(x))²`, solved by a singular value decomposition.
    pub(crate) fn fit(
        [low, high]: [f64; 2],
        degree: usize,
        points: &[(f64, f64)],
        weights: &[f64],
    ) -> Result<Self, SurrogateError> {
        let mut polynomial = Self {
            low,
            high,
            coefficients: vec![0.0; degree + 1],
        };
        let mut matrix = DMatrix::zeros(points.len(), degree + 1);
        let mut target = DVector::zeros(points.len());
        for (row, (&(x, y), &weight)) in points.iter().zip(weights).enumerate() {
            let root = weight.sqrt();
            target[row] = root * y;
            let x = polynomial.scaled(x);
            let (mut this, mut next) = (1.0, x);
            for column in 0..=degree {
                matrix[(row, column)] = root * this;
                (this, next) = (next, 2.0 * x * next - this);
            }
        }
        // The decomposition panics on numbers that are not finite.
        if !matrix.iter().chain(target.iter()).all(|value| value.is_finite()) {
            return Err(SurrogateError::Unsolvable);
        }
        let solution = matrix
            .try_svd(true, true, f64::EPSILON, MAX_SWEEPS)
            .ok_or(SurrogateError::Unsolvable)?
            .solve(&target, 1e-12)
            .map_err(|_| SurrogateError::Unsolvable)?;
        if !solution.iter().all(|value| value.is_finite()) {
            return Err(SurrogateError::Unsolvable);
        }
        polynomial.coefficients = solution.iter().copied().collect();
        Ok(polynomial)
    }

    /// A straight line through `(low, at_low)` and `(high, at_high)`.
    pub(crate) fn line([low, high]: [f64; 2], [at_low, at_high]: [f64; 2]) -> Self {
        Self {
            low,
            high,
            coefficients: vec![0.5 * (at_low + at_high), 0.5 * (at_high - at_low)],
        }
    }

    fn scaled(&self, x: f64) -> f64 {
        if self.high > self.low {
            (2.0 * x - self.low - self.high) / (self.high - self.low)
        } else {
            0.0
        }
    }

    /// The value at `x`, by Clenshaw's recurrence.
    pub(crate) fn at(&self, x: f64) -> f64 {
        let x = self.scaled(x);
        let (mut next, mut after) = (0.0, 0.0);
        for &coefficient in self.coefficients.iter().skip(1).rev() {
            (next, after) = (coefficient + 2.0 * x * next - after, next);
        }
        self.coefficients.first().copied().unwrap_or(0.0) + x * next - after
    }

    pub(crate) fn degree(&self) -> usize {
        self.coefficients.len().saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    #[test]
    fn a_polynomial_is_recovered_from_its_values() {
        let truth = |x: f64| 3.0 - 2.0 * x + 0.5 * x * x - 0.01 * x.powi(3);
        let points: Vec<_> = (1..=12).map(|x| (f64::from(x), truth(f64::from(x)))).collect();
        let fitted = Chebyshev::fit([1.0, 12.0], 3, &points, &[1.0; 12]).unwrap();
        for x in [1.0, 3.3, 9.9, 20.0] {
            assert_relative_eq!(fitted.at(x), truth(x), max_relative = 1e-9);
        }
    }

    #[test]
    fn points_without_weight_do_not_count() {
        let points = [(0.0, 1.0), (1.0, 3.0), (0.5, 1e9)];
        let fitted = Chebyshev::fit([0.0, 1.0], 1, &points, &[1.0, 1.0, 0.0]).unwrap();
        assert_relative_eq!(fitted.at(0.5), 2.0, max_relative = 1e-9);
    }

    #[test]
    fn a_line_passes_through_its_ends() {
        let line = Chebyshev::line([1.0, 5.0], [2.0, 10.0]);
        assert_relative_eq!(line.at(1.0), 2.0);
        assert_relative_eq!(line.at(5.0), 10.0);
        assert_relative_eq!(line.at(9.0), 18.0);
    }
}
