//! Which of two points is better.

/// What one point is to another, by Pareto dominance of minimised objectives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dominance {
    /// The first is nowhere worse and somewhere better.
    Dominates,
    /// The second is nowhere worse and somewhere better.
    Dominated,
    /// Both have the same values.
    Equal,
    /// Each is better somewhere.
    Incomparable,
}

/// Compares two points whose objectives are all minimised. NaN counts as the worst value there is.
///
/// ```
/// use streamline_moo::{Dominance, dominance};
///
/// assert_eq!(dominance(&[1.0, 2.0], &[1.0, 3.0]), Dominance::Dominates);
/// assert_eq!(dominance(&[1.0, 2.0], &[2.0, 1.0]), Dominance::Incomparable);
/// assert_eq!(dominance(&[1.0, f64::NAN], &[1.0, 3.0]), Dominance::Dominated);
/// ```
#[must_use]
pub fn dominance(a: &[f64], b: &[f64]) -> Dominance {
    let (mut better, mut worse) = (false, false);
    for (&a, &b) in a.iter().zip(b) {
        let (a, b) = (worst_if_nan(a), worst_if_nan(b));
        better |= a < b;
        worse |= a > b;
    }
    match (better, worse) {
        (true, false) => Dominance::Dominates,
        (false, true) => Dominance::Dominated,
        (false, false) => Dominance::Equal,
        (true, true) => Dominance::Incomparable,
    }
}

/// `value`, or positive infinity in place of NaN.
#[inline]
pub(crate) fn worst_if_nan(value: f64) -> f64 {
    if value.is_nan() { f64::INFINITY } else { value }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn point() -> impl Strategy<Value = [f64; 3]> {
        prop::array::uniform3((0..4u8).prop_map(|v| if v == 3 { f64::NAN } else { f64::from(v) }))
    }

    proptest! {
        #[test]
        fn dominance_is_antisymmetric(a in point(), b in point()) {
            let expected = match dominance(&b, &a) {
                Dominance::Dominates => Dominance::Dominated,
                Dominance::Dominated => Dominance::Dominates,
                same => same,
            };
            prop_assert_eq!(dominance(&a, &b), expected);
        }

        #[test]
        fn dominance_is_transitive(a in point(), b in point(), c in point()) {
            if dominance(&a, &b) == Dominance::Dominates && dominance(&b, &c) == Dominance::Dominates {
                prop_assert_eq!(dominance(&a, &c), Dominance::Dominates);
            }
        }

        #[test]
        fn nothing_dominates_itself(a in point()) {
            prop_assert_eq!(dominance(&a, &a), Dominance::Equal);
        }
    }
}
