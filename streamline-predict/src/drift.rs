use streamline_core::TimeSeries;

use crate::bytes;
use crate::last_value::changes;
use crate::residuals::with_errors;
use crate::{Forecast, PredictError, WorkloadPredictor};

/// Expects the series to go on as it went: the line from the first value of the history to the newest one.
///
/// The quantiles are those of how far the series went within as many steps in the past, less what the line goes. Suits
/// a handful of points with a trend (Hyndman and Athanasopoulos, *Forecasting: principles and practice*, 5.2); a line
/// soon leaves a load that comes and goes. Needs no fitting.
///
/// # Examples
///
/// ```
/// use streamline_core::TimeSeries;
/// use streamline_predict::{Drift, WorkloadPredictor};
///
/// let history = TimeSeries::from_values(0, 60_000, &[1.0, 4.0, 5.0])?;
/// assert_eq!(Drift.forecast(&history, 2)?.point(), [7.0, 9.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drift;

/// Points of the history that are looked at.
const POINTS: usize = 2016;

impl WorkloadPredictor for Drift {
    fn name(&self) -> &str {
        "drift"
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
        let recent: Vec<Option<f64>> = history.tail(POINTS).iter().collect();
        let mut known = recent
            .iter()
            .enumerate()
            .filter_map(|(index, value)| Some((index, (*value)?)));
        let (first, start) = known
            .next()
            .ok_or(PredictError::HistoryTooShort { given: 0, needed: 1 })?;
        let (last, end) = known.next_back().unwrap_or((first, start));
        // Divided before subtracted, so that nothing overflows.
        let span = last.abs_diff(first).max(1) as f64;
        let slope = end / span - start / span;
        let behind = recent.len() - 1 - last;
        let line = |steps: usize| (slope * steps as f64).clamp(f64::MIN, f64::MAX);
        let point: Vec<f64> = (1..=horizon)
            .map(|step| (end + line(behind + step)).clamp(f64::MIN, f64::MAX))
            .collect();
        with_errors(history, point, |step| {
            let mut errors = changes(&recent, step + 1);
            for error in &mut errors {
                *error = (*error - line(step + 1)).clamp(f64::MIN, f64::MAX);
            }
            errors
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_gap_at_the_end_is_time_that_passes() {
        let history = TimeSeries::new(0, 1, vec![Some(1.0), Some(2.0), None, None]).unwrap();
        assert_eq!(Drift.forecast(&history, 2).unwrap().point(), [5.0, 6.0]);
    }

    #[test]
    fn a_falling_rate_ends_at_zero() {
        let history = TimeSeries::from_values(0, 1, &[3.0, 2.0, 1.0]).unwrap();
        let point = Drift.forecast(&history, 3).unwrap().point().to_vec();
        assert_eq!(point, [0.0, 0.0, 0.0]);
    }

    proptest! {
        #[test]
        fn any_values_give_finite_forecasts(
            values in proptest::collection::vec(
                prop_oneof![Just(None), Just(Some(f64::MAX)), Just(Some(f64::MIN)), (-1e3..1e3).prop_map(Some)],
                1..30,
            ),
            horizon in 0usize..40,
        ) {
            let history = TimeSeries::new(0, 1, values).unwrap();
            match Drift.forecast(&history, horizon) {
                Ok(forecast) => prop_assert_eq!(forecast.horizon(), horizon),
                Err(error) => {
                    let too_short = matches!(error, PredictError::HistoryTooShort { .. });
                    prop_assert!(too_short && history.last().is_none());
                }
            }
        }
    }
}
