use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use streamline_core::TimeSeries;

mod headroom;
mod pending;
mod saved;
mod stretch;
#[cfg(test)]
mod tests;

use crate::residuals::LEVELS;
use crate::{Forecast, PredictError};
use headroom::Headroom;
use pending::Pending;
use stretch::Stretch;

/// What became of the past forecasts of one series, and what follows for the next: bands that hold what they promise.
///
/// Give each new forecast to [`round`](Self::round). Two things are learnt of them, without any assumption on the series or
/// the predictor:
///
/// - **Bands.** The distance of each quantile from the median is stretched by a factor that grows when a value lies outside and
///   shrinks when it does not, such that in the long run the 0.9 quantile is above 0.9 of the values (online quantile
///   tracking, Angelopoulos, Candès and Tibshirani 2023): [`apply`](Self::apply).
/// - **Provisioning.** Who provides capacity needs the largest of the next values, not each of them. The ratio of that need
///   to the largest median is kept for some two days of forecasts; its quantile, at a level that rises with each
///   violation and falls without (adaptive conformal inference, Gibbs and Candès 2021), is the headroom that the medians are
///   given: [`provision`](Self::provision). A violation counts as soon as it is seen.
///
/// A new series starts from what a predictor saw when it was fitted, [`WorkloadPredictor::calibration`], or from nothing.
///
/// [`WorkloadPredictor::calibration`]: crate::WorkloadPredictor::calibration
///
/// # Examples
///
/// ```
/// use streamline_core::TimeSeries;
/// use streamline_predict::{Calibration, SeasonalNaive, WorkloadPredictor};
///
/// // Hours with a daily pattern, each day a twentieth busier than the last.
/// let value = |i: i32| (1_000.0 + 400.0 * (f64::from(i % 24) - 12.0).abs()) * 1.05f64.powi(i / 24);
/// let values: Vec<f64> = (0..480).map(value).collect();
/// let series = TimeSeries::from_values(0, 3_600_000, &values)?;
///
/// let predictor = SeasonalNaive::default(); // expects no growth
/// let mut calibration = Calibration::default();
/// for now in 48..=456 {
///     let history = series.slice(0, now);
///     calibration.observe(&history);
///     calibration.record(&predictor.forecast(&history, 12)?);
/// }
/// let forecast = predictor.forecast(&series.slice(0, 456), 12)?;
/// let need = values[456..468].iter().copied().fold(0.0, f64::max);
/// let most = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
/// assert!(most(forecast.point()) < need);
/// assert!((need..1.01 * need).contains(&most(&calibration.provision(&forecast, 0.95))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "saved::Parts")]
pub struct Calibration {
    /// How many of the next steps count.
    steps: usize,
    /// Forecasts whose values have yet to come, oldest first.
    pending: VecDeque<Pending>,
    headroom: Headroom,
    stretch: Stretch,
}

impl Default for Calibration {
    /// For the next twelve steps.
    fn default() -> Self {
        Self::new(12)
    }
}

impl Calibration {
    /// For capacity that is to suffice over this many of the next steps, at least 1 and at most 1,000.
    #[must_use]
    pub fn new(steps: usize) -> Self {
        Self {
            steps: steps.clamp(1, saved::MAX_STEPS),
            pending: VecDeque::new(),
            headroom: Headroom::default(),
            stretch: Stretch::default(),
        }
    }

    /// One round: observes what has come, applies what was learnt to a forecast that follows `history`, records it and gives
    /// it back.
    pub fn round(&mut self, history: &TimeSeries, forecast: &Forecast) -> Forecast {
        self.observe(history);
        let applied = self.apply(forecast);
        self.record(&applied);
        applied
    }

    /// Compares the recorded forecasts with what has come.
    ///
    /// Call it before the next forecast, with all points final: leave out a newest one that stands for a step that has not
    /// ended. Gaps tell nothing. Recorded forecasts of another step length than the history's are dropped.
    pub fn observe(&mut self, history: &TimeSeries) {
        self.pending
            .retain(|pending| pending.step_ms == history.step_ms());
        for pending in &mut self.pending {
            while let Some(value) = pending.next_value(history) {
                let Some(value) = value else { continue };
                self.stretch.learn(pending, value, self.steps);
                self.headroom.learn(pending, value);
            }
        }
        while let Some(done) = self.pending.pop_front_if(|pending| pending.is_complete()) {
            self.headroom.conclude(&done);
        }
    }

    /// Takes note of a forecast as [`apply`](Self::apply) gives it (or any other), to be compared with what comes.
    ///
    /// One from the same origin as the last takes its place; one from an earlier origin is left out.
    pub fn record(&mut self, forecast: &Forecast) {
        let origin_ms = forecast.origin_ms();
        if self.pending.back().is_some_and(|last| last.origin_ms > origin_ms) || forecast.horizon() == 0 {
            return;
        }
        self.pending.pop_back_if(|last| last.origin_ms == origin_ms);
        if self.pending.len() > self.steps {
            self.pending.pop_front();
        }
        let mut pending = Pending::new(forecast, self.steps);
        pending.capacities = self.headroom.capacities(pending.peak());
        self.pending.push_back(pending);
    }

    /// Drops the forecasts that have not been compared yet, to go on with another series.
    pub(crate) fn forget_pending(&mut self) {
        self.pending.clear();
    }

    /// The forecast with its quantiles moved away from the median, or towards it, by as much as past ones should have been.
    ///
    /// The point and the median stay. A quantile of a forecast that is nowhere negative does not become negative. A forecast
    /// without quantiles is given back as it is.
    #[must_use]
    pub fn apply(&self, forecast: &Forecast) -> Forecast {
        self.stretch.apply(forecast)
    }

    /// The rate to be ready for at each step, such that capacity for the largest of the next steps suffices with this
    /// probability: the medians with headroom.
    ///
    /// As long as fewer than ten forecasts could be compared, it is the quantile at that level. Not negative.
    #[must_use]
    pub fn provision(&self, forecast: &Forecast, level: f64) -> Vec<f64> {
        let mut rates = forecast.quantile(0.5);
        let peak = largest(&rates, self.steps);
        match self.headroom.capacity(peak, level) {
            Some(capacity) if peak > 0.0 => rates.iter_mut().for_each(|rate| *rate *= capacity / peak),
            Some(capacity) => rates.fill(capacity),
            None => rates = self.apply(forecast).quantile(level),
        }
        rates.into_iter().map(|rate| rate.clamp(0.0, f64::MAX)).collect()
    }
}

/// The largest of the first values.
fn largest(values: &[f64], first: usize) -> f64 {
    values.iter().take(first).copied().fold(f64::MIN, f64::max)
}
