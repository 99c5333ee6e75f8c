//! Column generation for packing problems: fillings of one bin are made up as the linear program asks for them.

use crate::packing::{BinKind, FilledBin, Packing, PackingProblem};
use crate::partition::{Outcome, partition};
use crate::simplex::{self, Column, Optimum};

/// Nodes of the search for one filling, after which the bound is no longer proven.
const NODES: u64 = 2_000_000;
/// With one resource of at most so many units, a table finds the best filling.
const MOST_ROOM_FOR_TABLE: u64 = 20_000;
/// Fillings made up for one program, at most.
const MOST_COLUMNS: usize = 4_000;
/// Times that the solution is rounded, each time in another order.
const DIVES: usize = 24;
const EPSILON: f64 = 1e-7;

/// One way to fill a bin of a kind: how many items of each entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filling {
    pub(crate) kind: usize,
    /// Index among [`Master::entries`] and number, sorted.
    pub(crate) items: Vec<(usize, u32)>,
}

/// A choice of a piece.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) piece: usize,
    pub(crate) choice: usize,
}

pub(crate) struct Master<'p> {
    problem: &'p PackingProblem,
    entries: Vec<Entry>,
    /// Kinds of which only so many are available, each with a row of its own.
    limited: Vec<usize>,
    fillings: Vec<Filling>,
    /// What one item without room counts as.
    prohibitive: f64,
    exact: bool,
}

pub(crate) fn solve(problem: &PackingProblem) -> Packing {
    let kinds = problem.kinds();
    let prices: f64 = kinds.iter().map(|kind| kind.price).sum();
    let items: f64 = problem.pieces().iter().map(|piece| f64::from(piece.count)).sum();
    let mut master = Master {
        problem,
        entries: problem
            .pieces()
            .iter()
            .enumerate()
            .flat_map(|(piece, p)| (0..p.choices.len()).map(move |choice| Entry { piece, choice }))
            .collect(),
        limited: (0..kinds.len())
            .filter(|&kind| kinds[kind].available.is_some())
            .collect(),
        fillings: Vec::new(),
        prohibitive: (prices + 1.0) * (items + 1.0),
        exact: true,
    };
    let demand: Vec<u32> = problem.pieces().iter().map(|piece| piece.count).collect();
    let left: Vec<u32> = kinds
        .iter()
        .map(|kind| kind.available.unwrap_or(u32::MAX))
        .collect();
    let relaxed = master.relax(&demand, &left);
    let step = price_step(kinds);
    let mut bound = 0.0;
    // Where not everything fits, what is missing would dominate the bound.
    if let Some(optimum) = relaxed
        .as_ref()
        .filter(|optimum| optimum.cost < master.prohibitive)
        && master.exact
    {
        bound = step.map_or(optimum.cost, |step| {
            ((optimum.cost - EPSILON) / step).ceil() * step
        });
    }
    let mut best: Option<(usize, f64, Vec<Filling>)> = None;
    for dive in 0..DIVES {
        let fillings = master.dive(relaxed.clone(), demand.clone(), left.clone(), dive);
        let price: f64 = fillings.iter().map(|filling| kinds[filling.kind].price).sum();
        let missing: u32 = master.missing(&fillings).iter().map(|&(_, count)| count).sum();
        let missing = missing as usize;
        if best
            .as_ref()
            .is_none_or(|(least, lowest, _)| (missing, price) < (*least, *lowest))
        {
            best = Some((missing, price, fillings));
        }
        if best
            .as_ref()
            .is_some_and(|(missing, price, _)| *missing == 0 && *price <= bound + EPSILON)
        {
            break;
        }
    }
    let (missing, mut price, mut fillings) = best.unwrap_or_default();
    if let (0, Some(optimum), Some(step), true) = (missing, &relaxed, step, bound > 0.0) {
        // Either there is a packing at the bound, or the bound can be raised.
        while price > bound + EPSILON {
            match partition(&master, optimum, &left, bound) {
                Outcome::Found(better) => {
                    price = better.iter().map(|filling| kinds[filling.kind].price).sum();
                    fillings = better;
                }
                Outcome::None => bound += step,
                Outcome::Unknown => break,
            }
        }
    }
    let proven = missing == 0 && price <= bound * (1.0 + EPSILON) + EPSILON;
    Packing {
        unplaced: master.missing(&fillings),
        bins: master.assign(fillings),
        price,
        bound,
        proven,
    }
}

/// The largest step that all prices are multiples of, if they are whole.
fn price_step(kinds: &[BinKind]) -> Option<f64> {
    let mut divisor = 0u64;
    for kind in kinds {
        if kind.price.fract().abs() > 0.0 || kind.price > 1e15 {
            return None;
        }
        let mut rest = kind.price as u64;
        while rest > 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
    }
    (divisor > 0).then_some(divisor as f64)
}

impl<'p> Master<'p> {
    pub(crate) fn problem(&self) -> &'p PackingProblem {
        self.problem
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn limited(&self) -> &[usize] {
        &self.limited
    }

    pub(crate) fn size(&self, entry: usize) -> &[u64] {
        let Entry { piece, choice } = self.entries[entry];
        &self.problem.pieces()[piece].choices[choice]
    }

    /// The linear relaxation for what is still to be packed; `None` if nothing is or the program got stuck.
    fn relax(&mut self, demand: &[u32], left: &[u32]) -> Option<Optimum> {
        if demand.iter().all(|&count| count == 0) {
            return None;
        }
        let pieces = demand.len();
        let mut right: Vec<f64> = demand.iter().map(|&count| f64::from(count)).collect();
        right.extend(self.limited.iter().map(|&kind| f64::from(left[kind])));
        loop {
            let columns: Vec<Column> = self.fillings.iter().map(|filling| self.column(filling)).collect();
            let optimum = simplex::solve(&columns, pieces, &right, self.prohibitive)?;
            let before = self.fillings.len();
            for kind in 0..self.problem.kinds().len() {
                if left[kind] == 0 {
                    continue;
                }
                let rent = self.limited.iter().position(|&limited| limited == kind);
                let rent = rent.map_or(0.0, |row| optimum.duals[pieces + row]);
                let price = self.problem.kinds()[kind].price - rent;
                if let Some(filling) = self.best_filling(kind, &optimum.duals[..pieces], demand, price)
                    && !self.fillings.contains(&filling)
                {
                    self.fillings.push(filling);
                }
            }
            if self.fillings.len() == before || self.fillings.len() > MOST_COLUMNS {
                self.exact &= self.fillings.len() == before;
                return Some(optimum);
            }
        }
    }

    fn column(&self, filling: &Filling) -> Column {
        let mut entries: Vec<(usize, f64)> = Vec::with_capacity(filling.items.len() + 1);
        for &(entry, count) in &filling.items {
            let piece = self.entries[entry].piece;
            match entries.iter_mut().find(|(row, _)| *row == piece) {
                Some((_, sum)) => *sum += f64::from(count),
                None => entries.push((piece, f64::from(count))),
            }
        }
        if let Some(row) = self.limited.iter().position(|&kind| kind == filling.kind) {
            entries.push((self.problem.pieces().len() + row, 1.0));
        }
        Column {
            cost: self.problem.kinds()[filling.kind].price,
            entries,
        }
    }

    /// The filling of most value, if that is more than its price.
    fn best_filling(&mut self, kind: usize, duals: &[f64], demand: &[u32], price: f64) -> Option<Filling> {
        let capacity = &self.problem.kinds()[kind].capacity;
        let mut ranked: Vec<(usize, f64, f64)> = Vec::new();
        for (entry, &Entry { piece, .. }) in self.entries.iter().enumerate() {
            let size = self.size(entry);
            let fits = size.iter().zip(capacity).all(|(size, capacity)| size <= capacity);
            if fits && demand[piece] > 0 && duals[piece] > EPSILON {
                // One resource in place of all: the sum of shares, of which a bin has as many as resources.
                let shares = size
                    .iter()
                    .zip(capacity)
                    .map(|(&size, &capacity)| size as f64 / (capacity as f64).max(1.0));
                ranked.push((entry, duals[piece], shares.sum::<f64>()));
            }
        }
        ranked.sort_by(|a, b| {
            (b.1 / b.2.max(1e-12))
                .total_cmp(&(a.1 / a.2.max(1e-12)))
                .then(a.0.cmp(&b.0))
        });
        let single = self.problem.pieces().iter().all(|piece| piece.choices.len() == 1);
        if let ([room], true) = (capacity.as_slice(), single)
            && *room <= MOST_ROOM_FOR_TABLE
        {
            return self.best_by_table(kind, *room as usize, &ranked, demand, price);
        }
        let mut search = Knapsack {
            sizes: ranked
                .iter()
                .map(|&(entry, ..)| self.size(entry).to_vec())
                .collect(),
            pieces: ranked
                .iter()
                .map(|&(entry, ..)| self.entries[entry].piece)
                .collect(),
            values: ranked.iter().map(|&(_, value, _)| value).collect(),
            weights: ranked.iter().map(|&(.., weight)| weight).collect(),
            free: capacity.clone(),
            left: demand.to_vec(),
            chosen: Vec::new(),
            best: Vec::new(),
            best_value: price * (1.0 + EPSILON) + EPSILON,
            nodes: NODES,
        };
        search.descend(0, 0.0, capacity.len() as f64);
        self.exact &= search.nodes > 0;
        if search.best.is_empty() {
            return None;
        }
        let mut items: Vec<(usize, u32)> = search
            .best
            .iter()
            .map(|&(at, count)| (ranked[at].0, count))
            .collect();
        items.sort_unstable();
        Some(Filling { kind, items })
    }

    /// As [`Master::best_filling`] for one resource: a table of the best value for every size.
    fn best_by_table(
        &self,
        kind: usize,
        room: usize,
        ranked: &[(usize, f64, f64)],
        demand: &[u32],
        price: f64,
    ) -> Option<Filling> {
        // Items by doubling numbers: any count is a sum of them.
        let mut bundles: Vec<(usize, u32, usize, f64)> = Vec::new();
        for &(entry, value, _) in ranked {
            let size = self.size(entry).first().map_or(0, |&size| size as usize);
            let most = room.checked_div(size).map_or(u32::MAX, |times| times as u32);
            let mut left = demand[self.entries[entry].piece].min(most);
            let mut bundle = 1;
            while left > 0 {
                let count = bundle.min(left);
                bundles.push((entry, count, size * count as usize, value * f64::from(count)));
                left -= count;
                bundle *= 2;
            }
        }
        let mut table = vec![0.0f64; room + 1];
        let mut taken = vec![false; bundles.len() * (room + 1)];
        for (index, &(_, _, size, value)) in bundles.iter().enumerate() {
            for filled in (size..=room).rev() {
                if table[filled - size] + value > table[filled] + 1e-12 {
                    table[filled] = table[filled - size] + value;
                    taken[index * (room + 1) + filled] = true;
                }
            }
        }
        if table[room] <= price * (1.0 + EPSILON) + EPSILON {
            return None;
        }
        let mut filled = room;
        let mut counts = std::collections::BTreeMap::<usize, u32>::new();
        for (index, &(entry, count, size, _)) in bundles.iter().enumerate().rev() {
            if taken[index * (room + 1) + filled] {
                *counts.entry(entry).or_default() += count;
                filled -= size;
            }
        }
        Some(Filling {
            kind,
            items: counts.into_iter().collect(),
        })
    }

    /// Rounds the relaxation step by step: takes whole fillings, solves again for the rest, and so on.
    fn dive(
        &mut self,
        mut relaxed: Option<Optimum>,
        mut demand: Vec<u32>,
        mut left: Vec<u32>,
        turn: usize,
    ) -> Vec<Filling> {
        let mut taken = Vec::new();
        let mut depth = 0;
        while let Some(optimum) = relaxed {
            let mut ranked: Vec<(f64, usize)> = optimum
                .values
                .iter()
                .map(|&(column, value)| (value, column))
                .collect();
            ranked.sort_by(|a, b| {
                let key = |value: f64| (value.floor() > 0.0, value.fract());
                key(b.0)
                    .partial_cmp(&key(a.0))
                    .unwrap_or(std::cmp::Ordering::Equal)
                    .then(a.1.cmp(&b.1))
            });
            let wholes = ranked
                .iter()
                .filter(|(value, _)| value.floor() > 0.0 || value.fract() > 1.0 - EPSILON)
                .count();
            let mut picked: Vec<(usize, u32)> = Vec::new();
            if wholes > 0 {
                picked.extend(
                    ranked[..wholes]
                        .iter()
                        .map(|&(value, column)| (column, (value + EPSILON).floor().max(1.0) as u32)),
                );
            } else if !ranked.is_empty() {
                // Other turns round other fillings up first.
                let skip = if depth < 5 { (turn >> depth) & 1 } else { 0 };
                picked.push((ranked[skip.min(ranked.len() - 1)].1, 1));
                depth += 1;
            }
            let mut progress = false;
            for (column, times) in picked {
                for _ in 0..times {
                    progress |= self.take(column, &mut demand, &mut left, &mut taken);
                }
            }
            if !progress {
                break;
            }
            relaxed = self.relax(&demand, &left);
        }
        taken
    }

    /// Takes a filling as far as there is demand for it.
    fn take(&self, column: usize, demand: &mut [u32], left: &mut [u32], taken: &mut Vec<Filling>) -> bool {
        let filling = &self.fillings[column];
        if left[filling.kind] == 0 {
            return false;
        }
        let mut items = Vec::with_capacity(filling.items.len());
        for &(entry, count) in &filling.items {
            let demand = &mut demand[self.entries[entry].piece];
            let count = count.min(*demand);
            if count > 0 {
                *demand -= count;
                items.push((entry, count));
            }
        }
        if items.is_empty() {
            return false;
        }
        if left[filling.kind] != u32::MAX {
            left[filling.kind] -= 1;
        }
        taken.push(Filling {
            kind: filling.kind,
            items,
        });
        true
    }

    fn missing(&self, fillings: &[Filling]) -> Vec<(usize, u32)> {
        let mut left: Vec<u32> = self.problem.pieces().iter().map(|piece| piece.count).collect();
        for &(entry, count) in fillings.iter().flat_map(|filling| &filling.items) {
            let left = &mut left[self.entries[entry].piece];
            *left = left.saturating_sub(count);
        }
        left.into_iter()
            .enumerate()
            .filter(|&(_, count)| count > 0)
            .collect()
    }

    fn assign(&self, fillings: Vec<Filling>) -> Vec<FilledBin> {
        let bins = fillings.into_iter().map(|filling| FilledBin {
            kind: filling.kind,
            contents: filling
                .items
                .into_iter()
                .map(|(entry, count)| (self.entries[entry].piece, self.entries[entry].choice, count))
                .collect(),
        });
        let mut bins: Vec<FilledBin> = bins.collect();
        bins.sort_by(|a, b| a.kind.cmp(&b.kind).then_with(|| a.contents.cmp(&b.contents)));
        bins
    }
}

/// Branch and bound for the most valuable filling of one bin. Everything is in the order of value for size.
struct Knapsack {
    sizes: Vec<Vec<u64>>,
    pieces: Vec<usize>,
    values: Vec<f64>,
    weights: Vec<f64>,
    free: Vec<u64>,
    left: Vec<u32>,
    chosen: Vec<(usize, u32)>,
    best: Vec<(usize, u32)>,
    best_value: f64,
    nodes: u64,
}

impl Knapsack {
    fn descend(&mut self, at: usize, value: f64, room: f64) {
        if self.nodes == 0 {
            return;
        }
        self.nodes -= 1;
        if value > self.best_value {
            self.best_value = value;
            self.best.clone_from(&self.chosen);
        }
        if at == self.sizes.len() || value + self.most(at, room) <= self.best_value {
            return;
        }
        let mut fit = self.left[self.pieces[at]];
        for (&size, &free) in self.sizes[at].iter().zip(&self.free) {
            if let Some(times) = free.checked_div(size) {
                fit = fit.min(u32::try_from(times).unwrap_or(u32::MAX));
            }
        }
        for count in (0..=fit).rev() {
            if count > 0 {
                self.change(at, count, true);
                self.chosen.push((at, count));
            }
            self.descend(
                at + 1,
                value + f64::from(count) * self.values[at],
                room - f64::from(count) * self.weights[at],
            );
            if count > 0 {
                self.chosen.pop();
                self.change(at, count, false);
            }
        }
    }

    fn change(&mut self, at: usize, count: u32, take: bool) {
        let left = &mut self.left[self.pieces[at]];
        *left = if take { *left - count } else { *left + count };
        for (&size, free) in self.sizes[at].iter().zip(&mut self.free) {
            let sum = size * u64::from(count);
            *free = if take { *free - sum } else { *free + sum };
        }
    }

    /// The value that the rest could add if items could be cut and only the sum of shares mattered.
    fn most(&self, from: usize, mut room: f64) -> f64 {
        let mut value = 0.0;
        for at in from..self.sizes.len() {
            let count = f64::from(self.left[self.pieces[at]]);
            let weight = count * self.weights[at];
            if weight >= room {
                return value + room.max(0.0) / self.weights[at].max(1e-12) * self.values[at];
            }
            // Only what still fits on its own can come in.
            if self.sizes[at]
                .iter()
                .zip(&self.free)
                .all(|(size, free)| size <= free)
            {
                value += count * self.values[at];
                room -= weight;
            }
        }
        value
    }
}
