//! Problems whose Pareto fronts are known, to test and compare searches with.
//!
//! Each is a [`Problem`] that also gives [points of its front](TestProblem::front).

mod constrained;
mod dtlz;
mod mixed;
mod wfg;
mod zdt;

pub use constrained::{ConstrainedDtlz, Textbook};
pub use dtlz::Dtlz;
pub use mixed::MixedZdt;
pub use wfg::Wfg;
pub use zdt::Zdt;

use crate::{Directions, Problem, Rows, non_dominated_sort};

/// A problem whose front is known.
pub trait TestProblem: Problem {
    /// What the literature calls it.
    fn name(&self) -> String;

    /// About `count` points of the Pareto front, spread over all of it; one row of objectives each.
    fn front(&self, count: usize) -> Vec<f64>;
}

/// The numbers from 0 to 1 in `count` steps.
fn steps(count: usize) -> impl Iterator<Item = f64> + Clone {
    let last = count.max(2) - 1;
    (0..=last).map(move |i| i as f64 / last as f64)
}

/// About `count` points of the simplex of `objectives` dimensions.
fn simplex(objectives: usize, count: usize) -> Directions {
    let mut partitions = 1;
    let size = |p: usize| (1..objectives).fold(1.0, |n, i| n * (p + i) as f64 / i as f64);
    while size(partitions + 1) <= count as f64 {
        partitions += 1;
    }
    Directions::das_dennis(objectives, partitions)
}

/// All points of a grid over the unit cube of `dimensions`, about `count` of them.
fn grid(dimensions: usize, count: usize) -> impl Iterator<Item = Vec<f64>> {
    let side = ((count as f64).powf(1.0 / dimensions.max(1) as f64).round() as usize).max(2);
    (0..side.pow(dimensions as u32)).map(move |mut i| {
        let mut next = || {
            let digit = i % side;
            i /= side;
            digit as f64 / (side - 1) as f64
        };
        (0..dimensions).map(|_| next()).collect()
    })
}

/// The rows that no other dominates.
fn non_dominated(rows: &[f64], objectives: usize) -> Vec<f64> {
    let points = Rows::new(rows, objectives);
    let fronts = non_dominated_sort(points);
    fronts
        .front(0)
        .iter()
        .flat_map(|&i| points.row(i as usize))
        .copied()
        .collect()
}
