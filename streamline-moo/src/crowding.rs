//! Crowding distance, and thinning a front by it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Rows;
use crate::dominance::worst_if_nan;
use crate::sorting::key;

/// The crowding distance of each point of a front.
///
/// It is the sum, over objectives, of the gap between the two neighbours divided by the objective's range in the front.
/// The first and the last point in each objective get infinity, so that selection keeps them. An objective whose range is
/// zero or infinite adds nothing. `O(M N log N)`.
///
/// ```
/// use streamline_moo::crowding_distances;
///
/// let distances = crowding_distances(&[[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]]);
/// assert_eq!(distances, [f64::INFINITY, 2.0, f64::INFINITY]);
/// ```
///
/// # References
/// K. Deb, A. Pratap, S. Agarwal, T. Meyarivan: *A fast and elitist multiobjective genetic algorithm: NSGA-II*,
/// IEEE Transactions on Evolutionary Computation 6(2), 2002. <https://doi.org/10.1109/4235.996017>
#[must_use]
pub fn crowding_distances<'a>(front: impl Into<Rows<'a>>) -> Vec<f64> {
    let points = front.into();
    let members: Vec<u32> = (0..points.len() as u32).collect();
    let mut distances = vec![0.0; points.len()];
    let mut crowd = Crowd::default();
    crowd.prepare(points, &members, false);
    crowd.distances_into(&mut distances);
    distances
}

/// Which `keep` points of a front to keep, removing the most crowded one again and again with the distances of the rest
/// brought up to date each time (S. Kukkonen, K. Deb: *Improved pruning of non-dominated solutions based on crowding
/// distance for bi-objective optimization problems*, CEC 2006). The indices come in rising order. `O(M N log N)`.
///
/// ```
/// use streamline_moo::thin_by_crowding;
///
/// // The two in the middle crowd one another; after one is gone, the other has room.
/// let front = [[0.0, 1.0], [0.49, 0.51], [0.51, 0.49], [1.0, 0.0]];
/// assert_eq!(thin_by_crowding(&front, 3).len(), 3);
/// ```
#[must_use]
pub fn thin_by_crowding<'a>(front: impl Into<Rows<'a>>, keep: usize) -> Vec<usize> {
    let points = front.into();
    let members: Vec<u32> = (0..points.len() as u32).collect();
    let mut crowd = Crowd::default();
    crowd.prepare(points, &members, false);
    let mut kept = Vec::new();
    crowd.thin(keep, |i, _| kept.push(i as usize));
    kept
}

const NONE: u32 = u32::MAX;

/// Memory for crowding distances of fronts. Positions in a front are counted as in the list of members given.
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    n: usize,
    m: usize,
    /// Values in units of the objective's range: `scaled[objective * n + position]`.
    scaled: Vec<f64>,
    /// The positions in rising order of one objective.
    order: Vec<u32>,
    keys: Vec<(u64, u32)>,
    /// The neighbour before and after, `[objective * n + position]`; `NONE` at the ends.
    before: Vec<u32>,
    after: Vec<u32>,
    distances: Vec<f64>,
    gone: Vec<bool>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Crowd {
    /// Links the `members` of `points` to their neighbours in each objective. `sorted` says that the members come in
    /// lexicographic order, which with two objectives is the order of both.
    pub(crate) fn prepare(&mut self, points: Rows<'_>, members: &[u32], sorted: bool) {
        let (n, m) = (members.len(), points.width());
        (self.n, self.m) = (n, m);
        self.scaled.clear();
        self.before.clear();
        self.after.clear();
        self.before.resize(n * m, NONE);
        self.after.resize(n * m, NONE);
        for j in 0..m {
            let base = j * n;
            self.scaled
                .extend(members.iter().map(|&i| worst_if_nan(points.row(i as usize)[j])));
            let values = &mut self.scaled[base..];
            self.order.clear();
            if sorted && (j == 0 || m == 2) {
                self.order.extend(0..n as u32);
                if j == 1 {
                    self.order.reverse();
                }
            } else {
                // Equal values stay in the order of the members.
                self.keys.clear();
                self.keys
                    .extend(values.iter().zip(0..).map(|(&value, i)| (key(value), i)));
                self.keys.sort_unstable();
                self.order.extend(self.keys.iter().map(|&(_, i)| i));
            }
            let (Some(&first), Some(&last)) = (self.order.first(), self.order.last()) else {
                continue;
            };
            let range = values[last as usize] - values[first as usize];
            let scale = if range > 0.0 && range.is_finite() {
                1.0 / range
            } else {
                0.0
            };
            for value in values.iter_mut() {
                *value = if scale == 0.0 { 0.0 } else { *value * scale };
            }
            for pair in self.order.windows(2) {
                self.after[base + pair[0] as usize] = pair[1];
                self.before[base + pair[1] as usize] = pair[0];
            }
        }
    }

    fn distance(&self, position: usize) -> f64 {
        let mut sum = 0.0;
        for j in 0..self.m {
            let base = j * self.n;
            let (before, after) = (self.before[base + position], self.after[base + position]);
            if before == NONE || after == NONE {
                return f64::INFINITY;
            }
            sum += self.scaled[base + after as usize] - self.scaled[base + before as usize];
        }
        sum
    }

    /// Writes the crowding distance of each member.
    pub(crate) fn distances_into(&self, distances: &mut [f64]) {
        for (position, distance) in distances.iter_mut().enumerate().take(self.n) {
            *distance = self.distance(position);
        }
    }

    /// Removes the most crowded member until `keep` are left, and gives the position and distance of each that is left.
    pub(crate) fn thin(&mut self, keep: usize, mut left: impl FnMut(u32, f64)) {
        self.gone.clear();
        self.gone.resize(self.n, false);
        self.distances.clear();
        for position in 0..self.n {
            let distance = self.distance(position);
            self.distances.push(distance);
        }
        let mut entries = std::mem::take(&mut self.heap).into_vec();
        entries.clear();
        entries.extend(
            self.distances
                .iter()
                .enumerate()
                .map(|(i, &d)| Reverse((key(d), i as u32))),
        );
        self.heap = entries.into();
        let mut surplus = self.n.saturating_sub(keep);
        while surplus > 0 {
            let Some(Reverse((stored, position))) = self.heap.pop() else {
                break;
            };
            let i = position as usize;
            // Distances only grow when neighbours go, so an entry that is out of date goes back in.
            let current = key(self.distances[i]);
            if current != stored {
                self.heap.push(Reverse((current, position)));
                continue;
            }
            self.gone[i] = true;
            surplus -= 1;
            for j in 0..self.m {
                let base = j * self.n;
                let (before, after) = (self.before[base + i], self.after[base + i]);
                if before != NONE {
                    self.after[base + before as usize] = after;
                }
                if after != NONE {
                    self.before[base + after as usize] = before;
                }
            }
            for j in 0..self.m {
                for neighbour in [self.before[j * self.n + i], self.after[j * self.n + i]] {
                    if neighbour != NONE {
                        self.distances[neighbour as usize] = self.distance(neighbour as usize);
                    }
                }
            }
        }
        for position in 0..self.n {
            if !self.gone[position] {
                left(position as u32, self.distances[position]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_front_has_known_distances() {
        let distances = crowding_distances(&[[0.0, 4.0], [1.0, 2.0], [3.0, 1.0], [4.0, 0.0]]);
        assert_eq!(distances[0], f64::INFINITY);
        assert_eq!(distances[3], f64::INFINITY);
        assert_relative_eq!(distances[1], 0.75 + 0.75);
        assert_relative_eq!(distances[2], 0.75 + 0.5);
    }

    #[test]
    fn an_objective_without_range_or_with_an_infinite_one_adds_nothing() {
        let flat = crowding_distances(&[[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]);
        assert_relative_eq!(flat[1], 1.0);
        let infinite = crowding_distances(&[[0.0, 9.0], [1.0, 5.0], [f64::INFINITY, 0.0]]);
        assert_relative_eq!(infinite[1], 1.0);
        assert!(
            crowding_distances(&[[f64::NAN, f64::NAN]; 3])
                .iter()
                .all(|d| !d.is_nan())
        );
    }

    #[test]
    fn one_at_a_time_spreads_better_than_all_at_once() {
        // Ten points in a bunch: all at once would drop them all.
        let mut front: Vec<[f64; 2]> = (0..10)
            .map(|i| [0.5 + f64::from(i) * 1e-3, 0.5 - f64::from(i) * 1e-3])
            .collect();
        front.extend([[0.0, 1.0], [1.0, 0.0], [0.2, 0.8], [0.8, 0.2]]);
        let kept = thin_by_crowding(&front, 5);
        assert_eq!(kept.iter().filter(|&&i| i < 10).count(), 1);
        assert!(kept.contains(&10) && kept.contains(&11));
    }

    /// Removes by recomputing all distances each time.
    fn oracle(front: &[[f64; 3]], keep: usize) -> f64 {
        let mut left = front.to_vec();
        while left.len() > keep {
            let d = crowding_distances(&left);
            let worst = (0..left.len()).min_by(|&a, &b| d[a].total_cmp(&d[b])).unwrap();
            left.remove(worst);
        }
        left.iter().flatten().sum()
    }

    proptest! {
        #[test]
        fn thinning_agrees_with_recomputing_everything(front in prop::collection::vec(prop::array::uniform3(0.0..1.0f64), 8..40), keep in 6..20usize) {
            let kept = thin_by_crowding(&front, keep);
            prop_assert_eq!(kept.len(), keep.min(front.len()));
            // The oracle's ranges shrink only when an extreme point goes; with 6 and more kept, none does.
            let sum: f64 = kept.iter().flat_map(|&i| front[i]).sum();
            prop_assert!((sum - oracle(&front, keep)).abs() < 1e-9);
        }
    }
}
