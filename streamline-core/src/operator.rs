use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::CoreError;

/// What an operator does, as far as its performance depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OperatorKind {
    /// Reads records from outside.
    Source,
    /// One record out for each record in.
    Map,
    /// Passes some of its records on.
    Filter,
    /// Any number of records out for each record in.
    FlatMap,
    /// Keeps state by key without windows.
    Aggregate,
    /// Collects records into windows.
    Window,
    /// Joins two or more inputs.
    Join,
    /// Writes records to the outside.
    Sink,
    /// Something else, or unknown.
    Other,
}

impl OperatorKind {
    /// Every kind, in a fixed order (the order of one-hot features).
    pub const ALL: [Self; 9] = [
        Self::Source,
        Self::Map,
        Self::Filter,
        Self::FlatMap,
        Self::Aggregate,
        Self::Window,
        Self::Join,
        Self::Sink,
        Self::Other,
    ];
}

/// One vertex of a Flink `JobGraph`: an operator, or a chain of them, that has a parallelism of its own.
///
/// # Examples
///
/// ```
/// use streamline_core::{Operator, OperatorKind};
///
/// let window = Operator::new("9f3a", "count per user", OperatorKind::Window).with_bounds(2, 40);
/// assert_eq!(window.bounds()?, 2..=40);
///
/// let source = Operator::new("01c2", "clicks", OperatorKind::Source).with_bounds(1, 100).with_partitions(15);
/// assert_eq!(source.bounds()?, 1..=15); // a source never gets more subtasks than partitions
/// # Ok::<(), streamline_core::CoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Operator {
    /// Flink's vertex id (32 hex digits on a real cluster), unique within the graph.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// What it does.
    pub kind: OperatorKind,
    /// The smallest parallelism that the user allows.
    pub lower: u32,
    /// The largest parallelism that the user allows.
    pub upper: u32,
    /// Flink's *max parallelism*: the number of key groups.
    pub max_parallelism: u32,
    /// The number of partitions that a source reads, if known.
    pub partitions: Option<u32>,
    /// The slot-sharing group. Subtasks of one group and of different operators share a task slot.
    pub slot_sharing_group: String,
}

impl Operator {
    /// Flink's default number of key groups for a parallelism of up to 85.
    pub const DEFAULT_MAX_PARALLELISM: u32 = 128;

    /// Describes an operator with parallelism 1 to [`Self::DEFAULT_MAX_PARALLELISM`] in the default slot-sharing group.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, kind: OperatorKind) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            kind,
            lower: 1,
            upper: Self::DEFAULT_MAX_PARALLELISM,
            max_parallelism: Self::DEFAULT_MAX_PARALLELISM,
            partitions: None,
            slot_sharing_group: "default".into(),
        }
    }

    /// Sets the smallest and the largest parallelism that the user allows.
    #[must_use]
    pub fn with_bounds(mut self, lower: u32, upper: u32) -> Self {
        self.lower = lower;
        self.upper = upper;
        self
    }

    /// Sets the number of key groups (Flink's *max parallelism*).
    #[must_use]
    pub fn with_max_parallelism(mut self, key_groups: u32) -> Self {
        self.max_parallelism = key_groups;
        self
    }

    /// Sets the number of partitions that a source reads.
    #[must_use]
    pub fn with_partitions(mut self, partitions: u32) -> Self {
        self.partitions = Some(partitions);
        self
    }

    /// Puts the operator into a slot-sharing group.
    #[must_use]
    pub fn with_slot_sharing_group(mut self, group: impl Into<String>) -> Self {
        self.slot_sharing_group = group.into();
        self
    }

    /// The parallelism that can be chosen: the user's bounds, cut to the key groups and the partitions.
    ///
    /// A user's lower bound above the partitions gives way to the partitions, for more subtasks than partitions
    /// would only idle.
    ///
    /// # Errors
    /// [`CoreError::EmptyBounds`] if nothing remains.
    pub fn bounds(&self) -> Result<RangeInclusive<u32>, CoreError> {
        let upper = self
            .upper
            .min(self.max_parallelism)
            .min(self.partitions.unwrap_or(u32::MAX));
        let lower = self.lower.min(self.partitions.unwrap_or(u32::MAX)).max(1);
        if self.lower == 0 || lower > upper {
            return Err(CoreError::EmptyBounds {
                operator: self.id.clone(),
                lower: self.lower,
                upper,
            });
        }
        Ok(lower..=upper)
    }

    /// The parallelism values worth trying, in ascending order.
    ///
    /// Where work is dealt out in `n` indivisible units (the partitions of a source, or the key groups of an
    /// operator with hash-partitioned input), the busiest subtask holds `⌈n/p⌉` of them. A `p` that does not make
    /// that share smaller than `p − 1` does costs a subtask and gains nothing, so it is left out. Elsewhere every
    /// value within the bounds is worth trying.
    ///
    /// # Errors
    /// [`CoreError::EmptyBounds`] if the bounds leave no value.
    ///
    /// # Examples
    ///
    /// ```
    /// use streamline_core::{Operator, OperatorKind};
    ///
    /// let source = Operator::new("s", "clicks", OperatorKind::Source).with_partitions(12);
    /// assert_eq!(source.parallelism_options(false)?, [1, 2, 3, 4, 6, 12]);
    /// # Ok::<(), streamline_core::CoreError>(())
    /// ```
    pub fn parallelism_options(&self, hash_partitioned_input: bool) -> Result<Vec<u32>, CoreError> {
        let bounds = self.bounds()?;
        let lower = *bounds.start();
        Ok(match self.indivisible_units(hash_partitioned_input) {
            Some(units) => bounds
                .filter(|&p| p == lower || units.div_ceil(p) < units.div_ceil(p - 1))
                .collect(),
            None => bounds.collect(),
        })
    }

    /// How many of `parallelism` subtasks do work when the busiest one sets the pace.
    ///
    /// With `n` indivisible units it is `n / ⌈n/p⌉`, at most `p`; without them it is `p`. Parallelism 0 gives 0.
    #[must_use]
    pub fn effective_parallelism(&self, parallelism: u32, hash_partitioned_input: bool) -> f64 {
        match (parallelism, self.indivisible_units(hash_partitioned_input)) {
            (0, _) | (_, Some(0)) => 0.0,
            (p, Some(units)) => f64::from(units) / f64::from(units.div_ceil(p)),
            (p, None) => f64::from(p),
        }
    }

    fn indivisible_units(&self, hash_partitioned_input: bool) -> Option<u32> {
        self.partitions
            .or(hash_partitioned_input.then_some(self.max_parallelism))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_source_with_15_partitions_is_never_wider_than_15() {
        let source = Operator::new("s", "s", OperatorKind::Source)
            .with_bounds(20, 180)
            .with_max_parallelism(720);
        assert_eq!(source.with_partitions(15).bounds(), Ok(15..=15));
    }

    #[test]
    fn bounds_that_leave_nothing_are_refused() {
        for (lower, upper) in [(0, 4), (5, 4), (1, 0), (200, 300)] {
            let operator = Operator::new("m", "m", OperatorKind::Map).with_bounds(lower, upper);
            assert!(
                matches!(operator.bounds(), Err(CoreError::EmptyBounds { .. })),
                "{lower}..={upper}"
            );
        }
    }

    proptest! {
        #[test]
        fn options_lie_within_bounds_and_reach_the_capacity_of_the_upper_bound(
            lower in 1u32..50, extra in 0u32..200, key_groups in 1u32..300, keyed: bool,
        ) {
            let operator = Operator::new("o", "o", OperatorKind::Window)
                .with_bounds(lower, lower + extra)
                .with_max_parallelism(key_groups);
            let Ok(bounds) = operator.bounds() else { return Ok(()) };
            let options = operator.parallelism_options(keyed).unwrap();
            prop_assert!(options.windows(2).all(|w| w[0] < w[1]));
            prop_assert!(options.iter().all(|p| bounds.contains(p)));
            let best = operator.effective_parallelism(*options.last().unwrap(), keyed);
            prop_assert_eq!(best.to_bits(), operator.effective_parallelism(*bounds.end(), keyed).to_bits());
        }
    }
}
