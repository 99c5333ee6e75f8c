//! The volume that a set of points dominates.

mod pair;

use crate::Rows;

/// The hypervolume of `points`: the volume of what they dominate and what dominates the `reference` point, exactly.
///
/// All objectives are minimised. Points that do not dominate the reference point, or have a NaN, add nothing; a value of
/// −∞ makes it infinite.
///
/// ```
/// use streamline_moo::hypervolume;
///
/// assert_eq!(hypervolume(&[[1.0, 2.0], [2.0, 1.0]], &[3.0, 3.0]), 3.0);
/// assert_eq!(hypervolume(&[[4.0, 4.0]], &[3.0, 3.0]), 0.0);
/// ```
#[must_use]
pub fn hypervolume<'a>(points: impl Into<Rows<'a>>, reference: &[f64]) -> f64 {
    let points = points.into();
    let inside = points
        .iter()
        .filter(|p| p.len() == reference.len() && p.iter().zip(reference).all(|(v, r)| v < r));
    match reference {
        [] => 0.0,
        [r] => inside.map(|p| r - p[0]).fold(0.0, f64::max),
        [r0, r1] => pair::sweep(inside.map(|p| [p[0], p[1]]).collect(), [*r0, *r1]),
        _ => 0.0,
    }
}
