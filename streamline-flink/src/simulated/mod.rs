//! A cluster that only exists as a model.

mod cluster;
mod flow;
mod job;
mod latency;
mod load;
mod meter;
mod model;
mod observe;
mod running;
mod slots;

pub use cluster::{SimulatedCluster, Truth};
pub use job::{OperatorProfile, SimulatedJob};
pub use load::LoadShape;
pub use model::{Buffers, Cpu, Failures, Latency, Model, Noise, Restart, Scaling};
