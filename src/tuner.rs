use std::fmt;
use std::time::Duration;

use streamline_core::{Cluster, JobStatus, Observation};
use streamline_flink::Capabilities;
use streamline_predict::WorkloadPredictor;
use streamline_sched::Scheduler;
use streamline_surrogate::{PerformanceSurrogate, Prediction};

use crate::candidates::{Candidates, Capacities, Setting, query};
use crate::decision::Situation;
use crate::fitting::expect;
use crate::grants::grant;
use crate::outlook::{Outlook, Unknown, look_ahead};
use crate::profile::colocation_load;
use crate::search::{Limits, Searched, search};
use crate::{Decision, Error, HoldReason, JobPlan, JobPolicy, Memory, Plan, TunerBuilder, TunerOptions};

/// Plans what the jobs of a cluster should look like.
///
/// Holds the parts (predictor, surrogate, scheduler) and the settings, and no state: [`Tuner::plan`] is a pure function
/// of what it is given. A [`Controller`](crate::Controller) does the looking and the changing around it.
///
/// # Examples
///
/// ```
/// use streamline_tuner::{Tuner, TunerOptions};
///
/// let tuner = Tuner::builder().options(TunerOptions { seed: 7, ..TunerOptions::default() }).build()?;
/// assert_eq!(tuner.options().seed, 7);
/// # Ok::<(), streamline_tuner::Error>(())
/// ```
pub struct Tuner {
    pub(crate) predictor: Box<dyn WorkloadPredictor>,
    pub(crate) surrogate: Box<dyn PerformanceSurrogate>,
    pub(crate) scheduler: Box<dyn Scheduler>,
    pub(crate) options: TunerOptions,
}

impl fmt::Debug for Tuner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tuner")
            .field("predictor", &self.predictor.name())
            .field("surrogate", &self.surrogate.name())
            .field("scheduler", &self.scheduler.name())
            .field("options", &self.options)
            .finish()
    }
}

/// What a plan is made from.
#[derive(Debug, Clone, Copy)]
pub struct PlanRequest<'a> {
    /// The newest look at every job.
    pub observations: &'a [Observation],
    /// How each job is to be treated, in the same order.
    pub policies: &'a [JobPolicy],
    /// The TaskManagers that the jobs share.
    pub cluster: &'a Cluster,
    /// What the cluster can do.
    pub capabilities: &'a Capabilities,
    /// What is remembered of the jobs, the newest look included.
    pub memory: &'a Memory,
}

/// A job that can be planned for.
pub(crate) struct Active<'a> {
    /// Index among the observations.
    pub(crate) index: usize,
    pub(crate) outlook: Outlook,
    pub(crate) capacities: Capacities,
    pub(crate) candidates: Candidates<'a>,
    pub(crate) downtime: Duration,
}

impl Tuner {
    /// Starts from the default parts.
    #[must_use]
    pub fn builder() -> TunerBuilder {
        TunerBuilder::default()
    }

    /// The settings.
    #[must_use]
    pub fn options(&self) -> &TunerOptions {
        &self.options
    }

    /// The predictor.
    #[must_use]
    pub fn predictor(&self) -> &dyn WorkloadPredictor {
        self.predictor.as_ref()
    }

    /// The predictor, to fit it or to bring it up to date.
    pub fn predictor_mut(&mut self) -> &mut dyn WorkloadPredictor {
        self.predictor.as_mut()
    }

    /// Decides what every job should look like.
    ///
    /// Pure and deterministic: no clock and no I/O, and the same request gives the same plan whatever the number of
    /// threads.
    ///
    /// # Errors
    /// [`Error::NoJobs`], [`Error::NoSlots`], [`Error::Observation`] naming the job whose observation makes no sense,
    /// or the error of the stage that failed. Whatever is merely unknown of a job is no error: that job is held.
    pub fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan, Error> {
        let PlanRequest {
            observations,
            policies,
            cluster,
            ..
        } = *request;
        let Some(at_ms) = observations.iter().map(|seen| seen.at_ms).max() else {
            return Err(Error::NoJobs);
        };
        if cluster.slots() == 0 {
            return Err(Error::NoSlots {
                task_managers: cluster.task_managers().len(),
            });
        }
        if policies.len() != observations.len() {
            return Err(Error::InvalidOption {
                name: "policies",
                value: policies.len() as f64,
                expected: "one for each observation",
            });
        }
        for policy in policies {
            policy.check()?;
        }
        for seen in observations {
            let refused = |source| Error::Observation {
                job: seen.job.clone(),
                source,
            };
            seen.check().map_err(refused)?;
        }

        let colocation_load = colocation_load(observations, cluster).min(1.0);
        let setting = self.setting(cluster, request.capabilities, colocation_load);
        let mut jobs = Vec::with_capacity(observations.len());
        let mut active = Vec::new();
        for (index, (seen, policy)) in observations.iter().zip(policies).enumerate() {
            let mut job = hold(seen, HoldReason::Optimal);
            match self.prepare(index, seen, policy, request, &setting)? {
                Ok(ready) => {
                    job.sources.clone_from(&ready.outlook.sources);
                    job.rates.clone_from(&ready.candidates.required);
                    active.push(ready);
                }
                Err(reason) => job.decision = Decision::Hold(reason),
            }
            jobs.push(job);
        }

        let limits = self.limits(request, &active)?;
        let granted = grant(
            &active
                .iter()
                .map(|a| (&a.candidates, policies[a.index].priority))
                .collect::<Vec<_>>(),
            limits,
        );
        let mut front = Vec::new();
        if !active.is_empty() {
            let searched: Vec<Searched<'_>> = active
                .iter()
                .zip(&granted)
                .map(|(a, &share)| Searched {
                    candidates: &a.candidates,
                    objective: policies[a.index].objective,
                    share,
                })
                .collect();
            let found = search(&searched, limits, &self.options)?;
            front = found.front;
            let cluster_is_short = granted.iter().any(|&share| share < 1.0);
            for ((a, &share), choice) in active.iter().zip(&granted).zip(&found.choices) {
                let current = a.candidates.current();
                let config = a.candidates.config(choice);
                let remembered = request.memory.job(&a.candidates.seen.job);
                let situation = Situation {
                    seen: a.candidates.seen,
                    policy: &policies[a.index],
                    outlook: &a.outlook,
                    capacities: &a.capacities,
                    downtime: a.downtime,
                    since_change: remembered.and_then(|memory| memory.since_change(at_ms)),
                    regrets: remembered.map_or(0.0, |memory| memory.regrets(at_ms)),
                    current: a.candidates.assess(&current, share),
                    chosen: a.candidates.assess(choice, share),
                    differs: config != a.candidates.seen.config,
                    lead_latency_ms: self.lead_latency(a, &setting)?,
                    cluster_is_short,
                };
                let job = &mut jobs[a.index];
                job.granted = share;
                job.decision = situation.decide(&self.options);
                let held = matches!(job.decision, Decision::Hold(_));
                let outcome = if held { &current } else { choice };
                expect(job, &a.candidates, outcome)?;
                if !held {
                    job.config = config;
                }
            }
            self.settle(&mut jobs, &active, &found.choices, policies, limits)?;
        }
        let schedule = self.place(&mut jobs, &active, policies, request)?;
        let task_managers = cluster
            .task_managers()
            .iter()
            .map(|manager| manager.id.clone())
            .collect();
        Ok(Plan {
            at_ms,
            jobs,
            front,
            schedule,
            task_managers,
        })
    }

    pub(crate) fn setting<'a>(
        &'a self,
        cluster: &'a Cluster,
        capabilities: &'a Capabilities,
        colocation_load: f64,
    ) -> Setting<'a> {
        Setting {
            cluster,
            capabilities,
            surrogate: self.surrogate.as_ref(),
            options: &self.options,
            colocation_load,
        }
    }

    /// Gathers what a decision about a job takes, or says why there can be none.
    fn prepare<'a>(
        &self,
        index: usize,
        seen: &'a Observation,
        policy: &JobPolicy,
        request: &PlanRequest<'a>,
        setting: &Setting<'_>,
    ) -> Result<Result<Active<'a>, HoldReason>, Error> {
        if seen.status != JobStatus::Running {
            return Ok(Err(HoldReason::NotRunning));
        }
        if policy.frozen {
            return Ok(Err(HoldReason::Frozen));
        }
        let remembered = request.memory.job(&seen.job);
        if let Some((failures, wait)) =
            remembered.and_then(|memory| memory.retry_wait(seen.at_ms, self.options.interval))
        {
            return Ok(Err(HoldReason::Backoff { failures, wait }));
        }
        let outlook = match look_ahead(seen, request.memory, self.predictor.as_ref(), &self.options)? {
            Ok(outlook) => outlook,
            Err(unknown) => {
                return Ok(Err(HoldReason::Unknown {
                    what: describe(seen, &unknown),
                }));
            }
        };
        let capacities = Capacities::learn(seen, remembered)?;
        let candidates = Candidates::new(seen, &outlook, &capacities, setting)?;
        let downtime = remembered
            .and_then(|memory| memory.downtime())
            .unwrap_or(self.options.assumed_downtime);
        Ok(Ok(Active {
            index,
            outlook,
            capacities,
            candidates,
            downtime,
        }))
    }

    /// What the jobs that can be planned for may take: the cluster less what the other jobs hold.
    fn limits(&self, request: &PlanRequest<'_>, active: &[Active<'_>]) -> Result<Limits, Error> {
        let cluster = request.cluster;
        let mut limits = Limits {
            slots: cluster.slots(),
            cpu_cores: cluster.cpu_cores() * self.options.cpu_headroom,
            network_bytes: cluster.network_bytes(),
        };
        for (index, seen) in request.observations.iter().enumerate() {
            if active.iter().any(|a| a.index == index) || seen.status == JobStatus::Ended {
                continue;
            }
            let refused = |source| Error::Observation {
                job: seen.job.clone(),
                source,
            };
            let cpu: f64 = seen
                .operators
                .iter()
                .filter_map(|operator| operator.cpu_cores)
                .sum();
            limits.slots = limits
                .slots
                .saturating_sub(seen.config.slots(&seen.graph).map_err(refused)?);
            limits.cpu_cores = (limits.cpu_cores - cpu).max(0.0);
            let network = seen.config.network_bytes(&seen.graph).map_err(refused)?;
            limits.network_bytes = limits.network_bytes.saturating_sub(network);
        }
        Ok(limits)
    }

    /// Latency to expect of what runs, at the load until a change of the next round takes effect.
    fn lead_latency(&self, active: &Active<'_>, setting: &Setting<'_>) -> Result<f64, Error> {
        let seen = active.candidates.seen;
        let rates = active.outlook.peak(self.options.lead_steps(active.downtime));
        let queries: Vec<_> = (0..rates.len())
            .map(|operator| {
                let config = seen.config.operators[operator];
                query(
                    seen,
                    &active.outlook,
                    &active.capacities,
                    operator,
                    config,
                    rates[operator],
                    setting,
                )
            })
            .collect();
        let mut answers = vec![Prediction::ZERO; queries.len()];
        self.surrogate.predict(&queries, &mut answers)?;
        let latencies: Vec<f64> = answers.iter().map(|answer| answer.estimate.latency_ms).collect();
        seen.graph
            .longest_path(&latencies)
            .map_err(|source| Error::Propagate {
                job: seen.job.clone(),
                source,
            })
    }
}

/// A job left as it is.
fn hold(seen: &Observation, reason: HoldReason) -> JobPlan {
    JobPlan {
        job: seen.job.clone(),
        name: seen.name.clone(),
        decision: Decision::Hold(reason),
        current: seen.config.clone(),
        config: seen.config.clone(),
        operators: seen
            .graph
            .operators()
            .iter()
            .map(|operator| operator.name.clone())
            .collect(),
        sources: Vec::new(),
        rates: Vec::new(),
        estimate: None,
        cost: None,
        granted: 1.0,
    }
}

fn describe(seen: &Observation, unknown: &Unknown) -> String {
    let name = |operator: usize| seen.graph.operators()[operator].name.as_str();
    match *unknown {
        Unknown::ArrivalRate { source } => {
            let operator = seen.graph.sources().nth(source).unwrap_or_default();
            format!("the arrival rate of source `{}`", name(operator))
        }
        Unknown::Selectivity { edge } => {
            let edge = seen.graph.edges()[edge];
            format!(
                "the selectivity from `{}` to `{}`",
                name(edge.from),
                name(edge.to)
            )
        }
    }
}
