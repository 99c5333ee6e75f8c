//! Jobs and observations for tests of the tuner.

#![allow(dead_code, reason = "each test file uses a part of it")]

use streamline_core::{
    Cluster, Edge, JobConfig, JobGraph, JobId, Observation, Operator, OperatorConfig, OperatorKind,
    Partitioning, TimeSeries,
};
use streamline_flink::{Capabilities, Scope};
use streamline_predict::{Forecast, PredictError, WorkloadPredictor};
use streamline_tuner::{Controller, JobPolicy, Memory, Plan, PlanRequest, Tuner, TunerOptions};

pub(crate) const MINUTE_MS: i64 = 60_000;
pub(crate) const STEP_MS: i64 = 5 * MINUTE_MS;

/// Expects each source to go on at its last rate times a factor.
pub(crate) struct Times(pub(crate) f64);

impl WorkloadPredictor for Times {
    fn name(&self) -> &str {
        "times"
    }

    fn lookback(&self) -> usize {
        1
    }

    fn fit(&mut self, _history: &[TimeSeries]) -> Result<(), PredictError> {
        Ok(())
    }

    fn forecast(&self, history: &TimeSeries, horizon: usize) -> Result<Forecast, PredictError> {
        let last = history
            .last()
            .ok_or(PredictError::HistoryTooShort { given: 0, needed: 1 })?;
        Forecast::point_only(history, vec![last * self.0; horizon])
    }
}

/// source → map → keyed window → sink, all rebalanced but for the window's input.
pub(crate) fn four_operators() -> JobGraph {
    let operator = |id: &str, kind| Operator::new(id, id, kind).with_bounds(1, 32);
    let edge = |from, partitioning| Edge {
        from,
        to: from + 1,
        partitioning,
    };
    JobGraph::new(
        vec![
            operator("source", OperatorKind::Source),
            operator("map", OperatorKind::Map),
            operator("window", OperatorKind::Window),
            operator("sink", OperatorKind::Sink),
        ],
        vec![
            edge(0, Partitioning::Rebalance),
            edge(1, Partitioning::Hash),
            edge(2, Partitioning::Rebalance),
        ],
    )
    .expect("sound")
}

/// A look at a job of which everything is known: each operator processes `rate` and one of its subtasks can do
/// `unit_rate` at most.
pub(crate) fn seen(name: &str, at_ms: i64, rate: f64, unit_rate: f64, parallelism: u32) -> Observation {
    let graph = four_operators();
    let config = JobConfig::uniform(
        4,
        OperatorConfig {
            parallelism,
            segment_bytes: 32 << 10,
        },
    );
    let mut seen = Observation::unknown(JobId::new(name), at_ms, graph, config);
    let busy = (rate / (unit_rate * f64::from(parallelism))).min(1.0);
    for operator in &mut seen.operators {
        operator.input_rate = Some(rate);
        operator.busy = Some(busy);
        operator.backpressured = Some(0.0);
        operator.cpu_cores = Some(busy * f64::from(parallelism));
        operator.latency_ms = Some(5.0);
    }
    for edge in &mut seen.edges {
        edge.selectivity = Some(1.0);
        edge.record_bytes = Some(100.0);
    }
    seen.sources[0].arrival_rate = Some(rate);
    seen.sources[0].backlog = Some(0.0);
    seen.latency_ms = Some(20.0);
    seen
}

/// A tuner that expects the last rate times `factor`.
pub(crate) fn tuner(factor: f64) -> Tuner {
    let options = TunerOptions {
        population: 16,
        generations: 20,
        ..TunerOptions::default()
    };
    Tuner::builder()
        .predictor(Times(factor))
        .options(options)
        .build()
        .expect("sound")
}

pub(crate) fn capabilities() -> Capabilities {
    let mut capabilities = Capabilities::stock("test");
    capabilities.segment_size = Scope::Operator;
    capabilities
}

/// Plans for jobs that were looked at once.
pub(crate) fn plan(
    tuner: &Tuner,
    observations: &[Observation],
    policies: &[JobPolicy],
    cluster: &Cluster,
) -> Plan {
    let mut memory = Memory::default();
    for seen in observations {
        memory.remember(seen, tuner.options().step).expect("sound");
    }
    plan_with(tuner, observations, policies, cluster, &memory)
}

/// Plans for jobs with a memory of them.
pub(crate) fn plan_with(
    tuner: &Tuner,
    observations: &[Observation],
    policies: &[JobPolicy],
    cluster: &Cluster,
    memory: &Memory,
) -> Plan {
    let request = PlanRequest {
        observations,
        policies,
        cluster,
        capabilities: &capabilities(),
        memory,
    };
    tuner.plan(&request).expect("sound")
}

/// A cluster with ample room.
pub(crate) fn ample() -> Cluster {
    Cluster::uniform(16, 8.0, 32 << 30, 16).expect("sound")
}

/// A controller around a tuner, with a policy for each job.
pub(crate) fn controller(tuner: Tuner, policies: &[(&JobId, JobPolicy)]) -> Controller {
    policies
        .iter()
        .fold(Controller::new(tuner), |controller, (job, policy)| {
            controller.with_policy((*job).clone(), *policy)
        })
}
