use std::fmt;

use streamline_predict::WorkloadPredictor;
use streamline_sched::Scheduler;
use streamline_surrogate::PerformanceSurrogate;

use crate::{Error, Tuner, TunerOptions};

/// Puts a [`Tuner`] together from your parts, and from the defaults where you name none.
///
/// The defaults need no training: a seasonal naive forecast of one day, the analytic surrogate, and best-fit-decreasing
/// placement.
///
/// # Examples
///
/// ```
/// use streamline_sched::FirstFitDecreasing;
/// use streamline_tuner::Tuner;
///
/// let tuner = Tuner::builder().scheduler(FirstFitDecreasing::default()).build()?;
/// # Ok::<(), streamline_tuner::Error>(())
/// ```
#[derive(Default)]
pub struct TunerBuilder {
    predictor: Option<Box<dyn WorkloadPredictor>>,
    surrogate: Option<Box<dyn PerformanceSurrogate>>,
    scheduler: Option<Box<dyn Scheduler>>,
    options: TunerOptions,
}

impl fmt::Debug for TunerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TunerBuilder")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl TunerBuilder {
    /// Sets the predictor of the sources' load.
    #[must_use]
    pub fn predictor(mut self, predictor: impl WorkloadPredictor + 'static) -> Self {
        self.predictor = Some(Box::new(predictor));
        self
    }

    /// Sets the surrogate of Flink's performance.
    #[must_use]
    pub fn surrogate(mut self, surrogate: impl PerformanceSurrogate + 'static) -> Self {
        self.surrogate = Some(Box::new(surrogate));
        self
    }

    /// Sets the scheduler.
    #[must_use]
    pub fn scheduler(mut self, scheduler: impl Scheduler + 'static) -> Self {
        self.scheduler = Some(Box::new(scheduler));
        self
    }

    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: TunerOptions) -> Self {
        self.options = options;
        self
    }

    /// Checks the options and builds the tuner.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] naming the first setting that is out of its range.
    pub fn build(self) -> Result<Tuner, Error> {
        self.options.check()?;
        Ok(Tuner {
            predictor: self
                .predictor
                .unwrap_or_else(|| Box::new(streamline_predict::SeasonalNaive::default())),
            surrogate: self
                .surrogate
                .unwrap_or_else(|| Box::new(streamline_surrogate::Analytic::default())),
            scheduler: self
                .scheduler
                .unwrap_or_else(|| Box::new(streamline_sched::BestFitDecreasing::default())),
            options: self.options,
        })
    }
}
