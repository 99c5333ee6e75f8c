use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::pending::Pending;
use super::{LEVELS, largest};

/// What was needed by what was expected, and the quantile of that to be ready for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Headroom {
    /// `(largest median, largest value that came)` of past forecasts, oldest first.
    outcomes: VecDeque<(f64, f64)>,
    /// For each level the one that is taken in its place.
    taken: [f64; LEVELS.len()],
}

impl Default for Headroom {
    fn default() -> Self {
        Self {
            outcomes: VecDeque::new(),
            taken: LEVELS,
        }
    }
}

/// How far a violation moves the level that is taken.
const RATE: f64 = 0.02;
/// How high it may go: beyond 1 it is the largest ratio that is taken, for the longer.
const HIGHEST: f64 = 1.15;
/// How far back outcomes tell something of today, in milliseconds.
const WINDOW_MS: u64 = 2 * 86_400_000;
/// At least and at most as many outcomes, however far apart.
const KEPT: std::ops::RangeInclusive<usize> = 96..=384;
/// Fewer outcomes tell nothing.
const FEWEST: usize = 10;
/// An expectation counts as at least this share of the most that was needed.
const FLOOR: f64 = 0.01;

impl Headroom {
    pub(super) fn learn(&mut self, pending: &mut Pending, value: f64) {
        let Some(capacities) = pending.capacities else {
            return;
        };
        for (level, capacity) in capacities.into_iter().enumerate() {
            if value > capacity && !pending.exceeded[level] {
                pending.exceeded[level] = true;
                self.taken[level] = (self.taken[level] + RATE * LEVELS[level]).min(HIGHEST);
            }
        }
    }

    pub(super) fn conclude(&mut self, done: &Pending) {
        let Some(outcome) = done.outcome() else { return };
        if done.capacities.is_some() {
            for (level, taken) in self.taken.iter_mut().enumerate() {
                if !done.exceeded[level] {
                    *taken = (*taken - RATE * (1.0 - LEVELS[level])).max(0.0);
                }
            }
        }
        self.outcomes.push_back(outcome);
        let kept = usize::try_from(WINDOW_MS / done.step_ms)
            .unwrap_or(usize::MAX)
            .clamp(*KEPT.start(), *KEPT.end());
        while self.outcomes.len() > kept {
            self.outcomes.pop_front();
        }
    }

    /// The capacity for each level, where `peak` is the largest median; none before there are enough outcomes.
    pub(super) fn capacities(&self, peak: f64) -> Option<[f64; LEVELS.len()]> {
        let ratios = self.ratios()?;
        Some(self.taken.map(|taken| self.at(&ratios, peak, taken)))
    }

    /// The capacity for any level.
    pub(super) fn capacity(&self, peak: f64, level: f64) -> Option<f64> {
        let ratios = self.ratios()?;
        Some(self.at(&ratios, peak, super::stretch::between(&self.taken, level)))
    }

    fn at(&self, ratios: &[f64], peak: f64, taken: f64) -> f64 {
        // Of n outcomes and one to come, each rank is as likely.
        let place = taken * (ratios.len() + 1) as f64 - 1.0;
        let place = place.clamp(0.0, (ratios.len() - 1) as f64);
        let (below, share) = (place.floor() as usize, place.fract());
        let above = (below + 1).min(ratios.len() - 1);
        let ratio = ratios[below] * (1.0 - share) + ratios[above] * share;
        (peak.max(self.floor()) * ratio).clamp(f64::MIN, f64::MAX)
    }

    /// What was needed by what was expected, ascending.
    fn ratios(&self) -> Option<Vec<f64>> {
        if self.outcomes.len() < FEWEST {
            return None;
        }
        let floor = self.floor();
        let ratio = |&(peak, need): &(f64, f64)| (need / peak.max(floor)).clamp(f64::MIN, f64::MAX);
        let mut ratios: Vec<f64> = self.outcomes.iter().map(ratio).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        Some(ratios)
    }

    /// The least that an expectation counts as; above 0.
    fn floor(&self) -> f64 {
        let needs: Vec<f64> = self.outcomes.iter().map(|&(_, need)| need).collect();
        (FLOOR * largest(&needs, needs.len())).max(f64::MIN_POSITIVE)
    }

    /// Whether it could have come about.
    pub(super) fn is_sound(&self) -> bool {
        self.outcomes.len() <= *KEPT.end()
            && self
                .outcomes
                .iter()
                .all(|(peak, need)| peak.is_finite() && need.is_finite())
            && self.taken.iter().all(|taken| (0.0..=HIGHEST).contains(taken))
    }
}
