#![doc = include_str!("../README.md")]

mod surrogate;

mod analytic;
mod scalability;

mod capacity;
mod chebyshev;

#[cfg(feature = "burn")]
mod mlp;
mod score;

mod drift;
mod samples_csv;
mod store;

#[cfg(any(feature = "conformance", test))]
pub mod conformance;
mod envelope;
mod error;
mod log_error;
#[cfg(test)]
mod synthetic;

pub use analytic::{Analytic, AnalyticOptions};
pub use capacity::{CapacityCurve, CapacityOptions, CapacityPoint, CurveForm};
pub use drift::drift;
pub use error::SurrogateError;
#[cfg(feature = "burn")]
pub use mlp::{Backend, DenseLayer, DenseNetwork, Mlp, MlpOptions, Progress, Refresh, TrainingReport};
pub use samples_csv::{read_samples, write_samples};
pub use scalability::Scalability;
pub use score::{Score, Scores};
pub use store::{SampleStore, StoreOptions};
pub use surrogate::{PerformanceSurrogate, Prediction, Query, Sample};
