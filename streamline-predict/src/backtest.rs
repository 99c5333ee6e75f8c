use std::fmt;

use serde::{Deserialize, Serialize};
use streamline_core::TimeSeries;

use crate::{Calibration, Forecast, PredictError, WorkloadPredictor};

/// Which origins a [`backtest`] forecasts from.
///
/// # Examples
///
/// ```
/// use streamline_predict::BacktestOptions;
///
/// // Two hours ahead of points five minutes apart, from every sixth point of the last tenth, with a daily pattern.
/// let options = BacktestOptions { share: 0.1, every: 6, period: Some(288), ..BacktestOptions::default() };
/// # let _ = options;
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BacktestOptions {
    /// Points to forecast from each origin, at least 1. Default 24.
    pub horizon: usize,
    /// Share of the series, the newest, whose points are forecast, above 0 and at most 1. Default 0.2.
    pub share: f64,
    /// Points from one origin to the next, at least 1. Default 1.
    pub every: usize,
    /// Points of a period: MASE is relative to the change over it; none for the change from point to point. Default
    /// none.
    pub period: Option<usize>,
    /// Whether a [`Calibration`] learns from one origin to the next, as it does in a tuner. Default true.
    pub calibrate: bool,
    /// How many of the next steps capacity must suffice for, at least 1. Default 12.
    pub need: usize,
    /// The probability with which it is to suffice, above 0 and below 1. Default 0.9.
    pub level: f64,
}

impl Default for BacktestOptions {
    fn default() -> Self {
        Self {
            horizon: 24,
            share: 0.2,
            every: 1,
            period: None,
            calibrate: true,
            need: 12,
            level: 0.9,
        }
    }
}

/// How good the forecasts of a [`backtest`] were, over all origins and steps; gaps do not count.
///
/// As text it is a row of numbers in the order of the fields.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BacktestReport {
    /// Origins that were forecast from.
    pub origins: usize,
    /// Origins where the predictor gave an error instead; they count in nothing else.
    pub refused: usize,
    /// Sum of absolute errors of the point by the sum of absolute values.
    pub wape: f64,
    /// Mean absolute error of the point by the mean absolute change over a period before the first origin (Hyndman and
    /// Koehler 2006).
    pub mase: f64,
    /// Pinball loss at 0.5, 0.9 and 0.95, each by the same change.
    pub pinball: [f64; 3],
    /// Share of values at or below the 0.9 quantile.
    pub coverage: f64,
    /// Share of origins where capacity would not have sufficed: where the largest of the next values exceeds the largest
    /// rate to [`provide`](Calibration::provision), or the largest quantile without calibration.
    pub under_provisioned: f64,
    /// Mean of capacity above need by need, where capacity sufficed.
    pub over_provision: f64,
    /// How often an hour capacity would have been changed, were it to be had in twentieths of the largest value before
    /// the first origin.
    pub rescales_per_hour: f64,
}

impl BacktestReport {
    /// The heads of the columns that a report has as text.
    pub const HEAD: &str =
        "origins refused    wape    mase     p50     p90     p95   cover   under    over resc./h";
}

/// Forecasts a series from one origin after another, each time from what came before it, and compares with what came.
///
/// The predictor is used as it is: fit it on points before the newest `share` first. What it saw while it was fitted is
/// where the calibration starts from, for `need` steps or those that the predictor has its calibration for.
///
/// # Errors
/// [`PredictError::InvalidOption`], or [`PredictError::HistoryTooShort`] if no origin is left or all are refused.
///
/// # Examples
///
/// ```
/// use streamline_core::TimeSeries;
/// use streamline_predict::{BacktestOptions, LastValue, backtest};
///
/// let values: Vec<f64> = (0..100).map(f64::from).collect();
/// let series = TimeSeries::from_values(0, 60_000, &values)?;
/// let report = backtest(&LastValue, &series, &BacktestOptions { horizon: 1, ..BacktestOptions::default() })?;
/// assert_eq!((report.origins, report.mase), (20, 1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn backtest(
    predictor: &dyn WorkloadPredictor,
    series: &TimeSeries,
    options: &BacktestOptions,
) -> Result<BacktestReport, PredictError> {
    let &BacktestOptions {
        horizon,
        share,
        every,
        need,
        level,
        ..
    } = options;
    let invalid = |name, value, expected| {
        Err(PredictError::InvalidOption {
            name,
            value,
            expected,
        })
    };
    if !(f64::MIN_POSITIVE..=1.0).contains(&share) {
        return invalid("share", share, "above 0 and at most 1");
    }
    if !(f64::MIN_POSITIVE..1.0).contains(&level) {
        return invalid("level", level, "above 0 and below 1");
    }
    if horizon == 0 || every == 0 || need == 0 {
        return invalid("horizon, every or need", 0.0, "at least 1");
    }
    let held_back = (series.len() as f64 * share).round() as usize;
    let first = series.len().saturating_sub(held_back).max(1);
    let seen = series.slice(0, first);
    let mut calibration = predictor.calibration().cloned();
    let calibration = calibration.get_or_insert_with(|| Calibration::new(need));
    let mut sums = Sums {
        unit: seen.max().unwrap_or_default() / 20.0,
        ..Sums::default()
    };
    for origin in (first..series.len()).step_by(every) {
        // The last origins would have too few points to compare with.
        if series.len() - origin < horizon {
            break;
        }
        let truth: Vec<Option<f64>> = (origin..origin + horizon)
            .map(|index| series.get(index))
            .collect();
        let history = series.slice(0, origin);
        let Ok(mut forecast) = predictor.forecast(&history, horizon) else {
            sums.refused += 1;
            continue;
        };
        let mut rates = forecast.quantile(level);
        if options.calibrate {
            forecast = calibration.round(&history, &forecast);
            rates = calibration.provision(&forecast, level);
        }
        sums.add(&truth, &forecast);
        let capacity = rates.into_iter().take(need).fold(f64::MIN, f64::max);
        sums.provide(truth.iter().take(need).flatten().copied(), capacity);
    }
    if sums.values == 0 {
        return Err(PredictError::HistoryTooShort {
            given: series.len(),
            needed: first + horizon + predictor.lookback(),
        });
    }
    let hours = (sums.origins * every) as f64 * series.step_ms() as f64 / 3.6e6;
    Ok(sums.report(change(&seen, options.period.unwrap_or(1)), hours))
}

/// The levels whose pinball loss is measured; the second is that whose coverage is.
const LEVELS: [f64; 3] = [0.5, 0.9, 0.95];

#[derive(Default)]
struct Sums {
    origins: usize,
    refused: usize,
    values: usize,
    errors: f64,
    truth: f64,
    pinball: [f64; 3],
    covered: usize,
    provisioned: usize,
    under: usize,
    over: f64,
    /// Capacity comes in multiples of this.
    unit: f64,
    units: Option<f64>,
    rescales: usize,
}

impl Sums {
    fn add(&mut self, truth: &[Option<f64>], forecast: &Forecast) {
        self.origins += 1;
        let quantiles = LEVELS.map(|level| forecast.quantile(level));
        for (step, (truth, point)) in truth.iter().zip(forecast.point()).enumerate() {
            let Some(truth) = *truth else { continue };
            self.values += 1;
            self.errors += (truth - point).abs();
            self.truth += truth.abs();
            for ((sum, level), values) in self.pinball.iter_mut().zip(LEVELS).zip(&quantiles) {
                let error = truth - values.get(step).copied().unwrap_or(*point);
                *sum += (level * error).max((level - 1.0) * error);
            }
            let upper = quantiles[1].get(step).copied().unwrap_or(*point);
            self.covered += usize::from(truth <= upper);
        }
    }

    fn provide(&mut self, values: impl Iterator<Item = f64>, capacity: f64) {
        if self.unit > 0.0 {
            let units = (capacity / self.unit).ceil();
            self.rescales += usize::from(
                self.units
                    .replace(units)
                    .is_some_and(|before| (before - units).abs() >= 1.0),
            );
        }
        let Some(need) = values.reduce(f64::max) else {
            return;
        };
        self.provisioned += 1;
        if need > capacity {
            self.under += 1;
        } else if need > 0.0 {
            self.over += capacity / need - 1.0;
        }
    }

    fn report(&self, change: f64, hours: f64) -> BacktestReport {
        let values = self.values as f64;
        BacktestReport {
            origins: self.origins,
            refused: self.refused,
            wape: ratio(self.errors, self.truth),
            mase: ratio(self.errors / values, change),
            pinball: self.pinball.map(|sum| ratio(sum / values, change)),
            coverage: self.covered as f64 / values,
            under_provisioned: ratio(self.under as f64, self.provisioned as f64),
            over_provision: ratio(self.over, (self.provisioned - self.under) as f64),
            rescales_per_hour: ratio(self.rescales as f64, hours),
        }
    }
}

/// 0 of nothing is 0; anything else of nothing is as much as there can be.
fn ratio(part: f64, whole: f64) -> f64 {
    if part > 0.0 {
        (part / whole).min(f64::MAX)
    } else {
        0.0
    }
}

/// The mean absolute change over a period.
fn change(series: &TimeSeries, period: usize) -> f64 {
    let pairs = series.iter().zip(series.iter().skip(period));
    let changes: Vec<f64> = pairs
        .filter_map(|(before, after)| Some((after? - before?).abs()))
        .collect();
    ratio(changes.iter().sum(), changes.len() as f64)
}

impl fmt::Display for BacktestReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [half, nine, ninety_five] = self.pinball;
        write!(
            f,
            "{:>7} {:>7} {:>7.4} {:>7.4} {half:>7.4} {nine:>7.4} {ninety_five:>7.4} {:>7.4} {:>7.4} {:>7.4} {:>7.3}",
            self.origins,
            self.refused,
            self.wape,
            self.mase,
            self.coverage,
            self.under_provisioned,
            self.over_provision,
            self.rescales_per_hour
        )
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::LastValue;

    /// Knows what comes, and asks for a tenth more.
    struct Oracle(TimeSeries);

    impl WorkloadPredictor for Oracle {
        fn name(&self) -> &str {
            "oracle"
        }

        fn lookback(&self) -> usize {
            0
        }

        fn fit(&mut self, _history: &[TimeSeries]) -> Result<(), PredictError> {
            Ok(())
        }

        fn forecast(&self, history: &TimeSeries, horizon: usize) -> Result<Forecast, PredictError> {
            let from = history.len();
            let point: Vec<f64> = self.0.slice(from, from + horizon).filled();
            let upper = point.iter().map(|value| value * 1.1).collect();
            Forecast::new(history, point.clone(), vec![0.5, 0.9], vec![point, upper])
        }
    }

    #[test]
    fn who_knows_what_comes_makes_no_error_and_provides_what_it_asks_for() {
        let values: Vec<f64> = (0..200).map(|index| f64::from(index % 17 + 5)).collect();
        let series = TimeSeries::from_values(0, 1, &values).unwrap();
        let options = BacktestOptions {
            horizon: 5,
            calibrate: false,
            ..BacktestOptions::default()
        };
        let report = backtest(&Oracle(series.clone()), &series, &options).unwrap();
        assert_eq!((report.origins, report.refused), (36, 0));
        assert_relative_eq!(report.mase + report.wape + report.under_provisioned, 0.0);
        assert_relative_eq!(report.coverage, 1.0);
        assert_relative_eq!(report.over_provision, 0.1, epsilon = 1e-9);
    }

    #[test]
    fn options_out_of_range_and_series_too_short_are_refused() {
        let series = TimeSeries::from_values(0, 1, &[1.0; 9]).unwrap();
        let run = |options| backtest(&LastValue, &series, &options);
        let plain = BacktestOptions::default;
        assert!(matches!(
            run(BacktestOptions {
                share: 0.0,
                ..plain()
            }),
            Err(PredictError::InvalidOption { name: "share", .. })
        ));
        assert!(run(BacktestOptions { every: 0, ..plain() }).is_err());
        assert!(matches!(run(plain()), Err(PredictError::HistoryTooShort { .. })));
    }

    #[test]
    fn a_constant_series_has_no_error_to_divide() {
        let series = TimeSeries::from_values(0, 1, &[3.0; 50]).unwrap();
        let options = BacktestOptions {
            horizon: 2,
            ..BacktestOptions::default()
        };
        let report = backtest(&LastValue, &series, &options).unwrap();
        assert_relative_eq!(report.mase, 0.0);
        assert_relative_eq!(report.coverage, 1.0);
    }
}
