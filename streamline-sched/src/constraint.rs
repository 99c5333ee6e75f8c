use serde::{Deserialize, Serialize};

/// Something that a placement must obey besides the room there is. What names an operator without demands is ignored.
///
/// # Examples
///
/// ```
/// use streamline_core::{Cluster, Instance, TaskManager};
/// use streamline_sched::{Constraint, Demand, FirstFitDecreasing, Request, Resource, Scheduler};
///
/// let cluster = Cluster::new(vec![
///     TaskManager::new("tm-1", 8.0, 8 << 30, 8),
///     TaskManager::new("tm-2", 8.0, 8 << 30, 8).with_label("disk", "nvme"),
/// ])?;
/// let demands = [0, 1].map(|subtask| Demand {
///     instance: Instance { job: 0, operator: 0, subtask },
///     cpu_cores: 1.0,
///     memory_bytes: 0,
///     network_bytes: 0,
///     sharing_group: 0,
///     state_bytes: 0,
/// });
/// let on_nvme = Constraint::Label { job: 0, operator: Some(0), key: "disk".into(), value: "nvme".into() };
/// let alone = Constraint::AtMost { job: 0, operator: 0, instances: 1 };
/// let constraints = [on_nvme, alone];
/// let schedule = FirstFitDecreasing.schedule(&Request::new(&demands, &cluster).with_constraints(&constraints))?;
/// assert_eq!(schedule.placement.task_manager(demands[0].instance), Some(1));
/// assert_eq!(schedule.unplaced[0].lacking, Resource::Constraint);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Constraint {
    /// At most so many instances of an operator on one TaskManager.
    AtMost {
        /// Index of the job.
        job: usize,
        /// Index of the operator.
        operator: usize,
        /// How many.
        instances: u32,
    },
    /// Two operators of one job or of two never share a TaskManager.
    Apart {
        /// Job and operator.
        one: (usize, usize),
        /// Job and operator.
        other: (usize, usize),
    },
    /// Two jobs never share a TaskManager.
    JobsApart {
        /// Index of a job.
        one: usize,
        /// Index of another job.
        other: usize,
    },
    /// An operator, or every operator of a job, runs only on TaskManagers with a label.
    Label {
        /// Index of the job.
        job: usize,
        /// Index of the operator; `None` for all of them.
        operator: Option<usize>,
        /// The label's key.
        key: String,
        /// The value that it must have.
        value: String,
    },
}
