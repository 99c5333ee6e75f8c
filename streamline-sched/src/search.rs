//! Moves and swaps that make a placement better by the request's objective.

use std::collections::BTreeSet;

use crate::decreasing::{FitRule, best_fit};
use crate::objective::TERMS;
use crate::state::State;
use crate::{Term, spread};

/// TaskManagers and items whose product is at most this are searched in full.
const SMALL: usize = 40_000;
/// The most TaskManagers that an item is tried on in a large cluster.
const MOST_TARGETS: usize = 8;

/// A search under way.
pub(crate) struct Search<'m, 'a> {
    pub(crate) state: State<'m, 'a>,
    pub(crate) steps: u64,
    contention: f64,
}

impl<'m, 'a> Search<'m, 'a> {
    pub(crate) fn new(state: State<'m, 'a>, steps: u64) -> Self {
        let mut search = Self {
            state,
            steps,
            contention: 0.0,
        };
        search.contention = search.measure_contention();
        search
    }

    fn measure_contention(&self) -> f64 {
        let loads = self.state.contention.as_ref();
        loads.map_or(0.0, |loads| loads.largest(&self.state.model.contention))
    }

    /// Improves until nothing helps or the steps are used up.
    pub(crate) fn improve(&mut self) {
        while self.steps > 0 {
            let mut better = self.find_room();
            better |= self.empty_task_managers();
            better |= self.relocate();
            if !better {
                break;
            }
        }
    }

    /// Keeps the change if it is for the better.
    fn judge(&mut self, change: &mut [f64; TERMS]) -> bool {
        let model = self.state.model;
        let contention = self.measure_contention();
        change[Term::Contention as usize] = contention - self.contention;
        let better = model.objective.improves(change, &model.tolerance);
        if better {
            self.contention = contention;
        }
        better
    }

    fn step(&mut self) -> bool {
        self.steps = self.steps.saturating_sub(1);
        self.steps > 0
    }

    fn try_move(&mut self, item: usize, to: usize) -> bool {
        let mut change = [0.0; TERMS];
        let from = self.state.take_noting(item, &mut change);
        if self.state.fits(item, to) {
            self.state.add_noting(item, to, &mut change);
            if self.judge(&mut change) {
                return true;
            }
            self.state.take(item);
        }
        if let Some(from) = from {
            self.state.add(item, from);
        }
        false
    }

    fn try_swap(&mut self, one: usize, other: usize) -> bool {
        let (Some(first), Some(second)) = (self.state.place[one], self.state.place[other]) else {
            return false;
        };
        let mut change = [0.0; TERMS];
        self.state.take_noting(one, &mut change);
        self.state.take_noting(other, &mut change);
        if self.state.fits(one, second) {
            self.state.add_noting(one, second, &mut change);
            if self.state.fits(other, first) {
                self.state.add_noting(other, first, &mut change);
                if self.judge(&mut change) {
                    return true;
                }
                self.state.take(other);
            }
            self.state.take(one);
        }
        self.state.add(one, first);
        self.state.add(other, second);
        false
    }

    /// Makes room for items without: directly, or by moving one other item aside.
    fn find_room(&mut self) -> bool {
        let model = self.state.model;
        let mut better = false;
        for at in 0..model.order.len() {
            let item = model.order[at];
            if self.state.place[item].is_some() || model.items[item].capped || self.steps == 0 {
                continue;
            }
            better |= self.find_room_for(item);
        }
        better
    }

    fn find_room_for(&mut self, item: usize) -> bool {
        for manager in 0..self.state.loads.len() {
            if !self.step() {
                return false;
            }
            if self.state.fits(item, manager) && self.try_move(item, manager) {
                return true;
            }
        }
        for manager in 0..self.state.loads.len() {
            for other in self.state.loads[manager].items.clone() {
                let other = other as usize;
                if !self.step() {
                    return false;
                }
                let mut change = [0.0; TERMS];
                self.state.take_noting(other, &mut change);
                if self.state.fits(item, manager) {
                    self.state.add_noting(item, manager, &mut change);
                    self.steps = self.steps.saturating_sub(self.state.loads.len() as u64);
                    if let Some(aside) = spread::roomiest(&self.state, other) {
                        self.state.add_noting(other, aside, &mut change);
                        if self.judge(&mut change) {
                            return true;
                        }
                        self.state.take(other);
                    }
                    self.state.take(item);
                }
                self.state.add(other, manager);
            }
        }
        false
    }

    /// Tries to put all that one TaskManager runs elsewhere, the least used ones first.
    fn empty_task_managers(&mut self) -> bool {
        if !self.state.model.objective.uses(Term::Price) {
            return false;
        }
        let mut used: Vec<usize> = (0..self.state.loads.len())
            .filter(|&manager| !self.state.loads[manager].items.is_empty())
            .collect();
        used.sort_by(|&a, &b| self.state.fill(a).total_cmp(&self.state.fill(b)).then(a.cmp(&b)));
        if used.len() > SMALL / self.state.loads.len().max(1) {
            used.truncate(16);
        }
        let mut better = false;
        for manager in used {
            let mut items = self.state.loads[manager].items.clone();
            let size = |item: &u32| self.state.model.items[*item as usize].size;
            items.sort_unstable_by(|a, b| size(b).cmp(&size(a)).then(a.cmp(b)));
            self.steps = self
                .steps
                .saturating_sub((items.len() * self.state.loads.len()) as u64);
            if self.steps == 0 {
                break;
            }
            let mut change = [0.0; TERMS];
            for &item in &items {
                self.state.take_noting(item as usize, &mut change);
            }
            let mut moved = Vec::new();
            for &item in &items {
                let Some(to) = best_fit(&self.state, item as usize, FitRule::Norm, &[]) else {
                    break;
                };
                self.state.add_noting(item as usize, to, &mut change);
                moved.push(item as usize);
            }
            if moved.len() == items.len() && self.judge(&mut change) {
                better = true;
                continue;
            }
            for item in moved {
                self.state.take(item);
            }
            for item in items {
                self.state.add(item as usize, manager);
            }
        }
        better
    }

    /// Moves single items and swaps pairs.
    fn relocate(&mut self) -> bool {
        let items = self.state.place.len();
        let small = items.saturating_mul(self.state.loads.len()) <= SMALL;
        let mut better = false;
        for item in 0..items {
            let Some(from) = self.state.place[item] else {
                continue;
            };
            let targets = if small {
                (0..self.state.loads.len()).collect()
            } else {
                self.targets(item, from)
            };
            for to in targets {
                if self.state.place[item] == Some(to) {
                    continue;
                }
                if !self.step() {
                    return better;
                }
                if self.try_move(item, to) {
                    better = true;
                    if small { continue } else { break }
                }
                if self.swap_into(item, to, small) {
                    better = true;
                    if !small {
                        break;
                    }
                }
            }
        }
        better
    }

    fn swap_into(&mut self, item: usize, to: usize, small: bool) -> bool {
        let model = self.state.model;
        let Some(from) = self.state.place[item] else {
            return false;
        };
        let gain = if small {
            0.0
        } else {
            self.affinity(item, to) - self.affinity(item, from)
        };
        for other in self.state.loads[to].items.clone() {
            let other = other as usize;
            let twins = model.items[other].operator == model.items[item].operator
                && model.items[other].size == model.items[item].size
                && model.items[item].partners.is_empty()
                && !model.has_current;
            if twins {
                continue;
            }
            // In a large cluster only what brings instances together, or back, is worth trying.
            let home = model.items[item].current == Some(to);
            if !small && !home && gain + self.affinity(other, from) <= self.affinity(other, to) {
                continue;
            }
            if !self.step() {
                return false;
            }
            if self.try_swap(item, other) {
                return true;
            }
        }
        false
    }

    /// The bytes per second between an item and what a TaskManager runs.
    fn affinity(&self, item: usize, manager: usize) -> f64 {
        let model = self.state.model;
        let dense = &model.items[item];
        let mut sum = 0.0;
        for &(partner, rate) in &dense.partners {
            if self.state.place[partner as usize] == Some(manager) {
                sum += rate;
            }
        }
        for &(other, rate) in &model.operators[dense.operator as usize].neighbours {
            sum += rate * f64::from(self.state.loads[manager].count(other));
        }
        sum
    }

    /// Where the item's current TaskManager, partners and neighbours are, best first.
    fn targets(&self, item: usize, from: usize) -> Vec<usize> {
        let model = self.state.model;
        let dense = &model.items[item];
        let mut candidates = BTreeSet::new();
        candidates.extend(dense.current);
        candidates.extend(
            dense
                .partners
                .iter()
                .filter_map(|&(partner, _)| self.state.place[partner as usize]),
        );
        for &(other, _) in &model.operators[dense.operator as usize].neighbours {
            let items = &model.operators[other as usize].items;
            candidates.extend(
                items
                    .iter()
                    .take(64)
                    .filter_map(|&other| self.state.place[other as usize]),
            );
        }
        candidates.remove(&from);
        let here = self.affinity(item, from);
        let mut ranked: Vec<(f64, usize)> = candidates
            .into_iter()
            .map(|manager| (self.affinity(item, manager), manager))
            .filter(|&(affinity, manager)| affinity > here || dense.current == Some(manager))
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        ranked.truncate(MOST_TARGETS);
        ranked.into_iter().map(|(_, manager)| manager).collect()
    }
}
