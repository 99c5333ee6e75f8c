//! Performance estimates for the Streamline tuner.

mod surrogate;

mod analytic;
mod scalability;

mod capacity;
mod chebyshev;

mod error;
#[cfg(test)]
mod synthetic;

pub use analytic::{Analytic, AnalyticOptions};
pub use capacity::{CapacityCurve, CapacityOptions, CapacityPoint, CurveForm};
pub use error::SurrogateError;
pub use scalability::Scalability;
pub use surrogate::{PerformanceSurrogate, Prediction, Query, Sample};
