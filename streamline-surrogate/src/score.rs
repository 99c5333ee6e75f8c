use serde::{Deserialize, Serialize};
use streamline_core::OperatorEstimate;

use crate::log_error::{log_errors, median};
use crate::{PerformanceSurrogate, Prediction, Sample, SurrogateError};

/// How well one quantity was met.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// R², the share of the variance that is explained. Negative where the mean of what was measured would be better;
    /// where nothing varies, 1 if it was met and 0 otherwise.
    pub r_squared: f64,
    /// R² of the logarithm, which weighs an error of the same share alike everywhere.
    pub log_r_squared: f64,
    /// The median of `max(expected / measured, measured / expected)`; 1 is perfect.
    pub median_q_error: f64,
}

/// How well throughput, latency and cpu were met.
///
/// # Examples
///
/// ```
/// use streamline_core::OperatorEstimate;
/// use streamline_surrogate::Scores;
///
/// let measured = |throughput| OperatorEstimate { throughput, latency_ms: 5.0, cpu_cores: throughput / 1000.0 };
/// let pairs = [(measured(100.0), measured(110.0)), (measured(900.0), measured(880.0))];
/// let scores = Scores::of(pairs).unwrap();
/// assert!(scores.throughput.r_squared > 0.99);
/// assert!(scores.cpu.median_q_error < 1.1 + 1e-9);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// How many samples were compared.
    pub samples: usize,
    /// Records per second.
    pub throughput: Score,
    /// Milliseconds.
    pub latency: Score,
    /// CPU cores.
    pub cpu: Score,
}

impl Scores {
    /// Compares `(measured, expected)` pairs; none of no pairs.
    pub fn of(pairs: impl IntoIterator<Item = (OperatorEstimate, OperatorEstimate)>) -> Option<Self> {
        let pairs: Vec<_> = pairs.into_iter().collect();
        if pairs.is_empty() {
            return None;
        }
        let nothing = OperatorEstimate {
            throughput: 0.0,
            latency_ms: 0.0,
            cpu_cores: 0.0,
        };
        let logs: Vec<_> = pairs
            .iter()
            .map(|(measured, expected)| (log_errors(measured, &nothing), log_errors(measured, expected)))
            .collect();
        let score = |index: usize, value: fn(&OperatorEstimate) -> f64| {
            let plain = pairs
                .iter()
                .map(|(measured, expected)| (value(measured), value(measured) - value(expected)));
            let mut q_errors: Vec<f64> = logs.iter().map(|(_, error)| error[index].abs().exp()).collect();
            Score {
                r_squared: r_squared(plain),
                log_r_squared: r_squared(logs.iter().map(|(value, error)| (value[index], error[index]))),
                median_q_error: median(&mut q_errors).unwrap_or(1.0),
            }
        };
        Some(Self {
            samples: pairs.len(),
            throughput: score(0, |estimate| estimate.throughput),
            latency: score(1, |estimate| estimate.latency_ms),
            cpu: score(2, |estimate| estimate.cpu_cores),
        })
    }

    /// Compares what a surrogate answers with what was measured; none of no samples.
    ///
    /// # Errors
    /// The surrogate's.
    pub fn of_surrogate(
        surrogate: &dyn PerformanceSurrogate,
        samples: &[Sample],
    ) -> Result<Option<Self>, SurrogateError> {
        let queries: Vec<_> = samples.iter().map(|sample| sample.query).collect();
        let mut out = vec![Prediction::ZERO; queries.len()];
        surrogate.predict(&queries, &mut out)?;
        Ok(Self::of(
            samples
                .iter()
                .zip(&out)
                .map(|(sample, out)| (sample.measured, out.estimate)),
        ))
    }
}

/// R² of `(value, error)` pairs.
fn r_squared(pairs: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    const HAIR: f64 = 1e-18;
    let count = pairs.clone().count().max(1) as f64;
    let mean = pairs.clone().map(|(value, _)| value).sum::<f64>() / count;
    let all: f64 = pairs.clone().map(|(value, _)| (value - mean).powi(2)).sum();
    let left: f64 = pairs.map(|(_, error)| error * error).sum();
    let hair = HAIR * count * mean * mean;
    if all > hair {
        1.0 - left / all
    } else if left <= hair {
        1.0
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    fn estimate(value: f64) -> OperatorEstimate {
        OperatorEstimate {
            throughput: value,
            latency_ms: value,
            cpu_cores: value,
        }
    }

    #[test]
    fn the_mean_explains_nothing_and_the_truth_everything() {
        let mean = Scores::of([1.0, 2.0, 3.0].map(|value| (estimate(value), estimate(2.0)))).unwrap();
        assert_relative_eq!(mean.latency.r_squared, 0.0, epsilon = 1e-12);
        let truth = Scores::of([1.0, 2.0, 3.0].map(|value| (estimate(value), estimate(value)))).unwrap();
        assert_relative_eq!(truth.latency.r_squared, 1.0);
        assert_relative_eq!(truth.latency.log_r_squared, 1.0);
        assert_relative_eq!(truth.latency.median_q_error, 1.0);
    }

    #[test]
    fn what_never_varies_is_met_or_not() {
        let met = Scores::of([(estimate(2.0), estimate(2.0)); 2]).unwrap();
        assert_relative_eq!(met.cpu.r_squared, 1.0);
        let missed = Scores::of([(estimate(2.0), estimate(3.0)); 2]).unwrap();
        assert_relative_eq!(missed.cpu.r_squared, 0.0);
        assert_eq!(Scores::of([]), None);
    }

    #[test]
    fn a_q_error_counts_too_much_like_too_little() {
        let double = Scores::of([(estimate(1.0), estimate(2.0))]).unwrap();
        let half = Scores::of([(estimate(2.0), estimate(1.0))]).unwrap();
        assert_relative_eq!(
            double.throughput.median_q_error,
            half.throughput.median_q_error,
            max_relative = 1e-12
        );
    }
}
