//! The checked request in dense indices, and the running state of a packing.

use std::collections::HashMap;

use streamline_core::{Assignment, CoreError, Placement, TaskManager};

use crate::{Demand, Request, Resource, Schedule, ScheduleError, Unplaced, Usage};

/// CPU is counted in billionths of a core, so that sums do not depend on the order of adding.
const UNITS_PER_CORE: f64 = 1e9;
/// A TaskManager may be overfilled by a millionth of a core, so that thirds and tenths add up to the whole.
const CPU_TOLERANCE: u64 = 1_000;

/// Resources besides slots: cpu, memory, network.
pub(crate) const DIMENSIONS: usize = 3;

/// One instance. Items are sorted by instance, so that the order of the demands does not matter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item {
    pub(crate) demand: Demand,
    pub(crate) size: [u64; DIMENSIONS],
    /// Index of the operator among [`Model::operators`].
    pub(crate) operator: u32,
    /// TaskManager where it runs now.
    pub(crate) current: Option<usize>,
}

/// All instances of one operator that share a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct DenseOperator {
    pub(crate) job: usize,
    pub(crate) operator: usize,
    pub(crate) group: u32,
}

/// A checked request.
#[derive(Debug)]
pub(crate) struct Model<'a> {
    pub(crate) task_managers: &'a [TaskManager],
    pub(crate) items: Vec<Item>,
    pub(crate) operators: Vec<DenseOperator>,
    /// What may be used of each TaskManager, headroom taken off.
    pub(crate) capacity: Vec<[u64; DIMENSIONS]>,
    /// Item indices in decreasing cpu, then memory, then network memory, then by instance.
    pub(crate) decreasing: Vec<usize>,
}

impl<'a> Model<'a> {
    pub(crate) fn new(request: &Request<'a>) -> Result<Self, ScheduleError> {
        let task_managers = request.cluster.task_managers();
        if !(0.0..1.0).contains(&request.headroom) {
            return Err(ScheduleError::InvalidOption {
                name: "headroom",
                value: request.headroom,
                expected: "a share of at least 0 and below 1",
            });
        }
        if let Some(index) = request
            .demands
            .iter()
            .position(|demand| !(demand.cpu_cores.is_finite() && demand.cpu_cores >= 0.0))
        {
            return Err(ScheduleError::InvalidDemand {
                index,
                value: request.demands[index].cpu_cores,
            });
        }
        if !request.demands.is_empty() && task_managers.iter().all(|manager| manager.slots == 0) {
            return Err(ScheduleError::NoSlots {
                instances: request.demands.len(),
                task_managers: task_managers.len(),
            });
        }
        if let Some(assignment) = request.current.and_then(|current| {
            current
                .assignments()
                .iter()
                .find(|a| a.task_manager >= task_managers.len())
        }) {
            return Err(ScheduleError::UnknownTaskManager {
                task_manager: assignment.task_manager,
                task_managers: task_managers.len(),
            });
        }
        let (items, operators) = items(request)?;
        let mut decreasing: Vec<usize> = (0..items.len()).collect();
        decreasing.sort_by(|&a, &b| items[b].size.cmp(&items[a].size).then(a.cmp(&b)));
        let capacity = task_managers
            .iter()
            .map(|manager| {
                let usable = 1.0 - request.headroom;
                [
                    units(manager.cpu_cores * usable).saturating_add(CPU_TOLERANCE),
                    share(manager.memory_bytes, usable),
                    share(manager.network_bytes, usable),
                ]
            })
            .collect();
        Ok(Self {
            task_managers,
            items,
            operators,
            capacity,
            decreasing,
        })
    }

    /// Turns a finished packing into the answer.
    pub(crate) fn finish(&self, state: &State<'_, '_>) -> Result<Schedule, ScheduleError> {
        let mut assignments = Vec::with_capacity(self.items.len());
        let mut usage = vec![Usage::default(); self.task_managers.len()];
        let mut missing = Usage::default();
        let mut unplaced = Vec::new();
        let mut moved = 0;
        for (index, item) in self.items.iter().enumerate() {
            let instance = item.demand.instance;
            let sum = match state.place[index] {
                Some(task_manager) => {
                    assignments.push(Assignment {
                        instance,
                        task_manager,
                    });
                    moved += usize::from(item.current.is_some_and(|current| current != task_manager));
                    &mut usage[task_manager]
                }
                None => {
                    unplaced.push(Unplaced {
                        instance,
                        lacking: state.lacking(index),
                    });
                    &mut missing
                }
            };
            sum.cpu_cores += item.demand.cpu_cores;
            sum.memory_bytes = sum.memory_bytes.saturating_add(item.demand.memory_bytes);
            sum.network_bytes = sum.network_bytes.saturating_add(item.demand.network_bytes);
        }
        for (usage, bin) in usage.iter_mut().zip(&state.bins) {
            usage.slots = bin.slots;
        }
        missing.slots = slots_of(
            (0..self.items.len()).filter(|&index| state.place[index].is_none()),
            self,
        );
        Ok(Schedule {
            placement: Placement::new(assignments)?,
            usage,
            unplaced,
            moved,
            order: self
                .decreasing
                .iter()
                .map(|&index| self.items[index].demand.instance)
                .collect(),
            missing,
        })
    }
}

fn units(cores: f64) -> u64 {
    (cores * UNITS_PER_CORE).round() as u64 // saturates
}

fn share(bytes: u64, usable: f64) -> u64 {
    if usable >= 1.0 {
        return bytes;
    }
    ((bytes as f64 * usable).floor() as u64).min(bytes)
}

fn items(request: &Request<'_>) -> Result<(Vec<Item>, Vec<DenseOperator>), ScheduleError> {
    let mut demands = request.demands.to_vec();
    demands.sort_unstable_by_key(|demand| demand.instance);
    if let Some(pair) = demands
        .windows(2)
        .find(|pair| pair[0].instance == pair[1].instance)
    {
        let instance = pair[0].instance;
        return Err(ScheduleError::Instances(CoreError::DuplicateInstance {
            job: instance.job,
            operator: instance.operator,
            subtask: instance.subtask,
        }));
    }
    let mut operators = Vec::new();
    let mut known = HashMap::new();
    let items = demands
        .into_iter()
        .map(|demand| {
            let operator = DenseOperator {
                job: demand.instance.job,
                operator: demand.instance.operator,
                group: demand.sharing_group,
            };
            let index = *known.entry(operator).or_insert_with(|| {
                operators.push(operator);
                operators.len() as u32 - 1
            });
            Item {
                demand,
                size: [units(demand.cpu_cores), demand.memory_bytes, demand.network_bytes],
                operator: index,
                current: request
                    .current
                    .and_then(|current| current.task_manager(demand.instance)),
            }
        })
        .collect();
    Ok((items, operators))
}

/// The slots that some items would take on one TaskManager of their own.
fn slots_of(items: impl Iterator<Item = usize>, model: &Model<'_>) -> u32 {
    let mut bin = Bin::default();
    for index in items {
        let operator = model.items[index].operator;
        bin.add(operator, model.operators[operator as usize].group);
    }
    bin.slots
}

/// What is on one TaskManager.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bin {
    pub(crate) used: [u64; DIMENSIONS],
    pub(crate) slots: u32,
    pub(crate) instances: u32,
    /// Operators with at least one instance here.
    pub(crate) operators: Vec<Resident>,
}

/// How many instances of one operator are on a TaskManager.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resident {
    pub(crate) operator: u32,
    pub(crate) group: u32,
    pub(crate) count: u32,
}

impl Bin {
    pub(crate) fn count(&self, operator: u32) -> u32 {
        self.operators
            .iter()
            .find(|resident| resident.operator == operator)
            .map_or(0, |resident| resident.count)
    }

    /// The slots that a group takes: its most frequent operator's instances.
    fn widest(&self, group: u32) -> u32 {
        let widths = self.operators.iter().filter(|resident| resident.group == group);
        widths.map(|resident| resident.count).max().unwrap_or(0)
    }

    /// The further slots that one more instance of the operator takes: 0 or 1.
    pub(crate) fn further_slots(&self, operator: u32, group: u32) -> u32 {
        u32::from(self.count(operator) == self.widest(group))
    }

    fn add(&mut self, operator: u32, group: u32) {
        self.slots += self.further_slots(operator, group);
        self.instances += 1;
        match self
            .operators
            .iter_mut()
            .find(|resident| resident.operator == operator)
        {
            Some(resident) => resident.count += 1,
            None => self.operators.push(Resident {
                operator,
                group,
                count: 1,
            }),
        }
    }
}

/// A packing under way.
///
/// Invariant: the bins hold exactly what `place` says, and none holds more than its TaskManager has.
#[derive(Debug, Clone)]
pub(crate) struct State<'m, 'a> {
    pub(crate) model: &'m Model<'a>,
    pub(crate) bins: Vec<Bin>,
    pub(crate) place: Vec<Option<usize>>,
}

impl<'m, 'a> State<'m, 'a> {
    pub(crate) fn new(model: &'m Model<'a>) -> Self {
        Self {
            model,
            bins: vec![Bin::default(); model.task_managers.len()],
            place: vec![None; model.items.len()],
        }
    }

    pub(crate) fn fits(&self, item: usize, manager: usize) -> bool {
        let (bin, capacity) = (&self.bins[manager], &self.model.capacity[manager]);
        let size = &self.model.items[item].size;
        (0..DIMENSIONS).all(|d| size[d] <= capacity[d].saturating_sub(bin.used[d]))
            && bin.slots + self.further_slots(item, manager) <= self.model.task_managers[manager].slots
    }

    fn further_slots(&self, item: usize, manager: usize) -> u32 {
        let operator = self.model.items[item].operator;
        self.bins[manager].further_slots(operator, self.model.operators[operator as usize].group)
    }

    pub(crate) fn add(&mut self, item: usize, manager: usize) {
        debug_assert!(self.place[item].is_none() && self.fits(item, manager));
        let Item { size, operator, .. } = self.model.items[item];
        let bin = &mut self.bins[manager];
        for d in 0..DIMENSIONS {
            bin.used[d] += size[d];
        }
        bin.add(operator, self.model.operators[operator as usize].group);
        self.place[item] = Some(manager);
    }

    /// Leaves every instance where it runs now, as far as it still fits; larger ones first.
    pub(crate) fn keep_current(&mut self) {
        for &item in &self.model.decreasing {
            if let Some(manager) = self.model.items[item].current
                && self.fits(item, manager)
            {
                self.add(item, manager);
            }
        }
    }

    /// What the TaskManager that comes closest to having room is short of the most, against what it has.
    fn lacking(&self, item: usize) -> Resource {
        let mut closest = (f64::INFINITY, Resource::Slots);
        for manager in 0..self.bins.len() {
            let (bin, capacity) = (&self.bins[manager], &self.model.capacity[manager]);
            let size = &self.model.items[item].size;
            let mut worst = (0.0, Resource::Slots);
            for (d, resource) in [Resource::Cpu, Resource::Memory, Resource::Network]
                .into_iter()
                .enumerate()
            {
                let short = size[d].saturating_sub(capacity[d].saturating_sub(bin.used[d]));
                let short = short as f64 / (capacity[d] as f64).max(1.0);
                if short > worst.0 {
                    worst = (short, resource);
                }
            }
            let slots = self.model.task_managers[manager].slots;
            let short = (bin.slots + self.further_slots(item, manager)).saturating_sub(slots);
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
