use crate::log_error::log_errors;
use crate::{PerformanceSurrogate, Prediction, Sample, SurrogateError};

/// How far off a surrogate is on recent samples, in units of the uncertainty that it states: the root mean square over
/// samples and quantities. About 1 is as expected; well above 1 the surrogate has drifted and should be refreshed.
///
/// Single misses count at most as ten deviations. None without samples.
///
/// # Errors
/// The surrogate's.
///
/// # Examples
///
/// ```
/// use streamline_core::OperatorKind;
/// use streamline_surrogate::{Analytic, PerformanceSurrogate, Prediction, Query, Sample, drift};
///
/// let query = Query {
///     kind: OperatorKind::Map,
///     unit_rate: 10_000.0,
///     parallelism: 4,
///     segment_bytes: 32 << 10,
///     buffer_timeout_ms: 100,
///     input_rate: 25_000.0,
///     selectivity: 1.0,
///     record_bytes: 100.0,
///     colocation_load: 0.5,
/// };
/// let model = Analytic::default();
/// let mut answer = [Prediction::ZERO];
/// model.predict(&[query], &mut answer)?;
/// let mut sample = Sample { query, measured: answer[0].estimate };
/// assert_eq!(drift(&model, &[sample])?, Some(0.0));
/// sample.measured.throughput /= 3.0;
/// assert!(drift(&model, &[sample])? > Some(2.0));
/// # Ok::<(), streamline_surrogate::SurrogateError>(())
/// ```
pub fn drift(surrogate: &dyn PerformanceSurrogate, recent: &[Sample]) -> Result<Option<f64>, SurrogateError> {
    const MOST: f64 = 10.0;
    const LEAST_UNCERTAINTY: f64 = 0.01;
    if recent.is_empty() {
        return Ok(None);
    }
    let mut sum = 0.0;
    for (sample, answer) in recent.iter().zip(answers(surrogate, recent)?) {
        let expected = answer.uncertainty;
        let shares = [expected.throughput, expected.latency_ms, expected.cpu_cores];
        for (error, share) in log_errors(&sample.measured, &answer.estimate)
            .into_iter()
            .zip(shares)
        {
            sum += (error / share.max(LEAST_UNCERTAINTY)).abs().min(MOST).powi(2);
        }
    }
    Ok(Some((sum / (3 * recent.len()) as f64).sqrt()))
}

/// What a surrogate answers to the queries of samples.
pub(crate) fn answers(
    surrogate: &dyn PerformanceSurrogate,
    samples: &[Sample],
) -> Result<Vec<Prediction>, SurrogateError> {
    let queries: Vec<_> = samples.iter().map(|sample| sample.query).collect();
    let mut out = vec![Prediction::ZERO; queries.len()];
    surrogate.predict(&queries, &mut out)?;
    Ok(out)
}
