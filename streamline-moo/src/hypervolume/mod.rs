//! The volume that a set of points dominates.

mod five;
mod four;
mod many;
mod pair;
mod three;

use crate::Rows;

/// The hypervolume of `points`: the volume of what they dominate and what dominates the `reference` point, exactly.
///
/// All objectives are minimised. Points that do not dominate the reference point, or have a NaN, add nothing; a value of
/// −∞ makes it infinite. 0 if the points have not as many objectives as the reference.
///
/// One sweep for two objectives, `O(N log N)`; a sweep over a staircase for three, `O(N log N)` and what moves in memory;
/// sums of exclusive volumes in one dimension less for four, `O(N²)` and more where volumes are much cut up; the
/// same over recursively limited sets above, as the WFG algorithm does (L. While, L. Bradstreet, L. Barone: *A fast way
/// of calculating exact hypervolumes*, IEEE TEVC 16(1), 2012), exponential in the number of objectives.
///
/// ```
/// use streamline_moo::hypervolume;
///
/// assert_eq!(hypervolume(&[[1.0, 2.0], [2.0, 1.0]], &[3.0, 3.0]), 3.0);
/// assert_eq!(hypervolume(&[[4.0, 4.0]], &[3.0, 3.0]), 0.0);
/// ```
#[must_use]
pub fn hypervolume<'a>(points: impl Into<Rows<'a>>, reference: &[f64]) -> f64 {
    let points = points.into();
    if points.width() != reference.len() || reference.iter().any(|r| !r.is_finite()) {
        return 0.0;
    }
    let inside = points
        .iter()
        .filter(|p| p.iter().zip(reference).all(|(v, r)| v < r));
    if inside.clone().flatten().any(|v| v.is_infinite()) {
        return f64::INFINITY;
    }
    // What is measured is the volume towards the origin of the points' distances from the reference, all positive.
    match reference {
        [] => 0.0,
        [r] => inside.map(|p| r - p[0]).fold(0.0, f64::max),
        [r0, r1] => pair::sweep(inside.map(|p| [p[0], p[1]]).collect(), [*r0, *r1]),
        [r0, r1, r2] => three::sweep(inside.map(|p| [p[0] - r0, p[1] - r1, p[2] - r2]).collect()),
        [r0, r1, r2, r3] => {
            let mut points: Vec<_> = inside
                .map(|p| [p[0] - r0, p[1] - r1, p[2] - r2, p[3] - r3])
                .collect();
            four::Four::default().sweep(&mut points)
        }
        _ => {
            let moved: Vec<f64> = inside
                .flat_map(|p| p.iter().zip(reference).map(|(v, r)| v - r))
                .collect();
            many::Many::new(reference.len()).volume(&moved)
        }
    }
}

/// The larger of two numbers; unlike [`f64::max`] without a look at NaN, which was sorted out before.
#[inline]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use proptest::prelude::*;

    use super::*;

    /// By inclusion and exclusion.
    fn oracle(points: &[Vec<f64>], reference: &[f64]) -> f64 {
        let mut sum = 0.0;
        for subset in 1u32..1 << points.len() {
            let corner = (0..reference.len()).map(|j| {
                let members = points.iter().enumerate().filter(|(i, _)| subset >> i & 1 == 1);
                (reference[j] - members.map(|(_, p)| p[j]).fold(f64::NEG_INFINITY, f64::max)).max(0.0)
            });
            let volume: f64 = corner.product();
            sum += if subset.count_ones() % 2 == 1 {
                volume
            } else {
                -volume
            };
        }
        sum
    }

    fn points(m: usize) -> impl Strategy<Value = Vec<Vec<f64>>> {
        let value = prop_oneof![(0..6u8).prop_map(f64::from), 0.0..5.0f64];
        prop::collection::vec(prop::collection::vec(value, m), 0..9)
    }

    proptest! {
        #[test]
        fn volume_is_that_of_inclusion_and_exclusion((m, points) in (1..8usize).prop_flat_map(|m| (Just(m), points(m)))) {
            let reference = vec![5.0; m];
            let flat = points.concat();
            let volume = hypervolume(Rows::new(&flat, m), &reference);
            let expected = oracle(&points, &reference);
            prop_assert!((volume - expected).abs() <= 1e-9 * (1.0 + expected), "{} {}", volume, expected);
        }

        #[test]
        fn volume_never_falls_when_a_point_is_added((m, mut points) in (2..7usize).prop_flat_map(|m| (Just(m), points(m))), at in 0..9usize) {
            let reference = vec![5.0; m];
            let whole = hypervolume(Rows::new(&points.concat(), m), &reference);
            if !points.is_empty() {
                points.remove(at % points.len());
            }
            let less = hypervolume(Rows::new(&points.concat(), m), &reference);
            prop_assert!(less <= whole * (1.0 + 1e-12));
        }
    }

    #[test]
    fn many_points_in_four_objectives_agree_with_the_recursion() {
        let mut random = crate::random::Streams::new(8, 0, crate::random::Purpose::Sample).stream(0);
        let data: Vec<f64> = (0..4 * 150).map(|_| random.unit()).collect();
        let four = hypervolume(Rows::new(&data, 4), &[1.0; 4]);
        // A fifth objective that all points share.
        let five: Vec<f64> = data
            .chunks(4)
            .flat_map(|p| [p[0], p[1], p[2], p[3], 0.5])
            .collect();
        assert_relative_eq!(
            hypervolume(Rows::new(&five, 5), &[1.0; 5]),
            four / 2.0,
            max_relative = 1e-10
        );
    }

    #[test]
    fn volume_of_many_points_is_the_same_whatever_the_order_of_the_objectives() {
        let mut random = crate::random::Streams::new(9, 0, crate::random::Purpose::Sample).stream(0);
        // On a grid, so that many values are equal; enough that sets of points take several words.
        let points: Vec<[f64; 5]> = (0..200)
            .map(|_| std::array::from_fn(|_| (random.unit() * 12.0).floor()))
            .collect();
        let volume = hypervolume(&points[..], &[12.0; 5]);
        for turn in 1..5 {
            let turned: Vec<[f64; 5]> = points
                .iter()
                .map(|p| std::array::from_fn(|j| p[(j + turn) % 5]))
                .collect();
            assert_relative_eq!(hypervolume(&turned[..], &[12.0; 5]), volume, max_relative = 1e-12);
        }
    }

    #[test]
    fn points_beyond_the_reference_or_without_a_number_add_nothing() {
        assert_eq!(hypervolume(&[[f64::NAN, 0.0], [0.0, 7.0]], &[1.0, 1.0]), 0.0);
        assert_eq!(
            hypervolume(&[[f64::NEG_INFINITY, 0.0]], &[1.0, 1.0]),
            f64::INFINITY
        );
        assert_eq!(hypervolume(&[[0.0, 0.0]], &[1.0]), 0.0);
    }
}
