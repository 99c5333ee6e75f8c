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
    /// Adds a point that it does not dominate.
    fn insert(&mut self, point: &Self::Point);
}

/// A growing list of fronts that reuses the memory of earlier ones.
#[derive(Debug, Default)]
struct List<K> {
    kept: Vec<K>,
    used: usize,
}

impl<K: Kept> List<K> {
    fn clear(&mut self) {
        self.kept[..self.used].iter_mut().for_each(K::clear);
        self.used = 0;
    }

    /// The first front that does not dominate `point`, at or after `from`: dominance by a front implies dominance by all
    /// before it.
    fn first_free(&self, from: usize, point: &K::Point) -> usize {
        let fronts = &self.kept[from.min(self.used)..self.used];
        from + fronts.partition_point(|front| front.dominates(point))
    }

    fn insert(&mut self, rank: usize, point: &K::Point) {
        while self.used <= rank {
            if self.kept.len() == self.used {
                self.kept.push(K::default());
            }
            self.used += 1;
        }
        self.kept[rank].insert(point);
    }
}

/// Ranks points in the order of the sweep.
#[derive(Debug, Default)]
pub(super) struct Sweep<K> {
    fronts: List<K>,
    /// On several threads, the fronts of the batch at hand alone.
    recent: List<K>,
    bases: Vec<u32>,
}

/// How many points ask the fronts at once on several threads.
const BATCH: usize = 2048;

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
        self.fronts.clear();
        let mut previous = 0;
        if !parallel {
            for i in 0..n {
                if !repeats(i) {
                    let p = point(i);
                    previous = self.fronts.first_free(0, p);
                    self.fronts.insert(previous, p);
                }
                ranks.push(previous as u32);
            }
            return;
        }
        let mut begin = 0;
        while begin < n {
            // What the fronts say before the batch is a lower bound; the batch's own points may raise it.
            let end = n.min(begin + BATCH);
            let fronts = &self.fronts;
            (begin..end)
                .into_par_iter()
                .with_min_len(64)
                .map(|i| fronts.first_free(0, point(i)) as u32)
                .collect_into_vec(&mut self.bases);
            for i in begin..end {
                if !repeats(i) {
                    let p = point(i);
                    previous = self.bases[i - begin] as usize;
                    while previous < self.recent.used && self.recent.kept[previous].dominates(p) {
                        previous += 1;
                    }
                    self.recent.insert(previous, p);
                    self.fronts.insert(previous, p);
                }
                ranks.push(previous as u32);
            }
            self.recent.clear();
            begin = end;
        }
    }
}
