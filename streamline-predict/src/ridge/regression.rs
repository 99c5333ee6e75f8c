//! Closed-form ridge regression of one step.

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use crate::penalised::{PENALTIES, solve};
use crate::residuals::{LEVELS, quantile};

/// Rows of features with their targets, and how large an error of 1 window deviation is in them.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    pub(super) features: Vec<f64>,
    pub(super) targets: Vec<f64>,
    pub(super) deviations: Vec<f64>,
}

/// What was learnt for a step: the point and the quantiles of its error, in units of the window's deviation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Step {
    pub(super) weights: Vec<f64>,
    pub(super) errors: [f64; LEVELS.len()],
}

impl Step {
    pub(super) fn predict(&self, features: &[f64]) -> f64 {
        let pairs = self.weights.iter().zip(features);
        pairs.map(|(weight, feature)| weight * feature).sum()
    }

    /// Learns from `training`, chooses the penalty and measures errors on `validation`, then learns from both.
    ///
    /// None if there is nothing to learn from.
    pub(super) fn fit(training: &Rows, validation: &Rows) -> Option<Self> {
        let rows = training.targets.len();
        let width = training.features.len().checked_div(rows)?;
        let (gram, moment) = sums(training, width);
        let features = DMatrix::from_row_slice(validation.targets.len(), width, &validation.features);
        let targets = DVector::from_column_slice(&validation.targets);
        let mut best: Option<(f64, f64, DVector<f64>)> = None;
        for penalty in PENALTIES {
            let Some(weights) = solve(&gram, &moment, penalty) else {
                continue;
            };
            let left = &targets - &features * &weights;
            let loss = left.iter().map(|error| error.abs()).sum::<f64>();
            if loss.is_finite() && best.as_ref().is_none_or(|(least, ..)| loss < *least) {
                best = Some((loss, penalty, left));
            }
        }
        let (_, penalty, left) = best?;
        let mut errors: Vec<f64> = left
            .iter()
            .zip(&validation.deviations)
            .map(|(error, deviation)| error / deviation)
            .filter(|error| error.is_finite())
            .collect();
        errors.sort_unstable_by(f64::total_cmp);
        let (more_gram, more_moment) = sums(validation, width);
        let weights = solve(&(gram + more_gram), &(moment + more_moment), penalty)?;
        Some(Self {
            weights: weights.as_slice().to_vec(),
            errors: LEVELS.map(|level| quantile(&errors, level)),
        })
    }
}

/// `XᵀX` and `Xᵀy`.
fn sums(rows: &Rows, width: usize) -> (DMatrix<f64>, DVector<f64>) {
    // Row by row in memory is the transpose column by column.
    let transposed = DMatrix::from_column_slice(width, rows.targets.len(), &rows.features);
    let targets = DVector::from_column_slice(&rows.targets);
    (&transposed * transposed.transpose(), &transposed * targets)
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    #[test]
    fn a_linear_law_is_found() {
        let rows = |from: usize, to: usize| {
            let mut rows = Rows::default();
            for index in from..to {
                let (x, y) = ((index as f64).sin(), (index as f64 * 0.37).cos());
                rows.features.extend([x, y]);
                rows.targets.push(2.0 * x - 3.0 * y);
                rows.deviations.push(1.0);
            }
            rows
        };
        let step = Step::fit(&rows(0, 300), &rows(300, 360)).unwrap();
        assert_relative_eq!(step.predict(&[1.0, 1.0]), -1.0, epsilon = 1e-3);
        assert!(step.errors.iter().all(|error| error.abs() < 1e-2));
    }

    #[test]
    fn nothing_to_learn_from_gives_nothing() {
        assert_eq!(Step::fit(&Rows::default(), &Rows::default()), None);
    }
}
