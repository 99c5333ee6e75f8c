//! How good a front is, beside its hypervolume. All objectives are minimised.

use crate::Rows;

/// The mean distance from each point of `reference` to the nearest of `front`: inverted generational distance.
///
/// Infinite if `front` is empty, 0 if `reference` is. `O(M · |front| · |reference|)`.
///
/// ```
/// use streamline_moo::igd;
///
/// assert_eq!(igd(&[[0.0, 1.0]], &[[0.0, 1.0], [3.0, 5.0]]), 2.5);
/// ```
#[must_use]
pub fn igd<'a, 'b>(front: impl Into<Rows<'a>>, reference: impl Into<Rows<'b>>) -> f64 {
    mean_nearest(reference.into(), front.into(), |from, to| to - from)
}

/// As [`igd`], but only where the front is worse than the reference counts as distance, which makes it weakly Pareto
/// compliant (H. Ishibuchi, H. Masuda, Y. Tanigaki, Y. Nojima: *Modified distance calculation in generational distance
/// and inverted generational distance*, EMO 2015).
///
/// ```
/// use streamline_moo::igd_plus;
///
/// assert_eq!(igd_plus(&[[0.0, 1.0]], &[[0.5, 1.0], [0.0, 0.5]]), 0.25);
/// ```
#[must_use]
pub fn igd_plus<'a, 'b>(front: impl Into<Rows<'a>>, reference: impl Into<Rows<'b>>) -> f64 {
    mean_nearest(reference.into(), front.into(), |from, to| (to - from).max(0.0))
}

/// The mean distance from each point of `front` to the nearest of `reference`: generational distance.
///
/// ```
/// use streamline_moo::gd;
///
/// assert_eq!(gd(&[[0.0, 1.0], [3.0, 5.0]], &[[0.0, 1.0]]), 2.5);
/// ```
#[must_use]
pub fn gd<'a, 'b>(front: impl Into<Rows<'a>>, reference: impl Into<Rows<'b>>) -> f64 {
    mean_nearest(front.into(), reference.into(), |from, to| to - from)
}

/// How unevenly the points lie: the standard deviation of the distance (sum of absolute differences) of each point to its
/// nearest neighbour (J. R. Schott 1995). 0 for fewer than two points.
///
/// ```
/// use streamline_moo::spacing;
///
/// assert_eq!(spacing(&[[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]]), 0.0);
/// ```
#[must_use]
pub fn spacing<'a>(front: impl Into<Rows<'a>>) -> f64 {
    let front = front.into();
    let n = front.len();
    if n < 2 {
        return 0.0;
    }
    let nearest = |i: usize| {
        let others = (0..n).filter(|&j| j != i);
        let distance = |j| {
            front
                .row(i)
                .iter()
                .zip(front.row(j))
                .map(|(a, b)| (a - b).abs())
                .sum()
        };
        others.map(distance).fold(f64::INFINITY, f64::min)
    };
    let distances: Vec<f64> = (0..n).map(nearest).collect();
    let mean = distances.iter().sum::<f64>() / n as f64;
    (distances.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1) as f64).sqrt()
}

fn mean_nearest(from: Rows<'_>, to: Rows<'_>, difference: impl Fn(f64, f64) -> f64) -> f64 {
    if from.is_empty() {
        return 0.0;
    }
    let nearest = |a: &[f64]| {
        let squares = to.iter().map(|b| {
            a.iter()
                .zip(b)
                .map(|(&a, &b)| difference(a, b).powi(2))
                .sum::<f64>()
        });
        squares.fold(f64::INFINITY, f64::min).sqrt()
    };
    from.iter().map(nearest).sum::<f64>() / from.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_sets_give_zero_or_infinity() {
        let nothing = Rows::new(&[], 2);
        assert_eq!(igd(nothing, &[[1.0, 2.0]]), f64::INFINITY);
        assert_eq!(igd(&[[1.0, 2.0]], nothing), 0.0);
        assert_eq!(spacing(&[[1.0, 2.0]]), 0.0);
    }

    #[test]
    fn a_front_better_than_the_reference_has_no_distance_plus() {
        assert_eq!(igd_plus(&[[0.0, 0.0]], &[[1.0, 1.0]]), 0.0);
    }
}
