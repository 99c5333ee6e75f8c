use serde::{Deserialize, Serialize};

use crate::error::same_length;
use crate::{CoreError, JobGraph, Partitioning};

/// What can be set of one operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OperatorConfig {
    /// The number of subtasks.
    pub parallelism: u32,
    /// The size of a network buffer (memory segment) in bytes.
    pub segment_bytes: u32,
}

/// What can be set of one job.
///
/// # Examples
///
/// ```
/// use streamline_core::{JobConfig, OperatorConfig};
///
/// let config = JobConfig::uniform(3, OperatorConfig { parallelism: 4, segment_bytes: 32 << 10 });
/// assert_eq!(config.subtasks(), 12);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct JobConfig {
    /// One entry per operator of the graph.
    pub operators: Vec<OperatorConfig>,
    /// How long a buffer may wait to fill before it is sent, in milliseconds.
    pub buffer_timeout_ms: u32,
}

/// Exclusive buffers of a channel (Flink's `taskmanager.network.memory.buffers-per-channel`).
const BUFFERS_PER_CHANNEL: u64 = 2;
/// Floating buffers of a gate (Flink's `taskmanager.network.memory.floating-buffers-per-gate`).
const FLOATING_BUFFERS_PER_GATE: u64 = 8;

impl JobConfig {
    /// Flink's default buffer timeout.
    pub const DEFAULT_BUFFER_TIMEOUT_MS: u32 = 100;

    /// The same settings for each of `operators` operators, with Flink's default buffer timeout.
    #[must_use]
    pub fn uniform(operators: usize, config: OperatorConfig) -> Self {
        Self {
            operators: vec![config; operators],
            buffer_timeout_ms: Self::DEFAULT_BUFFER_TIMEOUT_MS,
        }
    }

    /// The parallelism of each operator.
    #[must_use]
    pub fn parallelism(&self) -> Vec<u32> {
        self.operators
            .iter()
            .map(|operator| operator.parallelism)
            .collect()
    }

    /// The number of subtasks of all operators.
    #[must_use]
    pub fn subtasks(&self) -> u64 {
        self.operators
            .iter()
            .map(|operator| u64::from(operator.parallelism))
            .sum()
    }

    /// Checks that the configuration fits the graph.
    ///
    /// # Errors
    /// [`CoreError::WrongLength`], [`CoreError::ParallelismOutOfBounds`], [`CoreError::ForwardMismatch`], or
    /// [`CoreError::InvalidNumber`] for a segment size of 0.
    pub fn check(&self, graph: &JobGraph) -> Result<(), CoreError> {
        same_length(
            "operator configurations",
            graph.operators().len(),
            self.operators.len(),
        )?;
        for (operator, config) in graph.operators().iter().zip(&self.operators) {
            let bounds = operator.bounds()?;
            if !bounds.contains(&config.parallelism) {
                return Err(CoreError::ParallelismOutOfBounds {
                    operator: operator.id.clone(),
                    parallelism: config.parallelism,
                    lower: *bounds.start(),
                    upper: *bounds.end(),
                });
            }
            if config.segment_bytes == 0 {
                return Err(CoreError::InvalidNumber {
                    what: format!("segment size of operator `{}`", operator.id),
                    value: 0.0,
                    expected: "at least 1 byte",
                });
            }
        }
        for (index, edge) in graph.edges().iter().enumerate() {
            let [from, to] = [edge.from, edge.to].map(|operator| self.operators[operator].parallelism);
            if edge.partitioning == Partitioning::Forward && from != to {
                return Err(CoreError::ForwardMismatch {
                    edge: index,
                    from,
                    to,
                });
            }
        }
        Ok(())
    }

    /// The task slots that the job takes: for each slot-sharing group, its widest operator's parallelism.
    ///
    /// # Errors
    /// [`CoreError::WrongLength`] if there is not one entry per operator.
    pub fn slots(&self, graph: &JobGraph) -> Result<u64, CoreError> {
        same_length(
            "operator configurations",
            graph.operators().len(),
            self.operators.len(),
        )?;
        let mut widest = std::collections::BTreeMap::<&str, u32>::new();
        for (operator, config) in graph.operators().iter().zip(&self.operators) {
            let width = widest.entry(&operator.slot_sharing_group).or_default();
            *width = config.parallelism.max(*width);
        }
        Ok(widest.values().map(|&width| u64::from(width)).sum())
    }

    /// The network memory, in bytes, that the job's buffers want.
    ///
    /// Each subtask wants, for each of its input gates and result partitions, `2 · channels + 8` segments; a forward
    /// edge has one channel a subtask, any other as many as the other side has subtasks. A segment has the size that
    /// the producing operator is configured with. Saturates instead of overflowing.
    ///
    /// # Errors
    /// [`CoreError::WrongLength`] if there is not one entry per operator.
    pub fn network_bytes(&self, graph: &JobGraph) -> Result<u64, CoreError> {
        same_length(
            "operator configurations",
            graph.operators().len(),
            self.operators.len(),
        )?;
        let gate = |channels: u64| BUFFERS_PER_CHANNEL * channels + FLOATING_BUFFERS_PER_GATE;
        let mut bytes = 0u64;
        for edge in graph.edges() {
            let from = u64::from(self.operators[edge.from].parallelism);
            let to = u64::from(self.operators[edge.to].parallelism);
            let (channels_in, channels_out) = match edge.partitioning {
                Partitioning::Forward => (1, 1),
                Partitioning::Hash | Partitioning::Rebalance | Partitioning::Broadcast => (from, to),
            };
            let segments = to
                .saturating_mul(gate(channels_in))
                .saturating_add(from.saturating_mul(gate(channels_out)));
            let segment = u64::from(self.operators[edge.from].segment_bytes);
            bytes = bytes.saturating_add(segments.saturating_mul(segment));
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Edge, Operator, OperatorKind};

    fn graph(partitioning: Partitioning) -> JobGraph {
        JobGraph::new(
            vec![
                Operator::new("s", "s", OperatorKind::Source).with_bounds(1, 8),
                Operator::new("k", "k", OperatorKind::Sink)
                    .with_bounds(1, 8)
                    .with_slot_sharing_group("sinks"),
            ],
            vec![Edge {
                from: 0,
                to: 1,
                partitioning,
            }],
        )
        .unwrap()
    }

    fn config(parallelism: [u32; 2]) -> JobConfig {
        let mut config = JobConfig::uniform(
            2,
            OperatorConfig {
                parallelism: 1,
                segment_bytes: 1000,
            },
        );
        config.operators[0].parallelism = parallelism[0];
        config.operators[1].parallelism = parallelism[1];
        config
    }

    #[test]
    fn a_configuration_outside_the_bounds_is_refused() {
        let graph = graph(Partitioning::Hash);
        assert_eq!(config([1, 8]).check(&graph), Ok(()));
        assert!(matches!(
            config([1, 9]).check(&graph),
            Err(CoreError::ParallelismOutOfBounds { .. })
        ));
        assert!(matches!(
            config([0, 1]).check(&graph),
            Err(CoreError::ParallelismOutOfBounds { .. })
        ));
        assert!(matches!(
            JobConfig::uniform(1, config([1, 1]).operators[0]).check(&graph),
            Err(CoreError::WrongLength { .. })
        ));
    }

    #[test]
    fn forward_edges_keep_both_sides_equal() {
        let graph = graph(Partitioning::Forward);
        assert_eq!(config([3, 3]).check(&graph), Ok(()));
        assert_eq!(
            config([3, 4]).check(&graph),
            Err(CoreError::ForwardMismatch {
                edge: 0,
                from: 3,
                to: 4
            })
        );
    }

    #[test]
    fn each_slot_sharing_group_takes_the_slots_of_its_widest_operator() {
        assert_eq!(config([3, 4]).slots(&graph(Partitioning::Hash)), Ok(7));
    }

    #[test]
    fn network_memory_grows_with_channels_on_both_sides() {
        // 3 × (2·2 + 8) segments on the receiving side and 2 × (2·3 + 8) on the sending one.
        assert_eq!(
            config([2, 3]).network_bytes(&graph(Partitioning::Hash)),
            Ok((36 + 28) * 1000)
        );
        assert_eq!(
            config([3, 3]).network_bytes(&graph(Partitioning::Forward)),
            Ok(6 * 10 * 1000)
        );
    }
}
