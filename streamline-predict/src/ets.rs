use std::time::Duration;

use augurs_core::{Fit, Forecast as Intervals, Predict};
use augurs_ets::AutoETS;
use augurs_ets::trend::AutoETSTrendModel;
use augurs_mstl::MSTLModel;
use streamline_core::TimeSeries;

use crate::residuals::LEVELS;
use crate::scale::{FLAT, deviation, floor, size};
use crate::{Forecast, PredictError, WorkloadPredictor, bytes};

/// Exponential smoothing (Holt 1957, Winters 1960) in the form of state space models, of which the information criterion
/// chooses (Hyndman et al. 2002), by the crate `augurs-ets`.
///
/// A period such as a day is taken out first, by seasonal-trend decomposition (Cleveland et al. 1990), where the history
/// holds it twice. The models are fitted anew to the newest points in each forecast, which takes some milliseconds.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use streamline_core::TimeSeries;
/// use streamline_predict::{Ets, WorkloadPredictor};
///
/// // Twelve points a period, and growing.
/// let value = |i: u32| 100.0 + f64::from(i) + 30.0 * (f64::from(i) * std::f64::consts::TAU / 12.0).sin();
/// let values: Vec<f64> = (0..160).map(value).collect();
/// let series = TimeSeries::from_values(0, 60_000, &values)?;
/// let predictor = Ets::new(Some(Duration::from_secs(720)));
/// let forecast = predictor.forecast(&series.slice(0, 150), 5)?;
/// assert!((forecast.point()[4] - values[154]).abs() < 5.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ets {
    period: Option<Duration>,
}

impl Default for Ets {
    /// A period of one day.
    fn default() -> Self {
        Self {
            period: Some(Duration::from_secs(86_400)),
        }
    }
}

/// Points of the history that it is fitted to, and periods where they are more.
const POINTS: usize = 1_008;
const PERIODS: usize = 7;
/// Fewer points do not tell one model from another.
const FEWEST: usize = 10;

impl Ets {
    /// A forecaster with this period, or without one.
    #[must_use]
    pub fn new(period: Option<Duration>) -> Self {
        Self { period }
    }

    fn unfit(&self, error: &impl ToString) -> PredictError {
        PredictError::Unfit {
            name: self.name().into(),
            reason: error.to_string(),
        }
    }

    /// A forecast with the bounds of each of the two-sided intervals; the values should be near 1.
    fn intervals(
        &self,
        values: &[f64],
        period: usize,
        horizon: usize,
    ) -> Result<[Intervals; 3], PredictError> {
        let model = AutoETS::non_seasonal();
        if (2..=values.len() / 2).contains(&period) {
            let model = MSTLModel::new(vec![period], AutoETSTrendModel::from(model));
            let fitted = model.fit(values).map_err(|error| self.unfit(&error))?;
            self.predicted(&fitted, horizon)
        } else {
            let fitted = model.fit(values).map_err(|error| self.unfit(&error))?;
            self.predicted(&fitted, horizon)
        }
    }

    fn predicted<M: Predict>(&self, fitted: &M, horizon: usize) -> Result<[Intervals; 3], PredictError>
    where
        M::Error: ToString,
    {
        // Of 0.1 and 0.9, of 0.95, and of 0.99.
        let covering = |share: f64| fitted.predict(horizon, share).map_err(|error| self.unfit(&error));
        Ok([covering(0.8)?, covering(0.9)?, covering(0.98)?])
    }
}

impl WorkloadPredictor for Ets {
    fn name(&self) -> &str {
        "ets"
    }

    fn lookback(&self) -> usize {
        FEWEST
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
        let in_points = |period: Duration| period.as_millis() / u128::from(history.step_ms());
        let period = usize::try_from(self.period.map_or(0, in_points)).unwrap_or(usize::MAX);
        let recent = history.tail(POINTS.max(period.saturating_mul(PERIODS))).filled();
        let (Some(&last), true) = (recent.last(), recent.len() >= FEWEST) else {
            return Err(PredictError::HistoryTooShort {
                given: recent.len(),
                needed: FEWEST,
            });
        };
        let size = size(&recent);
        let scaled: Vec<f64> = recent.iter().map(|value| value / size).collect();
        let steps = |value: f64| vec![value; horizon];
        // Also where the size is 0 and everything else NaN.
        if horizon == 0 || deviation(&scaled).is_nan() || deviation(&scaled) < FLAT {
            return Forecast::new(
                history,
                steps(last),
                LEVELS.to_vec(),
                LEVELS.map(|_| steps(last)).to_vec(),
            );
        }
        let [narrow, wider, widest] = self.intervals(&scaled, period, horizon)?;
        let floor = floor(history);
        let restored = |values: &[f64]| -> Vec<f64> {
            let restore = |value: &f64| (value * size).clamp(floor, f64::MAX);
            values.iter().map(restore).collect()
        };
        let bound = |intervals: &Intervals, upper: bool| match &intervals.intervals {
            Some(bounds) if upper => restored(&bounds.upper),
            Some(bounds) => restored(&bounds.lower),
            None => restored(&intervals.point),
        };
        let point = restored(&narrow.point);
        let quantiles = vec![
            bound(&narrow, false),
            point.clone(),
            bound(&narrow, true),
            bound(&wider, true),
            bound(&widest, true),
        ];
        Forecast::new(history, point, LEVELS.to_vec(), quantiles)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{BacktestOptions, SeasonalNaive, backtest};

    #[test]
    fn it_beats_the_last_day_where_the_level_wanders() {
        let mut level = 0.0;
        let values: Vec<f64> = (0..24 * 20u32)
            .map(|index| {
                level += f64::from(index * index % 11) - 5.0;
                500.0 + level + 100.0 * (f64::from(index) * std::f64::consts::TAU / 24.0).sin()
            })
            .collect();
        let series = TimeSeries::from_values(0, 3_600_000, &values).unwrap();
        let options = BacktestOptions {
            horizon: 6,
            ..BacktestOptions::default()
        };
        let [ets, naive] = [
            &Ets::default() as &dyn WorkloadPredictor,
            &SeasonalNaive::default(),
        ]
        .map(|predictor| backtest(predictor, &series, &options).unwrap());
        assert!(ets.mase < 0.7 * naive.mase, "{ets} against {naive}");
        assert!((0.8..=1.0).contains(&ets.coverage));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn whatever_is_given_it_answers_with_a_forecast_or_an_error(
            values in proptest::collection::vec(
                prop_oneof![Just(None), Just(Some(0.0)), Just(Some(f64::MAX)), (0.0..1e6).prop_map(Some)],
                0..120,
            ),
            horizon in 0usize..30,
            period in 0u64..40,
        ) {
            let series = TimeSeries::new(0, 60_000, values).unwrap();
            let predictor = Ets::new(Some(Duration::from_secs(60 * period)));
            if let Ok(forecast) = predictor.forecast(&series, horizon) {
                prop_assert_eq!(forecast.horizon(), horizon);
                prop_assert!(forecast.quantile(0.1).iter().all(|&value| value >= 0.0));
            }
        }
    }
}
