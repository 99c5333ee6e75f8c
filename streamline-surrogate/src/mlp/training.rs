//! Training an ensemble with Burn.
//!
//! All members are trained together, as one module whose weights have a leading axis for the member: the cost of a step
//! is mostly that of its operations, not of their arithmetic, so five members cost little more than one. Each member has
//! its own weights, its own order of samples, its own validation fold and its own best epoch.

use std::ops::ControlFlow;

use burn::Tensor;
use burn::module::{Module, Param};
use burn::optim::{AdamWConfig, GradientsParams};
use burn::tensor::activation::relu;
use burn::tensor::{Device, TensorData};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::SurrogateError;
use crate::mlp::features::FEATURES;
use crate::mlp::network::{DenseLayer, DenseNetwork};
use crate::mlp::options::{Backend, MlpOptions};
use crate::mlp::split::Split;

/// Outputs of the network: corrections to throughput, latency and cpu.
pub(crate) const TARGETS: usize = 3;

/// How far training has come.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The epoch that has just ended, from 1.
    pub epoch: usize,
    /// The most epochs there will be.
    pub epochs: usize,
    /// Loss on the training samples during the epoch, the mean over members.
    pub train_loss: f64,
    /// Loss on the validation samples after it, the mean over members.
    pub validation_loss: f64,
}

/// A training set in the network's terms: scaled features and scaled targets.
pub(crate) struct TrainingSet {
    pub(crate) features: Vec<[f32; FEATURES]>,
    pub(crate) targets: Vec<[f32; TARGETS]>,
    /// How much each sample counts; 1 is an ordinary one.
    pub(crate) weights: Vec<f32>,
}

/// Members with the weights of their best epochs.
pub(crate) struct Trained {
    pub(crate) members: Vec<DenseNetwork>,
    pub(crate) best_epochs: Vec<usize>,
    pub(crate) history: Vec<Progress>,
}

/// The weights of all members: `[members, inputs, outputs]` and `[members, 1, outputs]` a layer.
#[derive(Module, Debug)]
struct Ensemble {
    weights: Vec<Param<Tensor<3>>>,
    biases: Vec<Param<Tensor<3>>>,
}

impl Ensemble {
    /// Weights from our own generator (He et al. 2015): Burn's is one for the whole process, so that training in two
    /// threads at once would not repeat. The last layer starts small, that is near no correction.
    fn new(options: &MlpOptions, device: &Device, rng: &mut ChaCha8Rng) -> Self {
        const LAST: f32 = 0.1;
        let mut sizes = vec![FEATURES];
        sizes.extend(&options.hidden);
        sizes.push(TARGETS);
        let (mut weights, mut biases) = (Vec::new(), Vec::new());
        for (layer, pair) in sizes.windows(2).enumerate() {
            let [inputs, outputs] = [pair[0], pair[1]];
            let last = if layer + 2 == sizes.len() { LAST } else { 1.0 };
            let bound = last * (6.0 / inputs as f32).sqrt();
            let values: Vec<f32> = (0..options.members * inputs * outputs)
                .map(|_| rng.random_range(-bound..bound))
                .collect();
            let shape = [options.members, inputs, outputs];
            weights.push(Param::from_data(TensorData::new(values, shape), device));
            let shape = [options.members, 1, outputs];
            let zeros = vec![0.0f32; options.members * outputs];
            biases.push(Param::from_data(TensorData::new(zeros, shape), device));
        }
        Self { weights, biases }
    }

    /// Rows of every member, `[members, rows, inputs]`, to `[members, rows, outputs]`.
    fn forward(&self, rows: Tensor<3>) -> Tensor<3> {
        let mut values = rows;
        for (layer, (weight, bias)) in self.weights.iter().zip(&self.biases).enumerate() {
            if layer > 0 {
                values = relu(values);
            }
            values = values.matmul(weight.val()) + bias.val();
        }
        values
    }

    /// The weights of each member, compact.
    fn extract(&self, epoch: usize) -> Result<Vec<DenseNetwork>, SurrogateError> {
        let diverged = || SurrogateError::Diverged { epoch };
        let mut members: Vec<Vec<DenseLayer>> = Vec::new();
        for (weight, bias) in self.weights.iter().zip(&self.biases) {
            let [count, inputs, outputs] = weight.val().dims();
            let values = |tensor: Tensor<3>| {
                let data = tensor.try_into_data().map_err(|_| diverged())?;
                data.try_to_vec::<f32>().map_err(|_| diverged())
            };
            let weights = values(weight.val())?;
            let bias = values(bias.val())?;
            members.resize(count, Vec::new());
            let parts = weights
                .chunks_exact(inputs * outputs)
                .zip(bias.chunks_exact(outputs));
            for (member, (weights, bias)) in members.iter_mut().zip(parts) {
                member.push(DenseLayer {
                    inputs,
                    outputs,
                    weights: weights.to_vec(),
                    bias: bias.to_vec(),
                });
            }
        }
        members
            .into_iter()
            .map(|layers| DenseNetwork::new(layers).map_err(|_| diverged()))
            .collect()
    }
}

/// `√(1 + e²) − 1`, weighted, summed over values and divided by the rows: quadratic for small errors, linear for large
/// ones, so that single bad samples do not rule.
fn loss(outputs: Tensor<3>, targets: Tensor<3>, weights: Tensor<3>) -> Tensor<1> {
    let [_, rows, _] = outputs.dims();
    let error = outputs - targets;
    let each = ((error.clone() * error) + 1.0).sqrt().sub_scalar(1.0);
    (each * weights).sum() / rows as f32
}

/// The same loss of compact weights on the samples `indices`.
fn compact_loss(
    network: &DenseNetwork,
    set: &TrainingSet,
    indices: &[usize],
    buffers: &mut Buffers,
) -> Result<f64, SurrogateError> {
    buffers.rows.clear();
    for &index in indices {
        buffers.rows.extend_from_slice(&set.features[index]);
    }
    buffers.out.resize(indices.len() * TARGETS, 0.0);
    network.infer(&buffers.rows, &mut buffers.out)?;
    let (mut sum, mut weights) = (0.0, 0.0);
    for (&index, out) in indices.iter().zip(buffers.out.chunks_exact(TARGETS)) {
        let weight = f64::from(set.weights[index]);
        weights += weight;
        for (target, out) in set.targets[index].iter().zip(out) {
            sum += weight * ((1.0 + f64::from(out - target).powi(2)).sqrt() - 1.0);
        }
    }
    Ok(sum / f64::max(weights, f64::MIN_POSITIVE))
}

#[derive(Default)]
struct Buffers {
    rows: Vec<f32>,
    out: Vec<f32>,
}

fn device(backend: Backend) -> Device {
    match backend {
        Backend::Flex => Device::flex(),
        #[cfg(feature = "ndarray")]
        #[expect(deprecated, reason = "offered for as long as Burn has it")]
        Backend::Ndarray => Device::ndarray(),
    }
    .autodiff()
}

/// Trains all members until the epochs are over, none of them has become better for long enough, or `progress` breaks.
pub(crate) fn train(
    set: &TrainingSet,
    split: &Split,
    options: &MlpOptions,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Trained, SurrogateError> {
    /// The learning rate at the end, as a share of that at the start.
    const FINAL: f64 = 0.02;
    let device = device(options.backend);
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed.wrapping_add(0x5eed));
    let mut ensemble = Ensemble::new(options, &device, &mut rng);
    let mut optimizer = AdamWConfig::new()
        .with_weight_decay(options.weight_decay as f32)
        .init();

    let members = options.members;
    let mut orders: Vec<Vec<usize>> = (0..members).map(|member| split.training(member)).collect();
    let validation: Vec<Vec<usize>> = (0..members).map(|member| split.validation(member)).collect();
    let longest = orders.iter().map(Vec::len).max().unwrap_or(0);
    // At least eight steps an epoch, where there are samples for them.
    let batch = options.batch.min(longest.div_ceil(8)).max(1);

    let mut best: Vec<(f64, usize, DenseNetwork)> = Vec::new();
    let mut history = Vec::new();
    let mut buffers = Buffers::default();
    let mut last_gain = 0;
    for epoch in 1..=options.epochs {
        for order in &mut orders {
            order.shuffle(&mut rng);
        }
        let turn = (epoch - 1) as f64 / options.epochs as f64 * std::f64::consts::PI;
        let rate = options.learning_rate * (FINAL + (1.0 - FINAL) * 0.5 * (1.0 + turn.cos()));
        let (mut train_loss, mut steps) = (0.0, 0.0f64);
        for start in (0..longest).step_by(batch) {
            let rows = batch.min(longest - start);
            let mut inputs = Vec::with_capacity(members * rows * FEATURES);
            let mut targets = Vec::with_capacity(members * rows * TARGETS);
            let mut weights = Vec::with_capacity(members * rows);
            for order in &orders {
                // A member with fewer samples starts over.
                for &index in order.iter().cycle().skip(start).take(rows) {
                    inputs.extend_from_slice(&set.features[index]);
                    targets.extend_from_slice(&set.targets[index]);
                    weights.push(set.weights[index]);
                }
            }
            let tensor = |values: Vec<f32>, width: usize| {
                Tensor::<3>::from_data(TensorData::new(values, [members, rows, width]), &device)
            };
            let outputs = ensemble.forward(tensor(inputs, FEATURES));
            let loss = loss(outputs, tensor(targets, TARGETS), tensor(weights, 1));
            let gradients = GradientsParams::from_grads(loss.backward(), &ensemble);
            ensemble = optimizer.step(rate, ensemble, gradients);
            let loss = loss
                .try_into_scalar::<f32>()
                .map_err(|_| SurrogateError::Diverged { epoch })?;
            train_loss += f64::from(loss) / members as f64;
            steps += 1.0;
        }

        let networks = ensemble.extract(epoch)?;
        let mut validation_loss = 0.0;
        for (member, network) in networks.into_iter().enumerate() {
            let loss = compact_loss(&network, set, &validation[member], &mut buffers)?;
            validation_loss += loss / members as f64;
            match best.get_mut(member) {
                None => {
                    best.push((loss, epoch, network));
                    last_gain = epoch;
                }
                Some(best) if loss < best.0 => {
                    *best = (loss, epoch, network);
                    last_gain = epoch;
                }
                Some(_) => {}
            }
        }
        let state = Progress {
            epoch,
            epochs: options.epochs,
            train_loss: train_loss / steps.max(1.0),
            validation_loss,
        };
        if !state.train_loss.is_finite() || !state.validation_loss.is_finite() {
            return Err(SurrogateError::Diverged { epoch });
        }
        tracing::debug!(
            epoch,
            train_loss = state.train_loss,
            validation_loss,
            "surrogate epoch"
        );
        history.push(state);
        if progress(&state).is_break() || epoch - last_gain >= options.patience {
            break;
        }
    }
    let best_epochs = best.iter().map(|&(_, epoch, _)| epoch).collect();
    Ok(Trained {
        members: best.into_iter().map(|(_, _, network)| network).collect(),
        best_epochs,
        history,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compact_weights_answer_as_the_burn_module_does() {
        let options = MlpOptions {
            members: 3,
            hidden: vec![33, 7],
            ..MlpOptions::default()
        };
        let device = Device::flex();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let ensemble = Ensemble::new(&options, &device, &mut rng);
        let rows = 37;
        let inputs: Vec<f32> = (0..3 * rows * FEATURES)
            .map(|_| rng.random_range(-3.0..3.0))
            .collect();
        let burn: Vec<f32> = ensemble
            .forward(Tensor::from_data(
                TensorData::new(inputs.clone(), [3, rows, FEATURES]),
                &device,
            ))
            .into_data()
            .try_to_vec()
            .unwrap();
        let mut own = vec![0.0; 3 * rows * TARGETS];
        let networks = ensemble.extract(1).unwrap();
        for (member, network) in networks.iter().enumerate() {
            network
                .infer(
                    &inputs[member * rows * FEATURES..][..rows * FEATURES],
                    &mut own[member * rows * TARGETS..][..rows * TARGETS],
                )
                .unwrap();
        }
        for (own, burn) in own.iter().zip(&burn) {
            approx::assert_relative_eq!(own, burn, epsilon = 1e-5, max_relative = 1e-4);
        }
    }
}
