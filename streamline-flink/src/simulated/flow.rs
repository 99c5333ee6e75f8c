//! One step of one job: how many records each operator processes, and how long they wait.

use streamline_core::{JobGraph, Partitioning};

use super::job::OperatorProfile;
use super::model::Model;

/// What a step depends on, for one operator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stage {
    /// Records per second at full speed, the busiest subtask setting the pace.
    pub(super) capacity: f64,
    /// Records that fit into its input buffers.
    pub(super) room: f64,
}

/// What happened to one operator in a step, in records.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moved {
    /// Offered to it: what waited and what came.
    pub(super) offered: f64,
    /// Processed by it.
    pub(super) processed: f64,
    /// What it could have processed, had there been more, and room downstream.
    pub(super) possible: f64,
    /// What it could have processed, given the room downstream.
    pub(super) allowed: f64,
}

/// How much of the way to even shares the inputs of an operator that has no room for all of them come in a step.
///
/// Flink takes from its inputs in turn, so that inputs that always have something get the same, and one that was idle is
/// not shut out by those that were not.
const EVENING: f64 = 0.1;

/// Moves records through a job for one step of `seconds`.
///
/// Backwards through the graph it is found out how much each operator may process: what it is able to, and what finds
/// room downstream, several inputs sharing the room as they shared the traffic before. Forwards, each processes that of
/// what waits and comes. So backpressure reaches the sources within the step, and nothing is ever lost: what does not
/// fit stays where it is.
///
/// `waiting` are the records before each operator; before a source those that have arrived, without limit.
pub(super) fn step(
    graph: &JobGraph,
    stages: &[Stage],
    selectivities: &[f64],
    seconds: f64,
    waiting: &mut [f64],
    traffic: &mut [f64],
) -> Vec<Moved> {
    let mut moved = vec![Moved::default(); stages.len()];
    for &operator in graph.order().iter().rev() {
        let possible = stages[operator].capacity * seconds;
        let mut allowed = possible;
        for &edge in graph.outputs(operator) {
            let to = graph.edges()[edge].to;
            let room = (moved[to].allowed + stages[to].room - waiting[to]).max(0.0);
            let inputs = graph.inputs(to);
            let all: f64 = inputs.iter().map(|&edge| traffic[edge]).sum();
            let even = 1.0 / inputs.len() as f64;
            let share = if all > 0.0 {
                (1.0 - EVENING) * traffic[edge] / all + EVENING * even
            } else {
                even
            };
            // An input may take what the others leave, and its share of the room if they leave less.
            let room = (room * share).max(room - (all - traffic[edge]));
            if selectivities[edge] > 0.0 {
                allowed = allowed.min(room / selectivities[edge]);
            }
        }
        (moved[operator].possible, moved[operator].allowed) = (possible, allowed);
    }
    for &operator in graph.order() {
        let offered = waiting[operator];
        let processed = offered.min(moved[operator].allowed);
        (moved[operator].offered, moved[operator].processed) = (offered, processed);
        waiting[operator] -= processed;
        for &edge in graph.outputs(operator) {
            traffic[edge] = processed * selectivities[edge];
            waiting[graph.edges()[edge].to] += traffic[edge];
        }
    }
    moved
}

/// Records that fit into the input buffers of an operator.
///
/// Each channel has buffers of its own, and the channels of an input share some more.
pub(super) fn room(
    graph: &JobGraph,
    parallelism: &[u32],
    segment_bytes: &[u32],
    profiles: &[OperatorProfile],
    model: &Model,
    operator: usize,
) -> f64 {
    let records = |edge: usize| {
        let from = graph.edges()[edge].from;
        // Of a broadcast record each subtask has a copy in its own buffers.
        let (channels, gates) = match graph.edges()[edge].partitioning {
            Partitioning::Forward => (1, parallelism[operator]),
            Partitioning::Hash | Partitioning::Rebalance => (parallelism[from], parallelism[operator]),
            Partitioning::Broadcast => (parallelism[from], 1),
        };
        let exclusive = model.buffers.exclusive_per_channel.saturating_mul(channels);
        let each = exclusive.saturating_add(model.buffers.floating_per_gate);
        f64::from(each) * f64::from(gates) * f64::from(segment_bytes[from]) / profiles[from].record_bytes
    };
    graph.inputs(operator).iter().map(|&edge| records(edge)).sum()
}
