//! Flink clusters, real and simulated.

mod client;
mod error;

pub use client::{Applied, Capabilities, Change, FlinkClient, Scope};
pub use error::FlinkError;
