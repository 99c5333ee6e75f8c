use std::path::PathBuf;

/// Why a surrogate could not be trained, asked, saved or loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SurrogateError {
    /// The output buffer does not fit the batch.
    #[error("{queries} queries, but room for {out} predictions")]
    WrongLength {
        /// Queries in the batch.
        queries: usize,
        /// Slots of the output.
        out: usize,
    },
    /// A query, or the query of a sample, holds a number that makes no sense.
    #[error("query {index}: {field} is {value}, expected {expected}")]
    InvalidQuery {
        /// Index within the batch.
        index: usize,
        /// The field.
        field: &'static str,
        /// Its value.
        value: f64,
        /// The range, in words.
        expected: &'static str,
    },
    /// A sample was measured as something that makes no sense.
    #[error("sample {index}: {field} is {value}, expected 0 to 1e12")]
    InvalidSample {
        /// Index among the samples.
        index: usize,
        /// The field.
        field: &'static str,
        /// Its value.
        value: f64,
    },
    /// A point of a capacity curve makes no sense.
    #[error("point {index}: {field} is {value}, expected {expected}")]
    InvalidPoint {
        /// Index among the points.
        index: usize,
        /// The field.
        field: &'static str,
        /// Its value.
        value: f64,
        /// The range, in words.
        expected: &'static str,
    },
    /// A capacity curve needs at least one point.
    #[error("a capacity curve needs at least one point")]
    NoPoints,
    /// There are too few samples to learn from.
    #[error(
        "{given} samples with {configurations} distinct configurations, but {needed} configurations are needed"
    )]
    TooFewSamples {
        /// Samples that were given.
        given: usize,
        /// Distinct configurations among them.
        configurations: usize,
        /// Distinct configurations that are needed.
        needed: usize,
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
    /// Training went astray: the loss was no longer finite.
    #[error("the training loss was not finite in epoch {epoch}")]
    Diverged {
        /// The epoch, from 1.
        epoch: usize,
    },
    /// The layers of a network do not make one.
    #[error("layer {layer}: {reason}")]
    InvalidNetwork {
        /// Index of the layer.
        layer: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A curve could not be fitted.
    #[error("the least-squares problem could not be solved")]
    Unsolvable,
    /// Samples could not be read from CSV, or written to it.
    #[error("line {line} of the samples: {reason}")]
    Csv {
        /// The line, from 1 with the header; 0 where it is not known.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// A model or a sample store could not be read or written.
    #[error("file {}: i/o failed", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file of a model or of a sample store is not what it should be.
    #[error("file {}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with the place.
        reason: String,
    },
}

impl SurrogateError {
    /// Refuses an output buffer that does not fit its batch.
    ///
    /// # Errors
    /// [`SurrogateError::WrongLength`] if the lengths differ.
    pub fn check_lengths(queries: usize, out: usize) -> Result<(), Self> {
        if queries == out {
            Ok(())
        } else {
            Err(Self::WrongLength { queries, out })
        }
    }
}
