//! Ending a job.

use std::time::{Duration, Instant};

use serde::de::IgnoredAny;

use super::answers::JobState;
use super::http::Http;
use super::observe::has_ended;
use super::wait;
use crate::FlinkError;

/// Cancels a job, if it is there, and waits until it has ended.
pub(super) fn cancel(http: &Http, id: &str, patience: Duration) -> Result<(), FlinkError> {
    let path = format!("/jobs/{id}");
    match http.get::<JobState>(&format!("{path}/status")) {
        Err(FlinkError::NotFound { .. }) => return Ok(()),
        Ok(JobState { status }) if has_ended(&status) => return Ok(()),
        Ok(_) => {}
        Err(error) => return Err(error),
    }
    match http.patch::<IgnoredAny>(&format!("{path}?mode=cancel")) {
        Ok(_) | Err(FlinkError::NotFound { .. } | FlinkError::Busy { .. }) => {}
        Err(error) => return Err(error),
    }
    wait::until_it_ended(http, id, Instant::now() + patience).map(drop)
}
