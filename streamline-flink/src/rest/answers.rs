//! What Flink answers, as far as we read it. Fields that some version leaves out are optional, and a number that is not one
//! (Flink writes `"NaN"`) is unknown.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

#[derive(Debug, Deserialize)]
pub(super) struct Errors {
    pub errors: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Overview {
    #[serde(rename = "flink-version")]
    pub version: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct JobsOverview {
    pub jobs: Vec<JobSummary>,
}

#[derive(Debug, Deserialize)]
pub(super) struct JobSummary {
    pub jid: String,
    pub state: String,
    #[serde(rename = "schedulerType")]
    pub scheduler: Option<String>,
}

/// `/jobs/:id/status`.
#[derive(Debug, Deserialize)]
pub(super) struct JobState {
    pub status: String,
}

/// `/jobs/:id`.
#[derive(Debug, Deserialize)]
pub(super) struct JobDetails {
    pub name: String,
    pub state: String,
    #[serde(default)]
    pub timestamps: BTreeMap<String, i64>,
    /// The cluster's clock.
    pub now: Option<i64>,
    pub vertices: Vec<Vertex>,
    pub plan: JobPlan,
}

#[derive(Debug, Deserialize)]
pub(super) struct Vertex {
    pub id: String,
    pub name: String,
    #[serde(rename = "maxParallelism")]
    pub max_parallelism: i64,
    pub parallelism: i64,
    #[serde(rename = "slotSharingGroupId")]
    pub slot_sharing_group: Option<String>,
    #[serde(default)]
    pub tasks: BTreeMap<String, i64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct JobPlan {
    pub nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Node {
    pub id: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub inputs: Vec<NodeInput>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NodeInput {
    pub id: String,
    #[serde(default)]
    pub ship_strategy: String,
}

/// `/jobs/:id/vertices/:vertex`.
#[derive(Debug, Deserialize)]
pub(super) struct VertexDetails {
    pub subtasks: Vec<Subtask>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Subtask {
    pub subtask: usize,
    pub attempt: i64,
    #[serde(rename = "start-time")]
    pub start_time: i64,
    #[serde(rename = "taskmanager-id")]
    pub task_manager: Option<String>,
    /// Milliseconds spent in each state.
    #[serde(rename = "status-duration", default)]
    pub durations: BTreeMap<String, i64>,
    #[serde(default)]
    pub metrics: SubtaskMetrics,
}

/// Counters since the subtask started; times in milliseconds.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct SubtaskMetrics {
    #[serde(deserialize_with = "number")]
    pub read_records: Option<f64>,
    pub read_records_complete: bool,
    #[serde(deserialize_with = "number")]
    pub write_records: Option<f64>,
    pub write_records_complete: bool,
    #[serde(deserialize_with = "number")]
    pub read_bytes: Option<f64>,
    pub read_bytes_complete: bool,
    #[serde(deserialize_with = "number")]
    pub write_bytes: Option<f64>,
    pub write_bytes_complete: bool,
    #[serde(deserialize_with = "number")]
    pub accumulated_busy_time: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub accumulated_idle_time: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub accumulated_backpressured_time: Option<f64>,
}

/// One entry of any `…/metrics`. Where only the names were asked for, there is no value.
#[derive(Debug, Deserialize)]
pub(super) struct Metric {
    pub id: String,
    #[serde(default, deserialize_with = "number")]
    pub value: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TaskManagers {
    pub taskmanagers: Vec<TaskManagerSummary>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskManagerSummary {
    pub id: String,
    pub slots_number: u32,
    pub free_slots: u32,
    #[serde(default)]
    pub total_resource: Resource,
    #[serde(default)]
    pub hardware: Hardware,
    #[serde(default)]
    pub memory_configuration: MemoryConfiguration,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Resource {
    #[serde(deserialize_with = "number")]
    pub cpu_cores: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Hardware {
    #[serde(deserialize_with = "number")]
    pub cpu_cores: Option<f64>,
    pub physical_memory: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MemoryConfiguration {
    pub network_memory: Option<u64>,
    pub total_process_memory: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TaskManagerDetails {
    pub metrics: TaskManagerMetrics,
    #[serde(rename = "allocatedSlots", default)]
    pub allocated_slots: Vec<AllocatedSlot>,
}

#[derive(Debug, Deserialize)]
pub(super) struct AllocatedSlot {
    #[serde(rename = "jobId")]
    pub job: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskManagerMetrics {
    pub netty_shuffle_memory_segments_total: Option<u64>,
    pub netty_shuffle_memory_total: Option<u64>,
}

/// `/jobs/:id/checkpoints`.
#[derive(Debug, Deserialize)]
pub(super) struct Checkpoints {
    pub latest: LatestCheckpoints,
}

#[derive(Debug, Deserialize)]
pub(super) struct LatestCheckpoints {
    pub completed: Option<Checkpoint>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Checkpoint {
    pub id: u64,
}

/// `/jobs/:id/checkpoints/details/:checkpoint`.
#[derive(Debug, Deserialize)]
pub(super) struct CheckpointDetails {
    #[serde(default)]
    pub tasks: BTreeMap<String, CheckpointTask>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CheckpointTask {
    pub state_size: Option<u64>,
}

/// `/jobs/:id/savepoints/:trigger`.
#[derive(Debug, Deserialize)]
pub(super) struct SavepointStatus {
    pub status: OperationStatus,
    pub operation: Option<Savepoint>,
}

#[derive(Debug, Deserialize)]
pub(super) struct OperationStatus {
    pub id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Savepoint {
    pub location: Option<String>,
    pub failure_cause: Option<FailureCause>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct FailureCause {
    pub stack_trace: Option<String>,
}

/// `/jars/upload`.
#[derive(Debug, Deserialize)]
pub(super) struct Uploaded {
    pub filename: String,
}

/// `/jars/:id/run`.
#[derive(Debug, Deserialize)]
pub(super) struct Submitted {
    pub jobid: String,
}

/// `/jars/:id/plan`.
#[derive(Debug, Deserialize)]
pub(super) struct Planned {
    pub plan: JobPlan,
}

/// One entry of `/jobmanager/config`.
#[derive(Debug, Deserialize)]
pub(super) struct Setting {
    pub key: String,
    pub value: String,
}

/// `/jobs/:id/rescales/config`, of 2.x.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RescalesConfig {
    pub executing_cooldown_timeout_in_millis: Option<u64>,
    pub executing_resource_stabilization_timeout_in_millis: Option<u64>,
    pub maximum_delay_for_triggering_rescale_in_millis: Option<u64>,
}

/// A finite number of at least 0, written as one or as text; everything else is unknown.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Text(String),
        Other(serde::de::IgnoredAny),
    }
    let value = match Written::deserialize(deserializer)? {
        Written::Number(number) => Some(number),
        Written::Text(text) => text.trim().parse().ok(),
        Written::Other(_) => None,
    };
    Ok(value.filter(|number| number.is_finite() && *number >= 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_none_is_unknown() {
        for (text, known) in [
            ("3", Some(3.0)),
            ("\"3.5\"", Some(3.5)),
            ("\"NaN\"", None),
            ("-1", None),
            ("null", None),
            ("\"\"", None),
            ("[1]", None),
        ] {
            let metric: Metric = serde_json::from_str(&format!(r#"{{"id":"x","value":{text}}}"#)).unwrap();
            assert_eq!(metric.value, known, "{text}");
        }
        assert_eq!(
            serde_json::from_str::<Metric>(r#"{"id":"x"}"#).unwrap().value,
            None
        );
    }
}
