//! Simulated binary crossover within bounds.

use crate::random::Stream;

/// Parents closer than this are not mixed, as in Deb's program.
const SAME: f64 = 1e-14;

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

    /// `base` to the power −(η + 1).
    #[inline]
    fn falling(&self, base: f64) -> f64 {
        match self.roots {
            Some(k) => {
                let mut power = 1.0 / base;
                for _ in 0..k {
                    power *= power;
                }
                power
            }
            None => base.powf(-self.exponent),
        }
    }

    /// `base` to the power 1/(η + 1).
    #[inline]
    fn root(&self, base: f64) -> f64 {
        match self.roots {
            Some(k) => {
                let mut root = base;
                for _ in 0..k {
                    root = root.sqrt();
                }
                root
            }
            None => base.powf(self.inverse),
        }
    }

    /// The spread factor of the child on one side, `room` times the parents' distance away from the bound there.
    #[inline]
    fn spread(&self, room: f64, u: f64) -> f64 {
        let alpha = 2.0 - self.falling(1.0 + 2.0 * room);
        let z = u * alpha;
        self.root(if z <= 1.0 { z } else { 1.0 / (2.0 - z) })
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
        for start in (0..a.len()).step_by(64) {
            let count = (a.len() - start).min(64);
            let mut mixed = random.bits() & (u64::MAX >> (64 - count));
            let swapped = random.bits();
            while mixed != 0 {
                let bit = mixed.trailing_zeros();
                mixed &= mixed - 1;
                let g = start + bit as usize;
                let (x, y) = (a[g], b[g]);
                let (low, high) = (x.min(y), x.max(y));
                let distance = high - low;
                if distance <= SAME {
                    continue;
                }
                let (floor, ceiling) = (lower[g] - half, upper[g] + half);
                let (u, per) = (random.unit(), 1.0 / distance);
                let below = 0.5 * ((low + high) - self.spread((low - floor) * per, u) * distance);
                let above = 0.5 * ((low + high) + self.spread((ceiling - high) * per, u) * distance);
                let (mut below, mut above) = (below, above);
                if whole {
                    (below, above) = (below.round(), above.round());
                }
                below = below.max(lower[g]).min(upper[g]);
                above = above.max(lower[g]).min(upper[g]);
                (a[g], b[g]) = if swapped >> bit & 1 == 0 {
                    (below, above)
                } else {
                    (above, below)
                };
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
            assert_relative_eq!(
                fast.spread(room, u),
                general.spread(room, u),
                max_relative = 1e-13
            );
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
