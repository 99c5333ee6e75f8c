//! Two objectives: one sweep over the sorted points.

use crate::sorting::key;

/// The area between `points`, all inside, and `reference`.
pub(super) fn sweep(mut points: Vec<[f64; 2]>, reference: [f64; 2]) -> f64 {
    points.sort_unstable_by_key(|p| key(p[0]));
    let (mut area, mut low) = (0.0, reference[1]);
    for [x, y] in points {
        if y < low {
            area += (reference[0] - x) * (low - y);
            low = y;
        }
    }
    area
}
