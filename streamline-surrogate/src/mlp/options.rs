use serde::{Deserialize, Serialize};

use crate::{AnalyticOptions, SurrogateError};

/// The Burn backend that trains a network. Inference never needs one.
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
}

/// How an [`Mlp`](crate::Mlp) is shaped and trained.
///
/// # Examples
///
/// ```
/// use streamline_surrogate::MlpOptions;
///
/// let options = MlpOptions { members: 3, epochs: 100, seed: 7, ..MlpOptions::default() };
/// options.check()?;
/// assert!(MlpOptions { members: 0, ..options }.check().is_err());
/// # Ok::<(), streamline_surrogate::SurrogateError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MlpOptions {
    /// Units of each hidden layer, 1 to 4 layers of 1 to 512. Default 64 and 64.
    pub hidden: Vec<usize>,
    /// Networks in the ensemble, 1 to 32, each validated on another fold of the configurations. Default 5.
    pub members: usize,
    /// The most passes over the training samples, 1 to 100,000. Default 200.
    pub epochs: usize,
    /// Samples in a step, 1 to 65,536; small sets get smaller steps. Default 64.
    pub batch: usize,
    /// The step size of `AdamW` at the start, 1e-6 to 1; it falls to a fiftieth of it along a cosine. Default 0.005.
    pub learning_rate: f64,
    /// Weight decay of `AdamW`, 0 to 1. Default 0.01.
    pub weight_decay: f64,
    /// Epochs without a better validation loss in any member after which training ends, at least 1. Default 40.
    pub patience: usize,
    /// Share of the configurations that is held out for the test scores, 0 to 0.5. With 0 there are none. Default 0.15.
    pub test_share: f64,
    /// Seed of the split, of the initial weights and of the order of samples.
    pub seed: u64,
    /// The backend that trains.
    pub backend: Backend,
    /// Constants of the analytic model that the networks correct, before it is calibrated with the samples.
    pub analytic: AnalyticOptions,
}

impl Default for MlpOptions {
    fn default() -> Self {
        Self {
            hidden: vec![64, 64],
            members: 5,
            epochs: 200,
            batch: 64,
            learning_rate: 0.005,
            weight_decay: 0.01,
            patience: 40,
            test_share: 0.15,
            seed: 0,
            backend: Backend::default(),
            analytic: AnalyticOptions::default(),
        }
    }
}

impl MlpOptions {
    /// Checks that every setting lies within its range.
    ///
    /// # Errors
    /// [`SurrogateError::InvalidOption`] naming the first that does not.
    pub fn check(&self) -> Result<(), SurrogateError> {
        self.analytic.check()?;
        let widest = self.hidden.iter().copied().max().unwrap_or(0);
        let narrowest = self.hidden.iter().copied().min().unwrap_or(0);
        for (name, value, range, expected) in [
            ("hidden.len", self.hidden.len() as f64, 1.0..=4.0, "1 to 4"),
            ("hidden", widest as f64, 1.0..=512.0, "1 to 512"),
            ("hidden", narrowest as f64, 1.0..=512.0, "1 to 512"),
            ("members", self.members as f64, 1.0..=32.0, "1 to 32"),
            ("epochs", self.epochs as f64, 1.0..=1e5, "1 to 100000"),
            ("batch", self.batch as f64, 1.0..=65_536.0, "1 to 65536"),
            ("learning_rate", self.learning_rate, 1e-6..=1.0, "1e-6 to 1"),
            ("weight_decay", self.weight_decay, 0.0..=1.0, "0 to 1"),
            (
                "patience",
                self.patience as f64,
                1.0..=f64::INFINITY,
                "at least 1",
            ),
            ("test_share", self.test_share, 0.0..=0.5, "0 to 0.5"),
        ] {
            if !range.contains(&value) {
                return Err(SurrogateError::InvalidOption {
                    name,
                    value,
                    expected,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_senseless_setting_is_refused_by_name() {
        let refused = |change: fn(&mut MlpOptions)| {
            let mut options = MlpOptions::default();
            change(&mut options);
            match options.check() {
                Err(SurrogateError::InvalidOption { name, .. }) => name,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(refused(|options| options.hidden.clear()), "hidden.len");
        assert_eq!(refused(|options| options.hidden[1] = 0), "hidden");
        assert_eq!(refused(|options| options.hidden[1] = 5000), "hidden");
        assert_eq!(refused(|options| options.members = 0), "members");
        assert_eq!(refused(|options| options.epochs = 0), "epochs");
        assert_eq!(refused(|options| options.batch = 0), "batch");
        assert_eq!(
            refused(|options| options.learning_rate = f64::NAN),
            "learning_rate"
        );
        assert_eq!(refused(|options| options.weight_decay = -1.0), "weight_decay");
        assert_eq!(refused(|options| options.patience = 0), "patience");
        assert_eq!(refused(|options| options.test_share = 0.9), "test_share");
        assert_eq!(
            refused(|options| options.analytic.idle_cores = -1.0),
            "idle_cores"
        );
    }

    #[test]
    fn missing_settings_take_their_defaults() {
        let options: MlpOptions = serde_json::from_str(r#"{"seed": 3}"#).unwrap();
        assert_eq!(
            options,
            MlpOptions {
                seed: 3,
                ..MlpOptions::default()
            }
        );
    }
}
