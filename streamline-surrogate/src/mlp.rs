use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::Path;

use crate::analytic::Working;
use crate::log_error::log_errors;
use crate::{Analytic, PerformanceSurrogate, Prediction, Query, Sample, Scores, SurrogateError};

mod correction;
mod features;
mod model_file;
mod network;
mod options;
mod refresh;
mod report;
mod split;
#[cfg(test)]
mod tests;
mod training;

pub use network::{DenseLayer, DenseNetwork};
pub use options::{Backend, MlpOptions};
pub use refresh::Refresh;
pub use report::TrainingReport;
pub use training::Progress;

use correction::Correction;
use features::{FEATURES, Features, numbers};
use split::Split;
use training::{TARGETS, Trained, TrainingSet};

/// Learned estimates: an ensemble of small networks that correct the [`Analytic`] model.
///
/// The networks see the logarithms of a query's numbers, of its utilisation and of its buffer's fill time, and its
/// kind; they answer the logarithm of *measured over analytic* for throughput, latency and cpu. So an untrained or
/// hardly trained ensemble is close to the analytic model, and a correction never goes beyond those that were seen.
/// Each member leaves out another fold of the configurations, by which it is stopped; on these, the share of the
/// correction that helps is found, so that a quantity of which too little was seen to beat the analytic model keeps to
/// that model.
///
/// A query outside the ranges of its kind in training, or far from the cloud of all training queries (by its leverage),
/// is marked as extrapolated and answered by the calibrated analytic model alone. Uncertainties are the error on unseen
/// configurations and the disagreement of the members together.
///
/// Training is deterministic for a seed on one machine and backend; across machines the last bits differ. Inference
/// runs on compact weights ([`DenseNetwork`]) and does not need Burn.
///
/// # Examples
///
/// ```
/// use streamline_core::{OperatorEstimate, OperatorKind};
/// use streamline_surrogate::{Mlp, MlpOptions, PerformanceSurrogate, Prediction, Query, Sample};
///
/// // Measured somewhere; here, made up.
/// let mut samples = Vec::new();
/// for parallelism in 1..=10u32 {
///     for load in 1..=8u32 {
///         let p = f64::from(parallelism);
///         let capacity = 1000.0 * p / (1.0 + 0.05 * (p - 1.0));
///         let input_rate = capacity * f64::from(load) / 6.0;
///         let throughput = input_rate.min(capacity);
///         samples.push(Sample {
///             query: Query {
///                 kind: OperatorKind::Window,
///                 unit_rate: 1000.0,
///                 parallelism,
///                 segment_bytes: 32 << 10,
///                 buffer_timeout_ms: 100,
///                 input_rate,
///                 selectivity: 0.1,
///                 record_bytes: 200.0,
///                 colocation_load: 0.7,
///             },
///             measured: OperatorEstimate {
///                 throughput,
///                 latency_ms: 20.0 + 300.0 * throughput / capacity,
///                 cpu_cores: 1.3 * throughput / 1000.0,
///             },
///         });
///     }
/// }
/// let options = MlpOptions { members: 2, epochs: 30, hidden: vec![16], ..MlpOptions::default() };
/// let model = Mlp::fit(&samples, &options)?;
/// assert!(model.report().validation.latency.r_squared > model.report().analytic_validation.latency.r_squared);
///
/// let mut out = vec![Prediction::ZERO; samples.len()];
/// let queries: Vec<Query> = samples.iter().map(|sample| sample.query).collect();
/// model.predict(&queries, &mut out)?;
/// assert!(out[12].uncertainty.latency_ms > 0.0 && !out[12].extrapolated);
/// # Ok::<(), streamline_surrogate::SurrogateError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Mlp {
    options: MlpOptions,
    analytic: Analytic,
    features: Features,
    members: Vec<DenseNetwork>,
    correction: Correction,
    report: TrainingReport,
}

impl Mlp {
    /// Learns from samples.
    ///
    /// # Errors
    /// [`SurrogateError::InvalidOption`]; a sample's [`SurrogateError::InvalidQuery`] or
    /// [`SurrogateError::InvalidSample`]; [`SurrogateError::TooFewSamples`] with fewer than four distinct
    /// configurations beside those of the test set; [`SurrogateError::Diverged`].
    pub fn fit(samples: &[Sample], options: &MlpOptions) -> Result<Self, SurrogateError> {
        Self::fit_with_progress(samples, options, &mut |_| ControlFlow::Continue(()))
    }

    /// Learns from samples and calls `progress` after each epoch; where it breaks, training ends early and the best
    /// weights so far are kept.
    ///
    /// # Errors
    /// As [`Mlp::fit`].
    ///
    /// # Examples
    ///
    /// Stopping after a tenth of the epochs:
    ///
    /// ```no_run
    /// use std::ops::ControlFlow;
    /// use streamline_surrogate::{Mlp, MlpOptions, Sample};
    ///
    /// # fn samples() -> Vec<Sample> { Vec::new() }
    /// let model = Mlp::fit_with_progress(&samples(), &MlpOptions::default(), &mut |state| {
    ///     println!("epoch {} of {}: {:.4}", state.epoch, state.epochs, state.validation_loss);
    ///     if state.epoch * 10 < state.epochs { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    /// })?;
    /// # Ok::<(), streamline_surrogate::SurrogateError>(())
    /// ```
    pub fn fit_with_progress(
        samples: &[Sample],
        options: &MlpOptions,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Self, SurrogateError> {
        Self::fit_weighted(samples, &vec![1.0; samples.len()], options, progress)
    }

    /// Learns from samples that count more or less: each as much as its weight, 1e-6 to 1,000, over the mean of all
    /// weights.
    ///
    /// Weights bear on the networks' training. The calibration of the analytic model and the scores count all samples
    /// alike.
    ///
    /// # Errors
    /// As [`Mlp::fit`]; [`SurrogateError::InvalidOption`] for a weight out of range, or if there is not one for each
    /// sample.
    pub fn fit_weighted(
        samples: &[Sample],
        weights: &[f64],
        options: &MlpOptions,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Self, SurrogateError> {
        options.check()?;
        for (index, sample) in samples.iter().enumerate() {
            sample.check(index)?;
        }
        let weights = relative_weights(samples.len(), weights)?;
        let split = Split::by_configuration(samples, options.test_share, options.members, options.seed)?;
        let learned = split.learned_from();
        let known: Vec<Sample> = learned.iter().map(|&index| samples[index]).collect();
        let analytic = Analytic::fit(&known, &options.analytic)?;

        let worked: Vec<Working> = samples
            .iter()
            .map(|sample| analytic.work_out(&sample.query))
            .collect();
        let rows: Vec<_> = samples
            .iter()
            .zip(&worked)
            .map(|(sample, working)| (numbers(&sample.query, working), sample.query.kind))
            .collect();
        let features = Features::fit(&learned.iter().map(|&index| rows[index]).collect::<Vec<_>>());
        let logs: Vec<[f64; TARGETS]> = samples
            .iter()
            .zip(&worked)
            .map(|(sample, working)| log_errors(&sample.measured, &working.estimate))
            .collect();
        let mut correction = Correction::scaled_to(&logs, &learned);
        let set = TrainingSet {
            features: rows
                .iter()
                .map(|(numbers, kind)| {
                    let mut encoded = [0.0; FEATURES];
                    features.encode(numbers, *kind, &mut encoded);
                    encoded
                })
                .collect(),
            targets: logs.iter().map(|log| correction.target(log)).collect(),
            weights,
        };
        let Trained {
            members,
            best_epochs,
            history,
        } = training::train(&set, &split, options, progress)?;

        let outputs = all_outputs(&members, &set.features)?;
        let held_out = mean_over(&outputs, &split, |member, fold| {
            split.validation_fold(member) == fold
        });
        correction.apply_what_helps(&logs, &held_out);
        let seen = mean_over(&outputs, &split, |member, fold| {
            split.validation_fold(member) != fold
        });
        let pairs = |answers: &[(usize, [f64; TARGETS])]| {
            Scores::of(answers.iter().map(|(index, output)| {
                let limit = samples[*index].query.input_rate;
                let corrected = correction.correct(&worked[*index].estimate, limit, output);
                (samples[*index].measured, corrected)
            }))
        };
        let plain = |indices: &[usize]| {
            Scores::of(
                indices
                    .iter()
                    .map(|&index| (samples[index].measured, worked[index].estimate)),
            )
        };
        let test_indices = split.test();
        let test_answers: Vec<_> = test_indices
            .iter()
            .map(|&index| (index, mean(outputs.iter().map(|member| member[index]))))
            .collect();
        let held_out_indices: Vec<usize> = held_out.iter().map(|&(index, _)| index).collect();
        let too_few = || SurrogateError::TooFewSamples {
            given: samples.len(),
            configurations: split.configurations,
            needed: split.configurations + 1,
        };
        let validation = pairs(&held_out).ok_or_else(too_few)?;
        let report = TrainingReport {
            samples: samples.len(),
            configurations: split.configurations,
            best_epochs,
            history,
            train: pairs(&seen).ok_or_else(too_few)?,
            validation,
            test: pairs(&test_answers),
            analytic_validation: plain(&held_out_indices).ok_or_else(too_few)?,
            analytic_test: plain(&test_indices),
            applied: correction.applied,
        };
        tracing::info!(
            samples = report.samples,
            configurations = report.configurations,
            epochs = report.history.len(),
            throughput = report.validation.throughput.r_squared,
            latency = report.validation.latency.r_squared,
            cpu = report.validation.cpu.r_squared,
            "surrogate trained"
        );
        Ok(Self {
            options: options.clone(),
            analytic,
            features,
            members,
            correction,
            report,
        })
    }

    /// How the training went.
    #[must_use]
    pub fn report(&self) -> &TrainingReport {
        &self.report
    }

    /// The options that it was trained with.
    #[must_use]
    pub fn options(&self) -> &MlpOptions {
        &self.options
    }

    /// The calibrated analytic model that the networks correct.
    #[must_use]
    pub fn analytic(&self) -> &Analytic {
        &self.analytic
    }

    /// Writes the model to a file, whole or not at all: into a temporary file beside it that then takes its place.
    ///
    /// # Errors
    /// [`SurrogateError::Io`].
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use streamline_surrogate::{Mlp, MlpOptions, Sample};
    ///
    /// # fn samples() -> Vec<Sample> { Vec::new() }
    /// let model = Mlp::fit(&samples(), &MlpOptions::default())?;
    /// model.save("surrogate.bin")?;
    /// assert_eq!(Mlp::load("surrogate.bin")?, model);
    /// # Ok::<(), streamline_surrogate::SurrogateError>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SurrogateError> {
        model_file::save(self, path.as_ref())
    }

    /// Reads a model from a file that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`SurrogateError::Io`], or [`SurrogateError::Damaged`] saying what is wrong: not such a file, another format
    /// version, cut short, a checksum that does not match, other features, weights that are not finite.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SurrogateError> {
        model_file::load(path.as_ref())
    }

    /// Answers at most [`CHUNK`] queries that start at `first` of the batch.
    fn predict_chunk(
        &self,
        first: usize,
        queries: &[Query],
        out: &mut [Prediction],
        scratch: &mut Scratch,
    ) -> Result<(), SurrogateError> {
        let count = queries.len();
        scratch.worked.clear();
        scratch.rows.resize(count * FEATURES, 0.0);
        scratch.outputs.resize(self.members.len() * count * TARGETS, 0.0);
        let (encoded, _) = scratch.rows.as_chunks_mut::<FEATURES>();
        for (index, (query, encoded)) in queries.iter().zip(encoded).enumerate() {
            query.check(first + index)?;
            let working = self.analytic.work_out(query);
            let far = self
                .features
                .encode(&numbers(query, &working), query.kind, encoded);
            scratch.worked.push((working, far));
        }
        for (member, outputs) in self
            .members
            .iter()
            .zip(scratch.outputs.chunks_exact_mut(count * TARGETS))
        {
            member.infer(&scratch.rows, outputs)?;
        }
        for (index, (out, (working, far))) in out.iter_mut().zip(&scratch.worked).enumerate() {
            if *far {
                *out = Prediction {
                    estimate: working.estimate,
                    uncertainty: self.analytic.options().uncertainty,
                    extrapolated: true,
                };
                continue;
            }
            let answers = scratch
                .outputs
                .chunks_exact(count * TARGETS)
                .map(|member| row(member, index));
            let output = mean(answers.clone());
            let spread = deviation(answers, &output);
            *out = Prediction {
                estimate: self
                    .correction
                    .correct(&working.estimate, queries[index].input_rate, &output),
                uncertainty: self.correction.uncertainty(&spread),
                extrapolated: false,
            };
        }
        Ok(())
    }
}

/// Rows that go through the networks together.
const CHUNK: usize = 256;

/// Buffers that a thread keeps between calls.
#[derive(Default)]
struct Scratch {
    rows: Vec<f32>,
    outputs: Vec<f32>,
    worked: Vec<(Working, bool)>,
}

impl PerformanceSurrogate for Mlp {
    fn name(&self) -> &str {
        "mlp"
    }

    fn predict(&self, queries: &[Query], out: &mut [Prediction]) -> Result<(), SurrogateError> {
        thread_local! {
            static SCRATCH: RefCell<Scratch> = RefCell::default();
        }
        SurrogateError::check_lengths(queries.len(), out.len())?;
        SCRATCH.with_borrow_mut(|scratch| {
            for (chunk, (queries, out)) in queries.chunks(CHUNK).zip(out.chunks_mut(CHUNK)).enumerate() {
                self.predict_chunk(chunk * CHUNK, queries, out, scratch)?;
            }
            Ok(())
        })
    }
}

/// The weights over their mean.
fn relative_weights(samples: usize, weights: &[f64]) -> Result<Vec<f32>, SurrogateError> {
    let refuse = |name, value, expected| {
        Err(SurrogateError::InvalidOption {
            name,
            value,
            expected,
        })
    };
    if weights.len() != samples {
        return refuse("weights.len", weights.len() as f64, "one for each sample");
    }
    if let Some(&weight) = weights.iter().find(|weight| !(1e-6..=1e3).contains(*weight)) {
        return refuse("weights", weight, "1e-6 to 1000");
    }
    let mean = weights.iter().sum::<f64>() / samples.max(1) as f64;
    Ok(weights.iter().map(|weight| (weight / mean) as f32).collect())
}

/// The outputs of row `index` of a member.
fn row(outputs: &[f32], index: usize) -> [f64; TARGETS] {
    let mut values = [0.0; TARGETS];
    for (value, output) in values.iter_mut().zip(outputs.iter().skip(index * TARGETS)) {
        *value = f64::from(*output);
    }
    values
}

fn mean(answers: impl Iterator<Item = [f64; TARGETS]>) -> [f64; TARGETS] {
    let (mut sum, mut count) = ([0.0; TARGETS], 0.0);
    for answer in answers {
        for (sum, value) in sum.iter_mut().zip(answer) {
            *sum += value;
        }
        count += 1.0;
    }
    sum.map(|sum| sum / f64::max(count, 1.0))
}

fn deviation(answers: impl Iterator<Item = [f64; TARGETS]>, around: &[f64; TARGETS]) -> [f64; TARGETS] {
    let squares = answers.map(|answer| {
        let mut squares = answer;
        for (square, mean) in squares.iter_mut().zip(around) {
            *square = (*square - mean).powi(2);
        }
        squares
    });
    mean(squares).map(f64::sqrt)
}

/// The outputs of each member for all rows.
fn all_outputs(
    members: &[DenseNetwork],
    features: &[[f32; FEATURES]],
) -> Result<Vec<Vec<[f64; TARGETS]>>, SurrogateError> {
    let rows = features.as_flattened();
    members
        .iter()
        .map(|member| {
            let mut out = vec![0.0; features.len() * TARGETS];
            member.infer(rows, &mut out)?;
            Ok((0..features.len()).map(|index| row(&out, index)).collect())
        })
        .collect()
}

/// For each sample that is learned from, the mean output of the members that `answers` lets answer for its fold.
fn mean_over(
    outputs: &[Vec<[f64; TARGETS]>],
    split: &Split,
    answers: impl Fn(usize, usize) -> bool,
) -> Vec<(usize, [f64; TARGETS])> {
    let mut means = Vec::new();
    for index in split.learned_from() {
        let Some(fold) = split.fold(index) else { continue };
        let mut members = outputs
            .iter()
            .enumerate()
            .filter(|&(member, _)| answers(member, fold))
            .map(|(_, rows)| rows[index])
            .peekable();
        if members.peek().is_some() {
            means.push((index, mean(members)));
        }
    }
    means
}
