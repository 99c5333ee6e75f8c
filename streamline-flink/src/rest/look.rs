//! One look at a job over REST, before it is compared with the one before.

use std::collections::HashMap;
use std::time::Instant;

use super::answers::{
    CheckpointDetails, Checkpoints, JobDetails, Metric, Subtask, SubtaskMetrics, VertexDetails,
};
use super::counters::Counters;
use super::http::Http;
use super::{graph, latency, parallel, path};
use crate::FlinkError;

const CLOCK: [&str; 3] = [
    "accumulateBusyTimeMs",
    "accumulateIdleTimeMs",
    "accumulateBackPressuredTimeMs",
];
const QUEUE: &str = "Shuffle.Netty.Input.Buffers.inputQueueSize";
const CPU_TIME: &str = "Status.JVM.CPU.Time";

/// What was seen of a job.
#[derive(Debug)]
pub(super) struct Look {
    pub at: Instant,
    pub details: JobDetails,
    pub vertices: Vec<VertexLook>,
    /// Cpu time of each TaskManager that the job runs on, in seconds.
    pub cpu_seconds: HashMap<String, f64>,
}

#[derive(Debug, Default)]
pub(super) struct VertexLook {
    pub counters: Counters,
    /// Of a source: what its first operator read, which is not what its chain wrote.
    pub source: Option<SourceLook>,
    pub queued_bytes: Option<f64>,
    pub marker_ms: Option<f64>,
    pub state_bytes: Option<u64>,
    pub partitions: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SourceLook {
    /// Records read, with the clock that was read together with them.
    pub counters: Counters,
    /// Records that wait, as far as the connector tells.
    pub pending: Option<f64>,
}

impl Look {
    /// Records that wait at all sources, if any of them tells.
    pub(super) fn backlog(&self) -> Option<f64> {
        let sources = self.vertices.iter().filter_map(|vertex| vertex.source.as_ref());
        sources
            .filter_map(|source| source.pending)
            .reduce(|sum, records| sum + records)
    }
}

/// For how many milliseconds a subtask has been running, if it is.
pub(super) fn running_for(subtask: &Subtask) -> Option<u64> {
    let ms = subtask.durations.get("RUNNING")?;
    u64::try_from(*ms).ok()
}

/// Looks at a job, several requests at a time.
pub(super) fn look(http: &Http, id: &str, width: usize) -> Result<Look, FlinkError> {
    let details: JobDetails = http.get(&format!("/jobs/{id}"))?;
    let fed = |vertex: &str| {
        let mut nodes = details.plan.nodes.iter();
        nodes.any(|node| node.id == vertex && !node.inputs.is_empty())
    };
    let feeds = |vertex: &str| {
        let mut inputs = details.plan.nodes.iter().flat_map(|node| &node.inputs);
        inputs.any(|input| input.id == vertex)
    };
    let mut vertices = parallel::each(&details.vertices, width, |vertex| {
        look_at_vertex(http, id, &vertex.id, !fed(&vertex.id), !feeds(&vertex.id))
    })
    .into_iter()
    .collect::<Result<Vec<_>, _>>()?;
    let sizes = state_sizes(http, id);
    for (vertex, look) in details.vertices.iter().zip(&mut vertices) {
        look.state_bytes = sizes.get(&vertex.id).copied();
    }
    let mut managers: Vec<String> = vertices
        .iter()
        .flat_map(|vertex| &vertex.counters.subtasks)
        .filter_map(|subtask| subtask.task_manager.clone())
        .collect();
    managers.sort_unstable();
    managers.dedup();
    let cpu = parallel::each(&managers, width, |manager| cpu_seconds(http, manager));
    let cpu_seconds = managers
        .into_iter()
        .zip(cpu)
        .filter_map(|(manager, seconds)| Some((manager, seconds?)))
        .collect();
    Ok(Look {
        at: Instant::now(),
        details,
        vertices,
        cpu_seconds,
    })
}

fn look_at_vertex(
    http: &Http,
    job: &str,
    vertex: &str,
    is_source: bool,
    is_sink: bool,
) -> Result<VertexLook, FlinkError> {
    let base = format!("/jobs/{job}/vertices/{vertex}");
    let details: VertexDetails = http.get(&base)?;
    let mut look = VertexLook {
        counters: Counters::of(details),
        ..VertexLook::default()
    };
    let subtasks = look.counters.subtasks.len();
    let names: Vec<String> = if is_source || is_sink {
        let listed: Vec<Metric> = http.get(&format!("{base}/subtasks/metrics"))?;
        listed.into_iter().map(|metric| metric.id).collect()
    } else {
        Vec::new()
    };
    if is_source {
        look.partitions = graph::partitions(names.iter().map(String::as_str));
        look.source = source(http, &base, &look.counters, &names)?;
    } else {
        let queues = metrics(http, &base, &per_subtask(subtasks, QUEUE))?;
        look.queued_bytes = sum(queues.values());
    }
    if is_sink {
        look.marker_ms = markers(http, &base, &names)?;
    }
    Ok(look)
}

/// What a source read, and what waits.
fn source(
    http: &Http,
    base: &str,
    vertex: &Counters,
    names: &[String],
) -> Result<Option<SourceLook>, FlinkError> {
    let of_source = |ending: &str| {
        names
            .iter()
            .find(|name| name.starts_with("Source") && name.ends_with(ending))
            .map(String::as_str)
    };
    // A source of the new kind counts what it reads; one of the old kind counts only what it emits.
    let candidates = [of_source(".numRecordsIn"), of_source(".numRecordsOut")];
    let pending = of_source(".pendingRecords");
    if candidates.iter().all(Option::is_none) {
        return Ok(None);
    }
    let wanted: Vec<&str> = CLOCK
        .into_iter()
        .chain(candidates.into_iter().flatten())
        .chain(pending)
        .collect();
    let subtasks = vertex.subtasks.len();
    let ids: Vec<String> = wanted
        .iter()
        .flat_map(|name| per_subtask(subtasks, name))
        .collect();
    let values = metrics(http, base, &ids)?;
    let value = |subtask: usize, name: &str| values.get(&format!("{subtask}.{name}")).copied();
    let counts = |name: &str| {
        let all = (0..subtasks)
            .map(|subtask| value(subtask, name))
            .sum::<Option<f64>>();
        all.is_some_and(|records| records > 0.0)
    };
    // Some sources leave the count of what they read at 0.
    let [read, emitted] = candidates;
    let counter = read.filter(|name| counts(name)).or(emitted).or(read);
    let subtask = |(index, seen): (usize, &super::counters::SubtaskCounters)| Subtask {
        subtask: index,
        attempt: seen.life.0,
        start_time: seen.life.1,
        task_manager: None,
        durations: std::collections::BTreeMap::new(),
        metrics: SubtaskMetrics {
            read_records: counter.and_then(|name| value(index, name)),
            read_records_complete: true,
            accumulated_busy_time: value(index, CLOCK[0]),
            accumulated_idle_time: value(index, CLOCK[1]),
            accumulated_backpressured_time: value(index, CLOCK[2]),
            ..SubtaskMetrics::default()
        },
    };
    Ok(Some(SourceLook {
        counters: Counters::of(VertexDetails {
            subtasks: vertex.subtasks.iter().enumerate().map(subtask).collect(),
        }),
        // A subtask without partitions reports nothing.
        pending: pending.and_then(|name| {
            (0..subtasks)
                .filter_map(|subtask| value(subtask, name))
                .reduce(|sum, records| sum + records)
        }),
    }))
}

/// The mean latency of the markers that reached a vertex: over its subtasks, of the slowest source and operator in each.
fn markers(http: &Http, base: &str, names: &[String]) -> Result<Option<f64>, FlinkError> {
    let mut slowest = HashMap::<&str, f64>::new();
    let ids: Vec<String> = names
        .iter()
        .filter(|name| latency::is_marker(name))
        .map(|name| {
            // Each series is reported by the subtask that its own name ends with.
            let subtask = latency::marker_subtask(name).unwrap_or("0");
            format!("{subtask}.{name}")
        })
        .collect();
    let values = metrics(http, base, &ids)?;
    for (id, &ms) in &values {
        let subtask = id.split('.').next().unwrap_or_default();
        let worst = slowest.entry(subtask).or_insert(ms);
        *worst = worst.max(ms);
    }
    let count = slowest.len() as f64;
    Ok(sum(slowest.values()).map(|all| all / count))
}

/// Bytes of state of each vertex at its latest checkpoint; empty if there is none.
fn state_sizes(http: &Http, job: &str) -> HashMap<String, u64> {
    let sizes = || -> Result<HashMap<String, u64>, FlinkError> {
        let checkpoints: Checkpoints = http.get(&format!("/jobs/{job}/checkpoints"))?;
        let Some(latest) = checkpoints.latest.completed else {
            return Ok(HashMap::new());
        };
        let details: CheckpointDetails =
            http.get(&format!("/jobs/{job}/checkpoints/details/{}", latest.id))?;
        let sizes = details.tasks.into_iter();
        Ok(sizes
            .filter_map(|(id, task)| Some((id, task.state_size?)))
            .collect())
    };
    sizes().unwrap_or_else(|error| {
        tracing::debug!(%error, "the size of the state is unknown");
        HashMap::new()
    })
}

fn cpu_seconds(http: &Http, manager: &str) -> Option<f64> {
    let base = format!("/taskmanagers/{}", path::segment(manager));
    match metrics(http, &base, &[CPU_TIME.to_owned()]) {
        Ok(values) => values.get(CPU_TIME).map(|nanoseconds| nanoseconds / 1e9),
        Err(error) => {
            tracing::debug!(%error, manager, "the cpu time is unknown");
            None
        }
    }
}

fn per_subtask(subtasks: usize, name: &str) -> Vec<String> {
    (0..subtasks).map(|subtask| format!("{subtask}.{name}")).collect()
}

/// The metrics of these ids that are known, in as many requests as their length takes.
fn metrics(http: &Http, base: &str, ids: &[String]) -> Result<HashMap<String, f64>, FlinkError> {
    let mut known = HashMap::with_capacity(ids.len());
    for query in path::lists(ids.iter().map(String::as_str)) {
        let answer: Vec<Metric> = http.get(&format!("{base}/metrics?get={query}"))?;
        known.extend(
            answer
                .into_iter()
                .filter_map(|metric| Some((metric.id, metric.value?))),
        );
    }
    Ok(known)
}

fn sum<'a>(values: impl Iterator<Item = &'a f64>) -> Option<f64> {
    values.copied().reduce(|sum, value| sum + value)
}
