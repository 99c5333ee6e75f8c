use std::collections::BTreeMap;

use streamline_core::{JobConfig, JobId, Observation};
use streamline_flink::{Applied, Change, FlinkClient, FlinkError};

use crate::options::in_ms;
use crate::{Decision, Error, JobPlan, JobPolicy, Memory, Plan, PlanRequest, Tuner};

/// Runs rounds: looks at every job, remembers, plans, and changes what the plan changes.
///
/// It keeps no clock and no thread: call [`Controller::round`] once an interval from wherever it suits you. It looks at
/// what is, not at what it did, so that a round that failed halfway is made good by the next.
///
/// # Examples
///
/// ```
/// use streamline_core::JobId;
/// use streamline_tuner::{Controller, JobPolicy, Tuner};
///
/// let mut controller = Controller::new(Tuner::builder().build()?)
///     .with_policy(JobId::new("checkout"), JobPolicy::default().with_priority(10))
///     .with_dry_run(true);
/// assert!(controller.memory_mut().arrivals(&JobId::new("checkout"), 0, 60_000)?.is_empty());
/// # Ok::<(), streamline_tuner::Error>(())
/// ```
#[derive(Debug)]
pub struct Controller {
    tuner: Tuner,
    memory: Memory,
    policies: BTreeMap<JobId, JobPolicy>,
    dry_run: bool,
    /// When the predictor last took note of what came.
    updated_at_ms: Option<i64>,
}

/// The predictor takes note of what came once in this time.
const UPDATE_MS: i64 = 86_400_000;

/// What came of a round.
#[derive(Debug)]
#[non_exhaustive]
pub struct Round {
    /// What was decided.
    pub plan: Plan,
    /// What came of each change, in the order in which they were made: those that free slots first. Empty in a dry run.
    pub changes: Vec<(JobId, Result<Applied, FlinkError>)>,
    /// The jobs that could not be looked at, and why. They are left alone.
    pub unseen: Vec<(JobId, FlinkError)>,
}

impl Controller {
    /// A controller that remembers nothing yet.
    #[must_use]
    pub fn new(tuner: Tuner) -> Self {
        Self {
            tuner,
            memory: Memory::default(),
            policies: BTreeMap::new(),
            dry_run: false,
            updated_at_ms: None,
        }
    }

    /// Goes on from what an earlier controller remembered.
    #[must_use]
    pub fn with_memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// Sets how a job is to be treated. Jobs without a policy get the default one.
    #[must_use]
    pub fn with_policy(mut self, job: JobId, policy: JobPolicy) -> Self {
        self.policies.insert(job, policy);
        self
    }

    /// Plans without changing anything.
    #[must_use]
    pub fn with_dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// The tuner.
    #[must_use]
    pub fn tuner(&self) -> &Tuner {
        &self.tuner
    }

    /// The tuner, to fit its predictor anew.
    pub fn tuner_mut(&mut self) -> &mut Tuner {
        &mut self.tuner
    }

    /// What is remembered, to be kept.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// What is remembered, to add to it.
    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Looks at every job, plans, and makes the changes. Once a day the predictor is [updated] on the arrivals of all
    /// sources.
    ///
    /// [updated]: streamline_predict::WorkloadPredictor::update
    ///
    /// A change that the cluster refuses or undoes is no error of the round: it is reported in [`Round::changes`],
    /// remembered, and tried again only after a wait that grows.
    ///
    /// # Errors
    /// [`Error::Cluster`] if the cluster cannot be asked at all, or the error of the stage of planning that failed.
    pub fn round(&mut self, client: &dyn FlinkClient) -> Result<Round, Error> {
        let cluster = client.cluster()?;
        let capabilities = client.capabilities()?;
        let mut observations = Vec::new();
        let mut unseen = Vec::new();
        for job in client.jobs()? {
            match client.observe(&job) {
                Ok(seen) => {
                    self.memory.remember(&seen, self.tuner.options().step)?;
                    observations.push(seen);
                }
                Err(error) => {
                    tracing::warn!(%job, %error, "the job could not be looked at");
                    unseen.push((job, error));
                }
            }
        }
        self.update_predictor(&observations)?;
        let policies: Vec<JobPolicy> = observations
            .iter()
            .map(|seen| self.policies.get(&seen.job).copied().unwrap_or_default())
            .collect();
        let plan = self.tuner.plan(&PlanRequest {
            observations: &observations,
            policies: &policies,
            cluster: &cluster,
            capabilities: &capabilities,
            memory: &self.memory,
        })?;
        self.memory.expect(&plan, self.tuner.predictor());
        for job in &plan.jobs {
            tracing::info!(job = %job.name, decision = %job.decision, "decided");
        }
        let changes = if self.dry_run {
            Vec::new()
        } else {
            self.apply(&plan, client, capabilities.placement)
        };
        Ok(Round {
            plan,
            changes,
            unseen,
        })
    }

    fn update_predictor(&mut self, observations: &[Observation]) -> Result<(), Error> {
        let Some(now_ms) = observations.iter().map(|seen| seen.at_ms).max() else {
            return Ok(());
        };
        let updated_at_ms = *self.updated_at_ms.get_or_insert(now_ms);
        if now_ms.saturating_sub(updated_at_ms) < UPDATE_MS {
            return Ok(());
        }
        self.updated_at_ms = Some(now_ms);
        let step_ms = in_ms(self.tuner.options().step);
        let mut recent = Vec::new();
        for seen in observations {
            for source in 0..seen.sources.len() {
                recent.push(self.memory.arrivals(&seen.job, source, step_ms)?);
            }
        }
        if let Err(error) = self.tuner.predictor_mut().update(&recent) {
            tracing::warn!(%error, "the predictor could not be updated");
        }
        Ok(())
    }

    fn apply(
        &mut self,
        plan: &Plan,
        client: &dyn FlinkClient,
        can_place: bool,
    ) -> Vec<(JobId, Result<Applied, FlinkError>)> {
        let mut changed: Vec<usize> = (0..plan.jobs.len())
            .filter(|&job| plan.jobs[job].is_changed())
            .collect();
        let growth = |job: &JobPlan| {
            let subtasks = |config: &JobConfig| i128::from(config.subtasks());
            subtasks(&job.config) - subtasks(&job.current)
        };
        // What frees slots goes before what takes them.
        changed.sort_by_key(|&job| growth(&plan.jobs[job]));
        let mut outcomes = Vec::with_capacity(changed.len());
        for index in changed {
            let JobPlan {
                job,
                config,
                decision,
                ..
            } = &plan.jobs[index];
            let Decision::Change(reason) = decision else {
                continue;
            };
            let mut change = Change::new(config.clone());
            if let Some(placement) = can_place.then(|| locations(plan, index)).flatten() {
                change = change.with_placement(placement);
            }
            let outcome = client.apply(job, &change);
            match &outcome {
                Ok(applied) => self
                    .memory
                    .changed(job, plan.at_ms, config, applied.downtime, reason),
                Err(error) => {
                    tracing::warn!(%job, %error, "the change failed");
                    self.memory.change_failed(job, plan.at_ms, config);
                }
            }
            outcomes.push((job.clone(), outcome));
        }
        outcomes
    }
}

/// TaskManager ids for each subtask of each operator of a job, if all of them were placed.
fn locations(plan: &Plan, job: usize) -> Option<Vec<Vec<String>>> {
    let operators = plan.jobs[job].config.operators.iter().enumerate();
    operators
        .map(|(operator, config)| {
            (0..config.parallelism)
                .map(|subtask| {
                    let instance = streamline_core::Instance {
                        job,
                        operator,
                        subtask,
                    };
                    let manager = plan.schedule.placement.task_manager(instance)?;
                    plan.task_managers.get(manager).cloned()
                })
                .collect()
        })
        .collect()
}
