//! An observation from two looks at a job.

use std::collections::HashMap;
use std::time::Instant;

use streamline_core::{
    EdgeMetrics, JobConfig, JobGraph, JobId, JobStatus, Observation, OperatorConfig, OperatorMetrics,
    SourceMetrics,
};

use super::answers::JobDetails;
use super::counters::{Counters, Passed};
use super::look::{Look, SourceLook};
use super::{cpu, flows, graph, latency};
use crate::FlinkError;

/// What is kept of a look, for the next one to be compared with.
#[derive(Debug)]
pub(super) struct Base {
    at: Instant,
    running_since: Option<i64>,
    vertices: Vec<Counters>,
    sources: Vec<Option<SourceLook>>,
    cpu_seconds: HashMap<String, f64>,
}

impl Base {
    fn of(look: &Look) -> Self {
        Self {
            at: look.at,
            running_since: running_since(&look.details),
            vertices: look
                .vertices
                .iter()
                .map(|vertex| vertex.counters.clone())
                .collect(),
            sources: look.vertices.iter().map(|vertex| vertex.source.clone()).collect(),
            cpu_seconds: look.cpu_seconds.clone(),
        }
    }

    /// Whether the counters of a look went on from these.
    fn goes_on_to(&self, look: &Look) -> bool {
        self.running_since == running_since(&look.details)
            && self.vertices.len() == look.vertices.len()
            && look
                .vertices
                .iter()
                .zip(&self.vertices)
                .all(|(now, then)| now.counters.go_on_from(then))
    }
}

fn running_since(details: &JobDetails) -> Option<i64> {
    details.timestamps.get("RUNNING").copied()
}

/// What cannot be seen of a job itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub segment_bytes: u32,
    pub buffer_timeout_ms: u32,
}

/// An observation, and what to compare the next look with.
pub(super) struct Seen {
    pub observation: Observation,
    pub base: Option<Base>,
    /// The weights of the job's subtasks on each TaskManager; see [`cpu::weight`].
    pub weights: HashMap<String, f64>,
}

/// Compares a look with the one before it.
///
/// `others` are the weights of the subtasks of all other jobs on each TaskManager.
pub(super) fn compare(
    job: &JobId,
    at_ms: i64,
    look: &Look,
    before: Option<Base>,
    settings: Settings,
    others: &HashMap<String, f64>,
) -> Result<Seen, FlinkError> {
    let partitions: Vec<Option<u32>> = look.vertices.iter().map(|vertex| vertex.partitions).collect();
    let graph = graph::graph(&look.details, &partitions)?;
    let config = config(&look.details, settings);
    let mut seen = Observation::unknown(job.clone(), at_ms, graph, config);
    seen.name.clone_from(&look.details.name);
    seen.status = status(&look.details);
    for (metrics, vertex) in seen.operators.iter_mut().zip(&look.vertices) {
        metrics.state_bytes = vertex.state_bytes;
        metrics.locations = vertex
            .counters
            .subtasks
            .iter()
            .map(|subtask| subtask.task_manager.clone())
            .collect();
    }
    let sources: Vec<usize> = seen.graph.sources().collect();
    for (metrics, &source) in seen.sources.iter_mut().zip(&sources) {
        metrics.backlog = look.vertices[source]
            .source
            .as_ref()
            .and_then(|source| source.pending);
    }
    if seen.status != JobStatus::Running {
        // What is counted while it starts or ends is no measure of how it runs.
        seen.restarted = before.is_some();
        return Ok(Seen {
            observation: seen,
            base: None,
            weights: HashMap::new(),
        });
    }
    seen.latency_ms = slowest_marker(look);
    let goes_on = before.as_ref().is_some_and(|before| before.goes_on_to(look));
    let Some(before) = before.filter(|_| goes_on) else {
        seen.restarted = running_since(&look.details).is_some() && !goes_on;
        return Ok(Seen {
            base: Some(Base::of(look)),
            weights: HashMap::new(),
            observation: seen,
        });
    };
    let passed = passed(look, &before);
    if passed
        .iter()
        .all(|passed| passed.busy.is_none() && passed.read.is_none())
    {
        // The cluster has not read its counters anew: keep what there was, so that the next look spans both.
        return Ok(Seen {
            observation: seen,
            base: Some(before),
            weights: HashMap::new(),
        });
    }
    let weights = weights(&passed);
    measure(&mut seen, look, &before, &passed, &weights, others);
    Ok(Seen {
        observation: seen,
        base: Some(Base::of(look)),
        weights,
    })
}

fn milliseconds(look: &Look, before: &Base) -> f64 {
    look.at.saturating_duration_since(before.at).as_secs_f64() * 1e3
}

fn passed(look: &Look, before: &Base) -> Vec<Passed> {
    let ours_ms = milliseconds(look, before);
    look.vertices
        .iter()
        .zip(&before.vertices)
        .map(|(now, then)| Passed::between(then, &now.counters, ours_ms))
        .collect()
}

fn weights(passed: &[Passed]) -> HashMap<String, f64> {
    let mut weights = HashMap::new();
    for (manager, busy) in passed.iter().flat_map(|passed| &passed.by_subtask) {
        if let Some(manager) = manager {
            *weights.entry(manager.clone()).or_insert(0.0) += cpu::weight(*busy);
        }
    }
    weights
}

/// Fills in what needs two looks.
fn measure(
    seen: &mut Observation,
    look: &Look,
    before: &Base,
    passed: &[Passed],
    weights: &HashMap<String, f64>,
    others: &HashMap<String, f64>,
) {
    let ours_ms = milliseconds(look, before);
    let used = cores_used(look, before, ours_ms);
    let mut all = others.clone();
    for (manager, weight) in weights {
        *all.entry(manager.clone()).or_insert(0.0) += weight;
    }
    for (operator, of) in passed.iter().enumerate() {
        let is_source = seen.graph.inputs(operator).is_empty();
        let from_outside = is_source
            .then(|| read_from_outside(look, before, operator, ours_ms))
            .flatten();
        let buffered_ms = latency::buffered_ms(&seen.graph, &seen.config, passed, operator);
        let metrics: &mut OperatorMetrics = &mut seen.operators[operator];
        metrics.input_rate = if is_source {
            from_outside.or(of.written)
        } else {
            of.read
        };
        metrics.busy = of.busy;
        metrics.busiest = of.busiest;
        metrics.backpressured = of.backpressured;
        metrics.cpu_cores = cpu::cores(&of.by_subtask, &used, &all);
        let queued = look.vertices[operator].queued_bytes;
        let residence_ms = latency::residence_ms(of, queued, is_source, metrics.input_rate);
        metrics.latency_ms = residence_ms.map(|residence_ms| residence_ms + buffered_ms);
    }
    let sources: Vec<usize> = seen.graph.sources().collect();
    for (metrics, &source) in seen.sources.iter_mut().zip(&sources) {
        arrivals(
            metrics,
            look,
            before,
            source,
            seen.operators[source].input_rate,
            ours_ms,
        );
    }
    let flows = flows::flows(&seen.graph, passed, &seen.config.parallelism());
    for (index, metrics) in seen.edges.iter_mut().enumerate() {
        *metrics = edge(&seen.graph, index, flows[index], passed, &seen.operators);
    }
    if seen.latency_ms.is_none() {
        let latencies: Option<Vec<f64>> = seen
            .operators
            .iter()
            .map(|operator| operator.latency_ms)
            .collect();
        seen.latency_ms = latencies.and_then(|latencies| seen.graph.longest_path(&latencies).ok());
        seen.latency_estimated = seen.latency_ms.is_some();
    }
}

/// Cores that each TaskManager used, by the clock of the subtasks on it: its cpu time was read together with theirs.
fn cores_used(look: &Look, before: &Base, ours_ms: f64) -> HashMap<String, f64> {
    let mut clocks = HashMap::<&str, (f64, u32)>::new();
    for (now, then) in look.vertices.iter().zip(&before.vertices) {
        for (now, then) in now.counters.subtasks.iter().zip(&then.subtasks) {
            if let (Some(manager), Some(passed)) = (&now.task_manager, now.time.since(then.time, ours_ms)) {
                let clock = clocks.entry(manager).or_default();
                clock.0 += passed;
                clock.1 += 1;
            }
        }
    }
    let cores = |(manager, now): (&String, &f64)| {
        let (sum, count) = clocks.get(manager.as_str())?;
        let used = now - before.cpu_seconds.get(manager)?;
        (used >= 0.0).then(|| (manager.clone(), used / (sum / f64::from(*count)) * 1e3))
    };
    look.cpu_seconds.iter().filter_map(cores).collect()
}

/// Records per second that a source read, by its own count.
fn read_from_outside(look: &Look, before: &Base, source: usize, ours_ms: f64) -> Option<f64> {
    let (now, then) = (
        look.vertices[source].source.as_ref()?,
        before.sources[source].as_ref()?,
    );
    if !now.counters.go_on_from(&then.counters) {
        return None;
    }
    Passed::between(&then.counters, &now.counters, ours_ms).read
}

/// What arrived is what was read plus what the backlog grew by.
///
/// A source that reports no backlog is taken to read all that arrives, unless it was held back: then it is not known.
fn arrivals(
    metrics: &mut SourceMetrics,
    look: &Look,
    before: &Base,
    source: usize,
    read: Option<f64>,
    ours_ms: f64,
) {
    const HELD_BACK: f64 = 0.1;
    let (Some(now), Some(then)) = (&look.vertices[source].source, &before.sources[source]) else {
        return;
    };
    metrics.arrival_rate = match (read, now.pending, then.pending) {
        (Some(read), Some(waits), Some(waited)) => {
            let subtasks = now.counters.subtasks.iter().zip(&then.counters.subtasks);
            let clocks: Vec<f64> = subtasks
                .filter_map(|(now, then)| now.time.since(then.time, ours_ms))
                .collect();
            let passed = clocks.iter().sum::<f64>() / clocks.len().max(1) as f64;
            (passed > 0.0).then(|| (read + (waits - waited) / passed * 1e3).max(0.0))
        }
        (Some(read), ..) => {
            let counters = &look.vertices[source].counters;
            let held = Passed::between(&before.vertices[source], counters, ours_ms).backpressured;
            held.is_some_and(|share| share < HELD_BACK).then_some(read)
        }
        (None, ..) => None,
    };
}

fn edge(
    graph: &JobGraph,
    index: usize,
    flow: Option<f64>,
    passed: &[Passed],
    operators: &[OperatorMetrics],
) -> EdgeMetrics {
    let edge = graph.edges()[index];
    let mut metrics = EdgeMetrics::default();
    metrics.selectivity = match (flow, operators[edge.from].input_rate) {
        (Some(flow), Some(read)) if read > 0.0 => Some(flow / read),
        _ => None,
    };
    let bytes = |bytes: Option<f64>, records: Option<f64>| match (bytes, records) {
        (Some(bytes), Some(records)) if records > 0.0 => Some(bytes / records),
        _ => None,
    };
    let (from, to) = (&passed[edge.from], &passed[edge.to]);
    metrics.record_bytes = if graph.outputs(edge.from).len() == 1 {
        bytes(from.bytes_written, from.written)
    } else {
        bytes(to.bytes_read, to.read)
    };
    metrics
}

/// The latency of the slowest sink by its markers.
fn slowest_marker(look: &Look) -> Option<f64> {
    look.vertices
        .iter()
        .filter_map(|vertex| vertex.marker_ms)
        .reduce(f64::max)
}

fn config(details: &JobDetails, settings: Settings) -> JobConfig {
    JobConfig {
        operators: details
            .vertices
            .iter()
            .map(|vertex| OperatorConfig {
                // While it waits for slots, Flink may say 0 or -1.
                parallelism: u32::try_from(vertex.parallelism).unwrap_or(1).max(1),
                segment_bytes: settings.segment_bytes,
            })
            .collect(),
        buffer_timeout_ms: settings.buffer_timeout_ms,
    }
}

/// What a job does: it runs when each of its subtasks runs or has read its bounded input to the end.
pub(super) fn status(details: &JobDetails) -> JobStatus {
    if has_ended(&details.state) {
        return JobStatus::Ended;
    }
    let up = details.vertices.iter().all(|vertex| {
        let tasks = |state: &str| vertex.tasks.get(state).copied().unwrap_or(0);
        vertex.parallelism > 0 && tasks("RUNNING") + tasks("FINISHED") == vertex.parallelism
    });
    if details.state == "RUNNING" && up {
        JobStatus::Running
    } else {
        JobStatus::Restarting
    }
}

/// Whether a job in this state will never run again.
pub(super) fn has_ended(state: &str) -> bool {
    matches!(state, "FINISHED" | "CANCELED" | "FAILED")
}
