//! Real Flink clusters on this machine, for tests, examples and profiling.
//!
//! Flink comes from `PyPI` (the `apache-flink-libraries` package, by its checksum) and is kept in a cache; a cluster is a
//! JobManager and TaskManagers on 127.0.0.1, on free ports, in a temporary folder. It ends with its handle, also when the
//! process is killed.
//!
//! Needs `java` and `javac` 17 or later, `python3` with `pip`, and `sh`.
//!
//! ```no_run
//! use streamline_flink::local::{LocalCluster, LocalClusterOptions, Version};
//! use streamline_flink::{FlinkClient, RestClient};
//!
//! let cluster = LocalCluster::start(LocalClusterOptions::new(Version::V2_3).with_task_managers(2))?;
//! let client = RestClient::connect(cluster.rest_options())?;
//! let job = client.submit(&cluster.distribution().pipeline()?.with_arguments(["--schedule", "0:500"]), 1)?;
//! println!("{:?}", client.observe(&job)?);
//! # Ok::<(), streamline_flink::FlinkError>(())
//! ```

mod cluster;
mod compile;
mod distribution;
mod options;
mod process;
mod tls;

pub use cluster::LocalCluster;
pub use distribution::{Distribution, Version};
pub use options::LocalClusterOptions;

use std::process::Command;

use crate::FlinkError;

/// What went wrong on this machine.
fn local(doing: impl Into<String>, reason: impl ToString) -> FlinkError {
    FlinkError::Local {
        doing: doing.into(),
        reason: reason.to_string(),
    }
}

/// Runs a command to its end.
fn run(command: &mut Command) -> Result<(), FlinkError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| local(format!("`{name}` (is it installed?)"), error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(local(format!("`{name}` ({})", output.status), last_lines(&said)))
}

/// The last lines of what a process said, as one.
fn last_lines(said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    lines[lines.len().saturating_sub(5)..].join("; ")
}
