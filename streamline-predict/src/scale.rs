//! How large values are, how much they vary and how low they may be.

use streamline_core::TimeSeries;

/// A deviation of less than this share of the largest value is rounding and no variation.
pub(crate) const FLAT: f64 = 1e-9;

/// The largest absolute value; 0 if there are none.
pub(crate) fn size(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |size, value| f64::max(size, value.abs()))
}

/// The standard deviation of values; 0 if there are none.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt()
}

/// The least that may be forecast of a series: a rate is never negative.
pub(crate) fn floor(history: &TimeSeries) -> f64 {
    if history.iter().flatten().any(|value| value < 0.0) {
        f64::MIN
    } else {
        0.0
    }
}
