//! Jobs that several tests simulate.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::time::Duration;

use streamline_core::{
    Cluster, Edge, JobConfig, JobGraph, JobId, Operator, OperatorConfig, OperatorKind, Partitioning,
    TimeSeries,
};
use streamline_flink::{Model, OperatorProfile, SimulatedCluster, SimulatedJob};

pub(crate) const SEGMENT: u32 = 32 << 10;

/// Flink's default segment for each operator, and these parallelisms.
pub(crate) fn config(parallelism: &[u32]) -> JobConfig {
    JobConfig {
        operators: parallelism
            .iter()
            .map(|&parallelism| OperatorConfig {
                parallelism,
                segment_bytes: SEGMENT,
            })
            .collect(),
        buffer_timeout_ms: JobConfig::DEFAULT_BUFFER_TIMEOUT_MS,
    }
}

/// The same rate for ever.
pub(crate) fn steady(rate: f64) -> TimeSeries {
    TimeSeries::from_values(0, 1_000, &[rate]).unwrap()
}

/// A source, then operators in a row, joined by `partitioning`.
pub(crate) fn chain(
    unit_rates: &[f64],
    partitioning: Partitioning,
    parallelism: &[u32],
    rate: f64,
) -> SimulatedJob {
    let operators = (0..unit_rates.len()).map(|index| {
        let kind = if index == 0 {
            OperatorKind::Source
        } else {
            OperatorKind::Window
        };
        Operator::new(format!("v{index}"), format!("v{index}"), kind)
    });
    let edges = (1..unit_rates.len()).map(|to| Edge {
        from: to - 1,
        to,
        partitioning,
    });
    SimulatedJob {
        name: "chain".into(),
        graph: JobGraph::new(operators.collect(), edges.collect()).unwrap(),
        config: config(parallelism),
        operators: unit_rates
            .iter()
            .map(|&rate| OperatorProfile::new(rate))
            .collect(),
        selectivities: vec![1.0; unit_rates.len() - 1],
        arrivals: vec![steady(rate)],
    }
}

/// TaskManagers with more cores than anyone wants.
pub(crate) fn roomy(task_managers: usize) -> Cluster {
    Cluster::uniform(task_managers, 1e6, 8 << 30, 256).unwrap()
}

/// Constants without chance, in which cost does not grow with parallelism.
pub(crate) fn plain() -> Model {
    let mut model = Model::without_chance();
    (model.scaling.contention, model.scaling.coherency) = (0.0, 0.0);
    model
}

/// A cluster with one job on it.
pub(crate) fn running(model: Model, cluster: Cluster, job: SimulatedJob) -> (SimulatedCluster, JobId) {
    let cluster = SimulatedCluster::new(model, cluster, 1).unwrap();
    let id = cluster.submit(job).unwrap();
    (cluster, id)
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
