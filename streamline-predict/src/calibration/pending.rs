use serde::{Deserialize, Serialize};
use streamline_core::TimeSeries;

use super::{LEVELS, largest};
use crate::Forecast;

/// A forecast whose values have yet to come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) origin_ms: i64,
    pub(super) step_ms: u64,
    /// For each level the quantiles that were given, a value a step; empty if none were.
    pub(super) quantiles: Vec<Vec<f64>>,
    pub(super) median: Vec<f64>,
    /// The capacity for each level that followed of it, if any did.
    pub(super) capacities: Option<[f64; LEVELS.len()]>,
    /// Whether more has come than that.
    pub(super) exceeded: [bool; LEVELS.len()],
    /// How many steps have been looked at.
    seen: usize,
    /// How many of them had a value, and the largest.
    known: usize,
    need: f64,
}

impl Pending {
    pub(super) fn new(forecast: &Forecast, steps: usize) -> Self {
        let first = |mut values: Vec<f64>| {
            values.truncate(steps);
            values
        };
        let quantiles = if forecast.levels().is_empty() {
            Vec::new()
        } else {
            LEVELS.map(|level| first(forecast.quantile(level))).to_vec()
        };
        Self {
            origin_ms: forecast.origin_ms(),
            step_ms: forecast.step_ms(),
            quantiles,
            median: first(forecast.quantile(0.5)),
            capacities: None,
            exceeded: [false; LEVELS.len()],
            seen: 0,
            known: 0,
            need: f64::MIN,
        }
    }

    /// Goes on to the next step and gives what came there, or that there is a gap; none if it has yet to come.
    pub(super) fn next_value(&mut self, history: &TimeSeries) -> Option<Option<f64>> {
        if self.is_complete() {
            return None;
        }
        let step = i128::try_from(self.seen).ok()? + 1;
        let since_start =
            i128::from(self.origin_ms) + step * i128::from(self.step_ms) - i128::from(history.time_ms(0));
        let index = since_start.div_euclid(i128::from(self.step_ms));
        if index >= history.len() as i128 {
            return None;
        }
        self.seen += 1;
        let value = usize::try_from(index).ok().and_then(|index| history.get(index));
        if let Some(value) = value {
            self.known += 1;
            self.need = self.need.max(value);
        }
        Some(value)
    }

    /// The step that [`next_value`](Self::next_value) gave last.
    pub(super) fn step(&self) -> usize {
        self.seen.saturating_sub(1)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.seen >= self.median.len()
    }

    /// The largest median.
    pub(super) fn peak(&self) -> f64 {
        largest(&self.median, self.median.len())
    }

    /// The largest median and the largest value that came, unless most of the steps are gaps.
    pub(super) fn outcome(&self) -> Option<(f64, f64)> {
        (2 * self.known > self.median.len()).then(|| (self.peak(), self.need))
    }

    /// Whether it could have come about.
    pub(super) fn is_sound(&self, steps: usize) -> bool {
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        let length = self.median.len();
        (1..=steps).contains(&length)
            && self.step_ms > 0
            && self.known <= self.seen
            && self.seen <= length
            && (self.quantiles.is_empty() || self.quantiles.len() == LEVELS.len())
            && self
                .quantiles
                .iter()
                .all(|values| values.len() == length && finite(values))
            && finite(&self.median)
            && finite(&[self.need])
            && self.capacities.is_none_or(|capacities| finite(&capacities))
    }
}
