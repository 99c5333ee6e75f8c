//! What the regression sees of a history.

use std::time::Duration;

use super::options::RidgeOptions;

/// Milliseconds of a day and of a week.
const DAY_MS: f64 = 86_400_000.0;
const WEEK_MS: f64 = 7.0 * DAY_MS;
/// The most waves a day and a week that tell the time.
const DAILY: usize = 4;
const WEEKLY: usize = 2;

/// Where the features of a window lie, for series of one step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout {
    lags: usize,
    around: usize,
    /// In points; none where nothing repeats or a period does not fit.
    pub(super) period: Option<usize>,
    pub(super) step_ms: u64,
    /// Waves a day and a week that tell the time.
    pub(super) waves: [usize; 2],
    /// Points that a window needs.
    pub(super) lookback: usize,
}

impl Layout {
    /// For series of `step_ms` of which the longest has `longest` points; a period that they hold fewer than twice is
    /// left out, and so are the waves of a day or a week that they do not hold once.
    pub(super) fn new(options: &RidgeOptions, step_ms: u64, longest: usize) -> Self {
        let in_points = |period: Duration| {
            let points = period.as_millis() / u128::from(step_ms.max(1));
            usize::try_from(points).unwrap_or(usize::MAX)
        };
        let period = options.period.map(in_points);
        let covered = longest as f64 * step_ms as f64;
        let waves = [(DAY_MS, DAILY), (WEEK_MS, WEEKLY)];
        Self::with(
            options,
            step_ms,
            period.filter(|period| (2..=longest / 2).contains(period)),
            waves.map(|(length, waves)| if covered < length { 0 } else { waves }),
        )
    }

    /// With these periods and waves.
    pub(super) fn with(
        options: &RidgeOptions,
        step_ms: u64,
        period: Option<usize>,
        waves: [usize; 2],
    ) -> Self {
        let mut layout = Self {
            lags: options.lags,
            around: options.around,
            period,
            step_ms,
            waves,
            lookback: options.lags,
        };
        if let Some(period) = period {
            let reach = (0..options.horizon)
                .map(|step| layout.back(period, step) + options.around)
                .max()
                .unwrap_or(0);
            layout.lookback = options.lags.max(reach).max(period + 1);
        }
        layout
    }

    /// How many features there are.
    pub(super) fn width(&self) -> usize {
        let seasonal = if self.period.is_some() {
            2 * self.around + 3
        } else {
            0
        };
        self.lags - 1 + seasonal + 1 + 2 * self.waves.iter().sum::<usize>()
    }

    /// How many points before the last one the same time in a whole number of periods before the step lies, such that
    /// the points around it are known.
    fn back(&self, period: usize, step: usize) -> usize {
        let ahead = step + 1;
        (ahead + self.around).div_ceil(period) * period - ahead
    }

    /// The features for a step (from 0) after a window whose last point is at `last_ms`, of which `deviation` is the
    /// standard deviation: differences from the last value, and waves as high as the deviation, so that they scale with
    /// the window.
    pub(super) fn features(&self, window: &[f64], deviation: f64, last_ms: i64, step: usize) -> Vec<f64> {
        let newest = window.len().saturating_sub(1);
        let at = |back: usize| {
            newest
                .checked_sub(back)
                .and_then(|index| window.get(index))
                .copied()
                .unwrap_or_default()
        };
        let last = at(0);
        let mut features: Vec<f64> = (1..self.lags).map(|back| at(back) - last).collect();
        if let Some(period) = self.period {
            let centre = self.back(period, step);
            let around = centre - self.around..=centre + self.around;
            features.extend(around.map(|back| at(back) - last));
            features.push(at(period) - last);
            let mean = (0..period).map(|back| at(back) - last).sum::<f64>() / period as f64;
            features.push(mean);
        }
        let time = last_ms as f64 + (step as f64 + 1.0) * self.step_ms as f64;
        features.push(deviation);
        for (length, waves) in [DAY_MS, WEEK_MS].into_iter().zip(self.waves) {
            for wave in 1..=waves {
                let phase = (time / length).rem_euclid(1.0) * wave as f64 * std::f64::consts::TAU;
                features.extend([phase.sin() * deviation, phase.cos() * deviation]);
            }
        }
        features
    }
}
