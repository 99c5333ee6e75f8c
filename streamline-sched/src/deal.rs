//! Search for the least contention by how many instances of each operator a TaskManager gets.

use crate::even_out::largest;
use crate::state::State;

/// Looks for a placement of less contention than the given one; gives the best, if any, and whether it is proven that there
/// is no better one.
///
/// It deals the instances of one operator after the other. TaskManagers that are alike and run the same so far are
/// interchangeable, and so are instances of one operator, so that it looks at each plan only once; what cannot become
/// better than the best so far is cut off. With enough steps it finds the least contention there is, provided that the
/// instances of an operator are equal.
pub(crate) fn deal<'m, 'a>(than: &State<'m, 'a>, steps: u64) -> (Option<State<'m, 'a>>, bool) {
    let model = than.model;
    if than.place.iter().any(Option::is_none) || model.has_current {
        return (None, false);
    }
    let uniform = model.operators.iter().all(|operator| {
        let mut sizes = operator.items.iter().map(|&item| model.items[item as usize].size);
        let first = sizes.next();
        sizes.all(|size| Some(size) == first)
    });
    if !uniform {
        return (None, false);
    }
    let mut order: Vec<usize> = (0..model.operators.len()).collect();
    let heaviness = |operator: &usize| -> u128 {
        model.operators[*operator]
            .items
            .iter()
            .map(|&item| u128::from(model.items[item as usize].size[0]))
            .sum()
    };
    order.sort_by(|a, b| heaviness(b).cmp(&heaviness(a)).then(a.cmp(b)));
    let managers = model.task_managers;
    let alike: Vec<usize> = (0..managers.len())
        .map(|manager| {
            let same = |&other: &usize| {
                let (one, other) = (&managers[manager], &managers[other]);
                one.slots == other.slots
                    && one.cpu_cores.total_cmp(&other.cpu_cores).is_eq()
                    && one.memory_bytes == other.memory_bytes
                    && one.network_bytes == other.network_bytes
                    && one.labels == other.labels
            };
            (0..manager).find(same).unwrap_or(manager)
        })
        .collect();
    let mut dealing = Dealing {
        state: State::new(model),
        complete: vec![false; model.operators.len()],
        order,
        alike,
        least: largest(than),
        best: None,
        steps,
    };
    dealing.place(0);
    (dealing.best, dealing.steps > 0)
}

struct Dealing<'m, 'a> {
    state: State<'m, 'a>,
    /// Operators whose instances are all placed.
    complete: Vec<bool>,
    order: Vec<usize>,
    /// The first TaskManager of the same kind.
    alike: Vec<usize>,
    least: f64,
    best: Option<State<'m, 'a>>,
    steps: u64,
}

impl Dealing<'_, '_> {
    fn place(&mut self, at: usize) {
        let Some(&operator) = self.order.get(at) else {
            let contention = largest(&self.state);
            if contention < self.least - 1e-12 {
                self.least = contention;
                self.best = Some(self.state.clone());
            }
            return;
        };
        self.deal(at, operator, 0, 0);
    }

    /// Whether a TaskManager can still be part of something better.
    fn promises(&self, manager: usize) -> bool {
        let model = self.state.model;
        let least = model
            .contention
            .least(&self.state.loads[manager], &model.items, &self.complete);
        least < self.least - 1e-12
    }

    /// Deals the operator's items from `next` on to the TaskManagers from `manager` on.
    fn deal(&mut self, at: usize, operator: usize, manager: usize, next: usize) {
        if self.steps == 0 {
            return;
        }
        self.steps -= 1;
        let model = self.state.model;
        let items = &model.operators[operator].items;
        if manager == self.state.loads.len() {
            if next == items.len() {
                self.complete[operator] = true;
                if (0..manager).all(|manager| self.promises(manager)) {
                    self.place(at + 1);
                }
                self.complete[operator] = false;
            }
            return;
        }
        // Among equals the earlier one gets at least as many.
        let twin = (0..manager)
            .rev()
            .find(|&other| self.equal_so_far(other, manager, operator));
        let limit = twin.map_or(u32::MAX, |twin| self.state.loads[twin].count(operator as u32));
        let mut dealt = 0;
        while dealt < limit as usize && next + dealt < items.len() {
            let item = items[next + dealt] as usize;
            if !self.state.fits(item, manager) {
                break;
            }
            self.state.add(item, manager);
            dealt += 1;
            if !self.promises(manager) {
                dealt -= 1;
                self.state.take(item);
                break;
            }
        }
        loop {
            self.deal(at, operator, manager + 1, next + dealt);
            if dealt == 0 {
                return;
            }
            dealt -= 1;
            self.state.take(items[next + dealt] as usize);
        }
    }

    fn equal_so_far(&self, one: usize, other: usize, but: usize) -> bool {
        let (first, second) = (&self.state.loads[one], &self.state.loads[other]);
        let rest = |load: &crate::load::Load| load.items.len() - load.count(but as u32) as usize;
        self.alike[one] == self.alike[other]
            && rest(first) == rest(second)
            && first
                .operators
                .iter()
                .filter(|resident| resident.operator as usize != but)
                .all(|resident| second.count(resident.operator) == resident.count)
    }
}
