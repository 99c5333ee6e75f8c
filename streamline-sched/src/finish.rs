//! From a finished packing to the answer.

use std::collections::{BTreeMap, BTreeSet};

use streamline_core::{Assignment, Placement};

use crate::contention::loads_of;
use crate::load::Load;
use crate::objective::TERMS;
use crate::state::State;
use crate::{JobOutcome, Measures, Reason, Resource, Schedule, ScheduleError, Term, Unplaced, Usage};

/// Turns a packing into the answer.
///
/// # Errors
/// [`ScheduleError::Instances`] never, as the items were checked.
pub(crate) fn finish(state: &State<'_, '_>) -> Result<Schedule, ScheduleError> {
    let model = state.model;
    let mut assignments = Vec::with_capacity(model.items.len());
    let mut usage = vec![Usage::default(); model.task_managers.len()];
    let mut missing = (Usage::default(), Load::default());
    let mut unplaced = Vec::new();
    for (index, item) in model.items.iter().enumerate() {
        let instance = item.demand.instance;
        let sum = match state.place[index] {
            Some(task_manager) => {
                assignments.push(Assignment {
                    instance,
                    task_manager,
                });
                &mut usage[task_manager]
            }
            None => {
                unplaced.push(Unplaced {
                    instance,
                    lacking: state.lacking(index),
                });
                missing
                    .1
                    .add(index as u32, &[0; 3], item.operator, item.demand.sharing_group);
                &mut missing.0
            }
        };
        sum.cpu_cores += item.demand.cpu_cores;
        sum.memory_bytes = sum.memory_bytes.saturating_add(item.demand.memory_bytes);
        sum.network_bytes = sum.network_bytes.saturating_add(item.demand.network_bytes);
    }
    for (usage, load) in usage.iter_mut().zip(&state.loads) {
        usage.slots = load.slots;
    }
    missing.0.slots = missing.1.slots;
    let measures = measure(state, unplaced.len());
    Ok(Schedule {
        placement: Placement::new(assignments)?,
        usage,
        moved: measures.moved_instances as usize,
        order: model
            .order
            .iter()
            .map(|&index| model.items[index].demand.instance)
            .collect(),
        missing: missing.0,
        measures,
        jobs: outcomes(state, &unplaced),
        unplaced,
    })
}

pub(crate) fn measure(state: &State<'_, '_>, unplaced: usize) -> Measures {
    let model = state.model;
    // What is not placed crosses nothing; what is placed crosses unless both ends are together.
    let mut change = [0.0; TERMS];
    let mut again = State::new(model);
    for (item, place) in state.place.iter().enumerate() {
        if let Some(manager) = *place {
            again.add_noting(item, manager, &mut change);
        }
    }
    let crossing = |term: Term, total: f64| {
        let crossing = total + change[term as usize];
        // What is left of terms that cancel out is rounding.
        if crossing <= 1e-9 * total { 0.0 } else { crossing }
    };
    Measures {
        unplaced: unplaced as f64,
        price: change[Term::Price as usize],
        overload: change[Term::Overload as usize],
        forward_traffic: crossing(Term::ForwardTraffic, model.total_traffic[0]),
        traffic: crossing(Term::Traffic, model.total_traffic[1]),
        moved_instances: change[Term::MovedInstances as usize],
        moved_state: change[Term::MovedState as usize],
        crowding: change[Term::Crowding as usize],
        contention: loads_of(&model.contention, &state.loads, &model.items).contention(&model.contention),
    }
}

fn outcomes(state: &State<'_, '_>, unplaced: &[Unplaced]) -> Vec<JobOutcome> {
    let model = state.model;
    let mut outcomes = BTreeMap::<usize, JobOutcome>::new();
    // Per job, the rank that is served last among what was placed, and first among what was not.
    let mut first_without = BTreeMap::<usize, u32>::new();
    let mut first_placed = BTreeMap::<usize, u32>::new();
    for (index, item) in model.items.iter().enumerate() {
        let job = item.demand.instance.job;
        let outcome = outcomes.entry(job).or_insert_with(|| JobOutcome {
            job,
            priority: model.shares.get(&job).map_or(0, |share| share.priority),
            wanted: 0,
            placed: 0,
            wanted_cores: 0.0,
            placed_cores: 0.0,
            reason: None,
        });
        outcome.wanted += 1;
        outcome.wanted_cores += item.demand.cpu_cores;
        let ranks = if state.place[index].is_some() {
            outcome.placed += 1;
            outcome.placed_cores += item.demand.cpu_cores;
            &mut first_placed
        } else if item.capped {
            continue;
        } else {
            &mut first_without
        };
        let rank = ranks.entry(job).or_insert(item.rank);
        *rank = item.rank.min(*rank);
    }
    for outcome in outcomes
        .values_mut()
        .filter(|outcome| outcome.placed < outcome.wanted)
    {
        let mut lacking = unplaced
            .iter()
            .filter(|unplaced| unplaced.instance.job == outcome.job)
            .map(|u| u.lacking);
        outcome.reason = Some(
            match (
                first_without.get(&outcome.job),
                lacking.find(|&lacking| lacking != Resource::Cap),
            ) {
                (Some(rank), Some(lacking)) => {
                    let earlier = first_placed
                        .iter()
                        .filter(|&(&job, first)| job != outcome.job && first < rank);
                    let to: BTreeSet<usize> = earlier.map(|(&job, _)| job).collect();
                    if to.is_empty() || lacking == Resource::Constraint {
                        Reason::NoRoom { lacking }
                    } else {
                        Reason::GaveWay {
                            to: to.into_iter().collect(),
                        }
                    }
                }
                _ => Reason::Cap,
            },
        );
    }
    outcomes.into_values().collect()
}
