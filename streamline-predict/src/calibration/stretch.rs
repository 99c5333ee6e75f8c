use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::LEVELS;
use super::pending::Pending;
use crate::Forecast;

/// By which factor each quantile's distance from the median is to be stretched.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Stretch {
    /// The natural logarithm of the factor of each level.
    logs: [f64; LEVELS.len()],
    /// How many forecasts it has learnt from.
    learnt: f64,
}

/// How far a forecast moves the logarithm if all its values lie outside, in the long run.
const RATE: f64 = 0.02;
/// How far the first one does; the n-th by the square root of n less (Angelopoulos, Barber and Bates 2024), as long as
/// that is more.
const FIRST_RATE: f64 = 0.3;
/// The logarithm stays within this distance of 0.
const FARTHEST: f64 = 5.0;
/// A quantile lies at least this share of the median away from it, so that there is something to stretch.
const LEAST: f64 = 1e-3;

impl Stretch {
    /// Learns from a value that came, with the weight of one in `steps`.
    pub(super) fn learn(&mut self, pending: &Pending, value: f64, steps: usize) {
        let step = pending.step();
        let weight = 1.0 / steps as f64;
        self.learnt += weight;
        let rate = (FIRST_RATE / self.learnt.max(1.0).sqrt()).max(RATE);
        for ((log, level), quantiles) in self.logs.iter_mut().zip(LEVELS).zip(&pending.quantiles) {
            let above = if value > quantiles[step] {
                level
            } else {
                level - 1.0
            };
            let outwards = match level.total_cmp(&0.5) {
                Ordering::Less => -above,
                Ordering::Equal => continue,
                Ordering::Greater => above,
            };
            *log = (*log + rate * outwards * weight).clamp(-FARTHEST, FARTHEST);
        }
    }

    pub(super) fn apply(&self, forecast: &Forecast) -> Forecast {
        let medians = forecast.quantile(0.5);
        forecast.map_quantiles(|level, step, value| {
            let median = medians[step];
            let least = LEAST * median.abs();
            let distance = match level.total_cmp(&0.5) {
                Ordering::Less => (value - median).min(-least),
                Ordering::Equal => return value,
                Ordering::Greater => (value - median).max(least),
            };
            let stretched = median + between(&self.logs, level).exp() * distance;
            let floor = if value < 0.0 { f64::MIN } else { 0.0 };
            stretched.clamp(floor, f64::MAX)
        })
    }

    /// Whether it could have come about.
    pub(super) fn is_sound(&self) -> bool {
        self.logs.iter().all(|log| log.abs() <= FARTHEST) && self.learnt >= 0.0 && self.learnt.is_finite()
    }
}

/// What stands for a level between those that stand for [`LEVELS`], the outermost beyond them.
pub(super) fn between(values: &[f64; LEVELS.len()], level: f64) -> f64 {
    let above = LEVELS.partition_point(|&known| known < level);
    match (above.checked_sub(1), LEVELS.get(above)) {
        (Some(below), Some(upper)) => {
            let share = (level - LEVELS[below]) / (upper - LEVELS[below]);
            values[below] * (1.0 - share) + values[above] * share
        }
        (below, _) => values[below.unwrap_or(0)],
    }
}
