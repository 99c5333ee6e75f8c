use streamline_core::TimeSeries;

use crate::{Calibration, Forecast, WorkloadPredictor};

/// The newest part of histories, to be forecast by predictors that know only what is older.
pub(super) struct Trial<'a> {
    history: &'a [TimeSeries],
    /// The histories without their newest part.
    pub(super) older: Vec<TimeSeries>,
    /// The history and the number of its points that are given, for each forecast.
    origins: Vec<(usize, usize)>,
}

/// The share of a history that is held back.
const HELD_BACK: f64 = 0.2;
/// About how many forecasts are made in all, and the least in each history that is long enough.
const FORECASTS: usize = 384;
const FEWEST: usize = 48;

impl<'a> Trial<'a> {
    /// Holds back the newest fifth.
    pub(super) fn new(history: &'a [TimeSeries]) -> Self {
        let older = |series: &TimeSeries| {
            let held_back = (series.len() as f64 * HELD_BACK).round() as usize;
            series.slice(0, series.len().saturating_sub(held_back))
        };
        Self::with(history, history.iter().map(older).collect())
    }

    /// Holds back what came after a time.
    pub(super) fn after(history: &'a [TimeSeries], until_ms: i64) -> Self {
        let older = |series: &TimeSeries| {
            let steps = (i128::from(until_ms) - i128::from(series.start_ms()))
                .div_euclid(i128::from(series.step_ms()))
                + 1;
            series.slice(
                0,
                usize::try_from(steps.max(0))
                    .unwrap_or(usize::MAX)
                    .min(series.len()),
            )
        };
        Self::with(history, history.iter().map(older).collect())
    }

    fn with(history: &'a [TimeSeries], older: Vec<TimeSeries>) -> Self {
        let each = (FORECASTS / history.len().max(1)).max(FEWEST);
        let mut origins = Vec::new();
        for (index, (series, older)) in history.iter().zip(&older).enumerate() {
            let first = older.len().max(1);
            // Odd, so that the origins do not all fall on the same few times of the day.
            let every = (series.len().saturating_sub(first) / each + 1) | 1;
            origins.extend((first..series.len()).step_by(every).map(|origin| (index, origin)));
        }
        Self {
            history,
            older,
            origins,
        }
    }

    /// When the newest point of all came.
    pub(super) fn until_ms(&self) -> i64 {
        let newest = |series: &TimeSeries| series.time_ms(series.len().saturating_sub(1));
        self.history.iter().map(newest).max().unwrap_or(i64::MIN)
    }

    /// Whether there are too few forecasts to tell something.
    pub(super) fn is_short(&self) -> bool {
        self.origins.len() < FEWEST
    }

    /// A forecast from each origin; none if there is no origin or the predictor refuses any.
    pub(super) fn forecasts(
        &self,
        predictor: &dyn WorkloadPredictor,
        horizon: usize,
    ) -> Option<Vec<Forecast>> {
        let forecasts = self.origins.iter().map(|&(series, origin)| {
            let history = self.history[series].slice(0, origin);
            predictor.forecast(&history, horizon).ok()
        });
        let forecasts: Vec<_> = forecasts.collect::<Option<_>>()?;
        (!forecasts.is_empty()).then_some(forecasts)
    }

    /// The mean absolute errors of such forecasts, step by step, each in units of the largest value of its history;
    /// none if nothing came to compare with.
    pub(super) fn errors(&self, forecasts: &[Forecast], horizon: usize) -> Option<Vec<f64>> {
        let size = |series: &TimeSeries| {
            let sizes = series.iter().flatten().map(f64::abs);
            sizes.fold(0.0, f64::max)
        };
        let sizes: Vec<f64> = self.history.iter().map(size).collect();
        let (mut sums, mut counts) = (vec![0.0; horizon], vec![0.0; horizon]);
        for (&(series, origin), forecast) in self.origins.iter().zip(forecasts) {
            let size = sizes[series];
            for (step, point) in forecast.point().iter().enumerate().take(horizon) {
                if let Some(truth) = self.history[series].get(origin + step)
                    && size > 0.0
                {
                    sums[step] += (truth / size - point / size).abs();
                    counts[step] += 1.0;
                }
            }
        }
        let means = sums.iter().zip(&counts);
        let means = means.map(|(sum, count)| sum / f64::max(*count, 1.0)).collect();
        counts.iter().any(|&count| count > 0.0).then_some(means)
    }

    /// What follows of the forecasts, given by the index of their origin, one history after the other.
    pub(super) fn calibration(&self, forecast: impl Fn(usize) -> Option<Forecast>) -> Option<Calibration> {
        let mut calibration = Calibration::default();
        let mut current = None;
        for (index, &(series, origin)) in self.origins.iter().enumerate() {
            if current.replace(series) != Some(series) {
                calibration.forget_pending();
            }
            calibration.round(&self.history[series].slice(0, origin), &forecast(index)?);
        }
        calibration.forget_pending();
        current.map(|_| calibration)
    }
}
