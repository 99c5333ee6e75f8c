use serde::{Deserialize, Serialize};
use streamline_core::{Cluster, JobStatus, Observation, OperatorEstimate};
use streamline_surrogate::{CapacityCurve, Query, Sample};

use crate::Error;

/// What a sweep over configurations and rates taught about the operators of a job.
///
/// # Examples
///
/// ```
/// use streamline_core::{Cluster, JobConfig, JobGraph, JobId, Observation, Operator, OperatorConfig, OperatorKind};
/// use streamline_tuner::Profile;
///
/// let graph = JobGraph::new(vec![Operator::new("s", "in", OperatorKind::Source)], vec![])?;
/// let config = JobConfig::uniform(1, OperatorConfig { parallelism: 2, segment_bytes: 32 << 10 });
/// let mut seen = Observation::unknown(JobId::new("j"), 0, graph, config);
/// seen.operators[0].input_rate = Some(1000.0);
/// seen.operators[0].busy = Some(0.5);
/// let profile = Profile::from_observations(&[seen], &Cluster::uniform(1, 4.0, 1 << 30, 4)?)?;
/// assert_eq!(profile.measured[0], [(2, 2000.0)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Profile {
    /// For each operator, `(parallelism, true processing rate)` of every look at which it was busy enough to tell.
    pub measured: Vec<Vec<(u32, f64)>>,
    /// For each operator, the curve fitted to that; none if it never was busy enough.
    pub curves: Vec<Option<CapacityCurve>>,
    /// What a surrogate can learn from: every operator at every look at which all of it is known.
    pub samples: Vec<Sample>,
}

impl Profile {
    /// Works out what observations of one job, alone on a cluster, under different configurations and loads teach.
    ///
    /// Looks at a job that was not running, or that restarted since the look before, teach nothing.
    ///
    /// # Errors
    /// [`Error::Observation`] naming the job whose observation makes no sense, or whose operators are not those of the
    /// first; [`Error::Estimate`] if a curve cannot be fitted.
    pub fn from_observations(observations: &[Observation], cluster: &Cluster) -> Result<Self, Error> {
        let Some(first) = observations.first() else {
            return Ok(Self::default());
        };
        let mut measured = vec![Vec::new(); first.operators.len()];
        for seen in observations {
            let refused = |source| Error::Observation {
                job: seen.job.clone(),
                source,
            };
            seen.check().map_err(refused)?;
            if seen.graph != first.graph {
                return Err(Error::ForeignGraph {
                    job: seen.job.clone(),
                    first: first.job.clone(),
                });
            }
            if teaches(seen) {
                for (operator, measured) in measured.iter_mut().enumerate() {
                    measured.extend(capacity(seen, operator));
                }
            }
        }
        let fit = |points: &Vec<(u32, f64)>| {
            (!points.is_empty())
                .then(|| CapacityCurve::fit(points))
                .transpose()
                .map_err(Error::from)
        };
        let curves = measured.iter().map(fit).collect::<Result<Vec<_>, _>>()?;
        let samples = observations
            .iter()
            .filter(|seen| teaches(seen))
            .flat_map(|seen| {
                let load = colocation_load(std::slice::from_ref(seen), cluster);
                let curves = curves.iter().enumerate();
                curves.filter_map(move |(operator, curve)| sample(seen, operator, curve.as_ref()?, load))
            })
            .collect();
        Ok(Self {
            measured,
            curves,
            samples,
        })
    }
}

fn teaches(seen: &Observation) -> bool {
    seen.status == JobStatus::Running && !seen.restarted
}

/// The parallelism of an operator and its true processing rate, if it was busy enough to tell.
///
/// The busiest subtask sets the pace, so skew counts against the capacity. So does an uneven spread of indivisible
/// units (key groups, partitions), which is taken out here and put back by whoever asks for another parallelism.
pub(crate) fn capacity(seen: &Observation, operator: usize) -> Option<(u32, f64)> {
    let mut metrics = seen.operators[operator].clone();
    metrics.busy = metrics.busiest.or(metrics.busy);
    let parallelism = seen.config.operators[operator].parallelism;
    Some((
        parallelism,
        metrics.true_processing_rate()? / balance(seen, operator, parallelism)?,
    ))
}

/// How evenly work in indivisible units spreads over subtasks, 0 to 1; none if there is nothing to spread.
pub(crate) fn balance(seen: &Observation, operator: usize, parallelism: u32) -> Option<f64> {
    let keyed = seen.graph.is_keyed(operator);
    let effective = seen.graph.operators()[operator].effective_parallelism(parallelism, keyed);
    (effective > 0.0).then(|| effective / f64::from(parallelism))
}

/// Cores in use for each core there is, as far as it is known.
pub(crate) fn colocation_load(observations: &[Observation], cluster: &Cluster) -> f64 {
    let operators = observations.iter().flat_map(|seen| &seen.operators);
    let used: f64 = operators.filter_map(|operator| operator.cpu_cores).sum();
    let cores = cluster.cpu_cores();
    if cores > 0.0 { used / cores } else { 1.0 }
}

fn sample(
    seen: &Observation,
    operator: usize,
    curve: &CapacityCurve,
    colocation_load: f64,
) -> Option<Sample> {
    let metrics = &seen.operators[operator];
    let config = seen.config.operators[operator];
    let (inputs, outputs) = (seen.graph.inputs(operator), seen.graph.outputs(operator));
    // Not `sum`: that of nothing, for a sink, is -0.
    let selectivity = outputs
        .iter()
        .try_fold(0.0, |sum, &edge| Some(sum + seen.edges[edge].selectivity?))?;
    let throughput = metrics.input_rate?;
    // A source that is held back or overloaded would have processed more had it been able to.
    let source = seen.graph.sources().position(|source| source == operator);
    let arriving = source
        .and_then(|source| seen.sources[source].arrival_rate)
        .unwrap_or(0.0);
    let input_rate = arriving.max(throughput);
    Some(Sample {
        query: Query {
            kind: seen.graph.operators()[operator].kind,
            unit_rate: curve.capacity(1),
            parallelism: config.parallelism,
            segment_bytes: config.segment_bytes,
            buffer_timeout_ms: seen.config.buffer_timeout_ms,
            input_rate,
            selectivity,
            record_bytes: inputs
                .iter()
                .chain(outputs)
                .find_map(|&edge| seen.edges[edge].record_bytes)?,
            colocation_load,
        },
        measured: OperatorEstimate {
            throughput,
            latency_ms: metrics.latency_ms?,
            cpu_cores: metrics.cpu_cores?,
        },
    })
}
