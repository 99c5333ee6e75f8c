//! Placement of operator instances on TaskManagers.

mod bounds;
mod constraint;
mod decreasing;
mod error;
mod fairness;
mod local_search;
mod objective;
mod packing;
mod request;
mod scheduler;
mod spread;
mod synthetic;
mod text;

mod columns;
mod construct;
mod contention;
mod deal;
mod even_out;
mod finish;
mod load;
mod model;
mod partition;
mod ruin;
mod search;
mod simplex;
mod state;

pub use bounds::{LowerBounds, ResourceBound};
pub use constraint::Constraint;
pub use decreasing::{BestFitDecreasing, FirstFitDecreasing, FitRule};
pub use error::ScheduleError;
pub use fairness::{JobOutcome, JobShare, Reason};
pub use local_search::LocalSearch;
pub use objective::{Contention, Measures, Objective, Term};
pub use packing::{BinKind, FilledBin, Packing, PackingError, PackingProblem, Piece};
pub use request::{Demand, Request, StateAccess, Traffic};
pub use scheduler::{Resource, Schedule, Scheduler, Unplaced, Usage};
pub use spread::Spread;
pub use synthetic::Synthetic;
pub use text::ScheduleText;
