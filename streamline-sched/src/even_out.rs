//! Simulated annealing towards an even load.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::contention::SHARPNESS;
use crate::state::State;

/// The first and last temperature, as shares of the contention at the start of a cooling.
const TEMPERATURES: (f64, f64) = (0.05, 5e-4);
/// How many coolings share the steps.
const ROUNDS: u64 = 32;

/// Moves and swaps instances at random; what makes the load less even is accepted ever more rarely. Gives the state of
/// least contention that it came across.
pub(crate) fn even_out<'m, 'a>(start: &State<'m, 'a>, rng: &mut ChaCha8Rng, steps: u64) -> State<'m, 'a> {
    let mut best = start.clone();
    let mut least = largest(&best);
    let placed: Vec<usize> = (0..start.place.len())
        .filter(|&item| start.place[item].is_some())
        .collect();
    let managers = start.loads.len();
    if placed.is_empty() || managers < 2 {
        return best;
    }
    let per_round = (steps / ROUNDS).max(1);
    let cooling = (TEMPERATURES.1 / TEMPERATURES.0).powf(1.0 / per_round as f64);
    for _ in 0..ROUNDS.min(steps) {
        let mut state = best.clone();
        let mut pressure: f64 = (0..managers).map(|manager| pressure_on(&state, manager)).sum();
        let mut temperature = TEMPERATURES.0 * least;
        for _ in 0..per_round {
            temperature *= cooling;
            let item = placed[rng.random_range(0..placed.len())];
            let to = rng.random_range(0..managers);
            let Some(from) = state.place[item] else { continue };
            if from == to {
                continue;
            }
            let before = pressure_on(&state, from) + pressure_on(&state, to);
            // A move if there is room, or else a swap.
            let crowd = state.loads[to].items.len();
            let pick = rng.random_range(0..=crowd);
            let other = state.loads[to].items.get(pick).map(|&other| other as usize);
            if !exchange(&mut state, item, from, other, to) {
                continue;
            }
            let change = pressure_on(&state, from) + pressure_on(&state, to) - before;
            let worse = energy(pressure + change) - energy(pressure);
            if worse <= 0.0 || rng.random_range(0.0..1.0) < (-worse / temperature).exp() {
                pressure = (pressure + change).max(0.0);
                if worse < 0.0 {
                    let contention = largest(&state);
                    if contention < least - 1e-12 {
                        least = contention;
                        best = state.clone();
                    }
                }
            } else {
                state.take(item);
                if let Some(other) = other {
                    state.take(other);
                    state.add(other, to);
                }
                state.add(item, from);
            }
        }
    }
    best
}

/// Moves the item from `from` to `to`, and the other one, if any, back; gives whether that was possible.
fn exchange(state: &mut State<'_, '_>, item: usize, from: usize, other: Option<usize>, to: usize) -> bool {
    if other.is_some_and(|other| state.model.items[other].operator == state.model.items[item].operator) {
        return false;
    }
    state.take(item);
    if let Some(other) = other {
        state.take(other);
    }
    if state.fits(item, to) {
        state.add(item, to);
        let Some(other) = other else { return true };
        if state.fits(other, from) {
            state.add(other, from);
            return true;
        }
        state.take(item);
    }
    if let Some(other) = other {
        state.add(other, to);
    }
    state.add(item, from);
    false
}

fn energy(pressure: f64) -> f64 {
    pressure.max(0.0).powf(1.0 / f64::from(SHARPNESS))
}

fn pressure_on(state: &State<'_, '_>, manager: usize) -> f64 {
    let loads = state.contention.as_ref();
    loads.map_or(0.0, |loads| loads.pressure(&state.model.contention, manager))
}

pub(crate) fn largest(state: &State<'_, '_>) -> f64 {
    let loads = state.contention.as_ref();
    loads.map_or(0.0, |loads| loads.largest(&state.model.contention))
}
