//! The job graph, from the plan and the vertices.

use streamline_core::{Edge, JobGraph, Operator, OperatorKind, Partitioning};

use super::answers::{JobDetails, Node, Vertex};
use crate::FlinkError;

/// The graph of a job. Operators have the order of the vertices, edges that of the plan.
///
/// Partitions are not in the plan: they are given by operator, where a source reports them.
pub(super) fn graph(details: &JobDetails, partitions: &[Option<u32>]) -> Result<JobGraph, FlinkError> {
    let index = |id: &str| details.vertices.iter().position(|vertex| vertex.id == id);
    let mut edges = Vec::new();
    let mut joined = vec![0usize; details.vertices.len()];
    let mut leaving = vec![0usize; details.vertices.len()];
    for node in &details.plan.nodes {
        let Some(to) = index(&node.id) else { continue };
        for input in &node.inputs {
            let Some(from) = index(&input.id) else { continue };
            joined[to] += 1;
            leaving[from] += 1;
            edges.push(Edge {
                from,
                to,
                partitioning: partitioning(&input.ship_strategy),
            });
        }
    }
    let operators = details.vertices.iter().enumerate().map(|(operator, vertex)| {
        let node = details.plan.nodes.iter().find(|node| node.id == vertex.id);
        let kind = kind(vertex, node, joined[operator], leaving[operator]);
        let key_groups = key_groups(vertex);
        let mut described = Operator::new(&vertex.id, name(vertex, node), kind)
            .with_max_parallelism(key_groups)
            .with_bounds(1, key_groups);
        if let Some(group) = &vertex.slot_sharing_group {
            described = described.with_slot_sharing_group(group);
        }
        described.partitions = partitions.get(operator).copied().flatten();
        described
    });
    Ok(JobGraph::new(operators.collect(), edges)?)
}

fn partitioning(ship_strategy: &str) -> Partitioning {
    match ship_strategy {
        "FORWARD" => Partitioning::Forward,
        "HASH" => Partitioning::Hash,
        "BROADCAST" => Partitioning::Broadcast,
        // RESCALE, SHUFFLE, GLOBAL and a partitioner of the user's have no closer counterpart.
        _ => Partitioning::Rebalance,
    }
}

/// Flink says -1 for a max parallelism that is not set.
fn key_groups(vertex: &Vertex) -> u32 {
    let parallelism = u32::try_from(vertex.parallelism).unwrap_or(1).max(1);
    u32::try_from(vertex.max_parallelism)
        .ok()
        .filter(|&groups| groups > 0)
        .unwrap_or(Operator::DEFAULT_MAX_PARALLELISM)
        .max(parallelism)
}

/// The names of the chained operators, joined by arrows.
fn name(vertex: &Vertex, node: Option<&Node>) -> String {
    if !vertex.name.is_empty() {
        return vertex.name.clone();
    }
    node.map_or_else(String::new, |node| {
        node.description.replace("<br/>", " ").trim().to_owned()
    })
}

/// What an operator does, as far as its place and its name tell.
fn kind(vertex: &Vertex, node: Option<&Node>, inputs: usize, outputs: usize) -> OperatorKind {
    if inputs == 0 {
        return OperatorKind::Source;
    }
    let name = format!("{} {}", vertex.name, node.map_or("", |node| &node.description)).to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if outputs == 0 {
        OperatorKind::Sink
    } else if inputs > 1 || says(&["join"]) {
        OperatorKind::Join
    } else if says(&["window"]) {
        OperatorKind::Window
    } else if says(&["aggregat", "reduce", "process", "count", "sum"]) {
        OperatorKind::Aggregate
    } else if says(&["flat map", "flatmap", "split"]) {
        OperatorKind::FlatMap
    } else if says(&["filter"]) {
        OperatorKind::Filter
    } else if says(&["map"]) {
        OperatorKind::Map
    } else {
        OperatorKind::Other
    }
}

/// How many partitions a source reads, from the names of its metrics: connectors of Kafka's kind report one
/// `topic.T.partition.P.currentOffset` per partition.
pub(super) fn partitions<'a>(metric_names: impl Iterator<Item = &'a str>) -> Option<u32> {
    let found: std::collections::BTreeSet<&str> = metric_names
        .filter_map(|name| {
            let partition = name.strip_suffix(".currentOffset")?;
            let topic = partition.find("topic.")?;
            partition.contains(".partition.").then(|| &partition[topic..])
        })
        .collect();
    u32::try_from(found.len()).ok().filter(|&count| count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_counted_once_whichever_subtask_reports_them() {
        let names = [
            "0.Source__in.KafkaSourceReader.topic.a.partition.0.currentOffset",
            "0.Source__in.KafkaSourceReader.topic.a.partition.0.committedOffset",
            "1.Source__in.KafkaSourceReader.topic.a.partition.0.currentOffset",
            "1.Source__in.KafkaSourceReader.topic.a.partition.1.currentOffset",
            "1.Source__in.numRecordsOut",
        ];
        assert_eq!(partitions(names.into_iter()), Some(2));
        assert_eq!(partitions(["0.numRecordsIn"].into_iter()), None);
    }
}
