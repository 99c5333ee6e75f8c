//! Why a search could not be set up, or stopped early.

use std::error::Error as StdError;

use crate::Outcome;

/// Whatever error an evaluation gave.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// Why a search could not be set up, or stopped early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The problem has no objective.
    #[error("the problem has no objective")]
    NoObjective,
    /// The lower bound of a variable lies above the upper one.
    #[error("variable {index} has the lower bound {lower} above its upper bound {upper}")]
    BoundsReversed {
        /// Which variable, from 0.
        index: usize,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// A bound of a variable is NaN or infinite, or an integer bound is beyond ±2⁵³.
    #[error(
        "variable {index} has the bounds {lower} and {upper}; both must be finite, and integers within ±2^53"
    )]
    BoundsNotUsable {
        /// Which variable, from 0.
        index: usize,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// An ordinal or categorical variable has no value to choose from.
    #[error("variable {index} has no value to choose from")]
    NoLevels {
        /// Which variable, from 0.
        index: usize,
    },
    /// An option has a value with which no search can run.
    #[error("option `{option}` is {given}, expected {expected}")]
    Option {
        /// The option's path.
        option: &'static str,
        /// What it is.
        given: f64,
        /// What it may be.
        expected: &'static str,
    },
    /// A row has another number of columns than asked for.
    #[error("{what} has {given} numbers a row, expected {expected}")]
    Width {
        /// What the row is.
        what: &'static str,
        /// How many columns it has.
        given: usize,
        /// How many it must have.
        expected: usize,
    },
    /// The evaluation failed; what was found until then is in `outcome`.
    #[error("the evaluation failed in generation {}", outcome.generations)]
    Evaluation {
        /// What the evaluation said.
        source: BoxError,
        /// The population as it was before that generation (empty if it was the first).
        outcome: Box<Outcome>,
    },
    /// The evaluation panicked; what was found until then is in `outcome`.
    #[error("the evaluation panicked in generation {}: {message}", outcome.generations)]
    Panic {
        /// The panic's message, if it was text.
        message: String,
        /// The population as it was before that generation (empty if it was the first).
        outcome: Box<Outcome>,
    },
    /// A checkpoint was taken from a problem or with options of another shape, or is damaged.
    #[error("the checkpoint does not fit: {what} is {given}, expected {expected}")]
    Checkpoint {
        /// What differs.
        what: &'static str,
        /// What the checkpoint has.
        given: u64,
        /// What it must have.
        expected: u64,
    },
}

impl Error {
    /// What was found before the search stopped, if it had started.
    #[must_use]
    pub fn into_outcome(self) -> Option<Outcome> {
        match self {
            Self::Evaluation { outcome, .. } | Self::Panic { outcome, .. } => Some(*outcome),
            _ => None,
        }
    }
}
