use std::fmt;

use serde::{Deserialize, Serialize};
use streamline_core::{Instance, Placement};

use crate::{JobOutcome, Measures, Request, ScheduleError};

/// Something that a TaskManager has a limited amount of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Resource {
    /// CPU cores.
    Cpu,
    /// Memory for tasks.
    Memory,
    /// Memory for network buffers.
    Network,
    /// Task slots.
    Slots,
    /// Permission: a constraint rules out every TaskManager.
    Constraint,
    /// Permission: its job may not have more cores.
    Cap,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Network => "network memory",
            Self::Slots => "slots",
            Self::Constraint => "constraint",
            Self::Cap => "cap of its job",
        })
    }
}

/// What the instances on one TaskManager need together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU cores.
    pub cpu_cores: f64,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Memory for network buffers in bytes.
    pub network_bytes: u64,
    /// Task slots.
    pub slots: u32,
}

/// An instance that found no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unplaced {
    /// The instance.
    pub instance: Instance,
    /// The resource that the roomiest TaskManager lacked.
    pub lacking: Resource,
}

/// What a scheduler answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Schedule {
    /// Where each instance goes. No TaskManager is given more than it has.
    pub placement: Placement,
    /// What is used of each TaskManager, in the order of the cluster.
    pub usage: Vec<Usage>,
    /// The instances that found no room, sorted; empty if everything fits.
    pub unplaced: Vec<Unplaced>,
    /// How many instances run elsewhere than they did.
    pub moved: usize,
    /// All instances in the order in which they were packed: decreasing cpu, if the scheduler has no better one.
    #[serde(default)]
    pub order: Vec<Instance>,
    /// What the instances that found no room need together.
    #[serde(default)]
    pub missing: Usage,
    /// What the placement has of what it should have little of.
    #[serde(default)]
    pub measures: Measures,
    /// What each job got, sorted by job.
    #[serde(default)]
    pub jobs: Vec<JobOutcome>,
}

impl Schedule {
    /// Whether every instance found room.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unplaced.is_empty()
    }

    /// How many TaskManagers run at least one instance.
    #[must_use]
    pub fn task_managers_used(&self) -> usize {
        self.usage.iter().filter(|usage| usage.slots > 0).count()
    }
}

/// Places operator instances on TaskManagers.
///
/// Object-safe, so that a tuner can hold any scheduler. The same request gives the same schedule.
pub trait Scheduler: Send + Sync {
    /// A short name for reports.
    fn name(&self) -> &str;

    /// Places what fits and says what does not.
    ///
    /// # Errors
    /// [`ScheduleError::NoSlots`] if there is something to place and the cluster has no slot at all, or another
    /// [`ScheduleError`] if the request makes no sense.
    fn schedule(&self, request: &Request<'_>) -> Result<Schedule, ScheduleError>;
}

const _: Option<&dyn Scheduler> = None;
