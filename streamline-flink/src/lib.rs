#![doc = include_str!("../README.md")]

mod client;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod simulated;

pub use client::{Applied, Capabilities, Change, FlinkClient, Scope};
pub use error::FlinkError;
pub use simulated::{
    Buffers, Cpu, Failures, Latency, LoadShape, Model, Noise, OperatorProfile, Restart, Scaling,
    SimulatedCluster, SimulatedJob, Truth,
};
