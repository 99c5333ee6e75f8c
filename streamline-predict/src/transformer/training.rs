//! Training a network with Burn.

use std::ops::ControlFlow;

use burn::Tensor;
use burn::grad_clipping::GradientClippingConfig;
use burn::module::Module;
use burn::optim::{AdamWConfig, GradientsAccumulator, GradientsParams};
use burn::tensor::activation::relu;
use burn::tensor::{Device, TensorData};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::baseline::Base;
use super::network::{Network, device, tokens};
use super::options::TransformerOptions;
use super::windows::{Window, Windows};
use crate::PredictError;
use crate::residuals::LEVELS;

/// How far training has come.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The epoch that has just ended, from 1.
    pub epoch: usize,
    /// The most epochs there will be.
    pub epochs: usize,
    /// Loss on the training windows during the epoch.
    pub train_loss: f64,
    /// Loss on the validation windows after it.
    pub validation_loss: f64,
}

/// How a training went.
///
/// Losses are pinball losses, the mean over quantile levels, steps and windows, in units of the standard deviation of
/// each window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrainingReport {
    /// Windows that were trained on.
    pub training_windows: usize,
    /// Windows that validated; of a longer list, evenly spaced ones.
    pub validation_windows: usize,
    /// Losses, epoch by epoch.
    pub history: Vec<Progress>,
    /// The epoch whose weights are kept; 0 if none was better than the start.
    pub best_epoch: usize,
    /// Loss on the validation windows of what is kept.
    pub best_validation_loss: f64,
    /// Loss on the validation windows before training, when the median is the baseline, or what it was before fine-tuning.
    pub start_validation_loss: f64,
}

/// What training gives.
pub(super) struct Trained {
    pub(super) base: Base,
    pub(super) weights: Vec<f32>,
    pub(super) report: TrainingReport,
}

/// Windows as tensors.
struct Batch {
    /// `[windows, lookback]`
    windows: Tensor<2>,
    /// What the baseline says, `[windows, horizon]`.
    bases: Tensor<2>,
    /// What the baseline leaves over, `[windows, 1, horizon]`.
    targets: Tensor<3>,
    /// 1 where there is a target and 0 where there is a gap, the same shape.
    known: Tensor<3>,
    /// How many targets there are.
    count: f32,
    /// What dropout leaves of the encoder's output.
    kept: Option<Tensor<2>>,
}

/// A batch is learnt from in as many parts at once. Their number is fixed, so that the result is the same on any number of
/// cores.
const PARTS: usize = 2;

impl Batch {
    fn new(
        options: &TransformerOptions,
        windows: &Windows<'_>,
        chosen: &[Window],
        base: &Base,
        device: &Device,
    ) -> Self {
        let (mut inputs, mut bases) = (Vec::new(), Vec::new());
        let (mut targets, mut known) = (Vec::new(), Vec::new());
        let mut rows = 0;
        for window in chosen {
            let Some(example) = windows.example(window) else {
                continue;
            };
            let Some(steps) = base.of_window(options, windows, window, &example.terms) else {
                continue;
            };
            rows += 1;
            for (target, step) in example.targets.iter().zip(&steps) {
                targets.push(target.map_or(0.0, |target| (target - step) as f32));
                known.push(if target.is_some() { 1.0f32 } else { 0.0 });
            }
            bases.extend(steps.iter().map(|&step| step as f32));
            inputs.extend(example.window.iter().map(|&value| value as f32));
        }
        let shape = [rows, 1, windows.horizon];
        let count = known.iter().sum();
        Self {
            windows: Tensor::from_data(TensorData::new(inputs, [rows, windows.lookback]), device),
            bases: Tensor::from_data(TensorData::new(bases, [rows, windows.horizon]), device),
            targets: Tensor::from_data(TensorData::new(targets, shape), device),
            known: Tensor::from_data(TensorData::new(known, shape), device),
            count,
            kept: None,
        }
    }

    /// Leaves a share of the encoder's output out, drawn from a stream of random numbers; what stays is as much larger.
    fn with_dropout(mut self, options: &TransformerOptions, stream: u64) -> Self {
        if options.dropout > 0.0 {
            let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
            rng.set_stream(stream);
            let [rows, _] = self.windows.dims();
            let width = tokens(options) * options.d_model;
            let stays = (1.0 / (1.0 - options.dropout)) as f32;
            let draw = |_| {
                if rng.random_bool(options.dropout) {
                    0.0
                } else {
                    stays
                }
            };
            let kept: Vec<f32> = (0..rows * width).map(draw).collect();
            let kept = TensorData::new(kept, [rows, width]);
            self.kept = Some(Tensor::from_data(kept, &self.windows.device()));
        }
        self
    }

    /// The sum over the targets of the pinball loss (Koenker and Bassett 1978), the mean over the levels: `τ·e` where the
    /// target lies above by `e`, `(τ − 1)·e` where below.
    fn loss(self, network: &Network) -> Tensor<1> {
        let device = self.windows.device();
        let below: Vec<f32> = LEVELS.iter().map(|level| (1.0 - level) as f32).collect();
        let below = Tensor::<3>::from_data(TensorData::new(below, [1, LEVELS.len(), 1]), &device);
        let error = self.targets - network.forward(self.windows, self.bases, self.kept);
        let each = relu(error.clone()) - error * below;
        (each * self.known).sum() / LEVELS.len() as f32
    }
}

/// What a part of a batch adds to a step.
struct Part {
    gradients: GradientsParams,
    loss: f64,
    targets: f64,
}

/// What all windows of a batch teach: the gradients of the loss, its sum, and how many targets it is over. None if the
/// backend fails.
fn learn(
    options: &TransformerOptions,
    windows: &Windows<'_>,
    chosen: &[Window],
    base: &Base,
    network: &Network,
    step: usize,
    device: &Device,
) -> Option<Part> {
    // Gaps count here, so that no part has to wait for the others to know how many targets there are.
    let slots = (chosen.len() * windows.horizon) as f32;
    let learn = |part: usize, chosen: &[Window]| {
        // With a graph of its own, for parts that share one wait for each other.
        let network = network.clone().fork(device);
        // A stream of its own, whichever part comes first; that of number 0 draws the weights.
        let stream = (step * PARTS + part) as u64 + 1;
        let batch = Batch::new(options, windows, chosen, base, device).with_dropout(options, stream);
        let targets = f64::from(batch.count);
        let loss = batch.loss(&network) / slots;
        let gradients = GradientsParams::from_grads(loss.backward(), &network);
        let loss = loss.try_into_scalar::<f32>().ok()?;
        Some(Part {
            gradients,
            loss: f64::from(loss) * f64::from(slots),
            targets,
        })
    };
    let (mut gradients, mut loss, mut targets) = (GradientsAccumulator::new(), 0.0, 0.0);
    for part in in_parts(chosen, learn) {
        let part = part?;
        gradients.accumulate(network, part.gradients);
        loss += part.loss;
        targets += part.targets;
    }
    Some(Part {
        gradients: gradients.grads(),
        loss,
        targets,
    })
}

/// The loss of weights, on a device without differentiation.
fn validate(
    options: &TransformerOptions,
    batches: &[Vec<Window>],
    windows: &Windows<'_>,
    base: &Base,
    network: &Network,
    device: &Device,
) -> Option<f64> {
    let validate = |_, batches: &[Vec<Window>]| -> Option<Vec<(f64, f64)>> {
        let each = batches.iter().map(|chosen| {
            let batch = Batch::new(options, windows, chosen, base, device);
            let targets = f64::from(batch.count);
            Some((
                f64::from(batch.loss(network).try_into_scalar::<f32>().ok()?),
                targets,
            ))
        });
        each.collect()
    };
    let (mut sum, mut targets) = (0.0, 0.0);
    for part in in_parts(batches, validate) {
        for (loss, count) in part? {
            sum += loss;
            targets += count;
        }
    }
    Some(sum / f64::max(targets, 1.0)).filter(|loss| loss.is_finite())
}

/// What `work` makes of each part of a list, given with its index, in as many as [`PARTS`] parts at the same time; none for one
/// that panics.
fn in_parts<T: Sync, R: Send>(list: &[T], work: impl Fn(usize, &[T]) -> Option<R> + Sync) -> Vec<Option<R>> {
    std::thread::scope(|scope| {
        let mut chunks = list.chunks(list.len().div_ceil(PARTS).max(1)).enumerate();
        let first = chunks.next();
        let work = &work;
        let others: Vec<_> = chunks
            .map(|(index, chunk)| scope.spawn(move || work(index, chunk)))
            .collect();
        let first = first.map(|(index, chunk)| work(index, chunk)).into_iter();
        let others = others.into_iter().map(|part| part.join().ok().flatten());
        first.chain(others).collect()
    })
}

/// The step size at a step: it rises over the first twentieth and falls to a fiftieth along a cosine.
fn learning_rate(options: &TransformerOptions, step: usize, steps: usize) -> f64 {
    const FINAL: f64 = 0.02;
    let (step, steps) = (step as f64 + 1.0, steps as f64);
    let warm_up = (step / (steps / 20.0).max(1.0)).min(1.0);
    let turn = (step / steps).min(1.0) * std::f64::consts::PI;
    options.learning_rate * warm_up * (FINAL + (1.0 - FINAL) * 0.5 * (1.0 + turn.cos()))
}

/// What a training goes on from.
pub(super) struct Start<'a> {
    pub(super) base: &'a Base,
    pub(super) weights: &'a [f32],
}

/// Trains until the epochs are over, none has been better for long enough, or `progress` breaks.
pub(super) fn train(
    windows: &Windows<'_>,
    options: &TransformerOptions,
    start: Option<Start<'_>>,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Trained, PredictError> {
    /// The most windows that validate.
    const VALIDATION: usize = 512;
    let plain = device(options.backend);
    let learning = plain.clone().autodiff();
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let base = match &start {
        Some(start) => start.base.clone(),
        None => Base::fit(options, windows),
    };
    let reaches = |window: &&Window| {
        windows
            .until(window)
            .is_some_and(|(points, _)| points.len() >= base.lookback())
    };
    let mut order: Vec<Window> = windows.training.iter().filter(reaches).copied().collect();
    let validation: Vec<Window> = windows.validation.iter().filter(reaches).copied().collect();
    let spacing = validation.len().div_ceil(VALIDATION).max(1);
    let validation: Vec<Window> = validation.into_iter().step_by(spacing).collect();
    let batches: Vec<Vec<Window>> = validation.chunks(options.batch).map(<[_]>::to_vec).collect();

    let network = match start {
        Some(start) => Network::with_weights(options, start.weights, &plain),
        None => Network::drawn(options, &mut rng, &plain),
    };
    let diverged = |epoch| move || PredictError::Diverged { epoch };
    let mut weights = network.weights().ok_or_else(diverged(0))?;
    let loss = validate(options, &batches, windows, &base, &network, &plain).ok_or_else(diverged(0))?;
    let mut report = TrainingReport {
        training_windows: order.len(),
        validation_windows: validation.len(),
        history: Vec::new(),
        best_epoch: 0,
        best_validation_loss: loss,
        start_validation_loss: loss,
    };
    if order.is_empty() || validation.is_empty() {
        return Ok(Trained {
            base,
            weights,
            report,
        });
    }

    let mut network = Network::with_weights(options, &weights, &learning);
    let mut optimizer = AdamWConfig::new()
        .with_weight_decay(options.weight_decay as f32)
        .with_grad_clipping(Some(GradientClippingConfig::Norm(1.0)))
        .init();
    let drawn_each = order.len().min(options.windows_per_epoch);
    let steps_each = drawn_each.div_ceil(options.batch);
    let mut step = 0;
    for epoch in 1..=options.epochs {
        order.shuffle(&mut rng);
        let (mut loss, mut targets) = (0.0, 0.0);
        for chosen in order[..drawn_each].chunks(options.batch) {
            let rate = learning_rate(options, step, options.epochs * steps_each);
            let part = learn(options, windows, chosen, &base, &network, step, &learning)
                .ok_or_else(diverged(epoch))?;
            network = optimizer.step(rate, network, part.gradients);
            loss += part.loss;
            targets += part.targets;
            step += 1;
        }
        let train_loss = loss / f64::max(targets, 1.0);
        let learnt = network.weights().ok_or_else(diverged(epoch))?;
        let plain_network = Network::with_weights(options, &learnt, &plain);
        let validation_loss = validate(options, &batches, windows, &base, &plain_network, &plain)
            .ok_or_else(diverged(epoch))?;
        if !train_loss.is_finite() {
            return Err(diverged(epoch)());
        }
        if validation_loss < report.best_validation_loss {
            report.best_validation_loss = validation_loss;
            report.best_epoch = epoch;
            weights = learnt;
        }
        let state = Progress {
            epoch,
            epochs: options.epochs,
            train_loss,
            validation_loss,
        };
        tracing::debug!(epoch, train_loss, validation_loss, "transformer epoch");
        report.history.push(state);
        if progress(&state).is_break() || epoch - report.best_epoch >= options.patience {
            break;
        }
    }
    Ok(Trained {
        base,
        weights,
        report,
    })
}
