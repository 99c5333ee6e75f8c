use std::fmt;

use serde::{Deserialize, Serialize};
use streamline_core::{Cluster, Instance, Placement};

use crate::ScheduleError;

/// What one operator instance needs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// The instance.
    pub instance: Instance,
    /// CPU cores.
    pub cpu_cores: f64,
    /// Memory in bytes, network buffers not included.
    pub memory_bytes: u64,
    /// Memory for network buffers in bytes.
    pub network_bytes: u64,
    /// The slot-sharing group, by any number that is unique among all jobs. Instances of one group and of different
    /// operators share a task slot; instances of one operator never do.
    pub sharing_group: u32,
    /// State in bytes, which has to move when the instance does.
    pub state_bytes: u64,
}

/// What has to be placed, and where it may go.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Request<'a> {
    /// What the instances need.
    pub demands: &'a [Demand],
    /// The TaskManagers.
    pub cluster: &'a Cluster,
    /// Where instances run now. Those that are not in `demands` are going away.
    pub current: Option<&'a Placement>,
    /// The share of each TaskManager's cpu, memory and network memory that stays free, at least 0 and below 1.
    pub headroom: f64,
}

impl<'a> Request<'a> {
    /// A request to place everything anew.
    #[must_use]
    pub fn new(demands: &'a [Demand], cluster: &'a Cluster) -> Self {
        Self {
            demands,
            cluster,
            current: None,
            headroom: 0.0,
        }
    }

    /// Tells where instances run now, so that few of them move.
    #[must_use]
    pub fn with_current(mut self, current: &'a Placement) -> Self {
        self.current = Some(current);
        self
    }

    /// Keeps a share of each TaskManager's cpu, memory and network memory free.
    #[must_use]
    pub fn with_headroom(mut self, share: f64) -> Self {
        self.headroom = share;
        self
    }
}

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
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Network => "network memory",
            Self::Slots => "slots",
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
