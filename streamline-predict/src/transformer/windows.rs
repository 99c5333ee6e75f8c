//! What the network sees of a history: windows in their own terms, and targets.

use streamline_core::TimeSeries;

use super::options::TransformerOptions;
use crate::scale::{FLAT, size};

/// Targets further from the last value than this many deviations of the window are cut to it.
const FARTHEST: f64 = 20.0;

/// The terms of one window: its values relate to the last one, in units of their standard deviation (in the manner of
/// Kim et al. 2022, so that the network need not know a series' size).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Terms {
    /// The largest absolute value; everything is divided by it first, so that nothing overflows.
    size: f64,
    /// The last value, in units of `size`.
    last: f64,
    /// The standard deviation, in units of `size`.
    deviation: f64,
}

impl Terms {
    /// None if the window is constant (or empty), so that there is nothing to relate to.
    pub(super) fn of(window: &[f64]) -> Option<Self> {
        let size = size(window);
        let last = window.last()? / size;
        let count = window.len() as f64;
        let mean = window.iter().map(|value| value / size / count).sum::<f64>();
        let variance = window
            .iter()
            .map(|value| (value / size - mean).powi(2) / count)
            .sum::<f64>();
        let deviation = variance.sqrt();
        // Also where the size is 0 and everything else NaN.
        (deviation > FLAT).then_some(Self {
            size,
            last,
            deviation,
        })
    }

    pub(super) fn normalise(&self, value: f64) -> f64 {
        (value / self.size - self.last) / self.deviation
    }

    /// The same, cut to [`FARTHEST`].
    pub(super) fn normalise_cut(&self, value: f64) -> f64 {
        self.normalise(value).clamp(-FARTHEST, FARTHEST)
    }

    /// The value that a normalised one stands for; cut to what is finite.
    pub(super) fn restore(&self, normalised: f64) -> f64 {
        ((self.last + normalised * self.deviation) * self.size).clamp(f64::MIN, f64::MAX)
    }
}

/// A window by its series and the index of its first point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    series: usize,
    start: usize,
}

/// A window in its own terms, with what followed it.
pub(super) struct Example {
    pub(super) terms: Terms,
    pub(super) window: Vec<f64>,
    /// None in gaps.
    pub(super) targets: Vec<Option<f64>>,
}

/// Histories with their gaps filled, cut into windows.
pub(super) struct Windows<'a> {
    history: &'a [TimeSeries],
    /// The values of each with its gaps filled, and which were known.
    series: Vec<(Vec<f64>, Vec<bool>)>,
    pub(super) lookback: usize,
    pub(super) horizon: usize,
    pub(super) training: Vec<Window>,
    pub(super) validation: Vec<Window>,
}

impl<'a> Windows<'a> {
    /// Cuts histories. The newest windows of each validate; as many before them as share points of their targets are
    /// left out. Windows that are constant or mostly gaps, and those followed by gaps alone, are left out too.
    ///
    /// A history that is too short for both kinds of windows gives none.
    pub(super) fn new(history: &'a [TimeSeries], options: &TransformerOptions) -> Self {
        let mut windows = Self {
            history,
            series: history
                .iter()
                .map(|series| {
                    (
                        series.filled(),
                        series.iter().map(|value| value.is_some()).collect(),
                    )
                })
                .collect(),
            lookback: options.lookback,
            horizon: options.horizon,
            training: Vec::new(),
            validation: Vec::new(),
        };
        for (series, (values, _)) in windows.series.iter().enumerate() {
            let span = options.lookback + options.horizon;
            let Some(count) = values.len().checked_sub(span).map(|more| more + 1) else {
                continue;
            };
            let Some((training, validation)) = split(count, options) else {
                continue;
            };
            let useful = |&start: &usize| windows.is_useful(series, start);
            let window = |start| Window { series, start };
            let training: Vec<_> = (0..training).filter(useful).map(window).collect();
            let validation: Vec<_> = (validation..count).filter(useful).map(window).collect();
            windows.training.extend(training);
            windows.validation.extend(validation);
        }
        windows
    }

    /// How many points a history must have.
    pub(super) fn needed(options: &TransformerOptions) -> usize {
        let mut count = options.horizon;
        while split(count, options).is_none() {
            count += 1;
        }
        options.lookback + options.horizon + count - 1
    }

    /// The points of the longest history that has any value.
    pub(super) fn longest(&self) -> usize {
        self.series
            .iter()
            .map(|(values, _)| values.len())
            .max()
            .unwrap_or(0)
    }

    /// Each history up to the last target that trains.
    pub(super) fn seen_in_training(&self) -> Vec<TimeSeries> {
        let mut ends = vec![0; self.history.len()];
        for window in &self.training {
            let end = window.start + self.lookback + self.horizon;
            if let Some(last) = ends.get_mut(window.series) {
                *last = end.max(*last);
            }
        }
        self.history
            .iter()
            .zip(ends)
            .map(|(series, end)| series.slice(0, end))
            .collect()
    }

    /// The points up to the end of a window, and the time of the last.
    pub(super) fn until(&self, window: &Window) -> Option<(&[f64], i64)> {
        let (values, _) = self.series.get(window.series)?;
        let end = window.start + self.lookback;
        let last_ms = self.history.get(window.series)?.time_ms(end - 1);
        Some((values.get(..end)?, last_ms))
    }

    fn is_useful(&self, series: usize, start: usize) -> bool {
        let Some((_, known)) = self.series.get(series) else {
            return false;
        };
        let (end, until) = (start + self.lookback, start + self.lookback + self.horizon);
        let count = |range: std::ops::Range<usize>| {
            let known = known.get(range).unwrap_or_default();
            known.iter().filter(|&&known| known).count()
        };
        2 * count(start..end) > self.lookback
            && count(end..until) > 0
            && self.example(&Window { series, start }).is_some()
    }

    /// A window in its own terms; none if it is constant.
    pub(super) fn example(&self, window: &Window) -> Option<Example> {
        let (values, known) = self.series.get(window.series)?;
        let end = window.start + self.lookback;
        let seen = values.get(window.start..end)?;
        let terms = Terms::of(seen)?;
        let target = |(value, &known): (&f64, &bool)| known.then(|| terms.normalise_cut(*value));
        Some(Example {
            terms,
            window: seen.iter().map(|&value| terms.normalise(value)).collect(),
            targets: values
                .get(end..end + self.horizon)?
                .iter()
                .zip(known.get(end..end + self.horizon)?)
                .map(target)
                .collect(),
        })
    }
}

/// Of `count` windows in order of time, how many train and where those that validate start.
fn split(count: usize, options: &TransformerOptions) -> Option<(usize, usize)> {
    let validating = (count as f64 * options.validation_share).ceil() as usize;
    let validation = count.checked_sub(validating.max(1))?;
    let training = validation.checked_sub(options.horizon - 1)?;
    (training > 0).then_some((training, validation))
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    fn tiny() -> TransformerOptions {
        TransformerOptions {
            lookback: 6,
            horizon: 2,
            patch: 3,
            d_model: 4,
            heads: 1,
            ..TransformerOptions::default()
        }
    }

    #[test]
    fn values_come_back_from_the_terms_of_their_window_whatever_their_size() {
        for size in [5e-324, 1e-300, 1e-9, 1.0, 1e12, 1e300, f64::MAX] {
            let window = [0.25 * size, size, -0.5 * size, 0.75 * size];
            let terms = Terms::of(&window).unwrap();
            assert!(terms.normalise(window[3]).abs() < 1e-9);
            for value in window {
                assert_relative_eq!(terms.restore(terms.normalise(value)), value, max_relative = 1e-9);
            }
            assert!(terms.restore(1e9).is_finite());
        }
        assert_eq!(Terms::of(&[3.0; 4]), None);
        assert_eq!(Terms::of(&[0.0; 4]), None);
        assert_eq!(Terms::of(&[]), None);
    }

    #[test]
    fn nothing_of_what_validates_is_a_target_in_training() {
        let values: Vec<f64> = (0..40).map(|index| f64::from(index % 7)).collect();
        let series = TimeSeries::from_values(0, 1, &values).unwrap();
        let options = tiny();
        let series = [series.clone(), series];
        let windows = Windows::new(&series, &options);
        let last = windows.training.iter().map(|window| window.start).max().unwrap();
        let first = windows
            .validation
            .iter()
            .map(|window| window.start)
            .min()
            .unwrap();
        assert_eq!(last + options.horizon, first);
        assert_eq!(windows.validation.len(), 2 * 5);
    }

    #[test]
    fn the_least_history_that_suffices_gives_a_window_of_each_kind() {
        let options = tiny();
        let needed = Windows::needed(&options);
        let cut = |points: usize| {
            let values: Vec<f64> = (0..points).map(|index| (index % 3) as f64).collect();
            let series = [TimeSeries::from_values(0, 1, &values).unwrap()];
            let windows = Windows::new(&series, &options);
            (windows.training.len(), windows.validation.len())
        };
        assert_eq!(cut(needed), (1, 1));
        assert_eq!(cut(needed - 1), (0, 0));
    }
}
