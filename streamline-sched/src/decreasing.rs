use serde::{Deserialize, Serialize};

use crate::construct::construct;
use crate::finish::finish;
use crate::load::DIMENSIONS;
use crate::model::Model;
use crate::state::State;
use crate::{Request, Schedule, ScheduleError, Scheduler};

/// Puts each instance, in decreasing cpu, on the first TaskManager with room.
///
/// Instances stay where they run now if they still fit there. Ties in cpu go by memory, network memory, then instance;
/// TaskManagers are tried in the order of the cluster. Uses at most 11/9 of the fewest TaskManagers (plus 6/9) if they
/// are equal and only one resource is scarce (Dósa, *The tight bound of first fit decreasing*, 2007).
///
/// # Examples
///
/// ```
/// use streamline_core::{Cluster, Instance};
/// use streamline_sched::{Demand, FirstFitDecreasing, Request, Scheduler};
///
/// let demand = |subtask, cpu_cores| Demand {
///     instance: Instance { job: 0, operator: 0, subtask },
///     cpu_cores,
///     memory_bytes: 1 << 30,
///     network_bytes: 1 << 20,
///     sharing_group: 0,
///     state_bytes: 0,
/// };
/// let cluster = Cluster::uniform(2, 4.0, 8 << 30, 4)?;
/// let demands = [demand(0, 1.0), demand(1, 3.5), demand(2, 2.5)];
/// let schedule = FirstFitDecreasing.schedule(&Request::new(&demands, &cluster))?;
/// assert!(schedule.is_complete());
/// assert_eq!(schedule.placement.on(1).map(|instance| instance.subtask).collect::<Vec<_>>(), [0, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FirstFitDecreasing;

impl Scheduler for FirstFitDecreasing {
    fn name(&self) -> &str {
        "first-fit decreasing"
    }

    fn schedule(&self, request: &Request<'_>) -> Result<Schedule, ScheduleError> {
        let model = Model::new(request)?;
        finish(&construct(&model, first_fit))
    }
}

/// How [`BestFitDecreasing`] tells which TaskManager fits best, with all resources as shares of what it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FitRule {
    /// The one where least remains: the smallest Euclidean length of what stays free.
    #[default]
    Norm,
    /// The one whose free resources point the same way as the demand: the largest cosine between the two.
    DotProduct,
}

/// Puts each instance, in decreasing cpu, on the TaskManager that it fits best.
///
/// Instances stay where they run now if they still fit there. TaskManagers that already run something come before empty
/// ones, and of these the one with the least price for its share of the whole demand. The two rules are the item-centric
/// forms of the heuristics of Panigrahy, Talwar, Uyeda and Wieder, *Heuristics for vector bin packing* (2011).
///
/// # Examples
///
/// ```
/// use streamline_core::{Cluster, Instance};
/// use streamline_sched::{BestFitDecreasing, Demand, FitRule, Request, Scheduler};
///
/// let demand = |subtask, cpu_cores| Demand {
///     instance: Instance { job: 0, operator: 0, subtask },
///     cpu_cores,
///     memory_bytes: 1 << 30,
///     network_bytes: 1 << 20,
///     sharing_group: 0,
///     state_bytes: 0,
/// };
/// let cluster = Cluster::uniform(3, 4.0, 8 << 30, 4)?;
/// let demands = [demand(0, 1.0), demand(1, 2.5), demand(2, 3.0)];
/// let schedule = BestFitDecreasing::new(FitRule::Norm).schedule(&Request::new(&demands, &cluster))?;
/// assert_eq!(schedule.task_managers_used(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BestFitDecreasing {
    rule: FitRule,
}

impl BestFitDecreasing {
    /// A scheduler that follows the rule.
    #[must_use]
    pub fn new(rule: FitRule) -> Self {
        Self { rule }
    }
}

impl Scheduler for BestFitDecreasing {
    fn name(&self) -> &str {
        match self.rule {
            FitRule::Norm => "best-fit decreasing",
            FitRule::DotProduct => "dot-product decreasing",
        }
    }

    fn schedule(&self, request: &Request<'_>) -> Result<Schedule, ScheduleError> {
        let model = Model::new(request)?;
        let empty = model.cheapest_first();
        finish(&construct(&model, |state, item| {
            best_fit(state, item, self.rule, &empty)
        }))
    }
}

pub(crate) fn first_fit(state: &State<'_, '_>, item: usize) -> Option<usize> {
    (0..state.loads.len()).find(|&manager| state.fits(item, manager))
}

/// The TaskManager in use that fits best, or else the first empty one in the order given.
pub(crate) fn best_fit(state: &State<'_, '_>, item: usize, rule: FitRule, empty: &[usize]) -> Option<usize> {
    let mut best: Option<(f64, usize)> = None;
    for manager in 0..state.loads.len() {
        if state.loads[manager].items.is_empty() || !state.fits(item, manager) {
            continue;
        }
        let score = score(rule, state, item, manager);
        if best.is_none_or(|(least, _)| score < least) {
            best = Some((score, manager));
        }
    }
    let mut empty = empty.iter().copied();
    best.map(|(_, manager)| manager)
        .or_else(|| empty.find(|&manager| state.loads[manager].items.is_empty() && state.fits(item, manager)))
}

/// Smaller is better.
fn score(rule: FitRule, state: &State<'_, '_>, item: usize, manager: usize) -> f64 {
    let (capacity, used) = (&state.model.capacity[manager], &state.loads[manager].used);
    let size = &state.model.items[item].size;
    let (mut rest, mut dot, mut free_length, mut size_length) = (0.0, 0.0, 0.0, 0.0);
    for d in 0..DIMENSIONS {
        let whole = (capacity[d] as f64).max(1.0);
        let free = capacity[d].saturating_sub(used[d]) as f64 / whole;
        let size = size[d] as f64 / whole;
        rest += (free - size) * (free - size);
        dot += free * size;
        free_length += free * free;
        size_length += size * size;
    }
    match rule {
        FitRule::Norm => rest,
        FitRule::DotProduct => -dot / (free_length * size_length).sqrt().max(f64::MIN_POSITIVE),
    }
}
