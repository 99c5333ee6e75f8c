#![doc = include_str!("../README.md")]
//!
//! # The front of the first search
//!
#![doc = include_str!("../front.svg")]
#![cfg_attr(
    test,
    allow(clippy::float_cmp, reason = "tests compare values that are exact")
)]

mod archive;
mod breeding;
mod checkpoint;
mod crowding;
mod decision;
mod directions;
mod dominance;
mod duplicates;
mod error;
mod function;
mod hypervolume;
mod indicators;
mod niching;
mod nsga2;
mod nsga3;
mod operators;
mod options;
mod outcome;
mod pool;
mod population;
mod problem;
mod random;
mod rows;
mod run;
mod sorting;
mod stop;
mod survival;
#[cfg(feature = "test-problems")]
pub mod test_problems;
mod variable;
mod variation;

pub use checkpoint::Checkpoint;
pub use crowding::{crowding_distances, thin_by_crowding};
pub use decision::{knee_point, pseudo_weight_choice, pseudo_weights, weighted_choice};
pub use directions::Directions;
pub use dominance::{Dominance, dominance};
pub use error::{BoxError, Error};
pub use function::Function;
pub use hypervolume::hypervolume;
pub use indicators::{gd, igd, igd_plus, spacing};
pub use nsga2::Nsga2;
pub use nsga3::Nsga3;
pub use operators::{Crossover, Exchange, Operators};
pub use options::{
    ConstraintHandling, Crowding, Fill, Options, Sampling, Stagnation, Start, Stop, TargetHypervolume,
};
pub use outcome::{Outcome, StopReason};
pub use population::{Population, Solution};
pub use problem::{Evaluations, Goal, Problem};
pub use rows::Rows;
pub use run::Run;
pub use sorting::{Fronts, Sorter, non_dominated_sort};
pub use variable::Variable;
