#![doc = include_str!("../README.md")]

mod error;
mod forecast;
mod last_value;
mod predictor;
mod residuals;
mod seasonal_naive;
#[cfg(feature = "burn")]
mod transformer;

pub use error::PredictError;
pub use forecast::Forecast;
pub use last_value::LastValue;
pub use predictor::WorkloadPredictor;
pub use seasonal_naive::SeasonalNaive;
#[cfg(feature = "burn")]
pub use transformer::{Backend, Progress, TrainingReport, Transformer, TransformerOptions};
