use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{non_negative, same_length};
use crate::{CoreError, JobConfig, JobGraph};

/// The id of a job (32 hex digits on a real cluster).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub String);

impl JobId {
    /// The id with this text.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a job is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum JobStatus {
    /// All its subtasks run.
    Running,
    /// It is starting, restarting or being rescaled.
    Restarting,
    /// It has ended: finished, cancelled or failed for good.
    Ended,
}

/// What was measured of one operator over the last interval. Everything may be unknown, which is not zero.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OperatorMetrics {
    /// Records per second that it processed (a source: that it emitted).
    pub input_rate: Option<f64>,
    /// Share of the time that its subtasks were busy, 0 to 1, the mean over subtasks.
    pub busy: Option<f64>,
    /// Share of the time that its subtasks were held back by those downstream, 0 to 1, the mean over subtasks.
    pub backpressured: Option<f64>,
    /// Busy share of its busiest subtask, 0 to 1.
    pub busiest: Option<f64>,
    /// CPU cores that its subtasks used together.
    pub cpu_cores: Option<f64>,
    /// Milliseconds that a record spends in its queue, in it, and behind it until the buffer is sent.
    pub latency_ms: Option<f64>,
    /// Bytes of state.
    pub state_bytes: Option<u64>,
    /// Id of the TaskManager of each subtask, where known.
    pub locations: Vec<Option<String>>,
}

impl OperatorMetrics {
    /// The *true processing rate*: what all subtasks together would process if they were busy all the time.
    ///
    /// It is the observed rate over the busy share (DS2, Kalavri et al. 2018). Below 1 % busy it is unknown, for an
    /// idle operator says nothing of its capacity.
    #[must_use]
    pub fn true_processing_rate(&self) -> Option<f64> {
        const IDLE: f64 = 0.01;
        match (self.input_rate, self.busy) {
            (Some(rate), Some(busy)) if busy >= IDLE && rate > 0.0 => Some(rate / busy),
            _ => None,
        }
    }
}

/// What was measured of one edge over the last interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EdgeMetrics {
    /// Records sent over the edge for each record that the upstream operator processed.
    pub selectivity: Option<f64>,
    /// Mean size of a record in bytes.
    pub record_bytes: Option<f64>,
}

/// What was measured of one source over the last interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SourceMetrics {
    /// Records per second that arrived from outside, read or not.
    pub arrival_rate: Option<f64>,
    /// Records that have arrived and were not read yet (lag).
    pub backlog: Option<f64>,
}

/// One look at a running job: its graph, its configuration, and what was measured over the last interval.
///
/// # Examples
///
/// ```
/// use streamline_core::{
///     Edge, JobConfig, JobGraph, JobId, Observation, Operator, OperatorConfig, OperatorKind, Partitioning,
/// };
///
/// let graph = JobGraph::new(
///     vec![Operator::new("s", "in", OperatorKind::Source), Operator::new("k", "out", OperatorKind::Sink)],
///     vec![Edge { from: 0, to: 1, partitioning: Partitioning::Forward }],
/// )?;
/// let config = JobConfig::uniform(2, OperatorConfig { parallelism: 1, segment_bytes: 32 << 10 });
/// let mut seen = Observation::unknown(JobId::new("a1"), 0, graph, config);
/// seen.sources[0].arrival_rate = Some(1000.0);
/// seen.operators[0].busy = Some(0.5);
/// seen.check()?;
/// assert_eq!(seen.operators[1].busy, None); // unknown, not idle
/// # Ok::<(), streamline_core::CoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Observation {
    /// The job.
    pub job: JobId,
    /// Its name, for people.
    pub name: String,
    /// When it was looked at, in milliseconds since the epoch.
    pub at_ms: i64,
    /// What the job was doing.
    pub status: JobStatus,
    /// Whether it restarted since the look before, so that its counters began anew.
    pub restarted: bool,
    /// Its graph.
    pub graph: JobGraph,
    /// The configuration that runs.
    pub config: JobConfig,
    /// One entry per operator.
    pub operators: Vec<OperatorMetrics>,
    /// One entry per edge.
    pub edges: Vec<EdgeMetrics>,
    /// One entry per source, in the order of [`JobGraph::sources`].
    pub sources: Vec<SourceMetrics>,
    /// End-to-end latency in milliseconds, from a source to the slowest sink, without what waits before the source.
    pub latency_ms: Option<f64>,
    /// Whether the latency is no measurement but was worked out from what waits in the queues.
    #[serde(default)]
    pub latency_estimated: bool,
}

impl Observation {
    /// An observation of a running job in which every measurement is unknown.
    #[must_use]
    pub fn unknown(job: JobId, at_ms: i64, graph: JobGraph, config: JobConfig) -> Self {
        Self {
            name: job.0.clone(),
            job,
            at_ms,
            status: JobStatus::Running,
            restarted: false,
            operators: vec![OperatorMetrics::default(); graph.operators().len()],
            edges: vec![EdgeMetrics::default(); graph.edges().len()],
            sources: vec![SourceMetrics::default(); graph.sources().count()],
            latency_ms: None,
            latency_estimated: false,
            graph,
            config,
        }
    }

    /// Checks that the lists fit the graph and that what is known makes sense.
    ///
    /// # Errors
    /// [`CoreError::WrongLength`], or [`CoreError::InvalidNumber`] naming the measurement.
    pub fn check(&self) -> Result<(), CoreError> {
        let operators = self.graph.operators();
        same_length(
            "operator configurations",
            operators.len(),
            self.config.operators.len(),
        )?;
        same_length("operator metrics", operators.len(), self.operators.len())?;
        same_length("edge metrics", self.graph.edges().len(), self.edges.len())?;
        same_length("source metrics", self.graph.sources().count(), self.sources.len())?;
        let known = |value: Option<f64>, what: &dyn Fn() -> String| {
            value.map_or(Ok(0.0), |value| non_negative(value, what)).map(drop)
        };
        for (operator, metrics) in operators.iter().zip(&self.operators) {
            for (name, value) in [
                ("input rate", metrics.input_rate),
                ("busy share", metrics.busy),
                ("backpressured share", metrics.backpressured),
                ("busiest subtask", metrics.busiest),
                ("cpu cores", metrics.cpu_cores),
                ("latency", metrics.latency_ms),
            ] {
                known(value, &|| format!("{name} of operator `{}`", operator.id))?;
            }
        }
        for (edge, metrics) in self.edges.iter().enumerate() {
            known(metrics.selectivity, &|| format!("selectivity of edge {edge}"))?;
            known(metrics.record_bytes, &|| format!("record size of edge {edge}"))?;
        }
        for (source, metrics) in self.sources.iter().enumerate() {
            known(metrics.arrival_rate, &|| {
                format!("arrival rate of source {source}")
            })?;
            known(metrics.backlog, &|| format!("backlog of source {source}"))?;
        }
        known(self.latency_ms, &|| "latency of the job".into())
    }

    /// Records that wait at all sources together; sources that do not report a backlog count as none.
    #[must_use]
    pub fn backlog(&self) -> f64 {
        self.sources.iter().filter_map(|source| source.backlog).sum()
    }

    /// Bytes of state of all operators that report it.
    #[must_use]
    pub fn state_bytes(&self) -> u64 {
        self.operators
            .iter()
            .filter_map(|operator| operator.state_bytes)
            .fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Edge, Operator, OperatorConfig, OperatorKind, Partitioning};

    fn observation() -> Observation {
        let graph = JobGraph::new(
            vec![
                Operator::new("s", "in", OperatorKind::Source),
                Operator::new("k", "out", OperatorKind::Sink),
            ],
            vec![Edge {
                from: 0,
                to: 1,
                partitioning: Partitioning::Hash,
            }],
        )
        .unwrap();
        let config = JobConfig::uniform(
            2,
            OperatorConfig {
                parallelism: 1,
                segment_bytes: 1,
            },
        );
        Observation::unknown(JobId::new("j"), 0, graph, config)
    }

    #[test]
    fn an_idle_operator_has_unknown_and_not_tiny_capacity() {
        let metrics = |input_rate, busy| OperatorMetrics {
            input_rate,
            busy,
            ..OperatorMetrics::default()
        };
        assert_eq!(metrics(Some(3.0), Some(0.001)).true_processing_rate(), None);
        assert_eq!(metrics(Some(0.0), Some(0.5)).true_processing_rate(), None);
        assert_eq!(metrics(Some(100.0), None).true_processing_rate(), None);
        assert_eq!(
            metrics(Some(100.0), Some(0.5)).true_processing_rate(),
            Some(200.0)
        );
    }

    #[test]
    fn a_senseless_measurement_is_refused_with_its_place() {
        let mut seen = observation();
        seen.operators[1].busy = Some(f64::NAN);
        assert_eq!(
            seen.check().unwrap_err().to_string(),
            "busy share of operator `k` is NaN, expected a finite number of at least 0"
        );
        let mut seen = observation();
        seen.sources[0].arrival_rate = Some(-5.0);
        assert!(
            seen.check()
                .unwrap_err()
                .to_string()
                .starts_with("arrival rate of source 0 is -5")
        );
    }

    #[test]
    fn lists_that_do_not_fit_the_graph_are_refused() {
        let mut seen = observation();
        seen.edges.clear();
        assert!(matches!(
            seen.check(),
            Err(CoreError::WrongLength {
                what: "edge metrics",
                ..
            })
        ));
    }

    #[test]
    fn an_observation_survives_json() {
        let mut seen = observation();
        seen.sources[0].backlog = Some(12.0);
        let json = serde_json::to_string(&seen).unwrap();
        assert_eq!(serde_json::from_str::<Observation>(&json).unwrap(), seen);
    }
}
