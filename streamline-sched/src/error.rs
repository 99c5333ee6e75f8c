use streamline_core::CoreError;

/// Why nothing could be placed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// There is something to place, but no task slot.
    #[error("{instances} instances to place, but the {task_managers} TaskManagers have no task slot")]
    NoSlots {
        /// Instances to place.
        instances: usize,
        /// TaskManagers of the cluster.
        task_managers: usize,
    },
    /// A demand is NaN, infinite or negative.
    #[error("demand {index} wants {value} cpu cores, expected a finite number of at least 0")]
    InvalidDemand {
        /// Index of the demand.
        index: usize,
        /// The cores that it wants.
        value: f64,
    },
    /// A setting is outside its range.
    #[error("{name} is {value}, expected {expected}")]
    InvalidOption {
        /// Path of the setting.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The range, in words.
        expected: &'static str,
    },
    /// The instances or the current placement were refused.
    #[error("the instances were refused")]
    Instances(#[from] CoreError),
    /// The current placement names a TaskManager that the cluster does not have.
    #[error("the current placement names TaskManager {task_manager}, but the cluster has {task_managers}")]
    UnknownTaskManager {
        /// The index it names.
        task_manager: usize,
        /// TaskManagers of the cluster.
        task_managers: usize,
    },
    /// Instances of one operator are in different slot-sharing groups.
    #[error("operator {operator} of job {job} is in the slot-sharing groups {first} and {second}")]
    MixedSharingGroups {
        /// Index of the job.
        job: usize,
        /// Index of the operator.
        operator: usize,
        /// One group.
        first: u32,
        /// Another group.
        second: u32,
    },
    /// A share of a job makes no sense.
    #[error("{name} of job {job} is {value}, expected a number of at least 0")]
    InvalidShare {
        /// `floor_cores` or `cap_cores`.
        name: &'static str,
        /// Index of the job.
        job: usize,
        /// Its value.
        value: f64,
    },
    /// Traffic or state access makes no sense.
    #[error(
        "operator {operator} of job {job} has {value} bytes per second, expected a finite number of at least 0"
    )]
    InvalidRate {
        /// Index of the job.
        job: usize,
        /// Index of the (sending) operator.
        operator: usize,
        /// Bytes per second.
        value: f64,
    },
    /// A demand is of another job than the one that is updated.
    #[error("demand {index} is of job {actual}, expected job {expected}")]
    OtherJob {
        /// Index of the demand.
        index: usize,
        /// The job that is updated.
        expected: usize,
        /// The demand's job.
        actual: usize,
    },
    /// An exact search was too long.
    #[error("{instances} instances are too many for an exact search of {nodes} nodes")]
    TooManyNodes {
        /// Instances to place.
        instances: usize,
        /// The most nodes it was to look at.
        nodes: u64,
    },
    /// A placement puts an instance where it does not fit or may not be.
    #[error(
        "operator {} of job {} does not fit on TaskManager {task_manager} with subtask {}",
        instance.operator, instance.job, instance.subtask
    )]
    Overfilled {
        /// The instance.
        instance: streamline_core::Instance,
        /// Index of the TaskManager.
        task_manager: usize,
    },
    /// A picture could not be drawn.
    #[error("the picture could not be drawn: {message}")]
    Drawing {
        /// What the drawing library says.
        message: String,
    },
}
