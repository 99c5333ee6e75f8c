//! The sweep of four and more objectives: points in lexicographic order find their front by bisection.

use rayon::prelude::*;

use super::blocks::Blocks;

/// Ranks points in the order of the sweep.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    /// The fronts; those from `used` on are empty and wait to be used again.
    fronts: Vec<Blocks>,
    used: usize,
    bases: Vec<u32>,
}

/// How many points ask the fronts at once on several threads.
const BATCH: usize = 4096;

impl Sweep {
    /// Writes the rank of each of `n` points. `point(i)` is the i-th in lexicographic order, `repeats(i)` says whether it has
    /// the values of the one before.
    pub(super) fn run<'p>(
        &mut self,
        n: usize,
        parallel: bool,
        point: impl Fn(usize) -> &'p [i32] + Sync,
        repeats: impl Fn(usize) -> bool,
        ranks: &mut Vec<u32>,
    ) {
        self.fronts[..self.used].iter_mut().for_each(Blocks::clear);
        self.used = 0;
        let mut previous = 0;
        if !parallel {
            for i in 0..n {
                if !repeats(i) {
                    previous = first_free(&self.fronts[..self.used], point(i));
                    self.insert(previous, point(i));
                }
                ranks.push(previous as u32);
            }
            return;
        }
        let mut begin = 0;
        while begin < n {
            // What the fronts say before the batch is a lower bound; the batch's own points may raise it.
            let end = n.min(begin + BATCH);
            let fronts = &mut self.fronts[..self.used];
            fronts.iter_mut().for_each(Blocks::mark);
            let fronts = &*fronts;
            (begin..end)
                .into_par_iter()
                .with_min_len(64)
                .map(|i| first_free(fronts, point(i)) as u32)
                .collect_into_vec(&mut self.bases);
            for i in begin..end {
                if !repeats(i) {
                    let p = point(i);
                    previous = self.bases[i - begin] as usize;
                    while previous < self.used && self.fronts[previous].dominates_since(p) {
                        previous += 1;
                    }
                    self.insert(previous, p);
                }
                ranks.push(previous as u32);
            }
            begin = end;
        }
    }

    fn insert(&mut self, rank: usize, point: &[i32]) {
        if rank == self.used {
            self.used += 1;
            if self.fronts.len() < self.used {
                self.fronts.push(Blocks::default());
            }
        }
        self.fronts[rank].insert(point);
    }
}

/// The first front that does not dominate `point`: dominance by a front implies dominance by all before it.
fn first_free(fronts: &[Blocks], point: &[i32]) -> usize {
    fronts.partition_point(|front| front.dominates(point))
}
