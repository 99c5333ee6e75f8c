#![doc = include_str!("../README.md")]

mod buffer;
mod client;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
#[cfg(feature = "local")]
pub mod local;
#[cfg(feature = "rest")]
pub mod rest;
mod simulated;

pub use client::{Applied, Capabilities, Change, FlinkClient, RescaleWaits, Scope};
pub use error::FlinkError;
#[cfg(feature = "rest")]
pub use rest::{RestClient, RestOptions};
pub use simulated::{
    Buffers, Cpu, Failures, Latency, LoadShape, Model, Noise, OperatorProfile, Restart, Scaling,
    SimulatedCluster, SimulatedJob, Truth,
};
