use serde::{Deserialize, Serialize};
use streamline_core::OperatorEstimate;

use crate::{Scalability, SurrogateError};

/// The constants of the [`Analytic`](crate::Analytic) model.
///
/// # Examples
///
/// ```
/// use streamline_surrogate::{Analytic, AnalyticOptions, Scalability};
///
/// let scalability = Scalability { contention: 0.05, coherency: 0.0 };
/// let options = AnalyticOptions { scalability, base_latency_ms: 3.0, ..AnalyticOptions::default() };
/// assert_eq!(Analytic::new(options)?.options().base_latency_ms, 3.0);
/// assert!(Analytic::new(AnalyticOptions { idle_cores: f64::NAN, ..options }).is_err());
/// # Ok::<(), streamline_surrogate::SurrogateError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnalyticOptions {
    /// How capacity grows with parallelism, until samples say better.
    pub scalability: Scalability,
    /// Milliseconds that every record takes beside queueing, service and waiting for its buffer to fill: hand-over
    /// between threads, the network. Default 1.
    pub base_latency_ms: f64,
    /// `(c_a² + c_s²) / 2`, the mean squared coefficient of variation of the times between arrivals and of service.
    /// 1 (the default) is Poisson arrivals and exponential service, 0 a clockwork.
    pub variability: f64,
    /// Share of the buffers before an operator that are full when it is saturated. Default 1, as Flink without buffer
    /// debloating.
    pub full_buffers: f64,
    /// The most milliseconds that are ever answered. Default 60,000.
    pub max_latency_ms: f64,
    /// CPU cores that a core's worth of busy time takes. Default 1.
    pub cpu_per_busy_core: f64,
    /// CPU cores that a subtask takes when idle: timers, flushes, heartbeats. Default 0.005.
    pub idle_cores: f64,
    /// How far off the answers may be, as a share of each (one standard deviation). Default 15 % for throughput, 100 %
    /// for latency, 25 % for cpu.
    pub uncertainty: OperatorEstimate,
}

impl Default for AnalyticOptions {
    fn default() -> Self {
        Self {
            scalability: Scalability::default(),
            base_latency_ms: 1.0,
            variability: 1.0,
            full_buffers: 1.0,
            max_latency_ms: 60_000.0,
            cpu_per_busy_core: 1.0,
            idle_cores: 0.005,
            uncertainty: OperatorEstimate {
                throughput: 0.15,
                latency_ms: 1.0,
                cpu_cores: 0.25,
            },
        }
    }
}

impl AnalyticOptions {
    /// Checks that every constant is finite and within its range.
    ///
    /// # Errors
    /// [`SurrogateError::InvalidOption`] naming the first that is not.
    pub fn check(&self) -> Result<(), SurrogateError> {
        self.scalability.check()?;
        for (name, value, largest, expected) in [
            ("base_latency_ms", self.base_latency_ms, 1e9, "0 to 1e9"),
            ("variability", self.variability, 1e3, "0 to 1000"),
            ("full_buffers", self.full_buffers, 1e3, "0 to 1000"),
            ("max_latency_ms", self.max_latency_ms, 1e9, "0 to 1e9"),
            ("cpu_per_busy_core", self.cpu_per_busy_core, 1e3, "0 to 1000"),
            ("idle_cores", self.idle_cores, 1e3, "0 to 1000"),
            (
                "uncertainty.throughput",
                self.uncertainty.throughput,
                1e3,
                "0 to 1000",
            ),
            (
                "uncertainty.latency_ms",
                self.uncertainty.latency_ms,
                1e3,
                "0 to 1000",
            ),
            (
                "uncertainty.cpu_cores",
                self.uncertainty.cpu_cores,
                1e3,
                "0 to 1000",
            ),
        ] {
            if !(0.0..=largest).contains(&value) {
                return Err(SurrogateError::InvalidOption {
                    name,
                    value,
                    expected,
                });
            }
        }
        Ok(())
    }
}
