//! Waiting for a job to run as wanted, and measuring how long it was down.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use streamline_core::JobStatus;

use super::answers::{JobDetails, JobState, VertexDetails};
use super::http::Http;
use super::observe::{has_ended, status};
use super::{look, parallel};
use crate::FlinkError;

const PAUSE: Duration = Duration::from_millis(100);

/// How a wait for a job ended.
#[derive(Debug)]
pub(super) enum Wait {
    /// It runs as wanted, since this moment, and was down at that one, if it was at all.
    Runs { since: Instant, down: Option<Instant> },
    /// It has ended.
    Ended { state: String },
    /// The time is up. What it was doing is in words.
    TimedOut { doing: String },
}

/// Waits until each vertex of a job runs with the wanted parallelism.
///
/// A cluster that does not answer for a while is waited for as well: its JobManager may be restarting.
pub(super) fn until_it_runs(
    http: &Http,
    id: &str,
    wanted: &BTreeMap<String, u32>,
    deadline: Instant,
) -> Result<Wait, FlinkError> {
    let mut down = None;
    let mut doing;
    loop {
        match http.get::<JobState>(&format!("/jobs/{id}/status")) {
            Ok(JobState { status }) if has_ended(&status) => return Ok(Wait::Ended { state: status }),
            Ok(JobState { status }) if status == "RUNNING" => match runs(http, id, wanted) {
                Ok(None) => doing = "it runs, but not yet as wanted".to_owned(),
                Ok(Some((since, planned))) => {
                    // It may have been down for less than our pause. Then the cluster tells from when on it was planned anew; what
                    // the ending of the old tasks took before that, some 50 ms, is missed.
                    let down = down.into_iter().chain(planned).min();
                    return Ok(Wait::Runs {
                        since,
                        down: down.filter(|&down| down <= since),
                    });
                }
                Err(error) if may_pass(&error) => doing = error.to_string(),
                Err(error) => return Err(error),
            },
            Ok(JobState { status }) => {
                down.get_or_insert_with(Instant::now);
                doing = format!("it is {}", status.to_lowercase());
            }
            Err(error) if may_pass(&error) => {
                down.get_or_insert_with(Instant::now);
                doing = error.to_string();
            }
            Err(error) => return Err(error),
        }
        if Instant::now() >= deadline {
            return Ok(Wait::TimedOut { doing });
        }
        std::thread::sleep(PAUSE);
    }
}

/// A JobManager that restarts does not answer, and then does not know its jobs until it has recovered them.
fn may_pass(error: &FlinkError) -> bool {
    error.is_transient() || matches!(error, FlinkError::NotFound { .. } | FlinkError::Server { .. })
}

/// Since when the job runs as wanted, if it does, and when its tasks were planned, if that is known.
fn runs(
    http: &Http,
    id: &str,
    wanted: &BTreeMap<String, u32>,
) -> Result<Option<(Instant, Option<Instant>)>, FlinkError> {
    let details: JobDetails = http.get(&format!("/jobs/{id}"))?;
    let as_wanted = status(&details) == JobStatus::Running
        && details.vertices.iter().all(|vertex| {
            wanted
                .get(&vertex.id)
                .is_none_or(|&wanted| i64::from(wanted) == vertex.parallelism)
        });
    if !as_wanted {
        return Ok(None);
    }
    let seen = Instant::now();
    let running = parallel::each(&details.vertices, details.vertices.len().min(8), |vertex| {
        let vertex: VertexDetails = http.get(&format!("/jobs/{id}/vertices/{}", vertex.id))?;
        Ok(vertex.subtasks.iter().filter_map(look::running_for).min())
    })
    .into_iter()
    .collect::<Result<Vec<_>, FlinkError>>()?;
    // The cluster's clock may differ from ours: only how long ago it was is taken from it.
    let ago = running.into_iter().flatten().min().unwrap_or(0);
    let since = seen.checked_sub(Duration::from_millis(ago)).unwrap_or(seen);
    let planned = match (details.now, details.timestamps.get("CREATED")) {
        (Some(now), Some(&created)) if created > 0 => {
            let ago = u64::try_from(now.saturating_sub(created)).unwrap_or(0);
            seen.checked_sub(Duration::from_millis(ago))
        }
        _ => None,
    };
    Ok(Some((since, planned)))
}

/// Waits until a job has ended, and says how.
pub(super) fn until_it_ended(http: &Http, id: &str, deadline: Instant) -> Result<Option<String>, FlinkError> {
    loop {
        match http.get::<JobState>(&format!("/jobs/{id}/status")) {
            Ok(JobState { status }) if has_ended(&status) => return Ok(Some(status)),
            Ok(_) => {}
            Err(FlinkError::NotFound { .. }) => return Ok(None),
            Err(error) if error.is_transient() => {}
            Err(error) => return Err(error),
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Waits until a job has worked off what piled up while it was down, and says how long that took.
///
/// Over means that no more waits at its sources than before, give or take a second's arrivals. `None` if its sources report no
/// backlog or the time is up.
pub(super) fn until_caught_up(
    http: &Http,
    id: &str,
    width: usize,
    before: Option<f64>,
    downtime: Duration,
    since: Instant,
    deadline: Instant,
) -> Option<Duration> {
    let before = before?;
    let mut most: f64 = before;
    loop {
        // What cannot be seen for a moment is seen at the next.
        let waits = look::look(http, id, width).ok().and_then(|look| look.backlog());
        if let Some(waits) = waits {
            most = most.max(waits);
            let a_second = (most - before) / downtime.as_secs_f64().max(1.0);
            if waits <= before + a_second {
                return Some(since.elapsed());
            }
        }
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(PAUSE);
    }
}
