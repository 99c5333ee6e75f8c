use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::PredictError;

/// How a [`Ridge`](crate::Ridge) looks at a series.
///
/// # Examples
///
/// ```
/// use streamline_predict::RidgeOptions;
///
/// let options = RidgeOptions { horizon: 12, ..RidgeOptions::default() };
/// options.check()?;
/// assert!(RidgeOptions { horizon: 0, ..options }.check().is_err());
/// # Ok::<(), streamline_predict::PredictError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RidgeOptions {
    /// The newest points that are looked at one by one, 1 to 512. Default 36.
    pub lags: usize,
    /// Points that it learns to forecast, 1 to 1,024. Default 24.
    pub horizon: usize,
    /// Time after which a pattern repeats; none if there is no such pattern. Default a day.
    pub period: Option<Duration>,
    /// Points on either side of the same time one period ago that are looked at, 0 to 64. Default 4.
    pub around: usize,
    /// The most origins that are learnt from; of more, evenly spaced ones. At least 1. Default 6,000.
    pub origins: usize,
    /// Share of the origins, the newest, that choose the penalty and make the quantiles, 0.01 to 0.5. Default 0.15.
    pub validation_share: f64,
}

impl Default for RidgeOptions {
    fn default() -> Self {
        Self {
            lags: 36,
            horizon: 24,
            period: Some(Duration::from_secs(86_400)),
            around: 4,
            origins: 6_000,
            validation_share: 0.15,
        }
    }
}

impl RidgeOptions {
    /// Checks that every setting lies within its range.
    ///
    /// # Errors
    /// [`PredictError::InvalidOption`] naming the first that does not.
    pub fn check(&self) -> Result<(), PredictError> {
        for (name, value, range, expected) in [
            ("lags", self.lags as f64, 1.0..=512.0, "1 to 512"),
            ("horizon", self.horizon as f64, 1.0..=1_024.0, "1 to 1024"),
            ("around", self.around as f64, 0.0..=64.0, "0 to 64"),
            ("origins", self.origins as f64, 1.0..=f64::INFINITY, "at least 1"),
            (
                "validation_share",
                self.validation_share,
                0.01..=0.5,
                "0.01 to 0.5",
            ),
        ] {
            if !range.contains(&value) {
                return Err(PredictError::InvalidOption {
                    name,
                    value,
                    expected,
                });
            }
        }
        Ok(())
    }
}
