//! A check that any implementation of [`FlinkClient`] keeps its promises.

use std::fmt;
use std::time::Duration;

use streamline_core::{JobConfig, JobId, JobStatus, Observation};

use crate::{Change, FlinkClient, FlinkError};

/// A promise of [`FlinkClient`] that an implementation breaks.
#[derive(Debug)]
#[non_exhaustive]
pub struct Broken {
    /// The promise, in words.
    pub promise: &'static str,
    /// What was seen instead.
    pub seen: String,
    /// The error where one was returned that should not have been.
    pub error: Option<FlinkError>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not kept: {} ({})", self.promise, self.seen)
    }
}

impl std::error::Error for Broken {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.as_ref().map(|error| error as _)
    }
}

/// How long a change may take to come into effect, and how often it is looked whether it has.
const PATIENCE: Duration = Duration::from_secs(600);
const PAUSE: Duration = Duration::from_secs(5);

/// Checks that a client keeps the promises of the trait, on a job that runs.
///
/// Jobs that are listed can be looked at, in a fixed order, and what is seen makes sense; a job that does not exist is said to
/// be unknown; a change that makes no sense is refused and leaves the job as it was; one that makes sense is answered, and
/// if it was applied, it runs soon after.
///
/// The job is changed: one operator gets one subtask more or less where its bounds allow that, and then as many as before.
/// `pass_time` lets time pass: [`std::thread::sleep`] on a real cluster,
/// [`SimulatedCluster::advance`](crate::SimulatedCluster::advance) on a simulated one.
///
/// # Errors
/// [`Broken`] with the first promise that is not kept.
///
/// # Examples
///
/// ```
/// use streamline_core::{Cluster, JobConfig, JobGraph, Operator, OperatorConfig, OperatorKind, TimeSeries};
/// use streamline_flink::{Model, OperatorProfile, SimulatedCluster, SimulatedJob, conformance};
///
/// let cluster = SimulatedCluster::new(Model::default(), Cluster::uniform(1, 4.0, 8 << 30, 4)?, 1)?;
/// let job = cluster.submit(SimulatedJob {
///     name: "reader".into(),
///     graph: JobGraph::new(vec![Operator::new("s", "in", OperatorKind::Source)], vec![])?,
///     config: JobConfig::uniform(1, OperatorConfig { parallelism: 2, segment_bytes: 32 << 10 }),
///     operators: vec![OperatorProfile::new(40_000.0)],
///     selectivities: vec![],
///     arrivals: vec![TimeSeries::from_values(0, 1_000, &[5_000.0])?],
/// })?;
/// conformance::check(&cluster, &job, &mut |time| cluster.advance(time))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(
    client: &dyn FlinkClient,
    job: &JobId,
    pass_time: &mut dyn FnMut(Duration),
) -> Result<(), Broken> {
    let mut run = Run {
        client,
        job,
        pass_time,
    };
    run.lists_and_looks()?;
    run.knows_no_unknown_job()?;
    let before = run.running()?;
    run.refuses_senseless_changes(&before)?;
    run.answers_changes(&before)
}

struct Run<'a> {
    client: &'a dyn FlinkClient,
    job: &'a JobId,
    pass_time: &'a mut dyn FnMut(Duration),
}

fn broken(promise: &'static str, seen: impl Into<String>) -> Broken {
    Broken {
        promise,
        seen: seen.into(),
        error: None,
    }
}

fn failed(promise: &'static str) -> impl Fn(FlinkError) -> Broken {
    move |error| Broken {
        promise,
        seen: error.to_string(),
        error: Some(error),
    }
}

impl Run<'_> {
    fn lists_and_looks(&mut self) -> Result<(), Broken> {
        self.client
            .capabilities()
            .map_err(failed("the cluster says what it can do"))?;
        self.client
            .cluster()
            .map_err(failed("the cluster says which TaskManagers it has"))?;
        let list = || self.client.jobs().map_err(failed("the jobs are listed"));
        let jobs = list()?;
        if !jobs.contains(self.job) {
            return Err(broken("a job that runs is listed", format!("no `{}`", self.job)));
        }
        if list()? != jobs {
            return Err(broken("jobs are listed in a fixed order", "another one"));
        }
        for _ in 0..2 {
            for job in &jobs {
                self.look(job)?;
            }
            (self.pass_time)(PAUSE);
        }
        Ok(())
    }

    /// Looks at a job and checks what is seen.
    fn look(&self, job: &JobId) -> Result<Observation, Broken> {
        let seen = self
            .client
            .observe(job)
            .map_err(failed("a job that is listed can be looked at"))?;
        if &seen.job != job {
            return Err(broken(
                "a look is at the job that was asked for",
                format!("`{}`", seen.job),
            ));
        }
        seen.check()
            .map_err(|error| failed("what is seen makes sense")(error.into()))?;
        Ok(seen)
    }

    fn knows_no_unknown_job(&self) -> Result<(), Broken> {
        const PROMISE: &str = "a job that does not exist is unknown";
        let nobody = JobId::new("ffffffffffffffffffffffffffffffff");
        let known = |error: Option<FlinkError>| match error {
            Some(FlinkError::UnknownJob { job }) if job == nobody => Ok(()),
            Some(error) => Err(failed(PROMISE)(error)),
            None => Err(broken(PROMISE, "no error")),
        };
        known(self.client.observe(&nobody).err())?;
        let config = self.look(self.job)?.config;
        known(self.client.apply(&nobody, &Change::new(config)).err())
    }

    /// Waits until the job runs.
    fn running(&mut self) -> Result<Observation, Broken> {
        let mut waited = Duration::ZERO;
        loop {
            let seen = self.look(self.job)?;
            if seen.status == JobStatus::Running {
                return Ok(seen);
            }
            if waited >= PATIENCE {
                return Err(broken(
                    "a job runs within ten minutes",
                    format!("{:?}", seen.status),
                ));
            }
            (self.pass_time)(PAUSE);
            waited += PAUSE;
        }
    }

    fn refuses_senseless_changes(&mut self, before: &Observation) -> Result<(), Broken> {
        let mut shorter = before.config.clone();
        shorter.operators.pop();
        let mut without_subtasks = before.config.clone();
        if let Some(operator) = without_subtasks.operators.first_mut() {
            operator.parallelism = 0;
        }
        let mut changes = vec![Change::new(shorter), Change::new(without_subtasks)];
        let places = self
            .client
            .capabilities()
            .map_err(failed("the cluster says what it can do"))?
            .placement;
        if places {
            let nowhere = |parallelism: u32| vec!["no such TaskManager".to_owned(); parallelism as usize];
            let operators = before.config.operators.iter();
            let placement = operators.map(|operator| nowhere(operator.parallelism)).collect();
            changes.push(Change::new(before.config.clone()).with_placement(placement));
        }
        for change in changes {
            match self.client.apply(self.job, &change) {
                Err(FlinkError::Refused { .. } | FlinkError::Invalid(_)) => {}
                Err(error) => return Err(failed("a change that makes no sense is refused")(error)),
                Ok(applied) => {
                    return Err(broken(
                        "a change that makes no sense is refused",
                        format!("{applied:?}"),
                    ));
                }
            }
            self.runs_as(&before.config, "a refused change leaves the job as it was")?;
        }
        Ok(())
    }

    /// Checks that the job is up, without waiting for it, and how it is configured.
    fn runs_as(&self, config: &JobConfig, promise: &'static str) -> Result<(), Broken> {
        let seen = self.look(self.job)?;
        if seen.status != JobStatus::Running || seen.config != *config {
            return Err(broken(promise, format!("{:?}, {:?}", seen.status, seen.config)));
        }
        Ok(())
    }

    fn answers_changes(&mut self, before: &Observation) -> Result<(), Broken> {
        self.answers(before.config.clone(), &before.config)?;
        if let Some(other) = a_little_different(before) {
            let changed = self.answers(other.clone(), &before.config)?;
            if changed {
                self.answers(before.config.clone(), &other)?;
            }
        }
        Ok(())
    }

    /// Asks for a change, waits for it, and says whether it was made.
    fn answers(&mut self, wanted: JobConfig, now: &JobConfig) -> Result<bool, Broken> {
        let change = Change::new(wanted);
        match self.client.apply(self.job, &change) {
            Ok(_) => {
                let seen = self.running()?;
                if seen.config != change.config {
                    return Err(broken(
                        "what was applied is what runs",
                        format!("{:?}", seen.config),
                    ));
                }
                Ok(true)
            }
            // There may be no slot for it, or the change may be none.
            Err(FlinkError::Refused { .. } | FlinkError::RolledBack { .. }) => {
                self.runs_as(now, "a refused change leaves the job as it was")?;
                Ok(false)
            }
            Err(error) => Err(failed("a change that makes sense is made or refused")(error)),
        }
    }
}

/// A valid configuration with one subtask more or less of one operator.
fn a_little_different(seen: &Observation) -> Option<JobConfig> {
    let candidates = (0..seen.config.operators.len()).flat_map(|operator| {
        let parallelism = seen.config.operators[operator].parallelism;
        [parallelism.checked_sub(1), parallelism.checked_add(1)]
            .into_iter()
            .flatten()
            .map(move |parallelism| (operator, parallelism))
    });
    candidates
        .map(|(operator, parallelism)| {
            let mut config = seen.config.clone();
            config.operators[operator].parallelism = parallelism;
            config
        })
        .find(|config| config.check(&seen.graph).is_ok())
}
