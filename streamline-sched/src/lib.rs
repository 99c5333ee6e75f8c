//! Placement of operator instances on TaskManagers.

mod error;
mod scheduler;

pub use error::ScheduleError;
pub use scheduler::{Demand, Request, Resource, Schedule, Scheduler, Unplaced, Usage};
