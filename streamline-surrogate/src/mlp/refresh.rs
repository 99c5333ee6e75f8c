use std::collections::BTreeSet;
use std::ops::ControlFlow;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::drift::answers;
use crate::log_error::log_errors;
use crate::{Mlp, MlpOptions, PerformanceSurrogate, Progress, Query, Sample, SampleStore, SurrogateError};

/// What became of a refresh.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Refresh {
    /// The new model is at least as good on samples that it was not trained on.
    Taken {
        /// It.
        model: Box<Mlp>,
        /// Error of the current surrogate on the held-out samples.
        before: f64,
        /// Error of the new model on them.
        after: f64,
    },
    /// The current surrogate is better and stays.
    Kept {
        /// Its error on the held-out samples.
        before: f64,
        /// Error of the new model on them.
        after: f64,
    },
}

impl Mlp {
    /// Trains a model on the samples of a store, which count less as they age, and compares it with the `current`
    /// surrogate on a fifth of the configurations that it was not trained on.
    ///
    /// Errors are mean absolute errors of the logarithm over throughput, latency and cpu, about the relative error.
    /// The current surrogate may have seen what is held out here, so the comparison leans towards keeping it.
    ///
    /// # Errors
    /// As [`Mlp::fit_weighted`] for the samples that are left, and those of `current`.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::ops::ControlFlow;
    /// use streamline_surrogate::{Analytic, Mlp, MlpOptions, Refresh, SampleStore, StoreOptions};
    ///
    /// let store = SampleStore::load("samples.bin")?;
    /// let outcome = Mlp::refresh(
    ///     &Analytic::default(),
    ///     &store,
    ///     1_750_000_000_000,
    ///     &MlpOptions::default(),
    ///     &mut |_| ControlFlow::Continue(()),
    /// )?;
    /// if let Refresh::Taken { model, .. } = outcome {
    ///     model.save("model.bin")?;
    /// }
    /// # Ok::<(), streamline_surrogate::SurrogateError>(())
    /// ```
    pub fn refresh(
        current: &dyn PerformanceSurrogate,
        store: &SampleStore,
        now_ms: i64,
        options: &MlpOptions,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Refresh, SurrogateError> {
        const EVERY: usize = 5;
        options.check()?;
        let (samples, weights) = store.weighted(now_ms);
        let configuration = |query: &Query| {
            (
                query.kind,
                query.parallelism,
                query.segment_bytes,
                query.buffer_timeout_ms,
            )
        };
        let distinct: BTreeSet<_> = samples
            .iter()
            .map(|sample| configuration(&sample.query))
            .collect();
        let mut order: Vec<_> = distinct.into_iter().collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(options.seed));
        let held_out: BTreeSet<_> = order.into_iter().step_by(EVERY).collect();
        type Part = (Vec<Sample>, Vec<f64>);
        let (testing, training): (Vec<_>, Vec<_>) = samples
            .into_iter()
            .zip(weights)
            .partition(|(sample, _)| held_out.contains(&configuration(&sample.query)));
        let (testing, testing_weights): Part = testing.into_iter().unzip();
        let (training, training_weights): Part = training.into_iter().unzip();
        let model = Self::fit_weighted(&training, &training_weights, options, progress)?;
        let before = mean_error(current, &testing, &testing_weights)?;
        let after = mean_error(&model, &testing, &testing_weights)?;
        tracing::info!(before, after, samples = training.len(), "surrogate refresh");
        Ok(if after <= before {
            Refresh::Taken {
                model: Box::new(model),
                before,
                after,
            }
        } else {
            Refresh::Kept { before, after }
        })
    }
}

/// The mean absolute error of the logarithms of throughput, latency and cpu, weighted; a miss counts at most as a factor
/// of `e³`.
fn mean_error(
    surrogate: &dyn PerformanceSurrogate,
    samples: &[Sample],
    weights: &[f64],
) -> Result<f64, SurrogateError> {
    const MOST: f64 = 3.0;
    let (mut sum, mut total) = (0.0, 0.0);
    for ((sample, weight), answer) in samples.iter().zip(weights).zip(answers(surrogate, samples)?) {
        for error in log_errors(&sample.measured, &answer.estimate) {
            sum += weight * error.abs().min(MOST) / 3.0;
        }
        total += weight;
    }
    Ok(sum / f64::max(total, f64::MIN_POSITIVE))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::synthetic::{truth, world};
    use crate::{Analytic, StoreOptions, drift};

    fn options() -> MlpOptions {
        MlpOptions {
            members: 2,
            hidden: vec![24],
            epochs: 60,
            test_share: 0.0,
            ..MlpOptions::default()
        }
    }

    fn store(samples: &[Sample]) -> SampleStore {
        let mut store = SampleStore::new(StoreOptions::default()).unwrap();
        for (time, sample) in samples.iter().enumerate() {
            store.insert(*sample, time as i64).unwrap();
        }
        store
    }

    fn refreshed(current: &dyn PerformanceSurrogate, samples: &[Sample], options: &MlpOptions) -> Refresh {
        let store = store(samples);
        Mlp::refresh(current, &store, 1000, options, &mut |_| ControlFlow::Continue(())).unwrap()
    }

    /// The cluster has got slower: the same jobs need more of everything.
    fn slower(mut samples: Vec<Sample>) -> Vec<Sample> {
        for sample in &mut samples {
            sample.measured = truth(&sample.query, [1.0; 3]);
            sample.measured.latency_ms *= 2.0;
            sample.measured.cpu_cores *= 1.7;
        }
        samples
    }

    #[test]
    fn a_model_that_is_better_on_held_out_samples_is_taken() {
        match refreshed(&Analytic::default(), &world(600, 7), &options()) {
            Refresh::Taken { before, after, .. } => assert!(after < before),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_refresh_that_is_worse_on_held_out_samples_is_not_taken() {
        let samples = world(600, 7);
        let good = Mlp::fit(
            &samples,
            &MlpOptions {
                epochs: 150,
                ..options()
            },
        )
        .unwrap();
        let hardly_trained = MlpOptions {
            epochs: 1,
            learning_rate: 1e-6,
            ..options()
        };
        match refreshed(&good, &samples, &hardly_trained) {
            Refresh::Kept { before, after } => assert!(after > before),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn drift_shows_where_the_cluster_has_changed_and_a_refresh_heals_it() {
        let model = Mlp::fit(&world(800, 7), &options()).unwrap();
        let same = drift(&model, &world(1000, 7)[800..]).unwrap().unwrap();
        let changed = slower(world(1600, 7));
        let after = drift(&model, &changed[800..1000]).unwrap().unwrap();
        assert!(same < 1.5, "{same}");
        assert!(after > 2.0 * same, "{after} against {same}");
        let Refresh::Taken { model, .. } = refreshed(&model, &changed[800..], &options()) else {
            panic!("a model of the changed cluster is better on it");
        };
        let healed = drift(model.as_ref(), &changed[..200]).unwrap().unwrap();
        assert!(healed < 0.5 * after, "{healed} against {after}");
    }

    #[test]
    fn without_samples_there_is_no_drift_and_nothing_to_refresh_with() {
        assert_eq!(drift(&Analytic::default(), &[]).unwrap(), None);
        let empty = store(&[]);
        let outcome = Mlp::refresh(&Analytic::default(), &empty, 0, &options(), &mut |_| {
            ControlFlow::Continue(())
        });
        assert!(matches!(outcome, Err(SurrogateError::TooFewSamples { .. })));
    }
}
