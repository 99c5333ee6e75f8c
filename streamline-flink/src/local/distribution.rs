use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{local, run};
use crate::FlinkError;

/// A version of Flink that can be started here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Version {
    /// 1.20, with long-term support.
    V1_20,
    /// 2.3.
    V2_3,
}

impl Version {
    /// The exact version, the checksum of its package on `PyPI`, and where the jars lie in it.
    fn package(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::V1_20 => (
                "1.20.5",
                "e6aee62ea1a1fe7b32e28894ad079f3f1a50a372a4caac3df52405267f4228c8",
                "apache_flink_libraries-1.20.5/deps/lib",
            ),
            Self::V2_3 => (
                "2.3.0",
                "38ece876553286b3a285cf344c2d2038f8a7ca10da5df54d5107250386d64151",
                "pyflink/lib",
            ),
        }
    }

    /// Waits of the adaptive scheduler, short enough for tests: to the next change, for slots, and for a checkpoint. Each version
    /// names them in its own way.
    pub(super) fn waits(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::V1_20 => &[
                ("scaling-interval.min", "1 s"),
                ("resource-wait-timeout", "20 s"),
                ("resource-stabilization-timeout", "1 s"),
            ],
            Self::V2_3 => &[
                ("executing.cooldown-after-rescaling", "1 s"),
                ("executing.resource-stabilization-timeout", "1 s"),
                ("submission.resource-wait-timeout", "20 s"),
                ("submission.resource-stabilization-timeout", "1 s"),
                ("rescale-trigger.max-delay", "2 s"),
            ],
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.package().0)
    }
}

/// The jars of a version of Flink on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution {
    version: Version,
    folder: PathBuf,
}

impl Distribution {
    /// The jars from the cache, or, the first time, from `PyPI` (230 to 330 MB).
    ///
    /// The cache is `$STREAMLINE_CACHE`, or `streamline` in `$XDG_CACHE_HOME` or in `~/.cache`. Several processes may ask at the
    /// same time: one fetches, the others wait.
    ///
    /// # Errors
    /// [`FlinkError::Local`] if `python3` or `pip` is missing, the package cannot be fetched or has another checksum, or the
    /// cache cannot be written.
    pub fn fetch(version: Version) -> Result<Self, FlinkError> {
        let cache = cache()?;
        let (number, checksum, jars) = version.package();
        let folder = cache.join(format!("flink-{number}"));
        let distribution = Self { version, folder };
        let writing = |error: std::io::Error| local(format!("cache `{}`", cache.display()), error);
        fs::create_dir_all(&cache).map_err(writing)?;
        let lock = File::create(cache.join(format!("flink-{number}.lock"))).map_err(writing)?;
        lock.lock().map_err(writing)?;
        if distribution.folder.is_dir() {
            return Ok(distribution);
        }
        tracing::info!(%version, "fetching Flink from PyPI");
        let fresh = cache.join(format!("flink-{number}.part"));
        if fresh.exists() {
            fs::remove_dir_all(&fresh).map_err(writing)?;
        }
        fs::create_dir_all(&fresh).map_err(writing)?;
        download(&fresh, number, checksum)?;
        unpack(&fresh)?;
        // In one step, so that a cache is whole or not there.
        fs::rename(fresh.join(jars), &distribution.folder).map_err(writing)?;
        fs::remove_dir_all(&fresh).map_err(writing)?;
        Ok(distribution)
    }

    /// Which version it is.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The class path that has all its jars.
    #[must_use]
    pub fn class_path(&self) -> String {
        format!("{}/*", self.folder.display())
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

fn cache() -> Result<PathBuf, FlinkError> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("STREAMLINE_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("streamline")))
        .or_else(|| std::env::home_dir().map(|home| home.join(".cache/streamline")))
        .ok_or_else(|| local("cache", "neither STREAMLINE_CACHE nor a home folder is set"))
}

/// Has `pip` fetch the package and check it.
fn download(into: &Path, number: &str, checksum: &str) -> Result<(), FlinkError> {
    let requirements = into.join("requirements.txt");
    fs::write(
        &requirements,
        format!("apache-flink-libraries=={number} --hash=sha256:{checksum}\n"),
    )
    .map_err(|error| local(format!("`{}`", requirements.display()), error))?;
    run(Command::new("python3")
        .args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--require-hashes",
            "--dest",
        ])
        .arg(into)
        .arg("--requirement")
        .arg(&requirements))
}

fn unpack(folder: &Path) -> Result<(), FlinkError> {
    const SCRIPT: &str = "import glob, os, shutil, sys
folder = sys.argv[1]
[package] = glob.glob(os.path.join(folder, 'apache_flink_libraries-*'))
shutil.unpack_archive(package, folder, 'zip' if package.endswith('.whl') else 'gztar')
os.remove(package)";
    run(Command::new("python3").args(["-c", SCRIPT]).arg(folder))
}
