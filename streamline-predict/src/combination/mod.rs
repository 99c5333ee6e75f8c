use std::fmt;
#[cfg(feature = "burn")]
use std::time::Duration;

use serde::{Deserialize, Serialize};
use streamline_core::TimeSeries;

mod saved;
mod trial;
mod weights;

use trial::Trial;

#[cfg(feature = "burn")]
use crate::{Baseline, DLinear, DLinearOptions, Transformer, TransformerOptions};
use crate::{
    Calibration, Drift, Forecast, LastValue, PredictError, Ridge, RidgeOptions, SeasonalNaive,
    WorkloadPredictor,
};

/// A weighted mean of several predictors, with weights from how each did on the newest part of what it is fitted on.
///
/// Fitting fits each member on the older four fifths, forecasts the newest fifth from origins evenly spread over it,
/// and fits again on everything; it thus takes twice the time of the members, which are fitted at the same time. A member's
/// weight at a step falls with the square of its error (the mean absolute error at the step and over all steps, half each),
/// and one whose error is 1.5 times the least or more has none. A member that refuses a history, because it is too short
/// for it, is left out of that forecast; one of fewer than 24 points, which cannot tell good members from bad ones, is
/// forecast by [`Drift`].
///
/// What the combination would have forecast of the newest fifth is kept as its
/// [`calibration`](WorkloadPredictor::calibration).
///
/// # Examples
///
/// ```
/// use streamline_core::TimeSeries;
/// use streamline_predict::{Combination, WorkloadPredictor};
///
/// // Points an hour apart with a daily pattern.
/// let values: Vec<f64> = (0..480).map(|i| 100.0 + 40.0 * (f64::from(i) * std::f64::consts::TAU / 24.0).sin()).collect();
/// let series = TimeSeries::from_values(0, 3_600_000, &values)?;
///
/// let mut predictor = Combination::default();
/// predictor.fit(&[series.slice(0, 470)])?;
/// let forecast = predictor.forecast(&series.slice(0, 470), 6)?;
/// assert!((forecast.point()[3] - values[473]).abs() < 2.0);
/// assert_eq!(predictor.forecast(&series.slice(0, 1), 2)?.point(), [100.0, 100.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Combination {
    members: Vec<Box<dyn WorkloadPredictor>>,
    horizon: usize,
    learnt: Learnt,
}

/// What was learnt beside the members.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Learnt {
    /// For each member its mean absolute error at each step, where it could be told.
    errors: Vec<Option<Vec<f64>>>,
    /// For each step the weight of each member; all 0 where nothing could be told, empty before fitting.
    weights: Vec<Vec<f64>>,
    calibration: Option<Calibration>,
    /// When the newest point came that the members were fitted on.
    until_ms: i64,
}

impl Default for Combination {
    /// Last value, seasonal naive with a period of a day, and ridge regression with its defaults.
    fn default() -> Self {
        let members: Vec<Box<dyn WorkloadPredictor>> = vec![
            Box::new(LastValue),
            Box::new(SeasonalNaive::default()),
            Box::new(Ridge::default()),
        ];
        Self::new(members, RidgeOptions::default().horizon)
    }
}

impl fmt::Debug for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.weights()).finish()
    }
}

impl Combination {
    /// The strongest there is here, for points this far apart: the members of the default, a [`DLinear`] over a day where that
    /// is not too many points, and two [`Transformer`]s, one that corrects the ridge regression and one that starts from the
    /// last value.
    ///
    /// On measured loads it errs a quarter less than ridge regression alone; fitting it on weeks of five-minute points takes
    /// tens of seconds. Where a history is too short for the networks it does without them.
    ///
    /// # Errors
    /// [`PredictError::InvalidOption`] if the step is not one that the networks can be shaped for.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use streamline_predict::Combination;
    ///
    /// let predictor = Combination::for_step(Duration::from_secs(300))?;
    /// assert_eq!(predictor.weights().count(), 6);
    /// # Ok::<(), streamline_predict::PredictError>(())
    /// ```
    #[cfg(feature = "burn")]
    pub fn for_step(step: Duration) -> Result<Self, PredictError> {
        let mut combination = Self::default();
        let defaults = DLinearOptions::default();
        let lookback = TransformerOptions::for_step(step).lookback.min(defaults.lookback);
        let linear = DLinear::new(DLinearOptions {
            lookback,
            kernel: defaults.kernel.min(lookback),
            ..defaults
        });
        combination.members.push(Box::new(linear?));
        for baseline in [Baseline::Ridge, Baseline::LastValue] {
            let options = TransformerOptions {
                baseline,
                ..TransformerOptions::for_step(step)
            };
            combination.members.push(Box::new(Transformer::new(options)?));
        }
        Ok(combination)
    }

    /// Combines members, the least demanding first, compared on forecasts of `horizon` points (at least 1).
    ///
    /// Before it is fitted, the first member that answers forecasts alone.
    #[must_use]
    pub fn new(members: Vec<Box<dyn WorkloadPredictor>>, horizon: usize) -> Self {
        Self {
            members,
            horizon: horizon.max(1),
            learnt: Learnt::default(),
        }
    }

    /// The name and the weight of each member, the mean over the steps; the weights add up to 1, or are all 0 if nothing could be told.
    pub fn weights(&self) -> impl Iterator<Item = (&str, f64)> {
        let names = self.members.iter().map(|member| member.name());
        let steps = self.learnt.weights.len().max(1) as f64;
        let mean = move |member: usize| {
            let weights = self
                .learnt
                .weights
                .iter()
                .filter_map(|weights| weights.get(member));
            weights.sum::<f64>() / steps
        };
        names.enumerate().map(move |(member, name)| (name, mean(member)))
    }

    /// The weights of a member, a step each.
    fn weights_of(&self, member: usize) -> Vec<f64> {
        let weight = |weights: &Vec<f64>| weights.get(member).copied().unwrap_or_default();
        self.learnt.weights.iter().map(weight).collect()
    }

    /// Fits a member on everything, and gives what it forecast when it knew only what is older; none if it refused.
    fn fit_member(
        &self,
        member: &mut dyn WorkloadPredictor,
        trial: &Trial<'_>,
        history: &[TimeSeries],
    ) -> Option<Vec<Forecast>> {
        let told = match member.fit(&trial.older) {
            Ok(()) => trial.forecasts(member, self.horizon),
            Err(_) => None,
        };
        // Whatever could be told of it, it should know all that there is to know.
        match member.fit(history) {
            Ok(()) => told,
            Err(error) => {
                tracing::debug!(member = member.name(), %error, "left out of the combination");
                None
            }
        }
    }
}

/// A history of fewer points is forecast by drift.
const SHORT: usize = 24;

impl WorkloadPredictor for Combination {
    fn name(&self) -> &str {
        "combination"
    }

    fn lookback(&self) -> usize {
        let lookbacks = self.members.iter().map(|member| member.lookback());
        lookbacks.min().unwrap_or(0)
    }

    fn fit(&mut self, history: &[TimeSeries]) -> Result<(), PredictError> {
        if history.iter().all(|series| series.last().is_none()) {
            return Err(PredictError::HistoryTooShort { given: 0, needed: 1 });
        }
        let trial = Trial::new(history);
        let mut members = std::mem::take(&mut self.members);
        let this = &*self;
        let forecasts: Vec<_> = std::thread::scope(|scope| {
            let fits: Vec<_> = members
                .iter_mut()
                .map(|member| scope.spawn(|| this.fit_member(member.as_mut(), &trial, history)))
                .collect();
            // A member that panics is left out, as one that refuses is.
            fits.into_iter().map(|fit| fit.join().ok().flatten()).collect()
        });
        self.members = members;
        let errors = forecasts
            .iter()
            .map(|forecasts| trial.errors(forecasts.as_deref()?, self.horizon));
        self.learnt.errors = errors.collect();
        self.learnt.weights = weights::of_errors(&self.learnt.errors, self.horizon);
        self.learnt.until_ms = trial.until_ms();
        let weights: Vec<Vec<f64>> = (0..forecasts.len())
            .map(|member| self.weights_of(member))
            .collect();
        self.learnt.calibration = trial.calibration(|origin| {
            let answers = weights.iter().zip(&forecasts);
            let answers = answers
                .filter_map(|(weights, forecasts)| Some((weights, forecasts.as_deref()?.get(origin)?)));
            weights::mean(&answers.collect::<Vec<_>>())
        });
        Ok(())
    }

    fn forecast(&self, history: &TimeSeries, horizon: usize) -> Result<Forecast, PredictError> {
        if history.len() < SHORT {
            return Drift.forecast(history, horizon);
        }
        let mut answers = Vec::new();
        for (member, predictor) in self.members.iter().enumerate() {
            let weights = self.weights_of(member);
            if weights.iter().any(|&weight| weight > 0.0)
                && let Ok(forecast) = predictor.forecast(history, horizon)
            {
                answers.push((weights, forecast));
            }
        }
        if let Some(mean) = weights::mean(&answers) {
            return Ok(mean);
        }
        let mut why = PredictError::HistoryTooShort { given: 0, needed: 1 };
        for member in &self.members {
            match member.forecast(history, horizon) {
                Ok(forecast) => return Ok(forecast),
                Err(error) => why = error,
            }
        }
        Err(why)
    }

    fn calibration(&self) -> Option<&Calibration> {
        self.learnt.calibration.as_ref()
    }

    /// Compares the members again, on what came after the points that they were fitted on.
    ///
    /// Each one's error becomes the mean of the one that it had and the one that it has there. Fewer than 48 new points,
    /// with a lookback before them, change nothing.
    fn update(&mut self, recent: &[TimeSeries]) -> Result<(), PredictError> {
        for member in &mut self.members {
            member.update(recent)?;
        }
        let trial = Trial::after(recent, self.learnt.until_ms);
        if self.learnt.weights.is_empty() || trial.is_short() {
            return Ok(());
        }
        for (member, known) in self.members.iter().zip(&mut self.learnt.errors) {
            let forecasts = trial.forecasts(member.as_ref(), self.horizon);
            let new = forecasts.and_then(|forecasts| trial.errors(&forecasts, self.horizon));
            if let (Some(known), Some(new)) = (known, new) {
                for (known, new) in known.iter_mut().zip(new) {
                    *known = f64::midpoint(*known, new);
                }
            }
        }
        self.learnt.weights = weights::of_errors(&self.learnt.errors, self.horizon);
        Ok(())
    }

    fn to_bytes(&self) -> Result<Vec<u8>, PredictError> {
        saved::to_bytes(self)
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), PredictError> {
        saved::restore(self, bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn weights(values: &[f64], step_ms: u64) -> Vec<f64> {
        let mut model = Combination::default();
        let series = TimeSeries::from_values(0, step_ms, values).unwrap();
        model.fit(&[series]).unwrap();
        model.weights().map(|(_, weight)| weight).collect()
    }

    #[test]
    fn the_weight_goes_to_who_forecasts_well() {
        let days: Vec<f64> = (0..720)
            .map(|index| 50.0 + ((index * index) % 24 * 7 % 24) as f64)
            .collect();
        let weights = weights(&days, 3_600_000);
        // A day ahead the last value is right as well.
        assert!(weights[0] < 0.05 && weights[1] > 0.9, "{weights:?}");
    }

    #[test]
    fn the_weights_follow_when_another_member_becomes_the_better_one() {
        let step_ms = 3_600_000;
        // Days that repeat, and then days that do not.
        let value = |index: usize| match index {
            0..480 => 50.0 + ((index * index) % 24 * 7 % 24) as f64,
            _ => 50.0 + (index * index % 997) as f64 / 10.0 + index as f64,
        };
        let values: Vec<f64> = (0..900).map(value).collect();
        let series = TimeSeries::from_values(0, step_ms, &values).unwrap();
        let mut model = Combination::default();
        model.fit(&[series.slice(0, 480)]).unwrap();
        let weights = |model: &Combination| model.weights().map(|(_, weight)| weight).collect::<Vec<_>>();
        let before = weights(&model);
        model.update(&[series.slice(100, 520)]).unwrap(); // too few new points
        assert_eq!(weights(&model), before);
        model.update(std::slice::from_ref(&series)).unwrap();
        let after = weights(&model);
        assert!(
            before[1] > 0.9 && after[1] < before[1] - 0.2,
            "{before:?} {after:?}"
        );
    }

    #[cfg(feature = "burn")]
    #[test]
    fn there_is_one_for_every_step() {
        for seconds in [1, 10, 60, 300, 900, 3_600, 86_400] {
            Combination::for_step(Duration::from_secs(seconds)).unwrap();
        }
    }

    #[test]
    fn what_is_constant_is_shared_by_all() {
        let weights = weights(&[7.0; 300], 3_600_000);
        approx::assert_relative_eq!(weights.iter().sum::<f64>(), 1.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn whatever_has_a_value_has_a_forecast_that_is_not_negative(
            values in proptest::collection::vec(
                prop_oneof![Just(None), Just(Some(0.0)), Just(Some(f64::MAX)), (0.0..1e6).prop_map(Some)],
                0..200,
            ),
            horizon in 0usize..40,
        ) {
            let series = TimeSeries::new(0, 3_600_000, values).unwrap();
            let mut model = Combination::default();
            let any = series.last().is_some();
            prop_assert_eq!(model.fit(std::slice::from_ref(&series)).is_ok(), any);
            match model.forecast(&series, horizon) {
                Ok(forecast) => {
                    prop_assert_eq!(forecast.horizon(), horizon);
                    for level in [0.1, 0.5, 0.99] {
                        prop_assert!(forecast.quantile(level).iter().all(|&value| value >= 0.0));
                    }
                }
                Err(_) => prop_assert!(!any),
            }
        }
    }
}
