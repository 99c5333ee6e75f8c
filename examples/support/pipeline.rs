//! A pipeline of four operators, sized so that any load makes it work.

use streamline_core::{
    CoreError, Edge, JobConfig, JobGraph, Operator, OperatorConfig, OperatorKind, Partitioning, TimeSeries,
};
use streamline_flink::{OperatorProfile, SimulatedJob};

/// source → filter → windowed count by key → sink.
#[derive(Debug, Clone)]
pub(crate) struct Pipeline {
    pub(crate) name: String,
    /// The highest arrival rate that it is meant for.
    pub(crate) peak: f64,
    pub(crate) graph: JobGraph,
    pub(crate) operators: Vec<OperatorProfile>,
    /// For each edge.
    pub(crate) selectivities: Vec<f64>,
}

/// The largest parallelism of an operator, and the partitions that the source reads.
const LARGEST_PARALLELISM: u32 = 32;
const PARTITIONS: u32 = 24;

/// Size of network buffers of a job that nobody tuned: Flink's default.
pub(crate) const DEFAULT_SEGMENT_BYTES: u32 = 32 << 10;

impl Pipeline {
    /// A pipeline whose costs fit a load that peaks at `peak` records per second.
    ///
    /// An arrival rate says nothing of what a record costs, so the costs are chosen: with perfect scaling, the peak takes
    /// `subtasks` subtasks of the window, and of the others a fixed share of that.
    pub(crate) fn new(name: &str, peak: f64, subtasks: f64) -> Result<Self, CoreError> {
        // A source that receives nothing still has a cost.
        let peak = peak.max(1.0);
        let operator = |id: &str, kind| Operator::new(id, id, kind).with_bounds(1, LARGEST_PARALLELISM);
        let edge = |from, partitioning| Edge {
            from,
            to: from + 1,
            partitioning,
        };
        let graph = JobGraph::new(
            vec![
                operator("source", OperatorKind::Source).with_partitions(PARTITIONS),
                operator("filter", OperatorKind::Filter),
                operator("window", OperatorKind::Window),
                operator("sink", OperatorKind::Sink),
            ],
            vec![
                edge(0, Partitioning::Rebalance),
                edge(1, Partitioning::Hash),
                edge(2, Partitioning::Rebalance),
            ],
        )?;
        // Of each operator the share of the records that reach it, and its cost for each of them beside the window's.
        let profile = |reaches: f64, cost: f64| OperatorProfile::new(peak * reaches / (cost * subtasks));
        let operators = vec![
            profile(1.0, 0.3).with_record_bytes(120.0),
            profile(1.0, 0.5).with_record_bytes(120.0),
            profile(0.8, 1.0)
                .with_record_bytes(64.0)
                .with_state_bytes(1 << 30)
                .with_hot_share(0.02),
            profile(0.08, 0.2),
        ];
        Ok(Self {
            name: name.into(),
            peak,
            graph,
            operators,
            selectivities: vec![1.0, 0.8, 0.1],
        })
    }

    /// The pipeline as a job on the simulated cluster.
    pub(crate) fn job(&self, config: JobConfig, arrivals: TimeSeries) -> SimulatedJob {
        SimulatedJob {
            name: self.name.clone(),
            graph: self.graph.clone(),
            config,
            operators: self.operators.clone(),
            selectivities: self.selectivities.clone(),
            arrivals: vec![arrivals],
        }
    }

    /// The same parallelism for every operator, and Flink's default for the rest.
    pub(crate) fn uniform(&self, parallelism: u32) -> JobConfig {
        let config = OperatorConfig {
            parallelism,
            segment_bytes: DEFAULT_SEGMENT_BYTES,
        };
        JobConfig::uniform(self.graph.operators().len(), config)
    }

    /// For each operator, the records that it gets for each that arrives.
    pub(crate) fn reaches(&self) -> Vec<f64> {
        let mut reaches = vec![1.0];
        for selectivity in &self.selectivities {
            reaches.push(reaches[reaches.len() - 1] * selectivity);
        }
        reaches
    }

    /// The arrival rate that one subtask of an operator could keep up with.
    pub(crate) fn source_rate_of_one(&self, operator: usize) -> f64 {
        self.operators[operator].unit_rate / self.reaches()[operator]
    }

    /// For each operator as many subtasks as an arrival rate takes, did they scale perfectly.
    pub(crate) fn sized_for(&self, rate: f64) -> JobConfig {
        let mut config = self.uniform(1);
        for (index, operator) in config.operators.iter_mut().enumerate() {
            let subtasks = (rate / self.source_rate_of_one(index)).ceil();
            operator.parallelism = subtasks.clamp(1.0, f64::from(LARGEST_PARALLELISM)) as u32;
        }
        if let Some(source) = config.operators.first_mut() {
            source.parallelism = source.parallelism.min(PARTITIONS);
        }
        config
    }
}
