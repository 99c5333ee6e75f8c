//! End-to-end latency: from latency markers where the cluster sends them, else estimated from what waits in the queues.

use streamline_core::{JobConfig, JobGraph, Partitioning};

use super::counters::Passed;

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

/// The latency of the slowest way through the graph: what records spend in each operator, and what a buffer waits at each edge
/// until it is full or times out, half of that on the mean. `None` where an operator's part is unknown.
pub(super) fn estimate_ms(
    graph: &JobGraph,
    config: &JobConfig,
    passed: &[Passed],
    residence: &[Option<f64>],
) -> Option<f64> {
    let mut arrived = vec![0.0f64; graph.operators().len()];
    let mut slowest = 0.0f64;
    for &operator in graph.order() {
        let mut upstream = 0.0f64;
        for &edge in graph.inputs(operator) {
            let from = graph.edges()[edge].from;
            let [senders, receivers] =
                [from, operator].map(|end| f64::from(config.operators[end].parallelism));
            let channels = match graph.edges()[edge].partitioning {
                Partitioning::Forward => senders,
                _ => senders * receivers,
            };
            let timeout = f64::from(config.buffer_timeout_ms);
            let fill = passed[operator]
                .bytes_read
                .filter(|&bytes| bytes > 0.0)
                .map_or(timeout, |bytes| {
                    f64::from(config.operators[from].segment_bytes) * channels / bytes * 1e3
                });
            upstream = upstream.max(arrived[from] + timeout.min(fill) / 2.0);
        }
        arrived[operator] = upstream + residence[operator]?;
        slowest = slowest.max(arrived[operator]);
    }
    Some(slowest)
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use streamline_core::{Edge, Operator, OperatorConfig, OperatorKind};

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
    fn the_slowest_way_counts_and_an_unknown_part_makes_it_unknown() {
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
                parallelism: 1,
                segment_bytes: 32 << 10,
            },
        );
        let passed = vec![Passed::default(), Passed::default()];
        let ms = estimate_ms(&graph, &config, &passed, &[Some(1.0), Some(2.0)]);
        assert_eq!(ms, Some(1.0 + 50.0 + 2.0));
        assert_eq!(estimate_ms(&graph, &config, &passed, &[Some(1.0), None]), None);
    }
}
