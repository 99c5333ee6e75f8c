//! Simulated binary crossover within bounds.

use crate::random::Stream;

/// Parents closer than this are not mixed, as in Deb's program.
const SAME: f64 = 1e-14;

/// Genes that are mixed at once: one for each bit of half a random number, the other half says which are swapped.
const LOT: usize = 32;

/// SBX with its exponents worked out.
#[derive(Debug)]
pub(super) struct Sbx {
    exponent: f64,
    inverse: f64,
    /// How often to take the square root for the power `inverse`, if η + 1 is a power of two: a square root costs less
    /// than a general power and is exact on every platform.
    roots: Option<u32>,
}

impl Sbx {
    pub(super) fn new(index: f64) -> Self {
        let exponent = index + 1.0;
        let roots = (0..=8).find(|&k| (f64::from(1u32 << k) - exponent).abs() < f64::EPSILON);
        Self {
            exponent,
            inverse: 1.0 / exponent,
            roots,
        }
    }

    /// Turns rooms into spread factors: `values` holds how far each side's bound is from the parent in units of the parents'
    /// distance, `draws` the random numbers.
    ///
    /// In stages over the whole slice, so that each is a loop without branches that the compiler makes vectors of.
    fn spread(&self, values: &mut [f64], draws: &[f64]) {
        for value in values.iter_mut() {
            *value = 1.0 / (1.0 + 2.0 * *value);
        }
        match self.roots {
            Some(k) => (0..k).for_each(|_| values.iter_mut().for_each(|value| *value *= *value)),
            None => values
                .iter_mut()
                .for_each(|value| *value = value.powf(self.exponent)),
        }
        for (value, u) in values.iter_mut().zip(draws) {
            let z = u * (2.0 - *value);
            let other = 1.0 / (2.0 - z);
            *value = if z <= 1.0 { z } else { other };
        }
        match self.roots {
            Some(k) => (0..k).for_each(|_| values.iter_mut().for_each(|value| *value = value.sqrt())),
            None => values
                .iter_mut()
                .for_each(|value| *value = value.powf(self.inverse)),
        }
    }

    /// Mixes each gene with probability one half, and swaps the two results with probability one half. Whole numbers are
    /// mixed on cells that reach half a unit to each side, and rounded.
    pub(super) fn cross(
        &self,
        a: &mut [f64],
        b: &mut [f64],
        lower: &[f64],
        upper: &[f64],
        whole: bool,
        random: &mut Stream,
    ) {
        let half = if whole { 0.5 } else { 0.0 };
        for start in (0..a.len()).step_by(LOT) {
            let count = (a.len() - start).min(LOT);
            let lot = start..start + count;
            let (a, b) = (&mut a[lot.clone()], &mut b[lot.clone()]);
            let (lower, upper) = (&lower[lot.clone()], &upper[lot]);
            let bits = random.bits();
            let mut mixed = bits & (u64::MAX >> (64 - count));
            let swapped = bits >> LOT;

            let mut genes = [0u8; LOT];
            let (mut below, mut above, mut draws) = ([0.0; LOT], [0.0; LOT], [0.0; LOT]);
            let mut n = 0;
            while mixed != 0 {
                let g = mixed.trailing_zeros() as usize;
                mixed &= mixed - 1;
                let (low, high) = (a[g].min(b[g]), a[g].max(b[g]));
                let distance = high - low;
                let per = 1.0 / distance;
                genes[n] = g as u8;
                below[n] = (low - (lower[g] - half)) * per;
                above[n] = ((upper[g] + half) - high) * per;
                draws[n] = random.unit();
                // The next one overwrites parents that are the same.
                n += usize::from(distance > SAME);
            }
            self.spread(&mut below[..n], &draws[..n]);
            self.spread(&mut above[..n], &draws[..n]);
            for i in 0..n {
                let g = usize::from(genes[i]);
                let (sum, distance) = (a[g] + b[g], (a[g] - b[g]).abs());
                let mut first = 0.5 * (sum - below[i] * distance);
                let mut second = 0.5 * (sum + above[i] * distance);
                if whole {
                    (first, second) = (first.round(), second.round());
                }
                first = first.max(lower[g]).min(upper[g]);
                second = second.max(lower[g]).min(upper[g]);
                let swap = swapped >> g & 1 == 1;
                a[g] = if swap { second } else { first };
                b[g] = if swap { first } else { second };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::random::{Purpose, Streams};

    #[test]
    fn square_roots_give_the_same_as_powers() {
        let fast = Sbx::new(15.0);
        let general = Sbx {
            roots: None,
            ..Sbx::new(15.0)
        };
        for i in 1..100 {
            let (room, u) = (f64::from(i) * 0.07, f64::from(i) / 100.0);
            let (mut a, mut b) = ([room], [room]);
            fast.spread(&mut a, &[u]);
            general.spread(&mut b, &[u]);
            assert_relative_eq!(a[0], b[0], max_relative = 1e-13);
        }
    }

    #[test]
    fn children_lie_within_bounds_and_around_the_parents_mean() {
        let sbx = Sbx::new(2.0);
        let mut random = Streams::new(1, 0, Purpose::Variation).stream(0);
        let (mut sum, n) = (0.0, 20_000);
        for _ in 0..n {
            let (mut a, mut b) = ([0.4], [0.6]);
            sbx.cross(&mut a, &mut b, &[0.0], &[1.0], false, &mut random);
            assert!((0.0..=1.0).contains(&a[0]) && (0.0..=1.0).contains(&b[0]));
            sum += a[0] + b[0];
        }
        assert!((sum / (2.0 * f64::from(n)) - 0.5).abs() < 0.003);
    }

    #[test]
    fn whole_children_at_the_edge_are_as_likely_as_inside() {
        // Parents at both ends: by symmetry both ends must come out equally often.
        let sbx = Sbx::new(1.0);
        let mut random = Streams::new(2, 0, Purpose::Variation).stream(0);
        let mut counts = [0u32; 4];
        for _ in 0..40_000 {
            let (mut a, mut b) = ([0.0], [3.0]);
            sbx.cross(&mut a, &mut b, &[0.0], &[3.0], true, &mut random);
            counts[a[0] as usize] += 1;
            counts[b[0] as usize] += 1;
        }
        let balance = f64::from(counts[0]) / f64::from(counts[3]);
        assert!((balance - 1.0).abs() < 0.05, "{counts:?}");
    }
}
