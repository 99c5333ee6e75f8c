use crate::Forecast;
use crate::residuals::LEVELS;

/// For each step the weights of members with these mean absolute errors; all 0 at a step where nothing is known.
pub(super) fn of_errors(errors: &[Option<Vec<f64>>], horizon: usize) -> Vec<Vec<f64>> {
    let at = |step: usize| {
        let at_step = |errors: &Option<Vec<f64>>| errors.as_ref()?.get(step).copied();
        at_one_step(&errors.iter().map(at_step).collect::<Vec<_>>())
    };
    (0..horizon).map(at).collect()
}

fn at_one_step(errors: &[Option<f64>]) -> Vec<f64> {
    let least = errors.iter().flatten().copied().fold(f64::MAX, f64::min);
    let weight = |error: &Option<f64>| match *error {
        Some(error) if error <= least => 1.0,
        Some(error) if error < 1.5 * least => (least / error).powi(2),
        _ => 0.0,
    };
    let weights: Vec<f64> = errors.iter().map(weight).collect();
    let sum = weights.iter().sum::<f64>().max(1.0);
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// The weighted mean of forecasts of the same points; none of none.
///
/// Steps beyond those that have weights count as the last, and where none has a weight, all count alike.
pub(super) fn mean(answers: &[(Vec<f64>, &Forecast)]) -> Option<Forecast> {
    let (_, first) = answers.first()?;
    let weight = |weights: &[f64], step: usize| {
        let step = step.min(weights.len().saturating_sub(1));
        weights.get(step).copied().unwrap_or_default()
    };
    let shares: Vec<Vec<f64>> = (0..first.horizon())
        .map(|step| {
            let sum: f64 = answers.iter().map(|(weights, _)| weight(weights, step)).sum();
            let share = |(weights, _): &(Vec<f64>, &Forecast)| match sum > 0.0 {
                true => weight(weights, step) / sum,
                false => 1.0 / answers.len() as f64,
            };
            answers.iter().map(share).collect()
        })
        .collect();
    let mean = |values: &dyn Fn(&Forecast) -> Vec<f64>| -> Vec<f64> {
        let values: Vec<Vec<f64>> = answers.iter().map(|(_, forecast)| values(forecast)).collect();
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
