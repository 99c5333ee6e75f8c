//! Workload forecasts for the Streamline tuner.

mod error;
mod forecast;
mod predictor;

pub use error::PredictError;
pub use forecast::Forecast;
pub use predictor::WorkloadPredictor;
