use serde::{Deserialize, Serialize};

use crate::Resource;

/// What one job may claim when the cluster is too small for all.
///
/// Instances are served in this order: first what lies within the floors, then the rest; within each, jobs of higher
/// priority first. Of one job, low subtask indices of all operators come first, so that a job that gets little still
/// gets one instance of each operator.
///
/// # Examples
///
/// ```
/// use streamline_core::{Cluster, Instance};
/// use streamline_sched::{Demand, FirstFitDecreasing, JobShare, Reason, Request, Scheduler};
///
/// let demand = |job, subtask| Demand {
///     instance: Instance { job, operator: 0, subtask },
///     cpu_cores: 1.0,
///     memory_bytes: 0,
///     network_bytes: 0,
///     sharing_group: job as u32,
///     state_bytes: 0,
/// };
/// // Room for three of four.
/// let cluster = Cluster::uniform(1, 3.0, 8 << 30, 8)?;
/// let demands = [demand(0, 0), demand(0, 1), demand(1, 0), demand(1, 1)];
/// let shares = [JobShare::new(0), JobShare::new(1).with_priority(5)];
/// let schedule = FirstFitDecreasing.schedule(&Request::new(&demands, &cluster).with_shares(&shares))?;
/// assert_eq!([schedule.jobs[0].placed, schedule.jobs[1].placed], [1, 2]);
/// assert_eq!(schedule.jobs[0].reason, Some(Reason::GaveWay { to: vec![1] }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobShare {
    /// Index of the job.
    pub job: usize,
    /// Higher is served earlier. 0 by default.
    pub priority: i32,
    /// Cores that are served before anybody gets more than the floor.
    pub floor_cores: f64,
    /// Cores that the job never gets more of.
    pub cap_cores: f64,
}

impl JobShare {
    /// Priority 0, no floor and no cap.
    #[must_use]
    pub fn new(job: usize) -> Self {
        Self {
            job,
            priority: 0,
            floor_cores: 0.0,
            cap_cores: f64::INFINITY,
        }
    }

    /// Sets the priority.
    #[must_use]
    pub fn with_priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the floor in cores.
    #[must_use]
    pub fn with_floor(mut self, cores: f64) -> Self {
        self.floor_cores = cores;
        self
    }

    /// Sets the cap in cores.
    #[must_use]
    pub fn with_cap(mut self, cores: f64) -> Self {
        self.cap_cores = cores;
        self
    }
}

/// Why a job got less than it wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// Its own cap holds it back.
    Cap,
    /// Jobs that are served earlier took the room.
    GaveWay {
        /// These jobs, sorted.
        to: Vec<usize>,
    },
    /// The cluster has too little of a resource for this job, whoever else there is.
    NoRoom {
        /// What its first instance without room lacked.
        lacking: Resource,
    },
}

/// What one job got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobOutcome {
    /// Index of the job.
    pub job: usize,
    /// Its priority.
    pub priority: i32,
    /// Instances it wanted.
    pub wanted: usize,
    /// Instances that were placed.
    pub placed: usize,
    /// Cores it wanted.
    pub wanted_cores: f64,
    /// Cores that were placed.
    pub placed_cores: f64,
    /// Why it got less; `None` if it got everything.
    pub reason: Option<Reason>,
}
