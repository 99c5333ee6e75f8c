//! Latency: from latency markers where the cluster sends them, else from what waits in queues and buffers.

use streamline_core::{Edge, JobConfig, JobGraph, Partitioning};

use super::counters::Passed;
use crate::buffer::fill_ms;

/// The metrics to ask for at a vertex without outputs: the mean latency of the markers that reached it.
pub(super) fn is_marker(metric_name: &str) -> bool {
    metric_name.contains("latency.source_id.") && metric_name.ends_with(".latency_mean")
}

/// The subtask that reports a series of markers, from the series' name.
pub(super) fn marker_subtask(metric_name: &str) -> Option<&str> {
    metric_name
        .strip_suffix(".latency_mean")?
        .rsplit_once("operator_subtask_index.")
        .map(|(_, subtask)| subtask)
}

/// Milliseconds that a record spends in the input queues of an operator and in the operator itself.
///
/// In the queues it is Little's law (1961): bytes that wait over bytes per second. In the operator it is the busy time
/// of all subtasks together over the records that they read in it.
pub(super) fn residence_ms(
    passed: &Passed,
    queued_bytes: Option<f64>,
    is_source: bool,
    emitted: Option<f64>,
) -> Option<f64> {
    let subtasks = passed.by_subtask.len() as f64;
    let rate = if is_source { emitted } else { passed.read }.filter(|&rate| rate > 0.0)?;
    let served = passed.busy? * subtasks / rate * 1e3;
    let waited = match (is_source, queued_bytes, passed.bytes_read) {
        (true, ..) => 0.0,
        (_, Some(queued), Some(read)) if read > 0.0 => queued / read * 1e3,
        _ => return None,
    };
    Some(waited + served)
}

/// Milliseconds that a record waits behind an operator until its buffer is sent, full or timed out: half of that time on the
/// mean. Of several edges the longest.
pub(super) fn buffered_ms(graph: &JobGraph, config: &JobConfig, passed: &[Passed], operator: usize) -> f64 {
    let width = |end: usize| f64::from(config.operators[end].parallelism);
    let wait = |&edge: &usize| {
        let Edge {
            from,
            to,
            partitioning,
        } = graph.edges()[edge];
        let channels = match partitioning {
            Partitioning::Forward => width(from),
            _ => width(from) * width(to),
        };
        let bytes = passed[to].bytes_read.unwrap_or(0.0);
        let segment = config.operators[from].segment_bytes;
        fill_ms(segment, config.buffer_timeout_ms, bytes, channels) / 2.0
    };
    graph.outputs(operator).iter().map(wait).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use streamline_core::{Operator, OperatorConfig, OperatorKind};

    use super::*;

    #[test]
    fn only_the_mean_latency_of_markers_is_taken() {
        let series = "latency.source_id.ab.operator_id.cd.operator_subtask_index.3";
        assert!(is_marker(&format!("{series}.latency_mean")));
        assert_eq!(marker_subtask(&format!("{series}.latency_mean")), Some("3"));
        assert!(!is_marker(&format!("{series}.latency_p99")));
        assert!(!is_marker("mailboxLatencyMs_mean"));
    }

    #[test]
    fn what_waits_and_what_is_served_add_up() {
        let passed = Passed {
            read: Some(1000.0),
            bytes_read: Some(100_000.0),
            busy: Some(0.5),
            by_subtask: vec![(None, None); 4],
            ..Passed::default()
        };
        // 50 kB at 100 kB/s wait 500 ms; two busy subtasks for 1,000 records/s are 2 ms a record.
        let ms = residence_ms(&passed, Some(50_000.0), false, None).unwrap();
        assert_relative_eq!(ms, 502.0, epsilon = 1e-9);
        assert_eq!(residence_ms(&passed, None, false, None), None);
    }

    #[test]
    fn a_record_waits_behind_an_operator_for_half_of_what_a_buffer_takes_to_fill_or_to_time_out() {
        let graph = JobGraph::new(
            vec![
                Operator::new("s", "", OperatorKind::Source),
                Operator::new("k", "", OperatorKind::Sink),
            ],
            vec![Edge {
                from: 0,
                to: 1,
                partitioning: Partitioning::Rebalance,
            }],
        )
        .unwrap();
        let config = JobConfig::uniform(
            2,
            OperatorConfig {
                parallelism: 2,
                segment_bytes: 32 << 10,
            },
        );
        let mut passed = vec![Passed::default(), Passed::default()];
        assert_relative_eq!(buffered_ms(&graph, &config, &passed, 0), 50.0);
        // Four channels of 32 KiB at 4 MiB/s.
        passed[1].bytes_read = Some(f64::from(4 << 20));
        assert_relative_eq!(buffered_ms(&graph, &config, &passed, 0), 15.625);
        assert_relative_eq!(buffered_ms(&graph, &config, &passed, 1), 0.0);
    }
}
