use serde::{Deserialize, Serialize};

use crate::load::DIMENSIONS;
use crate::model::Model;
use crate::{Request, Resource, Schedule, ScheduleError};

/// What no placement of all instances can go below.
///
/// Constraints other than "at most so many" are not looked at, nor are priorities and caps. If the demand is larger than
/// the cluster, the bounds are those of the whole cluster.
///
/// # Examples
///
/// ```
/// use streamline_core::{Cluster, Instance};
/// use streamline_sched::{Demand, FirstFitDecreasing, LowerBounds, Request, Scheduler};
///
/// // Five instances of just over half a TaskManager: no two share one, though their sum would fit on three.
/// let demands = [0, 1, 2, 3, 4].map(|subtask| Demand {
///     instance: Instance { job: 0, operator: 0, subtask },
///     cpu_cores: 2.1,
///     memory_bytes: 1 << 30,
///     network_bytes: 0,
///     sharing_group: 0,
///     state_bytes: 0,
/// });
/// let cluster = Cluster::uniform(8, 4.0, 8 << 30, 4)?;
/// let request = Request::new(&demands, &cluster);
/// let bounds = LowerBounds::of(&request)?;
/// assert_eq!((bounds.resources[0].by_sum, bounds.resources[0].by_sizes), (3, 5));
/// let schedule = FirstFitDecreasing.schedule(&request)?;
/// assert_eq!(bounds.gap(&schedule), 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LowerBounds {
    /// TaskManagers in use.
    pub task_managers: usize,
    /// Their price.
    pub price: f64,
    /// The bounds by resource: cpu, memory, network memory, slots.
    pub resources: Vec<ResourceBound>,
}

/// What one resource alone demands.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceBound {
    /// The resource.
    pub resource: Resource,
    /// TaskManagers whose sum reaches that of the demands, largest first (L1).
    pub by_sum: usize,
    /// TaskManagers that the sizes need: large ones cannot share one, whatever the sum (L2). Never below `by_sum`.
    ///
    /// Martello and Toth, *Lower bounds and reduction procedures for the bin packing problem*, 1990, with the largest
    /// TaskManager as the bin.
    pub by_sizes: usize,
    /// The price of the sum, if TaskManagers could be rented in parts, cheapest first.
    pub price: f64,
}

impl LowerBounds {
    /// Works out the bounds of a request. Takes `O(n log n)` for `n` instances.
    ///
    /// # Errors
    /// [`ScheduleError`] if the request makes no sense.
    pub fn of(request: &Request<'_>) -> Result<Self, ScheduleError> {
        Ok(Self::of_model(&Model::new(request)?))
    }

    pub(crate) fn of_model(model: &Model<'_>) -> Self {
        let mut resources = Vec::with_capacity(DIMENSIONS + 1);
        for (d, resource) in [Resource::Cpu, Resource::Memory, Resource::Network]
            .into_iter()
            .enumerate()
        {
            let capacities: Vec<u64> = model.capacity.iter().map(|capacity| capacity[d]).collect();
            let sizes: Vec<u64> = model.items.iter().map(|item| item.size[d]).collect();
            let sum: u128 = sizes.iter().map(|&size| u128::from(size)).sum();
            let by_sum = by_sum(&capacities, sum);
            let largest = capacities.iter().copied().max().unwrap_or(0);
            resources.push(ResourceBound {
                resource,
                by_sum,
                by_sizes: by_sizes(sizes, largest).clamp(by_sum, capacities.len().max(by_sum)),
                price: fractional_price(model, &capacities, sum),
            });
        }
        let slots: Vec<u64> = model
            .task_managers
            .iter()
            .map(|manager| u64::from(manager.slots))
            .collect();
        let wanted = u128::from(slots_wanted(model));
        resources.push(ResourceBound {
            resource: Resource::Slots,
            by_sum: by_sum(&slots, wanted),
            by_sizes: by_sum(&slots, wanted),
            price: fractional_price(model, &slots, wanted),
        });
        let crowds = model.operators.iter().filter(|operator| operator.at_most > 0);
        let apart = crowds
            .map(|operator| operator.items.len().div_ceil(operator.at_most as usize))
            .max()
            .unwrap_or(0);
        let all = model.task_managers.len();
        let task_managers = resources
            .iter()
            .map(|bound| bound.by_sizes)
            .fold(apart, usize::max)
            .min(all);
        let mut prices: Vec<f64> = model.task_managers.iter().map(|manager| manager.price).collect();
        prices.sort_by(f64::total_cmp);
        let cheapest = prices.iter().take(task_managers).sum::<f64>();
        Self {
            task_managers,
            price: resources.iter().map(|bound| bound.price).fold(cheapest, f64::max),
            resources,
        }
    }

    /// How far above the bound the price of a schedule is, as a share of the bound: 0.03 for 3 %.
    #[must_use]
    pub fn gap(&self, schedule: &Schedule) -> f64 {
        if self.price <= 0.0 {
            return 0.0;
        }
        (schedule.measures.price / self.price - 1.0).max(0.0)
    }
}

/// Each group takes at least as many slots as its widest operator has instances.
fn slots_wanted(model: &Model<'_>) -> u64 {
    let mut widest = std::collections::BTreeMap::<u32, u64>::new();
    for operator in &model.operators {
        let width = widest.entry(operator.group).or_default();
        *width = (operator.items.len() as u64).max(*width);
    }
    widest.values().sum()
}

fn by_sum(capacities: &[u64], sum: u128) -> usize {
    let mut capacities = capacities.to_vec();
    capacities.sort_unstable_by(|a, b| b.cmp(a));
    let mut reached = 0u128;
    for (taken, &capacity) in capacities.iter().enumerate() {
        if sum <= reached {
            return taken;
        }
        reached += u128::from(capacity);
    }
    capacities.len()
}

/// For every threshold: sizes that leave less than it have a bin of their own, those of more than half a bin as well,
/// and the rest at or above the threshold must fit beside the latter or into further bins.
fn by_sizes(mut sizes: Vec<u64>, capacity: u64) -> usize {
    sizes.retain(|&size| size > 0);
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    if capacity == 0 {
        return sizes.len();
    }
    let mut prefix = vec![0u128; sizes.len() + 1];
    for (index, &size) in sizes.iter().enumerate() {
        prefix[index + 1] = prefix[index] + u128::from(size);
    }
    // More than half a bin.
    let large = sizes.partition_point(|&size| size > capacity / 2);
    let mut best = large;
    for end in large + 1..=sizes.len() {
        let threshold = sizes[end - 1];
        if sizes.get(end).is_some_and(|&next| next == threshold) {
            continue;
        }
        let alone = sizes[..large].partition_point(|&size| size > capacity - threshold);
        let beside = u128::from(capacity) * (large - alone) as u128 - (prefix[large] - prefix[alone]);
        let small = prefix[end] - prefix[large];
        let further = small.saturating_sub(beside).div_ceil(u128::from(capacity));
        best = best.max(large + usize::try_from(further).unwrap_or(usize::MAX));
    }
    best
}

fn fractional_price(model: &Model<'_>, capacities: &[u64], sum: u128) -> f64 {
    let mut offers: Vec<(f64, u64)> = model
        .task_managers
        .iter()
        .map(|manager| manager.price)
        .zip(capacities.iter().copied())
        .collect();
    offers.retain(|&(_, capacity)| capacity > 0);
    offers.sort_by(|a, b| (a.0 / a.1 as f64).total_cmp(&(b.0 / b.1 as f64)));
    let (mut price, mut rest) = (0.0, sum as f64);
    for (offer, capacity) in offers {
        if rest <= 0.0 {
            break;
        }
        let part = (rest / capacity as f64).min(1.0);
        price += part * offer;
        rest -= capacity as f64;
    }
    price
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_by_sizes_sees_what_cannot_share_a_bin() {
        assert_eq!(by_sizes(vec![6, 6, 6], 10), 3);
        assert_eq!(by_sizes(vec![6, 6, 4, 4], 10), 2);
        // 7 leaves no room for a 4, so the three 4s need a bin and a half.
        assert_eq!(by_sizes(vec![7, 7, 4, 4, 4], 10), 4);
        assert_eq!(by_sizes(vec![], 10), 0);
        assert_eq!(by_sizes(vec![5, 5, 5, 5, 5], 10), 3);
    }

    #[test]
    fn the_bound_by_sum_takes_the_largest_first() {
        assert_eq!(by_sum(&[1, 5, 3], 0), 0);
        assert_eq!(by_sum(&[1, 5, 3], 6), 2);
        assert_eq!(by_sum(&[1, 5, 3], 100), 3);
    }
}
