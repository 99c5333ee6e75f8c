use serde::{Deserialize, Serialize};

use crate::error::same_length;
use crate::{CoreError, Operator, OperatorKind};

/// How the records of an edge are dealt out to the subtasks downstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Partitioning {
    /// Subtask `i` feeds subtask `i`; both sides have the same parallelism.
    Forward,
    /// By key: a record goes to the subtask that owns its key group.
    Hash,
    /// In turn to every subtask.
    Rebalance,
    /// Every record to every subtask.
    Broadcast,
}

/// A stream of records from one operator to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Edge {
    /// Index of the upstream operator.
    pub from: usize,
    /// Index of the downstream operator.
    pub to: usize,
    /// How records are dealt out.
    pub partitioning: Partitioning,
}

/// A job as Flink runs it: operators and the edges between them, without cycles.
///
/// Operators and edges are known by their index; every per-operator or per-edge list in Streamline has this order.
///
/// Invariant: no cycle, no dangling edge, at least one source, an operator is a source exactly if nothing leads into
/// it, every operator has an admissible parallelism. Two operators may be joined by several edges (a self-join).
///
/// # Examples
///
/// ```
/// use streamline_core::{Edge, JobGraph, Operator, OperatorKind, Partitioning};
///
/// let graph = JobGraph::new(
///     vec![
///         Operator::new("s", "clicks", OperatorKind::Source),
///         Operator::new("w", "count per user", OperatorKind::Window),
///         Operator::new("k", "write", OperatorKind::Sink),
///     ],
///     vec![
///         Edge { from: 0, to: 1, partitioning: Partitioning::Hash },
///         Edge { from: 1, to: 2, partitioning: Partitioning::Rebalance },
///     ],
/// )?;
/// assert_eq!(graph.sources().collect::<Vec<_>>(), [0]);
/// assert_eq!(graph.order(), [0, 1, 2]);
/// # Ok::<(), streamline_core::CoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct JobGraph {
    operators: Vec<Operator>,
    edges: Vec<Edge>,
    order: Vec<usize>,
    inputs: Vec<Vec<usize>>,
    outputs: Vec<Vec<usize>>,
}

/// What a graph is written as.
#[derive(Serialize, Deserialize)]
struct Parts {
    operators: Vec<Operator>,
    edges: Vec<Edge>,
}

impl JobGraph {
    /// Checks the parts and joins them.
    ///
    /// # Errors
    /// [`CoreError::EmptyGraph`], [`CoreError::DuplicateOperator`], [`CoreError::DanglingEdge`],
    /// [`CoreError::SourceMismatch`], [`CoreError::Cycle`] or [`CoreError::EmptyBounds`], whichever is met first.
    pub fn new(operators: Vec<Operator>, edges: Vec<Edge>) -> Result<Self, CoreError> {
        if operators.is_empty() {
            return Err(CoreError::EmptyGraph);
        }
        let mut seen = std::collections::HashMap::with_capacity(operators.len());
        for (index, operator) in operators.iter().enumerate() {
            if let Some(first) = seen.insert(operator.id.as_str(), index) {
                return Err(CoreError::DuplicateOperator {
                    id: operator.id.clone(),
                    first,
                    second: index,
                });
            }
            operator.bounds()?;
        }
        let mut inputs = vec![Vec::new(); operators.len()];
        let mut outputs = vec![Vec::new(); operators.len()];
        for (index, edge) in edges.iter().enumerate() {
            for operator in [edge.from, edge.to] {
                if operator >= operators.len() {
                    return Err(CoreError::DanglingEdge {
                        edge: index,
                        operator,
                        operators: operators.len(),
                    });
                }
            }
            outputs[edge.from].push(index);
            inputs[edge.to].push(index);
        }
        let order = topological_order(&operators, &edges, &inputs, &outputs)?;
        for (operator, inputs) in operators.iter().zip(&inputs) {
            let is_source = operator.kind == OperatorKind::Source;
            if is_source != inputs.is_empty() {
                return Err(CoreError::SourceMismatch {
                    operator: operator.id.clone(),
                    kind: if is_source { "a source" } else { "not a source" },
                    inputs: inputs.len(),
                });
            }
        }
        Ok(Self {
            operators,
            edges,
            order,
            inputs,
            outputs,
        })
    }

    /// The operators; their index is what edges and all per-operator lists refer to.
    #[must_use]
    pub fn operators(&self) -> &[Operator] {
        &self.operators
    }

    /// The edges; their index is what selectivities and all per-edge lists refer to.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Indices of all operators such that each stands behind everything upstream of it.
    ///
    /// Among operators that could come next, the one with the smallest index does, so the order is unique.
    #[must_use]
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Indices of the operators without inputs, ascending. Per-source lists have this order.
    pub fn sources(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.operators.len()).filter(|&index| self.inputs[index].is_empty())
    }

    /// Indices of the operators without outputs, ascending.
    pub fn sinks(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.operators.len()).filter(|&index| self.outputs[index].is_empty())
    }

    /// Indices of the edges into an operator; empty for a source and for an index beyond the graph.
    #[must_use]
    pub fn inputs(&self, operator: usize) -> &[usize] {
        self.inputs.get(operator).map_or(&[], Vec::as_slice)
    }

    /// Indices of the edges out of an operator; empty for a sink and for an index beyond the graph.
    #[must_use]
    pub fn outputs(&self, operator: usize) -> &[usize] {
        self.outputs.get(operator).map_or(&[], Vec::as_slice)
    }

    /// Whether an operator receives records by key, so that its work is dealt out in key groups.
    #[must_use]
    pub fn is_keyed(&self, operator: usize) -> bool {
        self.inputs(operator)
            .iter()
            .any(|&edge| self.edges[edge].partitioning == Partitioning::Hash)
    }

    /// Index of the operator with this id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<usize> {
        self.operators.iter().position(|operator| operator.id == id)
    }

    /// The largest sum of `weights` (one per operator) along any path from a source to a sink.
    ///
    /// With latencies as weights it is the end-to-end latency along the critical path.
    ///
    /// # Errors
    /// [`CoreError::WrongLength`] if there is not one weight per operator.
    pub fn longest_path(&self, weights: &[f64]) -> Result<f64, CoreError> {
        same_length("weights", self.operators.len(), weights.len())?;
        let mut until = vec![0.0f64; weights.len()];
        for &operator in &self.order {
            let before = self.inputs[operator]
                .iter()
                .map(|&edge| until[self.edges[edge].from])
                .fold(0.0, f64::max);
            until[operator] = before + weights[operator];
        }
        Ok(until.into_iter().fold(0.0, f64::max))
    }
}

impl TryFrom<Parts> for JobGraph {
    type Error = CoreError;

    fn try_from(parts: Parts) -> Result<Self, CoreError> {
        Self::new(parts.operators, parts.edges)
    }
}

impl From<JobGraph> for Parts {
    fn from(graph: JobGraph) -> Self {
        Self {
            operators: graph.operators,
            edges: graph.edges,
        }
    }
}

/// Kahn's algorithm with the smallest index first.
fn topological_order(
    operators: &[Operator],
    edges: &[Edge],
    inputs: &[Vec<usize>],
    outputs: &[Vec<usize>],
) -> Result<Vec<usize>, CoreError> {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    let mut waiting: Vec<usize> = inputs.iter().map(Vec::len).collect();
    let mut ready: BinaryHeap<Reverse<usize>> = (0..operators.len())
        .filter(|&o| waiting[o] == 0)
        .map(Reverse)
        .collect();
    let mut order = Vec::with_capacity(operators.len());
    while let Some(Reverse(operator)) = ready.pop() {
        order.push(operator);
        for &edge in &outputs[operator] {
            let to = edges[edge].to;
            waiting[to] -= 1;
            if waiting[to] == 0 {
                ready.push(Reverse(to));
            }
        }
    }
    if order.len() == operators.len() {
        return Ok(order);
    }
    // Every operator that still waits has an input that still waits: walking upstream must come round.
    let mut path: Vec<usize> = Vec::new();
    let mut next = waiting.iter().position(|&count| count > 0);
    while let Some(operator) = next {
        if let Some(start) = path.iter().position(|&seen| seen == operator) {
            path.drain(..start);
            break;
        }
        path.push(operator);
        next = inputs[operator]
            .iter()
            .map(|&edge| edges[edge].from)
            .find(|&from| waiting[from] > 0);
    }
    path.reverse();
    Err(CoreError::Cycle {
        operators: path.into_iter().map(|o| operators[o].id.clone()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    fn operator(id: &str, kind: OperatorKind) -> Operator {
        Operator::new(id, id, kind)
    }

    fn edge(from: usize, to: usize) -> Edge {
        Edge {
            from,
            to,
            partitioning: Partitioning::Rebalance,
        }
    }

    #[test]
    fn a_cycle_is_refused_and_named() {
        let operators = vec![
            operator("s", OperatorKind::Source),
            operator("a", OperatorKind::Map),
            operator("b", OperatorKind::Map),
            operator("k", OperatorKind::Sink),
        ];
        let error =
            JobGraph::new(operators, vec![edge(0, 1), edge(1, 2), edge(2, 1), edge(2, 3)]).unwrap_err();
        assert_eq!(error.to_string(), "the job graph has a cycle through `b` → `a`");
    }

    #[test]
    fn an_operator_that_feeds_itself_is_a_cycle() {
        let operators = vec![
            operator("s", OperatorKind::Source),
            operator("a", OperatorKind::Map),
        ];
        let error = JobGraph::new(operators, vec![edge(0, 1), edge(1, 1)]).unwrap_err();
        assert_eq!(
            error,
            CoreError::Cycle {
                operators: vec!["a".into()]
            }
        );
    }

    #[test]
    fn a_dangling_edge_is_refused() {
        let error = JobGraph::new(vec![operator("s", OperatorKind::Source)], vec![edge(0, 7)]).unwrap_err();
        assert_eq!(
            error,
            CoreError::DanglingEdge {
                edge: 0,
                operator: 7,
                operators: 1
            }
        );
    }

    #[test]
    fn a_graph_needs_operators_with_ids_of_their_own() {
        assert_eq!(JobGraph::new(vec![], vec![]), Err(CoreError::EmptyGraph));
        let twins = vec![
            operator("s", OperatorKind::Source),
            operator("s", OperatorKind::Source),
        ];
        assert!(matches!(
            JobGraph::new(twins, vec![]),
            Err(CoreError::DuplicateOperator { second: 1, .. })
        ));
    }

    #[test]
    fn an_operator_without_input_must_be_a_source_and_a_source_has_none() {
        let orphan = vec![operator("m", OperatorKind::Map)];
        assert!(matches!(
            JobGraph::new(orphan, vec![]),
            Err(CoreError::SourceMismatch { inputs: 0, .. })
        ));
        let fed = vec![
            operator("a", OperatorKind::Source),
            operator("b", OperatorKind::Source),
        ];
        assert!(matches!(
            JobGraph::new(fed, vec![edge(0, 1)]),
            Err(CoreError::SourceMismatch { inputs: 1, .. })
        ));
    }

    #[test]
    fn several_sources_sinks_and_parallel_edges_are_fine() {
        let graph = JobGraph::new(
            vec![
                operator("k1", OperatorKind::Sink),
                operator("a", OperatorKind::Source),
                operator("j", OperatorKind::Join),
                operator("b", OperatorKind::Source),
                operator("k2", OperatorKind::Sink),
            ],
            vec![edge(1, 2), edge(3, 2), edge(3, 2), edge(2, 0), edge(2, 4)],
        )
        .unwrap();
        assert_eq!(graph.sources().collect::<Vec<_>>(), [1, 3]);
        assert_eq!(graph.sinks().collect::<Vec<_>>(), [0, 4]);
        assert_eq!(graph.order(), [1, 3, 2, 0, 4]);
        assert_relative_eq!(graph.longest_path(&[1.0, 5.0, 2.0, 9.0, 0.5]).unwrap(), 12.0);
    }

    #[test]
    fn a_graph_read_from_json_is_checked_like_any_other() {
        let graph = JobGraph::new(
            vec![
                operator("s", OperatorKind::Source),
                operator("k", OperatorKind::Sink),
            ],
            vec![edge(0, 1)],
        )
        .unwrap();
        let json = serde_json::to_string(&graph).unwrap();
        assert_eq!(serde_json::from_str::<JobGraph>(&json).unwrap(), graph);
        let broken = json.replace(r#""to":1"#, r#""to":9"#);
        assert!(
            serde_json::from_str::<JobGraph>(&broken)
                .unwrap_err()
                .to_string()
                .contains("operator 9")
        );
    }
}
