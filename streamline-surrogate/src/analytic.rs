use serde::{Deserialize, Serialize};
use streamline_core::{OperatorEstimate, OperatorKind};

use crate::{PerformanceSurrogate, Prediction, Query, Sample, Scalability, SurrogateError};

mod calibration;
mod options;

pub use options::AnalyticOptions;

/// Estimates from first principles: true processing rates, a scalability law, queueing and buffer fill.
///
/// It needs no training, so it answers on the first day and wherever a learned model is out of its depth;
/// [`Analytic::fit`] calibrates it with a few samples.
///
/// With `c` the unit rate (the *true processing rate* of one subtask, Kalavri et al., *Three steps is all you need*,
/// OSDI 2018), `p` the parallelism, `λ` the input rate and `l` the co-location load:
///
/// - **capacity** `X = c · speedup(p) / max(1, l)` by the [`Scalability`] law; where the cores are oversubscribed every
///   subtask gets its share of them.
/// - **throughput** `min(λ, X)`.
/// - **cpu** busy subtasks, `p · throughput / (c · speedup(p))`, times a factor, and a little for each idle one.
/// - **latency** a base, plus service, plus queueing, plus waiting for the output buffer to fill:
///   - Records are dealt out to the subtasks, so each is a queue of its own, `τ = p / X` a record at utilisation
///     `ρ = λ / X`. Records arrive by the buffer, `B` at a time, so a record spends
///     `τ (B + 1)/2 · (1 + v·ρ/(1 − ρ))`: the batch-arrival queue M^B/M/1, with Kingman's variability `v`.
///   - Buffers bound the queue: at most `2p + 8` of them wait on either side of an input gate, so at and above
///     saturation a record waits for so many buffers (or a share of them) to be worked off.
///   - A buffer of `S` bytes on one of `p²` channels fills in `S·p² / (bytes per second)`, at most the buffer timeout;
///     a record waits for half of that. Operators that send nothing do not wait.
///
/// Its answers are never marked as extrapolated, for its form holds everywhere.
///
/// # Examples
///
/// ```
/// use streamline_core::OperatorKind;
/// use streamline_surrogate::{Analytic, PerformanceSurrogate, Prediction, Query};
///
/// let query = Query {
///     kind: OperatorKind::Map,
///     unit_rate: 10_000.0,
///     parallelism: 2,
///     segment_bytes: 32 << 10,
///     buffer_timeout_ms: 100,
///     input_rate: 5_000.0,
///     selectivity: 1.0,
///     record_bytes: 100.0,
///     colocation_load: 0.5,
/// };
/// let overloaded = Query { input_rate: 50_000.0, ..query };
/// let mut out = [Prediction::ZERO; 2];
/// Analytic::default().predict(&[query, overloaded], &mut out)?;
///
/// assert_eq!(out[0].estimate.throughput, 5_000.0);
/// assert!(out[1].estimate.throughput < 20_000.0); // two subtasks get in each other's way a little
/// assert!(out[1].estimate.latency_ms > out[0].estimate.latency_ms);
/// # Ok::<(), streamline_surrogate::SurrogateError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Analytic {
    options: AnalyticOptions,
    /// One law per kind, in the order of [`OperatorKind::ALL`].
    scalability: [Scalability; OperatorKind::ALL.len()],
}

impl Default for Analytic {
    fn default() -> Self {
        let options = AnalyticOptions::default();
        Self {
            scalability: [options.scalability; OperatorKind::ALL.len()],
            options,
        }
    }
}

/// The place of a kind in [`OperatorKind::ALL`].
pub(crate) fn kind_index(kind: OperatorKind) -> usize {
    OperatorKind::ALL
        .iter()
        .position(|&other| other == kind)
        .unwrap_or(OperatorKind::ALL.len() - 1)
}

/// What the model knows of a query beside its answer.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(
    not(feature = "burn"),
    expect(dead_code, reason = "the networks see the rest")
)]
pub(crate) struct Working {
    pub(crate) estimate: OperatorEstimate,
    /// Input rate over capacity.
    pub(crate) utilisation: f64,
    /// Milliseconds that a record waits for its buffer.
    pub(crate) fill_ms: f64,
}

impl Analytic {
    /// The model with these constants.
    ///
    /// # Errors
    /// [`SurrogateError::InvalidOption`] naming a constant outside its range.
    pub fn new(options: AnalyticOptions) -> Result<Self, SurrogateError> {
        options.check()?;
        Ok(Self {
            scalability: [options.scalability; OperatorKind::ALL.len()],
            options,
        })
    }

    /// The model calibrated with samples.
    ///
    /// The scalability law is fitted to the samples that were saturated (throughput below 95 % of the input), of all
    /// operators together and then of each kind, drawn towards the former; single bad samples do not rule, and samples
    /// on shared cores count only where there are fewer than five on cores of their own. The base latency, the
    /// variability, the share of full buffers, the cpu per busy core and the idle cores come from all samples (least
    /// absolute error of the logarithm), and so do the uncertainties (root mean square of the logarithm's error, which
    /// is about the relative one). What the samples do not show stays as in `options`.
    ///
    /// # Errors
    /// [`SurrogateError::InvalidOption`], or a sample's [`SurrogateError::InvalidQuery`] or
    /// [`SurrogateError::InvalidSample`].
    ///
    /// # Examples
    ///
    /// ```
    /// use streamline_core::{OperatorEstimate, OperatorKind};
    /// use streamline_surrogate::{Analytic, AnalyticOptions, Query, Sample};
    ///
    /// let measured = |parallelism, throughput| Sample {
    ///     query: Query {
    ///         kind: OperatorKind::Window,
    ///         unit_rate: 1000.0,
    ///         parallelism,
    ///         segment_bytes: 32 << 10,
    ///         buffer_timeout_ms: 100,
    ///         input_rate: 1e6,
    ///         selectivity: 0.1,
    ///         record_bytes: 80.0,
    ///         colocation_load: 1.0,
    ///     },
    ///     measured: OperatorEstimate { throughput, latency_ms: 900.0, cpu_cores: f64::from(parallelism) },
    /// };
    /// let seen = [measured(1, 1000.0), measured(4, 3077.0), measured(8, 4706.0), measured(16, 6400.0)];
    /// let model = Analytic::fit(&seen, &AnalyticOptions::default())?;
    /// assert!((model.capacity(&seen[3].query) / 6400.0 - 1.0).abs() < 0.05);
    /// # Ok::<(), streamline_surrogate::SurrogateError>(())
    /// ```
    pub fn fit(samples: &[Sample], options: &AnalyticOptions) -> Result<Self, SurrogateError> {
        let mut model = Self::new(*options)?;
        for (index, sample) in samples.iter().enumerate() {
            sample.check(index)?;
        }
        model.fit_scalability(samples);
        model.fit_constants(samples);
        model.fit_uncertainty(samples);
        Ok(model)
    }

    /// The constants, as given or as fitted.
    #[must_use]
    pub fn options(&self) -> &AnalyticOptions {
        &self.options
    }

    /// The scalability law of one kind of operators.
    #[must_use]
    pub fn scalability(&self, kind: OperatorKind) -> Scalability {
        self.scalability[kind_index(kind)]
    }

    /// The most records per second that the operator could process, whatever arrives.
    ///
    /// The query is taken as it is; one that [`Query::check`] would refuse gives a senseless number.
    #[must_use]
    pub fn capacity(&self, query: &Query) -> f64 {
        query.unit_rate * self.scalability(query.kind).speedup(query.parallelism)
            / query.colocation_load.max(1.0)
    }

    /// Checks what a deserialised model says.
    #[cfg(feature = "burn")]
    pub(crate) fn check(&self) -> Result<(), SurrogateError> {
        self.options.check()?;
        self.scalability.iter().try_for_each(Scalability::check)
    }

    /// Answers one query that has been checked.
    pub(crate) fn work_out(&self, query: &Query) -> Working {
        let options = &self.options;
        let p = f64::from(query.parallelism);
        let segment = f64::from(query.segment_bytes);
        let timeout_ms = f64::from(query.buffer_timeout_ms);
        let alone = query.unit_rate * self.scalability(query.kind).speedup(query.parallelism);
        let capacity = alone / query.colocation_load.max(1.0);
        let throughput = query.input_rate.min(capacity);
        let busy = p * throughput / alone;
        let utilisation = query.input_rate / capacity;

        let service_ms = 1000.0 * p / capacity;
        let records_per_buffer = (segment / query.record_bytes).max(1.0);
        let batch = if query.kind == OperatorKind::Source {
            1.0
        } else {
            (query.input_rate / (p * p) * timeout_ms / 1000.0)
                .min(records_per_buffer)
                .max(1.0)
        };
        let own_ms = service_ms * 0.5 * (batch + 1.0);
        let below_one = utilisation.min(0.999_999);
        let queue_ms = own_ms * options.variability * below_one / (1.0 - below_one);
        let full_ms = options.full_buffers * service_ms * 2.0 * (2.0 * p + 8.0) * records_per_buffer;
        let queue_ms = if utilisation < 1.0 {
            queue_ms.min(full_ms)
        } else {
            full_ms
        };

        let sent_bytes = throughput * query.selectivity * query.record_bytes;
        let fill_ms = if query.kind == OperatorKind::Sink || sent_bytes <= 0.0 {
            0.0
        } else {
            0.5 * timeout_ms.min(1000.0 * segment * p * p / sent_bytes)
        };
        Working {
            estimate: OperatorEstimate {
                throughput,
                latency_ms: (options.base_latency_ms + own_ms + queue_ms + fill_ms)
                    .min(options.max_latency_ms),
                cpu_cores: options.cpu_per_busy_core * busy + options.idle_cores * p,
            },
            utilisation,
            fill_ms,
        }
    }
}

impl PerformanceSurrogate for Analytic {
    fn name(&self) -> &str {
        "analytic"
    }

    fn predict(&self, queries: &[Query], out: &mut [Prediction]) -> Result<(), SurrogateError> {
        SurrogateError::check_lengths(queries.len(), out.len())?;
        for (index, (query, out)) in queries.iter().zip(out).enumerate() {
            query.check(index)?;
            *out = Prediction {
                estimate: self.work_out(query).estimate,
                uncertainty: self.options.uncertainty,
                extrapolated: false,
            };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::synthetic::{any_query, query};

    fn ask(model: &Analytic, query: Query) -> OperatorEstimate {
        let mut out = [Prediction::ZERO];
        model.predict(&[query], &mut out).unwrap();
        out[0].estimate
    }

    #[test]
    fn a_bigger_buffer_makes_a_slow_stream_wait_until_the_timeout() {
        let model = Analytic::default();
        let latency = |segment_bytes, input_rate| {
            ask(
                &model,
                Query {
                    segment_bytes,
                    input_rate,
                    ..query()
                },
            )
            .latency_ms
        };
        assert!(latency(64 << 10, 2000.0) > latency(1 << 10, 2000.0));
        // At a trickle no buffer ever fills: the timeout decides.
        assert_relative_eq!(
            latency(64 << 10, 1.0),
            latency(32 << 10, 1.0),
            max_relative = 1e-9
        );
    }

    #[test]
    fn oversubscribed_cores_slow_down_but_spare_ones_do_not_speed_up() {
        let model = Analytic::default();
        let capacity = |colocation_load| {
            model.capacity(&Query {
                colocation_load,
                ..query()
            })
        };
        assert_relative_eq!(capacity(0.1), capacity(1.0));
        assert_relative_eq!(capacity(2.0), capacity(1.0) / 2.0);
    }

    #[test]
    fn cpu_is_busy_cores_and_a_little_for_idle_ones() {
        let model = Analytic::default();
        let idle = ask(
            &model,
            Query {
                input_rate: 0.0,
                ..query()
            },
        );
        assert_relative_eq!(idle.cpu_cores, 0.005 * f64::from(query().parallelism));
        let flooded = ask(
            &model,
            Query {
                input_rate: 1e9,
                ..query()
            },
        );
        assert_relative_eq!(flooded.cpu_cores, 1.005 * f64::from(query().parallelism));
    }

    #[test]
    fn calibration_finds_the_constants_that_the_samples_were_made_with() {
        let mut truth = Analytic::new(AnalyticOptions {
            scalability: Scalability {
                contention: 0.06,
                coherency: 0.001,
            },
            base_latency_ms: 30.0,
            cpu_per_busy_core: 1.4,
            ..AnalyticOptions::default()
        })
        .unwrap();
        truth.options.uncertainty = Analytic::default().options.uncertainty;
        let mut samples = Vec::new();
        for parallelism in [1, 2, 4, 8, 16, 32] {
            for input_rate in [1000.0, 10_000.0, 1_000_000.0] {
                let query = Query {
                    parallelism,
                    input_rate,
                    ..query()
                };
                samples.push(Sample {
                    query,
                    measured: truth.work_out(&query).estimate,
                });
            }
        }
        let fitted = Analytic::fit(&samples, &AnalyticOptions::default()).unwrap();
        for parallelism in [3, 12, 24] {
            let query = Query {
                parallelism,
                ..query()
            };
            assert_relative_eq!(
                fitted.capacity(&query),
                truth.capacity(&query),
                max_relative = 0.05
            );
        }
        assert_relative_eq!(fitted.options().cpu_per_busy_core, 1.4, max_relative = 0.05);
        assert_relative_eq!(fitted.options().base_latency_ms, 30.0, max_relative = 0.25);
    }

    #[test]
    fn senseless_queries_samples_and_options_are_refused_with_their_place() {
        let bad = Query {
            unit_rate: 0.0,
            ..query()
        };
        let error = Analytic::default()
            .predict(&[query(), bad], &mut [Prediction::ZERO; 2])
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "query 1: unit_rate is 0, expected 1e-6 to 1e12 records per second"
        );
        let error = Analytic::default()
            .predict(&[query()], &mut [Prediction::ZERO; 2])
            .unwrap_err();
        assert!(matches!(
            error,
            SurrogateError::WrongLength { queries: 1, out: 2 }
        ));
        let sample = Sample {
            query: query(),
            measured: OperatorEstimate {
                throughput: 1.0,
                latency_ms: f64::NAN,
                cpu_cores: 1.0,
            },
        };
        let error = Analytic::fit(&[sample], &AnalyticOptions::default()).unwrap_err();
        assert!(matches!(
            error,
            SurrogateError::InvalidSample {
                index: 0,
                field: "latency_ms",
                ..
            }
        ));
        let options = AnalyticOptions {
            variability: -1.0,
            ..AnalyticOptions::default()
        };
        assert!(matches!(
            Analytic::new(options),
            Err(SurrogateError::InvalidOption {
                name: "variability",
                ..
            })
        ));
    }

    proptest::proptest! {
        #[test]
        fn every_answer_is_finite_and_within_its_bounds(query in any_query()) {
            let estimate = ask(&Analytic::default(), query);
            proptest::prop_assert!(estimate.throughput >= 0.0 && estimate.throughput <= query.input_rate);
            proptest::prop_assert!((0.0..=60_000.0).contains(&estimate.latency_ms));
            proptest::prop_assert!(
                (0.0..=1.006 * f64::from(query.parallelism)).contains(&estimate.cpu_cores)
            );
        }

        #[test]
        fn more_load_never_means_less_throughput_or_less_cpu(query in any_query(), factor in 1.0f64..10.0) {
            let model = Analytic::default();
            let more = Query { input_rate: (query.input_rate * factor).min(1e12), ..query };
            let [less, more] = [query, more].map(|query| ask(&model, query));
            proptest::prop_assert!(more.throughput >= less.throughput * (1.0 - 1e-12));
            proptest::prop_assert!(more.cpu_cores >= less.cpu_cores * (1.0 - 1e-12));
        }
    }
}
