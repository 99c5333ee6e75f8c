//! What is counted of a job between two looks, and what a look makes of it.

use super::flow::Moved;

/// Sums over the steps of one job since it was looked at last.
#[derive(Debug, Clone, Default)]
pub(super) struct Meter {
    pub(super) seconds: f64,
    pub(super) running_seconds: f64,
    pub(super) operators: Vec<OperatorMeter>,
    /// Records sent over each edge.
    pub(super) sent: Vec<f64>,
    /// Records that arrived at each source.
    pub(super) arrived: Vec<f64>,
    /// Latency in milliseconds, weighted by the seconds.
    pub(super) latency: f64,
    pub(super) restarted: bool,
}

/// Sums of one operator.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OperatorMeter {
    pub(super) processed: f64,
    /// Share of the time that the mean subtask was busy, times seconds; likewise the busiest, and the backpressured.
    pub(super) busy: f64,
    pub(super) busiest: f64,
    pub(super) backpressured: f64,
    pub(super) core_seconds: f64,
    pub(super) latency: f64,
}

impl Meter {
    pub(super) fn new(operators: usize, edges: usize, sources: usize) -> Self {
        Self {
            operators: vec![OperatorMeter::default(); operators],
            sent: vec![0.0; edges],
            arrived: vec![0.0; sources],
            ..Self::default()
        }
    }

    /// Begins anew with what is counted of subtasks, as new subtasks do. What arrives outside goes on.
    pub(super) fn restart(&mut self) {
        let fresh = Self::new(self.operators.len(), self.sent.len(), 0);
        let (seconds, arrived) = (self.seconds, std::mem::take(&mut self.arrived));
        *self = Self {
            seconds,
            arrived,
            restarted: true,
            ..fresh
        };
    }
}

/// Shares of a step that the subtasks of an operator were busy and backpressured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shares {
    pub(super) busiest: f64,
    pub(super) busy: f64,
    pub(super) backpressured: f64,
}

impl Shares {
    /// `evenness` is how much of what the busiest subtask does the mean subtask does.
    pub(super) fn new(moved: &Moved, evenness: f64) -> Self {
        let share = |records: f64| {
            if moved.possible > 0.0 {
                (records / moved.possible).clamp(0.0, 1.0)
            } else {
                0.0
            }
        };
        let busiest = share(moved.processed);
        let held_back = moved.offered > moved.allowed && moved.allowed < moved.possible;
        let backpressured = if held_back { 1.0 - busiest } else { 0.0 };
        Self {
            busiest,
            busy: busiest * evenness,
            backpressured,
        }
    }
}
