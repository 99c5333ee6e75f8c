//! Changes of jobs, each journalled before it is made, and what becomes of one that was interrupted.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use streamline_core::{JobConfig, JobId, Observation};

use super::RestOptions;
use super::http::Http;
use super::journal::{Journal, Restart, Setup, Step, Steps};
use super::rescale::{self, Rescaled};
use super::restart::{Restarted, Restarting};
use super::{lock, look, wait};
use crate::{Applied, FlinkError};

/// How a job that we changed runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Running {
    /// Its id on the cluster, which changes with each restart.
    pub id: String,
    /// The buffer timeout that was given to it.
    pub buffer_timeout_ms: Option<u32>,
}

/// What was changed so far, and the journal of it.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    journal: Option<Journal>,
    running: BTreeMap<JobId, Running>,
    /// Changes that were begun and not ended.
    interrupted: Steps,
}

impl Ledger {
    pub(super) fn open(options: &RestOptions) -> Result<Self, FlinkError> {
        let Some(folder) = &options.journal else {
            return Ok(Self::default());
        };
        let (journal, steps) = Journal::open(folder)?;
        let mut ledger = Self {
            journal: Some(journal),
            ..Self::default()
        };
        for (job, mut steps) in steps {
            if let Some(Step::Over {
                id,
                buffer_timeout_ms,
            }) = steps.first().cloned()
            {
                steps.remove(0);
                ledger.running.insert(
                    job.clone(),
                    Running {
                        id,
                        buffer_timeout_ms,
                    },
                );
            }
            if !steps.is_empty() {
                ledger.interrupted.insert(job, steps);
            }
        }
        Ok(ledger)
    }

    /// How a job runs, by the id that it had when it was first seen.
    pub(super) fn running(&self, job: &JobId) -> Running {
        self.running.get(job).cloned().unwrap_or_else(|| Running {
            id: job.0.clone(),
            buffer_timeout_ms: None,
        })
    }

    /// The id that a job on the cluster had when it was first seen.
    pub(super) fn first_id(&self, id: &str) -> JobId {
        let mut running = self.running.iter();
        running
            .find(|(_, running)| running.id == id)
            .map_or_else(|| JobId::new(id), |(job, _)| job.clone())
    }

    /// Writes down a step, on disk where there is a journal.
    fn record(&mut self, job: &JobId, step: Step) -> Result<(), FlinkError> {
        if let Some(journal) = &mut self.journal {
            journal.write(job, step.clone())?;
        }
        match step {
            Step::Over {
                id,
                buffer_timeout_ms,
            } => {
                self.interrupted.remove(job);
                self.running.insert(
                    job.clone(),
                    Running {
                        id,
                        buffer_timeout_ms,
                    },
                );
            }
            step => {
                let steps = self.interrupted.entry(job.clone()).or_default();
                if matches!(step, Step::Rescaling { .. } | Step::Stopping { .. }) {
                    steps.clear();
                }
                steps.push(step);
            }
        }
        Ok(())
    }
}

/// How a change went, before it is told to whoever asked.
enum Outcome {
    Done {
        in_place: bool,
        since: Instant,
        downtime: Duration,
    },
    Undone {
        reason: String,
    },
    Ended {
        state: String,
    },
}

/// Makes changes on a cluster.
pub(super) struct Changes<'a> {
    pub http: &'a Http,
    pub options: &'a RestOptions,
    pub ledger: &'a Mutex<Ledger>,
}

impl Changes<'_> {
    /// Changes a job from how it was just seen to `wanted`.
    pub(super) fn change(
        &self,
        seen: &Observation,
        wanted: &JobConfig,
        in_place: bool,
    ) -> Result<Applied, FlinkError> {
        let job = &seen.job;
        let Running { id, .. } = lock(self.ledger).running(job);
        let backlog = look::look(self.http, &id, self.options.connections)?.backlog();
        let outcome = if in_place && wanted.buffer_timeout_ms == seen.config.buffer_timeout_ms {
            self.rescale(seen, &id, wanted)?
        } else {
            self.restart(seen, &id, wanted)?
        };
        match outcome {
            Outcome::Done {
                in_place,
                since,
                downtime,
            } => {
                let id = lock(self.ledger).running(job).id;
                let deadline = since + self.options.catch_up;
                let catch_up = wait::until_caught_up(
                    self.http,
                    &id,
                    self.options.connections,
                    backlog,
                    downtime,
                    since,
                    deadline,
                );
                Ok(Applied::new(in_place, downtime).with_catch_up(catch_up))
            }
            Outcome::Undone { reason } => Err(FlinkError::RolledBack {
                job: job.clone(),
                reason,
            }),
            Outcome::Ended { state } => Err(ended(job, &state)),
        }
    }

    fn rescale(&self, seen: &Observation, id: &str, wanted: &JobConfig) -> Result<Outcome, FlinkError> {
        rescale::check_slots(self.http, id, self.options.connections, &seen.graph, wanted)?;
        let before = rescale::requirements(self.http, id)?;
        let parallelism = by_vertex(seen, wanted);
        let wanted = rescale::wanted(&before, &parallelism);
        lock(self.ledger).record(
            &seen.job,
            Step::Rescaling {
                id: id.to_owned(),
                before: before.clone(),
                wanted: wanted.clone(),
            },
        )?;
        let rescaled = rescale::rescale(self.http, id, &before, &wanted, self.options.patience);
        // Where even putting back failed, the change stays open, to be undone later.
        let outcome = match rescaled {
            Ok(Rescaled::Done { since, downtime }) => Outcome::Done {
                in_place: true,
                since,
                downtime,
            },
            Ok(Rescaled::Undone { reason }) => Outcome::Undone { reason },
            Ok(Rescaled::Ended { state }) => Outcome::Ended { state },
            Err(error) if error.is_transient() => return Err(error),
            Err(error) => {
                self.over_as_before(&seen.job, id)?;
                return Err(error);
            }
        };
        self.over_as_before(&seen.job, id)?;
        Ok(outcome)
    }

    fn restart(&self, seen: &Observation, id: &str, wanted: &JobConfig) -> Result<Outcome, FlinkError> {
        let mut programs = self.options.programs.iter();
        let Some((_, program)) = programs.find(|(name, _)| *name == seen.name) else {
            return Err(FlinkError::Refused {
                reason: format!(
                    "the change needs a restart, and it is not known how `{}` is started",
                    seen.name
                ),
            });
        };
        let setup = |config: &JobConfig| Setup {
            parallelism: by_vertex(seen, config),
            buffer_timeout_ms: config.buffer_timeout_ms,
        };
        let operators = seen.graph.operators().iter();
        let restart = Restart {
            name: seen.name.clone(),
            program: program.clone(),
            vertices: operators
                .map(|operator| (operator.id.clone(), operator.name.clone()))
                .collect(),
            before: setup(&seen.config),
            wanted: setup(wanted),
        };
        let restarted = self.with(&seen.job, &restart, |restarting| restarting.run(id));
        self.restarted(&seen.job, id, &restart, restarted)
    }

    fn with(
        &self,
        job: &JobId,
        restart: &Restart,
        go: impl FnOnce(&mut Restarting<'_>) -> Result<Restarted, FlinkError>,
    ) -> Result<Restarted, FlinkError> {
        let ledger = self.ledger;
        go(&mut Restarting {
            http: self.http,
            options: self.options,
            restart,
            record: &mut |step| lock(ledger).record(job, step),
        })
    }

    fn restarted(
        &self,
        job: &JobId,
        id: &str,
        restart: &Restart,
        restarted: Result<Restarted, FlinkError>,
    ) -> Result<Outcome, FlinkError> {
        match restarted {
            Ok(Restarted::Done { id, since, downtime }) => {
                self.over(job, &id, Some(restart.wanted.buffer_timeout_ms))?;
                Ok(Outcome::Done {
                    in_place: false,
                    since,
                    downtime,
                })
            }
            Ok(Restarted::Undone { id, reason }) => {
                self.over(job, &id, Some(restart.before.buffer_timeout_ms))?;
                Ok(Outcome::Undone { reason })
            }
            Ok(Restarted::Ended { state }) => {
                self.over(job, id, None)?;
                Ok(Outcome::Ended { state })
            }
            Err(error) => {
                // Refused before the job was touched: there is nothing to undo.
                let stopped = lock(self.ledger)
                    .interrupted
                    .get(job)
                    .is_some_and(|steps| steps.len() > 1);
                if !stopped && !error.is_transient() {
                    self.over_as_before(job, id)?;
                }
                Err(error)
            }
        }
    }

    fn over(&self, job: &JobId, id: &str, buffer_timeout_ms: Option<u32>) -> Result<(), FlinkError> {
        lock(self.ledger).record(
            job,
            Step::Over {
                id: id.to_owned(),
                buffer_timeout_ms,
            },
        )
    }

    fn over_as_before(&self, job: &JobId, id: &str) -> Result<(), FlinkError> {
        let timeout = lock(self.ledger).running(job).buffer_timeout_ms;
        self.over(job, id, timeout)
    }

    /// The jobs whose changes were begun and not ended.
    pub(super) fn interrupted(&self) -> Vec<JobId> {
        lock(self.ledger).interrupted.keys().cloned().collect()
    }

    /// Finishes or undoes a change that was interrupted; does nothing if there is none.
    pub(super) fn recover(&self, job: &JobId) -> Result<(), FlinkError> {
        let Some(steps) = lock(self.ledger).interrupted.get(job).cloned() else {
            return Ok(());
        };
        tracing::info!(%job, steps = steps.len(), "a change was interrupted");
        if let [Step::Rescaling { id, before, wanted }] = &steps[..] {
            return self.recover_rescale(job, id, before, wanted);
        }
        let Some(Step::Stopping { id, trigger, restart }) = steps.first() else {
            return Err(FlinkError::Journal {
                path: self.options.journal.clone().unwrap_or_default(),
                reason: format!("the change of job `{job}` does not begin with its beginning"),
            });
        };
        let savepoint = steps.iter().find_map(|step| match step {
            Step::Stopped { savepoint } => Some(savepoint.clone()),
            _ => None,
        });
        let started = steps.iter().rev().find_map(|step| match step {
            Step::Starting { id, back } => Some((id.clone(), *back)),
            _ => None,
        });
        let now = Instant::now();
        let restarted = self.with(job, restart, |restarting| match (&savepoint, &started) {
            (Some(savepoint), Some((id, back))) => {
                if !restarting.is_there(id)? {
                    restarting.submit(id, savepoint, *back)?;
                }
                if *back {
                    restarting.started_back(id, savepoint, "it was interrupted".into())
                } else {
                    restarting.started(id, savepoint, now)
                }
            }
            (Some(savepoint), None) => restarting.start(savepoint, now),
            (None, _) => restarting.stop_again(id, trigger),
        });
        self.restarted(job, id, restart, restarted).map(drop)
    }

    fn recover_rescale(
        &self,
        job: &JobId,
        id: &str,
        before: &super::journal::Requirements,
        wanted: &super::journal::Requirements,
    ) -> Result<(), FlinkError> {
        match rescale::requirements(self.http, id) {
            // The scheduler was told, and keeps on trying by itself.
            Ok(now) if now == *wanted => {
                match rescale::rescale(self.http, id, before, wanted, self.options.patience)? {
                    Rescaled::Undone { reason } => {
                        tracing::warn!(%job, %reason, "the interrupted change was undone")
                    }
                    Rescaled::Done { .. } | Rescaled::Ended { .. } => {}
                }
            }
            // It was not told, or somebody else told it something since.
            Ok(_) | Err(FlinkError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        self.over_as_before(job, id)
    }
}

fn by_vertex(seen: &Observation, config: &JobConfig) -> BTreeMap<String, u32> {
    let operators = seen.graph.operators().iter().zip(&config.operators);
    operators
        .map(|(operator, config)| (operator.id.clone(), config.parallelism))
        .collect()
}

fn ended(job: &JobId, state: &str) -> FlinkError {
    FlinkError::Conflict {
        job: job.clone(),
        status: match state {
            "FINISHED" => "finished",
            "CANCELED" => "cancelled",
            _ => "failed",
        },
    }
}
