//! One Java process, which never outlives us.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::local;
use crate::FlinkError;

/// Modules that Flink reaches into by reflection.
const OPENED: [&str; 12] = [
    "java.lang",
    "java.net",
    "java.io",
    "java.nio",
    "sun.nio.ch",
    "java.lang.reflect",
    "java.text",
    "java.time",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "java.util.concurrent.locks",
];
const EXPORTED: [&str; 3] = [
    "java.base/sun.net.util",
    "java.rmi/sun.rmi.registry",
    "java.security.jgss/sun.security.krb5",
];

/// The name and the text of the logger's settings; without them only errors would be logged.
pub(super) const LOG4J: (&str, &str) = (
    "log4j2.properties",
    "rootLogger.level = INFO
rootLogger.appenderRef.out.ref = out
appender.out.name = out
appender.out.type = CONSOLE
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %-5p %-60c %x - %m%n
",
);

/// The log of the process of this name.
pub(super) fn log(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.log"))
}

/// A Java process and its guard: a shell that kills it when our end of a pipe closes, whatever we die of.
#[derive(Debug)]
pub(super) struct Process {
    java: Child,
    guard: Child,
}

impl Process {
    /// Starts the main class; what it prints goes to the log of this name in the folder, which has the settings of the logger.
    pub(super) fn start(
        class_path: &str,
        flags: &[&str],
        class: &str,
        arguments: &[String],
        folder: &Path,
        name: &str,
    ) -> Result<Self, FlinkError> {
        let starting = |error: std::io::Error| local(format!("starting {class} (is java installed?)"), error);
        let out = File::options()
            .create(true)
            .append(true)
            .open(log(folder, name))
            .map_err(starting)?;
        let mut java = Command::new("java")
            .args(flags)
            .arg("-XX:+UseSerialGC")
            .args(OPENED.map(|package| format!("--add-opens=java.base/{package}=ALL-UNNAMED")))
            .args(EXPORTED.map(|package| format!("--add-exports={package}=ALL-UNNAMED")))
            .arg(format!(
                "-Dlog4j2.configurationFile={}",
                folder.join(LOG4J.0).display()
            ))
            .args(["-cp", class_path, class])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(out.try_clone().map_err(starting)?)
            .stderr(out)
            .spawn()
            .map_err(starting)?;
        let guard = Command::new("sh")
            .args(["-c", "read -r _; kill -9 \"$1\"", "guard", &java.id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match guard {
            Ok(guard) => Ok(Self { java, guard }),
            Err(error) => {
                end(&mut java);
                Err(local("starting `sh`", error))
            }
        }
    }

    /// Whether it still runs.
    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.java.try_wait(), Ok(None))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The guard first: once the process has been waited for, its id may be another's.
        end(&mut self.guard);
        end(&mut self.java);
    }
}

/// Kills a child, as a machine that goes down does, and waits for it.
fn end(child: &mut Child) {
    // It fails only where the child has ended already.
    let _ = child.kill();
    let _ = child.wait();
}
