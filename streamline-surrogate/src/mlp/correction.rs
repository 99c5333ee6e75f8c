//! From the networks' outputs to estimates.

use serde::{Deserialize, Serialize};
use streamline_core::OperatorEstimate;

use super::training::TARGETS;
use crate::log_error::{CPU_FLOOR, LATENCY_FLOOR_MS, THROUGHPUT_FLOOR};

/// What is made of the networks' outputs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Correction {
    /// The logarithm that an output of 1 stands for.
    scale: [f64; TARGETS],
    /// The share that is applied.
    pub(super) applied: [f64; TARGETS],
    /// Smallest and largest logarithm.
    pub(super) limits: [(f64, f64); TARGETS],
    /// Root mean square error of the logarithm on unseen configurations.
    error: [f64; TARGETS],
}

impl Correction {
    /// Scales and limits of the logarithms that training will see; nothing is applied yet.
    pub(super) fn scaled_to(logs: &[[f64; TARGETS]], learned: &[usize]) -> Self {
        const LEAST: f64 = 0.01;
        let mut correction = Self {
            scale: [LEAST; TARGETS],
            applied: [0.0; TARGETS],
            limits: [(0.0, 0.0); TARGETS],
            error: [0.0; TARGETS],
        };
        for target in 0..TARGETS {
            let values = learned.iter().map(|&index| logs[index][target]);
            let square: f64 = values.clone().map(|value| value * value).sum();
            let scale = (square / learned.len().max(1) as f64).sqrt().max(LEAST);
            correction.scale[target] = scale;
            let low = values.clone().fold(0.0, f64::min);
            let high = values.fold(0.0, f64::max);
            correction.limits[target] = (low - 0.1 * scale, high + 0.1 * scale);
        }
        correction
    }

    /// What the networks shall answer.
    pub(super) fn target(&self, log: &[f64; TARGETS]) -> [f32; TARGETS] {
        const FAR: f64 = 8.0;
        let mut target = [0.0; TARGETS];
        for (index, target) in target.iter_mut().enumerate() {
            *target = (log[index] / self.scale[index]).clamp(-FAR, FAR) as f32;
        }
        target
    }

    /// Finds the share of the correction that minimises the squared error of held-out answers, as if a few more of them
    /// had wanted no correction at all; and the error that then remains.
    pub(super) fn apply_what_helps(&mut self, logs: &[[f64; TARGETS]], held_out: &[(usize, [f64; TARGETS])]) {
        const WANTING_NONE: f64 = 2.0;
        let count = held_out.len().max(1) as f64;
        for target in 0..TARGETS {
            let scale = self.scale[target];
            let (mut product, mut square) = (0.0, 0.0);
            for (index, output) in held_out {
                let answer = scale * output[target];
                product += logs[*index][target] * answer;
                square += answer * answer;
            }
            square += WANTING_NONE * square / count;
            self.applied[target] = if square > 0.0 {
                (product / square).clamp(0.0, 1.0)
            } else {
                0.0
            };
            let left: f64 = held_out
                .iter()
                .map(|(index, output)| (logs[*index][target] - self.log(target, output[target])).powi(2))
                .sum();
            self.error[target] = (left / count).sqrt().clamp(0.001, 100.0);
        }
    }

    /// The logarithm that an output stands for; none where huge weights gave an output that is no number.
    fn log(&self, target: usize, output: f64) -> f64 {
        if output.is_nan() {
            return 0.0;
        }
        let (low, high) = self.limits[target];
        (self.applied[target] * self.scale[target] * output).clamp(low, high)
    }

    /// The analytic answer, corrected; no more throughput than arrives.
    pub(super) fn correct(
        &self,
        analytic: &OperatorEstimate,
        limit: f64,
        output: &[f64; TARGETS],
    ) -> OperatorEstimate {
        let corrected = |target: usize, value: f64, floor: f64| {
            ((value + floor) * self.log(target, output[target]).exp() - floor).max(0.0)
        };
        OperatorEstimate {
            throughput: corrected(0, analytic.throughput, THROUGHPUT_FLOOR).min(limit),
            latency_ms: corrected(1, analytic.latency_ms, LATENCY_FLOOR_MS),
            cpu_cores: corrected(2, analytic.cpu_cores, CPU_FLOOR),
        }
    }

    /// The error on unseen configurations and the spread of the members together.
    pub(super) fn uncertainty(&self, spread: &[f64; TARGETS]) -> OperatorEstimate {
        let share = |target: usize| {
            (self.applied[target] * self.scale[target] * spread[target])
                .hypot(self.error[target])
                .min(100.0)
        };
        OperatorEstimate {
            throughput: share(0),
            latency_ms: share(1),
            cpu_cores: share(2),
        }
    }

    /// Whether all its numbers make sense.
    pub(super) fn is_sound(&self) -> bool {
        (0..TARGETS).all(|target| {
            let (low, high) = self.limits[target];
            (0.0..=1e6).contains(&self.scale[target])
                && (0.0..=1.0).contains(&self.applied[target])
                && (0.0..=100.0).contains(&self.error[target])
                && (-100.0..=0.0).contains(&low)
                && (0.0..=100.0).contains(&high)
        })
    }
}
