//! A packing under way.

use crate::contention::{Event, Loads};
use crate::load::{DIMENSIONS, Load};
use crate::model::{Item, Model};
use crate::objective::TERMS;
use crate::{Resource, Term};

/// A packing under way.
///
/// Invariant: the loads hold exactly what `place` says, and none holds more than its TaskManager has.
#[derive(Debug, Clone)]
pub(crate) struct State<'m, 'a> {
    pub(crate) model: &'m Model<'a>,
    pub(crate) loads: Vec<Load>,
    /// What is left of each TaskManager. Side by side, because most questions end here.
    free: Vec<[u64; DIMENSIONS]>,
    pub(crate) place: Vec<Option<usize>>,
    /// Present if the objective asks for contention.
    pub(crate) contention: Option<Loads>,
}

impl<'m, 'a> State<'m, 'a> {
    pub(crate) fn new(model: &'m Model<'a>) -> Self {
        let managers = model.task_managers.len();
        Self {
            model,
            loads: vec![Load::default(); managers],
            free: model.capacity.clone(),
            place: vec![None; model.items.len()],
            contention: model
                .objective
                .uses(Term::Contention)
                .then(|| Loads::new(managers)),
        }
    }

    pub(crate) fn fits(&self, item: usize, manager: usize) -> bool {
        let Item {
            size,
            operator,
            capped,
            ..
        } = &self.model.items[item];
        let free = &self.free[manager];
        (0..DIMENSIONS).all(|d| size[d] <= free[d])
            && !capped
            && self.slots_with(item, manager) <= self.model.task_managers[manager].slots
            && self.may(*operator, manager)
    }

    /// The slots of a TaskManager that are taken once it runs the item as well.
    fn slots_with(&self, item: usize, manager: usize) -> u32 {
        let operator = self.model.items[item].operator;
        let group = self.model.operators[operator as usize].group;
        self.loads[manager]
            .slots
            .saturating_add(self.loads[manager].further_slots(operator, group))
    }

    /// Whether the constraints let one more instance of the operator in.
    fn may(&self, operator: u32, manager: usize) -> bool {
        let dense = &self.model.operators[operator as usize];
        if dense.is_free() {
            return true;
        }
        let load = &self.loads[manager];
        dense.allowed.as_ref().is_none_or(|allowed| allowed[manager])
            && load.count(operator) < dense.at_most
            && (dense.apart.is_empty()
                || load
                    .operators
                    .iter()
                    .all(|resident| dense.apart.binary_search(&resident.operator).is_err()))
    }

    pub(crate) fn add(&mut self, item: usize, manager: usize) {
        debug_assert!(self.place[item].is_none() && self.fits(item, manager));
        let Item { size, operator, .. } = &self.model.items[item];
        let group = self.model.operators[*operator as usize].group;
        let load = &mut self.loads[manager];
        let change = |load: &mut Load| load.add(item as u32, size, *operator, group);
        let event = Event {
            item,
            operator: *operator,
            manager,
            sign: 1.0,
        };
        match &mut self.contention {
            Some(loads) => loads.note(&self.model.contention, event, load, change),
            None => change(load),
        }
        for d in 0..DIMENSIONS {
            self.free[manager][d] -= size[d];
        }
        self.place[item] = Some(manager);
    }

    /// Takes an item away; gives where it was.
    pub(crate) fn take(&mut self, item: usize) -> Option<usize> {
        let manager = self.place[item].take()?;
        let Item { size, operator, .. } = &self.model.items[item];
        let group = self.model.operators[*operator as usize].group;
        let load = &mut self.loads[manager];
        let change = |load: &mut Load| load.remove(item as u32, size, *operator, group);
        let event = Event {
            item,
            operator: *operator,
            manager,
            sign: -1.0,
        };
        match &mut self.contention {
            Some(loads) => loads.note(&self.model.contention, event, load, change),
            None => change(load),
        }
        for d in 0..DIMENSIONS {
            self.free[manager][d] += size[d];
        }
        Some(manager)
    }

    /// As [`State::add`]; adds what that changes in each term but contention.
    pub(crate) fn add_noting(&mut self, item: usize, manager: usize, change: &mut [f64; TERMS]) {
        let overload = self.overload(manager);
        self.note(item, manager, 1.0, change);
        self.add(item, manager);
        change[Term::Overload as usize] += self.overload(manager) - overload;
    }

    /// As [`State::take`]; adds what that changes in each term but contention.
    pub(crate) fn take_noting(&mut self, item: usize, change: &mut [f64; TERMS]) -> Option<usize> {
        let overload = self.place[item].map_or(0.0, |manager| self.overload(manager));
        let manager = self.take(item)?;
        self.note(item, manager, -1.0, change);
        change[Term::Overload as usize] += self.overload(manager) - overload;
        Some(manager)
    }

    /// What an item, which is not placed now, adds to the terms on a TaskManager.
    fn note(&self, item: usize, manager: usize, sign: f64, change: &mut [f64; TERMS]) {
        let load = &self.loads[manager];
        let Item {
            operator,
            current,
            demand,
            partners,
            ..
        } = &self.model.items[item];
        change[Term::Unplaced as usize] -= sign * self.model.weight(item);
        if load.items.is_empty() {
            change[Term::Price as usize] += sign * self.model.task_managers[manager].price;
        }
        if current.is_some_and(|current| current != manager) {
            change[Term::MovedInstances as usize] += sign;
            change[Term::MovedState as usize] += sign * demand.state_bytes as f64;
        }
        change[Term::Crowding as usize] += sign * f64::from(load.count(*operator));
        // Traffic is counted by what does not cross.
        for &(partner, rate) in partners {
            if self.place[partner as usize] == Some(manager) {
                change[Term::ForwardTraffic as usize] -= sign * rate;
                change[Term::Traffic as usize] -= sign * rate;
            }
        }
        for &(other, rate) in &self.model.operators[*operator as usize].neighbours {
            change[Term::Traffic as usize] -= sign * rate * f64::from(load.count(other));
        }
    }

    fn overload(&self, manager: usize) -> f64 {
        if !self.model.has_target {
            return 0.0;
        }
        let (used, target) = (&self.loads[manager].used, &self.model.target[manager]);
        let whole = &self.model.whole[manager];
        (0..DIMENSIONS)
            .map(|d| (used[d] as f64 - target[d]).max(0.0) / whole[d].max(1.0))
            .sum()
    }

    /// The used share of the scarcest resource of a TaskManager.
    pub(crate) fn fill(&self, manager: usize) -> f64 {
        let (used, capacity) = (&self.loads[manager].used, &self.model.capacity[manager]);
        let shares = (0..DIMENSIONS).map(|d| used[d] as f64 / (capacity[d] as f64).max(1.0));
        let slots =
            f64::from(self.loads[manager].slots) / f64::from(self.model.task_managers[manager].slots.max(1));
        shares.fold(slots, f64::max)
    }

    /// What the TaskManager that comes closest to having room is short of the most, against what it has.
    pub(crate) fn lacking(&self, item: usize) -> Resource {
        if self.model.items[item].capped {
            return Resource::Cap;
        }
        let mut closest = (f64::INFINITY, Resource::Constraint);
        for manager in 0..self.loads.len() {
            let Item { size, operator, .. } = &self.model.items[item];
            if !self.may(*operator, manager) {
                continue;
            }
            let (free, capacity) = (&self.free[manager], &self.model.capacity[manager]);
            let mut worst = (0.0, Resource::Slots);
            for (d, resource) in [Resource::Cpu, Resource::Memory, Resource::Network]
                .into_iter()
                .enumerate()
            {
                let short = size[d].saturating_sub(free[d]);
                let short = short as f64 / (capacity[d] as f64).max(1.0);
                if short > worst.0 {
                    worst = (short, resource);
                }
            }
            let slots = self.model.task_managers[manager].slots;
            let short = self.slots_with(item, manager).saturating_sub(slots);
            let short = f64::from(short) / f64::from(slots.max(1));
            if short > worst.0 {
                worst = (short, Resource::Slots);
            }
            if worst.0 < closest.0 {
                closest = worst;
            }
        }
        closest.1
    }
}
