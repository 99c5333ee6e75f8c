use serde::{Deserialize, Serialize};

use crate::Error;

/// What a user wants of a job beyond keeping up with its load, which always comes first.
///
/// # Examples
///
/// ```
/// use streamline_tuner::{Objective, Preference};
///
/// let objective = Objective::latency_at_most(250.0);
/// assert_eq!(objective.prefer, Preference::LeastCost);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Objective {
    /// End-to-end latency that should not be exceeded, in milliseconds.
    pub latency_limit_ms: Option<f64>,
    /// What to prefer among the plans that meet the limit.
    pub prefer: Preference,
}

impl Objective {
    /// The least cost at which the end-to-end latency stays below a limit in milliseconds.
    #[must_use]
    pub fn latency_at_most(limit_ms: f64) -> Self {
        Self {
            latency_limit_ms: Some(limit_ms),
            prefer: Preference::LeastCost,
        }
    }

    /// The knee of the Pareto front: where a little less latency begins to cost a lot.
    #[must_use]
    pub fn knee() -> Self {
        Self {
            latency_limit_ms: None,
            prefer: Preference::Knee,
        }
    }
}

/// What to prefer among plans that keep up and meet their limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preference {
    /// The cheapest.
    #[default]
    LeastCost,
    /// The knee of the front of cost and latency.
    Knee,
    /// The fastest.
    LowestLatency,
}

/// How one job is to be treated.
///
/// # Examples
///
/// ```
/// use streamline_tuner::{JobPolicy, Objective};
///
/// let policy = JobPolicy::default().with_priority(10).with_objective(Objective::latency_at_most(500.0));
/// assert_eq!(policy.priority, 10);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobPolicy {
    /// Who goes first when the cluster is too small for all: higher before lower, then the earlier job. Default 0.
    pub priority: i32,
    /// What is wanted of the job.
    pub objective: Objective,
    /// Whether the job is only watched and never changed. Default no.
    pub frozen: bool,
}

impl JobPolicy {
    /// Checks the latency limit.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] if it is not a finite number above 0.
    pub fn check(&self) -> Result<(), Error> {
        match self.objective.latency_limit_ms {
            Some(value) if !(value.is_finite() && value > 0.0) => Err(Error::InvalidOption {
                name: "latency_limit_ms",
                value,
                expected: "a finite number above 0",
            }),
            _ => Ok(()),
        }
    }

    /// Sets who goes first when the cluster is too small.
    #[must_use]
    pub fn with_priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Sets what is wanted of the job.
    #[must_use]
    pub fn with_objective(mut self, objective: Objective) -> Self {
        self.objective = objective;
        self
    }

    /// Watches the job without ever changing it.
    #[must_use]
    pub fn with_frozen(mut self, frozen: bool) -> Self {
        self.frozen = frozen;
        self
    }
}
