use streamline_core::TimeSeries;

use crate::bytes;
use crate::residuals::with_errors;
use crate::{Forecast, PredictError, WorkloadPredictor};

/// Expects nothing to change: every step is the newest value.
///
/// The quantiles are those of how far the series went within as many steps in the past. Needs no fitting.
///
/// # Examples
///
/// ```
/// use streamline_core::TimeSeries;
/// use streamline_predict::{LastValue, WorkloadPredictor};
///
/// let history = TimeSeries::new(0, 60_000, vec![Some(3.0), Some(5.0), None])?;
/// assert_eq!(LastValue.forecast(&history, 2)?.point(), [5.0, 5.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LastValue;

/// Points of the history whose errors make the quantiles.
const ERROR_POINTS: usize = 2016;

impl WorkloadPredictor for LastValue {
    fn name(&self) -> &str {
        "last value"
    }

    fn lookback(&self) -> usize {
        1
    }

    fn fit(&mut self, _history: &[TimeSeries]) -> Result<(), PredictError> {
        Ok(())
    }

    fn to_bytes(&self) -> Result<Vec<u8>, PredictError> {
        Ok(Vec::new()) // it learns nothing
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), PredictError> {
        bytes::expect_none(self.name(), bytes)
    }

    fn forecast(&self, history: &TimeSeries, horizon: usize) -> Result<Forecast, PredictError> {
        let last = history
            .last()
            .ok_or(PredictError::HistoryTooShort { given: 0, needed: 1 })?;
        let recent: Vec<Option<f64>> = history.tail(ERROR_POINTS).iter().collect();
        with_errors(history, vec![last; horizon], |step| changes(&recent, step + 1))
    }
}

/// How far the series went within `steps` steps, wherever both ends are known.
pub(crate) fn changes(values: &[Option<f64>], steps: usize) -> Vec<f64> {
    let later = values.iter().skip(steps);
    values
        .iter()
        .zip(later)
        .filter_map(|(before, after)| Some((*after)? - (*before)?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_without_any_value_is_too_short() {
        let gaps = TimeSeries::new(0, 1, vec![None; 5]).unwrap();
        assert!(matches!(
            LastValue.forecast(&gaps, 3),
            Err(PredictError::HistoryTooShort { given: 0, .. })
        ));
    }

    #[test]
    fn a_series_that_wanders_has_a_band_that_widens_with_the_distance() {
        let values: Vec<f64> = (0..200)
            .map(|i| 50.0 + 20.0 * (f64::from(i) / 9.0).sin())
            .collect();
        let history = TimeSeries::from_values(0, 1, &values).unwrap();
        let forecast = LastValue.forecast(&history, 10).unwrap();
        let (low, high) = (forecast.quantile(0.1), forecast.quantile(0.9));
        assert!(high[9] - low[9] > 3.0 * (high[0] - low[0]));
    }
}
