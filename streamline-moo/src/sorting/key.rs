//! Floating-point numbers as integers of the same order.

/// Maps a value to an integer so that smaller values get smaller integers; −0 is 0, and NaN the same as infinity.
#[inline]
pub(crate) fn key(value: f64) -> u64 {
    const INFINITY: u64 = 0x7ff0_0000_0000_0000 ^ (1 << 63);
    let bits = (value + 0.0).to_bits();
    let flip = ((bits as i64 >> 63) as u64) | (1 << 63);
    if value.is_nan() { INFINITY } else { bits ^ flip }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_as_the_values_do() {
        let values = [
            f64::NEG_INFINITY,
            -1e300,
            -1.0,
            -f64::MIN_POSITIVE,
            0.0,
            1e-310,
            1.0,
            f64::MAX,
            f64::INFINITY,
        ];
        assert!(values.windows(2).all(|w| key(w[0]) < key(w[1])));
        assert_eq!(key(-0.0), key(0.0));
        assert_eq!(key(f64::NAN), key(f64::INFINITY));
        assert_eq!(key(-f64::NAN), key(f64::INFINITY));
    }
}
