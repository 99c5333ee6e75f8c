use serde::{Deserialize, Serialize};
use streamline_core::{CoreError, JobConfig, JobGraph, TimeSeries};

use crate::FlinkError;

/// How an operator of a simulated job behaves.
///
/// # Examples
///
/// ```
/// use streamline_flink::OperatorProfile;
///
/// let window = OperatorProfile::new(20_000.0).with_state_bytes(2 << 30).with_hot_share(0.3);
/// assert_eq!(window.unit_rate, 20_000.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OperatorProfile {
    /// Records per second that one subtask alone can process.
    pub unit_rate: f64,
    /// Share of the records that have the most frequent key, 0 to 1.
    pub hot_share: f64,
    /// Size of the records that it sends, in bytes.
    pub record_bytes: f64,
    /// State in bytes.
    pub state_bytes: u64,
    /// Milliseconds that a record stays in it whatever the load, such as the wait for a window to close.
    pub delay_ms: f64,
}

impl OperatorProfile {
    /// A stateless operator without hot keys that sends records of 100 bytes.
    #[must_use]
    pub fn new(unit_rate: f64) -> Self {
        Self {
            unit_rate,
            hot_share: 0.0,
            record_bytes: 100.0,
            state_bytes: 0,
            delay_ms: 0.0,
        }
    }

    /// Sets the share of the records that have the most frequent key.
    #[must_use]
    pub fn with_hot_share(mut self, share: f64) -> Self {
        self.hot_share = share;
        self
    }

    /// Sets the size of the records that it sends, in bytes.
    #[must_use]
    pub fn with_record_bytes(mut self, bytes: f64) -> Self {
        self.record_bytes = bytes;
        self
    }

    /// Sets the size of its state, in bytes.
    #[must_use]
    pub fn with_state_bytes(mut self, bytes: u64) -> Self {
        self.state_bytes = bytes;
        self
    }

    /// Sets how long a record stays in it whatever the load, in milliseconds.
    #[must_use]
    pub fn with_delay_ms(mut self, ms: f64) -> Self {
        self.delay_ms = ms;
        self
    }
}

/// A job to be simulated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SimulatedJob {
    /// Its name, for people.
    pub name: String,
    /// Its graph.
    pub graph: JobGraph,
    /// The configuration that it starts with.
    pub config: JobConfig,
    /// How each operator behaves.
    pub operators: Vec<OperatorProfile>,
    /// For each edge, the records sent for each record processed.
    pub selectivities: Vec<f64>,
    /// For each source, the records per second that arrive over virtual time. Each point holds until the next; a gap
    /// holds what was before it, and the first and last points hold for ever.
    pub arrivals: Vec<TimeSeries>,
}

impl SimulatedJob {
    pub(crate) fn check(&self) -> Result<(), FlinkError> {
        self.config.check(&self.graph)?;
        let lengths = [
            (
                "operator profiles",
                self.graph.operators().len(),
                self.operators.len(),
            ),
            (
                "selectivities",
                self.graph.edges().len(),
                self.selectivities.len(),
            ),
            ("arrivals", self.graph.sources().count(), self.arrivals.len()),
        ];
        for (what, expected, given) in lengths {
            if expected != given {
                return Err(CoreError::WrongLength {
                    what,
                    expected,
                    given,
                }
                .into());
            }
        }
        for (operator, profile) in self.graph.operators().iter().zip(&self.operators) {
            let numbers = [
                (
                    "unit rate",
                    profile.unit_rate,
                    1e-6..=1e12,
                    "1e-6 to 1e12 records per second",
                ),
                ("hot share", profile.hot_share, 0.0..=1.0, "0 to 1"),
                (
                    "record size",
                    profile.record_bytes,
                    1e-3..=1e9,
                    "0.001 to 1e9 bytes",
                ),
                ("delay", profile.delay_ms, 0.0..=1e9, "0 to 1e9 ms"),
            ];
            for (name, value, range, expected) in numbers {
                if !range.contains(&value) {
                    let what = format!("{name} of operator `{}`", operator.id);
                    return Err(CoreError::InvalidNumber {
                        what,
                        value,
                        expected,
                    }
                    .into());
                }
            }
        }
        for (edge, &value) in self.selectivities.iter().enumerate() {
            if !(0.0..=1e6).contains(&value) {
                let what = format!("selectivity of edge {edge}");
                return Err(CoreError::InvalidNumber {
                    what,
                    value,
                    expected: "0 to 1e6",
                }
                .into());
            }
        }
        for (source, arrivals) in self.arrivals.iter().enumerate() {
            check_arrivals(source, arrivals)?;
        }
        Ok(())
    }
}

pub(crate) fn check_arrivals(source: usize, arrivals: &TimeSeries) -> Result<(), FlinkError> {
    let what = || format!("arrivals of source {source}");
    match arrivals
        .iter()
        .flatten()
        .find(|rate| !(0.0..=1e12).contains(rate))
    {
        Some(value) => {
            let expected = "0 to 1e12 records per second";
            Err(CoreError::InvalidNumber {
                what: what(),
                value,
                expected,
            }
            .into())
        }
        None if arrivals.max().is_none() => Err(CoreError::WrongLength {
            what: "points of an arrival series",
            expected: 1,
            given: 0,
        }
        .into()),
        None => Ok(()),
    }
}

/// The rate that arrives at a time.
pub(crate) fn rate_at(arrivals: &TimeSeries, now_ms: i64) -> f64 {
    let since = now_ms.saturating_sub(arrivals.start_ms()).max(0).unsigned_abs();
    let point = usize::try_from(since / arrivals.step_ms())
        .unwrap_or(usize::MAX)
        .min(arrivals.len().saturating_sub(1));
    let known = (0..=point).rev().find_map(|point| arrivals.get(point));
    // Before the first value: that value.
    known.or_else(|| arrivals.iter().flatten().next()).unwrap_or(0.0)
}
