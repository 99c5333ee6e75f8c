//! Five objectives and more: what a point adds to those before it is its box less the volume of these, limited to the box,
//! in one objective less.

use super::four::Four;
use crate::sorting::key;

/// Memory for volumes in `m` objectives, one level for each number of objectives from `m` down to four.
#[derive(Debug)]
pub(super) struct Many {
    m: usize,
    four: Four,
    quads: Vec<[f64; 4]>,
    /// Sets that were limited and are used again.
    spare: Vec<Vec<f64>>,
}

impl Many {
    pub(super) fn new(m: usize) -> Self {
        Self {
            m,
            four: Four::default(),
            quads: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// The volume between points, all negative, and the origin. Flat rows of `m` numbers.
    pub(super) fn volume(&mut self, points: Vec<f64>) -> f64 {
        self.level(points, self.m)
    }

    fn level(&mut self, points: Vec<f64>, m: usize) -> f64 {
        if m == 4 {
            self.quads.clear();
            self.quads.extend_from_slice(points.as_chunks().0);
            self.spare.push(points);
            return self.four.sweep(&mut self.quads);
        }
        let mut order: Vec<&[f64]> = points.chunks_exact(m).collect();
        order.sort_unstable_by_key(|p| key(p[m - 1]));
        let mut volume = 0.0;
        for (i, point) in order.iter().enumerate() {
            let mut limited = self.spare.pop().unwrap_or_default();
            limited.clear();
            if !limit(point, &order[..i], m - 1, &mut limited) {
                self.spare.push(limited);
                continue;
            }
            let own: f64 = point[..m - 1].iter().map(|v| -v).product();
            let covered = self.level(limited, m - 1);
            volume -= point[m - 1] * (own - covered);
        }
        drop(order);
        self.spare.push(points);
        volume
    }
}

/// Writes `others`, limited to the box of `point` in the first `m` objectives, as far as none dominates another. `false` if
/// one of them covers the whole box.
fn limit(point: &[f64], others: &[&[f64]], m: usize, limited: &mut Vec<f64>) -> bool {
    'others: for other in others {
        let start = limited.len();
        limited.extend(other.iter().zip(point).take(m).map(|(o, p)| o.max(*p)));
        let (before, new) = limited.split_at_mut(start);
        if new.iter().zip(point).all(|(n, p)| n <= p) {
            return false;
        }
        let mut end = start;
        let mut i = 0;
        while i < end {
            let old = &before[i..i + m];
            let (mut below, mut above) = (false, false);
            for (o, n) in old.iter().zip(new.iter()) {
                below |= o < n;
                above |= o > n;
            }
            if !above {
                limited.truncate(start);
                limited.truncate(end);
                continue 'others;
            }
            if !below {
                // The new one dominates the old one, whose place the last one takes.
                end -= m;
                before.copy_within(end..end + m, i);
                continue;
            }
            i += m;
        }
        if end < start {
            limited.copy_within(start..start + m, end);
            limited.truncate(end + m);
        }
    }
    true
}
