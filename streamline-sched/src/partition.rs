//! Search for a packing of a given price among all fillings that can be part of one.

use crate::columns::{Filling, Master};
use crate::simplex::Optimum;

/// Fillings that are kept, at most.
const MOST_FILLINGS: usize = 300_000;
/// Nodes of either search.
const NODES: u64 = 20_000_000;
const EPSILON: f64 = 1e-6;

pub(crate) enum Outcome {
    /// A packing of at most the price.
    Found(Vec<Filling>),
    /// There is none.
    None,
    /// The search was too long.
    Unknown,
}

/// Looks for a packing that costs at most `price`.
///
/// With the duals of the linear program every filling has a reduced cost of at least 0, and those of a packing sum up to
/// its price less the program's optimum. So only fillings of at most that gap can be part of one, and the search among
/// them is cut off where the sum exceeds it.
pub(crate) fn partition(master: &Master<'_>, optimum: &Optimum, left: &[u32], price: f64) -> Outcome {
    let gap = price - optimum.cost + EPSILON;
    let problem = master.problem();
    let pieces = problem.pieces().len();
    let mut enumeration = Enumeration {
        master,
        duals: &optimum.duals[..pieces],
        counts: vec![0; master.entries().len()],
        left: problem.pieces().iter().map(|piece| piece.count).collect(),
        found: Vec::new(),
        nodes: NODES,
    };
    for kind in 0..problem.kinds().len() {
        let rent = master.limited().iter().position(|&limited| limited == kind);
        let rent = rent.map_or(0.0, |row| optimum.duals[pieces + row]);
        let cost = problem.kinds()[kind].price - rent;
        let mut free = problem.kinds()[kind].capacity.clone();
        if !enumeration.descend(kind, 0, cost, gap, &mut free) {
            return Outcome::Unknown;
        }
    }
    let mut fillings = enumeration.found;
    fillings.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Pieces that few fillings hold come first.
    let mut holding: Vec<Vec<usize>> = vec![Vec::new(); pieces];
    for (index, (_, filling)) in fillings.iter().enumerate() {
        for &(entry, _) in &filling.items {
            let list = &mut holding[master.entries()[entry].piece];
            if list.last() != Some(&index) {
                list.push(index);
            }
        }
    }
    let mut search = Search {
        master,
        fillings: &fillings,
        holding: &holding,
        demand: problem.pieces().iter().map(|piece| piece.count).collect(),
        left: left.to_vec(),
        chosen: Vec::new(),
        nodes: NODES,
    };
    if search.descend(gap) {
        return Outcome::Found(
            search
                .chosen
                .iter()
                .map(|&index| fillings[index].1.clone())
                .collect(),
        );
    }
    if search.nodes == 0 {
        Outcome::Unknown
    } else {
        Outcome::None
    }
}

struct Enumeration<'s, 'p> {
    master: &'s Master<'p>,
    duals: &'s [f64],
    counts: Vec<u32>,
    left: Vec<u32>,
    /// Reduced cost and filling.
    found: Vec<(f64, Filling)>,
    nodes: u64,
}

impl Enumeration<'_, '_> {
    /// All fillings from an entry on; `cost` is the reduced cost so far. Gives whether the limits were kept.
    fn descend(&mut self, kind: usize, entry: usize, cost: f64, gap: f64, free: &mut [u64]) -> bool {
        if self.nodes == 0 || self.found.len() >= MOST_FILLINGS {
            return false;
        }
        self.nodes -= 1;
        if entry == self.counts.len() {
            if cost <= gap && self.counts.iter().any(|&count| count > 0) {
                let items = self
                    .counts
                    .iter()
                    .copied()
                    .enumerate()
                    .filter(|&(_, count)| count > 0)
                    .collect();
                self.found.push((cost.max(0.0), Filling { kind, items }));
            }
            return true;
        }
        if cost - self.most(entry, free) > gap {
            return true;
        }
        let piece = self.master.entries()[entry].piece;
        let size = self.master.size(entry);
        let mut most = self.left[piece];
        for (&size, &free) in size.iter().zip(free.iter()) {
            if let Some(times) = free.checked_div(size) {
                most = most.min(u32::try_from(times).unwrap_or(u32::MAX));
            }
        }
        for count in 0..=most {
            self.counts[entry] = count;
            self.left[piece] -= count;
            for (free, size) in free.iter_mut().zip(size) {
                *free -= size * u64::from(count);
            }
            let within = self.descend(
                kind,
                entry + 1,
                cost - f64::from(count) * self.duals[piece],
                gap,
                free,
            );
            for (free, size) in free.iter_mut().zip(size) {
                *free += size * u64::from(count);
            }
            self.left[piece] += count;
            self.counts[entry] = 0;
            if !within {
                return false;
            }
        }
        true
    }

    /// The value that the entries from one on could add: the least, over the resources, of what each alone allows.
    fn most(&self, from: usize, free: &[u64]) -> f64 {
        let mut all = 0.0;
        let mut densest = vec![0.0f64; free.len()];
        for entry in from..self.counts.len() {
            let piece = self.master.entries()[entry].piece;
            let value = self.duals[piece];
            if value <= 0.0 || self.left[piece] == 0 {
                continue;
            }
            let size = self.master.size(entry);
            if size.iter().zip(free).any(|(size, free)| size > free) {
                continue;
            }
            all += value * f64::from(self.left[piece]);
            for (densest, &size) in densest.iter_mut().zip(size) {
                *densest = if size == 0 {
                    f64::INFINITY
                } else {
                    densest.max(value / size as f64)
                };
            }
        }
        densest
            .iter()
            .zip(free)
            .map(|(&densest, &free)| {
                if free == 0 {
                    f64::INFINITY
                } else {
                    densest * free as f64
                }
            })
            .fold(all, f64::min)
    }
}

struct Search<'s, 'p> {
    master: &'s Master<'p>,
    fillings: &'s [(f64, Filling)],
    holding: &'s [Vec<usize>],
    demand: Vec<u32>,
    left: Vec<u32>,
    chosen: Vec<usize>,
    nodes: u64,
}

impl Search<'_, '_> {
    fn descend(&mut self, gap: f64) -> bool {
        let open = (0..self.demand.len()).filter(|&piece| self.demand[piece] > 0);
        let Some(piece) = open.min_by_key(|&piece| self.holding[piece].len()) else {
            return true;
        };
        for &index in &self.holding[piece] {
            let (cost, filling) = &self.fillings[index];
            if *cost > gap {
                return false;
            }
            if self.nodes == 0 {
                return false;
            }
            self.nodes -= 1;
            if self.left[filling.kind] == 0 || !self.take(filling) {
                continue;
            }
            self.chosen.push(index);
            if self.descend(gap - cost) {
                return true;
            }
            self.chosen.pop();
            self.give_back(filling);
        }
        false
    }

    fn take(&mut self, filling: &Filling) -> bool {
        for (at, &(entry, count)) in filling.items.iter().enumerate() {
            let demand = &mut self.demand[self.master.entries()[entry].piece];
            if *demand < count {
                for &(entry, count) in &filling.items[..at] {
                    self.demand[self.master.entries()[entry].piece] += count;
                }
                return false;
            }
            *demand -= count;
        }
        if self.left[filling.kind] != u32::MAX {
            self.left[filling.kind] -= 1;
        }
        true
    }

    fn give_back(&mut self, filling: &Filling) {
        for &(entry, count) in &filling.items {
            self.demand[self.master.entries()[entry].piece] += count;
        }
        // Where there are as many as one likes, the number stays at its maximum.
        self.left[filling.kind] = self.left[filling.kind].saturating_add(1);
    }
}
