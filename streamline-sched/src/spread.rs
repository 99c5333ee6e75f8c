use crate::construct::construct;
use crate::finish::finish;
use crate::load::DIMENSIONS;
use crate::model::Model;
use crate::state::State;
use crate::{Request, Schedule, ScheduleError, Scheduler};

/// Spreads the instances over all TaskManagers.
///
/// Each instance, in decreasing cpu, goes where the fewest instances of its operator are, then where the scarcest
/// resource stays least used. Instances stay where they run now if they still fit there. Losing one TaskManager then
/// hits each operator as little as possible, at the price of using them all.
///
/// # Examples
///
/// ```
/// use streamline_core::{Cluster, Instance};
/// use streamline_sched::{Demand, Request, Scheduler, Spread};
///
/// let demands = [0, 1, 2].map(|subtask| Demand {
///     instance: Instance { job: 0, operator: 0, subtask },
///     cpu_cores: 1.0,
///     memory_bytes: 1 << 30,
///     network_bytes: 1 << 20,
///     sharing_group: 0,
///     state_bytes: 0,
/// });
/// let cluster = Cluster::uniform(3, 4.0, 8 << 30, 4)?;
/// let schedule = Spread.schedule(&Request::new(&demands, &cluster))?;
/// assert_eq!(schedule.task_managers_used(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spread;

impl Scheduler for Spread {
    fn name(&self) -> &str {
        "spread"
    }

    fn schedule(&self, request: &Request<'_>) -> Result<Schedule, ScheduleError> {
        let model = Model::new(request)?;
        finish(&construct(&model, roomiest))
    }
}

/// Where the fewest instances of the item's operator are, and of these where most room is left.
pub(crate) fn roomiest(state: &State<'_, '_>, item: usize) -> Option<usize> {
    let operator = state.model.items[item].operator;
    let mut best: Option<(u32, f64, usize)> = None;
    for manager in 0..state.loads.len() {
        let twins = state.loads[manager].count(operator);
        if best.is_some_and(|(least, ..)| least < twins) || !state.fits(item, manager) {
            continue;
        }
        let load = load_with(state, item, manager);
        if best.is_none_or(|(least, lowest, _)| (twins, load) < (least, lowest)) {
            best = Some((twins, load, manager));
        }
    }
    best.map(|(.., manager)| manager)
}

/// The used share of the scarcest resource of a TaskManager once it runs the item as well.
fn load_with(state: &State<'_, '_>, item: usize, manager: usize) -> f64 {
    let (capacity, used) = (&state.model.capacity[manager], &state.loads[manager].used);
    let size = &state.model.items[item].size;
    let shares = (0..DIMENSIONS).map(|d| (used[d] as f64 + size[d] as f64) / (capacity[d] as f64).max(1.0));
    shares.fold(0.0, f64::max)
}
