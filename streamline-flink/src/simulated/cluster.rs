use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use streamline_core::{Cluster, JobId, JobStatus, Observation, TaskManager, TimeSeries};

use super::job::{SimulatedJob, check_arrivals};
use super::model::Model;
use super::running::Running;
use crate::{Applied, Capabilities, Change, FlinkClient, FlinkError, Scope};

/// A Flink cluster that only exists as a model, with a clock that only moves when told to.
///
/// In steps of fixed length it moves records through every job: operators have capacities that grow less than their
/// parallelism (universal scalability law), less still with hot keys and with key groups that do not divide evenly, and
/// less again where the subtasks of a TaskManager want more cores than it has; buffers are finite, so that a slow
/// operator holds back those upstream up to the source, where a backlog grows. Latency comes from queues, from buffers
/// that wait to be filled, and from the backlog. A change takes the job down for a time that depends on its state; then
/// it has to catch up. Arrivals, speeds and failures vary at random, by seed.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use streamline_core::{
///     Cluster, Edge, JobConfig, JobGraph, Operator, OperatorConfig, OperatorKind, Partitioning, TimeSeries,
/// };
/// use streamline_flink::{FlinkClient, Model, OperatorProfile, SimulatedCluster, SimulatedJob};
///
/// let graph = JobGraph::new(
///     vec![Operator::new("s", "in", OperatorKind::Source), Operator::new("w", "count", OperatorKind::Window)],
///     vec![Edge { from: 0, to: 1, partitioning: Partitioning::Hash }],
/// )?;
/// let cluster = SimulatedCluster::new(Model::without_chance(), Cluster::uniform(2, 4.0, 8 << 30, 4)?, 1)?;
/// let job = cluster.submit(SimulatedJob {
///     name: "counts".into(),
///     config: JobConfig::uniform(2, OperatorConfig { parallelism: 2, segment_bytes: 32 << 10 }),
///     graph,
///     operators: vec![OperatorProfile::new(50_000.0), OperatorProfile::new(10_000.0)],
///     selectivities: vec![1.0],
///     arrivals: vec![TimeSeries::from_values(0, 1_000, &[15_000.0])?],
/// })?;
/// cluster.advance(Duration::from_secs(60));
/// let seen = cluster.observe(&job)?;
/// assert!((seen.operators[1].busy.unwrap_or(0.0) - 0.75).abs() < 0.03);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SimulatedCluster {
    state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    model: Model,
    pub(super) cluster: Cluster,
    capabilities: Capabilities,
    random: ChaCha8Rng,
    now_ms: i64,
    /// Time that was asked to pass and is less than a step.
    owed: Duration,
    pub(super) jobs: BTreeMap<JobId, Running>,
    submitted: u64,
}

/// What is really so in a simulated job, beside what a client can see.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Truth {
    /// Records that arrived and have not been read yet, at all sources.
    pub backlog: f64,
    /// Records that have arrived since the start.
    pub arrived: f64,
    /// Records that have been read since the start; after a failure, without those that will be read again.
    pub read: f64,
    /// Records that the sinks have processed since the start, those repeated after a failure included.
    pub written: f64,
    /// Records per second that each operator can process at most, as it is placed and loaded now.
    pub capacity: Vec<f64>,
    /// Share of its capacity that each operator used in the last step.
    pub utilization: Vec<f64>,
    /// End-to-end latency in the last step in which the job ran, in milliseconds.
    pub latency_ms: f64,
    /// The largest `latency_ms` since the start.
    pub worst_latency_ms: f64,
    /// Cores used since the start, times seconds.
    pub core_seconds: f64,
    /// Task slots held since the start, times seconds.
    pub slot_seconds: f64,
    /// How long the job was down since the start.
    pub downtime: Duration,
    /// How many times it was changed or failed since the start.
    pub restarts: u32,
}

impl SimulatedCluster {
    /// A cluster without jobs, at time 0.
    ///
    /// # Errors
    /// [`FlinkError::Model`] if the constants are out of their ranges.
    pub fn new(model: Model, cluster: Cluster, seed: u64) -> Result<Self, FlinkError> {
        model.check()?;
        let mut capabilities = Capabilities::stock("simulated");
        capabilities.segment_size = Scope::Operator;
        capabilities.placement = true;
        Ok(Self {
            state: Mutex::new(State {
                model,
                cluster,
                capabilities,
                random: ChaCha8Rng::seed_from_u64(seed),
                now_ms: 0,
                owed: Duration::ZERO,
                jobs: BTreeMap::new(),
                submitted: 0,
            }),
        })
    }

    /// Starts at another time than 0, in milliseconds since the epoch.
    #[must_use]
    pub fn starting_at(self, now_ms: i64) -> Self {
        self.lock().now_ms = now_ms;
        self
    }

    /// Sets at which scope the size of network buffers can be chosen. Default: for each operator.
    #[must_use]
    pub fn with_segment_scope(self, scope: Scope) -> Self {
        self.lock().capabilities.segment_size = scope;
        self
    }

    /// The time, in milliseconds since the epoch.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.lock().now_ms
    }

    /// Starts a job, spread over the TaskManagers.
    ///
    /// # Errors
    /// [`FlinkError::Invalid`] if the description makes no sense, [`FlinkError::Refused`] if it lacks task slots.
    pub fn submit(&self, job: SimulatedJob) -> Result<JobId, FlinkError> {
        job.check()?;
        let mut state = self.lock();
        let locations = state.spread(&job.graph, &job.config, None)?;
        state.submitted += 1;
        let id = JobId::new(format!("{:032x}", state.submitted));
        let running = Running::new(job, locations, &state.model);
        state.jobs.insert(id.clone(), running);
        Ok(id)
    }

    /// Ends a job and frees its slots.
    ///
    /// # Errors
    /// [`FlinkError::UnknownJob`].
    pub fn cancel(&self, job: &JobId) -> Result<(), FlinkError> {
        let removed = self.lock().jobs.remove(job);
        removed
            .map(drop)
            .ok_or_else(|| FlinkError::UnknownJob { job: job.clone() })
    }

    /// Replaces what arrives at a source from now on.
    ///
    /// # Errors
    /// [`FlinkError::UnknownJob`], or [`FlinkError::Invalid`] if there is no such source or the series is not one of
    /// rates.
    pub fn set_arrivals(&self, job: &JobId, source: usize, arrivals: TimeSeries) -> Result<(), FlinkError> {
        check_arrivals(source, &arrivals)?;
        let mut state = self.lock();
        state.job_mut(job)?.set_arrivals(source, arrivals)
    }

    /// Makes a TaskManager fail, as failures at random do: it is replaced at once, and every job that had a subtask on
    /// it starts again from its last checkpoint.
    ///
    /// # Errors
    /// [`FlinkError::Refused`] if there is no TaskManager with this id.
    pub fn fail_task_manager(&self, id: &str) -> Result<(), FlinkError> {
        let mut state = self.lock();
        let manager = state.task_manager(id)?;
        state.fail(manager);
        Ok(())
    }

    /// Makes a job fail for a reason of its own: it starts again from its last checkpoint.
    ///
    /// # Errors
    /// [`FlinkError::UnknownJob`].
    pub fn fail_job(&self, job: &JobId) -> Result<(), FlinkError> {
        let mut state = self.lock();
        let (now_ms, model) = (state.now_ms, state.model);
        state.job_mut(job)?.fail(now_ms, &model);
        Ok(())
    }

    /// Lets time pass, in whole steps; what is left over is added to the next call.
    pub fn advance(&self, time: Duration) {
        let mut state = self.lock();
        state.owed = state.owed.saturating_add(time);
        let step = Duration::from_millis(u64::from(state.model.step_ms));
        while state.owed >= step {
            state.owed -= step;
            state.step();
        }
    }

    /// What is really so in a job.
    ///
    /// # Errors
    /// [`FlinkError::UnknownJob`].
    pub fn truth(&self, job: &JobId) -> Result<Truth, FlinkError> {
        Ok(self.lock().job(job)?.truth())
    }

    /// A thread that panicked while it held the lock cannot have left a step half done that matters to others.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn job(&self, job: &JobId) -> Result<&Running, FlinkError> {
        self.jobs
            .get(job)
            .ok_or_else(|| FlinkError::UnknownJob { job: job.clone() })
    }

    fn job_mut(&mut self, job: &JobId) -> Result<&mut Running, FlinkError> {
        self.jobs
            .get_mut(job)
            .ok_or_else(|| FlinkError::UnknownJob { job: job.clone() })
    }

    fn step(&mut self) {
        let seconds = f64::from(self.model.step_ms) / 1e3;
        self.fail_at_random(seconds);
        let random = &mut self.random;
        let mut around_one = |deviation: f64| {
            let draw: f64 = StandardNormal.sample(random);
            if deviation > 0.0 {
                (1.0 + deviation * draw).max(0.0)
            } else {
                1.0
            }
        };
        for job in self.jobs.values_mut() {
            job.arrive(self.now_ms, seconds, &self.model, &mut around_one);
        }
        let speeds = speeds(&self.model, &self.cluster, self.jobs.values());
        for job in self.jobs.values_mut() {
            job.step(seconds, &self.model, &speeds, &mut around_one);
        }
        self.now_ms = self.now_ms.saturating_add(i64::from(self.model.step_ms));
    }

    fn fail_at_random(&mut self, seconds: f64) {
        let chance = self.model.failures.per_hour * seconds / 3600.0;
        if chance <= 0.0 {
            return;
        }
        let failed: Vec<usize> = (0..self.cluster.task_managers().len())
            .filter(|_| self.random.random::<f64>() < chance)
            .collect();
        for manager in failed {
            self.fail(manager);
        }
    }

    fn fail(&mut self, task_manager: usize) {
        for job in self.jobs.values_mut().filter(|job| job.runs_on(task_manager)) {
            job.fail(self.now_ms, &self.model);
        }
    }
}

/// How fast subtasks run on each TaskManager: at full speed, or, where they want more cores than there are, no faster
/// than at an equal part of them. A subtask that wants less than that part gets what it wants, and leaves the rest to the
/// others, as a fair scheduler of threads does.
fn speeds<'a>(model: &Model, cluster: &Cluster, jobs: impl Iterator<Item = &'a Running>) -> Vec<f64> {
    let managers = cluster.task_managers();
    let mut wanted = vec![Vec::new(); managers.len()];
    for job in jobs {
        job.add_wanted_cores(model, &mut wanted);
    }
    let speed = |(manager, wanted): (&TaskManager, Vec<f64>)| fair_part(manager.cpu_cores, wanted);
    managers.iter().zip(wanted).map(speed).collect()
}

/// The most that each gets where `wanted` shares of a core are to be had of `cores`, at most a whole one.
fn fair_part(cores: f64, mut wanted: Vec<f64>) -> f64 {
    if wanted.iter().sum::<f64>() <= cores {
        return 1.0;
    }
    wanted.sort_unstable_by(f64::total_cmp);
    let (mut left, mut part) = (cores, 1.0);
    for (satisfied, &share) in wanted.iter().enumerate() {
        part = left / (wanted.len() - satisfied) as f64;
        if share >= part {
            break;
        }
        left -= share;
    }
    part.min(1.0)
}

impl FlinkClient for SimulatedCluster {
    fn capabilities(&self) -> Result<Capabilities, FlinkError> {
        Ok(self.lock().capabilities.clone())
    }

    fn jobs(&self) -> Result<Vec<JobId>, FlinkError> {
        Ok(self.lock().jobs.keys().cloned().collect())
    }

    fn cluster(&self) -> Result<Cluster, FlinkError> {
        Ok(self.lock().cluster.clone())
    }

    fn observe(&self, job: &JobId) -> Result<Observation, FlinkError> {
        let state = &mut *self.lock();
        let running = state
            .jobs
            .get_mut(job)
            .ok_or_else(|| FlinkError::UnknownJob { job: job.clone() })?;
        Ok(running.observe(job, state.now_ms, &state.cluster))
    }

    fn apply(&self, job: &JobId, change: &Change) -> Result<Applied, FlinkError> {
        let mut state = self.lock();
        let running = state.job(job)?;
        if running.status() == JobStatus::Restarting {
            return Err(FlinkError::Conflict {
                job: job.clone(),
                status: "restarting",
            });
        }
        change.config.check(running.graph())?;
        let locations = match &change.placement {
            Some(placement) => state.locate(running.graph(), &change.config, placement, job)?,
            None => state.spread(running.graph(), &change.config, Some(job))?,
        };
        let (now_ms, model) = (state.now_ms, state.model);
        let downtime = state
            .job_mut(job)?
            .change(change.config.clone(), locations, now_ms, &model);
        Ok(Applied::new(false, downtime))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn who_wants_little_gets_it_and_the_others_share_the_rest() {
        approx::assert_relative_eq!(fair_part(2.0, vec![1.0, 0.2, 1.0]), 0.9);
        approx::assert_relative_eq!(fair_part(2.0, vec![1.0, 0.5]), 1.0);
        approx::assert_relative_eq!(fair_part(0.0, vec![1.0, 0.5]), 0.0);
    }

    proptest! {
        #[test]
        fn all_cores_are_used_where_more_are_wanted(
            cores in 0.0..8.0f64,
            wanted in prop::collection::vec(0.0..1.01f64, 0..20),
        ) {
            let part = fair_part(cores, wanted.clone());
            let used: f64 = wanted.iter().map(|share| share.min(part)).sum();
            let most: f64 = wanted.iter().map(|share| share.min(1.0)).sum();
            prop_assert!((used - cores.min(most)).abs() < 1e-9, "{used} of {cores}");
        }
    }
}
