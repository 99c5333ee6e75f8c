//! From histories to what every operator will have to process.

use serde::{Deserialize, Serialize};
use streamline_core::{Observation, propagate};
use streamline_predict::{Forecast, PredictError, WorkloadPredictor};

use crate::memory::JobMemory;
use crate::options::in_ms;
use crate::{Error, Memory, TunerOptions};

/// What the expectation of a source's load rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// A forecast of the predictor with this name.
    Forecast(String),
    /// The newest arrival rate, as long as the history is too short for the predictor.
    LastValue,
}

/// What one source is expected to receive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceOutlook {
    /// What the expectation rests on.
    pub basis: Basis,
    /// The forecast, where there is one, with its bands as past forecasts say that they should be.
    pub forecast: Option<Forecast>,
    /// Records per second to be ready for at each step: the chosen quantile.
    pub rates: Vec<f64>,
}

/// What a job is expected to receive, and what that makes of its operators.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outlook {
    pub(crate) sources: Vec<SourceOutlook>,
    /// For each step, the rate of each operator, without any backlog.
    pub(crate) steps: Vec<Vec<f64>>,
    /// The rate of each operator at what arrives right now, as far as that is known.
    pub(crate) now: Vec<f64>,
    /// What working off the backlog in time adds to the rate of each operator.
    pub(crate) catch_up: Vec<f64>,
    /// The selectivity of each edge.
    pub(crate) selectivities: Vec<f64>,
}

impl Outlook {
    /// For each operator, the highest rate over the steps before `until`, catching up included.
    pub(crate) fn peak(&self, until: usize) -> Vec<f64> {
        let mut peak = vec![0.0f64; self.catch_up.len()];
        for step in self.steps.iter().take(until.max(1)) {
            for (peak, rate) in peak.iter_mut().zip(step) {
                *peak = peak.max(*rate);
            }
        }
        peak.iter()
            .zip(&self.catch_up)
            .map(|(peak, extra)| peak + extra)
            .collect()
    }
}

/// What keeps an outlook from being made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unknown {
    ArrivalRate { source: usize },
    Selectivity { edge: usize },
}

/// Looks ahead for one job; `Err` inside `Ok` if something that it takes is unknown.
pub(crate) fn look_ahead(
    seen: &Observation,
    memory: &Memory,
    predictor: &dyn WorkloadPredictor,
    options: &TunerOptions,
) -> Result<Result<Outlook, Unknown>, Error> {
    let mut sources = Vec::with_capacity(seen.sources.len());
    for source in 0..seen.sources.len() {
        match source_outlook(seen, source, memory, predictor, options)? {
            Some(outlook) => sources.push(outlook),
            None => return Ok(Err(Unknown::ArrivalRate { source })),
        }
    }
    let remembered = memory.job(&seen.job);
    let mut selectivities = Vec::with_capacity(seen.edges.len());
    for (edge, metrics) in seen.edges.iter().enumerate() {
        match remembered
            .and_then(|memory: &JobMemory| memory.selectivity(edge))
            .or(metrics.selectivity)
        {
            Some(selectivity) => selectivities.push(selectivity),
            None => return Ok(Err(Unknown::Selectivity { edge })),
        }
    }

    let flow = |rates: &[f64]| {
        propagate(&seen.graph, rates, &selectivities)
            .map(|flow| flow.operators)
            .map_err(|source| Error::Propagate {
                job: seen.job.clone(),
                source,
            })
    };
    let steps = (0..options.horizon)
        .map(|step| {
            flow(
                &sources
                    .iter()
                    .map(|source| source.rates[step])
                    .collect::<Vec<_>>(),
            )
        })
        .collect::<Result<Vec<_>, _>>()?;
    let drain: Vec<f64> = seen
        .sources
        .iter()
        .map(|source| source.backlog.unwrap_or(0.0) / options.catch_up.as_secs_f64())
        .collect();
    let catch_up = flow(&drain)?;
    let arriving: Vec<f64> = seen
        .sources
        .iter()
        .map(|source| source.arrival_rate.unwrap_or(0.0))
        .collect();
    let now = flow(&arriving)?;
    Ok(Ok(Outlook {
        sources,
        steps,
        now,
        catch_up,
        selectivities,
    }))
}

fn source_outlook(
    seen: &Observation,
    source: usize,
    memory: &Memory,
    predictor: &dyn WorkloadPredictor,
    options: &TunerOptions,
) -> Result<Option<SourceOutlook>, Error> {
    let step_ms = in_ms(options.step);
    let history = memory.arrivals(&seen.job, source, step_ms)?;
    match predictor.forecast(&history, options.horizon) {
        Ok(forecast) if forecast.horizon() == options.horizon => {
            let known = memory.job(&seen.job).and_then(|job| job.calibration(source));
            let forecast = match known.or(predictor.calibration()) {
                Some(calibration) => calibration.apply(&forecast),
                None => forecast,
            };
            let mut rates = forecast.quantile(options.quantile);
            for rate in &mut rates {
                *rate = rate.max(0.0);
            }
            Ok(Some(SourceOutlook {
                basis: Basis::Forecast(predictor.name().to_owned()),
                forecast: Some(forecast),
                rates,
            }))
        }
        Ok(_) => Err(PredictError::InvalidForecast {
            reason: "it does not have the length that was asked for",
        }),
        Err(PredictError::HistoryTooShort { .. } | PredictError::NotFitted { .. }) => {
            let newest = seen.sources[source].arrival_rate.or_else(|| history.last());
            Ok(newest.map(|rate| SourceOutlook {
                basis: Basis::LastValue,
                forecast: None,
                rates: vec![rate; options.horizon],
            }))
        }
        Err(error) => Err(error),
    }
    .map_err(|error| Error::Forecast {
        job: seen.job.clone(),
        source_index: source,
        source: error,
    })
}
