//! Trained weights in a compact form, and a kernel that runs many rows through them.
//!
//! Rows lie across the lanes of vector registers: a *panel* of as many rows as a register has lanes goes through all
//! layers before the next one starts, so that its activations (a few kilobytes) and all weights stay in the first-level
//! cache. A block of eight outputs is kept in registers; for every input, its eight weights are broadcast and multiplied
//! with the panel. The instruction set is chosen at run time.

use std::cell::RefCell;

use pulp::{Arch, Simd, WithSimd};

use crate::SurrogateError;

/// Outputs that are worked out together.
const BLOCK: usize = 8;
/// Outputs of a narrow block, at the end of a layer.
const NARROW: usize = 4;
/// Lanes of the widest vector register.
const MOST_LANES: usize = 16;

/// One dense layer, its weights packed in the order in which the kernel reads them.
#[derive(Debug, Clone, PartialEq)]
struct Layer {
    inputs: usize,
    outputs: usize,
    /// For each block of eight outputs, each input's eight weights.
    blocks: Vec<[f32; BLOCK]>,
    /// The same for the blocks of four that remain, the last filled up with zeros.
    narrow: Vec<[f32; NARROW]>,
    /// Filled up with zeros to a multiple of four.
    bias: Vec<f32>,
}

/// The weights of one dense layer, `y = x·W + b`.
#[derive(Debug, Clone, PartialEq)]
pub struct DenseLayer {
    /// Number of inputs.
    pub inputs: usize,
    /// Number of outputs.
    pub outputs: usize,
    /// `inputs × outputs` weights, row by row: all outputs' weights of the first input come first.
    pub weights: Vec<f32>,
    /// One number for each output.
    pub bias: Vec<f32>,
}

/// A multi-layer perceptron with rectified hidden layers and a linear output, for inference only.
///
/// Rows go through it at several millions a second and core. It allocates nothing when asked (a scratch buffer a
/// thread is made at the first call), and its answers do not depend on how rows are batched.
///
/// # Examples
///
/// ```
/// use streamline_surrogate::{DenseLayer, DenseNetwork};
///
/// // |x| = max(x, 0) + max(−x, 0)
/// let network = DenseNetwork::new(vec![
///     DenseLayer { inputs: 1, outputs: 2, weights: vec![1.0, -1.0], bias: vec![0.0; 2] },
///     DenseLayer { inputs: 2, outputs: 1, weights: vec![1.0, 1.0], bias: vec![0.0] },
/// ])?;
/// let mut out = [0.0; 3];
/// network.infer(&[-2.0, 0.0, 3.0], &mut out)?;
/// assert_eq!(out, [2.0, 0.0, 3.0]);
/// # Ok::<(), streamline_surrogate::SurrogateError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DenseNetwork {
    layers: Vec<Layer>,
    inputs: usize,
    outputs: usize,
    /// The most values that any layer takes or gives, a multiple of four.
    widest: usize,
}

impl DenseNetwork {
    /// Packs the weights of `layers`, from the first to the last.
    ///
    /// # Errors
    /// [`SurrogateError::InvalidNetwork`] if there is no layer, if their shapes do not fit or are empty, or if a weight
    /// is not finite.
    pub fn new(layers: Vec<DenseLayer>) -> Result<Self, SurrogateError> {
        let refuse = |layer, reason| Err(SurrogateError::InvalidNetwork { layer, reason });
        let (Some(first), Some(last)) = (layers.first(), layers.last()) else {
            return refuse(0, "there is no layer");
        };
        let (inputs, outputs) = (first.inputs, last.outputs);
        let mut expected = inputs;
        let mut widest = 0;
        for (index, layer) in layers.iter().enumerate() {
            if layer.inputs == 0 || layer.outputs == 0 {
                return refuse(index, "it has no inputs or no outputs");
            }
            if layer.inputs != expected {
                return refuse(index, "its inputs are not as many as the outputs before it");
            }
            if Some(layer.weights.len()) != layer.inputs.checked_mul(layer.outputs)
                || layer.bias.len() != layer.outputs
            {
                return refuse(index, "its weights do not fit its shape");
            }
            if !layer
                .weights
                .iter()
                .chain(&layer.bias)
                .all(|weight| weight.is_finite())
            {
                return refuse(index, "a weight is not finite");
            }
            expected = layer.outputs;
            // Both are at most the number of weights, so this does not overflow.
            widest = widest.max(layer.inputs.max(layer.outputs).next_multiple_of(NARROW));
        }
        Ok(Self {
            layers: layers.iter().map(Layer::pack).collect(),
            inputs,
            outputs,
            widest,
        })
    }

    /// The layers as they were given.
    #[must_use]
    pub fn to_layers(&self) -> Vec<DenseLayer> {
        self.layers.iter().map(Layer::unpack).collect()
    }

    /// Number of inputs.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Number of outputs.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Runs rows of inputs, one after another in `rows`, and writes their outputs into `out` in the same order.
    ///
    /// # Errors
    /// [`SurrogateError::WrongLength`] if `rows` is not a whole number of rows or `out` does not hold as many.
    pub fn infer(&self, rows: &[f32], out: &mut [f32]) -> Result<(), SurrogateError> {
        thread_local! {
            static SCRATCH: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
        }
        let count = rows.len() / self.inputs;
        if !rows.len().is_multiple_of(self.inputs) || out.len() != count * self.outputs {
            return Err(SurrogateError::WrongLength {
                queries: count,
                out: out.len() / self.outputs,
            });
        }
        SCRATCH.with_borrow_mut(|scratch| {
            let half = self.widest * MOST_LANES;
            // A panel's values start at a cache line.
            let wanted = 2 * half + MOST_LANES;
            if scratch.len() < wanted {
                scratch.resize(wanted, 0.0);
            }
            let start = scratch.as_ptr().align_offset(64).min(MOST_LANES);
            let (front, back) = scratch[start..].split_at_mut(half);
            Arch::new().dispatch(Forward {
                network: self,
                rows,
                out,
                front,
                back: &mut back[..half],
            });
        });
        Ok(())
    }
}

impl Layer {
    fn pack(layer: &DenseLayer) -> Self {
        let weight = |input: usize, output: usize| {
            if output < layer.outputs {
                layer.weights[input * layer.outputs + output]
            } else {
                0.0
            }
        };
        let full = layer.outputs / BLOCK;
        let mut blocks = Vec::with_capacity(full * layer.inputs);
        for block in 0..full {
            for input in 0..layer.inputs {
                blocks.push(std::array::from_fn(|lane| weight(input, block * BLOCK + lane)));
            }
        }
        let mut narrow = Vec::new();
        for start in (full * BLOCK..layer.outputs).step_by(NARROW) {
            for input in 0..layer.inputs {
                narrow.push(std::array::from_fn(|lane| weight(input, start + lane)));
            }
        }
        let mut bias = layer.bias.clone();
        bias.resize(layer.outputs.next_multiple_of(NARROW), 0.0);
        Self {
            inputs: layer.inputs,
            outputs: layer.outputs,
            blocks,
            narrow,
            bias,
        }
    }

    fn unpack(&self) -> DenseLayer {
        let full = self.outputs / BLOCK * BLOCK;
        let mut weights = vec![0.0; self.inputs * self.outputs];
        for input in 0..self.inputs {
            for output in 0..self.outputs {
                weights[input * self.outputs + output] = if output < full {
                    self.blocks[output / BLOCK * self.inputs + input][output % BLOCK]
                } else {
                    let rest = output - full;
                    self.narrow[rest / NARROW * self.inputs + input][rest % NARROW]
                };
            }
        }
        DenseLayer {
            inputs: self.inputs,
            outputs: self.outputs,
            weights,
            bias: self.bias[..self.outputs].to_vec(),
        }
    }

    /// Runs one panel: `input` and `output` hold one vector for each value.
    #[inline(always)]
    fn run<S: Simd>(&self, simd: S, input: &[S::f32s], output: &mut [S::f32s], rectify: bool) {
        let mut output = output.iter_mut();
        let mut bias = self.bias.iter();
        for weights in self.blocks.chunks_exact(self.inputs) {
            run_block(simd, weights, input, &mut bias, &mut output, rectify);
        }
        for weights in self.narrow.chunks_exact(self.inputs) {
            run_block(simd, weights, input, &mut bias, &mut output, rectify);
        }
    }
}

/// `N` outputs of one panel.
#[inline(always)]
fn run_block<'a, S: Simd, const N: usize>(
    simd: S,
    weights: &[[f32; N]],
    input: &[S::f32s],
    bias: &mut impl Iterator<Item = &'a f32>,
    output: &mut impl Iterator<Item = &'a mut S::f32s>,
    rectify: bool,
) where
    S::f32s: 'a,
{
    let zero = simd.splat_f32s(0.0);
    let mut sums = [zero; N];
    for (sum, &bias) in sums.iter_mut().zip(bias.by_ref().take(N)) {
        *sum = simd.splat_f32s(bias);
    }
    for (weights, &input) in weights.iter().zip(input) {
        for lane in 0..N {
            sums[lane] = simd.mul_add_e_f32s(simd.splat_f32s(weights[lane]), input, sums[lane]);
        }
    }
    for (sum, output) in sums.into_iter().zip(output.by_ref().take(N)) {
        *output = if rectify { simd.max_f32s(sum, zero) } else { sum };
    }
}

/// All rows through all layers.
struct Forward<'a> {
    network: &'a DenseNetwork,
    rows: &'a [f32],
    out: &'a mut [f32],
    front: &'a mut [f32],
    back: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let lanes = S::F32_LANES;
        debug_assert!(lanes <= MOST_LANES);
        let Self {
            network,
            rows,
            out,
            front,
            back,
        } = self;
        let panels = rows
            .chunks(lanes * network.inputs)
            .zip(out.chunks_mut(lanes * network.outputs));
        for (rows, out) in panels {
            for (lane, row) in rows.chunks_exact(network.inputs).enumerate() {
                for (column, &value) in front.chunks_exact_mut(lanes).zip(row) {
                    column[lane] = value;
                }
            }
            let (mut from, _) = S::as_mut_simd_f32s(front);
            let (mut to, _) = S::as_mut_simd_f32s(back);
            for (index, layer) in network.layers.iter().enumerate() {
                let rectify = index + 1 < network.layers.len();
                layer.run(simd, from, to, rectify);
                (from, to) = (to, from);
            }
            let result: &[f32] = if network.layers.len() % 2 == 0 {
                front
            } else {
                back
            };
            for (lane, row) in out.chunks_exact_mut(network.outputs).enumerate() {
                for (value, column) in row.iter_mut().zip(result.chunks_exact(lanes)) {
                    *value = column[lane];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn random(shape: &[usize], seed: u64) -> Vec<DenseLayer> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        shape
            .windows(2)
            .map(|pair| DenseLayer {
                inputs: pair[0],
                outputs: pair[1],
                weights: (0..pair[0] * pair[1])
                    .map(|_| rng.random_range(-0.5..0.5))
                    .collect(),
                bias: (0..pair[1]).map(|_| rng.random_range(-0.5..0.5)).collect(),
            })
            .collect()
    }

    /// The definition, in `f64`.
    fn oracle(layers: &[DenseLayer], row: &[f32]) -> Vec<f64> {
        let mut values: Vec<f64> = row.iter().map(|&value| f64::from(value)).collect();
        for (index, layer) in layers.iter().enumerate() {
            values = (0..layer.outputs)
                .map(|output| {
                    let sum = values.iter().enumerate().fold(
                        f64::from(layer.bias[output]),
                        |sum, (input, value)| {
                            sum + value * f64::from(layer.weights[input * layer.outputs + output])
                        },
                    );
                    if index + 1 < layers.len() {
                        sum.max(0.0)
                    } else {
                        sum
                    }
                })
                .collect();
        }
        values
    }

    proptest! {
        #[test]
        fn any_shape_and_batch_agrees_with_the_definition(
            shape in prop::collection::vec(1usize..40, 2..5),
            rows in 0usize..70,
            seed in any::<u64>(),
        ) {
            let layers = random(&shape, seed);
            let network = DenseNetwork::new(layers.clone()).unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 1);
            let input: Vec<f32> = (0..rows * shape[0]).map(|_| rng.random_range(-2.0..2.0)).collect();
            let mut out = vec![f32::NAN; rows * network.outputs()];
            network.infer(&input, &mut out).unwrap();
            for (row, out) in input.chunks_exact(shape[0]).zip(out.chunks_exact(network.outputs())) {
                for (expected, &value) in oracle(&layers, row).into_iter().zip(out) {
                    prop_assert!((expected - f64::from(value)).abs() < 1e-4 * (1.0 + expected.abs()));
                }
            }
            prop_assert_eq!(network.to_layers(), layers);
        }
    }

    #[test]
    fn a_row_gives_the_same_bits_alone_and_in_a_batch() {
        let network = DenseNetwork::new(random(&[8, 64, 64, 3], 5)).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let rows: Vec<f32> = (0..8 * 101).map(|_| rng.random_range(-2.0..2.0)).collect();
        let mut together = vec![0.0; 3 * 101];
        network.infer(&rows, &mut together).unwrap();
        for (row, together) in rows.chunks_exact(8).zip(together.chunks_exact(3)) {
            let mut alone = [0.0; 3];
            network.infer(row, &mut alone).unwrap();
            assert_eq!(
                alone.map(f32::to_bits).as_slice(),
                together.iter().map(|value| value.to_bits()).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn a_network_that_does_not_fit_together_is_refused_with_the_layer() {
        let refused = |layers: Vec<DenseLayer>| match DenseNetwork::new(layers) {
            Err(SurrogateError::InvalidNetwork { layer, .. }) => layer,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(vec![]), 0);
        let mut layers = random(&[2, 3, 1], 1);
        layers[1].inputs = 4;
        assert_eq!(refused(layers), 1);
        let mut layers = random(&[2, 3, 1], 1);
        layers[0].weights.pop();
        assert_eq!(refused(layers), 0);
        let mut layers = random(&[2, 3, 1], 1);
        layers[1].bias[0] = f32::NAN;
        assert_eq!(refused(layers), 1);
        let mut layers = random(&[2, 3, 1], 1);
        layers[0].inputs = usize::MAX;
        assert_eq!(refused(layers), 0);
    }

    #[test]
    fn buffers_of_the_wrong_length_are_refused() {
        let network = DenseNetwork::new(random(&[2, 3, 1], 1)).unwrap();
        assert!(network.infer(&[0.0; 3], &mut [0.0]).is_err());
        assert!(network.infer(&[0.0; 4], &mut [0.0; 3]).is_err());
        assert!(network.infer(&[], &mut []).is_ok());
    }
}
