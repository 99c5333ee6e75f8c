use std::borrow::Borrow;

use crate::Forecast;
use crate::residuals::LEVELS;

/// For each step the weights of members with these mean absolute errors; all 0 where nothing is known.
///
/// A member is judged by its error at the step and by its mean error, half each and each by the least of all members: one
/// step alone is a noisy judge.
pub(super) fn of_errors(errors: &[Option<Vec<f64>>], horizon: usize) -> Vec<Vec<f64>> {
    let mean = |errors: &Option<Vec<f64>>| {
        let errors = errors.as_ref()?;
        Some(errors.iter().sum::<f64>() / errors.len() as f64)
    };
    let over_all = by_least(errors.iter().map(mean));
    let at = |step: usize| {
        let at_step = by_least(errors.iter().map(|errors| errors.as_ref()?.get(step).copied()));
        let both = at_step.into_iter().zip(&over_all);
        let judged: Vec<_> = both
            .map(|(one, other)| Some(f64::midpoint(one?, (*other)?)))
            .collect();
        of_one_step(&by_least(judged.into_iter()))
    };
    (0..horizon).map(at).collect()
}

/// Each error by the least of them.
fn by_least(errors: impl Iterator<Item = Option<f64>> + Clone) -> Vec<Option<f64>> {
    let least = errors.clone().flatten().fold(f64::MAX, f64::min);
    let ratio = |error: f64| if error <= least { 1.0 } else { error / least };
    errors.map(|error| error.map(ratio)).collect()
}

/// Of errors by the least of them.
fn of_one_step(ratios: &[Option<f64>]) -> Vec<f64> {
    let weight = |ratio: &Option<f64>| match *ratio {
        Some(ratio) if ratio < 1.5 => ratio.powi(-2),
        _ => 0.0,
    };
    let weights: Vec<f64> = ratios.iter().map(weight).collect();
    let sum = weights.iter().sum::<f64>().max(1.0);
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// The weighted mean of forecasts of the same points; none of none.
///
/// Steps beyond those that have weights count as the last, and where none has a weight, all count alike.
pub(super) fn mean<W: Borrow<Vec<f64>>, F: Borrow<Forecast>>(answers: &[(W, F)]) -> Option<Forecast> {
    let first = answers.first()?.1.borrow();
    let weight = |weights: &[f64], step: usize| {
        let step = step.min(weights.len().saturating_sub(1));
        weights.get(step).copied().unwrap_or_default()
    };
    let shares: Vec<Vec<f64>> = (0..first.horizon())
        .map(|step| {
            let sum: f64 = answers
                .iter()
                .map(|(weights, _)| weight(weights.borrow(), step))
                .sum();
            let share = |(weights, _): &(W, F)| match sum > 0.0 {
                true => weight(weights.borrow(), step) / sum,
                false => 1.0 / answers.len() as f64,
            };
            answers.iter().map(share).collect()
        })
        .collect();
    let mean = |values: &dyn Fn(&Forecast) -> Vec<f64>| -> Vec<f64> {
        let values: Vec<Vec<f64>> = answers
            .iter()
            .map(|(_, forecast)| values(forecast.borrow()))
            .collect();
        let at = |(step, shares): (usize, &Vec<f64>)| {
            let parts = values.iter().zip(shares);
            let sum: f64 = parts
                .map(|(values, share)| values.get(step).map_or(0.0, |value| value * share))
                .sum();
            sum.clamp(f64::MIN, f64::MAX)
        };
        shares.iter().enumerate().map(at).collect()
    };
    let point = mean(&|forecast| forecast.point().to_vec());
    let quantiles = LEVELS.map(|level| mean(&|forecast| forecast.quantile(level)));
    first.with_values(point, LEVELS.to_vec(), quantiles.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    #[test]
    fn who_errs_half_as_much_everywhere_takes_all_and_equals_share() {
        let weights = of_errors(&[Some(vec![2.0, 4.0]), Some(vec![1.0, 2.0]), None], 2);
        assert_eq!(weights, [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]);
        let weights = of_errors(&[Some(vec![0.0, 3.0]), Some(vec![0.0, 3.0])], 2);
        assert_eq!(weights, [[0.5, 0.5], [0.5, 0.5]]);
    }

    #[test]
    fn a_step_counts_as_much_as_all_together() {
        // Alike on the mean; at the first step 1 against 1.2.
        let weights = of_errors(&[Some(vec![10.0, 12.0]), Some(vec![12.0, 10.0])], 2);
        assert_relative_eq!(weights[0][0] / weights[0][1], 1.1f64.powi(2), epsilon = 1e-9);
        assert_relative_eq!(weights[1][1], weights[0][0]);
    }

    #[test]
    fn where_nothing_is_known_nobody_has_a_weight() {
        assert_eq!(of_errors(&[None, None], 1), [[0.0, 0.0]]);
    }
}
