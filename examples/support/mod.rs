//! What the examples share: a pipeline, its profile, its models, and days of load on the simulated cluster.

#![allow(dead_code, reason = "each example uses a part of it")]

pub(crate) mod arguments;
pub(crate) mod days;
pub(crate) mod learning;
pub(crate) mod pipeline;
pub(crate) mod progress;
