use serde::{Deserialize, Serialize};

use crate::{CoreError, JobGraph};

/// How one operator is expected to perform under one configuration and load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OperatorEstimate {
    /// Records per second that it processes: its input rate, or its capacity where that is less.
    pub throughput: f64,
    /// Milliseconds that a record spends in its queue and in it.
    pub latency_ms: f64,
    /// CPU cores that all its subtasks use together.
    pub cpu_cores: f64,
}

/// How a whole job is expected to perform.
///
/// # Examples
///
/// ```
/// use streamline_core::{Edge, JobEstimate, JobGraph, Operator, OperatorEstimate, OperatorKind, Partitioning};
///
/// let graph = JobGraph::new(
///     vec![Operator::new("s", "in", OperatorKind::Source), Operator::new("k", "out", OperatorKind::Sink)],
///     vec![Edge { from: 0, to: 1, partitioning: Partitioning::Forward }],
/// )?;
/// let each = OperatorEstimate { throughput: 100.0, latency_ms: 4.0, cpu_cores: 0.5 };
/// let job = JobEstimate::from_operators(&graph, vec![each; 2])?;
/// assert_eq!((job.latency_ms, job.cpu_cores), (8.0, 1.0));
/// # Ok::<(), streamline_core::CoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobEstimate {
    /// One entry per operator of the graph.
    pub operators: Vec<OperatorEstimate>,
    /// End-to-end latency along the critical path, in milliseconds.
    pub latency_ms: f64,
    /// CPU cores of all operators.
    pub cpu_cores: f64,
}

impl JobEstimate {
    /// Adds the operators up: cpu over all of them, latency along the critical path.
    ///
    /// # Errors
    /// [`CoreError::WrongLength`] if there is not one estimate per operator.
    pub fn from_operators(graph: &JobGraph, operators: Vec<OperatorEstimate>) -> Result<Self, CoreError> {
        let latencies: Vec<f64> = operators.iter().map(|operator| operator.latency_ms).collect();
        let latency_ms = graph.longest_path(&latencies)?;
        let cpu_cores = operators.iter().map(|operator| operator.cpu_cores).sum();
        Ok(Self {
            operators,
            latency_ms,
            cpu_cores,
        })
    }
}
