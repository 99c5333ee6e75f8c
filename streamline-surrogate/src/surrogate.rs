use serde::{Deserialize, Serialize};
use streamline_core::{OperatorEstimate, OperatorKind};

use crate::SurrogateError;

/// One question: how would this operator perform under this configuration and load?
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Query {
    /// What the operator does.
    pub kind: OperatorKind,
    /// Records per second of busy time that a single subtask, alone, would process: the operator's unit cost.
    pub unit_rate: f64,
    /// Number of subtasks.
    pub parallelism: u32,
    /// Size of a network buffer in bytes.
    pub segment_bytes: u32,
    /// How long a buffer may wait to fill, in milliseconds.
    pub buffer_timeout_ms: u32,
    /// Records per second that the operator has to process.
    pub input_rate: f64,
    /// Records out for each record in, over all its edges.
    pub selectivity: f64,
    /// Mean size of a record in bytes.
    pub record_bytes: f64,
    /// Cores wanted by everything on the TaskManagers that it runs on, for each core that they have. Above 1 they are
    /// oversubscribed.
    pub colocation_load: f64,
}

/// A query with what was measured: what a surrogate learns from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The operator, its configuration and its load.
    pub query: Query,
    /// How it performed.
    pub measured: OperatorEstimate,
}

/// One answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Throughput, latency and cpu.
    pub estimate: OperatorEstimate,
    /// How far off each of them may be, as a share of the value (one standard deviation).
    pub uncertainty: OperatorEstimate,
    /// Whether the query is far from everything that the surrogate was trained on.
    pub extrapolated: bool,
}

impl Prediction {
    /// An answer of zeros, to fill a buffer with.
    pub const ZERO: Self = Self {
        estimate: OperatorEstimate {
            throughput: 0.0,
            latency_ms: 0.0,
            cpu_cores: 0.0,
        },
        uncertainty: OperatorEstimate {
            throughput: 0.0,
            latency_ms: 0.0,
            cpu_cores: 0.0,
        },
        extrapolated: false,
    };
}

/// Estimates how operators perform, a batch at a time.
///
/// Object-safe, so that a tuner can hold any surrogate.
///
/// # Examples
///
/// A surrogate that believes in perfect scaling:
///
/// ```
/// use streamline_core::OperatorEstimate;
/// use streamline_surrogate::{PerformanceSurrogate, Prediction, Query, SurrogateError};
///
/// struct Linear;
///
/// impl PerformanceSurrogate for Linear {
///     fn name(&self) -> &str {
///         "linear"
///     }
///
///     fn predict(&self, queries: &[Query], out: &mut [Prediction]) -> Result<(), SurrogateError> {
///         SurrogateError::check_lengths(queries.len(), out.len())?;
///         for (query, out) in queries.iter().zip(out) {
///             let throughput = query.input_rate.min(query.unit_rate * f64::from(query.parallelism));
///             let cpu_cores = throughput / query.unit_rate;
///             out.estimate = OperatorEstimate { throughput, latency_ms: 1.0, cpu_cores };
///         }
///         Ok(())
///     }
/// }
///
/// let surrogate: Box<dyn PerformanceSurrogate> = Box::new(Linear);
/// assert_eq!(surrogate.name(), "linear");
/// ```
pub trait PerformanceSurrogate: Send + Sync {
    /// A short name for reports.
    fn name(&self) -> &str;

    /// Answers each query in the slot of `out` with the same index.
    ///
    /// # Errors
    /// [`SurrogateError::WrongLength`] if `out` has another length than `queries`, [`SurrogateError::InvalidQuery`]
    /// naming the first query with a number that makes no sense, or another [`SurrogateError`].
    fn predict(&self, queries: &[Query], out: &mut [Prediction]) -> Result<(), SurrogateError>;
}

const _: Option<&dyn PerformanceSurrogate> = None;
