//! Errors of logarithms, which weigh an error of the same share alike everywhere.

use streamline_core::OperatorEstimate;

/// What is added before a logarithm is taken of a throughput, in records per second.
pub(crate) const THROUGHPUT_FLOOR: f64 = 1e-3;
/// What is added before a logarithm is taken of a latency, in milliseconds.
pub(crate) const LATENCY_FLOOR_MS: f64 = 1e-2;
/// What is added before a logarithm is taken of a cpu use, in cores.
pub(crate) const CPU_FLOOR: f64 = 1e-3;

/// `ln((measured + floor) / (expected + floor))`.
pub(crate) fn log_ratio(measured: f64, expected: f64, floor: f64) -> f64 {
    ((measured + floor) / (expected + floor)).ln()
}

/// The log ratios of throughput, latency and cpu.
pub(crate) fn log_errors(measured: &OperatorEstimate, expected: &OperatorEstimate) -> [f64; 3] {
    [
        log_ratio(measured.throughput, expected.throughput, THROUGHPUT_FLOOR),
        log_ratio(measured.latency_ms, expected.latency_ms, LATENCY_FLOOR_MS),
        log_ratio(measured.cpu_cores, expected.cpu_cores, CPU_FLOOR),
    ]
}

/// The middle value, the upper of two; none of an empty list.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
