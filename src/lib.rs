#![doc = include_str!("../README.md")]

mod builder;
mod candidates;
mod controller;
mod decision;
mod error;
mod fitting;
mod grants;
mod memory;
mod options;
mod outlook;
mod plan;
#[cfg(feature = "plot")]
mod plot;
mod policy;
mod profile;
mod profiler;
mod search;
mod sizing;
mod trace;
mod tuner;

pub use builder::TunerBuilder;
pub use controller::{Controller, Round};
pub use error::Error;
pub use memory::Memory;
pub use options::TunerOptions;
pub use outlook::{Basis, SourceOutlook};
pub use plan::{ChangeReason, Decision, FrontPoint, HoldReason, JobPlan, Plan};
#[cfg(feature = "plot")]
pub use plot::{plot_capacity, plot_forecast, plot_front, plot_series};
pub use policy::{JobPolicy, Objective, Preference};
pub use profile::Profile;
pub use profiler::{Profiled, Profiler, Steady};
pub use trace::{TraceColumns, read_trace};
pub use tuner::{PlanRequest, Tuner};
