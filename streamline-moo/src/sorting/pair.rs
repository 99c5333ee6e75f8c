//! One and two objectives: of each front only the smallest second objective matters.

use rayon::prelude::*;

use super::key::key;
use super::merge;
use super::sweep::BATCH;
use crate::Rows;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    first: u64,
    second: u64,
    index: u32,
}

impl Item {
    fn new(index: usize, point: &[f64]) -> Self {
        // With one objective, the same value twice: equal values are one front, and all else is a chain.
        Self {
            first: key(point[0]),
            second: key(point[point.len() - 1]),
            index: index as u32,
        }
    }
}

/// Memory for sorting by one or two objectives.
#[derive(Debug, Default)]
pub(super) struct Pair {
    items: Vec<Item>,
    spare: Vec<Item>,
    /// The smallest second objective of each front so far; never falls from one front to the next.
    tails: Vec<u64>,
    bases: Vec<u32>,
}

impl Pair {
    pub(super) fn assign(
        &mut self,
        points: Rows<'_>,
        parallel: bool,
        sorted: &mut Vec<u32>,
        ranks: &mut Vec<u32>,
    ) {
        self.tails.clear();
        if !parallel {
            self.items.clear();
            self.items
                .extend(points.iter().enumerate().map(|(i, p)| Item::new(i, p)));
            self.items.sort_unstable();
            sorted.extend(self.items.iter().map(|item| item.index));
            self.sweep(0, self.items.len(), ranks, |tails, _, second| {
                tails.partition_point(|&tail| tail <= second)
            });
            return;
        }
        let item = |i: usize| Item::new(i, points.row(i));
        (0..points.len())
            .into_par_iter()
            .with_min_len(BATCH)
            .map(item)
            .collect_into_vec(&mut self.items);
        merge::sort(&mut self.items, &mut self.spare);
        self.items
            .par_iter()
            .with_min_len(BATCH)
            .map(|item| item.index)
            .collect_into_vec(sorted);
        let n = self.items.len();
        let mut bases = std::mem::take(&mut self.bases);
        for begin in (0..n).step_by(BATCH) {
            // What the tails say before the batch is a lower bound; the batch's own points may raise it.
            let end = n.min(begin + BATCH);
            let tails = &self.tails;
            let base = |item: &Item| tails.partition_point(|&tail| tail <= item.second) as u32;
            self.items[begin..end]
                .par_iter()
                .with_min_len(256)
                .map(base)
                .collect_into_vec(&mut bases);
            self.sweep(begin, end, ranks, |tails, i, second| {
                let mut rank = bases[i - begin] as usize;
                while tails.get(rank).is_some_and(|&tail| tail <= second) {
                    rank += 1;
                }
                rank
            });
        }
        self.bases = bases;
    }

    /// Ranks the items from `begin` to `end`. `search` finds the first front whose tail is above the second objective.
    fn sweep(
        &mut self,
        begin: usize,
        end: usize,
        ranks: &mut Vec<u32>,
        search: impl Fn(&[u64], usize, u64) -> usize,
    ) {
        let mut previous = begin.checked_sub(1).map(|i| self.items[i]);
        let mut rank = ranks.last().map_or(0, |&rank| rank as usize);
        for i in begin..end {
            let item = self.items[i];
            if previous.is_none_or(|p| (p.first, p.second) != (item.first, item.second)) {
                rank = search(&self.tails, i, item.second);
                if rank == self.tails.len() {
                    self.tails.push(item.second);
                } else {
                    self.tails[rank] = item.second;
                }
            }
            previous = Some(item);
            ranks.push(rank as u32);
        }
    }
}
