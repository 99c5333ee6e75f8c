use std::ops::ControlFlow;
use std::path::Path;

use burn::Tensor;
use burn::tensor::{Device, TensorData};
use streamline_core::TimeSeries;

use crate::residuals::LEVELS;
use crate::{Forecast, PredictError, WorkloadPredictor, stretches};

mod baseline;
mod model_file;
mod network;
mod options;
#[cfg(test)]
mod tests;
mod training;
mod windows;

pub use baseline::Baseline;
pub use options::{Backend, TransformerOptions};
pub use training::{Progress, TrainingReport};

use baseline::Base;
use network::{Network, device, host};
use training::{Start, Trained};
use windows::{Terms, Windows};

/// A small Transformer that forecasts the median and quantiles 0.1, 0.9, 0.95 and 0.99 of a load.
///
/// A window of the history is put in its own terms (relative to its last value, in units of its standard deviation), so
/// that one network serves sources of any size. A baseline, by default a [`Ridge`](crate::Ridge) regression, forecasts first;
/// patches of the window and that forecast become tokens, and the network says what must be added to the baseline at each
/// step, all steps at once. Before training it adds nothing.
///
/// Training minimises the pinball loss with `AdamW`, stops early by the newest windows of each series and keeps the
/// weights of the best epoch. It is deterministic for a seed on one machine and backend; across machines the last bits
/// differ. To be fitted it needs a series of `lookback` and about 2.2 times `horizon` points, and gets better with days
/// of them.
///
/// A horizon longer than the trained one is reached by forecasting on from the medians, the spread of each stretch
/// being added to that of the stretch before. A forecast is not negative where the history is not. A window that is
/// constant is forecast to remain so. Give `forecast` points as far apart as those of `fit`.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use streamline_core::TimeSeries;
/// use streamline_predict::{Transformer, TransformerOptions, WorkloadPredictor};
///
/// // A pattern of twelve points.
/// let values: Vec<f64> = (0..300).map(|i| 100.0 + 40.0 * (f64::from(i) * std::f64::consts::TAU / 12.0).sin()).collect();
/// let series = TimeSeries::from_values(0, 60_000, &values)?;
///
/// let mut predictor = Transformer::new(TransformerOptions {
///     lookback: 24,
///     horizon: 6,
///     patch: 6,
///     period: Some(Duration::from_secs(720)),
///     epochs: 5,
///     ..TransformerOptions::default()
/// })?;
/// predictor.fit(&[series.slice(0, 288)])?;
/// let forecast = predictor.forecast(&series.slice(0, 288), 6)?;
/// assert!((forecast.point()[3] - values[291]).abs() < 10.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Transformer {
    options: TransformerOptions,
    learnt: Option<Learnt>,
}

/// What a training left.
#[derive(Debug, Clone)]
struct Learnt {
    base: Base,
    weights: Vec<f32>,
    /// On a device without differentiation.
    network: Network,
    device: Device,
    report: TrainingReport,
}

impl Learnt {
    fn new(options: &TransformerOptions, trained: Trained) -> Self {
        let device = device(options.backend);
        Self {
            network: Network::with_weights(options, &trained.weights, &device),
            device,
            base: trained.base,
            weights: trained.weights,
            report: trained.report,
        }
    }
}

impl Transformer {
    /// A predictor that has yet to be fitted.
    ///
    /// # Errors
    /// [`PredictError::InvalidOption`].
    pub fn new(options: TransformerOptions) -> Result<Self, PredictError> {
        options.check()?;
        Ok(Self {
            options,
            learnt: None,
        })
    }

    /// Learns as [`fit`](WorkloadPredictor::fit) does and reports after each epoch; on a break, training ends there and
    /// keeps the best weights so far.
    ///
    /// # Errors
    /// [`PredictError::HistoryTooShort`] if no series is long enough, [`PredictError::Diverged`]. What was learnt
    /// before then remains.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::ops::ControlFlow;
    /// use streamline_predict::{Transformer, TransformerOptions};
    ///
    /// # fn histories() -> Vec<streamline_core::TimeSeries> { Vec::new() }
    /// let mut predictor = Transformer::new(TransformerOptions::default())?;
    /// predictor.fit_with(&histories(), &mut |progress| {
    ///     println!("{} of {}: {:.4}", progress.epoch, progress.epochs, progress.validation_loss);
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), streamline_predict::PredictError>(())
    /// ```
    pub fn fit_with(
        &mut self,
        history: &[TimeSeries],
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(), PredictError> {
        self.train(history, &self.options.clone(), None, progress)
    }

    /// Goes on learning from other histories, such as those of one source after those of many, at a tenth of the step
    /// size. The baseline stays, and what was learnt before is kept where nothing is better on the newest windows.
    ///
    /// # Errors
    /// [`PredictError::NotFitted`], or those of [`fit_with`](Self::fit_with). What was learnt before then remains.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::ops::ControlFlow;
    /// use streamline_core::TimeSeries;
    /// use streamline_predict::{Transformer, TransformerOptions, WorkloadPredictor};
    ///
    /// # fn histories() -> Vec<TimeSeries> { Vec::new() }
    /// let histories = histories();
    /// let mut of_all = Transformer::new(TransformerOptions::default())?;
    /// of_all.fit(&histories)?;
    /// let mut of_first = of_all.clone();
    /// of_first.fine_tune(&histories[..1], &mut |_| ControlFlow::Continue(()))?;
    /// # Ok::<(), streamline_predict::PredictError>(())
    /// ```
    pub fn fine_tune(
        &mut self,
        history: &[TimeSeries],
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(), PredictError> {
        let Learnt { base, weights, .. } = self.learnt()?.clone();
        let options = TransformerOptions {
            learning_rate: self.options.learning_rate / 10.0,
            ..self.options.clone()
        };
        let start = Start {
            base: &base,
            weights: &weights,
        };
        self.train(history, &options, Some(start), progress)
    }

    fn train(
        &mut self,
        history: &[TimeSeries],
        options: &TransformerOptions,
        start: Option<Start<'_>>,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(), PredictError> {
        let windows = Windows::new(history, options);
        let needed = Windows::needed(options);
        if windows.longest() < needed {
            return Err(PredictError::HistoryTooShort {
                given: windows.longest(),
                needed,
            });
        }
        let trained = training::train(&windows, options, start, progress)?;
        tracing::info!(
            windows = trained.report.training_windows,
            epochs = trained.report.history.len(),
            best_epoch = trained.report.best_epoch,
            validation_loss = trained.report.best_validation_loss,
            "transformer trained"
        );
        self.learnt = Some(Learnt::new(options, trained));
        Ok(())
    }

    /// The options that it was made with.
    #[must_use]
    pub fn options(&self) -> &TransformerOptions {
        &self.options
    }

    /// How the training went; none before the first.
    #[must_use]
    pub fn report(&self) -> Option<&TrainingReport> {
        self.learnt.as_ref().map(|learnt| &learnt.report)
    }

    /// Writes the model to a file, whole or not at all: into a temporary file beside it that then takes its place.
    ///
    /// # Errors
    /// [`PredictError::NotFitted`] or [`PredictError::Io`].
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use streamline_predict::{Transformer, TransformerOptions, WorkloadPredictor};
    ///
    /// # fn histories() -> Vec<streamline_core::TimeSeries> { Vec::new() }
    /// let mut predictor = Transformer::new(TransformerOptions::default())?;
    /// predictor.fit(&histories())?;
    /// predictor.save("transformer.bin")?;
    /// let same = Transformer::load("transformer.bin")?;
    /// assert_eq!(same.report(), predictor.report());
    /// # Ok::<(), streamline_predict::PredictError>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), PredictError> {
        model_file::save(self, path.as_ref())
    }

    /// Reads a model from a file that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`PredictError::Io`], or [`PredictError::Damaged`] saying what is wrong: not such a file, another format
    /// version, cut short, a checksum that does not match, options out of range, weights that are not finite.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, PredictError> {
        model_file::load(path.as_ref())
    }

    fn learnt(&self) -> Result<&Learnt, PredictError> {
        self.learnt.as_ref().ok_or_else(|| PredictError::NotFitted {
            name: self.name().into(),
        })
    }

    /// The quantiles of the next `horizon` points, as trained: a list of values for each level. None if the backend
    /// fails or there are fewer than [`lookback`](WorkloadPredictor::lookback) points.
    fn stretch(&self, learnt: &Learnt, points: &[f64], last_ms: i64) -> Option<Vec<Vec<f64>>> {
        let TransformerOptions {
            lookback, horizon, ..
        } = self.options;
        let window = points.get(points.len().checked_sub(lookback)?..)?;
        let Some(terms) = Terms::of(window) else {
            let last = window.last().copied()?;
            return Some(vec![vec![last; horizon]; LEVELS.len()]);
        };
        let steps = learnt.base.steps(&self.options, &terms, points, last_ms)?;
        let row = |values: &mut dyn Iterator<Item = f64>, width: usize| {
            let values: Vec<f32> = values.map(|value| value as f32).collect();
            Tensor::from_data(TensorData::new(values, [1, width]), &learnt.device)
        };
        let inputs = row(&mut window.iter().map(|&value| terms.normalise(value)), lookback);
        let bases = row(&mut steps.iter().copied(), horizon);
        let added = host(learnt.network.forward(inputs, bases, None))?;
        let restored = |added: &[f32]| {
            let steps = added.iter().zip(&steps);
            steps
                .map(|(&added, step)| terms.restore(step + f64::from(added)))
                .collect()
        };
        Some(added.chunks_exact(horizon).map(restored).collect())
    }
}

impl WorkloadPredictor for Transformer {
    fn name(&self) -> &str {
        "transformer"
    }

    fn lookback(&self) -> usize {
        let base = self.learnt.as_ref().map_or(0, |learnt| learnt.base.lookback());
        self.options.lookback.max(base)
    }

    fn fit(&mut self, history: &[TimeSeries]) -> Result<(), PredictError> {
        self.fit_with(history, &mut |_| ControlFlow::Continue(()))
    }

    fn to_bytes(&self) -> Result<Vec<u8>, PredictError> {
        model_file::encode(&self.options, self.learnt()?)
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), PredictError> {
        let unsound = |reason| PredictError::Unsound {
            name: self.name().into(),
            reason,
        };
        let restored = model_file::decode(bytes).map_err(unsound)?;
        if restored.options != self.options {
            return Err(unsound("its options are others".into()));
        }
        *self = restored;
        Ok(())
    }

    fn forecast(&self, history: &TimeSeries, horizon: usize) -> Result<Forecast, PredictError> {
        let learnt = self.learnt()?;
        stretches::chain(history, horizon, self.lookback(), |window, last_ms| {
            self.stretch(learnt, window, last_ms)
                .ok_or(PredictError::InvalidForecast {
                    reason: "the backend did not give its result",
                })
        })
    }
}
