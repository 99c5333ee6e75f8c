use serde::{Deserialize, Serialize};

use crate::error::{non_negative, same_length};
use crate::{CoreError, JobGraph};

/// The records per second that flow through a job in steady state, with nothing held back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// What each operator has to process. For a source, what arrives from outside.
    pub operators: Vec<f64>,
    /// What each edge carries. On a broadcast edge every subtask downstream receives all of it.
    pub edges: Vec<f64>,
}

/// Carries the rates of the sources through the job.
///
/// The rate of edge `u → v` is the rate of `u` times the edge's selectivity (records sent over this edge for each
/// record that `u` processes; the papers' *aspect ratio*), and the rate of an operator is the sum over its input
/// edges. Selectivity belongs to the edge, not to the operator, so side outputs and several consumers are exact.
///
/// `source_rates` has the order of [`JobGraph::sources`], `selectivities` that of [`JobGraph::edges`].
///
/// # Errors
/// [`CoreError::WrongLength`] if a list does not fit the graph, [`CoreError::InvalidNumber`] if a rate or selectivity
/// is negative, NaN or infinite, or if their product overflows.
///
/// # Examples
///
/// ```
/// use streamline_core::{propagate, Edge, JobGraph, Operator, OperatorKind, Partitioning};
///
/// let graph = JobGraph::new(
///     vec![
///         Operator::new("s", "clicks", OperatorKind::Source),
///         Operator::new("f", "valid ones", OperatorKind::Filter),
///         Operator::new("k", "write", OperatorKind::Sink),
///     ],
///     vec![
///         Edge { from: 0, to: 1, partitioning: Partitioning::Forward },
///         Edge { from: 1, to: 2, partitioning: Partitioning::Rebalance },
///     ],
/// )?;
/// let flow = propagate(&graph, &[1000.0], &[1.0, 0.25])?;
/// assert_eq!(flow.operators, [1000.0, 1000.0, 250.0]);
/// # Ok::<(), streamline_core::CoreError>(())
/// ```
pub fn propagate(graph: &JobGraph, source_rates: &[f64], selectivities: &[f64]) -> Result<Flow, CoreError> {
    same_length("source rates", graph.sources().count(), source_rates.len())?;
    same_length("selectivities", graph.edges().len(), selectivities.len())?;

    let mut operators = vec![0.0; graph.operators().len()];
    for (index, (source, &rate)) in graph.sources().zip(source_rates).enumerate() {
        operators[source] = non_negative(rate, || format!("source rate {index}"))?;
    }
    let mut edges = vec![0.0; selectivities.len()];
    for &operator in graph.order() {
        for &edge in graph.outputs(operator) {
            let selectivity = non_negative(selectivities[edge], || format!("selectivity of edge {edge}"))?;
            let rate = non_negative(operators[operator] * selectivity, || {
                format!("rate of edge {edge}")
            })?;
            edges[edge] = rate;
            operators[graph.edges()[edge].to] += rate;
        }
    }
    for (operator, &rate) in graph.operators().iter().zip(&operators) {
        non_negative(rate, || format!("rate of operator `{}`", operator.id))?;
    }
    Ok(Flow { operators, edges })
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use proptest::prelude::*;

    use super::*;
    use crate::{Edge, Operator, OperatorKind, Partitioning};

    /// A random graph whose edges lead from smaller to larger indices, with a selectivity each.
    fn job() -> impl Strategy<Value = (JobGraph, Vec<f64>)> {
        (2usize..9)
            .prop_flat_map(|n| {
                (
                    Just(n),
                    proptest::collection::vec((0..n, 0..n, 0.0..3.0f64), 1..20),
                )
            })
            .prop_map(|(n, triples)| {
                let ends: Vec<(usize, usize, f64)> = triples
                    .into_iter()
                    .filter(|(a, b, _)| a != b)
                    .map(|(a, b, s)| (a.min(b), a.max(b), s))
                    .collect();
                let graph = graph_of(n, ends.iter().map(|&(a, b, _)| (a, b)));
                (graph, ends.iter().map(|&(_, _, s)| s).collect())
            })
    }

    fn graph_of(n: usize, ends: impl Iterator<Item = (usize, usize)>) -> JobGraph {
        let edges: Vec<Edge> = ends
            .map(|(from, to)| Edge {
                from,
                to,
                partitioning: Partitioning::Rebalance,
            })
            .collect();
        let operators = (0..n)
            .map(|o| {
                let fed = edges.iter().any(|edge| edge.to == o);
                let kind = if fed {
                    OperatorKind::Map
                } else {
                    OperatorKind::Source
                };
                Operator::new(o.to_string(), "", kind)
            })
            .collect();
        JobGraph::new(operators, edges).unwrap()
    }

    fn rates(graph: &JobGraph, seed: f64) -> Vec<f64> {
        graph.sources().map(|source| seed * (source + 1) as f64).collect()
    }

    proptest! {
        #[test]
        fn propagation_is_linear_in_the_source_rates((graph, selectivities) in job(), a in 0.0..1e6, b in 0.0..1e6) {
            let (x, y) = (rates(&graph, a), rates(&graph, b));
            let sum: Vec<f64> = x.iter().zip(&y).map(|(x, y)| 2.0 * x + y).collect();
            let of = |rates: &[f64]| propagate(&graph, rates, &selectivities).unwrap().operators;
            let (of_x, of_y, of_sum) = (of(&x), of(&y), of(&sum));
            for o in 0..graph.operators().len() {
                assert_relative_eq!(of_sum[o], 2.0 * of_x[o] + of_y[o], max_relative = 1e-9);
            }
        }

        #[test]
        fn every_operator_gets_what_its_input_edges_carry((graph, selectivities) in job(), a in 0.0..1e6) {
            let flow = propagate(&graph, &rates(&graph, a), &selectivities).unwrap();
            for o in 0..graph.operators().len() {
                let carried: f64 = graph.inputs(o).iter().map(|&edge| flow.edges[edge]).sum();
                if !graph.inputs(o).is_empty() {
                    assert_relative_eq!(flow.operators[o], carried, max_relative = 1e-9);
                }
                for &edge in graph.outputs(o) {
                    assert_relative_eq!(flow.edges[edge], flow.operators[o] * selectivities[edge]);
                }
            }
        }

        #[test]
        fn with_selectivity_one_and_no_branching_every_record_reaches_the_sink(n in 2usize..20, rate in 0.0..1e9) {
            let graph = graph_of(n, (1..n).map(|o| (o - 1, o)));
            let flow = propagate(&graph, &[rate], &vec![1.0; n - 1]).unwrap();
            prop_assert!(flow.operators.iter().all(|&r| r.to_bits() == rate.to_bits()));
        }

        #[test]
        fn the_order_of_operators_and_edges_does_not_matter((graph, selectivities) in job(), a in 0.0..1e6) {
            let n = graph.operators().len();
            let mirrored: Vec<Edge> = graph
                .edges()
                .iter()
                .rev()
                .map(|e| Edge { from: n - 1 - e.from, to: n - 1 - e.to, ..*e })
                .collect();
            let operators = graph.operators().iter().rev().cloned().collect();
            let turned = JobGraph::new(operators, mirrored).unwrap();
            let given = rates(&graph, a);
            let turned_rates: Vec<f64> = given.iter().rev().copied().collect();
            let turned_selectivities: Vec<f64> = selectivities.iter().rev().copied().collect();
            let flow = propagate(&graph, &given, &selectivities).unwrap();
            let other = propagate(&turned, &turned_rates, &turned_selectivities).unwrap();
            for o in 0..n {
                assert_relative_eq!(flow.operators[o], other.operators[n - 1 - o], max_relative = 1e-9);
            }
        }
    }

    #[test]
    fn a_bad_number_is_refused_with_its_place() {
        let graph = graph_of(2, [(0, 1)].into_iter());
        for bad in [f64::NAN, f64::INFINITY, -1.0] {
            let error = propagate(&graph, &[bad], &[1.0]).unwrap_err();
            assert!(error.to_string().starts_with("source rate 0 is"), "{error}");
            let error = propagate(&graph, &[1.0], &[bad]).unwrap_err();
            assert!(
                error.to_string().starts_with("selectivity of edge 0 is"),
                "{error}"
            );
        }
        assert!(propagate(&graph, &[f64::MAX], &[2.0]).is_err());
        assert!(matches!(
            propagate(&graph, &[], &[1.0]),
            Err(CoreError::WrongLength { given: 0, .. })
        ));
    }
}
