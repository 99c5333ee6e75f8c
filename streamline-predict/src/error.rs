use std::path::PathBuf;

use streamline_core::CoreError;

/// Why a predictor could not be fitted, asked, saved or loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PredictError {
    /// The history is shorter than what the model looks back over.
    #[error("the history holds {given} usable points, but {needed} are needed")]
    HistoryTooShort {
        /// Points that the history holds.
        given: usize,
        /// Points that are needed.
        needed: usize,
    },
    /// The predictor has to be fitted before it can forecast.
    #[error("the predictor `{name}` has not been fitted")]
    NotFitted {
        /// Name of the predictor.
        name: String,
    },
    /// A forecast does not hold together.
    #[error("not a forecast: {reason}")]
    InvalidForecast {
        /// What is wrong.
        reason: &'static str,
    },
    /// A setting is outside its range.
    #[error("{name} is {value}, expected {expected}")]
    InvalidOption {
        /// Path of the setting.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The range, in words.
        expected: &'static str,
    },
    /// The series was refused.
    #[error("the history was refused")]
    History(#[from] CoreError),
    /// Training went astray: the loss was no longer finite.
    #[error("the training loss was not finite in epoch {epoch}")]
    Diverged {
        /// The epoch, from 1.
        epoch: usize,
    },
    /// A model file could not be read or written.
    #[error("model file {}: i/o failed", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A model file is not what it should be.
    #[error("model file {}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with the place.
        reason: String,
    },
    /// A model could not be fitted to the history.
    #[error("the predictor `{name}` could not be fitted to the history: {reason}")]
    Unfit {
        /// Name of the predictor.
        name: String,
        /// Why.
        reason: String,
    },
    /// The predictor cannot do this.
    #[error("the predictor `{name}` cannot {what}")]
    Unsupported {
        /// Name of the predictor.
        name: String,
        /// What it cannot do.
        what: &'static str,
    },
    /// What was written of a model does not hold together.
    #[error("not what a `{name}` was written as: {reason}")]
    Unsound {
        /// What it should be, such as the name of a predictor.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
}
