use streamline_core::TimeSeries;

use crate::{Calibration, Forecast, PredictError};

/// Forecasts the load of a source from its history.
///
/// Object-safe, so that a tuner can hold any predictor: implement it for your own model and hand it in. `fit` may be
/// slow; `forecast` is called in every round and should take milliseconds at most.
///
/// # Examples
///
/// A predictor that expects nothing to change:
///
/// ```
/// use streamline_core::TimeSeries;
/// use streamline_predict::{Forecast, PredictError, WorkloadPredictor};
///
/// struct LastValue;
///
/// impl WorkloadPredictor for LastValue {
///     fn name(&self) -> &str {
///         "last value"
///     }
///
///     fn lookback(&self) -> usize {
///         1
///     }
///
///     fn fit(&mut self, _history: &[TimeSeries]) -> Result<(), PredictError> {
///         Ok(())
///     }
///
///     fn forecast(&self, history: &TimeSeries, horizon: usize) -> Result<Forecast, PredictError> {
///         let last = history.last().ok_or(PredictError::HistoryTooShort { given: 0, needed: 1 })?;
///         Forecast::point_only(history, vec![last; horizon])
///     }
/// }
///
/// let history = TimeSeries::from_values(0, 60_000, &[10.0, 12.0])?;
/// let forecast = LastValue.forecast(&history, 3)?;
/// assert_eq!(forecast.point(), [12.0, 12.0, 12.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait WorkloadPredictor: Send + Sync {
    /// A short name for reports.
    fn name(&self) -> &str;

    /// How many of the newest points of a history `forecast` needs; fewer are [`PredictError::HistoryTooShort`].
    fn lookback(&self) -> usize;

    /// Learns from the histories of one or more sources. A later call replaces what an earlier one learnt.
    ///
    /// # Errors
    /// [`PredictError`] if the histories do not suffice; the predictor then is what it was before.
    fn fit(&mut self, history: &[TimeSeries]) -> Result<(), PredictError>;

    /// Forecasts the `horizon` points that follow `history`. Gaps are allowed.
    ///
    /// # Errors
    /// [`PredictError::HistoryTooShort`] if fewer than [`Self::lookback`] points are given, [`PredictError::NotFitted`]
    /// if the predictor must be fitted first, or another [`PredictError`].
    fn forecast(&self, history: &TimeSeries, horizon: usize) -> Result<Forecast, PredictError>;

    /// How its forecasts fared, while it was fitted, on points that it had been kept from: what the [`Calibration`] of a
    /// series starts from. None by default.
    fn calibration(&self) -> Option<&Calibration> {
        None
    }

    /// Takes note of what has come since, given as the newest days of the sources' histories, without learning anew. Does
    /// nothing by default.
    ///
    /// # Errors
    /// [`PredictError`] if the points cannot be used; the predictor then is what it was before.
    fn update(&mut self, recent: &[TimeSeries]) -> Result<(), PredictError> {
        let _ = recent;
        Ok(())
    }

    /// What it has learnt, for [`restore`](Self::restore); [`save`](crate::save) writes it to a file.
    ///
    /// # Errors
    /// [`PredictError::NotFitted`], or [`PredictError::Unsupported`], which is the default.
    fn to_bytes(&self) -> Result<Vec<u8>, PredictError> {
        Err(PredictError::Unsupported {
            name: self.name().into(),
            what: "be saved",
        })
    }

    /// Takes over what another one of the same kind and the same options had learnt.
    ///
    /// # Errors
    /// [`PredictError::Unsound`] with the reason if the bytes are not such; the predictor then is what it was before. By
    /// default [`PredictError::Unsupported`].
    fn restore(&mut self, bytes: &[u8]) -> Result<(), PredictError> {
        let _ = bytes;
        Err(PredictError::Unsupported {
            name: self.name().into(),
            what: "be restored",
        })
    }
}

const _: Option<&dyn WorkloadPredictor> = None;
