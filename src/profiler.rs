use std::time::Duration;

use serde::{Deserialize, Serialize};
use streamline_core::{JobConfig, JobId, JobStatus, Observation};
use streamline_flink::{Change, FlinkClient, FlinkError};

use crate::Error;
use crate::options::all_hold;

/// How a job is profiled.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use streamline_tuner::Profiler;
///
/// let profiler = Profiler { looks: 30, interval: Duration::from_secs(10), ..Profiler::default() };
/// assert_eq!(profiler.tolerance, 0.05);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profiler {
    /// How often each configuration is looked at. Default 12.
    pub looks: usize,
    /// The time between two looks. Default 10 s.
    pub interval: Duration,
    /// By what share the rates of two looks may differ and still count as steady. Default 0.05.
    pub tolerance: f64,
}

impl Default for Profiler {
    fn default() -> Self {
        Self {
            looks: 12,
            interval: Duration::from_secs(10),
            tolerance: 0.05,
        }
    }
}

/// A job in a steady state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Steady {
    /// What was seen.
    pub seen: Observation,
    /// Whether more arrived than the job could process.
    pub saturated: bool,
}

/// What came of profiling a job.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Profiled {
    /// The looks at a steady state, in the order in which they were taken.
    pub steady: Vec<Steady>,
    /// The configurations that the cluster did not take, and why.
    pub refused: Vec<(JobConfig, FlinkError)>,
}

impl Profiler {
    /// Runs a job under each of these configurations in turn and keeps the looks at which it was in a steady state.
    ///
    /// The job is profiled under the load that its sources have: let that go through the rates of interest while
    /// [`Self::looks`] looks are taken, each rate for three looks at least. A look is steady if neither what arrives nor what
    /// any operator processes differs from the look before by more than [`Self::tolerance`]. In the end the job runs as it did
    /// at first.
    ///
    /// `pass_time` lets time pass: [`std::thread::sleep`] on a real cluster,
    /// [`SimulatedCluster::advance`](streamline_flink::SimulatedCluster::advance) on a simulated one.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] if a setting makes no sense, [`Error::Cluster`] if the job ends or the cluster is lost. A
    /// configuration that the cluster refuses or undoes is no error; it is in [`Profiled::refused`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use streamline_core::{Cluster, JobConfig, JobGraph, Operator, OperatorConfig, OperatorKind, TimeSeries};
    /// use streamline_flink::{Model, OperatorProfile, SimulatedCluster, SimulatedJob};
    /// use streamline_tuner::Profiler;
    ///
    /// let cluster = SimulatedCluster::new(Model::default(), Cluster::uniform(1, 4.0, 8 << 30, 4)?, 1)?;
    /// let config = |parallelism| JobConfig::uniform(1, OperatorConfig { parallelism, segment_bytes: 32 << 10 });
    /// let job = cluster.submit(SimulatedJob {
    ///     name: "reader".into(),
    ///     graph: JobGraph::new(vec![Operator::new("s", "in", OperatorKind::Source)], vec![])?,
    ///     config: config(1),
    ///     operators: vec![OperatorProfile::new(40_000.0)],
    ///     selectivities: vec![],
    ///     arrivals: vec![TimeSeries::from_values(0, 1_000, &[60_000.0])?],
    /// })?;
    /// let profiled = Profiler::default().profile(&cluster, &job, &[config(1), config(2)], &mut |time| cluster.advance(time))?;
    /// assert!(profiled.steady.iter().any(|steady| steady.saturated));
    /// assert!(profiled.steady.iter().any(|steady| !steady.saturated));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn profile(
        &self,
        client: &dyn FlinkClient,
        job: &JobId,
        configs: &[JobConfig],
        pass_time: &mut dyn FnMut(Duration),
    ) -> Result<Profiled, Error> {
        self.check()?;
        let first = client.observe(job)?.config;
        let mut profiled = Profiled::default();
        for config in configs {
            if let Err(error) = self.change(client, job, config, pass_time) {
                if error.is_transient() || matches!(error, FlinkError::UnknownJob { .. }) {
                    return Err(error.into());
                }
                profiled.refused.push((config.clone(), error));
                continue;
            }
            let mut before: Option<Observation> = None;
            for _ in 0..self.looks {
                pass_time(self.interval);
                let seen = client.observe(job)?;
                if seen.status == JobStatus::Ended {
                    return Err(FlinkError::Conflict {
                        job: job.clone(),
                        status: "ended",
                    }
                    .into());
                }
                if before.is_some_and(|before| self.is_steady(&before, &seen)) {
                    profiled.steady.push(Steady {
                        saturated: is_saturated(&seen, self.tolerance),
                        seen: seen.clone(),
                    });
                }
                before = Some(seen);
            }
        }
        self.change(client, job, &first, pass_time)?;
        Ok(profiled)
    }

    fn check(&self) -> Result<(), Error> {
        all_hold([
            ("looks", self.looks as f64, self.looks >= 2, "at least 2"),
            (
                "interval",
                self.interval.as_secs_f64(),
                !self.interval.is_zero(),
                "more than 0",
            ),
            (
                "tolerance",
                self.tolerance,
                self.tolerance > 0.0 && self.tolerance < 1.0,
                "more than 0 and less than 1",
            ),
        ])
    }

    /// Changes the job, once it runs.
    fn change(
        &self,
        client: &dyn FlinkClient,
        job: &JobId,
        config: &JobConfig,
        pass_time: &mut dyn FnMut(Duration),
    ) -> Result<(), FlinkError> {
        let mut tries = self.looks;
        loop {
            match client.apply(job, &Change::new(config.clone())) {
                // It may still be restarting from the change before.
                Err(FlinkError::Conflict { .. }) if tries > 0 => {
                    tries -= 1;
                    pass_time(self.interval);
                }
                outcome => return outcome.map(drop),
            }
        }
    }

    fn is_steady(&self, before: &Observation, now: &Observation) -> bool {
        let running = [before, now]
            .iter()
            .all(|seen| seen.status == JobStatus::Running && !seen.restarted);
        let alike = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() <= self.tolerance * a.max(b),
            // A source that does not tell what arrives is judged by what is processed.
            (None, None) => true,
            _ => false,
        };
        running
            && before.config == now.config
            && (before.sources.iter().zip(&now.sources)).all(|(a, b)| alike(a.arrival_rate, b.arrival_rate))
            && (before.operators.iter().zip(&now.operators)).all(|(a, b)| alike(a.input_rate, b.input_rate))
    }
}

/// Whether more arrives at some source than it reads.
fn is_saturated(seen: &Observation, tolerance: f64) -> bool {
    let sources = seen.graph.sources().zip(&seen.sources);
    sources
        .filter_map(|(operator, source)| Some((seen.operators[operator].input_rate?, source.arrival_rate?)))
        .any(|(reads, arrives)| reads < arrives * (1.0 - tolerance))
}

#[cfg(test)]
mod tests {
    use streamline_core::{Cluster, JobGraph, Operator, OperatorConfig, OperatorKind, TimeSeries};
    use streamline_flink::{Model, OperatorProfile, SimulatedCluster, SimulatedJob};

    use super::*;

    fn config(parallelism: u32) -> JobConfig {
        JobConfig::uniform(
            1,
            OperatorConfig {
                parallelism,
                segment_bytes: 32 << 10,
            },
        )
    }

    fn running(rates: &[f64]) -> (SimulatedCluster, JobId) {
        let cluster = Cluster::uniform(1, 4.0, 8 << 30, 4).unwrap();
        let cluster = SimulatedCluster::new(Model::default(), cluster, 1).unwrap();
        let job = cluster.submit(SimulatedJob {
            name: "reader".into(),
            graph: JobGraph::new(vec![Operator::new("s", "in", OperatorKind::Source)], vec![]).unwrap(),
            config: config(1),
            operators: vec![OperatorProfile::new(40_000.0)],
            selectivities: vec![],
            arrivals: vec![TimeSeries::from_values(0, 60_000, rates).unwrap()],
        });
        (cluster, job.unwrap())
    }

    #[test]
    fn only_steady_looks_are_kept_and_the_job_ends_as_it_was() {
        let (cluster, job) = running(&[5_000.0, 20_000.0, 10_000.0, 5_000.0, 20_000.0, 10_000.0, 5_000.0]);
        let profiled = Profiler::default()
            .profile(&cluster, &job, &[config(2), config(3)], &mut |time| {
                cluster.advance(time)
            })
            .unwrap();
        assert!(profiled.steady.len() > 8, "{}", profiled.steady.len());
        for steady in &profiled.steady {
            let rate = steady.seen.sources[0].arrival_rate.unwrap();
            let nearest = [5_000.0, 20_000.0, 10_000.0].map(|known: f64| (rate / known - 1.0).abs());
            assert!(
                nearest.iter().any(|&off| off < 0.1),
                "{rate} is between two loads"
            );
            assert!(!steady.saturated);
        }
        cluster.advance(Duration::from_secs(120));
        assert_eq!(cluster.observe(&job).unwrap().config, config(1));
    }

    #[test]
    fn a_configuration_that_does_not_fit_is_reported_and_the_others_are_profiled() {
        let (cluster, job) = running(&[5_000.0]);
        let profiled = Profiler::default()
            .profile(&cluster, &job, &[config(99), config(2)], &mut |time| {
                cluster.advance(time)
            })
            .unwrap();
        assert_eq!(profiled.refused.len(), 1);
        assert_eq!(profiled.refused[0].0, config(99));
        assert!(!profiled.steady.is_empty());
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        let (cluster, job) = running(&[5_000.0]);
        for profiler in [
            Profiler {
                looks: 1,
                ..Profiler::default()
            },
            Profiler {
                interval: Duration::ZERO,
                ..Profiler::default()
            },
            Profiler {
                tolerance: f64::NAN,
                ..Profiler::default()
            },
        ] {
            let refused = profiler.profile(&cluster, &job, &[], &mut |time| cluster.advance(time));
            assert!(
                matches!(refused, Err(Error::InvalidOption { .. })),
                "{profiler:?}"
            );
        }
    }
}
