use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use streamline_core::{JobConfig, JobEstimate, JobId};
use streamline_sched::{Resource, Schedule};

use crate::outlook::SourceOutlook;

/// What a round decided: for every job the configuration that shall run and why, and where its instances go.
///
/// A plan can be serialised, and printed as a text that explains it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Plan {
    /// When the newest observation was made, in milliseconds since the epoch.
    pub at_ms: i64,
    /// One entry per job, in the order of the observations.
    pub jobs: Vec<JobPlan>,
    /// The Pareto front of all jobs together, by ascending cost. Empty if no job could be planned for.
    pub front: Vec<FrontPoint>,
    /// Where every instance goes, and what is used of each TaskManager.
    pub schedule: Schedule,
    /// Ids of the TaskManagers, in the order of [`Schedule::usage`].
    pub task_managers: Vec<String>,
}

/// One whole plan that the search found: none of the others is better in both respects.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FrontPoint {
    /// Cores that the jobs take: those of their slots, or those that they use where that is more, and a little for each
    /// subtask.
    pub cost: f64,
    /// Mean end-to-end latency of the jobs, in milliseconds.
    pub latency_ms: f64,
}

/// What was decided for one job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobPlan {
    /// The job.
    pub job: JobId,
    /// Its name, for people.
    pub name: String,
    /// Whether it is changed, and why.
    pub decision: Decision,
    /// The configuration that runs.
    pub current: JobConfig,
    /// The configuration that shall run; the same as `current` if the job is left alone.
    pub config: JobConfig,
    /// Names of the operators.
    pub operators: Vec<String>,
    /// What each source is expected to receive; empty if that is unknown.
    pub sources: Vec<SourceOutlook>,
    /// The highest rate of each operator over the horizon, catching up included; empty if that is unknown.
    pub rates: Vec<f64>,
    /// What is expected of `config` at these rates; none if that is unknown.
    pub estimate: Option<JobEstimate>,
    /// Cores that `config` takes at these rates, as in [`FrontPoint::cost`]; none if that is unknown.
    pub cost: Option<f64>,
    /// The share of the load that the cluster has room for, given who goes first. Below 1 the job will fall behind.
    pub granted: f64,
}

impl JobPlan {
    /// Whether the job is changed.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        matches!(self.decision, Decision::Change(_))
    }
}

/// Whether a job is changed, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The job is left alone.
    Hold(HoldReason),
    /// The job is changed.
    Change(ChangeReason),
}

/// Why a job is left alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HoldReason {
    /// It is not running (starting, restarting, ended).
    NotRunning,
    /// Its policy says so.
    Frozen,
    /// Something that a decision takes is unknown.
    Unknown {
        /// What, in words.
        what: String,
    },
    /// Changes failed or were undone, and it is too early to try again.
    Backoff {
        /// How many in a row.
        failures: u32,
        /// How much longer to wait.
        wait: Duration,
    },
    /// What runs is what the search would choose.
    Optimal,
    /// It was changed not long ago, and keeps up.
    Cooldown {
        /// How much longer to wait.
        wait: Duration,
    },
    /// It is still working off a backlog, and shrinking it would bring the backlog back.
    BacklogDraining {
        /// Records that wait.
        backlog: f64,
    },
    /// Its load is still above all that is forecast: it has yet to fall as far as it is expected to.
    Falling {
        /// Records per second that arrive.
        rate: f64,
        /// The highest rate that is forecast.
        forecast: f64,
    },
    /// A change would cost more than it gains over the horizon.
    DoesNotPay {
        /// Core-seconds that would be gained; negative if the change would cost more while it runs.
        gain: f64,
        /// Core-seconds that the downtime and the catching up would cost.
        price: f64,
    },
    /// The change that is wanted does not fit the cluster beside jobs that go first.
    NoRoom {
        /// What is lacking.
        lacking: Resource,
    },
}

/// Why a job is changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChangeReason {
    /// It would not keep up until the round after next.
    KeepUp {
        /// Name of the operator that is closest to its limit.
        operator: String,
        /// The rate that it is expected to have to process, in records per second.
        rate: f64,
        /// What it can process as it is.
        capacity: f64,
    },
    /// It runs with a parallelism that its bounds do not allow.
    OutOfBounds {
        /// Name of the operator.
        operator: String,
        /// What it runs with.
        parallelism: u32,
    },
    /// Its latency would exceed the limit.
    Latency {
        /// What is expected as it is, in milliseconds.
        latency_ms: f64,
        /// The limit.
        limit_ms: f64,
    },
    /// The change gains more than it costs.
    Pays {
        /// Core-seconds gained over the horizon.
        gain: f64,
        /// Core-seconds that the downtime and the catching up cost.
        price: f64,
    },
    /// The cluster is too small for all, and jobs that go first need the room.
    MakeRoom,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hold(reason) => write!(f, "hold: {reason}"),
            Self::Change(reason) => write!(f, "change: {reason}"),
        }
    }
}

impl fmt::Display for HoldReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunning => f.write_str("it is not running"),
            Self::Frozen => f.write_str("its policy says to leave it alone"),
            Self::Unknown { what } => write!(f, "{what} is unknown"),
            Self::Backoff { failures, wait } => {
                write!(
                    f,
                    "{failures} changes in a row did not hold; next try in {} s",
                    wait.as_secs()
                )
            }
            Self::Optimal => f.write_str("what runs is what the search would choose"),
            Self::Cooldown { wait } => write!(f, "changed not long ago; wait {} s", wait.as_secs()),
            Self::BacklogDraining { backlog } => write!(f, "{backlog:.0} records still wait at its sources"),
            Self::Falling { rate, forecast } => {
                write!(
                    f,
                    "{rate:.0} records/s still arrive, and at most {forecast:.0} are forecast"
                )
            }
            Self::DoesNotPay { gain, price } => {
                write!(
                    f,
                    "a change would gain {gain:.0} core-seconds and cost {price:.0}"
                )
            }
            Self::NoRoom { lacking } => write!(f, "the cluster lacks {} for it", resource(*lacking)),
        }
    }
}

impl fmt::Display for ChangeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeepUp {
                operator,
                rate,
                capacity,
            } => {
                write!(
                    f,
                    "`{operator}` can process {capacity:.0} records/s and will have to do {rate:.0}"
                )
            }
            Self::OutOfBounds {
                operator,
                parallelism,
            } => {
                write!(
                    f,
                    "`{operator}` runs with parallelism {parallelism}, which its bounds do not allow"
                )
            }
            Self::Latency { latency_ms, limit_ms } => {
                write!(
                    f,
                    "latency would be {latency_ms:.0} ms, above the limit of {limit_ms:.0} ms"
                )
            }
            Self::Pays { gain, price } => write!(f, "gains {gain:.0} core-seconds and costs {price:.0}"),
            Self::MakeRoom => f.write_str("the cluster is too small for all, and others go first"),
        }
    }
}

fn resource(resource: Resource) -> &'static str {
    match resource {
        Resource::Cpu => "cpu cores",
        Resource::Memory => "memory",
        Resource::Network => "network memory",
        Resource::Slots => "task slots",
        _ => "a resource",
    }
}

impl fmt::Display for Plan {
    /// A table for each job, then the TaskManagers with what runs on them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for job in &self.jobs {
            writeln!(f, "{job}")?;
        }
        let cpu: f64 = self.schedule.usage.iter().map(|usage| usage.cpu_cores).sum();
        writeln!(f, "total cpu: {cpu:.4} cores")?;
        for (index, (id, usage)) in self.task_managers.iter().zip(&self.schedule.usage).enumerate() {
            write!(f, "{id}: {:.4} cores, {} slots:", usage.cpu_cores, usage.slots)?;
            for instance in self.schedule.placement.on(index) {
                let job = self.jobs.get(instance.job);
                let operator = job.and_then(|job| job.operators.get(instance.operator));
                write!(
                    f,
                    " {}[{}]",
                    operator.map_or("?", String::as_str),
                    instance.subtask
                )?;
            }
            writeln!(f)?;
        }
        for unplaced in &self.schedule.unplaced {
            let instance = unplaced.instance;
            let lacking = resource(unplaced.lacking);
            writeln!(
                f,
                "no room for job {} operator {}[{}]: {lacking}",
                instance.job, instance.operator, instance.subtask
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for JobPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.name, self.decision)?;
        if self.granted < 1.0 {
            let percent = 100.0 * self.granted;
            writeln!(
                f,
                "  the cluster has room for {percent:.0} % of its load, since others go first"
            )?;
        }
        let Some(estimate) = &self.estimate else {
            return Ok(());
        };
        let width = self
            .operators
            .iter()
            .map(|name| name.chars().count())
            .max()
            .unwrap_or(0)
            .max(8);
        writeln!(
            f,
            "  {:width$}  parallelism  buffer KiB  records/s in   throughput  latency ms  cpu cores",
            "operator"
        )?;
        for (operator, name) in self.operators.iter().enumerate() {
            let (Some(new), Some(old), Some(rate), Some(expected)) = (
                self.config.operators.get(operator),
                self.current.operators.get(operator),
                self.rates.get(operator),
                estimate.operators.get(operator),
            ) else {
                continue;
            };
            let parallelism = if new.parallelism == old.parallelism {
                new.parallelism.to_string()
            } else {
                format!("{} → {}", old.parallelism, new.parallelism)
            };
            let buffer = f64::from(new.segment_bytes) / 1024.0;
            writeln!(
                f,
                "  {name:width$}  {parallelism:>11}  {buffer:>10.1}  {rate:>12.0}  {:>11.0}  {:>10.2}  {:>9.4}",
                expected.throughput, expected.latency_ms, expected.cpu_cores,
            )?;
        }
        let (latency, cpu) = (estimate.latency_ms, estimate.cpu_cores);
        writeln!(f, "  end to end: {latency:.1} ms, {cpu:.4} cores")
    }
}
