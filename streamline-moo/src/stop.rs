//! When a run stops.

use std::time::Duration;

use crate::options::Stop;
use crate::pool::Pool;
use crate::population::orient;
use crate::{Goal, Rows, StopReason, hypervolume, igd_plus};

/// Looks at a run between generations and says when to stop.
#[derive(Debug)]
pub(crate) struct Watch {
    stop: Stop,
    /// The reference point of the target hypervolume, minimised.
    reference: Vec<f64>,
    /// The front at the last look for stagnation, and when that was.
    pub(crate) snapshot: Option<(u64, Vec<f64>)>,
}

impl Watch {
    pub(crate) fn new(stop: &Stop, goals: &[Goal]) -> Self {
        let mut reference = stop
            .hypervolume
            .as_ref()
            .map_or(Vec::new(), |target| target.reference.clone());
        orient(&mut reference, goals);
        Self {
            stop: stop.clone(),
            reference,
            snapshot: None,
        }
    }

    pub(crate) fn look(
        &mut self,
        pool: &Pool,
        generation: u64,
        evaluations: u64,
        batch: usize,
        elapsed: Duration,
    ) -> Option<StopReason> {
        if self.stop.generations.is_some_and(|limit| generation >= limit) {
            return Some(StopReason::Generations);
        }
        if self
            .stop
            .evaluations
            .is_some_and(|limit| evaluations.saturating_add(batch as u64) > limit)
        {
            return Some(StopReason::Evaluations);
        }
        if self.stop.time.is_some_and(|limit| elapsed >= limit) {
            return Some(StopReason::Time);
        }
        if let Some(target) = &self.stop.hypervolume {
            let front = front(pool);
            if hypervolume(Rows::new(&front, pool.m()), &self.reference) >= target.target {
                return Some(StopReason::Hypervolume);
            }
        }
        let stagnation = self.stop.stagnation.as_ref()?;
        match &self.snapshot {
            Some((then, _)) if generation < then + stagnation.generations => None,
            Some((_, old)) => {
                let new = front(pool);
                let moved = movement(old, &new, pool.m());
                self.snapshot = Some((generation, new));
                (moved <= stagnation.tolerance).then_some(StopReason::Stagnation)
            }
            None => {
                self.snapshot = Some((generation, front(pool)));
                None
            }
        }
    }
}

/// The objectives of the feasible individuals of the first front.
fn front(pool: &Pool) -> Vec<f64> {
    let best = (0..pool.len).filter(|&i| pool.ranks[i] == 0 && pool.violations[i] <= 0.0);
    best.flat_map(|i| pool.objectives().row(i)).copied().collect()
}

/// How far one front is from the other, in units of the ranges of both together; infinite if one is empty.
fn movement(old: &[f64], new: &[f64], m: usize) -> f64 {
    if old.is_empty() || new.is_empty() {
        return f64::INFINITY;
    }
    let mut bounds = vec![(f64::INFINITY, f64::NEG_INFINITY); m];
    for row in old.chunks_exact(m).chain(new.chunks_exact(m)) {
        for ((low, high), &value) in bounds.iter_mut().zip(row) {
            (*low, *high) = (low.min(value), high.max(value));
        }
    }
    let scale = |front: &[f64]| -> Vec<f64> {
        let scaled = front.iter().enumerate().map(|(i, value)| {
            let (low, high) = bounds[i % m];
            let share = (value - low) / (high - low);
            if share.is_finite() { share } else { 0.0 }
        });
        scaled.collect()
    };
    let (old, new) = (scale(old), scale(new));
    let (old, new) = (Rows::new(&old, m), Rows::new(&new, m));
    igd_plus(old, new).max(igd_plus(new, old))
}
