use streamline_core::{CoreError, JobId};

/// Why a cluster did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlinkError {
    /// There is no such job.
    #[error("no job `{job}`")]
    UnknownJob {
        /// The id that was asked for.
        job: JobId,
    },
    /// The request makes no sense or cannot be met, and nothing was changed.
    #[error("refused: {reason}")]
    Refused {
        /// Why, in one line.
        reason: String,
    },
    /// The job is not in a state in which this can be done.
    #[error("job `{job}` is {status}")]
    Conflict {
        /// The job.
        job: JobId,
        /// What it is doing, in words.
        status: &'static str,
    },
    /// The change was tried, failed, and was undone.
    #[error("the change of job `{job}` failed and was rolled back: {reason}")]
    RolledBack {
        /// The job.
        job: JobId,
        /// Why, in one line.
        reason: String,
    },
    /// A graph, configuration or cluster was refused.
    #[error("invalid description")]
    Invalid(#[from] CoreError),
    /// The constants of the simulated cluster are wrong.
    #[error("model constants: {reason}")]
    Model {
        /// What is wrong, with the place.
        reason: String,
    },
}
