//! The simple forecast that the network corrects.

use serde::{Deserialize, Serialize};

use super::options::TransformerOptions;
use super::windows::{Terms, Window, Windows};
use crate::{Ridge, RidgeOptions, WorkloadPredictor};

/// What a [`Transformer`](crate::Transformer) starts from and corrects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Baseline {
    /// Nothing changes.
    LastValue,
    /// A ridge regression with its defaults, fitted on the same histories; the last value where they are too short for it.
    #[default]
    Ridge,
}

/// A baseline that has been fitted. Without a regression it is the last value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Base {
    ridge: Option<Ridge>,
}

impl Base {
    /// Learns from nothing later than the targets of the windows that train, so that those that validate tell the truth.
    pub(super) fn fit(options: &TransformerOptions, windows: &Windows<'_>) -> Self {
        if options.baseline == Baseline::LastValue {
            return Self::default();
        }
        let Ok(mut ridge) = Ridge::new(ridge_options(options)) else {
            return Self::default();
        };
        match ridge.fit(&windows.seen_in_training()) {
            Ok(()) => Self { ridge: Some(ridge) },
            Err(error) => {
                tracing::debug!(%error, "the transformer starts from the last value");
                Self::default()
            }
        }
    }

    /// Points that [`Base::steps`] needs.
    pub(super) fn lookback(&self) -> usize {
        self.ridge.as_ref().map_or(1, WorkloadPredictor::lookback)
    }

    /// Its forecast for each step after `points`, in the terms of the window; none if the points are too few.
    pub(super) fn steps(
        &self,
        options: &TransformerOptions,
        terms: &Terms,
        points: &[f64],
        last_ms: i64,
    ) -> Option<Vec<f64>> {
        let Some(ridge) = &self.ridge else {
            return Some(vec![0.0; options.horizon]);
        };
        let points = ridge.medians(points, last_ms)?;
        Some(
            points
                .into_iter()
                .map(|point| terms.normalise_cut(point))
                .collect(),
        )
    }

    /// The same for a window that trains or validates.
    pub(super) fn of_window(
        &self,
        options: &TransformerOptions,
        windows: &Windows<'_>,
        window: &Window,
        terms: &Terms,
    ) -> Option<Vec<f64>> {
        let (points, last_ms) = windows.until(window)?;
        self.steps(options, terms, points, last_ms)
    }

    /// Whether it is one that [`Base::fit`] could have made.
    pub(super) fn is_sound(&self, options: &TransformerOptions) -> bool {
        self.ridge.as_ref().is_none_or(|ridge| {
            options.baseline == Baseline::Ridge
                && *ridge.options() == ridge_options(options)
                && ridge.is_fitted()
        })
    }
}

fn ridge_options(options: &TransformerOptions) -> RidgeOptions {
    let defaults = RidgeOptions::default();
    RidgeOptions {
        lags: defaults.lags.min(options.lookback),
        horizon: options.horizon,
        period: options.period,
        ..defaults
    }
}
