//! Placement of operator instances on TaskManagers.

mod decreasing;
mod error;
mod model;
mod scheduler;
mod spread;
mod text;

pub use decreasing::{BestFitDecreasing, FirstFitDecreasing, FitRule};
pub use error::ScheduleError;
pub use scheduler::{Demand, Request, Resource, Schedule, Scheduler, Unplaced, Usage};
pub use spread::Spread;
pub use text::ScheduleText;
