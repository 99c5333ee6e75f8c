//! How long a network buffer takes.

/// Milliseconds until a buffer of an edge is sent: until it is full, but no longer than the timeout.
pub(crate) fn fill_ms(segment_bytes: u32, timeout_ms: u32, bytes_per_second: f64, channels: f64) -> f64 {
    let timeout = f64::from(timeout_ms);
    if bytes_per_second <= 0.0 {
        return timeout;
    }
    (1e3 * f64::from(segment_bytes) * channels / bytes_per_second).min(timeout)
}
