use serde::{Deserialize, Serialize};

use super::Progress;
use crate::Scores;

/// How a training went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrainingReport {
    /// Samples that were given.
    pub samples: usize,
    /// Distinct configurations among them: kind, parallelism, segment size and buffer timeout.
    pub configurations: usize,
    /// The epoch whose weights each member keeps.
    pub best_epochs: Vec<usize>,
    /// Losses, epoch by epoch.
    pub history: Vec<Progress>,
    /// Scores on samples that the answering members trained on.
    pub train: Scores,
    /// Scores on samples of configurations that the answering member did not train on (it was stopped by them).
    pub validation: Scores,
    /// Scores of the whole ensemble on samples of configurations that nothing was learned from; none if none were held
    /// out.
    pub test: Option<Scores>,
    /// What the calibrated analytic model alone scores on the validation samples.
    pub analytic_validation: Scores,
    /// What it scores on the test samples.
    pub analytic_test: Option<Scores>,
    /// How much of the networks' correction of throughput, latency and cpu is applied, 0 to 1: the share that
    /// minimises the error on the validation samples, drawn towards 0 where these are few.
    pub applied: [f64; 3],
}
