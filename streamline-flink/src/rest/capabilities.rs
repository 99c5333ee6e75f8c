//! What a cluster can do, found out by asking it.

use std::collections::HashMap;
use std::time::Duration;

use super::answers::{JobsOverview, Overview, RescalesConfig, Setting};
use super::http::Http;
use super::observe::has_ended;
use crate::{Capabilities, FlinkError, RescaleWaits, Scope};

/// Flink's default cooldown and stabilisation of the adaptive scheduler while a job runs.
const COOLDOWN: Duration = Duration::from_secs(30);
const STABILISATION: Duration = Duration::from_secs(60);

/// The settings of the JobManager that were set.
pub(super) fn settings(http: &Http) -> Result<HashMap<String, String>, FlinkError> {
    let settings: Vec<Setting> = http.get("/jobmanager/config")?;
    Ok(settings
        .into_iter()
        .map(|setting| (setting.key, setting.value))
        .collect())
}

/// Asks the cluster what it can do.
pub(super) fn discover(http: &Http) -> Result<Capabilities, FlinkError> {
    let overview: Overview = http.get("/overview")?;
    let settings = settings(http)?;
    let jobs: JobsOverview = http.get("/jobs/overview")?;
    let mut running = jobs.jobs.iter().filter(|job| !has_ended(&job.state));
    let job = running.next();
    let mut capabilities = Capabilities::stock(overview.version);
    // In reactive mode a job takes all slots there are, whatever it is told.
    let reactive =
        setting(&settings, &["scheduler-mode"]).is_some_and(|mode| mode.eq_ignore_ascii_case("reactive"));
    capabilities.in_place_rescale = !reactive
        && is_adaptive(
            http,
            job.map(|job| (&*job.jid, job.scheduler.as_deref())),
            &settings,
        )?;
    if capabilities.in_place_rescale {
        capabilities.rescale_waits = Some(waits(http, job.map(|job| &*job.jid), &settings));
    }
    capabilities.fine_grained_resources =
        setting(&settings, &["cluster.fine-grained-resource-management.enabled"])
            .is_some_and(|enabled| enabled.eq_ignore_ascii_case("true"));
    capabilities.segment_size = Scope::Fixed;
    capabilities.buffer_timeout = Scope::Job;
    Ok(capabilities)
}

/// Whether jobs are run by the adaptive scheduler: what a job says (from 2.0), else whether it knows resource requirements,
/// else what is set.
fn is_adaptive(
    http: &Http,
    job: Option<(&str, Option<&str>)>,
    settings: &HashMap<String, String>,
) -> Result<bool, FlinkError> {
    match job {
        Some((_, Some(scheduler))) => Ok(scheduler.eq_ignore_ascii_case("adaptive")),
        Some((id, None)) => {
            match http.get::<serde::de::IgnoredAny>(&format!("/jobs/{id}/resource-requirements")) {
                Ok(_) => Ok(true),
                Err(
                    FlinkError::Unsupported { .. } | FlinkError::Server { .. } | FlinkError::Refused { .. },
                ) => Ok(false),
                Err(error) => Err(error),
            }
        }
        None => Ok(setting(settings, &["jobmanager.scheduler"])
            .is_some_and(|scheduler| scheduler.eq_ignore_ascii_case("adaptive"))),
    }
}

/// The waits of the adaptive scheduler: what it says itself (from 2.0), else what is set, else its defaults.
fn waits(http: &Http, job: Option<&str>, settings: &HashMap<String, String>) -> RescaleWaits {
    let told: RescalesConfig = job
        .and_then(|id| http.get(&format!("/jobs/{id}/rescales/config")).ok())
        .unwrap_or_default();
    let set = |keys: &[&str]| setting(settings, keys).and_then(duration);
    let cooldown = told
        .executing_cooldown_timeout_in_millis
        .map(Duration::from_millis);
    let stabilisation = told
        .executing_resource_stabilization_timeout_in_millis
        .map(Duration::from_millis);
    RescaleWaits {
        cooldown: cooldown
            .or_else(|| {
                set(&[
                    "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling",
                    "jobmanager.adaptive-scheduler.scaling-interval.min",
                ])
            })
            .unwrap_or(COOLDOWN),
        stabilisation: stabilisation
            .or_else(|| set(&["jobmanager.adaptive-scheduler.executing.resource-stabilization-timeout"]))
            .unwrap_or(STABILISATION),
        checkpoint: told
            .maximum_delay_for_triggering_rescale_in_millis
            .map(Duration::from_millis)
            .or_else(|| set(&["jobmanager.adaptive-scheduler.rescale-trigger.max-delay"])),
    }
}

/// The first of the keys that is set.
pub(super) fn setting<'a>(settings: &'a HashMap<String, String>, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| settings.get(*key)).map(String::as_str)
}

/// A duration as Flink writes it: `30 s`, `500 ms`, `1 min`, `PT30S`. `None` if it is none, or negative.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let duration: jiff::SignedDuration = text.trim().parse().ok()?;
    duration.try_into().ok()
}

/// A size as Flink writes it: `32kb`, `64 mb`, `1048576`. `None` if it is none.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim() {
        "" | "b" | "bytes" => 1,
        "k" | "kb" | "kibibytes" => 1 << 10,
        "m" | "mb" | "mebibytes" => 1 << 20,
        "g" | "gb" | "gibibytes" => 1 << 30,
        "t" | "tb" | "tebibytes" => 1 << 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_flink_writes_them() {
        for (text, ms) in [
            ("30 s", 30_000),
            ("500ms", 500),
            ("1 min", 60_000),
            ("PT9S", 9_000),
            ("30000 ms", 30_000),
            ("2 h", 7_200_000),
        ] {
            assert_eq!(duration(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "soon", "-3 s", "5 parsecs"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_are_read_as_flink_writes_them() {
        assert_eq!(bytes("32kb"), Some(32 << 10));
        assert_eq!(bytes("64 mb"), Some(64 << 20));
        assert_eq!(bytes("4096"), Some(4096));
        for text in ["", "kb", "-1", "99999999999999999999", "9999999999t", "1 x"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }
}
