//! A change in place: the adaptive scheduler is told other bounds of parallelism.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;
use streamline_core::{JobConfig, JobGraph};

use super::answers::{TaskManagerDetails, TaskManagers};
use super::http::Http;
use super::journal::{Bounds, Requirement, Requirements};
use super::wait::{self, Wait};
use super::{parallel, path};
use crate::FlinkError;

fn endpoint(id: &str) -> String {
    format!("/jobs/{id}/resource-requirements")
}

/// The bounds that a job has now.
pub(super) fn requirements(http: &Http, id: &str) -> Result<Requirements, FlinkError> {
    http.get(&endpoint(id))
}

/// Tells the scheduler other bounds.
pub(super) fn require(http: &Http, id: &str, requirements: &Requirements) -> Result<(), FlinkError> {
    http.put::<IgnoredAny>(&endpoint(id), requirements).map(drop)
}

/// The bounds for these parallelisms: they are what is wanted, and a job that cannot have them may run with fewer, down to the
/// lower bound that it had.
pub(super) fn wanted(before: &Requirements, parallelism: &BTreeMap<String, u32>) -> Requirements {
    let bounds = before.0.iter().map(|(vertex, requirement)| {
        let upper_bound = parallelism
            .get(vertex)
            .copied()
            .unwrap_or(requirement.parallelism.upper_bound);
        let lower_bound = requirement.parallelism.lower_bound.min(upper_bound);
        let parallelism = Bounds {
            lower_bound,
            upper_bound,
        };
        (vertex.clone(), Requirement { parallelism })
    });
    Requirements(bounds.collect())
}

/// The parallelism that bounds ask for.
pub(super) fn parallelism(requirements: &Requirements) -> BTreeMap<String, u32> {
    let bounds = requirements.0.iter();
    bounds
        .map(|(vertex, requirement)| (vertex.clone(), requirement.parallelism.upper_bound))
        .collect()
}

/// Refuses what the free slots and those of the job cannot hold, before anything is changed.
///
/// A job that was scaled down keeps the slots that it let go of for a while (`slot.idle.timeout`), and may use them again.
pub(super) fn check_slots(
    http: &Http,
    id: &str,
    width: usize,
    graph: &JobGraph,
    wanted: &JobConfig,
) -> Result<(), FlinkError> {
    let wants = wanted.slots(graph)?;
    let managers: TaskManagers = http.get("/taskmanagers")?;
    let free: u64 = managers
        .taskmanagers
        .iter()
        .map(|manager| u64::from(manager.free_slots))
        .sum();
    if wants <= free {
        return Ok(());
    }
    let held = parallel::each(&managers.taskmanagers, width, |manager| {
        let details: TaskManagerDetails =
            http.get(&format!("/taskmanagers/{}", path::segment(&manager.id)))?;
        let slots = details.allocated_slots.iter();
        Ok(slots.filter(|slot| slot.job == id).count() as u64)
    });
    let has: u64 = held.into_iter().sum::<Result<u64, FlinkError>>()?;
    if wants > has.saturating_add(free) {
        return Err(FlinkError::Refused {
            reason: format!("the job wants {wants} task slots, it has {has} and {free} are free"),
        });
    }
    Ok(())
}

/// How a rescale ended.
pub(super) enum Rescaled {
    /// The job runs as wanted, since this moment, and was down for so long.
    Done { since: Instant, downtime: Duration },
    /// It was undone.
    Undone { reason: String },
    /// The job ended meanwhile.
    Ended { state: String },
}

/// Tells the scheduler other bounds and waits until they run; where they do not in time, the old ones are put back.
pub(super) fn rescale(
    http: &Http,
    id: &str,
    before: &Requirements,
    wanted: &Requirements,
    patience: Duration,
) -> Result<Rescaled, FlinkError> {
    if let Err(error) = require(http, id, wanted) {
        // Whether it arrived is not known where the answer did not.
        if error.is_transient() {
            put_back(http, id, before)?;
        }
        return Err(error);
    }
    let told = Instant::now();
    let reason = match wait::until_it_runs(http, id, &parallelism(wanted), told + patience) {
        Ok(Wait::Runs { since, down }) => {
            let down = down.unwrap_or(since).max(told);
            return Ok(Rescaled::Done {
                since,
                downtime: since.saturating_duration_since(down),
            });
        }
        Ok(Wait::Ended { state }) => return Ok(Rescaled::Ended { state }),
        Ok(Wait::TimedOut { doing }) => format!("after {} s {doing}", patience.as_secs()),
        Err(error) => error.to_string(),
    };
    put_back(http, id, before)?;
    // With fewer slots than it had, even the old bounds may not be reached: what counts is that they are asked for.
    match wait::until_it_runs(http, id, &BTreeMap::new(), Instant::now() + patience)? {
        Wait::Ended { state } => Ok(Rescaled::Ended { state }),
        Wait::Runs { .. } | Wait::TimedOut { .. } => Ok(Rescaled::Undone { reason }),
    }
}

/// Puts the old bounds back, for as long as it takes a JobManager to restart.
pub(super) fn put_back(http: &Http, id: &str, before: &Requirements) -> Result<(), FlinkError> {
    const PATIENCE: Duration = Duration::from_secs(60);
    const PAUSE: Duration = Duration::from_secs(1);
    let deadline = Instant::now() + PATIENCE;
    loop {
        match require(http, id, before) {
            Err(error) if error.is_transient() && Instant::now() < deadline => std::thread::sleep(PAUSE),
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_bounds_give_way_but_are_never_raised() {
        let bounds = |lower_bound, upper_bound| Requirement {
            parallelism: Bounds {
                lower_bound,
                upper_bound,
            },
        };
        let before = Requirements(BTreeMap::from([
            ("a".into(), bounds(3, 5)),
            ("b".into(), bounds(1, 2)),
        ]));
        let wanted = wanted(&before, &BTreeMap::from([("a".into(), 2)]));
        assert_eq!(wanted.0["a"], bounds(2, 2));
        assert_eq!(wanted.0["b"], bounds(1, 2));
        assert_eq!(
            parallelism(&wanted),
            BTreeMap::from([("a".into(), 2), ("b".into(), 2)])
        );
        let json = serde_json::to_string(&wanted).unwrap();
        assert!(
            json.starts_with(r#"{"a":{"parallelism":{"lowerBound":2,"upperBound":2}}"#),
            "{json}"
        );
    }
}
