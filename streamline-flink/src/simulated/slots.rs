//! Which subtask runs where: task slots, taken and free.

use std::collections::BTreeMap;

use streamline_core::{JobConfig, JobGraph, JobId};

use super::cluster::State;
use super::running::Locations;
use crate::FlinkError;

impl State {
    pub(super) fn task_manager(&self, id: &str) -> Result<usize, FlinkError> {
        let managers = self.cluster.task_managers();
        managers
            .iter()
            .position(|manager| manager.id == id)
            .ok_or_else(|| FlinkError::Refused {
                reason: format!("no TaskManager `{id}`"),
            })
    }

    /// A TaskManager for each subtask: subtask `i` of every operator of a slot-sharing group shares a slot, and the slots
    /// are dealt out to the TaskManagers with the most free ones. `leaving` is a job whose slots count as free.
    pub(super) fn spread(
        &self,
        graph: &JobGraph,
        config: &JobConfig,
        leaving: Option<&JobId>,
    ) -> Result<Locations, FlinkError> {
        let mut free = self.free_slots(leaving);
        let mut slots: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (operator, wanted) in graph.operators().iter().zip(&config.operators) {
            let group = slots.entry(&operator.slot_sharing_group).or_default();
            while group.len() < wanted.parallelism as usize {
                // The most free slots, and of equals the first.
                let roomiest = (0..free.len()).rev().max_by_key(|&manager| free[manager]);
                match roomiest.filter(|&manager| free[manager] > 0) {
                    Some(manager) => {
                        free[manager] -= 1;
                        group.push(manager);
                    }
                    None => return Err(self.too_few_slots(graph, config, leaving)),
                }
            }
        }
        let locations = graph
            .operators()
            .iter()
            .zip(&config.operators)
            .map(|(operator, wanted)| {
                let group = &slots[operator.slot_sharing_group.as_str()];
                group.iter().take(wanted.parallelism as usize).copied().collect()
            });
        Ok(locations.collect())
    }

    /// Checks a placement that was asked for: every subtask on a TaskManager that exists, and no more slots than it has.
    pub(super) fn locate(
        &self,
        graph: &JobGraph,
        config: &JobConfig,
        placement: &[Vec<String>],
        job: &JobId,
    ) -> Result<Locations, FlinkError> {
        let refuse = |reason| Err(FlinkError::Refused { reason });
        let fits = placement.len() == config.operators.len()
            && placement
                .iter()
                .zip(&config.operators)
                .all(|(on, wanted)| on.len() == wanted.parallelism as usize);
        if !fits {
            return refuse("the placement does not name one TaskManager for each subtask".into());
        }
        let mut locations = Vec::with_capacity(placement.len());
        for on in placement {
            let on: Result<Vec<usize>, FlinkError> = on.iter().map(|id| self.task_manager(id)).collect();
            locations.push(on?);
        }
        let free = self.free_slots(Some(job));
        for (manager, slots) in slots_taken(graph, &locations) {
            if slots > free[manager] {
                let id = &self.cluster.task_managers()[manager].id;
                return refuse(format!(
                    "{slots} slots are wanted on `{id}`, but {} are free",
                    free[manager]
                ));
            }
        }
        Ok(locations)
    }

    /// Free slots of each TaskManager.
    fn free_slots(&self, leaving: Option<&JobId>) -> Vec<u64> {
        let managers = self.cluster.task_managers().iter();
        let mut free: Vec<u64> = managers.map(|manager| u64::from(manager.slots)).collect();
        for (_, job) in self.jobs.iter().filter(|(id, _)| Some(*id) != leaving) {
            for (manager, slots) in slots_taken(job.graph(), job.locations()) {
                free[manager] = free[manager].saturating_sub(slots);
            }
        }
        free
    }

    fn too_few_slots(&self, graph: &JobGraph, config: &JobConfig, leaving: Option<&JobId>) -> FlinkError {
        let wanted = config.slots(graph).unwrap_or(u64::MAX);
        let free: u64 = self.free_slots(leaving).iter().sum();
        FlinkError::Refused {
            reason: format!("{wanted} task slots are wanted, but {free} are free"),
        }
    }
}

/// Slots that a placement takes on each TaskManager: for each slot-sharing group the largest number of subtasks of one
/// operator.
fn slots_taken(graph: &JobGraph, locations: &[Vec<usize>]) -> BTreeMap<usize, u64> {
    let mut groups: BTreeMap<(usize, &str), u64> = BTreeMap::new();
    for (operator, on) in graph.operators().iter().zip(locations) {
        let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
        for &manager in on {
            *counts.entry(manager).or_default() += 1;
        }
        for (manager, count) in counts {
            let widest = groups.entry((manager, &operator.slot_sharing_group)).or_default();
            *widest = count.max(*widest);
        }
    }
    let mut taken = BTreeMap::new();
    for ((manager, _), slots) in groups {
        *taken.entry(manager).or_default() += slots;
    }
    taken
}
