use std::path::PathBuf;

use streamline_core::{CoreError, JobId};
use streamline_flink::FlinkError;
use streamline_predict::PredictError;
use streamline_sched::ScheduleError;
use streamline_surrogate::SurrogateError;

/// Why a round of tuning could not be made, by the stage that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is outside its range.
    #[error("{name} is {value}, expected {expected}")]
    InvalidOption {
        /// Path of the setting.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The range, in words.
        expected: &'static str,
    },
    /// There is no job to plan for.
    #[error("there is no job to plan for")]
    NoJobs,
    /// The cluster has no task slot, so nothing can run.
    #[error("the cluster has {task_managers} TaskManagers and no task slot")]
    NoSlots {
        /// TaskManagers of the cluster.
        task_managers: usize,
    },
    /// What was observed of a job makes no sense.
    #[error("observation of job `{job}`")]
    Observation {
        /// The job.
        job: JobId,
        /// What is wrong with it.
        source: CoreError,
    },
    /// Observations that should be of one job are of jobs with different graphs.
    #[error("the graph of job `{job}` is not that of job `{first}`")]
    ForeignGraph {
        /// The job.
        job: JobId,
        /// The first job.
        first: JobId,
    },
    /// A forecast failed.
    #[error("forecast of source {source_index} of job `{job}`")]
    Forecast {
        /// The job.
        job: JobId,
        /// Index of the source within the job.
        source_index: usize,
        /// Why.
        source: PredictError,
    },
    /// The rates of the operators could not be worked out.
    #[error("propagation of rates through job `{job}`")]
    Propagate {
        /// The job.
        job: JobId,
        /// Why.
        source: CoreError,
    },
    /// The surrogate could not answer.
    #[error("performance estimate")]
    Estimate(#[from] SurrogateError),
    /// The search failed.
    #[error("search")]
    Search(#[from] streamline_moo::Error),
    /// Nothing could be placed.
    #[error("placement")]
    Place(#[from] ScheduleError),
    /// The cluster could not be observed.
    #[error("cluster")]
    Cluster(#[from] FlinkError),
    /// A trace file could not be read.
    #[error("trace {}: i/o failed", path.display())]
    TraceIo {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A trace file has no data.
    #[error("trace {}: no data rows", path.display())]
    TraceEmpty {
        /// The file.
        path: PathBuf,
    },
    /// A trace file lacks a column.
    #[error("trace {}: no column `{column}` (there are: {})", path.display(), available.join(", "))]
    TraceColumn {
        /// The file.
        path: PathBuf,
        /// The column that was asked for.
        column: String,
        /// The columns that there are.
        available: Vec<String>,
    },
    /// A line of a trace file cannot be used.
    #[error("trace {}, line {line}: {column} is `{text}`, expected {expected}", path.display())]
    TraceValue {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The column.
        column: String,
        /// What stands there.
        text: String,
        /// What should, in words.
        expected: &'static str,
    },
    /// A picture could not be drawn.
    #[cfg(feature = "plot")]
    #[error("picture {}: {reason}", path.display())]
    Plot {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}
