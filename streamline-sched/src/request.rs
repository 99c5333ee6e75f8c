use serde::{Deserialize, Serialize};
use streamline_core::{Cluster, Instance, Partitioning, Placement};

use crate::{Constraint, Contention, JobShare, Objective};

/// What one operator instance needs.
///
/// # Examples
///
/// ```
/// use streamline_core::Instance;
/// use streamline_sched::Demand;
///
/// let demand = Demand {
///     instance: Instance { job: 0, operator: 2, subtask: 1 },
///     cpu_cores: 0.5,
///     memory_bytes: 512 << 20,
///     network_bytes: 4 << 20,
///     sharing_group: 0,
///     state_bytes: 2 << 30,
/// };
/// assert_eq!(demand.instance.subtask, 1);
/// ```
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
    /// The slot-sharing group, by any number that is unique among all jobs; the same for all instances of an operator.
    /// Instances of one group and of different operators share a task slot; instances of one operator never do.
    pub sharing_group: u32,
    /// State in bytes, which has to move when the instance does.
    pub state_bytes: u64,
}

/// The bytes that one operator of a job sends another.
///
/// # Examples
///
/// ```
/// use streamline_core::Partitioning;
/// use streamline_sched::Traffic;
///
/// // 50,000 records of 200 bytes a second.
/// let traffic = Traffic::new(0, 1, 2, Partitioning::Hash, 50_000.0, 200.0);
/// assert_eq!(traffic.bytes_per_second, 1e7);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Index of the job.
    pub job: usize,
    /// Index of the sending operator.
    pub from: usize,
    /// Index of the receiving operator.
    pub to: usize,
    /// Who gets a record: the subtask of the same index, or all subtasks in equal shares.
    pub partitioning: Partitioning,
    /// Bytes per second from all subtasks to all subtasks. For a broadcast every copy counts.
    pub bytes_per_second: f64,
}

impl Traffic {
    /// The traffic of an edge that carries `records_per_second` of `record_bytes` each.
    #[must_use]
    pub fn new(
        job: usize,
        from: usize,
        to: usize,
        partitioning: Partitioning,
        records_per_second: f64,
        record_bytes: f64,
    ) -> Self {
        Self {
            job,
            from,
            to,
            partitioning,
            bytes_per_second: records_per_second * record_bytes,
        }
    }
}

/// The bytes per second that each instance of an operator reads and writes in its state.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StateAccess {
    /// Index of the job.
    pub job: usize,
    /// Index of the operator.
    pub operator: usize,
    /// Bytes per second of one instance.
    pub bytes_per_second: f64,
}

/// What has to be placed, where it may go, and what is wanted.
///
/// # Examples
///
/// ```
/// use streamline_core::Cluster;
/// use streamline_sched::{Constraint, Objective, Request};
///
/// let cluster = Cluster::uniform(3, 4.0, 8 << 30, 4)?;
/// let constraints = [Constraint::AtMost { job: 0, operator: 2, instances: 1 }];
/// let objective = Objective::cheapest();
/// let request = Request::new(&[], &cluster)
///     .with_headroom(0.1)
///     .with_constraints(&constraints)
///     .with_objective(&objective);
/// assert!(request.current.is_none());
/// # Ok::<(), streamline_core::CoreError>(())
/// ```
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
    /// What a placement must obey besides the room there is.
    pub constraints: &'a [Constraint],
    /// What flows between operators. Edges that name an operator without demands are ignored.
    pub traffic: &'a [Traffic],
    /// How much each operator reads and writes in its state. Those without demands are ignored.
    pub state_access: &'a [StateAccess],
    /// Priorities, floors and caps of jobs. A job without an entry has priority 0, no floor and no cap.
    pub shares: &'a [JobShare],
    /// What makes one placement better than another; `None` stands for the default objective.
    pub objective: Option<&'a Objective>,
    /// The share of a TaskManager's cpu, memory and network memory above which use counts as overload, above 0 and at
    /// most 1. With 1 there is no overload.
    pub target: f64,
    /// The contention of each kind that counts as 1 where they are compared; all 1 by default.
    pub contention_limits: Contention,
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
            constraints: &[],
            traffic: &[],
            state_access: &[],
            shares: &[],
            objective: None,
            target: 1.0,
            contention_limits: Contention::new(1.0, 1.0, 1.0),
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

    /// Sets what a placement must obey.
    #[must_use]
    pub fn with_constraints(mut self, constraints: &'a [Constraint]) -> Self {
        self.constraints = constraints;
        self
    }

    /// Sets what flows between operators.
    #[must_use]
    pub fn with_traffic(mut self, traffic: &'a [Traffic]) -> Self {
        self.traffic = traffic;
        self
    }

    /// Sets how much operators read and write in their state.
    #[must_use]
    pub fn with_state_access(mut self, access: &'a [StateAccess]) -> Self {
        self.state_access = access;
        self
    }

    /// Sets priorities, floors and caps of jobs.
    #[must_use]
    pub fn with_shares(mut self, shares: &'a [JobShare]) -> Self {
        self.shares = shares;
        self
    }

    /// Sets what makes one placement better than another.
    #[must_use]
    pub fn with_objective(mut self, objective: &'a Objective) -> Self {
        self.objective = Some(objective);
        self
    }

    /// Sets the used share above which a TaskManager counts as overloaded.
    #[must_use]
    pub fn with_target(mut self, share: f64) -> Self {
        self.target = share;
        self
    }

    /// Sets how much contention of each kind counts as 1, so that [`Term::Contention`](crate::Term::Contention) up to 1
    /// means that all limits are met.
    #[must_use]
    pub fn with_contention_limits(mut self, limits: Contention) -> Self {
        self.contention_limits = limits;
        self
    }
}
