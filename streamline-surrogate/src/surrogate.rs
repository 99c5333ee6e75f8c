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

/// The largest rate, in records per second, and the largest record, in bytes, that make sense.
pub(crate) const HUGE: f64 = 1e12;
/// The largest selectivity and co-location load that make sense.
const LARGE: f64 = 1e6;
/// The smallest unit rate and record size that make sense.
const TINY: f64 = 1e-6;
/// The largest parallelism that Flink knows.
pub(crate) const MAX_PARALLELISM: u32 = 32_768;

impl Query {
    /// Checks every number: finite, and within what a Flink job can have.
    ///
    /// `index` is what the error calls the query: its place within the batch.
    ///
    /// # Errors
    /// [`SurrogateError::InvalidQuery`] naming the first field that makes no sense.
    ///
    /// # Examples
    ///
    /// ```
    /// use streamline_core::OperatorKind;
    /// use streamline_surrogate::Query;
    ///
    /// let mut query = Query {
    ///     kind: OperatorKind::Map,
    ///     unit_rate: 50_000.0,
    ///     parallelism: 4,
    ///     segment_bytes: 32 << 10,
    ///     buffer_timeout_ms: 100,
    ///     input_rate: 120_000.0,
    ///     selectivity: 1.0,
    ///     record_bytes: 100.0,
    ///     colocation_load: 0.8,
    /// };
    /// query.check(0)?;
    /// query.input_rate = f64::NAN;
    /// assert_eq!(
    ///     query.check(7).unwrap_err().to_string(),
    ///     "query 7: input_rate is NaN, expected 0 to 1e12 records per second"
    /// );
    /// # Ok::<(), streamline_surrogate::SurrogateError>(())
    /// ```
    pub fn check(&self, index: usize) -> Result<(), SurrogateError> {
        let refuse = |field, value, expected| {
            Err(SurrogateError::InvalidQuery {
                index,
                field,
                value,
                expected,
            })
        };
        if !(TINY..=HUGE).contains(&self.unit_rate) {
            return refuse("unit_rate", self.unit_rate, "1e-6 to 1e12 records per second");
        }
        if !(1..=MAX_PARALLELISM).contains(&self.parallelism) {
            return refuse("parallelism", f64::from(self.parallelism), "1 to 32768");
        }
        if self.segment_bytes == 0 {
            return refuse("segment_bytes", 0.0, "at least 1");
        }
        if !(0.0..=HUGE).contains(&self.input_rate) {
            return refuse("input_rate", self.input_rate, "0 to 1e12 records per second");
        }
        if !(0.0..=LARGE).contains(&self.selectivity) {
            return refuse("selectivity", self.selectivity, "0 to 1e6");
        }
        if !(TINY..=HUGE).contains(&self.record_bytes) {
            return refuse("record_bytes", self.record_bytes, "1e-6 to 1e12");
        }
        if !(0.0..=LARGE).contains(&self.colocation_load) {
            return refuse("colocation_load", self.colocation_load, "0 to 1e6");
        }
        Ok(())
    }
}

/// A query with what was measured: what a surrogate learns from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The operator, its configuration and its load.
    pub query: Query,
    /// How it performed.
    pub measured: OperatorEstimate,
}

impl Sample {
    /// Checks the query, and that what was measured is finite and not negative.
    ///
    /// `index` is what the error calls the sample.
    ///
    /// # Errors
    /// [`SurrogateError::InvalidQuery`] or [`SurrogateError::InvalidSample`] naming the first field that makes no
    /// sense.
    pub fn check(&self, index: usize) -> Result<(), SurrogateError> {
        self.query.check(index)?;
        for (field, value) in [
            ("throughput", self.measured.throughput),
            ("latency_ms", self.measured.latency_ms),
            ("cpu_cores", self.measured.cpu_cores),
        ] {
            if !(0.0..=HUGE).contains(&value) {
                return Err(SurrogateError::InvalidSample { index, field, value });
            }
        }
        Ok(())
    }
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
