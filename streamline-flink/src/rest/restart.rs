//! A change by stopping a job with a savepoint and starting it again from there.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::IgnoredAny;

use super::answers::{JobState, Planned, SavepointStatus};
use super::http::Http;
use super::journal::{Restart, Setup, Step};
use super::wait::{self, Wait};
use super::{RestOptions, cancel, random_id, rescale, submit};
use crate::FlinkError;

const PAUSE: Duration = Duration::from_millis(100);

/// How a restart ended.
pub(super) enum Restarted {
    /// The job runs as wanted, since this moment, and was down for so long.
    Done {
        id: String,
        since: Instant,
        downtime: Duration,
    },
    /// It runs as before, under this id.
    Undone { id: String, reason: String },
    /// It had ended before it could be stopped.
    Ended { state: String },
}

/// One restart, on its way. Each step is written down before it is taken.
pub(super) struct Restarting<'a> {
    pub http: &'a Http,
    pub options: &'a RestOptions,
    pub restart: &'a Restart,
    pub record: &'a mut dyn FnMut(Step) -> Result<(), FlinkError>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stop<'a> {
    drain: bool,
    format_type: &'a str,
    trigger_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_directory: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Plan<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    entry_class: Option<&'a str>,
    program_args_list: Vec<String>,
    parallelism: u32,
}

impl Restarting<'_> {
    /// Stops the job and starts it as wanted; where that fails, as before.
    pub(super) fn run(&mut self, id: &str) -> Result<Restarted, FlinkError> {
        // All that can be found out while the job still runs is: whether the jar is there, and whether it makes the same vertices.
        let jar = submit::upload(self.http, &self.restart.program.jar)?;
        self.check_plan(&jar)?;
        let trigger = random_id();
        (self.record)(Step::Stopping {
            id: id.to_owned(),
            trigger: trigger.clone(),
            restart: self.restart.clone(),
        })?;
        match self.stop(id, &trigger) {
            // By its trigger the savepoint is found whether or not the answer came through.
            Err(error) if !error.is_transient() => Err(error),
            _ => self.stopped(id, &trigger),
        }
    }

    /// Goes on from when the job was to be told to stop.
    ///
    /// Whether it was is not known, and what was sent may still be on its way. So it is told again: under the same trigger it
    /// stops but once.
    pub(super) fn stop_again(&mut self, id: &str, trigger: &str) -> Result<Restarted, FlinkError> {
        if let Err(error) = self.stop(id, trigger) {
            tracing::debug!(%error, "the job may have stopped already");
        }
        self.stopped(id, trigger)
    }

    fn stop(&self, id: &str, trigger: &str) -> Result<(), FlinkError> {
        let body = Stop {
            drain: false,
            // The backend's own format: the fastest to write, and it can be restored at another parallelism.
            format_type: "NATIVE",
            trigger_id: trigger,
            target_directory: self.options.savepoints.as_deref(),
        };
        self.http
            .post::<IgnoredAny>(&format!("/jobs/{id}/stop"), &body)
            .map(drop)
    }

    /// Goes on from when the job was told to stop.
    fn stopped(&mut self, id: &str, trigger: &str) -> Result<Restarted, FlinkError> {
        match self.savepoint(id, trigger)? {
            Ok(savepoint) => {
                (self.record)(Step::Stopped {
                    savepoint: savepoint.clone(),
                })?;
                let down = Instant::now();
                // Its slots are free only once it has ended.
                wait::until_it_ended(self.http, id, down + self.options.patience)?;
                self.start(&savepoint, down)
            }
            Err(reason) => {
                let deadline = Instant::now() + self.options.patience;
                match wait::until_it_runs(self.http, id, &BTreeMap::new(), deadline)? {
                    Wait::Ended { state } => Ok(Restarted::Ended { state }),
                    Wait::Runs { .. } | Wait::TimedOut { .. } => Ok(Restarted::Undone {
                        id: id.to_owned(),
                        reason,
                    }),
                }
            }
        }
    }

    /// Goes on from when the job has stopped.
    pub(super) fn start(&mut self, savepoint: &str, down: Instant) -> Result<Restarted, FlinkError> {
        let id = random_id();
        (self.record)(Step::Starting {
            id: id.clone(),
            back: false,
        })?;
        match self.submit(&id, savepoint, false) {
            Ok(()) => self.started(&id, savepoint, down),
            Err(error) => self.go_back(&id, savepoint, error.to_string()),
        }
    }

    /// Goes on from when the job was submitted as wanted.
    pub(super) fn started(
        &mut self,
        id: &str,
        savepoint: &str,
        down: Instant,
    ) -> Result<Restarted, FlinkError> {
        match self.settle(id, &self.restart.wanted) {
            Ok(since) => Ok(Restarted::Done {
                id: id.to_owned(),
                since,
                downtime: since.saturating_duration_since(down),
            }),
            Err(reason) => self.go_back(id, savepoint, reason),
        }
    }

    /// Ends what was started and starts the job as it was before.
    pub(super) fn go_back(
        &mut self,
        failed: &str,
        savepoint: &str,
        reason: String,
    ) -> Result<Restarted, FlinkError> {
        tracing::warn!(job = self.restart.name, %reason, "the job does not run as wanted; starting it as before");
        cancel::cancel(self.http, failed, self.options.patience)?;
        let id = random_id();
        (self.record)(Step::Starting {
            id: id.clone(),
            back: true,
        })?;
        let down = |why: String| FlinkError::Down {
            name: self.restart.name.clone(),
            savepoint: savepoint.to_owned(),
            reason: why,
        };
        self.submit(&id, savepoint, true)
            .map_err(|error| down(error.to_string()))?;
        self.started_back(&id, savepoint, reason)
    }

    /// Goes on from when the job was submitted as it was before.
    pub(super) fn started_back(
        &self,
        id: &str,
        savepoint: &str,
        reason: String,
    ) -> Result<Restarted, FlinkError> {
        match self.settle(id, &self.restart.before) {
            Ok(_) => Ok(Restarted::Undone {
                id: id.to_owned(),
                reason,
            }),
            Err(why) => Err(FlinkError::Down {
                name: self.restart.name.clone(),
                savepoint: savepoint.to_owned(),
                reason: why,
            }),
        }
    }

    /// Whether a job of this id is on the cluster.
    pub(super) fn is_there(&self, id: &str) -> Result<bool, FlinkError> {
        match self.http.get::<JobState>(&format!("/jobs/{id}/status")) {
            Ok(_) => Ok(true),
            Err(FlinkError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Submits the job under an id of our choice, so that it is never there twice.
    pub(super) fn submit(&self, id: &str, savepoint: &str, back: bool) -> Result<(), FlinkError> {
        let setup = if back {
            &self.restart.before
        } else {
            &self.restart.wanted
        };
        let jar = submit::upload(self.http, &self.restart.program.jar)?;
        let program = &self.restart.program;
        let mut flink_configuration = program.settings.clone();
        let overrides: Vec<String> = setup
            .parallelism
            .iter()
            .map(|(vertex, parallelism)| format!("{vertex}:{parallelism}"))
            .collect();
        flink_configuration.insert(
            "pipeline.jobvertex-parallelism-overrides".into(),
            overrides.join(","),
        );
        let timeout = format!("{} ms", setup.buffer_timeout_ms);
        flink_configuration.insert("execution.buffer-timeout.interval".into(), timeout);
        let body = submit::Run {
            job_id: Some(id),
            entry_class: program.entry_class.as_deref(),
            program_args_list: self.arguments(setup),
            parallelism: widest(setup),
            savepoint_path: Some(savepoint),
            allow_non_restored_state: false,
            flink_configuration,
        };
        match submit::run(self.http, &jar, &body) {
            Ok(given) if given == id => Ok(()),
            Ok(given) => {
                cancel::cancel(self.http, &given, self.options.patience)?;
                Err(FlinkError::Unsupported {
                    endpoint: format!("POST /jars/{jar}/run"),
                    message: "the cluster gave the job another id than the one asked for".into(),
                })
            }
            // The answer may have been lost on its way back.
            Err(error) if error.is_transient() => {
                std::thread::sleep(PAUSE);
                if self.is_there(id)? { Ok(()) } else { Err(error) }
            }
            Err(error) => Err(error),
        }
    }

    /// Waits for the savepoint, or for why there is none.
    fn savepoint(&self, id: &str, trigger: &str) -> Result<Result<String, String>, FlinkError> {
        let deadline = Instant::now() + self.options.patience;
        loop {
            match self
                .http
                .get::<SavepointStatus>(&format!("/jobs/{id}/savepoints/{trigger}"))
            {
                Ok(answer) if answer.status.id == "COMPLETED" => {
                    let operation = answer.operation;
                    let cause = |operation: super::answers::Savepoint| {
                        operation.failure_cause.and_then(|cause| cause.stack_trace)
                    };
                    return Ok(match operation {
                        Some(super::answers::Savepoint {
                            location: Some(location),
                            ..
                        }) => Ok(location),
                        other => Err(super::http::first_line(
                            &other.and_then(cause).unwrap_or_else(|| "no savepoint".into()),
                        )),
                    });
                }
                Ok(_) => {}
                Err(FlinkError::NotFound { message, .. }) => return Ok(Err(message)),
                Err(error) if error.is_transient() => {}
                Err(error) => return Err(error),
            }
            if Instant::now() >= deadline {
                return Ok(Err(format!(
                    "no savepoint within {} s",
                    self.options.patience.as_secs()
                )));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits until the job runs in this setup, told once more where its scheduler takes it, and says since when; or why not.
    fn settle(&self, id: &str, setup: &Setup) -> Result<Instant, String> {
        let deadline = Instant::now() + self.options.patience;
        if let Ok(before) = rescale::requirements(self.http, id) {
            let wanted = rescale::wanted(&before, &setup.parallelism);
            if wanted != before {
                rescale::require(self.http, id, &wanted).map_err(|error| error.to_string())?;
            }
        }
        // Where the parallelism cannot be told apart by vertex, the job runs and will never be as wanted.
        let settled = wait::until_it_runs(self.http, id, &BTreeMap::new(), deadline)
            .map_err(|error| error.to_string())?;
        let settled = match settled {
            Wait::Runs { .. } if rescale::requirements(self.http, id).is_err() => {
                wait::until_it_runs(self.http, id, &setup.parallelism, Instant::now())
            }
            Wait::Runs { .. } => wait::until_it_runs(self.http, id, &setup.parallelism, deadline),
            other => Ok(other),
        };
        match settled.map_err(|error| error.to_string())? {
            Wait::Runs { since, .. } => Ok(since),
            Wait::Ended { state } => Err(format!("it ended as {}", state.to_lowercase())),
            Wait::TimedOut { doing } => Err(format!("in the end {doing}")),
        }
    }

    /// Refuses a program that does not make the vertices that run now, for its state would not fit.
    fn check_plan(&self, jar: &str) -> Result<(), FlinkError> {
        let body = Plan {
            entry_class: self.restart.program.entry_class.as_deref(),
            program_args_list: self.arguments(&self.restart.wanted),
            parallelism: widest(&self.restart.wanted),
        };
        let planned: Planned = self.http.post_slowly(&format!("/jars/{jar}/plan"), &body)?;
        let nodes = &planned.plan.nodes;
        for (vertex, name) in &self.restart.vertices {
            if !nodes.iter().any(|node| node.id == *vertex) {
                return Err(FlinkError::Refused {
                    reason: format!("the program does not make the vertex `{name}` that runs now"),
                });
            }
        }
        Ok(())
    }

    fn arguments(&self, setup: &Setup) -> Vec<String> {
        let parallelism: Vec<(&str, u32)> = self
            .restart
            .vertices
            .iter()
            .filter_map(|(vertex, name)| Some((name.as_str(), *setup.parallelism.get(vertex)?)))
            .collect();
        self.restart.program.arguments_for(&parallelism)
    }
}

fn widest(setup: &Setup) -> u32 {
    setup.parallelism.values().copied().max().unwrap_or(1)
}
