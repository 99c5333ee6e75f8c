//! Who gets how much when the cluster is too small for all.

use std::cmp::Reverse;

use crate::candidates::Candidates;
use crate::search::Limits;

/// What a job takes of what is limited.
#[derive(Debug, Clone, Copy)]
struct Need {
    slots: u64,
    cpu_cores: f64,
}

/// The share of its load that each job, given with its priority, can carry.
///
/// Each job needs at least what its smallest configuration takes. What is left over goes to the jobs by priority, and
/// among equals to the earlier one: each gets what it needs to carry all of its load, or, when that is no longer there,
/// the largest share that fits (to a thousandth).
pub(crate) fn grant(jobs: &[(&Candidates<'_>, i32)], limits: Limits) -> Vec<f64> {
    let need = |job: usize, share: f64| {
        let (candidates, _) = jobs[job];
        let smallest = candidates.assess(&candidates.smallest(share), share);
        Need {
            slots: smallest.slots,
            cpu_cores: smallest.cpu_cores,
        }
    };
    let floors: Vec<Need> = (0..jobs.len()).map(|job| need(job, 0.0)).collect();
    let mut slots = limits
        .slots
        .saturating_sub(floors.iter().map(|floor| floor.slots).sum());
    let mut cpu_cores = limits.cpu_cores;

    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|&job| (Reverse(jobs[job].1), job));
    let mut granted = vec![1.0; jobs.len()];
    for job in order {
        let fits = |share: f64| {
            let need = need(job, share);
            need.slots <= floors[job].slots.saturating_add(slots) && need.cpu_cores <= cpu_cores
        };
        granted[job] = if fits(1.0) { 1.0 } else { largest(fits) };
        let taken = need(job, granted[job]);
        slots = slots.saturating_sub(taken.slots.saturating_sub(floors[job].slots));
        cpu_cores = (cpu_cores - taken.cpu_cores).max(0.0);
    }
    granted
}

/// The largest share, in thousandths, for which `fits` holds, given that it holds for all smaller ones.
fn largest(fits: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0u32, 1000u32);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if fits(f64::from(middle) / 1000.0) {
            low = middle
        } else {
            high = middle
        }
    }
    f64::from(low) / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_share_that_fits_is_found_to_a_thousandth() {
        for limit in [0.0, 0.0004, 0.25, 0.5, 0.9994] {
            let share = largest(|share| share <= limit);
            assert!(share <= limit && limit < share + 0.001, "{share} for {limit}");
        }
    }
}
