#![doc = include_str!("../README.md")]

mod backtest;
mod bytes;
mod calibration;
mod combination;
mod dlinear;
mod drift;
mod envelope;
mod error;
#[cfg(feature = "ets")]
mod ets;
mod forecast;
mod last_value;
mod penalised;
mod predictor;
mod residuals;
mod ridge;
mod saved;
mod scale;
mod seasonal_naive;
mod stretches;
#[cfg(feature = "burn")]
mod transformer;

pub use backtest::{BacktestOptions, BacktestReport, backtest};
pub use calibration::Calibration;
pub use combination::Combination;
pub use dlinear::{DLinear, DLinearOptions};
pub use drift::Drift;
pub use error::PredictError;
#[cfg(feature = "ets")]
pub use ets::Ets;
pub use forecast::Forecast;
pub use last_value::LastValue;
pub use predictor::WorkloadPredictor;
pub use ridge::{Ridge, RidgeOptions};
pub use saved::{load, save};
pub use seasonal_naive::SeasonalNaive;
#[cfg(feature = "burn")]
pub use transformer::{Backend, Baseline, Progress, TrainingReport, Transformer, TransformerOptions};
