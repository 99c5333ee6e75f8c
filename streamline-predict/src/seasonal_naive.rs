use std::time::Duration;

use streamline_core::TimeSeries;

use crate::bytes;
use crate::last_value::changes;
use crate::residuals::with_errors;
use crate::{Forecast, LastValue, PredictError, WorkloadPredictor};

/// Expects each step to be as it was one period ago, such as a day.
///
/// The quantiles are those of how far the series was from one period before, over the history. Where the history does
/// not hold a whole period, it forecasts as [`LastValue`] does. Needs no fitting. The strongest of the simple
/// forecasters on daily loads (Hyndman and Athanasopoulos, *Forecasting: principles and practice*, 5.2).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use streamline_core::TimeSeries;
/// use streamline_predict::{SeasonalNaive, WorkloadPredictor};
///
/// let minute = 60_000;
/// let history = TimeSeries::from_values(0, minute, &[1.0, 2.0, 3.0, 1.0, 2.0])?;
/// let predictor = SeasonalNaive::new(Duration::from_secs(180));
/// assert_eq!(predictor.forecast(&history, 4)?.point(), [3.0, 1.0, 2.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeasonalNaive {
    period: Duration,
}

impl Default for SeasonalNaive {
    /// A period of one day.
    fn default() -> Self {
        Self {
            period: Duration::from_secs(86_400),
        }
    }
}

/// Periods of the history whose errors make the quantiles.
const ERROR_PERIODS: usize = 7;

impl SeasonalNaive {
    /// A forecaster with this period. One that is shorter than a step of the series counts as one step.
    #[must_use]
    pub fn new(period: Duration) -> Self {
        Self { period }
    }
}

impl WorkloadPredictor for SeasonalNaive {
    fn name(&self) -> &str {
        "seasonal naive"
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
        let steps = self.period.as_millis() / u128::from(history.step_ms());
        let period = usize::try_from(steps).unwrap_or(usize::MAX).max(1);
        let recent = history.tail(period.saturating_mul(ERROR_PERIODS + 1));
        let filled = recent.filled();
        let Some(first) = filled.len().checked_sub(period) else {
            return LastValue.forecast(history, horizon);
        };
        let point: Vec<f64> = filled[first..].iter().copied().cycle().take(horizon).collect();
        let errors = changes(&recent.iter().collect::<Vec<_>>(), period);
        with_errors(history, point, |_| errors.clone())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn less_than_a_period_of_history_is_forecast_by_the_last_value() {
        let history = TimeSeries::from_values(0, 3_600_000, &[1.0, 2.0, 4.0]).unwrap();
        let forecast = SeasonalNaive::default().forecast(&history, 2).unwrap();
        assert_eq!(forecast, LastValue.forecast(&history, 2).unwrap());
    }

    #[test]
    fn a_series_that_repeats_is_forecast_exactly_and_without_doubt() {
        let values: Vec<f64> = (0..96).map(|i| f64::from(i % 24)).collect();
        let history = TimeSeries::from_values(0, 3_600_000, &values).unwrap();
        let forecast = SeasonalNaive::default().forecast(&history, 30).unwrap();
        for step in 0..30 {
            for level in [0.1, 0.9] {
                assert_eq!(
                    forecast.quantile(level)[step].to_bits(),
                    values[step % 24].to_bits()
                );
            }
        }
    }

    proptest! {
        #[test]
        fn any_rates_give_a_forecast_that_is_not_negative(
            values in proptest::collection::vec(proptest::option::of(0.0..1e15f64), 1..120),
            horizon in 0usize..50,
            period in 0u64..100,
        ) {
            let history = TimeSeries::new(0, 1_000, values).unwrap();
            match SeasonalNaive::new(Duration::from_secs(period)).forecast(&history, horizon) {
                Ok(forecast) => {
                    prop_assert_eq!(forecast.horizon(), horizon);
                    prop_assert!(forecast.quantile(0.1).iter().all(|&value| value >= 0.0));
                }
                Err(error) => {
                    let too_short = matches!(error, PredictError::HistoryTooShort { .. });
                    prop_assert!(too_short && history.last().is_none());
                }
            }
        }
    }
}
