//! Error bands from a forecaster's own past errors.

use std::cmp::Ordering;

use streamline_core::TimeSeries;

use crate::scale::floor;
use crate::{Forecast, PredictError};

/// The quantile levels that every forecaster of this crate gives.
pub(crate) const LEVELS: [f64; 5] = [0.1, 0.5, 0.9, 0.95, 0.99];
/// Which of them is the median.
pub(crate) const MEDIAN: usize = 1;

/// Adds a step to the values of each level: the point, and about it the errors that a deviation of 1 makes, each kept on its
/// side of the median, which is the point. Everything is in units of `size`.
pub(crate) fn push_step(
    quantiles: &mut [Vec<f64>],
    point: f64,
    errors: &[f64; LEVELS.len()],
    deviation: f64,
    size: f64,
) {
    for (level, (values, error)) in quantiles.iter_mut().zip(errors).enumerate() {
        let away = match level.cmp(&MEDIAN) {
            Ordering::Less => error.min(0.0),
            Ordering::Equal => 0.0,
            Ordering::Greater => error.max(0.0),
        };
        values.push(((point + away * deviation) * size).clamp(f64::MIN, f64::MAX));
    }
}

/// A forecast whose quantiles are the point plus the empirical quantiles of past errors at the same distance.
///
/// `errors(step)` gives what came less what had been forecast, `step` steps ahead (from 0). A series of rates is never
/// forecast below 0.
pub(crate) fn with_errors(
    history: &TimeSeries,
    point: Vec<f64>,
    errors: impl Fn(usize) -> Vec<f64>,
) -> Result<Forecast, PredictError> {
    let mut quantiles = vec![Vec::with_capacity(point.len()); LEVELS.len()];
    for (step, &expected) in point.iter().enumerate() {
        let mut errors = errors(step);
        errors.sort_unstable_by(f64::total_cmp);
        for (values, level) in quantiles.iter_mut().zip(LEVELS) {
            values.push(expected + quantile(&errors, level));
        }
    }
    let floor = floor(history);
    let clamp = |values: Vec<f64>| {
        values
            .into_iter()
            .map(|value| value.clamp(floor, f64::MAX))
            .collect()
    };
    Forecast::new(
        history,
        clamp(point),
        LEVELS.to_vec(),
        quantiles.into_iter().map(clamp).collect(),
    )
}

/// The empirical quantile of sorted values, interpolated; 0 if there are none.
pub(crate) fn quantile(sorted: &[f64], level: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    let place = level * last as f64;
    let (below, share) = (place.floor() as usize, place.fract());
    sorted[below] * (1.0 - share) + sorted[(below + 1).min(last)] * share
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    #[test]
    fn quantiles_interpolate_between_the_sorted_values() {
        let sorted = [0.0, 10.0, 20.0, 30.0, 40.0];
        assert_relative_eq!(quantile(&sorted, 0.5), 20.0);
        assert_relative_eq!(quantile(&sorted, 0.9), 36.0);
        assert_relative_eq!(quantile(&[], 0.9), 0.0);
        assert_relative_eq!(quantile(&[7.0], 0.1), 7.0);
    }
}
