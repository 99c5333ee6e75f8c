//! What a run gives.

use std::time::Duration;

use crate::{Population, Solution};

/// What a run found, and how it went.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The last population.
    pub population: Population,
    /// All non-dominated feasible points seen, up to the archive's capacity, if there was to be an archive.
    pub archive: Option<Population>,
    /// The generations made, the first population not counted.
    pub generations: u64,
    /// The individuals evaluated.
    pub evaluations: u64,
    /// The time it took, all sessions of a resumed run together.
    pub elapsed: Duration,
    /// Why it stopped.
    pub reason: StopReason,
}

impl Outcome {
    /// Goes over the best front of the last population: see [`Population::front`].
    pub fn front(&self) -> impl Iterator<Item = Solution<'_>> {
        self.population.front()
    }
}

/// Why a run stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// It made all its generations.
    Generations,
    /// The next generation would have exceeded the evaluations allowed.
    Evaluations,
    /// Its time was up.
    Time,
    /// The front reached the hypervolume wanted.
    Hypervolume,
    /// The front did not move any more.
    Stagnation,
    /// The observer ended it.
    Observer,
    /// No new individual could be found.
    Exhausted,
    /// The evaluation failed.
    Failed,
    /// It has not stopped: the outcome was asked for between generations.
    Running,
}
