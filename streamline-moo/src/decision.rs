//! Choosing one point of a front. All objectives are minimised; values are compared after scaling each objective to its
//! range in the front.

use crate::Rows;

/// The knee: the point farthest below the hyperplane through the extremes, where a gain in one objective begins to cost
/// most in the others (I. Das: *On characterizing the "knee" of the Pareto curve*, Structural Optimization 18, 1999).
///
/// `None` if there is no point with finite values. The first of equals.
///
/// ```
/// use streamline_moo::knee_point;
///
/// assert_eq!(knee_point(&[[0.0, 1.0], [0.1, 0.2], [1.0, 0.0]]), Some(1));
/// ```
#[must_use]
pub fn knee_point<'a>(front: impl Into<Rows<'a>>) -> Option<usize> {
    let front = front.into();
    weighted_choice(front, &vec![1.0; front.width()])
}

/// The point with the smallest weighted sum of scaled objectives. `None` if the weights are not one for each objective or
/// no point has finite values. The first of equals.
///
/// ```
/// use streamline_moo::weighted_choice;
///
/// let front = [[0.0, 100.0], [1.0, 50.0], [2.0, 0.0]];
/// assert_eq!(weighted_choice(&front, &[0.9, 0.1]), Some(0));
/// assert_eq!(weighted_choice(&front, &[0.1, 0.9]), Some(2));
/// ```
#[must_use]
pub fn weighted_choice<'a>(front: impl Into<Rows<'a>>, weights: &[f64]) -> Option<usize> {
    let front = front.into();
    if weights.len() != front.width() {
        return None;
    }
    let ranges = Ranges::of(front);
    let score = |p: &[f64]| -> f64 { (0..p.len()).map(|j| weights[j] * ranges.scale(p, j)).sum() };
    let finite = front
        .iter()
        .enumerate()
        .filter(|(_, p)| p.iter().all(|v| v.is_finite()));
    finite
        .map(|(i, p)| (score(p), i))
        .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
        .map(|(_, i)| i)
}

/// The weights that each point stands for: its distance to the worst value in each objective, as shares of their sum
/// (K. Deb: *Multi-objective optimization using evolutionary algorithms*, 2001, section 8.6). One row per point; a point
/// that is worst in everything has equal weights.
///
/// ```
/// use streamline_moo::pseudo_weights;
///
/// let weights = pseudo_weights(&[[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]);
/// assert_eq!(weights, [1.0, 0.0, 0.5, 0.5, 0.0, 1.0]);
/// ```
#[must_use]
pub fn pseudo_weights<'a>(front: impl Into<Rows<'a>>) -> Vec<f64> {
    let front = front.into();
    let ranges = Ranges::of(front);
    let m = front.width();
    let mut weights = Vec::with_capacity(front.len() * m);
    for p in front.iter() {
        let start = weights.len();
        weights.extend((0..m).map(|j| {
            if p[j].is_finite() {
                1.0 - ranges.scale(p, j)
            } else {
                0.0
            }
        }));
        let sum: f64 = weights[start..].iter().sum();
        for weight in &mut weights[start..] {
            *weight = if sum > 0.0 { *weight / sum } else { 1.0 / m as f64 };
        }
    }
    weights
}

/// The point whose pseudo-weights come nearest to the weights wanted, which need not sum to one. `None` if there are not as
/// many weights as objectives, or no point.
///
/// ```
/// use streamline_moo::pseudo_weight_choice;
///
/// assert_eq!(pseudo_weight_choice(&[[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]], &[1.0, 1.0]), Some(1));
/// ```
#[must_use]
pub fn pseudo_weight_choice<'a>(front: impl Into<Rows<'a>>, weights: &[f64]) -> Option<usize> {
    let front = front.into();
    let m = front.width();
    let sum: f64 = weights.iter().sum();
    if weights.len() != m || m == 0 || sum.is_nan() || sum <= 0.0 {
        return None;
    }
    let distance = |row: &[f64]| -> f64 { row.iter().zip(weights).map(|(a, w)| (a - w / sum).powi(2)).sum() };
    let pseudo = pseudo_weights(front);
    let nearest = pseudo.chunks_exact(m).map(distance).enumerate();
    nearest.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i)
}

/// The smallest and the largest finite value of each objective.
struct Ranges(Vec<(f64, f64)>);

impl Ranges {
    fn of(front: Rows<'_>) -> Self {
        let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); front.width()];
        for p in front.iter() {
            for ((low, high), &value) in ranges.iter_mut().zip(p).filter(|(_, v)| v.is_finite()) {
                (*low, *high) = (low.min(value), high.max(value));
            }
        }
        Self(ranges)
    }

    /// Objective `j` of `p` from 0 (best) to 1 (worst); 0 if it has no range.
    fn scale(&self, p: &[f64], j: usize) -> f64 {
        let (low, high) = self.0[j];
        if high > low {
            (p[j] - low) / (high - low)
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_chosen_from_nothing() {
        assert_eq!(knee_point(Rows::new(&[], 2)), None);
        assert_eq!(knee_point(&[[f64::NAN, 0.0]]), None);
        assert_eq!(weighted_choice(&[[1.0, 2.0]], &[1.0]), None);
        assert_eq!(pseudo_weight_choice(&[[1.0, 2.0]], &[0.0, 0.0]), None);
    }

    #[test]
    fn scale_of_an_objective_does_not_move_the_knee() {
        let front = [[0.0, 1000.0], [0.1, 200.0], [1.0, 0.0], [0.5, 400.0]];
        assert_eq!(knee_point(&front), Some(1));
    }
}
