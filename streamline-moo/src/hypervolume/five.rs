//! Five objectives: points in rising order of the fifth, each with the volume that it adds to those before it in the first
//! four.
//!
//! That is its box less the volume of the others limited to the box. Those among them that none dominates are found with
//! sets of bits: each point that is left strikes out, many at a time, those that are nowhere below it.

use super::four::Four;
use super::larger;
use crate::sorting::key;

/// Memory for volumes in five objectives.
#[derive(Debug, Default)]
pub(super) struct Five {
    points: Vec<[f64; 5]>,
    order: Vec<u32>,
    /// For point i the sets of points that are not below it in each objective: word w of the sets at `i * words + w`.
    not_below: Vec<[u64; 4]>,
    words: usize,
    /// The points that are left, as a set and one by one.
    left: Vec<u64>,
    limited: Vec<[f64; 4]>,
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
        let mut volume = 0.0;
        for i in 0..self.points.len() {
            let point = self.points[i];
            if self.limit(i) {
                let own = point[0] * point[1] * point[2] * point[3];
                volume -= point[4] * (own - self.covered(i));
            }
        }
        volume
    }

    fn fill_sets(&mut self) {
        let n = self.points.len();
        self.words = n.div_ceil(64);
        self.not_below.clear();
        self.not_below.resize(n * self.words, [0; 4]);
        let mut set = vec![0u64; self.words];
        for j in 0..4 {
            let points = &self.points;
            self.order.clear();
            self.order.extend(0..n as u32);
            self.order.sort_unstable_by_key(|&i| !key(points[i as usize][j]));
            set.fill(0);
            for equal in self
                .order
                .chunk_by(|&a, &b| key(points[a as usize][j]) == key(points[b as usize][j]))
            {
                for &i in equal {
                    set[i as usize / 64] |= 1 << (i % 64);
                }
                for &i in equal {
                    let sets = &mut self.not_below[i as usize * self.words..][..self.words];
                    for (word, &bits) in sets.iter_mut().zip(&set) {
                        word[j] = bits;
                    }
                }
            }
        }
    }

    /// Lists the points before `i`, limited to its box, that none dominates. `false` if one of them covers the box.
    fn limit(&mut self, i: usize) -> bool {
        let corner = &self.points[i];
        let used = i.div_ceil(64);
        self.left.clear();
        self.left.resize(used, u64::MAX);
        if let Some(last) = self.left.last_mut() {
            *last >>= used * 64 - i;
        }
        // The nearest in the fifth objective come first, as they strike out most.
        for word in (0..used).rev() {
            let mut unseen = self.left[word];
            while unseen > 0 {
                let bit = 63 - unseen.leading_zeros();
                let other = word * 64 + bit as usize;
                let point = &self.points[other];
                // Where a limited point is at the corner, no other one is below it.
                let at_corner: [bool; 4] = std::array::from_fn(|j| point[j] <= corner[j]);
                if at_corner == [true; 4] {
                    return false;
                }
                let any = at_corner.map(|at| if at { u64::MAX } else { 0 });
                let sets = &self.not_below[other * self.words..][..used];
                for (left, set) in self.left.iter_mut().zip(sets) {
                    *left &= !((set[0] | any[0]) & (set[1] | any[1]) & (set[2] | any[2]) & (set[3] | any[3]));
                }
                self.left[word] |= 1 << bit;
                unseen = self.left[word] & ((1 << bit) - 1);
            }
        }
        true
    }

    /// The volume, in the first four objectives, of the points that are left, limited to the box of point `i`.
    fn covered(&mut self, i: usize) -> f64 {
        let corner = &self.points[i];
        let mut at_corner = [0; 4];
        self.limited.clear();
        for (word, &left) in self.left.iter().enumerate() {
            let mut left = left;
            while left > 0 {
                let point = &self.points[word * 64 + left.trailing_zeros() as usize];
                left &= left - 1;
                self.limited
                    .push(std::array::from_fn(|j| larger(point[j], corner[j])));
                for j in 0..4 {
                    at_corner[j] += u32::from(point[j] <= corner[j]);
                }
            }
        }
        // Last comes the objective in which most points are at the corner, for the others cost more.
        let last = (0..4).max_by_key(|&j| at_corner[j]).unwrap_or(3);
        self.flat.clear();
        self.rising.clear();
        for point in &mut self.limited {
            point.swap(last, 3);
            if point[3] > corner[last] {
                self.rising.push(*point);
            } else {
                self.flat.push([point[0], point[1], point[2]]);
            }
        }
        self.rising.sort_unstable_by_key(|p| key(p[3]));
        self.four.sweep_on(&mut self.flat, corner[last], &self.rising)
    }
}
