use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::construct::construct;
use crate::contention::loads_of;
use crate::deal::deal;
use crate::decreasing::{FitRule, best_fit, first_fit};
use crate::even_out::even_out;
use crate::finish::{finish, measure};
use crate::model::Model;
use crate::objective::TERMS;
use crate::ruin::{Weights, ruin_and_refill};
use crate::search::Search;
use crate::spread::roomiest;
use crate::state::State;
use crate::{LowerBounds, Request, Schedule, ScheduleError, Scheduler, Term};

/// Packs with the best of the simple rules, then repairs and improves by the request's objective.
///
/// If the price comes before whatever else the placements differ in, it first lowers the price: it empties a few
/// TaskManagers at a time and fills fewer or cheaper ones as tightly as possible, until the lower bound is reached or half
/// of the steps are used up. Then it makes room for instances without, empties TaskManagers, moves and swaps instances,
/// and keeps every change that the objective calls better. The result is never worse than the best of first-fit and
/// best-fit decreasing.
///
/// # Examples
///
/// ```
/// use streamline_core::{Cluster, Instance};
/// use streamline_sched::{Demand, FirstFitDecreasing, LocalSearch, Request, Scheduler};
///
/// // First-fit decreasing packs 5 + 4, 3 + 3 + 3 and 2 of 10 cores. Two TaskManagers are enough: 5 + 3 + 2 and 4 + 3 + 3.
/// let demands: Vec<Demand> = [5.0, 4.0, 3.0, 3.0, 3.0, 2.0]
///     .iter()
///     .enumerate()
///     .map(|(operator, &cpu_cores)| Demand {
///         instance: Instance { job: 0, operator, subtask: 0 },
///         cpu_cores,
///         memory_bytes: 0,
///         network_bytes: 0,
///         sharing_group: 0,
///         state_bytes: 0,
///     })
///     .collect();
/// let cluster = Cluster::uniform(3, 10.0, 1 << 30, 4)?;
/// let request = Request::new(&demands, &cluster);
/// assert_eq!(FirstFitDecreasing.schedule(&request)?.task_managers_used(), 3);
/// assert_eq!(LocalSearch::default().schedule(&request)?.task_managers_used(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LocalSearch {
    /// The most placements of single instances that are tried; unless set, 4,000,000, or 400 for each instance where that is
    /// more. The time is in proportion, not the result: a search that finds nothing better ends earlier.
    pub steps: Option<u64>,
    /// The seed of what is chosen at random.
    pub seed: u64,
}

impl LocalSearch {
    /// Sets the most placements of single instances that are tried.
    #[must_use]
    pub fn with_steps(mut self, steps: u64) -> Self {
        self.steps = Some(steps);
        self
    }

    /// Sets the seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

impl Scheduler for LocalSearch {
    fn name(&self) -> &str {
        "local search"
    }

    fn schedule(&self, request: &Request<'_>) -> Result<Schedule, ScheduleError> {
        finish(&self.search(&Model::new(request)?))
    }
}

impl LocalSearch {
    pub(crate) fn search<'m, 'a>(&self, model: &'m Model<'a>) -> State<'m, 'a> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut state = start(model);
        let mut steps = self
            .steps
            .unwrap_or((400 * model.items.len() as u64).max(4_000_000));
        if price_leads(model) && state.place.iter().all(Option::is_some) {
            let bound = LowerBounds::of_model(model).price;
            let half = steps / 2;
            let left = ruin_and_refill(&mut state, &Weights::new(model), &mut rng, bound, half);
            steps = steps - half + left;
        }
        if model.objective.uses(Term::Contention) {
            let mut leveled = even_out(&state, &mut rng, steps / 16);
            let (dealt, proven) = deal(&leveled, steps / 16);
            leveled = dealt.unwrap_or(leveled);
            if !proven {
                leveled = even_out(&leveled, &mut rng, steps / 4);
            }
            steps /= 2;
            if better(&leveled, &state) {
                state = leveled;
            }
        }
        let mut search = Search::new(state, steps);
        search.improve();
        search.state
    }
}

/// The best of the simple packings.
fn start<'m, 'a>(model: &'m Model<'a>) -> State<'m, 'a> {
    let empty = model.cheapest_first();
    let mut candidates = vec![
        construct(model, first_fit),
        construct(model, |state, item| best_fit(state, item, FitRule::Norm, &empty)),
        construct(model, |state, item| {
            best_fit(state, item, FitRule::DotProduct, &empty)
        }),
    ];
    if model.objective.uses(Term::Contention) || model.objective.uses(Term::Overload) && model.has_target {
        candidates.push(construct(model, roomiest));
    }
    let mut best: Option<(State<'m, 'a>, [f64; TERMS])> = None;
    for candidate in candidates {
        let terms = terms(&candidate);
        if best
            .as_ref()
            .is_none_or(|(_, least)| is_better(model, &terms, least))
        {
            best = Some((candidate, terms));
        }
    }
    best.map_or_else(|| State::new(model), |(state, _)| state)
}

fn better(one: &State<'_, '_>, other: &State<'_, '_>) -> bool {
    is_better(one.model, &terms(one), &terms(other))
}

fn is_better(model: &Model<'_>, one: &[f64; TERMS], other: &[f64; TERMS]) -> bool {
    let mut change = [0.0; TERMS];
    for term in 0..TERMS {
        change[term] = one[term] - other[term];
    }
    model.objective.improves(&change, &model.tolerance)
}

fn terms(state: &State<'_, '_>) -> [f64; TERMS] {
    let measures = measure(state, 0);
    let missing = state
        .place
        .iter()
        .enumerate()
        .filter(|(_, place)| place.is_none());
    let mut terms = [0.0; TERMS];
    terms[Term::Unplaced as usize] = missing.map(|(item, _)| state.model.weight(item)).sum();
    terms[Term::Price as usize] = measures.price;
    terms[Term::Overload as usize] = measures.overload;
    terms[Term::ForwardTraffic as usize] = measures.forward_traffic;
    terms[Term::Traffic as usize] = measures.traffic;
    terms[Term::MovedInstances as usize] = measures.moved_instances;
    terms[Term::MovedState as usize] = measures.moved_state;
    terms[Term::Crowding as usize] = measures.crowding;
    terms[Term::Contention as usize] =
        loads_of(&state.model.contention, &state.loads, &state.model.items).largest(&state.model.contention);
    terms
}

/// Whether the price comes before all other terms in which complete placements can differ.
fn price_leads(model: &Model<'_>) -> bool {
    for level in model.objective.levels() {
        let mut terms = level.iter().filter(|&&(term, weight)| {
            weight > 0.0
                && match term {
                    Term::Unplaced => false,
                    Term::Overload => model.has_target,
                    Term::MovedInstances | Term::MovedState => model.has_current,
                    _ => true,
                }
        });
        match (terms.next(), terms.next()) {
            (None, _) => {}
            (Some((Term::Price, _)), None) => return true,
            _ => return false,
        }
    }
    false
}
