use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};
use streamline_core::TimeSeries;

use crate::penalised::{PENALTIES, solve};
use crate::residuals::{LEVELS, push_step, quantile};
use crate::scale::{FLAT, deviation, size};
use crate::{Forecast, PredictError, WorkloadPredictor, bytes, stretches};

/// How a [`DLinear`] is shaped.
///
/// # Examples
///
/// ```
/// use streamline_predict::DLinearOptions;
///
/// // A day of quarters of an hour, to forecast the next two hours.
/// let options = DLinearOptions { lookback: 96, horizon: 8, ..DLinearOptions::default() };
/// options.check()?;
/// assert!(DLinearOptions { lookback: 1, ..options }.check().is_err());
/// # Ok::<(), streamline_predict::PredictError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DLinearOptions {
    /// Points that it looks back over, 2 to 1,024. Default 288.
    pub lookback: usize,
    /// Points that it learns to forecast, 1 to 1,024. Default 24.
    pub horizon: usize,
    /// Points of the moving average that is the trend, 1 to `lookback`. Default 25.
    pub kernel: usize,
}

impl Default for DLinearOptions {
    fn default() -> Self {
        Self {
            lookback: 288,
            horizon: 24,
            kernel: 25,
        }
    }
}

impl DLinearOptions {
    /// Checks that every setting lies within its range.
    ///
    /// # Errors
    /// [`PredictError::InvalidOption`] naming the first that does not.
    pub fn check(&self) -> Result<(), PredictError> {
        for (name, value, range, expected) in [
            ("lookback", self.lookback, 2..=1_024, "2 to 1024"),
            ("horizon", self.horizon, 1..=1_024, "1 to 1024"),
            ("kernel", self.kernel, 1..=self.lookback, "1 to lookback"),
        ] {
            if !range.contains(&value) {
                return Err(PredictError::InvalidOption {
                    name,
                    value: value as f64,
                    expected,
                });
            }
        }
        Ok(())
    }

    /// The trend, a value for every half kernel, and what remains of each point, relative to the last point.
    fn features(&self, window: &[f64]) -> Vec<f64> {
        let last = window.last().copied().unwrap_or_default();
        let half = self.kernel / 2;
        let mean = |centre: usize| {
            let part = &window[centre.saturating_sub(half)..(centre + half + 1).min(window.len())];
            part.iter().map(|value| value - last).sum::<f64>() / part.len() as f64
        };
        let trend: Vec<f64> = (0..window.len()).map(mean).collect();
        let mut features: Vec<f64> = trend.iter().rev().step_by(half.max(1)).copied().collect();
        let rest = window
            .iter()
            .zip(&trend)
            .map(|(value, trend)| value - last - trend);
        features.extend(rest);
        features
    }

    fn width(&self) -> usize {
        self.lookback.div_ceil((self.kernel / 2).max(1)) + self.lookback
    }
}

/// A linear map of a window's trend and one of what remains, to each step at once (in the manner of `DLinear`, Zeng et al.
/// 2023).
///
/// Being linear, it is not trained step by step but solved for, with a ridge penalty that the newest fifth of the windows
/// chooses; their errors make the quantiles. Windows relate to their last value, so that the level may move. It needs no
/// calendar and no period, and suits loads whose pattern is in the window.
///
/// # Examples
///
/// ```
/// use streamline_core::TimeSeries;
/// use streamline_predict::{DLinear, DLinearOptions, WorkloadPredictor};
///
/// let wave = |i: u32| 100.0 + 40.0 * (f64::from(i) * std::f64::consts::TAU / 24.0).sin();
/// let values: Vec<f64> = (0..480).map(wave).collect();
/// let series = TimeSeries::from_values(0, 60_000, &values)?;
///
/// let mut predictor = DLinear::new(DLinearOptions { lookback: 48, horizon: 12, kernel: 7 })?;
/// predictor.fit(&[series.slice(0, 460)])?;
/// let forecast = predictor.forecast(&series.slice(0, 460), 6)?;
/// assert!((forecast.point()[5] - values[465]).abs() < 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DLinear {
    options: DLinearOptions,
    learnt: Option<Learnt>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Learnt {
    /// For each step a weight for each feature.
    weights: Vec<Vec<f64>>,
    /// For each step the quantiles of its error, by the standard deviation of the window.
    errors: Vec<[f64; LEVELS.len()]>,
}

/// The share of each history's windows, the newest, that chooses among them.
const VALIDATION: f64 = 0.2;
/// The most windows that are learnt from.
const WINDOWS: usize = 4_096;

/// Windows as rows of features, and what followed them.
#[derive(Default)]
struct Rows {
    features: Vec<f64>,
    targets: Vec<f64>,
    deviations: Vec<f64>,
}

impl Rows {
    fn matrices(&self, options: &DLinearOptions) -> [DMatrix<f64>; 2] {
        let count = self.deviations.len();
        [
            DMatrix::from_column_slice(options.width(), count, &self.features),
            DMatrix::from_column_slice(options.horizon, count, &self.targets),
        ]
    }
}

impl DLinear {
    /// A predictor that has yet to be fitted.
    ///
    /// # Errors
    /// [`PredictError::InvalidOption`].
    pub fn new(options: DLinearOptions) -> Result<Self, PredictError> {
        options.check()?;
        Ok(Self {
            options,
            learnt: None,
        })
    }

    /// The windows that train and those that choose the penalty.
    fn rows(&self, history: &[TimeSeries]) -> [Rows; 2] {
        let DLinearOptions {
            lookback, horizon, ..
        } = self.options;
        let count = |series: &TimeSeries| (series.len() + 1).saturating_sub(lookback + horizon);
        let spacing = history.iter().map(count).sum::<usize>().div_ceil(WINDOWS).max(1);
        let mut rows = [Rows::default(), Rows::default()];
        for series in history {
            let values = series.filled();
            let size = size(&values);
            let validating = (count(series) as f64 * VALIDATION).ceil() as usize;
            let validation = count(series) - validating;
            for start in (0..count(series)).step_by(spacing) {
                // Those between the two kinds would share points with both.
                let kind = match start {
                    _ if start >= validation => 1,
                    _ if start + horizon <= validation => 0,
                    _ => continue,
                };
                let split = start + lookback;
                let known = (split..split + horizon).all(|index| series.get(index).is_some());
                let window: Vec<f64> = values[start..split].iter().map(|value| value / size).collect();
                let deviation = deviation(&window);
                if !known || deviation.is_nan() || deviation < FLAT {
                    continue;
                }
                let last = window[lookback - 1];
                let rows = &mut rows[kind];
                rows.features.extend(self.options.features(&window));
                let targets = values[split..split + horizon].iter();
                rows.targets.extend(targets.map(|value| value / size - last));
                rows.deviations.push(deviation);
            }
        }
        rows
    }

    /// None if there is nothing to learn from.
    fn learn(&self, training: &Rows, validation: &Rows) -> Option<Learnt> {
        if training.deviations.is_empty() || validation.deviations.is_empty() {
            return None;
        }
        let [features, targets] = training.matrices(&self.options);
        let [tested, expected] = validation.matrices(&self.options);
        let (gram, moment) = (&features * features.transpose(), &features * targets.transpose());
        let mut best: Option<(f64, f64, DMatrix<f64>)> = None;
        for penalty in PENALTIES {
            let Some(weights) = solve(&gram, &moment, penalty) else {
                continue;
            };
            let left = &expected - weights.transpose() * &tested;
            let loss = left.iter().map(|error| error.abs()).sum::<f64>();
            if loss.is_finite() && best.as_ref().is_none_or(|(least, ..)| loss < *least) {
                best = Some((loss, penalty, left));
            }
        }
        let (_, penalty, left) = best?;
        let gram = gram + &tested * tested.transpose();
        let weights = solve(&gram, &(moment + &tested * expected.transpose()), penalty)?;
        let errors = left.row_iter().map(|row| {
            let relative = row.iter().zip(&validation.deviations);
            let mut relative: Vec<f64> = relative.map(|(error, deviation)| error / deviation).collect();
            relative.sort_unstable_by(f64::total_cmp);
            LEVELS.map(|level| quantile(&relative, level))
        });
        Some(Learnt {
            errors: errors.collect(),
            weights: weights
                .column_iter()
                .map(|step| step.iter().copied().collect())
                .collect(),
        })
    }

    fn fitted(&self) -> Result<&Learnt, PredictError> {
        self.learnt.as_ref().ok_or_else(|| PredictError::NotFitted {
            name: self.name().into(),
        })
    }
}

impl Learnt {
    fn fits(&self, options: &DLinearOptions) -> bool {
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        let weights_fit = |weights: &Vec<f64>| weights.len() == options.width() && finite(weights);
        self.weights.len() == options.horizon
            && self.errors.len() == options.horizon
            && self.weights.iter().all(weights_fit)
            && self.errors.iter().all(|errors| finite(errors))
    }
}

impl WorkloadPredictor for DLinear {
    fn name(&self) -> &str {
        "dlinear"
    }

    fn lookback(&self) -> usize {
        self.options.lookback
    }

    fn fit(&mut self, history: &[TimeSeries]) -> Result<(), PredictError> {
        let [training, validation] = self.rows(history);
        let learnt = self.learn(&training, &validation);
        let too_short = PredictError::HistoryTooShort {
            given: history.iter().map(TimeSeries::len).max().unwrap_or(0),
            needed: self.options.lookback + 3 * self.options.horizon,
        };
        self.learnt = Some(learnt.ok_or(too_short)?);
        Ok(())
    }

    fn to_bytes(&self) -> Result<Vec<u8>, PredictError> {
        bytes::with_header(self.name(), &(&self.options, self.fitted()?), [])
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), PredictError> {
        let (options, learnt): (DLinearOptions, Learnt) = bytes::only_header(self.name(), bytes)?;
        if options != self.options || !learnt.fits(&options) {
            return Err(PredictError::Unsound {
                name: self.name().into(),
                reason: "its options are others, or its weights do not fit them".into(),
            });
        }
        self.learnt = Some(learnt);
        Ok(())
    }

    fn forecast(&self, history: &TimeSeries, horizon: usize) -> Result<Forecast, PredictError> {
        let learnt = self.fitted()?;
        stretches::chain(history, horizon, self.options.lookback, |window, _| {
            let size = size(window);
            let last = window.last().copied().unwrap_or_default();
            let window: Vec<f64> = window.iter().map(|value| value / size).collect();
            let deviation = deviation(&window);
            // Also where the size is 0 and everything else NaN.
            if deviation.is_nan() || deviation < FLAT {
                return Ok(vec![vec![last; self.options.horizon]; LEVELS.len()]);
            }
            let features = self.options.features(&window);
            let mut quantiles = vec![Vec::with_capacity(self.options.horizon); LEVELS.len()];
            for (weights, errors) in learnt.weights.iter().zip(&learnt.errors) {
                let change: f64 = weights
                    .iter()
                    .zip(&features)
                    .map(|(weight, feature)| weight * feature)
                    .sum();
                let point = last / size + change;
                push_step(&mut quantiles, point, errors, deviation, size);
            }
            Ok(quantiles)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> DLinear {
        DLinear::new(DLinearOptions {
            lookback: 24,
            horizon: 4,
            kernel: 5,
        })
        .unwrap()
    }

    fn wave(points: u32, period: f64) -> TimeSeries {
        let value = |index: u32| {
            let time = f64::from(index);
            500.0 + time + 80.0 * (time * std::f64::consts::TAU / period).sin() + f64::from(index * index % 7)
        };
        let values: Vec<f64> = (0..points).map(value).collect();
        TimeSeries::from_values(0, 60_000, &values).unwrap()
    }

    #[test]
    fn a_pattern_that_grows_is_forecast_beyond_the_trained_steps() {
        let series = wave(600, 12.0);
        let mut model = small();
        model.fit(&[series.slice(0, 560)]).unwrap();
        let forecast = model.forecast(&series.slice(0, 560), 20).unwrap();
        for (step, point) in forecast.point().iter().enumerate() {
            let truth = series.get(560 + step).unwrap();
            assert!((point - truth).abs() < 12.0, "step {step}: {point} for {truth}");
        }
        let width = |step: usize| forecast.quantile(0.9)[step] - forecast.quantile(0.1)[step];
        assert!(width(0) > 0.0 && width(19) > width(0));
    }

    #[test]
    fn it_learns_from_several_sources_of_any_size_and_bears_gaps_and_constants() {
        let one = wave(400, 12.0);
        let large: Vec<Option<f64>> = one
            .iter()
            .enumerate()
            .map(|(index, value)| value.map(|value| value * 1e6).filter(|_| index % 50 != 7))
            .collect();
        let large = TimeSeries::new(0, 60_000, large).unwrap();
        let constant = TimeSeries::from_values(0, 60_000, &[5.0; 100]).unwrap();
        let mut model = small();
        model.fit(&[one.clone(), large, constant.clone()]).unwrap();
        assert_eq!(model.forecast(&constant, 3).unwrap().point(), [5.0; 3]);
        let forecast = model.forecast(&one, 1).unwrap();
        assert!((forecast.point()[0] - wave(401, 12.0).last().unwrap()).abs() < 10.0);
    }

    #[test]
    fn what_is_too_short_is_refused_and_what_was_learnt_remains() {
        let mut model = small();
        assert!(matches!(
            model.forecast(&wave(50, 12.0), 1),
            Err(PredictError::NotFitted { .. })
        ));
        model.fit(&[wave(200, 12.0)]).unwrap();
        let before = model.clone();
        assert!(matches!(
            model.fit(&[wave(28, 12.0)]),
            Err(PredictError::HistoryTooShort {
                given: 28,
                needed: 36
            })
        ));
        assert_eq!(model, before);
        assert!(matches!(
            model.forecast(&wave(23, 12.0), 1),
            Err(PredictError::HistoryTooShort {
                given: 23,
                needed: 24
            })
        ));
    }

    #[test]
    fn what_is_restored_is_the_same_and_what_does_not_fit_is_refused() {
        let mut model = small();
        model.fit(&[wave(200, 12.0)]).unwrap();
        let bytes = model.to_bytes().unwrap();
        let mut same = small();
        same.restore(&bytes).unwrap();
        assert_eq!(same, model);
        assert!(DLinear::default().restore(&bytes).is_err());
        assert!(same.restore(&bytes[..bytes.len() - 1]).is_err());
        let text = String::from_utf8_lossy(&bytes[4..]).replacen("\"weights\":[[", "\"weights\":[[0.5,", 1);
        let mut longer = (text.len() as u32).to_le_bytes().to_vec();
        longer.extend(text.as_bytes());
        assert!(matches!(same.restore(&longer), Err(PredictError::Unsound { .. })));
        assert_eq!(same, model);
    }
}
