//! The job of `jobs/`, compiled for a version of Flink.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Distribution, local, run};
use crate::FlinkError;
use crate::rest::Program;

macro_rules! sources {
    ($($name:literal),+) => {
        &[$(($name, include_str!(concat!("../../jobs/streamline/jobs/", $name)))),+]
    };
}

const SOURCES: &[(&str, &str)] = sources![
    "Arguments.java",
    "Cost.java",
    "Count.java",
    "Keep.java",
    "Latest.java",
    "Parse.java",
    "Partition.java",
    "Pass.java",
    "Pipeline.java",
    "Schedule.java",
    "ScheduledSource.java"
];

impl Distribution {
    /// A job whose rates, costs and results are known beforehand; `jobs/README.md` of this crate has its arguments.
    ///
    /// It is compiled the first time, and its jar kept in the cache.
    ///
    /// # Errors
    /// [`FlinkError::Local`] if `javac` is missing or the cache cannot be written.
    pub fn pipeline(&self) -> Result<Program, FlinkError> {
        jar(self).map(Program::new)
    }
}

fn jar(distribution: &Distribution) -> Result<PathBuf, FlinkError> {
    let mut hasher = DefaultHasher::new();
    (env!("CARGO_PKG_VERSION"), SOURCES).hash(&mut hasher);
    let version = distribution.version();
    let name = format!("jobs-{version}-{:016x}.jar", hasher.finish());
    let cache = distribution.folder().parent().unwrap_or(Path::new("."));
    let jar = cache.join(name);
    if jar.is_file() {
        return Ok(jar);
    }
    let writing = |error: std::io::Error| local("compiling the job", error);
    // A folder of our own, the jar moved in one step: others may compile at the same time, in other threads too.
    let fresh = tempfile::tempdir_in(cache).map_err(writing)?;
    let folder = fresh.path();
    fs::create_dir(folder.join("classes")).map_err(writing)?;
    let mut javac = Command::new("javac");
    javac
        .args(["--release", "17", "-cp", &distribution.class_path(), "-d"])
        .arg(folder.join("classes"));
    for (name, source) in SOURCES {
        let path = folder.join(name);
        fs::write(&path, source).map_err(writing)?;
        javac.arg(path);
    }
    run(&mut javac)?;
    let whole = folder.join("jobs.jar");
    run(Command::new("jar")
        .arg("--create")
        .arg("--file")
        .arg(&whole)
        .args(["--main-class", "streamline.jobs.Pipeline", "-C"])
        .arg(folder.join("classes"))
        .arg("."))?;
    fs::rename(&whole, &jar).map_err(writing)?;
    Ok(jar)
}
