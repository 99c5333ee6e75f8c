//! Lowering the price by emptying a few TaskManagers and filling fewer or cheaper ones as tightly as possible.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::load::DIMENSIONS;
use crate::model::Model;
use crate::state::State;

/// Nodes of the search for the tightest filling of one TaskManager.
const NODES: u32 = 400;
/// The most TaskManagers that are emptied at once.
const MOST_EMPTIED: usize = 6;

/// How heavy each item is: its size by resource, where a resource that is scarce counts more.
pub(crate) struct Weights {
    per_unit: [f64; DIMENSIONS],
    items: Vec<f64>,
}

impl Weights {
    pub(crate) fn new(model: &Model<'_>) -> Self {
        let total = model.total();
        let mut scarcity = [0.0; DIMENSIONS];
        for d in 0..DIMENSIONS {
            let capacity: f64 = model.capacity.iter().map(|capacity| capacity[d] as f64).sum();
            scarcity[d] = total[d] / capacity.max(1.0);
        }
        let most = scarcity
            .iter()
            .copied()
            .fold(0.0, f64::max)
            .max(f64::MIN_POSITIVE);
        let managers = model.capacity.len().max(1) as f64;
        let mut per_unit = [0.0; DIMENSIONS];
        for d in 0..DIMENSIONS {
            let mean: f64 = model
                .capacity
                .iter()
                .map(|capacity| capacity[d] as f64)
                .sum::<f64>()
                / managers;
            // What is hardly used does not tell a tight filling from a loose one.
            per_unit[d] = (scarcity[d] / most).powi(2) / mean.max(1.0);
        }
        let weigh = |size: &[u64; DIMENSIONS]| (0..DIMENSIONS).map(|d| per_unit[d] * size[d] as f64).sum();
        Self {
            items: model.items.iter().map(|item| weigh(&item.size)).collect(),
            per_unit,
        }
    }

    fn used(&self, used: &[u64; DIMENSIONS]) -> f64 {
        (0..DIMENSIONS).map(|d| self.per_unit[d] * used[d] as f64).sum()
    }
}

/// Repeats emptying and refilling until the price reaches `bound` or `steps` are used up; gives the steps left.
///
/// A change is kept if the price falls, or stays while the fillings become more uneven, which is what lets a TaskManager
/// run empty later (Fleszar and Hindi, *New heuristics for one-dimensional bin-packing*, 2002, whose minimum-bin-slack
/// step fills one bin here).
pub(crate) fn ruin_and_refill(
    state: &mut State<'_, '_>,
    weights: &Weights,
    rng: &mut ChaCha8Rng,
    bound: f64,
    mut steps: u64,
) -> u64 {
    let model = state.model;
    let efficiency = model.cheapest_first();
    let mut place_in_order = vec![0; efficiency.len()];
    for (at, &manager) in efficiency.iter().enumerate() {
        place_in_order[manager] = at;
    }
    let price_of = |state: &State<'_, '_>| -> f64 {
        let used = (0..state.loads.len()).filter(|&manager| !state.loads[manager].items.is_empty());
        used.map(|manager| model.task_managers[manager].price).sum()
    };
    let mut price = price_of(state);
    let (mut used, mut unused): (Vec<usize>, Vec<usize>) =
        (0..state.loads.len()).partition(|&manager| !state.loads[manager].items.is_empty());
    let mixed = model.task_managers.windows(2).any(|pair| {
        pair[0].price.total_cmp(&pair[1].price).is_ne()
            || pair[0].cpu_cores.total_cmp(&pair[1].cpu_cores).is_ne()
    });
    let tolerance = 1e-9 * price.max(1e-9);
    while price > bound + tolerance && steps > 0 && !used.is_empty() {
        let chosen = choose(state, &used, &unused, mixed, rng);
        let mut pool: Vec<usize> = Vec::new();
        let before: Vec<(usize, Vec<u32>)> = chosen
            .iter()
            .map(|&manager| (manager, state.loads[manager].items.clone()))
            .collect();
        let (mut old_price, mut old_unevenness) = (0.0, 0.0);
        for (manager, items) in &before {
            if !items.is_empty() {
                old_price += model.task_managers[*manager].price;
                old_unevenness += weights.used(&state.loads[*manager].used).powi(2);
            }
            pool.extend(items.iter().map(|&item| item as usize));
            for &item in items {
                state.take(item as usize);
            }
        }
        pool.sort_by(|&a, &b| weights.items[b].total_cmp(&weights.items[a]).then(a.cmp(&b)));
        let mut order = chosen.clone();
        if mixed && rng.random_range(0..3) > 0 {
            order.sort_by_key(|&manager| place_in_order[manager]);
        }
        let (mut new_price, mut new_unevenness) = (0.0, 0.0);
        for &manager in &order {
            if pool.is_empty() || new_price > old_price + tolerance {
                break;
            }
            steps = steps.saturating_sub(fill_tightly(state, weights, manager, &mut pool));
            if !state.loads[manager].items.is_empty() {
                new_price += model.task_managers[manager].price;
                new_unevenness += weights.used(&state.loads[manager].used).powi(2);
            }
        }
        steps = steps.saturating_sub(4);
        let kept = pool.is_empty()
            && (new_price < old_price - tolerance
                || (new_price <= old_price + tolerance && new_unevenness >= old_unevenness * (1.0 - 1e-12)));
        if kept {
            price += new_price - old_price;
            let changed = chosen.iter().any(|&manager| {
                state.loads[manager].items.is_empty()
                    != before
                        .iter()
                        .any(|(other, items)| *other == manager && items.is_empty())
            });
            if changed {
                (used, unused) =
                    (0..state.loads.len()).partition(|&manager| !state.loads[manager].items.is_empty());
            }
        } else {
            for &manager in &chosen {
                for item in state.loads[manager].items.clone() {
                    state.take(item as usize);
                }
            }
            for (manager, items) in &before {
                for &item in items {
                    state.add(item as usize, *manager);
                }
            }
        }
    }
    steps
}

/// One TaskManager that is little used, some others, and for a mixed cluster some that are empty.
fn choose(
    state: &State<'_, '_>,
    used: &[usize],
    unused: &[usize],
    mixed: bool,
    rng: &mut ChaCha8Rng,
) -> Vec<usize> {
    let mut chosen = Vec::with_capacity(MOST_EMPTIED + 2);
    let count = rng.random_range(2..=MOST_EMPTIED).min(used.len());
    for turn in 0..count {
        // The emptiest of a few.
        let tries = if turn == 0 { 4 } else { 2 };
        let mut best: Option<usize> = None;
        for _ in 0..tries {
            let manager = used[rng.random_range(0..used.len())];
            if !chosen.contains(&manager) && best.is_none_or(|other| state.fill(manager) < state.fill(other))
            {
                best = Some(manager);
            }
        }
        chosen.extend(best);
    }
    if mixed && !unused.is_empty() {
        for _ in 0..rng.random_range(0..=2) {
            let manager = unused[rng.random_range(0..unused.len())];
            if !chosen.contains(&manager) {
                chosen.push(manager);
            }
        }
    }
    chosen
}

/// Moves those items of the pool, which is sorted by falling weight, to an empty TaskManager that fill it best, the
/// heaviest that fits among them; gives the steps this took.
pub(crate) fn fill_tightly(
    state: &mut State<'_, '_>,
    weights: &Weights,
    manager: usize,
    pool: &mut Vec<usize>,
) -> u64 {
    let Some(first) = pool.iter().position(|&item| state.fits(item, manager)) else {
        return pool.len() as u64;
    };
    let seed = pool.remove(first);
    state.add(seed, manager);
    let mut rest = vec![0.0; pool.len() + 1];
    for at in (0..pool.len()).rev() {
        rest[at] = rest[at + 1] + weights.items[pool[at]];
    }
    let mut search = Filling {
        state,
        weights,
        manager,
        pool,
        rest: &rest,
        chosen: Vec::new(),
        best: Vec::new(),
        best_weight: -1.0,
        nodes: NODES,
        steps: 0,
    };
    search.descend(first, 0.0);
    let (best, steps) = (search.best, search.steps);
    for &at in best.iter().rev() {
        let item = pool.remove(at);
        state.add(item, manager);
    }
    steps
}

struct Filling<'s, 'm, 'a> {
    state: &'s mut State<'m, 'a>,
    weights: &'s Weights,
    manager: usize,
    pool: &'s [usize],
    /// The weight of the pool from an index on.
    rest: &'s [f64],
    chosen: Vec<usize>,
    best: Vec<usize>,
    best_weight: f64,
    nodes: u32,
    steps: u64,
}

impl Filling<'_, '_, '_> {
    fn descend(&mut self, from: usize, weight: f64) {
        if weight > self.best_weight {
            self.best_weight = weight;
            self.best.clone_from(&self.chosen);
        }
        let model = self.state.model;
        let mut refused: Option<usize> = None;
        for at in from..self.pool.len() {
            if self.nodes == 0 || weight + self.rest[at] <= self.best_weight * (1.0 + 1e-12) {
                return;
            }
            let item = self.pool[at];
            self.steps += 1;
            // An equal of one that was tried or refused leads to nothing new.
            let twin = refused.is_some_and(|other| {
                model.items[other].operator == model.items[item].operator
                    && model.items[other].size == model.items[item].size
            });
            if twin {
                continue;
            }
            refused = Some(item);
            if self.state.fits(item, self.manager) {
                self.nodes -= 1;
                self.state.add(item, self.manager);
                self.chosen.push(at);
                self.descend(at + 1, weight + self.weights.items[item]);
                self.chosen.pop();
                self.state.take(item);
            }
        }
    }
}
