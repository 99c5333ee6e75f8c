//! Training, validation and test sets, by configuration.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use streamline_core::OperatorKind;

use crate::{Query, Sample, SurrogateError};

/// Which set each sample belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Split {
    /// The fold of each sample; none of the test samples.
    folds: Vec<Option<usize>>,
    count: usize,
    /// Distinct configurations.
    pub(crate) configurations: usize,
}

/// Fewest folds: a fifth of the configurations at most is held out for validation.
const FOLDS: usize = 5;
/// Fewest configurations that can be learned from.
const FEWEST: usize = 4;

/// What can be set of an operator, and its kind. Samples that agree in it, under whatever load, stay together.
fn configuration(query: &Query) -> (OperatorKind, u32, u32, u32) {
    (
        query.kind,
        query.parallelism,
        query.segment_bytes,
        query.buffer_timeout_ms,
    )
}

impl Split {
    /// Deals the configurations, in an order drawn from `seed`, to a test set of `test_share` of them and to folds.
    pub(crate) fn by_configuration(
        samples: &[Sample],
        test_share: f64,
        members: usize,
        seed: u64,
    ) -> Result<Self, SurrogateError> {
        let mut places: BTreeMap<_, Option<usize>> = samples
            .iter()
            .map(|sample| (configuration(&sample.query), None))
            .collect();
        let configurations = places.len();
        let test = if test_share > 0.0 {
            ((test_share * configurations as f64).round() as usize).max(1)
        } else {
            0
        };
        if configurations < FEWEST + test {
            return Err(SurrogateError::TooFewSamples {
                given: samples.len(),
                configurations,
                needed: FEWEST + test,
            });
        }
        let count = members.max(FOLDS).min(configurations - test);
        let mut order: Vec<usize> = (0..configurations).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        for (place, position) in places.values_mut().zip(order) {
            *place = position.checked_sub(test).map(|position| position % count);
        }
        Ok(Self {
            folds: samples
                .iter()
                .map(|sample| places.get(&configuration(&sample.query)).copied().flatten())
                .collect(),
            count,
            configurations,
        })
    }

    /// The fold of a sample; none of a test sample.
    pub(crate) fn fold(&self, index: usize) -> Option<usize> {
        self.folds.get(index).copied().flatten()
    }

    /// The fold that a member does not train on.
    pub(crate) fn validation_fold(&self, member: usize) -> usize {
        member % self.count
    }

    /// Samples that a member trains on.
    pub(crate) fn training(&self, member: usize) -> Vec<usize> {
        let held_out = self.validation_fold(member);
        self.indices(|fold| fold.is_some_and(|fold| fold != held_out))
    }

    /// Samples that a member is stopped by.
    pub(crate) fn validation(&self, member: usize) -> Vec<usize> {
        let held_out = self.validation_fold(member);
        self.indices(|fold| fold == Some(held_out))
    }

    /// Samples of the test set.
    pub(crate) fn test(&self) -> Vec<usize> {
        self.indices(|fold| fold.is_none())
    }

    /// Samples that are not of the test set.
    pub(crate) fn learned_from(&self) -> Vec<usize> {
        self.indices(|fold| fold.is_some())
    }

    fn indices(&self, wanted: impl Fn(Option<usize>) -> bool) -> Vec<usize> {
        self.folds
            .iter()
            .enumerate()
            .filter(|&(_, &fold)| wanted(fold))
            .map(|(index, _)| index)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::synthetic::world;

    #[test]
    fn no_configuration_is_in_two_sets() {
        let samples = world(400, 3);
        let split = Split::by_configuration(&samples, 0.2, 5, 1).unwrap();
        let of = |indices: Vec<usize>| -> BTreeSet<_> {
            indices
                .into_iter()
                .map(|index| configuration(&samples[index].query))
                .collect()
        };
        for member in 0..5 {
            let sets = [
                of(split.training(member)),
                of(split.validation(member)),
                of(split.test()),
            ];
            assert!(sets.iter().all(|set| !set.is_empty()));
            assert!(sets[0].is_disjoint(&sets[1]));
            assert!(sets[0].is_disjoint(&sets[2]));
            assert!(sets[1].is_disjoint(&sets[2]));
            assert_eq!(
                sets.iter().map(BTreeSet::len).sum::<usize>(),
                split.configurations
            );
        }
    }

    #[test]
    fn every_member_is_validated_on_another_fold() {
        let samples = world(400, 3);
        let split = Split::by_configuration(&samples, 0.2, 5, 1).unwrap();
        let mut seen: Vec<usize> = (0..5).flat_map(|member| split.validation(member)).collect();
        seen.sort_unstable();
        assert_eq!(seen, split.learned_from());
    }

    #[test]
    fn too_few_configurations_are_refused_with_their_number() {
        let samples = vec![world(1, 1)[0]; 50];
        assert!(matches!(
            Split::by_configuration(&samples, 0.2, 5, 1),
            Err(SurrogateError::TooFewSamples {
                given: 50,
                configurations: 1,
                needed: 5
            })
        ));
    }
}
