//! Performance estimates for the Streamline tuner.

mod error;
mod surrogate;

pub use error::SurrogateError;
pub use surrogate::{PerformanceSurrogate, Prediction, Query, Sample};
