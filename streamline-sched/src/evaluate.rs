use streamline_core::Placement;

use crate::finish::finish;
use crate::model::Model;
use crate::state::State;
use crate::{Request, Schedule, ScheduleError};

/// Measures a placement that somebody else made, such as a custom [`Scheduler`](crate::Scheduler), a solver or a running
/// cluster.
///
/// Instances of the placement that are not in the request are left out; instances of the request that are not in the
/// placement are without room.
///
/// # Errors
/// [`ScheduleError::Overfilled`] with the first instance, in the order of serving, that does not fit where it is or breaks
/// a constraint there; [`ScheduleError::UnknownTaskManager`]; or another one if the request makes no sense.
///
/// # Examples
///
/// ```
/// use streamline_core::{Assignment, Placement};
/// use streamline_sched::{Synthetic, evaluate};
///
/// let synthetic = Synthetic::new(2, 2, 3)?;
/// let spread = synthetic.demands.iter().enumerate();
/// let spread = spread.map(|(n, demand)| Assignment { instance: demand.instance, task_manager: n });
/// let schedule = evaluate(&synthetic.request(), &Placement::new(spread.collect())?)?;
/// assert_eq!(schedule.task_managers_used(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn evaluate(request: &Request<'_>, placement: &Placement) -> Result<Schedule, ScheduleError> {
    let model = Model::new(request)?;
    let mut state = State::new(&model);
    for &item in &model.order {
        let instance = model.items[item].demand.instance;
        let Some(task_manager) = placement.task_manager(instance) else {
            continue;
        };
        if task_manager >= model.task_managers.len() {
            return Err(ScheduleError::UnknownTaskManager {
                task_manager,
                task_managers: model.task_managers.len(),
            });
        }
        if !state.fits(item, task_manager) {
            return Err(ScheduleError::Overfilled {
                instance,
                task_manager,
            });
        }
        state.add(item, task_manager);
    }
    finish(&state)
}
