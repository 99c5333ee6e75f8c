//! Differential variation.

use crate::random::Stream;

/// Adds the scaled difference of two others to each child, in each gene with the probability `rate` and in one at least.
/// What leaves the bounds is drawn between the bound and where it came from.
pub(super) fn cross(
    a: &mut [f64],
    b: &mut [f64],
    others: [&[f64]; 2],
    (scale, rate): (f64, f64),
    (lower, upper): (&[f64], &[f64]),
    whole: bool,
    random: &mut Stream,
) {
    for (child, sign) in [(a, 1.0), (b, -1.0)] {
        let certain = random.below(child.len());
        for g in 0..child.len() {
            if g != certain && !random.chance(rate) {
                continue;
            }
            let (Some(x), Some(y)) = (others[0].get(g), others[1].get(g)) else {
                continue;
            };
            let base = child[g];
            let mut moved = base + sign * scale * (x - y);
            if moved < lower[g] {
                moved = lower[g] + random.unit() * (base - lower[g]);
            } else if moved > upper[g] {
                moved = upper[g] - random.unit() * (upper[g] - base);
            }
            if whole {
                // Up or down by chance, in proportion to the rest, so that small differences do not vanish.
                moved = (moved + random.unit()).floor();
            }
            child[g] = moved.max(lower[g]).min(upper[g]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Streams};

    #[test]
    fn whole_numbers_move_by_the_scaled_difference_on_average() {
        let mut random = Streams::new(9, 0, Purpose::Variation).stream(0);
        let mut sum = 0.0;
        for _ in 0..10_000 {
            let (mut a, mut b) = ([50.0], [50.0]);
            cross(
                &mut a,
                &mut b,
                [&[4.0], &[1.0]],
                (0.5, 1.0),
                (&[0.0], &[100.0]),
                true,
                &mut random,
            );
            assert_eq!(a[0].fract(), 0.0);
            sum += a[0] - 50.0;
        }
        assert!((sum / 10_000.0 - 1.5).abs() < 0.03);
    }

    #[test]
    fn children_stay_within_bounds() {
        let mut random = Streams::new(9, 0, Purpose::Variation).stream(0);
        for _ in 0..100 {
            let (mut a, mut b) = ([0.1, 0.9], [0.1, 0.9]);
            cross(
                &mut a,
                &mut b,
                [&[1.0, 1.0], &[0.0, 0.0]],
                (2.0, 0.9),
                (&[0.0; 2], &[1.0; 2]),
                false,
                &mut random,
            );
            assert!(a.iter().chain(&b).all(|x| (0.0..=1.0).contains(x)));
        }
    }
}
