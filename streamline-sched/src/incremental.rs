use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use streamline_core::{Assignment, Cluster, Instance, Placement};

use crate::free_room::FreeRoom;
use crate::load::{DIMENSIONS, Load};
use crate::model::{units, usable};
use crate::rules::{Key, Rules};
use crate::{Constraint, Demand, Resource, ScheduleError, Unplaced, Usage};

/// What one update changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Change {
    /// Instances that are new, with where they run.
    pub added: Vec<Assignment>,
    /// Instances that are gone, with where they ran.
    pub removed: Vec<Assignment>,
    /// Instances that run elsewhere now, with where.
    pub moved: Vec<Assignment>,
    /// Instances of the job that found no room.
    pub unplaced: Vec<Unplaced>,
}

/// A placement that is kept while single jobs change.
///
/// An update touches the instances of that job alone, and of these moves only those that no longer fit where they run.
/// It takes time in proportion to the job's instances, times the logarithm of the number of TaskManagers as long as few
/// are nearly full, whatever else runs on the cluster. It obeys constraints but does not look at traffic or priorities: now
/// and then, let [`LocalSearch`](crate::LocalSearch) look at the whole.
///
/// # Examples
///
/// ```
/// use streamline_core::{Cluster, Instance};
/// use streamline_sched::{Demand, IncrementalPlacement};
///
/// let demand = |subtask| Demand {
///     instance: Instance { job: 7, operator: 0, subtask },
///     cpu_cores: 1.0,
///     memory_bytes: 1 << 30,
///     network_bytes: 0,
///     sharing_group: 7,
///     state_bytes: 0,
/// };
/// let mut placement = IncrementalPlacement::new(Cluster::uniform(2, 4.0, 8 << 30, 4)?, 0.0)?;
/// let change = placement.update_job(7, &[demand(0), demand(1)])?;
/// assert_eq!(change.added.len(), 2);
/// let change = placement.update_job(7, &[demand(0), demand(1), demand(2)])?;
/// assert_eq!((change.added.len(), change.moved.len()), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct IncrementalPlacement {
    cluster: Cluster,
    capacity: Vec<[u64; DIMENSIONS]>,
    loads: Vec<Load>,
    free: FreeRoom,
    rules: Rules,
    /// The instances of each job, with what they take and where they run.
    jobs: BTreeMap<usize, Vec<Placed>>,
    /// Ids that the loads know operators by.
    operators: BTreeMap<Key, u32>,
}

#[derive(Debug, Clone, Copy)]
struct Placed {
    demand: Demand,
    operator: u32,
    task_manager: usize,
}

impl IncrementalPlacement {
    /// An empty placement on a cluster of whose cpu, memory and network memory a share stays free.
    ///
    /// # Errors
    /// [`ScheduleError::InvalidOption`] if the headroom is not at least 0 and below 1.
    pub fn new(cluster: Cluster, headroom: f64) -> Result<Self, ScheduleError> {
        let valid = (0.0..1.0).contains(&headroom);
        if !valid {
            return Err(ScheduleError::InvalidOption {
                name: "headroom",
                value: headroom,
                expected: "a share of at least 0 and below 1",
            });
        }
        let capacity = usable(cluster.task_managers(), 1.0 - headroom);
        let slots = cluster.task_managers().iter().map(|manager| manager.slots);
        Ok(Self {
            free: FreeRoom::new(capacity.iter().copied().zip(slots)),
            loads: vec![Load::default(); capacity.len()],
            capacity,
            cluster,
            rules: Rules::default(),
            jobs: BTreeMap::new(),
            operators: BTreeMap::new(),
        })
    }

    /// Sets what a placement must obey. A job that runs already obeys it when it is updated.
    #[must_use]
    pub fn with_constraints(mut self, constraints: &[Constraint]) -> Self {
        self.rules = Rules::new(constraints);
        self
    }

    /// Replaces what a job needs; an empty list removes the job.
    ///
    /// # Errors
    /// [`ScheduleError`] if a demand makes no sense, is of another job or occurs twice; nothing is changed then.
    pub fn update_job(&mut self, job: usize, demands: &[Demand]) -> Result<Change, ScheduleError> {
        let mut wanted = check(job, demands)?;
        let before = self.jobs.remove(&job).unwrap_or_default();
        let mut change = Change::default();
        for placed in &before {
            self.take(placed);
        }
        let places: BTreeMap<Instance, usize> = before
            .iter()
            .map(|placed| (placed.demand.instance, placed.task_manager))
            .collect();
        // Larger ones first; those that run already before the new ones.
        let largest = |demand: &Demand| (units(demand.cpu_cores), demand.memory_bytes, demand.network_bytes);
        wanted.sort_by(|a, b| {
            let new = |demand: &Demand| !places.contains_key(&demand.instance);
            new(a)
                .cmp(&new(b))
                .then(largest(b).cmp(&largest(a)))
                .then(a.instance.cmp(&b.instance))
        });
        let mut after = Vec::with_capacity(wanted.len());
        let mut rest = Vec::new();
        for demand in wanted {
            match places.get(&demand.instance) {
                Some(&manager) if self.fits(&demand, manager) => after.push(self.add(demand, manager)),
                _ => rest.push(demand),
            }
        }
        for demand in rest {
            let Some(manager) = self.first_fit(&demand) else {
                change.unplaced.push(Unplaced {
                    instance: demand.instance,
                    lacking: self.lacking(&demand),
                });
                continue;
            };
            after.push(self.add(demand, manager));
            let assignment = Assignment {
                instance: demand.instance,
                task_manager: manager,
            };
            match places.get(&demand.instance) {
                Some(_) => change.moved.push(assignment),
                None => change.added.push(assignment),
            }
        }
        let running: std::collections::BTreeSet<Instance> =
            after.iter().map(|placed| placed.demand.instance).collect();
        change.removed = places
            .into_iter()
            .filter(|(instance, _)| !running.contains(instance))
            .map(|(instance, task_manager)| Assignment {
                instance,
                task_manager,
            })
            .collect();
        change.added.sort_unstable();
        change.moved.sort_unstable();
        change.unplaced.sort_unstable_by_key(|unplaced| unplaced.instance);
        if !after.is_empty() {
            self.jobs.insert(job, after);
        }
        Ok(change)
    }

    /// Where everything runs. Takes time in proportion to all instances.
    ///
    /// # Errors
    /// [`ScheduleError::Instances`] never, as no instance is held twice.
    pub fn placement(&self) -> Result<Placement, ScheduleError> {
        let placed = self.jobs.values().flatten();
        let assignments = placed.map(|placed| Assignment {
            instance: placed.demand.instance,
            task_manager: placed.task_manager,
        });
        Ok(Placement::new(assignments.collect())?)
    }

    /// What is used of a TaskManager; `None` if the cluster does not have it.
    #[must_use]
    pub fn usage(&self, task_manager: usize) -> Option<Usage> {
        let load = self.loads.get(task_manager)?;
        Some(Usage {
            cpu_cores: load.used[0] as f64 / crate::model::UNITS_PER_CORE,
            memory_bytes: load.used[1],
            network_bytes: load.used[2],
            slots: load.slots,
        })
    }

    /// The cluster.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    fn operator(&mut self, instance: Instance) -> u32 {
        let next = self.operators.len() as u32;
        *self.operators.entry(key(instance)).or_insert(next)
    }

    /// The number that the loads know an operator by; none knows one that has no instance yet.
    fn known(&self, operator: Key) -> u32 {
        self.operators.get(&operator).copied().unwrap_or(u32::MAX)
    }

    fn fits(&self, demand: &Demand, manager: usize) -> bool {
        self.has_room(demand, manager) && self.obeys(demand, manager)
    }

    fn has_room(&self, demand: &Demand, manager: usize) -> bool {
        let (load, capacity, size) = (&self.loads[manager], &self.capacity[manager], size(demand));
        let operator = key(demand.instance);
        let further = load.further_slots(self.known(operator), demand.sharing_group);
        (0..DIMENSIONS).all(|d| size[d] <= capacity[d].saturating_sub(load.used[d]))
            && load.slots.saturating_add(further) <= self.cluster.task_managers()[manager].slots
    }

    /// Whether the constraints let an instance in.
    fn obeys(&self, demand: &Demand, manager: usize) -> bool {
        let operator = key(demand.instance);
        let load = &self.loads[manager];
        let is_absent = |operator: Key| load.count(self.known(operator)) == 0;
        let is_job_absent = |job: usize| {
            let mut operators = self.operators.range((job, 0)..=(job, usize::MAX));
            operators.all(|(_, &operator)| load.count(operator) == 0)
        };
        load.count(self.known(operator)) < self.rules.at_most(operator)
            && self.rules.apart(operator).iter().all(|&other| is_absent(other))
            && self
                .rules
                .jobs_apart(operator.0)
                .iter()
                .all(|&job| is_job_absent(job))
            && self.rules.allow(operator, &self.cluster.task_managers()[manager])
    }

    /// The first TaskManager in use that has room, or else the first empty one.
    fn first_fit(&self, demand: &Demand) -> Option<usize> {
        self.free
            .find(&size(demand), |manager| self.fits(demand, manager))
    }

    fn add(&mut self, demand: Demand, manager: usize) -> Placed {
        let operator = self.operator(demand.instance);
        self.loads[manager].add(
            demand.instance.subtask,
            &size(&demand),
            operator,
            demand.sharing_group,
        );
        self.note(manager);
        Placed {
            demand,
            operator,
            task_manager: manager,
        }
    }

    fn take(&mut self, placed: &Placed) {
        let Placed {
            demand,
            operator,
            task_manager,
        } = placed;
        self.loads[*task_manager].remove(
            demand.instance.subtask,
            &size(demand),
            *operator,
            demand.sharing_group,
        );
        self.note(*task_manager);
    }

    fn note(&mut self, manager: usize) {
        let (load, capacity) = (&self.loads[manager], &self.capacity[manager]);
        let mut free = [0; DIMENSIONS];
        for d in 0..DIMENSIONS {
            free[d] = capacity[d].saturating_sub(load.used[d]);
        }
        self.free.set(manager, free);
    }

    /// The first resource that no TaskManager has enough of, or else slots, or else the leave of the constraints.
    fn lacking(&self, demand: &Demand) -> Resource {
        let (most, size) = (self.free.most(), size(demand));
        let short = (0..DIMENSIONS).find(|&d| size[d] > most[d]);
        match short {
            Some(0) => Resource::Cpu,
            Some(1) => Resource::Memory,
            Some(_) => Resource::Network,
            None if self
                .free
                .find(&size, |manager| self.has_room(demand, manager))
                .is_some() =>
            {
                Resource::Constraint
            }
            None => Resource::Slots,
        }
    }
}

fn key(instance: Instance) -> Key {
    (instance.job, instance.operator)
}

fn size(demand: &Demand) -> [u64; DIMENSIONS] {
    [units(demand.cpu_cores), demand.memory_bytes, demand.network_bytes]
}

fn check(job: usize, demands: &[Demand]) -> Result<Vec<Demand>, ScheduleError> {
    let mut sorted = demands.to_vec();
    sorted.sort_unstable_by_key(|demand| demand.instance);
    for (index, demand) in demands.iter().enumerate() {
        if !(demand.cpu_cores.is_finite() && demand.cpu_cores >= 0.0) {
            return Err(ScheduleError::InvalidDemand {
                index,
                value: demand.cpu_cores,
            });
        }
        if demand.instance.job != job {
            return Err(ScheduleError::OtherJob {
                index,
                expected: job,
                actual: demand.instance.job,
            });
        }
    }
    for pair in sorted.windows(2) {
        let Instance {
            operator, subtask, ..
        } = pair[0].instance;
        if pair[0].instance == pair[1].instance {
            return Err(ScheduleError::Instances(
                streamline_core::CoreError::DuplicateInstance {
                    job,
                    operator,
                    subtask,
                },
            ));
        }
        if operator == pair[1].instance.operator && pair[0].sharing_group != pair[1].sharing_group {
            return Err(ScheduleError::MixedSharingGroups {
                job,
                operator,
                first: pair[0].sharing_group,
                second: pair[1].sharing_group,
            });
        }
    }
    Ok(sorted)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use streamline_core::TaskManager;

    use super::*;
    use crate::{Request, evaluate};

    fn demand(job: usize, operator: usize, subtask: u32, cpu_cores: f64) -> Demand {
        Demand {
            instance: Instance {
                job,
                operator,
                subtask,
            },
            cpu_cores,
            memory_bytes: 1 << 28,
            network_bytes: 1 << 20,
            sharing_group: job as u32,
            state_bytes: 0,
        }
    }

    #[test]
    fn what_only_a_constraint_keeps_out_is_said_to_lack_its_leave() {
        let cluster = Cluster::uniform(2, 4.0, 1 << 30, 4).unwrap();
        let alone = [Constraint::AtMost {
            job: 1,
            operator: 0,
            instances: 1,
        }];
        let mut placement = IncrementalPlacement::new(cluster, 0.0)
            .unwrap()
            .with_constraints(&alone);
        let demands = [0, 1, 2].map(|subtask| demand(1, 0, subtask, 1.0));
        let change = placement.update_job(1, &demands).unwrap();
        assert_eq!(change.added.len(), 2);
        assert_eq!(change.unplaced[0].lacking, Resource::Constraint);
    }

    fn constraint() -> impl Strategy<Value = Constraint> {
        let key = || (0..4usize, 0..3usize);
        prop_oneof![
            (key(), 0..3u32).prop_map(|((job, operator), instances)| Constraint::AtMost {
                job,
                operator,
                instances
            }),
            (key(), key()).prop_map(|(one, other)| Constraint::Apart { one, other }),
            (0..4usize, 0..4usize).prop_map(|(one, other)| Constraint::JobsApart { one, other }),
            (0..4usize, prop::option::of(0..3usize)).prop_map(|(job, operator)| Constraint::Label {
                job,
                operator,
                key: "disk".into(),
                value: "nvme".into()
            }),
        ]
    }

    #[test]
    fn a_demand_of_another_job_is_refused_and_nothing_changes() {
        let mut placement =
            IncrementalPlacement::new(Cluster::uniform(1, 4.0, 1 << 30, 4).unwrap(), 0.0).unwrap();
        placement.update_job(1, &[demand(1, 0, 0, 1.0)]).unwrap();
        assert!(matches!(
            placement.update_job(1, &[demand(2, 0, 0, 1.0)]),
            Err(ScheduleError::OtherJob { actual: 2, .. })
        ));
        assert_eq!(placement.placement().unwrap().assignments().len(), 1);
    }

    proptest! {
        #[test]
        fn any_run_of_updates_keeps_the_books(
            updates in proptest::collection::vec((0..4usize, proptest::collection::vec((0..3usize, 0.0..3.0f64), 0..8)), 1..20),
            constraints in proptest::collection::vec(constraint(), 0..4),
        ) {
            let manager = |n: usize| TaskManager::new(format!("tm-{n}"), 4.0, 2 << 30, 3);
            let cluster = Cluster::new((0..4).map(|n| if n < 2 { manager(n).with_label("disk", "nvme") } else { manager(n) }).collect()).unwrap();
            let mut placement = IncrementalPlacement::new(cluster.clone(), 0.0).unwrap().with_constraints(&constraints);
            let mut last = BTreeMap::new();
            for (job, list) in updates {
                let demands: Vec<Demand> = list
                    .iter()
                    .enumerate()
                    .map(|(n, &(operator, cores))| demand(job, operator, n as u32, cores))
                    .collect();
                let before = placement.placement().unwrap();
                let change = placement.update_job(job, &demands).unwrap();
                let after = placement.placement().unwrap();
                // Of other jobs nothing moves.
                let others = |placement: &Placement| -> Vec<Assignment> {
                    placement.assignments().iter().filter(|a| a.instance.job != job).copied().collect()
                };
                prop_assert_eq!(others(&before), others(&after));
                prop_assert_eq!(before.moved_to(&after), change.moved.len());
                let placed = after.assignments().iter().filter(|a| a.instance.job == job).count();
                prop_assert_eq!(placed + change.unplaced.len(), demands.len());
                last.insert(job, demands);
                // What judges placements finds nothing wrong with it.
                let all: Vec<Demand> = last.values().flatten().copied().collect();
                let request = Request::new(&all, &cluster).with_constraints(&constraints);
                prop_assert!(evaluate(&request, &after).is_ok());
                // The books agree with a fresh count.
                for manager in 0..4 {
                    let cores: f64 = after
                        .on(manager)
                        .map(|i| last[&i.job].iter().find(|d| d.instance == i).unwrap().cpu_cores)
                        .sum();
                    let usage = placement.usage(manager).unwrap();
                    prop_assert!((usage.cpu_cores - cores).abs() < 1e-6 && cores <= 4.0 + 1e-5);
                    prop_assert!(usage.slots <= 3);
                }
            }
        }
    }
}
