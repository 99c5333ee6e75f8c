use crate::finish::finish;
use crate::local_search::LocalSearch;
use crate::model::Model;
use crate::objective::TERMS;
use crate::state::State;
use crate::{Request, Schedule, ScheduleError, Scheduler, Term};

/// Finds the best placement there is, by branch and bound over all of them: for up to a dozen instances.
///
/// Starts from what [`LocalSearch`] finds, places instance after instance on each TaskManager and leaves it without room,
/// and turns back where what is fixed so far is already no better than the best. Empty TaskManagers that are alike are
/// tried once. It is what the other schedulers are tested against.
///
/// # Examples
///
/// ```
/// use streamline_sched::{BranchAndBound, LowerBounds, Scheduler, Synthetic};
///
/// let synthetic = Synthetic::new(9, 3, 4)?;
/// let schedule = BranchAndBound::default().schedule(&synthetic.request())?;
/// assert!(schedule.measures.price >= LowerBounds::of(&synthetic.request())?.price);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchAndBound {
    nodes: u64,
}

impl Default for BranchAndBound {
    /// At most 20,000,000 nodes.
    fn default() -> Self {
        Self { nodes: 20_000_000 }
    }
}

impl BranchAndBound {
    /// Sets the most nodes that are looked at.
    #[must_use]
    pub fn with_nodes(mut self, nodes: u64) -> Self {
        self.nodes = nodes;
        self
    }
}

impl Scheduler for BranchAndBound {
    fn name(&self) -> &str {
        "branch and bound"
    }

    /// The best placement by the request's objective.
    ///
    /// # Errors
    /// [`ScheduleError::TooManyNodes`] if the search is too long, or another [`ScheduleError`] if the request makes no
    /// sense.
    fn schedule(&self, request: &Request<'_>) -> Result<Schedule, ScheduleError> {
        let model = Model::new(request)?;
        let start = LocalSearch::default().with_steps(50_000).search(&model);
        let mut best = Best {
            cost: cost_of(&start),
            state: start,
        };
        let mut search = Search {
            model: &model,
            nodes: self.nodes,
        };
        let mut state = State::new(&model);
        search.descend(&mut state, 0, &[0.0; TERMS], &mut best);
        if search.nodes == 0 {
            return Err(ScheduleError::TooManyNodes {
                instances: request.demands.len(),
                nodes: self.nodes,
            });
        }
        finish(&best.state)
    }
}

struct Best<'m, 'a> {
    state: State<'m, 'a>,
    cost: [f64; TERMS],
}

struct Search<'m, 'a> {
    model: &'m Model<'a>,
    nodes: u64,
}

impl<'m, 'a> Search<'m, 'a> {
    fn descend(
        &mut self,
        state: &mut State<'m, 'a>,
        at: usize,
        cost: &[f64; TERMS],
        best: &mut Best<'m, 'a>,
    ) {
        if self.nodes == 0 {
            return;
        }
        self.nodes -= 1;
        let model = self.model;
        let Some(&item) = model.order.get(at) else {
            let mut cost = *cost;
            if let Some(loads) = &state.contention {
                cost[Term::Contention as usize] = loads.largest(&model.contention);
            }
            if improves(model, &cost, &best.cost) {
                best.state = state.clone();
                best.cost = cost;
            }
            return;
        };
        let mut tried_empty: Vec<usize> = Vec::new();
        for manager in 0..state.loads.len() {
            if !state.fits(item, manager) {
                continue;
            }
            if state.loads[manager].items.is_empty() {
                if tried_empty.iter().any(|&other| self.alike(manager, other)) {
                    continue;
                }
                tried_empty.push(manager);
            }
            let mut next = *cost;
            add_crossing(state, item, Some(manager), at, &mut next);
            let mut change = [0.0; TERMS];
            state.add_noting(item, manager, &mut change);
            for term in [
                Term::Price,
                Term::Overload,
                Term::MovedInstances,
                Term::MovedState,
                Term::Crowding,
            ] {
                next[term as usize] += change[term as usize];
            }
            if improves(model, &next, &best.cost) {
                self.descend(state, at + 1, &next, best);
            }
            state.take(item);
        }
        let mut next = *cost;
        add_crossing(state, item, None, at, &mut next);
        next[Term::Unplaced as usize] += model.weight(item);
        if improves(model, &next, &best.cost) {
            self.descend(state, at + 1, &next, best);
        }
    }

    /// Whether it does not matter which of two empty TaskManagers is taken.
    fn alike(&self, one: usize, other: usize) -> bool {
        let (first, second) = (&self.model.task_managers[one], &self.model.task_managers[other]);
        !self.model.has_current
            && self.model.capacity[one] == self.model.capacity[other]
            && first.slots == second.slots
            && first.price.total_cmp(&second.price).is_eq()
            && first.labels == second.labels
    }
}

/// Adds the traffic between an item and those that are decided already, unless both are on one TaskManager. Unlike what
/// is together, this only grows.
fn add_crossing(
    state: &State<'_, '_>,
    item: usize,
    manager: Option<usize>,
    decided: usize,
    cost: &mut [f64; TERMS],
) {
    let model = state.model;
    let dense = &model.items[item];
    for &before in &model.order[..decided] {
        let together = manager.is_some() && state.place[before] == manager;
        if together {
            continue;
        }
        for &(partner, rate) in &dense.partners {
            if partner as usize == before {
                cost[Term::ForwardTraffic as usize] += rate;
                cost[Term::Traffic as usize] += rate;
            }
        }
        for &(other, rate) in &model.operators[dense.operator as usize].neighbours {
            if model.items[before].operator == other {
                cost[Term::Traffic as usize] += rate;
            }
        }
    }
}

/// What a placement costs in each term, with traffic that has no partner left out, as in the search.
fn cost_of(state: &State<'_, '_>) -> [f64; TERMS] {
    let model = state.model;
    let mut cost = [0.0; TERMS];
    let mut again = State::new(model);
    for (at, &item) in model.order.iter().enumerate() {
        add_crossing(&again, item, state.place[item], at, &mut cost);
        match state.place[item] {
            Some(manager) => {
                let mut change = [0.0; TERMS];
                again.add_noting(item, manager, &mut change);
                for term in [
                    Term::Price,
                    Term::Overload,
                    Term::MovedInstances,
                    Term::MovedState,
                    Term::Crowding,
                ] {
                    cost[term as usize] += change[term as usize];
                }
            }
            None => cost[Term::Unplaced as usize] += model.weight(item),
        }
    }
    if let Some(loads) = &again.contention {
        cost[Term::Contention as usize] = loads.largest(&model.contention);
    }
    cost
}

fn improves(model: &Model<'_>, cost: &[f64; TERMS], best: &[f64; TERMS]) -> bool {
    let mut change = [0.0; TERMS];
    for term in 0..TERMS {
        change[term] = cost[term] - best[term];
    }
    // Equal so far, with more to come, can only become worse.
    model.objective.improves(&change, &model.tolerance)
}
