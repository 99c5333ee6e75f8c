//! Forecasts of any length from models that forecast a stretch of fixed length.

use streamline_core::TimeSeries;

use crate::residuals::{LEVELS, MEDIAN};
use crate::scale::floor;
use crate::{Forecast, PredictError};

/// Forecasts stretch after stretch, going on from the medians; the spread of each stretch is added to that of the stretch
/// before, as that of independent errors. Not negative where the history is not.
///
/// `stretch` is given the newest `lookback` points, gaps filled, and the time of the last of them, and gives the values
/// of at least one step for each of [`LEVELS`].
///
/// # Errors
/// [`PredictError::HistoryTooShort`] for fewer than `lookback` points, and those of `stretch`.
pub(crate) fn chain(
    history: &TimeSeries,
    horizon: usize,
    lookback: usize,
    stretch: impl Fn(&[f64], i64) -> Result<Vec<Vec<f64>>, PredictError>,
) -> Result<Forecast, PredictError> {
    let mut window = history.tail(lookback).filled();
    if window.len() < lookback {
        return Err(PredictError::HistoryTooShort {
            given: window.len(),
            needed: lookback,
        });
    }
    let floor = floor(history);
    let mut quantiles = vec![Vec::with_capacity(horizon); LEVELS.len()];
    // How far each quantile was from the median where the last stretch ended.
    let mut spread = [0.0; LEVELS.len()];
    while quantiles[MEDIAN].len() < horizon {
        let last_ms = history.time_ms(history.len() - 1 + quantiles[MEDIAN].len());
        let stretch = stretch(&window, last_ms)?;
        let medians = &stretch[MEDIAN];
        if medians.is_empty() {
            return Err(PredictError::InvalidForecast {
                reason: "a stretch has no steps",
            });
        }
        let ends = spread;
        for (level, values) in stretch.iter().enumerate() {
            for (value, median) in values.iter().zip(medians) {
                // Finite also where the difference is not.
                spread[level] = (value - median).hypot(ends[level]).min(f64::MAX);
                let away = if level < MEDIAN {
                    -spread[level]
                } else {
                    spread[level]
                };
                quantiles[level].push((median + away).clamp(floor, f64::MAX));
            }
        }
        window.extend(medians.iter().map(|median| median.max(floor)));
        window.drain(..window.len() - lookback);
    }
    for values in &mut quantiles {
        values.truncate(horizon);
    }
    Forecast::new(history, quantiles[MEDIAN].clone(), LEVELS.to_vec(), quantiles)
}
