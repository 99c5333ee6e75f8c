//! The sweep that three and more objectives share: points in lexicographic order find their front by bisection.

use rayon::prelude::*;

/// What is kept of each front, so that it can tell whether it dominates a point that comes later in the sweep.
pub(super) trait Kept: Default + Send + Sync {
    /// A point, without its first objective.
    type Point: ?Sized + Sync;

    /// Empties it and keeps the memory.
    fn clear(&mut self);
    /// Whether one of its points is nowhere above `point`.
    fn dominates(&self, point: &Self::Point) -> bool;
    /// Whether one of the points added since the last [`mark`](Self::mark) is nowhere above `point`; it may look at older ones
    /// too.
    fn dominates_since(&self, point: &Self::Point) -> bool;
    /// Remembers what is there.
    fn mark(&mut self);
    /// Adds a point that it does not dominate.
    fn insert(&mut self, point: &Self::Point);
}

/// Ranks points in the order of the sweep.
#[derive(Debug, Default)]
pub(super) struct Sweep<K> {
    /// The fronts; those from `used` on are empty and wait to be used again.
    fronts: Vec<K>,
    used: usize,
    bases: Vec<u32>,
}

/// How many points ask the fronts at once on several threads.
pub(super) const BATCH: usize = 4096;

impl<K: Kept> Sweep<K> {
    /// Writes the rank of each of `n` points. `point(i)` is the i-th in lexicographic order, `repeats(i)` says whether it has
    /// the values of the one before.
    pub(super) fn run<'p>(
        &mut self,
        n: usize,
        parallel: bool,
        point: impl Fn(usize) -> &'p K::Point + Sync,
        repeats: impl Fn(usize) -> bool,
        ranks: &mut Vec<u32>,
    ) where
        K::Point: 'p,
    {
        self.fronts[..self.used].iter_mut().for_each(K::clear);
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
            fronts.iter_mut().for_each(K::mark);
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

    fn insert(&mut self, rank: usize, point: &K::Point) {
        if rank == self.used {
            self.used += 1;
            if self.fronts.len() < self.used {
                self.fronts.push(K::default());
            }
        }
        self.fronts[rank].insert(point);
    }
}

/// The first front that does not dominate `point`: dominance by a front implies dominance by all before it.
fn first_free<K: Kept>(fronts: &[K], point: &K::Point) -> usize {
    fronts.partition_point(|front| front.dominates(point))
}
