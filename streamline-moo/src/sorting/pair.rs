//! One and two objectives: of each front only the smallest second objective matters.

use rayon::prelude::*;

use super::key::key;
use crate::Rows;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    first: u64,
    second: u64,
    index: u32,
}

/// Memory for sorting by one or two objectives.
#[derive(Debug, Default)]
pub(super) struct Pair {
    items: Vec<Item>,
    /// The smallest second objective of each front so far; never falls from one front to the next.
    tails: Vec<u64>,
}

impl Pair {
    pub(super) fn assign(
        &mut self,
        points: Rows<'_>,
        parallel: bool,
        sorted: &mut Vec<u32>,
        ranks: &mut Vec<u32>,
    ) {
        self.items.clear();
        self.items.extend(points.iter().enumerate().map(|(i, p)| Item {
            first: key(p[0]),
            // With one objective, the same value twice: equal values are one front, and all else is a chain.
            second: key(p[p.len() - 1]),
            index: i as u32,
        }));
        if parallel {
            self.items.par_sort_unstable();
        } else {
            self.items.sort_unstable();
        }
        sorted.extend(self.items.iter().map(|item| item.index));
        self.tails.clear();
        let (mut rank, mut previous) = (0, None);
        for item in &self.items {
            if previous != Some((item.first, item.second)) {
                rank = self.tails.partition_point(|&tail| tail <= item.second);
                if rank == self.tails.len() {
                    self.tails.push(item.second);
                } else {
                    self.tails[rank] = item.second;
                }
                previous = Some((item.first, item.second));
            }
            ranks.push(rank as u32);
        }
    }
}
