//! The niching of NSGA-III: the front that fits only in part gives first to the reference directions that have the fewest
//! individuals.

use crate::Directions;
use crate::pool::Pool;
use crate::random::Stream;

/// What niching keeps from generation to generation, and memory.
#[derive(Debug, Clone)]
pub(crate) struct Niching {
    /// Directions of unit length.
    directions: Vec<f64>,
    m: usize,
    /// The smallest value of each objective so far.
    pub(crate) ideal: Vec<f64>,
    /// The points that span the normalising hyperplane, one row per objective; infinite before the first generation.
    pub(crate) extremes: Vec<f64>,
}

/// The weight of the other objectives in the achievement function that finds extreme points.
const OFF_AXIS: f64 = 1e6;

impl Niching {
    pub(crate) fn new(directions: &Directions) -> Self {
        let m = directions.rows().width();
        let mut unit = Vec::with_capacity(directions.len() * m);
        for row in directions.rows().iter() {
            let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
            unit.extend(row.iter().map(|v| v / length));
        }
        Self {
            directions: unit,
            m,
            ideal: vec![f64::INFINITY; m],
            extremes: vec![f64::INFINITY; m * m],
        }
    }

    /// Chooses `room` of the individuals of the `last` front, beside those of the fronts before it that are `in_already`.
    pub(crate) fn choose(
        &mut self,
        pool: &Pool,
        in_already: &[u32],
        last: &[u32],
        best: &[u32],
        room: usize,
        random: &mut Stream,
    ) -> Vec<u32> {
        self.update(pool, best);
        let scale = self.scale(pool, best);
        let mut counts = vec![0usize; self.directions.len() / self.m];
        for &i in in_already {
            counts[self.associate(pool, i, &scale).0] += 1;
        }
        let mut waiting: Vec<Vec<(f64, u32)>> = vec![Vec::new(); counts.len()];
        for &i in last {
            let (direction, distance) = self.associate(pool, i, &scale);
            waiting[direction].push((distance, i));
        }
        // The nearest is last, so that it can be popped.
        for candidates in &mut waiting {
            candidates.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        }
        let mut open: Vec<usize> = (0..counts.len()).filter(|&d| !waiting[d].is_empty()).collect();
        let (mut chosen, mut emptiest) = (Vec::with_capacity(room), Vec::new());
        for _ in 0..room {
            let Some(fewest) = open.iter().map(|&d| counts[d]).min() else {
                break;
            };
            emptiest.clear();
            emptiest.extend((0..open.len()).filter(|&o| counts[open[o]] == fewest));
            let o = emptiest[random.below(emptiest.len())];
            let direction = open[o];
            let candidates = &mut waiting[direction];
            if fewest > 0 {
                let (any, end) = (random.below(candidates.len()), candidates.len() - 1);
                candidates.swap(any, end);
            }
            if let Some((_, i)) = candidates.pop() {
                counts[direction] += 1;
                chosen.push(i);
            }
            if candidates.is_empty() {
                open.swap_remove(o);
            }
        }
        chosen
    }

    /// Brings the ideal point and the extreme points up to date with the best front.
    fn update(&mut self, pool: &Pool, best: &[u32]) {
        let m = self.m;
        let points = || best.iter().map(|&i| pool.objectives().row(i as usize));
        for point in points() {
            for (ideal, &value) in self.ideal.iter_mut().zip(point) {
                *ideal = ideal.min(value);
            }
        }
        let achievement = |ideal: &[f64], point: &[f64], axis: usize| {
            let weighted = (0..m).map(|j| (point[j] - ideal[j]) * if j == axis { 1.0 } else { OFF_AXIS });
            weighted.fold(f64::NEG_INFINITY, f64::max)
        };
        for axis in 0..m {
            let row = axis * m..(axis + 1) * m;
            let mut least = achievement(&self.ideal, &self.extremes[row.clone()], axis);
            for point in points() {
                let value = achievement(&self.ideal, point, axis);
                // Anything is better than a value that is not finite.
                if value < least || !least.is_finite() {
                    least = value;
                    self.extremes[row.clone()].copy_from_slice(point);
                }
            }
        }
    }

    /// By what to multiply each objective, measured from the ideal point: one over the intercept of the hyperplane through
    /// the extreme points or, where that is no use, over the range of the best front.
    fn scale(&self, pool: &Pool, best: &[u32]) -> Vec<f64> {
        let m = self.m;
        let mut worst = vec![f64::NEG_INFINITY; m];
        for &i in best {
            for (worst, &value) in worst.iter_mut().zip(pool.objectives().row(i as usize)) {
                *worst = worst.max(value);
            }
        }
        let shifted: Vec<f64> = self
            .extremes
            .iter()
            .enumerate()
            .map(|(i, v)| v - self.ideal[i % m])
            .collect();
        // The plane is Σ f_j · inverse_j = 1.
        let inverse = solve(shifted, m).filter(|inverse| {
            inverse.iter().enumerate().all(|(j, &inverse)| {
                inverse > 0.0 && 1.0 / inverse > 1e-6 && inverse.is_finite() && {
                    // An intercept far beyond the front is a plane gone astray.
                    1.0 / inverse <= 1e3 * (worst[j] - self.ideal[j]).max(1e-6)
                }
            })
        });
        inverse.unwrap_or_else(|| {
            let range = |j: usize| worst[j] - self.ideal[j];
            (0..m)
                .map(|j| {
                    if range(j) > 1e-12 && range(j).is_finite() {
                        1.0 / range(j)
                    } else {
                        1.0
                    }
                })
                .collect()
        })
    }

    /// The direction nearest to an individual, and its distance from it.
    fn associate(&self, pool: &Pool, i: u32, scale: &[f64]) -> (usize, f64) {
        let point: Vec<f64> = pool
            .objectives()
            .row(i as usize)
            .iter()
            .enumerate()
            .map(|(j, v)| (v - self.ideal[j]) * scale[j])
            .collect();
        let square: f64 = point.iter().map(|v| v * v).sum();
        let along = |direction: &[f64]| -> f64 { direction.iter().zip(&point).map(|(d, v)| d * v).sum() };
        let mut nearest = (0, f64::NEG_INFINITY);
        for (d, direction) in self.directions.chunks_exact(self.m).enumerate() {
            let projection = along(direction);
            if projection > nearest.1 {
                nearest = (d, projection);
            }
        }
        let rest = square - nearest.1 * nearest.1;
        (
            nearest.0,
            if rest.is_finite() {
                rest.max(0.0).sqrt()
            } else {
                f64::INFINITY
            },
        )
    }
}

/// Solves the `m` equations `Σ matrix[i][j] x_j = 1` by Gauss's elimination with pivots.
fn solve(mut matrix: Vec<f64>, m: usize) -> Option<Vec<f64>> {
    let mut right = vec![1.0; m];
    for column in 0..m {
        let pivot = (column..m).max_by(|&a, &b| {
            matrix[a * m + column]
                .abs()
                .total_cmp(&matrix[b * m + column].abs())
        })?;
        let value = matrix[pivot * m + column];
        if !(value.is_finite() && value.abs() > 1e-12) {
            return None;
        }
        for j in 0..m {
            matrix.swap(pivot * m + j, column * m + j);
        }
        right.swap(pivot, column);
        for row in column + 1..m {
            let factor = matrix[row * m + column] / value;
            for j in column..m {
                matrix[row * m + j] -= factor * matrix[column * m + j];
            }
            right[row] -= factor * right[column];
        }
    }
    for row in (0..m).rev() {
        let known: f64 = (row + 1..m).map(|j| matrix[row * m + j] * right[j]).sum();
        right[row] = (right[row] - known) / matrix[row * m + row];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::Goal;
    use crate::random::{Purpose, Streams};

    #[test]
    fn the_hyperplane_through_points_on_the_axes_has_their_intercepts() {
        let inverse = solve(vec![0.0, 4.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 8.0], 3).unwrap();
        assert_relative_eq!(inverse.as_slice(), [0.5, 0.25, 0.125].as_slice());
        assert!(solve(vec![1.0, 1.0, 1.0, 1.0], 2).is_none());
    }

    #[test]
    fn an_empty_niche_is_filled_first_and_with_its_nearest() {
        let mut pool = Pool::new(0, &[Goal::Minimise; 2], 0);
        pool.resize(5);
        pool.objectives
            .copy_from_slice(&[0.0, 1.0, 1.0, 0.0, 0.45, 0.55, 0.49, 0.51, 0.05, 0.95]);
        let mut niching = Niching::new(&Directions::das_dennis(2, 2));
        let mut random = Streams::new(1, 1, Purpose::Niche).stream(0);
        let taken = niching.choose(&pool, &[0, 1], &[2, 3, 4], &[0, 1, 2, 3, 4], 1, &mut random);
        assert_eq!(taken, [3]);
    }
}
