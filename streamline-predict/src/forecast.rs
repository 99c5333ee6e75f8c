use serde::{Deserialize, Serialize};
use streamline_core::TimeSeries;

use crate::PredictError;

/// What is expected of a series over the next steps: a point and quantiles for each.
///
/// Step `i` (from 0) stands for the time `origin_ms + (i + 1) · step_ms`; the origin is the last point of the history.
///
/// Invariant: levels ascend strictly within 0 to 1 (exclusive), every list has one finite value a step, and at each step the
/// quantiles do not decrease with their level.
///
/// # Examples
///
/// ```
/// use streamline_core::TimeSeries;
/// use streamline_predict::Forecast;
///
/// let history = TimeSeries::from_values(0, 1_000, &[8.0, 9.0])?;
/// let forecast = Forecast::new(&history, vec![10.0, 11.0], vec![0.1, 0.9], vec![vec![9.0, 9.5], vec![12.0, 14.0]])?;
/// assert_eq!(forecast.time_ms(0), 2_000);
/// assert_eq!(forecast.quantile(0.9), [12.0, 14.0]);
/// assert_eq!(forecast.quantile(0.5), [10.5, 11.75]); // between the levels that there are
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Forecast {
    origin_ms: i64,
    step_ms: u64,
    point: Vec<f64>,
    levels: Vec<f64>,
    quantiles: Vec<Vec<f64>>,
}

/// What a forecast is written as.
#[derive(Serialize, Deserialize)]
struct Parts {
    origin_ms: i64,
    step_ms: u64,
    point: Vec<f64>,
    levels: Vec<f64>,
    quantiles: Vec<Vec<f64>>,
}

impl Forecast {
    /// A forecast that follows `history`, with a list of values for each quantile level.
    ///
    /// Quantiles that cross are put in order.
    ///
    /// # Errors
    /// [`PredictError::InvalidForecast`] if a value is not finite, a list has the wrong length, or the levels do not
    /// ascend strictly within 0 to 1.
    pub fn new(
        history: &TimeSeries,
        point: Vec<f64>,
        levels: Vec<f64>,
        quantiles: Vec<Vec<f64>>,
    ) -> Result<Self, PredictError> {
        Self::try_from(Parts {
            origin_ms: history.time_ms(history.len().saturating_sub(1)),
            step_ms: history.step_ms(),
            point,
            levels,
            quantiles,
        })
    }

    /// A forecast that says nothing of its uncertainty: every quantile is the point.
    ///
    /// # Errors
    /// [`PredictError::InvalidForecast`] if a value is not finite.
    pub fn point_only(history: &TimeSeries, point: Vec<f64>) -> Result<Self, PredictError> {
        Self::new(history, point, Vec::new(), Vec::new())
    }

    /// The time of the last point of the history, in milliseconds since the epoch.
    #[must_use]
    pub fn origin_ms(&self) -> i64 {
        self.origin_ms
    }

    /// The time between steps, in milliseconds.
    #[must_use]
    pub fn step_ms(&self) -> u64 {
        self.step_ms
    }

    /// The time that a step stands for, in milliseconds since the epoch. Saturates at the ends of `i64`.
    #[must_use]
    pub fn time_ms(&self, step: usize) -> i64 {
        let offset = (step as u128 + 1).saturating_mul(u128::from(self.step_ms));
        self.origin_ms
            .saturating_add_unsigned(u64::try_from(offset).unwrap_or(u64::MAX))
    }

    /// How many steps are forecast.
    #[must_use]
    pub fn horizon(&self) -> usize {
        self.point.len()
    }

    /// The point forecast, one value a step.
    #[must_use]
    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// The quantile levels that were forecast, ascending.
    #[must_use]
    pub fn levels(&self) -> &[f64] {
        &self.levels
    }

    /// The values of a quantile, one a step.
    ///
    /// Between two levels it is interpolated, beyond the outermost it is the outermost, and without any levels it is
    /// the point. A level that is NaN counts as the lowest.
    #[must_use]
    pub fn quantile(&self, level: f64) -> Vec<f64> {
        let above = self.levels.partition_point(|&known| known < level);
        match (above.checked_sub(1), self.levels.get(above)) {
            (None, None) => self.point.clone(),
            (None, Some(_)) => self.quantiles[above].clone(),
            (Some(below), None) => self.quantiles[below].clone(),
            (Some(below), Some(&upper)) => {
                let share = (level - self.levels[below]) / (upper - self.levels[below]);
                let pairs = self.quantiles[below].iter().zip(&self.quantiles[above]);
                pairs
                    .map(|(low, high)| low * (1.0 - share) + high * share)
                    .collect()
            }
        }
    }

    /// Another forecast of the same points.
    ///
    /// # Errors
    /// As of [`new`](Self::new).
    pub(crate) fn with_values(
        &self,
        point: Vec<f64>,
        levels: Vec<f64>,
        quantiles: Vec<Vec<f64>>,
    ) -> Result<Self, PredictError> {
        Self::try_from(Parts {
            origin_ms: self.origin_ms,
            step_ms: self.step_ms,
            point,
            levels,
            quantiles,
        })
    }

    /// The forecast with each quantile, of which the level, the step and the value are given, replaced by a finite one.
    pub(crate) fn map_quantiles(&self, map: impl Fn(f64, usize, f64) -> f64) -> Self {
        let mut mapped = self.clone();
        for (values, &level) in mapped.quantiles.iter_mut().zip(&self.levels) {
            for (step, value) in values.iter_mut().enumerate() {
                *value = map(level, step, *value);
            }
        }
        put_in_order(&mut mapped.quantiles);
        mapped
    }
}

/// Raises each quantile to at least that of the level below.
fn put_in_order(quantiles: &mut [Vec<f64>]) {
    for level in 1..quantiles.len() {
        let (below, above) = quantiles.split_at_mut(level);
        for (value, least) in above[0].iter_mut().zip(&below[level - 1]) {
            *value = value.max(*least);
        }
    }
}

impl TryFrom<Parts> for Forecast {
    type Error = PredictError;

    fn try_from(parts: Parts) -> Result<Self, PredictError> {
        let Parts {
            origin_ms,
            step_ms,
            point,
            levels,
            mut quantiles,
        } = parts;
        let refuse = |reason| Err(PredictError::InvalidForecast { reason });
        if step_ms == 0 {
            return refuse("the step is 0");
        }
        if quantiles.len() != levels.len() || quantiles.iter().any(|values| values.len() != point.len()) {
            return refuse("the number of values does not fit the levels and the horizon");
        }
        if !levels
            .iter()
            .all(|level| (f64::MIN_POSITIVE..1.0).contains(level))
            || levels.windows(2).any(|pair| pair[0] >= pair[1])
        {
            return refuse("the quantile levels do not ascend within 0 to 1");
        }
        if !point
            .iter()
            .chain(quantiles.iter().flatten())
            .all(|value| value.is_finite())
        {
            return refuse("a value is not finite");
        }
        put_in_order(&mut quantiles);
        Ok(Self {
            origin_ms,
            step_ms,
            point,
            levels,
            quantiles,
        })
    }
}

impl From<Forecast> for Parts {
    fn from(forecast: Forecast) -> Self {
        let Forecast {
            origin_ms,
            step_ms,
            point,
            levels,
            quantiles,
        } = forecast;
        Self {
            origin_ms,
            step_ms,
            point,
            levels,
            quantiles,
        }
    }
}
