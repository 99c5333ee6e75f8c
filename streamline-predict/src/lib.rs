//! Workload forecasts for the Streamline tuner.

mod error;
mod forecast;
mod last_value;
mod predictor;
mod residuals;
mod seasonal_naive;

pub use error::PredictError;
pub use forecast::Forecast;
pub use last_value::LastValue;
pub use predictor::WorkloadPredictor;
pub use seasonal_naive::SeasonalNaive;
