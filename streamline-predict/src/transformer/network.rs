//! The network: patches of a window become tokens, an encoder relates them, a linear head reads the forecast off.
//!
//! The baseline's forecast is one more token. Patches as tokens follow `PatchTST` (Nie et al. 2023), the encoder layers are those of Vaswani et al. 2017 with the
//! normalisation in front (Xiong et al. 2020), and the linear path beside them is that of `NLinear` (Zeng et al. 2023).

use burn::Tensor;
use burn::module::{Module, Param};
use burn::tensor::activation::{relu, softmax, softplus};
use burn::tensor::module::layer_norm;
use burn::tensor::{Device, TensorData};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::options::{Backend, TransformerOptions};
use crate::residuals::LEVELS;

/// How each quantile follows from the median and the gaps between neighbours, so that quantiles never cross.
const FROM_GAPS: [[f32; LEVELS.len() - 1]; LEVELS.len()] = [
    [-1.0, 0.0, 0.0, 0.0],
    [0.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 0.0, 0.0],
    [0.0, 1.0, 1.0, 0.0],
    [0.0, 1.0, 1.0, 1.0],
];

/// How a parameter starts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Start {
    /// Uniform between minus and plus this.
    Uniform(f32),
    /// All of this value.
    Constant(f32),
}

/// Hands out the values of one parameter after another: drawn, or read from a file.
pub(super) type Source<'a> = &'a mut dyn FnMut(usize, Start) -> Vec<f32>;

/// `y = x·W + b`, with weights `[inputs, outputs]` and a bias `[1, outputs]`.
#[derive(Module, Debug)]
struct Dense {
    weight: Param<Tensor<2>>,
    bias: Param<Tensor<2>>,
}

impl Dense {
    fn new(inputs: usize, outputs: usize, start: Start, source: Source<'_>, device: &Device) -> Self {
        Self {
            weight: parameter([inputs, outputs], start, source, device),
            bias: parameter([1, outputs], Start::Constant(0.0), source, device),
        }
    }

    /// Glorot and Bengio 2010.
    fn glorot(inputs: usize, outputs: usize, source: Source<'_>, device: &Device) -> Self {
        let bound = (6.0 / (inputs + outputs) as f32).sqrt();
        Self::new(inputs, outputs, Start::Uniform(bound), source, device)
    }

    fn forward(&self, rows: Tensor<2>) -> Tensor<2> {
        rows.matmul(self.weight.val()) + self.bias.val()
    }

    fn collect(&self, into: &mut Vec<Tensor<1>>) {
        into.extend([self.weight.val().flatten(0, 1), self.bias.val().flatten(0, 1)]);
    }
}

#[derive(Module, Debug)]
struct Norm {
    gain: Param<Tensor<1>>,
    shift: Param<Tensor<1>>,
}

impl Norm {
    fn new(width: usize, source: Source<'_>, device: &Device) -> Self {
        Self {
            gain: parameter([width], Start::Constant(1.0), source, device),
            shift: parameter([width], Start::Constant(0.0), source, device),
        }
    }

    fn forward(&self, rows: Tensor<2>) -> Tensor<2> {
        layer_norm(rows, self.gain.val(), Some(self.shift.val()), 1e-5)
    }

    fn collect(&self, into: &mut Vec<Tensor<1>>) {
        into.extend([self.gain.val(), self.shift.val()]);
    }
}

#[derive(Module, Debug)]
struct Layer {
    attention_norm: Norm,
    query: Dense,
    key: Dense,
    value: Dense,
    mix: Dense,
    feed_norm: Norm,
    widen: Dense,
    narrow: Dense,
}

impl Layer {
    fn new(options: &TransformerOptions, source: Source<'_>, device: &Device) -> Self {
        let (width, wide) = (options.d_model, options.feed_forward);
        Self {
            attention_norm: Norm::new(width, source, device),
            query: Dense::glorot(width, width, source, device),
            key: Dense::glorot(width, width, source, device),
            value: Dense::glorot(width, width, source, device),
            mix: Dense::glorot(width, width, source, device),
            feed_norm: Norm::new(width, source, device),
            widen: Dense::glorot(width, wide, source, device),
            narrow: Dense::glorot(wide, width, source, device),
        }
    }

    /// Rows `[windows · tokens, width]` to the same shape.
    fn forward(&self, rows: Tensor<2>, tokens: usize, heads: usize) -> Tensor<2> {
        let [count, width] = rows.dims();
        let (windows, each) = (count / tokens, width / heads);
        let split = |rows: Tensor<2>| rows.reshape([windows, tokens, heads, each]).swap_dims(1, 2);
        let normed = self.attention_norm.forward(rows.clone());
        let query = split(self.query.forward(normed.clone()));
        let key = split(self.key.forward(normed.clone()));
        let value = split(self.value.forward(normed));
        let scores = query.matmul(key.swap_dims(2, 3)).div_scalar((each as f32).sqrt());
        let related = softmax(scores, 3).matmul(value);
        let rows = rows + self.mix.forward(related.swap_dims(1, 2).reshape([count, width]));
        let fed = relu(self.widen.forward(self.feed_norm.forward(rows.clone())));
        rows + self.narrow.forward(fed)
    }

    fn collect(&self, into: &mut Vec<Tensor<1>>) {
        self.attention_norm.collect(into);
        for dense in [&self.query, &self.key, &self.value, &self.mix] {
            dense.collect(into);
        }
        self.feed_norm.collect(into);
        self.widen.collect(into);
        self.narrow.collect(into);
    }
}

/// Maps normalised windows to quantiles of what the baseline leaves over.
#[derive(Module, Debug)]
pub(super) struct Network {
    embed: Dense,
    embed_base: Dense,
    position: Param<Tensor<2>>,
    layers: Vec<Layer>,
    norm: Norm,
    head: Dense,
    linear: Param<Tensor<2>>,
    from_gaps: Tensor<3>,
    heads: usize,
}

impl Network {
    /// A network whose parameters come from `source`, one after another, in the order of [`Network::weights`].
    pub(super) fn new(options: &TransformerOptions, source: Source<'_>, device: &Device) -> Self {
        let (width, tokens) = (options.d_model, tokens(options));
        let outputs = LEVELS.len() * options.horizon;
        let zero = Start::Constant(0.0);
        Self {
            embed: Dense::glorot(options.patch, width, source, device),
            embed_base: Dense::glorot(options.horizon, width, source, device),
            position: parameter([tokens, width], Start::Uniform(0.02), source, device),
            layers: (0..options.layers)
                .map(|_| Layer::new(options, source, device))
                .collect(),
            norm: Norm::new(width, source, device),
            // Zero, so that training starts at the baseline.
            head: Dense::new(tokens * width, outputs, zero, source, device),
            linear: parameter([options.lookback, options.horizon], zero, source, device),
            from_gaps: Tensor::from_data(TensorData::from([FROM_GAPS]), device),
            heads: options.heads,
        }
    }

    /// A network that has learnt nothing. Its weights come from our own generator: Burn's is one for the whole
    /// process, so that training in two threads at once would not repeat.
    pub(super) fn drawn(options: &TransformerOptions, rng: &mut ChaCha8Rng, device: &Device) -> Self {
        let mut draw = |count, start| match start {
            Start::Constant(value) => vec![value; count],
            Start::Uniform(bound) => (0..count).map(|_| rng.random_range(-bound..bound)).collect(),
        };
        Self::new(options, &mut draw, device)
    }

    /// A network with the weights that another one's [`Network::weights`] gave; zeros where there are too few.
    pub(super) fn with_weights(options: &TransformerOptions, weights: &[f32], device: &Device) -> Self {
        let mut rest = weights.iter();
        let mut take = |count, _| {
            let mut values: Vec<f32> = rest.by_ref().take(count).copied().collect();
            values.resize(count, 0.0);
            values
        };
        Self::new(options, &mut take, device)
    }

    /// All weights, or none if the backend cannot give them or one is not finite.
    pub(super) fn weights(&self) -> Option<Vec<f32>> {
        let mut parameters = Vec::new();
        self.embed.collect(&mut parameters);
        self.embed_base.collect(&mut parameters);
        parameters.push(self.position.val().flatten(0, 1));
        for layer in &self.layers {
            layer.collect(&mut parameters);
        }
        self.norm.collect(&mut parameters);
        self.head.collect(&mut parameters);
        parameters.push(self.linear.val().flatten(0, 1));
        let mut weights = Vec::new();
        for parameter in parameters {
            weights.extend(host(parameter)?);
        }
        weights.iter().all(|weight| weight.is_finite()).then_some(weights)
    }

    /// Windows `[windows, lookback]` and what the baseline says of them, `[windows, horizon]`, to quantiles
    /// `[windows, levels, horizon]`, ascending along the levels. `kept` scales what the encoder gives,
    /// `[windows, tokens · width]`, where some of it is to be left out.
    pub(super) fn forward(&self, windows: Tensor<2>, bases: Tensor<2>, kept: Option<Tensor<2>>) -> Tensor<3> {
        let [count, lookback] = windows.dims();
        let [tokens, width] = self.position.val().dims();
        let [_, horizon] = self.linear.val().dims();
        let patches = tokens - 1;
        let cut = windows.clone().reshape([count * patches, lookback / patches]);
        let embedded = self.embed.forward(cut).reshape([count, patches, width]);
        let expected = self.embed_base.forward(bases).reshape([count, 1, width]);
        let embedded = Tensor::cat(vec![embedded, expected], 1);
        let placed = embedded + self.position.val().unsqueeze::<3>();
        let mut rows = placed.reshape([count * tokens, width]);
        for layer in &self.layers {
            rows = layer.forward(rows, tokens, self.heads);
        }
        let flat = self.norm.forward(rows).reshape([count, tokens * width]);
        let flat = match kept {
            Some(kept) => flat * kept,
            None => flat,
        };
        let read = self.head.forward(flat).reshape([count, LEVELS.len(), horizon]);
        let line = windows.matmul(self.linear.val()).reshape([count, 1, horizon]);
        let median = read.clone().narrow(1, 0, 1) + line;
        let gaps = softplus(read.narrow(1, 1, LEVELS.len() - 1).sub_scalar(1.0), 1.0);
        let shape = [count, LEVELS.len(), LEVELS.len() - 1];
        median + self.from_gaps.clone().expand(shape).matmul(gaps)
    }
}

fn parameter<const D: usize>(
    shape: [usize; D],
    start: Start,
    source: Source<'_>,
    device: &Device,
) -> Param<Tensor<D>> {
    let values = source(shape.iter().product(), start);
    Param::from_data(TensorData::new(values, shape), device)
}

/// The values of a tensor, or none if the backend cannot give them.
pub(super) fn host<const D: usize>(tensor: Tensor<D>) -> Option<Vec<f32>> {
    tensor.try_into_data().ok()?.try_to_vec::<f32>().ok()
}

/// The device of a backend, without differentiation.
pub(super) fn device(backend: Backend) -> Device {
    match backend {
        Backend::Flex => Device::flex(),
        #[cfg(feature = "ndarray")]
        #[expect(deprecated, reason = "offered for as long as Burn has it")]
        Backend::Ndarray => Device::ndarray(),
        #[cfg(feature = "wgpu")]
        Backend::Wgpu => Device::wgpu(burn::tensor::DeviceKind::DefaultDevice),
    }
}

/// One for each patch and one for the baseline.
pub(super) fn tokens(options: &TransformerOptions) -> usize {
    options.lookback / options.patch + 1
}

/// How many weights a network with these options has.
pub(super) fn weight_count(options: &TransformerOptions) -> usize {
    let (width, wide) = (options.d_model, options.feed_forward);
    let tokens = tokens(options);
    let dense = |inputs: usize, outputs: usize| inputs.saturating_add(1).saturating_mul(outputs);
    let layer = 4 * dense(width, width) + 4 * width + dense(width, wide) + dense(wide, width);
    [
        dense(options.patch, width),
        dense(options.horizon, width),
        tokens.saturating_mul(width),
        options.layers.saturating_mul(layer),
        2 * width,
        dense(tokens.saturating_mul(width), LEVELS.len() * options.horizon),
        options.lookback.saturating_mul(options.horizon),
    ]
    .into_iter()
    .fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn tiny() -> TransformerOptions {
        TransformerOptions {
            lookback: 12,
            horizon: 3,
            patch: 4,
            d_model: 6,
            heads: 2,
            layers: 2,
            feed_forward: 5,
            ..TransformerOptions::default()
        }
    }

    fn tensor(values: Vec<f32>, shape: [usize; 2]) -> Tensor<2> {
        Tensor::from_data(TensorData::new(values, shape), &device(Backend::Flex))
    }

    #[test]
    fn weights_go_out_in_the_order_in_which_they_come_in() {
        let options = tiny();
        let device = device(Backend::Flex);
        let weights: Vec<f32> = (0..weight_count(&options))
            .map(|index| index as f32 * 1e-4)
            .collect();
        let network = Network::with_weights(&options, &weights, &device);
        assert_eq!(network.weights().unwrap(), weights);
    }

    #[test]
    fn quantiles_never_cross_whatever_the_weights() {
        let options = tiny();
        let device = device(Backend::Flex);
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let weights: Vec<f32> = (0..weight_count(&options))
            .map(|_| rng.random_range(-2.0..2.0))
            .collect();
        let network = Network::with_weights(&options, &weights, &device);
        let windows: Vec<f32> = (0..5 * 12).map(|_| rng.random_range(-3.0..3.0)).collect();
        let out = network.forward(tensor(windows, [5, 12]), tensor(vec![0.5; 5 * 3], [5, 3]), None);
        assert_eq!(out.dims(), [5, LEVELS.len(), 3]);
        for window in host(out).unwrap().chunks_exact(LEVELS.len() * 3) {
            for (lower, upper) in window.iter().zip(&window[3..]) {
                assert!(lower <= upper);
            }
        }
    }

    #[test]
    fn an_untrained_network_adds_nothing_to_the_baseline() {
        let options = tiny();
        let device = device(Backend::Flex);
        let network = Network::drawn(&options, &mut ChaCha8Rng::seed_from_u64(1), &device);
        let windows: Vec<f32> = (0..12).map(|index| index as f32).collect();
        let out = network.forward(tensor(windows, [1, 12]), tensor(vec![0.5; 3], [1, 3]), None);
        let out = host(out).unwrap();
        assert!(
            out[crate::residuals::MEDIAN * 3..][..3]
                .iter()
                .all(|&median| median.abs() < 1e-9)
        );
        assert!(out[0] < 0.0 && out[2 * 3] > 0.0);
    }
}
