//! How many records pass over each edge, from what the operators at its ends count.

use streamline_core::{JobGraph, Partitioning};

use super::counters::Passed;

/// Records per second over each edge; a broadcast record counts once.
///
/// An operator counts what it reads over all its inputs and what it writes to all its outputs. Its only output is what it
/// wrote; an input is what it read less the other inputs, once those are known. What cannot be told apart so stays unknown.
/// `parallelism` is that of each operator.
pub(super) fn flows(graph: &JobGraph, passed: &[Passed], parallelism: &[u32]) -> Vec<Option<f64>> {
    let edges = graph.edges();
    let mut flows: Vec<Option<f64>> = edges
        .iter()
        .map(|edge| match graph.outputs(edge.from) {
            // What an operator writes is counted once for each subtask that a broadcast reaches.
            [_] => passed[edge.from]
                .written
                .map(|written| written / copies(edge.partitioning, parallelism[edge.to])),
            _ => None,
        })
        .collect();
    loop {
        let mut learnt = false;
        for (operator, passed) in passed.iter().enumerate() {
            let inputs = graph.inputs(operator);
            let mut unknown = inputs.iter().filter(|&&edge| flows[edge].is_none());
            let (Some(&missing), None, Some(read)) = (unknown.next(), unknown.next(), passed.read) else {
                continue;
            };
            let weight = |edge: usize| copies(edges[edge].partitioning, parallelism[operator]);
            let others: f64 = inputs
                .iter()
                .filter_map(|&edge| flows[edge].map(|flow| flow * weight(edge)))
                .sum();
            flows[missing] = Some(((read - others) / weight(missing)).max(0.0));
            learnt = true;
        }
        if !learnt {
            return flows;
        }
    }
}

fn copies(partitioning: Partitioning, downstream: u32) -> f64 {
    if partitioning == Partitioning::Broadcast {
        f64::from(downstream.max(1))
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use streamline_core::{Edge, Operator, OperatorKind};

    use super::*;

    fn graph(operators: usize, edges: &[(usize, usize, Partitioning)]) -> JobGraph {
        let kind = |operator| {
            if edges.iter().any(|edge| edge.1 == operator) {
                OperatorKind::Other
            } else {
                OperatorKind::Source
            }
        };
        JobGraph::new(
            (0..operators)
                .map(|operator| Operator::new(operator.to_string(), "", kind(operator)))
                .collect(),
            edges
                .iter()
                .map(|&(from, to, partitioning)| Edge {
                    from,
                    to,
                    partitioning,
                })
                .collect(),
        )
        .expect("sound")
    }

    fn counted(read: f64, written: f64) -> Passed {
        Passed {
            read: Some(read),
            written: Some(written),
            ..Passed::default()
        }
    }

    #[test]
    fn both_outputs_of_a_fork_are_told_apart_by_who_reads_them() {
        use Partitioning::{Hash, Rebalance};
        // 0 → 1, 0 → 2, 1 → 3, 2 → 3
        let graph = graph(4, &[(0, 1, Hash), (0, 2, Rebalance), (1, 3, Hash), (2, 3, Hash)]);
        let passed = [
            counted(0.0, 150.0),
            counted(100.0, 10.0),
            counted(50.0, 25.0),
            counted(35.0, 0.0),
        ];
        let flows = flows(&graph, &passed, &[1; 4]);
        assert_eq!(flows, [Some(100.0), Some(50.0), Some(10.0), Some(25.0)]);
    }

    #[test]
    fn an_input_beside_a_fork_is_what_the_others_leave() {
        use Partitioning::Rebalance;
        // 0 forks to 2 and 3; 1 feeds 3 as well.
        let graph = graph(4, &[(0, 2, Rebalance), (0, 3, Rebalance), (1, 3, Rebalance)]);
        let passed = [
            counted(0.0, 300.0),
            counted(0.0, 40.0),
            counted(200.0, 0.0),
            counted(140.0, 0.0),
        ];
        assert_eq!(
            flows(&graph, &passed, &[1; 4]),
            [Some(200.0), Some(100.0), Some(40.0)]
        );
    }

    #[test]
    fn a_broadcast_record_counts_once_however_many_read_it() {
        let graph = graph(2, &[(0, 1, Partitioning::Broadcast)]);
        let passed = [counted(0.0, 400.0), counted(400.0, 0.0)];
        assert_eq!(flows(&graph, &passed, &[1, 4]), [Some(100.0)]);
    }

    #[test]
    fn what_cannot_be_told_apart_stays_unknown() {
        use Partitioning::Hash;
        let graph = graph(4, &[(0, 2, Hash), (0, 3, Hash), (1, 2, Hash), (1, 3, Hash)]);
        let passed = [
            counted(0.0, 4.0),
            counted(0.0, 4.0),
            counted(4.0, 0.0),
            counted(4.0, 0.0),
        ];
        assert_eq!(flows(&graph, &passed, &[1; 4]), [None; 4]);
    }
}
