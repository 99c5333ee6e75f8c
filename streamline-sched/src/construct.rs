//! Packing item by item in the order of serving.

use crate::model::Model;
use crate::state::State;

/// Leaves every instance where it runs now, as far as it still fits, and puts the rest where `choose` says.
///
/// If that leaves an instance without room that should be served before one that has room, it starts again and serves
/// rank by rank, so that what is served later gives way.
pub(crate) fn construct<'m, 'a>(
    model: &'m Model<'a>,
    mut choose: impl FnMut(&State<'m, 'a>, usize) -> Option<usize>,
) -> State<'m, 'a> {
    let mut state = State::new(model);
    keep(&mut state, None);
    fill(&mut state, None, &mut choose);
    let missing = |state: &State<'_, '_>| state.place.iter().position(|place| place.is_none()).is_some();
    if model.ranks < 2 || !missing(&state) {
        return state;
    }
    let mut strict = State::new(model);
    for rank in 0..model.ranks {
        keep(&mut strict, Some(rank));
        fill(&mut strict, Some(rank), &mut choose);
    }
    let placed = |state: &State<'_, '_>| {
        let mut placed = vec![0usize; model.ranks as usize];
        for (item, place) in state.place.iter().enumerate() {
            placed[model.items[item].rank as usize] += usize::from(place.is_some());
        }
        placed
    };
    if placed(&strict) > placed(&state) {
        strict
    } else {
        state
    }
}

fn keep(state: &mut State<'_, '_>, rank: Option<u32>) {
    let model = state.model;
    if !model.has_current {
        return;
    }
    for &item in &model.order {
        if rank.is_none_or(|rank| rank == model.items[item].rank)
            && let Some(manager) = model.items[item].current
            && state.fits(item, manager)
        {
            state.add(item, manager);
        }
    }
}

fn fill<'m, 'a>(
    state: &mut State<'m, 'a>,
    rank: Option<u32>,
    choose: &mut impl FnMut(&State<'m, 'a>, usize) -> Option<usize>,
) {
    let model = state.model;
    for &item in &model.order {
        let due = rank.is_none_or(|rank| rank == model.items[item].rank);
        if due
            && state.place[item].is_none()
            && !model.items[item].capped
            && let Some(manager) = choose(state, item)
        {
            state.add(item, manager);
        }
    }
}
