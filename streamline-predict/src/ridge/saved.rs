//! What a regression is written as.

use serde::{Deserialize, Serialize};

use super::features::Layout;
use super::regression::Step;
use super::{Learnt, Ridge, RidgeOptions};
use crate::PredictError;

#[derive(Serialize, Deserialize)]
pub(super) struct Saved {
    options: RidgeOptions,
    learnt: Option<SavedLearnt>,
}

#[derive(Serialize, Deserialize)]
struct SavedLearnt {
    step_ms: u64,
    period: Option<usize>,
    waves: [usize; 2],
    steps: Vec<Step>,
}

impl From<Ridge> for Saved {
    fn from(ridge: Ridge) -> Self {
        Self {
            options: ridge.options,
            learnt: ridge.learnt.map(|learnt| SavedLearnt {
                step_ms: learnt.layout.step_ms,
                period: learnt.layout.period,
                waves: learnt.layout.waves,
                steps: learnt.steps,
            }),
        }
    }
}

impl TryFrom<Saved> for Ridge {
    type Error = PredictError;

    fn try_from(saved: Saved) -> Result<Self, PredictError> {
        /// Beyond it, sums of indices could overflow.
        const LONGEST: usize = 1 << 30;
        const MOST_WAVES: usize = 64;
        saved.options.check()?;
        let Some(learnt) = saved.learnt else {
            return Self::new(saved.options);
        };
        let period = learnt.period.unwrap_or(2);
        if !(2..=LONGEST).contains(&period) || learnt.waves.iter().any(|&waves| waves > MOST_WAVES) {
            return Err(unsound("a period or a number of waves is out of range"));
        }
        let layout = Layout::with(&saved.options, learnt.step_ms, learnt.period, learnt.waves);
        let fits = |step: &Step| {
            step.weights.len() == layout.width()
                && step
                    .weights
                    .iter()
                    .chain(&step.errors)
                    .all(|value| value.is_finite())
        };
        if learnt.steps.len() != saved.options.horizon || !learnt.steps.iter().all(fits) {
            return Err(unsound("the weights do not fit the options, or are not finite"));
        }
        Ok(Self {
            options: saved.options,
            learnt: Some(Learnt {
                layout,
                steps: learnt.steps,
            }),
        })
    }
}

fn unsound(reason: &str) -> PredictError {
    PredictError::Unsound {
        name: "ridge".into(),
        reason: reason.into(),
    }
}
