//! All non-dominated feasible points that a run has seen.

use crate::crowding::Crowd;
use crate::pool::Pool;
use crate::{Goal, Sorter};

/// A bounded archive of non-dominated feasible individuals. Beyond its capacity the most crowded go, one at a time.
#[derive(Debug)]
pub(crate) struct Archive {
    pub(crate) pool: Pool,
    capacity: usize,
    sorter: Sorter,
    crowd: Crowd,
}

impl Archive {
    pub(crate) fn new(capacity: usize, width: usize, goals: &[Goal], k: usize) -> Self {
        let pool = Pool::new(width, goals, k);
        Self {
            pool,
            capacity,
            sorter: Sorter::default(),
            crowd: Crowd::default(),
        }
    }

    /// Takes in the individuals of `source` from `begin` on that are feasible and not dominated.
    pub(crate) fn absorb(&mut self, source: &Pool, begin: usize) {
        let (w, m, k) = (source.width, source.m(), source.k);
        let old = self.pool.len;
        for i in begin..source.len {
            if source.violations[i] > 0.0 {
                continue;
            }
            let to = self.pool.len;
            self.pool.resize(to + 1);
            self.pool.genomes[to * w..].copy_from_slice(source.genome(i));
            self.pool.objectives[to * m..].copy_from_slice(source.objectives().row(i));
            self.pool.constraints[to * k..].copy_from_slice(&source.constraints[i * k..(i + 1) * k]);
            self.pool.violations[to] = 0.0;
        }
        if self.pool.len == old {
            return;
        }
        let front = self.sorter.sort(self.pool.objectives()).front(0);
        // Points with the same objectives are kept once: the front is in lexicographic order, so they are neighbours, and the
        // older comes first.
        let mut members: Vec<u32> = Vec::with_capacity(front.len());
        for &i in front {
            let row = |i: u32| self.pool.objectives().row(i as usize);
            if members.last().is_none_or(|&last| row(last) != row(i)) {
                members.push(i);
            }
        }
        self.crowd.prepare(self.pool.objectives(), &members, true);
        let mut kept = Vec::with_capacity(members.len().min(self.capacity));
        if members.len() > self.capacity {
            self.crowd.thin(self.capacity, |position, distance| {
                let i = members[position as usize];
                self.pool.crowding[i as usize] = distance;
                kept.push(i);
            });
        } else {
            let mut distances = vec![0.0; members.len()];
            self.crowd.distances_into(&mut distances);
            for (&i, distance) in members.iter().zip(distances) {
                self.pool.crowding[i as usize] = distance;
            }
            kept = members;
        }
        self.pool.ranks.fill(0);
        self.pool.keep(&mut kept);
        self.pool.resize(kept.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(points: &[[f64; 2]]) -> Pool {
        let mut pool = Pool::new(0, &[Goal::Minimise; 2], 0);
        pool.resize(points.len());
        pool.objectives.copy_from_slice(points.as_flattened());
        pool
    }

    #[test]
    fn dominated_and_doubled_points_leave_and_the_extremes_outlast_the_bound() {
        let mut archive = Archive::new(3, 0, &[Goal::Minimise; 2], 0);
        archive.absorb(&pool(&[[2.0, 2.0], [0.0, 5.0], [2.0, 2.0]]), 0);
        assert_eq!(archive.pool.len, 2);
        archive.absorb(&pool(&[[1.0, 1.0], [5.0, 0.0], [0.9, 1.2]]), 0);
        assert_eq!(archive.pool.len, 3);
        let left: Vec<&[f64]> = archive.pool.objectives().iter().collect();
        assert!(left.contains(&&[0.0, 5.0][..]) && left.contains(&&[5.0, 0.0][..]));
    }
}
