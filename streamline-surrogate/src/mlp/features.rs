//! What the network sees of a query, and how far a query is from everything that it has seen.

use nalgebra::{Cholesky, SMatrix, SVector};
use serde::{Deserialize, Serialize};
use streamline_core::OperatorKind;

use crate::Query;
use crate::analytic::{Working, kind_index};
use crate::log_error::median;

/// Numbers of a query: eight of its own, three that the analytic model works out.
const NUMERIC: usize = 11;
/// Numbers of a query that a range is kept of for each kind: its own, and the utilisation.
const RANGED: usize = 9;
/// Inputs of the network: the numbers, then one for each kind.
pub(crate) const FEATURES: usize = NUMERIC + OperatorKind::ALL.len();

/// What the features are, in order. A model file that lists others is refused.
pub(crate) const SCHEMA: [&str; NUMERIC + 1] = [
    "ln(unit_rate)",
    "ln(parallelism)",
    "ln(segment_bytes)",
    "ln(buffer_timeout_ms + 1)",
    "ln(input_rate + 0.001)",
    "ln(selectivity + 0.001)",
    "ln(record_bytes)",
    "ln(colocation_load + 0.1)",
    "ln(utilisation + 0.001), at most ln 100",
    "ln(fill_ms + 0.1)",
    "ln(analytic latency_ms + 0.1)",
    "kind: source, map, filter, flat_map, aggregate, window, join, sink, other",
];

/// The numbers of a query, in the order of [`SCHEMA`].
pub(crate) fn numbers(query: &Query, working: &Working) -> [f64; NUMERIC] {
    [
        query.unit_rate.ln(),
        f64::from(query.parallelism).ln(),
        f64::from(query.segment_bytes).ln(),
        (f64::from(query.buffer_timeout_ms) + 1.0).ln(),
        (query.input_rate + 1e-3).ln(),
        (query.selectivity + 1e-3).ln(),
        query.record_bytes.ln(),
        (query.colocation_load + 0.1).ln(),
        (working.utilisation.min(100.0) + 1e-3).ln(),
        (working.fill_ms + 0.1).ln(),
        (working.estimate.latency_ms + 0.1).ln(),
    ]
}

/// How far below and above the range of training a number may lie, as the logarithm of a factor. Twice the largest
/// rate or parallelism (0.69) is well beyond.
const MARGINS: [(f64, f64); RANGED] = [
    (0.3, 0.3),
    (0.25, 0.25),
    (0.3, 0.3),
    (0.3, 0.3),
    (0.7, 0.25),
    (0.5, 0.5),
    (0.3, 0.3),
    (0.5, 0.25),
    (0.7, 0.5),
];

/// Scaling, ranges and spread of the training queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Features {
    mean: [f64; NUMERIC],
    /// One over the standard deviation; 0 where a number never varied.
    inverse_scale: [f64; NUMERIC],
    /// Smallest and largest of each number for each kind; none of a kind that was not seen.
    ranges: Vec<Option<[(f64, f64); RANGED]>>,
    /// Rows of the inverse of the Cholesky factor of the covariance of the scaled numbers, so that the squared length
    /// of its product with a query is the query's leverage.
    whitening: [[f64; NUMERIC]; NUMERIC],
    /// The largest leverage that is not far.
    leverage_limit: f64,
}

impl Features {
    /// Learns from the numbers of the training queries.
    pub(crate) fn fit(rows: &[([f64; NUMERIC], OperatorKind)]) -> Self {
        const UNVARIED: f64 = 1e-6;
        const RIDGE: f64 = 0.01;
        let count = rows.len().max(1) as f64;
        let mut mean = [0.0; NUMERIC];
        for (row, _) in rows {
            for (mean, value) in mean.iter_mut().zip(row) {
                *mean += value / count;
            }
        }
        let mut variance = [0.0; NUMERIC];
        for (row, _) in rows {
            for ((variance, value), mean) in variance.iter_mut().zip(row).zip(mean) {
                *variance += (value - mean).powi(2) / count;
            }
        }
        let inverse_scale = variance.map(|variance: f64| {
            let deviation = variance.sqrt();
            if deviation > UNVARIED {
                1.0 / deviation
            } else {
                0.0
            }
        });
        let mut ranges = vec![None; OperatorKind::ALL.len()];
        for (row, kind) in rows {
            if let Some(range) = ranges.get_mut(kind_index(*kind)) {
                let range = range.get_or_insert([(f64::INFINITY, f64::NEG_INFINITY); RANGED]);
                for ((low, high), value) in range.iter_mut().zip(row) {
                    *low = low.min(*value);
                    *high = high.max(*value);
                }
            }
        }
        let mut features = Self {
            mean,
            inverse_scale,
            ranges,
            whitening: [[0.0; NUMERIC]; NUMERIC],
            leverage_limit: f64::MAX,
        };
        let mut covariance = SMatrix::<f64, NUMERIC, NUMERIC>::identity() * RIDGE;
        for (row, _) in rows {
            let scaled = SVector::from(features.scaled(row));
            covariance += scaled * scaled.transpose() / count;
        }
        if let Some(inverse) = Cholesky::new(covariance).and_then(|factor| factor.l().try_inverse()) {
            for (row, target) in features.whitening.iter_mut().enumerate() {
                for (column, target) in target.iter_mut().enumerate() {
                    *target = inverse[(row, column)];
                }
            }
            let mut leverages: Vec<f64> = rows
                .iter()
                .map(|(row, _)| features.leverage(&features.scaled(row)))
                .collect();
            let middle = median(&mut leverages).unwrap_or(0.0);
            let largest = leverages.last().copied().unwrap_or(0.0);
            // In eleven dimensions the largest of many leverages is some four times the middle one.
            features.leverage_limit = (1.5 * largest).max(4.0 * middle);
        }
        features
    }

    fn scaled(&self, numbers: &[f64; NUMERIC]) -> [f64; NUMERIC] {
        let mut scaled = [0.0; NUMERIC];
        for (index, scaled) in scaled.iter_mut().enumerate() {
            *scaled = (numbers[index] - self.mean[index]) * self.inverse_scale[index];
        }
        scaled
    }

    fn leverage(&self, scaled: &[f64; NUMERIC]) -> f64 {
        let mut sum = 0.0;
        for row in &self.whitening {
            let mut product = 0.0;
            for (weight, value) in row.iter().zip(scaled) {
                product += weight * value;
            }
            sum += product * product;
        }
        sum
    }

    /// Writes the network's inputs into `out` and says whether the query is far from everything seen.
    pub(crate) fn encode(
        &self,
        numbers: &[f64; NUMERIC],
        kind: OperatorKind,
        out: &mut [f32; FEATURES],
    ) -> bool {
        let scaled = self.scaled(numbers);
        let kind = kind_index(kind);
        for (out, value) in out.iter_mut().zip(scaled) {
            // A number far outside is flagged below; it must not overflow here.
            *out = value.clamp(-1e4, 1e4) as f32;
        }
        for (index, out) in out[NUMERIC..].iter_mut().enumerate() {
            *out = f32::from(u8::from(index == kind));
        }
        let Some(Some(ranges)) = self.ranges.get(kind) else {
            return true;
        };
        let outside = numbers
            .iter()
            .zip(ranges)
            .zip(MARGINS)
            .any(|((value, (low, high)), (below, above))| *value < low - below || *value > high + above);
        outside || self.leverage(&scaled) > self.leverage_limit
    }

    /// Whether all its numbers make sense.
    pub(crate) fn is_sound(&self) -> bool {
        let finite = |value: &f64| value.is_finite();
        self.ranges.len() == OperatorKind::ALL.len()
            && self.mean.iter().all(finite)
            && self.inverse_scale.iter().all(finite)
            && self.whitening.iter().flatten().all(finite)
            && self.leverage_limit.is_finite()
    }
}
