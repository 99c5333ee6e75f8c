//! Six objectives and more: what a point adds to those before it is its box less the volume of these, limited to the box,
//! in one objective less.

use super::five::Five;
use crate::sorting::key;

/// Memory for volumes in `m` objectives, one level for each number of objectives from `m` down to six.
#[derive(Debug)]
pub(super) struct Many {
    m: usize,
    five: Five,
    /// Sets that were limited and are used again.
    spare: Vec<Vec<f64>>,
}

impl Many {
    pub(super) fn new(m: usize) -> Self {
        Self {
            m,
            five: Five::default(),
            spare: Vec::new(),
        }
    }

    /// The volume between points, all negative, and the origin. Flat rows of `m` numbers, at least five.
    pub(super) fn volume(&mut self, points: &[f64]) -> f64 {
        self.level(points, self.m)
    }

    fn level(&mut self, points: &[f64], m: usize) -> f64 {
        if m == 5 {
            return self.five.volume(points);
        }
        let mut order: Vec<&[f64]> = points.chunks_exact(m).collect();
        order.sort_unstable_by_key(|p| key(p[m - 1]));
        let mut volume = 0.0;
        for (i, point) in order.iter().enumerate() {
            let own: f64 = point[..m - 1].iter().map(|v| -v).product();
            let covered = self.below(point, &order[..i], m - 1);
            volume -= point[m - 1] * (own - covered.unwrap_or(own));
        }
        volume
    }

    /// The volume of `others` limited to the box of `point` in its first `m` objectives; `None` if it is the whole box.
    fn below(&mut self, point: &[f64], others: &[&[f64]], m: usize) -> Option<f64> {
        let mut limited = self.spare.pop().unwrap_or_default();
        limited.clear();
        let no_worse = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| a <= b);
        let mut new = vec![0.0; m];
        for other in others.iter().rev() {
            for j in 0..m {
                new[j] = other[j].max(point[j]);
            }
            if no_worse(&new, point) {
                self.spare.push(limited);
                return None;
            }
            if limited.chunks_exact(m).any(|old| no_worse(old, &new)) {
                continue;
            }
            let mut i = 0;
            while i < limited.len() {
                if no_worse(&new, &limited[i..i + m]) {
                    // The last one takes its place.
                    let end = limited.len() - m;
                    limited.copy_within(end.., i);
                    limited.truncate(end);
                } else {
                    i += m;
                }
            }
            limited.extend_from_slice(&new);
        }
        let volume = self.level(&limited, m);
        self.spare.push(limited);
        Some(volume)
    }
}
