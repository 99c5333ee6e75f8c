use serde::{Deserialize, Serialize};
use streamline_core::TimeSeries;

use crate::residuals::{LEVELS, push_step};
use crate::scale::{FLAT, deviation, size};
use crate::{Forecast, PredictError, WorkloadPredictor, bytes, stretches};

mod features;
mod options;
mod regression;
mod saved;
#[cfg(test)]
mod tests;

pub use options::RidgeOptions;

use features::Layout;
use regression::{Rows, Step};

/// A linear regression for each step on the newest values, the values around the same time one period ago, their mean,
/// and the time of day and week; solved in closed form.
///
/// Everything is a difference from the window's last value, so that it scales with the load; one regression serves
/// sources of any size. The newest origins choose the penalty and give the quantiles of the errors, in units of the
/// window's standard deviation. Fits in a second or two and forecasts in microseconds.
///
/// A horizon longer than the trained one is reached by forecasting on from the medians, the spread of each stretch
/// being added to that of the stretch before. A forecast is not negative where the history is not; a window that is
/// constant is forecast to remain so.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use streamline_core::TimeSeries;
/// use streamline_predict::{Ridge, RidgeOptions, WorkloadPredictor};
///
/// // A pattern of twelve minutes.
/// let values: Vec<f64> = (0..300).map(|i| 100.0 + 40.0 * (f64::from(i) * std::f64::consts::TAU / 12.0).sin()).collect();
/// let series = TimeSeries::from_values(0, 60_000, &values)?;
///
/// let mut predictor = Ridge::new(RidgeOptions {
///     lags: 6,
///     horizon: 6,
///     period: Some(Duration::from_secs(720)),
///     ..RidgeOptions::default()
/// })?;
/// predictor.fit(&[series.slice(0, 288)])?;
/// let forecast = predictor.forecast(&series.slice(0, 288), 6)?;
/// assert!((forecast.point()[3] - values[291]).abs() < 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "saved::Saved", into = "saved::Saved")]
pub struct Ridge {
    options: RidgeOptions,
    learnt: Option<Learnt>,
}

impl Default for Ridge {
    /// One with the default options, yet to be fitted.
    fn default() -> Self {
        Self {
            options: RidgeOptions::default(),
            learnt: None,
        }
    }
}

/// What fitting left.
#[derive(Debug, Clone, PartialEq)]
struct Learnt {
    layout: Layout,
    steps: Vec<Step>,
}

/// A series in units of its largest value, with gaps filled and marked.
struct Scaled {
    values: Vec<f64>,
    known: Vec<bool>,
    /// In the same units.
    deviation: f64,
}

impl Ridge {
    /// A predictor that has yet to be fitted.
    ///
    /// # Errors
    /// [`PredictError::InvalidOption`].
    pub fn new(options: RidgeOptions) -> Result<Self, PredictError> {
        options.check()?;
        Ok(Self {
            options,
            learnt: None,
        })
    }

    /// The options that it was made with.
    #[must_use]
    pub fn options(&self) -> &RidgeOptions {
        &self.options
    }

    /// Whether it has been fitted.
    #[must_use]
    pub fn is_fitted(&self) -> bool {
        self.learnt.is_some()
    }

    /// The points that follow `history`, of which the last is at `last_ms`, as many as were trained; none if it is too short
    /// or nothing has been learnt.
    #[cfg(feature = "burn")]
    pub(crate) fn medians(&self, history: &[f64], last_ms: i64) -> Option<Vec<f64>> {
        let learnt = self.learnt.as_ref()?;
        let first = history.len().checked_sub(learnt.layout.lookback)?;
        Some(
            learnt
                .stretch(history.get(first..)?, last_ms)
                .swap_remove(crate::residuals::MEDIAN),
        )
    }

    /// Origins that train and origins that validate: a series and the index of the last point of the window.
    fn origins(&self, series: &[TimeSeries], lookback: usize) -> [Vec<(usize, usize)>; 2] {
        let horizon = self.options.horizon;
        let mut origins = [Vec::new(), Vec::new()];
        for (which, series) in series.iter().enumerate() {
            let (Some(first), Some(end)) = (lookback.checked_sub(1), series.len().checked_sub(horizon))
            else {
                continue;
            };
            let Some(count) = end.checked_sub(first) else {
                continue;
            };
            let validating = (count as f64 * self.options.validation_share).ceil() as usize;
            let validation = end - validating;
            let training = (validation + 1).saturating_sub(horizon).max(first);
            origins[0].extend((first..training).map(|origin| (which, origin)));
            origins[1].extend((validation..end).map(|origin| (which, origin)));
        }
        let all = origins[0].len() + origins[1].len();
        let spacing = all.div_ceil(self.options.origins).max(1);
        origins.map(|origins| origins.into_iter().step_by(spacing).collect())
    }
}

impl Learnt {
    /// The quantiles of the steps that were learnt: a list of values for each level.
    fn stretch(&self, window: &[f64], last_ms: i64) -> Vec<Vec<f64>> {
        let size = size(window);
        let last = window.last().copied().unwrap_or_default();
        let scaled: Vec<f64> = window.iter().map(|value| value / size).collect();
        let deviation = deviation(&scaled);
        // Also where the size is 0 and everything else NaN.
        if deviation.is_nan() || deviation < FLAT {
            return vec![vec![last; self.steps.len()]; LEVELS.len()];
        }
        let mut quantiles = vec![Vec::with_capacity(self.steps.len()); LEVELS.len()];
        for (index, step) in self.steps.iter().enumerate() {
            let features = self.layout.features(&scaled, deviation, last_ms, index);
            let point = last / size + step.predict(&features);
            push_step(&mut quantiles, point, &step.errors, deviation, size);
        }
        quantiles
    }
}

impl WorkloadPredictor for Ridge {
    fn name(&self) -> &str {
        "ridge"
    }

    fn lookback(&self) -> usize {
        self.learnt
            .as_ref()
            .map_or(self.options.lags, |learnt| learnt.layout.lookback)
    }

    fn fit(&mut self, history: &[TimeSeries]) -> Result<(), PredictError> {
        let longest = history.iter().map(TimeSeries::len).max().unwrap_or(0);
        let step_ms = history.first().map_or(1, TimeSeries::step_ms);
        if let Some(other) = history.iter().find(|series| series.step_ms() != step_ms) {
            return Err(step_differs(other.step_ms()));
        }
        let layout = Layout::new(&self.options, step_ms, longest);
        let lookback = layout.lookback;
        let too_short = PredictError::HistoryTooShort {
            given: longest,
            needed: lookback + 2 * self.options.horizon,
        };
        let scaled: Vec<Scaled> = history.iter().map(Scaled::new).collect();
        let [training, validation] = self.origins(history, lookback);
        let rows = |origins: &[(usize, usize)], step: usize| {
            let mut rows = Rows::default();
            for &(which, origin) in origins {
                let (Some(scaled), Some(history)) = (scaled.get(which), history.get(which)) else {
                    continue;
                };
                scaled.row(&layout, origin, step, history.time_ms(origin), &mut rows);
            }
            rows
        };
        let steps = (0..self.options.horizon)
            .map(|step| Step::fit(&rows(&training, step), &rows(&validation, step)))
            .collect::<Option<Vec<_>>>()
            .ok_or(too_short)?;
        self.learnt = Some(Learnt { layout, steps });
        Ok(())
    }

    fn to_bytes(&self) -> Result<Vec<u8>, PredictError> {
        if self.learnt.is_none() {
            return Err(PredictError::NotFitted {
                name: self.name().into(),
            });
        }
        bytes::with_header(self.name(), self, [])
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), PredictError> {
        let restored: Self = bytes::only_header(self.name(), bytes)?;
        if restored.options != self.options {
            return Err(PredictError::Unsound {
                name: self.name().into(),
                reason: "its options are others".into(),
            });
        }
        *self = restored;
        Ok(())
    }

    fn forecast(&self, history: &TimeSeries, horizon: usize) -> Result<Forecast, PredictError> {
        let learnt = self.learnt.as_ref().ok_or_else(|| PredictError::NotFitted {
            name: self.name().into(),
        })?;
        if history.step_ms() != learnt.layout.step_ms {
            return Err(step_differs(history.step_ms()));
        }
        let lookback = learnt.layout.lookback;
        stretches::chain(history, horizon, lookback, |window, last_ms| {
            Ok(learnt.stretch(window, last_ms))
        })
    }
}

impl Scaled {
    fn new(series: &TimeSeries) -> Self {
        let mut values = series.filled();
        let size = size(&values);
        if size > 0.0 {
            for value in &mut values {
                *value /= size;
            }
        }
        Self {
            deviation: deviation(&values),
            known: series.iter().map(|value| value.is_some()).collect(),
            values,
        }
    }

    /// Adds a row in units of the series' deviation, unless the window is constant or the target lies in a gap.
    fn row(&self, layout: &Layout, origin: usize, step: usize, last_ms: i64, rows: &mut Rows) {
        let target = origin + 1 + step;
        if self.known.get(target) != Some(&true) || self.deviation < FLAT {
            return;
        }
        let window = (origin + 1)
            .checked_sub(layout.lookback)
            .and_then(|first| self.values.get(first..=origin));
        let (Some(window), Some(target)) = (window, self.values.get(target)) else {
            return;
        };
        let deviation = deviation(window);
        if deviation < FLAT {
            return;
        }
        let features = layout.features(window, deviation, last_ms, step);
        let scale = self.deviation;
        rows.features
            .extend(features.into_iter().map(|feature| feature / scale));
        rows.targets.push((target - self.values[origin]) / scale);
        rows.deviations.push(deviation / scale);
    }
}

fn step_differs(step_ms: u64) -> PredictError {
    PredictError::InvalidOption {
        name: "history.step_ms",
        value: step_ms as f64,
        expected: "the same step in every series, and in forecasts as in fitting",
    }
}
