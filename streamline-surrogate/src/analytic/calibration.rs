//! Fitting the constants of the analytic model to samples.

use streamline_core::{OperatorEstimate, OperatorKind};

use super::{Analytic, AnalyticOptions};
use crate::log_error::log_errors;
use crate::{Sample, Scalability};

impl Analytic {
    pub(super) fn fit_scalability(&mut self, samples: &[Sample]) {
        const SATURATED: f64 = 0.95;
        /// Slowdowns beyond this are not the law's doing.
        const ABSURD: f64 = 1e4;
        /// So many samples from cores of their own make those from shared ones, whose load is an estimate, needless.
        const ENOUGH: usize = 5;
        /// The weight of what was believed before, in samples.
        const PRIOR: f64 = 0.01;
        // Capacity that one subtask would have, over the capacity that each of many has.
        let slowdown = |sample: &Sample| {
            let Sample { query, measured } = sample;
            let saturated = measured.throughput < SATURATED * query.input_rate;
            let each = measured.throughput / f64::from(query.parallelism);
            let slowdown = query.unit_rate / query.colocation_load.max(1.0) / each;
            (saturated && slowdown < ABSURD).then_some((query.parallelism, slowdown))
        };
        let fit = |of: &mut dyn Iterator<Item = &Sample>, prior: Scalability| {
            let (own, shared): (Vec<&Sample>, Vec<&Sample>) =
                of.partition(|sample| sample.query.colocation_load <= 1.0);
            let mut slowdowns: Vec<_> = own.iter().filter_map(|sample| slowdown(sample)).collect();
            if slowdowns.len() < ENOUGH {
                slowdowns.extend(shared.iter().filter_map(|sample| slowdown(sample)));
            }
            Scalability::fit(&slowdowns, prior, PRIOR)
        };
        let common = fit(&mut samples.iter(), self.options.scalability);
        self.options.scalability = common;
        for (law, kind) in self.scalability.iter_mut().zip(OperatorKind::ALL) {
            *law = fit(
                &mut samples.iter().filter(|sample| sample.query.kind == kind),
                common,
            );
        }
    }

    /// Searches the constants of latency and cpu one after another, coarsely and then finely.
    pub(super) fn fit_constants(&mut self, samples: &[Sample]) {
        if samples.is_empty() {
            return;
        }
        // Which of throughput, latency and cpu a constant shapes, and the powers of ten that it may take.
        type Constant = (usize, fn(&mut AnalyticOptions) -> &mut f64, (f64, f64));
        const CONSTANTS: [Constant; 5] = [
            (1, |options| &mut options.base_latency_ms, (-2.0, 5.0)),
            (1, |options| &mut options.variability, (-3.0, 3.0)),
            (1, |options| &mut options.full_buffers, (-4.0, 1.0)),
            (2, |options| &mut options.cpu_per_busy_core, (-2.0, 2.0)),
            (2, |options| &mut options.idle_cores, (-5.0, 1.0)),
        ];
        const COARSE: usize = 60;
        const FINE: usize = 24;
        const ROUNDS: usize = 3;
        /// More samples than this say no more of five constants.
        const ENOUGH: usize = 4000;
        let samples: Vec<Sample> = samples
            .iter()
            .step_by(samples.len().div_ceil(ENOUGH))
            .copied()
            .collect();
        for _ in 0..ROUNDS {
            for (target, constant, (from, to)) in CONSTANTS {
                self.fit_constant(&samples, target, constant, (from, to), COARSE);
            }
        }
        for _ in 0..ROUNDS {
            for (target, constant, (from, to)) in CONSTANTS {
                let exponent = constant(&mut self.options).max(1e-9).log10();
                let step = (to - from) / COARSE as f64;
                let near = ((exponent - step).max(from), (exponent + step).min(to));
                self.fit_constant(&samples, target, constant, near, FINE);
            }
        }
    }

    /// Sets a constant to the power of ten within `exponents` with the least absolute error of the logarithm, unless
    /// what it is now is better.
    fn fit_constant(
        &mut self,
        samples: &[Sample],
        target: usize,
        constant: fn(&mut AnalyticOptions) -> &mut f64,
        (from, to): (f64, f64),
        steps: usize,
    ) {
        let error = |model: &Self| -> f64 {
            samples
                .iter()
                .map(|sample| {
                    let expected = model.work_out(&sample.query).estimate;
                    log_errors(&sample.measured, &expected)[target].abs()
                })
                .sum()
        };
        let mut best = (error(self), *constant(&mut self.options));
        for step in 0..=steps {
            let candidate = 10f64.powf(from + (to - from) * step as f64 / steps as f64);
            *constant(&mut self.options) = candidate;
            let error = error(self);
            if error < best.0 {
                best = (error, candidate);
            }
        }
        *constant(&mut self.options) = best.1;
    }

    pub(super) fn fit_uncertainty(&mut self, samples: &[Sample]) {
        if samples.is_empty() {
            return;
        }
        let mut squares = [0.0; 3];
        for sample in samples {
            let errors = log_errors(&sample.measured, &self.work_out(&sample.query).estimate);
            for (square, error) in squares.iter_mut().zip(errors) {
                *square += error * error;
            }
        }
        let [throughput, latency_ms, cpu_cores] =
            squares.map(|square| (square / samples.len() as f64).sqrt().clamp(0.001, 100.0));
        self.options.uncertainty = OperatorEstimate {
            throughput,
            latency_ms,
            cpu_cores,
        };
    }
}
