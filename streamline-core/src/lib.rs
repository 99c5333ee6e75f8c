#![doc = include_str!("../README.md")]

mod cluster;
mod config;
mod error;
mod estimate;
mod graph;
mod observation;
mod operator;
mod placement;
mod propagation;
mod series;

pub use cluster::{Cluster, TaskManager};
pub use config::{JobConfig, OperatorConfig};
pub use error::CoreError;
pub use estimate::{JobEstimate, OperatorEstimate};
pub use graph::{Edge, JobGraph, Partitioning};
pub use observation::{EdgeMetrics, JobId, JobStatus, Observation, OperatorMetrics, SourceMetrics};
pub use operator::{Operator, OperatorKind};
pub use placement::{Assignment, Instance, Placement};
pub use propagation::{Flow, propagate};
pub use series::TimeSeries;
