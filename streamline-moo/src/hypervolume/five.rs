//! Five objectives: points in rising order of the fifth, each with the volume that it adds to those before it in the first
//! four.
//!
//! That is its box less the volume of the others limited to the box. Which limited points are dominated is read from sets of
//! bits: the points that are nowhere above another one in an objective are a set for each point and objective, and limiting
//! unites the sets of two points.

use super::four::Four;
use crate::sorting::key;

/// Memory for volumes in five objectives.
#[derive(Debug, Default)]
pub(super) struct Five {
    points: Vec<[f64; 5]>,
    /// The points so far, in rising order of the fourth objective.
    by_fourth: Vec<u32>,
    order: Vec<u32>,
    /// For point i the sets of points that are not above it in each objective: word w of the sets at `i * words + w`.
    not_above: Vec<[u64; 4]>,
    words: usize,
    flat: Vec<[f64; 3]>,
    rising: Vec<[f64; 4]>,
    four: Four,
}

impl Five {
    /// The volume between points, all negative, and the origin. Flat rows of five numbers.
    pub(super) fn volume(&mut self, points: &[f64]) -> f64 {
        self.points.clear();
        self.points.extend_from_slice(points.as_chunks().0);
        self.points.sort_unstable_by_key(|p| key(p[4]));
        self.fill_sets();
        self.by_fourth.clear();
        let mut volume = 0.0;
        for i in 0..self.points.len() {
            let point = self.points[i];
            if self.limit(i) {
                let own = point[0] * point[1] * point[2] * point[3];
                let covered = self.four.sweep_on(&mut self.flat, point[3], &self.rising);
                volume -= point[4] * (own - covered);
            }
            let points = &self.points;
            let place = self
                .by_fourth
                .partition_point(|&q| points[q as usize][3] <= point[3]);
            self.by_fourth.insert(place, i as u32);
        }
        volume
    }

    fn fill_sets(&mut self) {
        let n = self.points.len();
        self.words = n.div_ceil(64);
        self.not_above.clear();
        self.not_above.resize(n * self.words, [0; 4]);
        let mut set = vec![0u64; self.words];
        for j in 0..4 {
            let points = &self.points;
            self.order.clear();
            self.order.extend(0..n as u32);
            self.order.sort_unstable_by_key(|&i| key(points[i as usize][j]));
            set.fill(0);
            for equal in self
                .order
                .chunk_by(|&a, &b| key(points[a as usize][j]) == key(points[b as usize][j]))
            {
                for &i in equal {
                    set[i as usize / 64] |= 1 << (i % 64);
                }
                for &i in equal {
                    let sets = &mut self.not_above[i as usize * self.words..][..self.words];
                    for (word, &bits) in sets.iter_mut().zip(&set) {
                        word[j] = bits;
                    }
                }
            }
        }
    }

    /// Lists the points before `i`, limited to its box, that none dominates: those at its fourth objective in `flat`, those
    /// above it in `rising`. `false` if one of them covers the box.
    fn limit(&mut self, i: usize) -> bool {
        let used = i.div_ceil(64);
        let sets = |of: usize| &self.not_above[of * self.words..][..used];
        let own = sets(i);
        // Of the sets, only the points before `i`.
        let before = |word: usize| {
            if word < i / 64 {
                u64::MAX
            } else {
                (1u64 << (i % 64)) - 1
            }
        };
        if (0..used).any(|w| own[w][0] & own[w][1] & own[w][2] & own[w][3] & before(w) != 0) {
            return false;
        }
        let corner = self.points[i];
        let limited = |of: usize| -> [f64; 4] { std::array::from_fn(|j| self.points[of][j].max(corner[j])) };
        self.flat.clear();
        self.rising.clear();
        'others: for &q in &self.by_fourth {
            let q = q as usize;
            let mine = limited(q);
            // The nearest in the fifth objective are last, and cut off most.
            for (w, (set, own)) in sets(q).iter().zip(own).enumerate().rev() {
                let mut better = before(w);
                for j in 0..4 {
                    better &= set[j] | own[j];
                }
                if w == q / 64 {
                    better &= !(1 << (q % 64));
                }
                if better == 0 {
                    continue;
                }
                // Of points that are the same when limited, the first in order stays.
                let earlier = if w < q / 64 {
                    u64::MAX
                } else if w > q / 64 {
                    0
                } else {
                    (1u64 << (q % 64)) - 1
                };
                if better & earlier != 0 {
                    continue 'others;
                }
                while better != 0 {
                    let other = w * 64 + better.trailing_zeros() as usize;
                    better &= better - 1;
                    if limited(other).iter().zip(&mine).any(|(a, b)| a < b) {
                        continue 'others;
                    }
                }
            }
            if mine[3] > corner[3] {
                self.rising.push(mine);
            } else {
                self.flat.push([mine[0], mine[1], mine[2]]);
            }
        }
        true
    }
}
