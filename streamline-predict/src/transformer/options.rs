use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::baseline::Baseline;
use crate::PredictError;

const DAY: Duration = Duration::from_secs(86_400);

/// The Burn backend that trains a network and runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Backend {
    /// burn-flex: pure Rust, on the CPU.
    #[default]
    Flex,
    /// burn-ndarray, which Burn has deprecated in favour of flex.
    #[cfg(feature = "ndarray")]
    Ndarray,
    /// burn-wgpu: the default GPU, by Vulkan, Metal or DirectX 12.
    #[cfg(feature = "wgpu")]
    Wgpu,
}

/// How a [`Transformer`](crate::Transformer) is shaped and trained.
///
/// The defaults suit a series of points five minutes apart with a daily pattern.
///
/// # Examples
///
/// ```
/// use streamline_predict::TransformerOptions;
///
/// // A point a minute: look back two hours, a quarter of an hour a patch, and no pattern to repeat.
/// let options = TransformerOptions {
///     lookback: 120,
///     horizon: 30,
///     patch: 15,
///     period: None,
///     ..TransformerOptions::default()
/// };
/// options.check()?;
/// assert!(TransformerOptions { patch: 7, ..options }.check().is_err());
/// # Ok::<(), streamline_predict::PredictError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TransformerOptions {
    /// Points that it looks back over, 2 to 16,384, a multiple of `patch`. Default 288, a day.
    pub lookback: usize,
    /// Points that it learns to forecast, 1 to 1,024. Default 24, two hours.
    pub horizon: usize,
    /// Points that make up one token, at least 1. Default 24, two hours.
    pub patch: usize,
    /// What it starts from. Default a ridge regression.
    pub baseline: Baseline,
    /// Time after which a pattern repeats, for the baseline; none if there is no such pattern. Default a day.
    pub period: Option<Duration>,
    /// Width of a token, 1 to 512, a multiple of `heads`. Default 64.
    pub d_model: usize,
    /// Attention heads, at least 1. Default 4.
    pub heads: usize,
    /// Encoder layers, 1 to 16. Default 2.
    pub layers: usize,
    /// Units of the feed-forward part of a layer, 1 to 4,096. Default 128.
    pub feed_forward: usize,
    /// The most passes over the training windows, 1 to 100,000. Default 40.
    pub epochs: usize,
    /// Epochs without a better validation loss after which training ends, at least 1. Default 6.
    pub patience: usize,
    /// Windows in a step, 1 to 65,536. Default 64.
    pub batch: usize,
    /// The most windows that are drawn for an epoch, at least 1. Default 1,536.
    pub windows_per_epoch: usize,
    /// The largest step size of `AdamW`, 1e-6 to 1: it rises to it over the first steps and falls along a cosine.
    /// Default 0.001.
    pub learning_rate: f64,
    /// Weight decay of `AdamW`, 0 to 1. Default 0.01.
    pub weight_decay: f64,
    /// Share of what the encoder gives that is left out at random while training, 0 to 0.9 (Srivastava et al. 2014). Default 0:
    /// on measured loads early stopping was enough.
    pub dropout: f64,
    /// Share of each series' windows, the newest, that validates, 0.01 to 0.5. Default 0.15.
    pub validation_share: f64,
    /// Seed of the initial weights and of the order of windows.
    pub seed: u64,
    /// The backend that trains and forecasts.
    pub backend: Backend,
}

impl Default for TransformerOptions {
    fn default() -> Self {
        Self {
            lookback: 288,
            horizon: 24,
            patch: 24,
            baseline: Baseline::default(),
            period: Some(DAY),
            d_model: 64,
            heads: 4,
            layers: 2,
            feed_forward: 128,
            epochs: 40,
            patience: 6,
            batch: 64,
            windows_per_epoch: 1_536,
            learning_rate: 0.001,
            weight_decay: 0.01,
            dropout: 0.0,
            validation_share: 0.15,
            seed: 0,
            backend: Backend::default(),
        }
    }
}

impl TransformerOptions {
    /// The defaults for points this far apart: a day in twelve patches, where that is at most 512 points; else 288 points.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use streamline_predict::TransformerOptions;
    ///
    /// let quarters = TransformerOptions::for_step(Duration::from_secs(900));
    /// assert_eq!((quarters.lookback, quarters.patch), (96, 8));
    /// let seconds = TransformerOptions::for_step(Duration::from_secs(1));
    /// assert_eq!((seconds.lookback, seconds.patch), (288, 24));
    /// ```
    #[must_use]
    pub fn for_step(step: Duration) -> Self {
        const PATCHES: usize = 12;
        const MOST: usize = 512;
        let defaults = Self::default();
        let points = usize::try_from(DAY.as_millis() / step.as_millis().max(1)).unwrap_or(usize::MAX);
        if !(PATCHES..=MOST).contains(&points) {
            return defaults;
        }
        let patch = points / PATCHES;
        Self {
            lookback: patch * PATCHES,
            patch,
            ..defaults
        }
    }

    /// The most weights that a network may have.
    pub const MAX_WEIGHTS: usize = 1 << 24;

    /// Checks that every setting lies within its range and that they fit together.
    ///
    /// # Errors
    /// [`PredictError::InvalidOption`] naming the first that does not.
    pub fn check(&self) -> Result<(), PredictError> {
        let unbounded = 1.0..=f64::INFINITY;
        for (name, value, range, expected) in [
            ("lookback", self.lookback as f64, 2.0..=16_384.0, "2 to 16384"),
            ("horizon", self.horizon as f64, 1.0..=1_024.0, "1 to 1024"),
            ("patch", self.patch as f64, unbounded.clone(), "at least 1"),
            ("d_model", self.d_model as f64, 1.0..=512.0, "1 to 512"),
            ("heads", self.heads as f64, unbounded.clone(), "at least 1"),
            ("layers", self.layers as f64, 1.0..=16.0, "1 to 16"),
            (
                "feed_forward",
                self.feed_forward as f64,
                1.0..=4_096.0,
                "1 to 4096",
            ),
            ("epochs", self.epochs as f64, 1.0..=1e5, "1 to 100000"),
            ("patience", self.patience as f64, unbounded.clone(), "at least 1"),
            ("batch", self.batch as f64, 1.0..=65_536.0, "1 to 65536"),
            (
                "windows_per_epoch",
                self.windows_per_epoch as f64,
                unbounded,
                "at least 1",
            ),
            ("learning_rate", self.learning_rate, 1e-6..=1.0, "1e-6 to 1"),
            ("weight_decay", self.weight_decay, 0.0..=1.0, "0 to 1"),
            ("dropout", self.dropout, 0.0..=0.9, "0 to 0.9"),
            (
                "validation_share",
                self.validation_share,
                0.01..=0.5,
                "0.01 to 0.5",
            ),
        ] {
            if !range.contains(&value) {
                return refuse(name, value, expected);
            }
        }
        if !self.lookback.is_multiple_of(self.patch) {
            return refuse("lookback", self.lookback as f64, "a multiple of patch");
        }
        if !self.d_model.is_multiple_of(self.heads) {
            return refuse("d_model", self.d_model as f64, "a multiple of heads");
        }
        let weights = super::network::weight_count(self);
        if weights > Self::MAX_WEIGHTS {
            return refuse("number of weights", weights as f64, "at most 16777216");
        }
        Ok(())
    }
}

fn refuse(name: &'static str, value: f64, expected: &'static str) -> Result<(), PredictError> {
    Err(PredictError::InvalidOption {
        name,
        value,
        expected,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_senseless_setting_is_refused_by_name() {
        let refused = |change: fn(&mut TransformerOptions)| {
            let mut options = TransformerOptions::default();
            change(&mut options);
            match options.check() {
                Err(PredictError::InvalidOption { name, .. }) => name,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(refused(|options| options.lookback = 0), "lookback");
        assert_eq!(refused(|options| options.lookback = 290), "lookback");
        assert_eq!(refused(|options| options.horizon = usize::MAX), "horizon");
        assert_eq!(refused(|options| options.patch = 0), "patch");
        assert_eq!(refused(|options| options.d_model = 65), "d_model");
        assert_eq!(refused(|options| options.heads = 0), "heads");
        assert_eq!(refused(|options| options.layers = 0), "layers");
        assert_eq!(refused(|options| options.feed_forward = 0), "feed_forward");
        assert_eq!(refused(|options| options.epochs = 0), "epochs");
        assert_eq!(refused(|options| options.patience = 0), "patience");
        assert_eq!(refused(|options| options.batch = 0), "batch");
        assert_eq!(
            refused(|options| options.windows_per_epoch = 0),
            "windows_per_epoch"
        );
        assert_eq!(
            refused(|options| options.learning_rate = f64::NAN),
            "learning_rate"
        );
        assert_eq!(refused(|options| options.weight_decay = -1.0), "weight_decay");
        assert_eq!(refused(|options| options.dropout = 1.0), "dropout");
        assert_eq!(
            refused(|options| options.validation_share = 0.0),
            "validation_share"
        );
        assert_eq!(
            refused(|options| {
                options.horizon = 1_024;
                options.d_model = 512;
            }),
            "number of weights"
        );
    }

    #[test]
    fn missing_settings_take_their_defaults() {
        let options: TransformerOptions = serde_json::from_str(r#"{"seed": 3}"#).unwrap();
        let expected = TransformerOptions {
            seed: 3,
            ..TransformerOptions::default()
        };
        assert_eq!(options, expected);
        expected.check().unwrap();
    }
}
