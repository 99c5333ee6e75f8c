use std::path::PathBuf;

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
    /// The cluster does not answer.
    #[error("{endpoint}: the cluster cannot be reached")]
    Unreachable {
        /// Method and path of the request.
        endpoint: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// There is no such thing on the cluster.
    #[error("{endpoint}: not found: {message}")]
    NotFound {
        /// Method and path of the request.
        endpoint: String,
        /// The first line of the cluster's error.
        message: String,
    },
    /// The cluster is busy with something that stands against it.
    #[error("{endpoint}: conflict: {message}")]
    Busy {
        /// Method and path of the request.
        endpoint: String,
        /// The first line of the cluster's error.
        message: String,
    },
    /// This version or scheduler of Flink cannot do that.
    #[error("{endpoint}: not supported: {message}")]
    Unsupported {
        /// Method and path of the request.
        endpoint: String,
        /// The first line of the cluster's error.
        message: String,
    },
    /// The cluster, or what stands before it, does not let us in.
    #[error("{endpoint}: not authorised (status {status})")]
    Unauthorised {
        /// Method and path of the request.
        endpoint: String,
        /// The HTTP status.
        status: u16,
    },
    /// The cluster failed to answer the request.
    #[error("{endpoint}: status {status}: {message}")]
    Server {
        /// Method and path of the request.
        endpoint: String,
        /// The HTTP status.
        status: u16,
        /// The first line of the cluster's error.
        message: String,
    },
    /// The answer is not what Flink answers.
    #[error("{endpoint}: an answer that makes no sense: {reason}")]
    Malformed {
        /// Method and path of the request.
        endpoint: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The options of the client make no sense.
    #[error("client options: {reason}")]
    Options {
        /// What is wrong with them.
        reason: String,
    },
    /// A change failed, and so did undoing it: the job does not run. It can be started again from its savepoint.
    #[error("job `{name}` is down, its savepoint is `{savepoint}`: {reason}")]
    Down {
        /// The name of the job.
        name: String,
        /// Where its state is.
        savepoint: String,
        /// Why, in one line.
        reason: String,
    },
    /// The journal of changes cannot be read or written.
    #[error("journal `{path}`: {reason}")]
    Journal {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Something on this machine does not work that a local cluster needs.
    #[error("{doing}: {reason}")]
    Local {
        /// What was being done.
        doing: String,
        /// Why it did not work, in one line.
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

impl FlinkError {
    /// Whether asking again may help: the cluster could not be reached or was overloaded.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Server { status, .. } => matches!(status, 429 | 502 | 503 | 504),
            _ => false,
        }
    }
}
