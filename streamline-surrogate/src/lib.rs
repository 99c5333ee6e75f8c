#![doc = include_str!("../README.md")]

mod surrogate;

mod analytic;
mod scalability;

mod capacity;
mod chebyshev;

#[cfg(feature = "burn")]
mod mlp;
mod score;

mod envelope;
mod error;
#[cfg(test)]
mod synthetic;

pub use analytic::{Analytic, AnalyticOptions};
pub use capacity::{CapacityCurve, CapacityOptions, CapacityPoint, CurveForm};
pub use error::SurrogateError;
#[cfg(feature = "burn")]
pub use mlp::{Backend, DenseLayer, DenseNetwork, Mlp, MlpOptions, Progress, TrainingReport};
pub use scalability::Scalability;
pub use score::{Score, Scores};
pub use surrogate::{PerformanceSurrogate, Prediction, Query, Sample};
