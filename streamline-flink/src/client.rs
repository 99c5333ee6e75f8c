use std::time::Duration;

use serde::{Deserialize, Serialize};
use streamline_core::{Cluster, JobConfig, JobId, Observation};

use crate::FlinkError;

/// For what a setting can be chosen separately on a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Scope {
    /// For each operator.
    Operator,
    /// For each job.
    Job,
    /// Not while a job is being tuned: it belongs to the TaskManagers.
    Fixed,
}

/// How long the adaptive scheduler waits before it changes a running job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RescaleWaits {
    /// After a change, until the next one may come (the cooldown).
    pub cooldown: Duration,
    /// Until it makes do with fewer slots than were asked for (the stabilisation).
    pub stabilisation: Duration,
    /// For a checkpoint to complete before the change, at most.
    pub checkpoint: Option<Duration>,
}

/// What a cluster can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Capabilities {
    /// The version of Flink.
    pub version: String,
    /// Whether parallelism can be changed without a savepoint and a new submission (the adaptive scheduler).
    pub in_place_rescale: bool,
    /// How long the adaptive scheduler waits with a change, where that is known.
    #[serde(default)]
    pub rescale_waits: Option<RescaleWaits>,
    /// Whether slots of different sizes can be asked for (fine-grained resource management).
    #[serde(default)]
    pub fine_grained_resources: bool,
    /// For what the size of network buffers can be chosen.
    pub segment_size: Scope,
    /// For what the buffer timeout can be chosen.
    pub buffer_timeout: Scope,
    /// Whether instances can be put on TaskManagers of our choice.
    pub placement: bool,
}

impl Capabilities {
    /// What a stock cluster of this version can do while jobs run: rescale by restarting, and nothing else.
    #[must_use]
    pub fn stock(version: impl Into<String>) -> Self {
        Self {
            version: version.into(),
            in_place_rescale: false,
            rescale_waits: None,
            fine_grained_resources: false,
            segment_size: Scope::Fixed,
            buffer_timeout: Scope::Job,
            placement: false,
        }
    }
}

/// What shall be changed of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Change {
    /// The configuration that shall run.
    pub config: JobConfig,
    /// Id of the TaskManager for each subtask of each operator, or none to leave it to the cluster.
    pub placement: Option<Vec<Vec<String>>>,
}

impl Change {
    /// A change to this configuration, the placement left to the cluster.
    #[must_use]
    pub fn new(config: JobConfig) -> Self {
        Self {
            config,
            placement: None,
        }
    }

    /// Asks for a placement: a TaskManager id for each subtask of each operator.
    #[must_use]
    pub fn with_placement(mut self, placement: Vec<Vec<String>>) -> Self {
        self.placement = Some(placement);
        self
    }
}

/// How a change came into effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Applied {
    /// Whether the job's own scheduler changed it, without a savepoint and a new submission.
    pub in_place: bool,
    /// How long it processed nothing.
    pub downtime: Duration,
    /// How long it then took to work off what had piled up; `None` if that is not known, or was not over when it was last
    /// looked at.
    #[serde(default)]
    pub catch_up: Option<Duration>,
}

impl Applied {
    /// A change that took this long.
    #[must_use]
    pub fn new(in_place: bool, downtime: Duration) -> Self {
        Self {
            in_place,
            downtime,
            catch_up: None,
        }
    }

    /// Sets how long it took to work off what had piled up.
    #[must_use]
    pub fn with_catch_up(mut self, catch_up: Option<Duration>) -> Self {
        self.catch_up = catch_up;
        self
    }
}

/// A Flink cluster, real or simulated, as a tuner sees it.
///
/// Object-safe and blocking: a tuner acts once in tens of seconds. Call it from a blocking thread in an async program.
pub trait FlinkClient: Send + Sync {
    /// What the cluster can do.
    ///
    /// # Errors
    /// [`FlinkError`] if the cluster cannot be asked.
    fn capabilities(&self) -> Result<Capabilities, FlinkError>;

    /// The ids of the jobs that have not ended, in a fixed order.
    ///
    /// # Errors
    /// [`FlinkError`] if the cluster cannot be asked.
    fn jobs(&self) -> Result<Vec<JobId>, FlinkError>;

    /// The TaskManagers.
    ///
    /// # Errors
    /// [`FlinkError`] if the cluster cannot be asked.
    fn cluster(&self) -> Result<Cluster, FlinkError>;

    /// Looks at a job. Rates are those since the look before; at the first look, and after a restart, those that need
    /// two looks are unknown.
    ///
    /// # Errors
    /// [`FlinkError::UnknownJob`], or another [`FlinkError`] if the cluster cannot be asked.
    fn observe(&self, job: &JobId) -> Result<Observation, FlinkError>;

    /// Changes a running job and keeps its state. When this returns an error, the job runs as it did before.
    ///
    /// # Errors
    /// [`FlinkError::UnknownJob`], [`FlinkError::Refused`] if the change makes no sense or does not fit, or another
    /// [`FlinkError`].
    fn apply(&self, job: &JobId, change: &Change) -> Result<Applied, FlinkError>;
}

const _: Option<&dyn FlinkClient> = None;
