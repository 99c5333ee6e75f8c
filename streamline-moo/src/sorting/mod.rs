//! Non-dominated sorting: which front each point belongs to.
//!
//! All methods go over the points in lexicographic order, so that a point can only be dominated by earlier ones, and find
//! the first front that does not dominate it by bisection (X. Zhang, Y. Tian, R. Cheng, Y. Jin: *An efficient approach to
//! nondominated sorting for evolutionary multiobjective optimization*, IEEE TEVC 19(2), 2015). They differ in what they
//! keep of a front: its smallest second objective ([`pair`]), the staircase of its second and third ([`staircase`]), or all
//! of it in blocks that are compared at once ([`blocks`]).

mod blocks;
mod key;
mod pair;
mod staircase;
mod strips;
mod sweep;

pub(crate) use key::key;

use crate::Rows;

/// The fronts of a set of points: front 0 is dominated by nothing, front 1 only by points of front 0, and so on.
///
/// ```
/// use streamline_moo::{Rows, non_dominated_sort};
///
/// let fronts = non_dominated_sort(&[[1.0, 1.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]]);
/// assert_eq!(fronts.len(), 2);
/// assert_eq!(fronts.front(0), [1, 0, 2]); // in lexicographic order
/// assert_eq!(fronts.ranks(), [0, 0, 0, 1]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fronts {
    ranks: Vec<u32>,
    order: Vec<u32>,
    ends: Vec<usize>,
}

impl Fronts {
    /// The number of fronts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there was no point.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The points of front `k` in lexicographic order of their objectives; none beyond the last front.
    #[must_use]
    pub fn front(&self, k: usize) -> &[u32] {
        let start = k.checked_sub(1).map_or(Some(0), |k| self.ends.get(k).copied());
        match (start, self.ends.get(k)) {
            (Some(start), Some(&end)) => &self.order[start..end],
            _ => &[],
        }
    }

    /// Goes over the fronts, the best first.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        (0..self.len()).map(|k| self.front(k))
    }

    /// The front of each point.
    #[must_use]
    pub fn ranks(&self) -> &[u32] {
        &self.ranks
    }
}

/// Sorts points, all objectives minimised, into fronts. Points with the same values share a front; NaN is the worst value.
///
/// The method is chosen by the number of objectives. `O(N log N)` for one and two, `O(N log² N)` for three (with a term
/// that moves memory), `O(M N²)` comparisons in the worst case above, sixteen or more at a time. From 20,000 points
/// on it uses the threads of the current rayon pool; the result does not depend on them.
///
/// To sort many times without allocating, keep a [`Sorter`].
#[must_use]
pub fn non_dominated_sort<'a>(points: impl Into<Rows<'a>>) -> Fronts {
    let mut sorter = Sorter::default();
    sorter.sort(points);
    sorter.fronts
}

/// Sorts points into fronts again and again in the same memory. See [`non_dominated_sort`].
///
/// ```
/// use streamline_moo::Sorter;
///
/// let mut sorter = Sorter::default();
/// assert_eq!(sorter.ranks(&[[0.0, 1.0], [1.0, 1.0]]), [0, 1]);
/// assert_eq!(sorter.sort(&[[3.0], [2.0]]).front(0), [1]);
/// ```
#[derive(Debug, Default)]
pub struct Sorter {
    fronts: Fronts,
    /// The number of points last sorted, and of their objectives.
    size: (usize, usize),
    pair: strips::Strips<pair::Tails>,
    three: strips::Strips<staircase::Staircases>,
    blocks: blocks::Many,
}

/// Fewer points than this are sorted on one thread.
const PARALLEL: usize = 20_000;

impl Sorter {
    /// Sorts `points` into fronts.
    pub fn sort<'a>(&mut self, points: impl Into<Rows<'a>>) -> &Fronts {
        self.assign(points.into());
        if self.size.1 == 3 {
            self.three.order();
        }
        self.gather();
        &self.fronts
    }

    /// The front of each point, without listing the fronts.
    pub fn ranks<'a>(&mut self, points: impl Into<Rows<'a>>) -> &[u32] {
        self.assign(points.into());
        let mut ranks = std::mem::take(&mut self.fronts.ranks);
        ranks.resize(self.size.0, 0);
        self.each(|i, rank| ranks[i as usize] = rank);
        self.fronts.ranks = ranks;
        self.fronts.order.clear();
        self.fronts.ends.clear();
        &self.fronts.ranks
    }

    fn assign(&mut self, points: Rows<'_>) {
        self.size = (points.len(), points.width());
        let threads = if points.len() < PARALLEL {
            1
        } else {
            rayon::current_num_threads()
        };
        match points.width() {
            0 => {}
            1 | 2 => self.pair.assign(points, threads),
            3 => self.three.assign(points, threads),
            _ => self.blocks.assign(points, threads > 1),
        }
    }

    /// Goes over the index and rank of each point.
    fn each(&self, mut visit: impl FnMut(u32, u32)) {
        match self.size.1 {
            0 => (0..self.size.0 as u32).for_each(|i| visit(i, 0)),
            1 | 2 => self.pair.each(visit),
            3 => self.three.each(visit),
            _ => self.blocks.each(visit),
        }
    }

    /// Lists the fronts by a counting sort over the ranks, which keeps the order within each.
    fn gather(&mut self) {
        let Fronts {
            mut ranks,
            mut order,
            mut ends,
        } = std::mem::take(&mut self.fronts);
        ends.clear();
        ranks.resize(self.size.0, 0);
        self.each(|i, rank| {
            let rank_index = rank as usize;
            if ends.len() <= rank_index {
                ends.resize(rank_index + 1, 0);
            }
            ends[rank_index] += 1;
            ranks[i as usize] = rank;
        });
        let mut start = 0;
        for end in &mut ends {
            start += std::mem::replace(end, start);
        }
        order.resize(self.size.0, 0);
        self.each(|i, rank| {
            let place = &mut ends[rank as usize];
            order[*place] = i;
            *place += 1;
        });
        self.fronts = Fronts { ranks, order, ends };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Dominance, dominance};

    /// Peels off one front after another, by definition.
    fn oracle(points: Rows<'_>) -> Vec<u32> {
        let n = points.len();
        let mut ranks = vec![u32::MAX; n];
        let mut rank = 0;
        while ranks.contains(&u32::MAX) {
            let front: Vec<usize> = (0..n)
                .filter(|&i| {
                    ranks[i] == u32::MAX
                        && !(0..n).any(|j| {
                            ranks[j] == u32::MAX
                                && dominance(points.row(j), points.row(i)) == Dominance::Dominates
                        })
                })
                .collect();
            front.iter().for_each(|&i| ranks[i] = rank);
            rank += 1;
        }
        ranks
    }

    fn check(data: &[f64], width: usize) {
        let points = Rows::new(data, width);
        let expected = oracle(points);
        let fronts = non_dominated_sort(points);
        assert_eq!(fronts.ranks(), expected);
        assert_eq!(Sorter::default().ranks(points), expected);
        let mut listed: Vec<u32> = fronts.iter().flatten().copied().collect();
        for (k, front) in fronts.iter().enumerate() {
            assert!(!front.is_empty());
            assert!(front.iter().all(|&i| expected[i as usize] as usize == k));
        }
        listed.sort_unstable();
        assert!(listed.iter().copied().eq(0..points.len() as u32));
    }

    fn value() -> impl Strategy<Value = f64> {
        prop_oneof![
            8 => (0..5u8).prop_map(f64::from),
            8 => -1.0..1.0f64,
            1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MAX]),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn ranks_are_those_of_peeling_front_after_front(width in 1..7usize, data in prop::collection::vec(value(), 0..240)) {
            check(&data, width);
        }

        #[test]
        fn permuting_the_points_permutes_the_ranks(data in prop::collection::vec(prop::array::uniform4(0..6u8), 1..60), by in 0..60usize) {
            let points: Vec<[f64; 4]> = data.iter().map(|p| p.map(f64::from)).collect();
            let mut turned = points.clone();
            turned.rotate_left(by % points.len());
            let mut ranks = non_dominated_sort(&points).ranks().to_vec();
            ranks.rotate_left(by % points.len());
            let fronts = non_dominated_sort(&turned);
            prop_assert_eq!(fronts.ranks(), ranks);
        }
    }

    #[test]
    fn no_points_give_no_fronts() {
        let fronts = non_dominated_sort(Rows::new(&[], 3));
        assert!(fronts.is_empty() && fronts.front(0).is_empty() && fronts.ranks().is_empty());
    }

    #[test]
    fn a_sorter_forgets_what_it_sorted_before() {
        let mut sorter = Sorter::default();
        sorter.sort(&[[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 2.0, 2.0]]);
        assert_eq!(sorter.sort(&[[5.0, 5.0, 5.0]]).ranks(), [0]);
        assert_eq!(
            sorter.sort(&[[5.0, 5.0, 5.0, 5.0], [0.0, 0.0, 0.0, 0.0]]).ranks(),
            [1, 0]
        );
        assert_eq!(sorter.sort(&[[5.0], [4.0]]).ranks(), [1, 0]);
    }

    #[test]
    fn many_points_on_several_threads_rank_as_on_one() {
        let mut random = crate::random::Streams::new(3, 0, crate::random::Purpose::Sample).stream(0);
        let pools = [1, 2, 3, 8].map(|threads| {
            let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
            builder.build().unwrap()
        });
        let n = PARALLEL + 3000;
        for width in 1..6 {
            // Many ties, hardly any, points that dominate each other in turn, and all the same.
            for levels in [2.0, 50.0, 1e9, -1e9, 0.0] {
                let mut data: Vec<f64> = (0..n * width)
                    .map(|_| (random.unit() * f64::abs(levels)).floor())
                    .collect();
                if levels < 0.0 {
                    for (i, point) in data.chunks_mut(width).enumerate() {
                        point
                            .iter_mut()
                            .for_each(|v| *v = *v * 1e-5 + (i * 7919 % n) as f64);
                    }
                }
                let points = Rows::new(&data, width);
                let [expected, others @ ..] = pools.each_ref().map(|pool| {
                    let ranks = pool.install(|| Sorter::default().ranks(points).to_vec());
                    (ranks, pool.install(|| non_dominated_sort(points)))
                });
                assert_eq!(expected.0, expected.1.ranks());
                assert!(others.iter().all(|other| *other == expected), "{width} {levels}");
            }
        }
    }
}
