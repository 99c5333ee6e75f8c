//! The client of a real cluster, over [Flink's REST API][rest].
//!
//! [`RestClient`] looks at jobs, finds out what the cluster can do, and changes running jobs: in place where their scheduler is
//! adaptive, else by a savepoint and a new start. What it is about to do is journalled before it is done.
//!
//! [rest]: https://nightlies.apache.org/flink/flink-docs-stable/docs/ops/rest_api/

mod answers;
mod cancel;
mod capabilities;
mod change;
mod client;
mod counters;
mod cpu;
mod flows;
mod graph;
mod http;
mod journal;
mod latency;
mod look;
mod observe;
mod options;
mod parallel;
mod path;
mod program;
mod rescale;
mod restart;
mod submit;
mod wait;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

pub use client::RestClient;
pub use options::{Authentication, RestOptions};
pub use program::Program;

/// What a mutex holds, also where a thread panicked with it: every value behind ours is whole at any time.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Milliseconds since the epoch.
fn now_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// An id as Flink's are: 32 hex digits.
fn random_id() -> String {
    format!("{:032x}", rand::random::<u128>())
}
