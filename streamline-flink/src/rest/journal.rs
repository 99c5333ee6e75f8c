//! What was about to be done, on disk before it is done.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use streamline_core::JobId;

use super::Program;
use crate::FlinkError;

const FORMAT: u32 = 1;
const FILE: &str = "changes.jsonl";
const LOCK: &str = "lock";

/// What can be set of a job, by vertex id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Setup {
    pub parallelism: BTreeMap<String, u32>,
    pub buffer_timeout_ms: u32,
}

/// A restart: what is needed to finish or undo it without asking anybody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Restart {
    pub name: String,
    pub program: Program,
    /// The name of each vertex, by id.
    pub vertices: BTreeMap<String, String>,
    pub before: Setup,
    pub wanted: Setup,
}

/// The bounds of parallelism of each vertex, as the adaptive scheduler takes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Requirements(pub BTreeMap<String, Requirement>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Requirement {
    pub parallelism: Bounds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Bounds {
    pub lower_bound: u32,
    pub upper_bound: u32,
}

/// One step of a change, written before it is taken. `id` is the job's id on the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(super) enum Step {
    /// The scheduler is told other requirements.
    Rescaling {
        id: String,
        before: Requirements,
        wanted: Requirements,
    },
    /// The job is stopped with a savepoint.
    Stopping {
        id: String,
        trigger: String,
        restart: Restart,
    },
    /// The job has stopped.
    Stopped { savepoint: String },
    /// The job is started again under this id.
    Starting { id: String, back: bool },
    /// The change is over, for good or ill, and the job runs under this id.
    Over {
        id: String,
        /// The buffer timeout that was given to it, which the cluster does not tell.
        buffer_timeout_ms: Option<u32>,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    format: u32,
    at_ms: i64,
    job: JobId,
    #[serde(flatten)]
    step: Step,
}

/// A journal of changes, for one client at a time.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    /// Held for as long as the journal is in use.
    _lock: File,
}

/// What a journal says of a job: the steps of its last change, in order. The last is `Over` unless it was interrupted.
pub(super) type Steps = BTreeMap<JobId, Vec<Step>>;

impl Journal {
    /// Opens the journal in a folder, which is made if it does not exist, and gives what is in it.
    pub(super) fn open(folder: &Path) -> Result<(Self, Steps), FlinkError> {
        let path = folder.join(FILE);
        let failed = |error: std::io::Error| failure(&path, &error);
        std::fs::create_dir_all(folder).map_err(failed)?;
        let lock = File::create(folder.join(LOCK)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(FlinkError::Journal {
                    path,
                    reason: "in use by another client".into(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut text = String::new();
        match File::open(&path) {
            Ok(mut file) => {
                file.read_to_string(&mut text).map_err(failed)?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let steps = replay(&text).map_err(|reason| FlinkError::Journal {
            path: path.clone(),
            reason,
        })?;
        // Written anew with what still matters, so that it does not grow without end.
        let fresh = folder.join("changes.jsonl.new");
        let mut file = File::create(&fresh).map_err(failed)?;
        for (job, steps) in &steps {
            for step in steps {
                file.write_all(&line(job, step.clone())?).map_err(failed)?;
            }
        }
        file.sync_all().map_err(failed)?;
        std::fs::rename(&fresh, &path).map_err(failed)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(failed)?;
        Ok((
            Self {
                path,
                file,
                _lock: lock,
            },
            steps,
        ))
    }

    /// Writes down a step. It is on disk when this returns.
    pub(super) fn write(&mut self, job: &JobId, step: Step) -> Result<(), FlinkError> {
        let line = line(job, step)?;
        self.file
            .write_all(&line)
            .and_then(|()| self.file.sync_data())
            .map_err(|error| failure(&self.path, &error))
    }
}

fn failure(path: &Path, error: &std::io::Error) -> FlinkError {
    FlinkError::Journal {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

fn line(job: &JobId, step: Step) -> Result<Vec<u8>, FlinkError> {
    let entry = Entry {
        format: FORMAT,
        at_ms: super::now_ms(),
        job: job.clone(),
        step,
    };
    let mut line = serde_json::to_vec(&entry).map_err(|error| FlinkError::Journal {
        path: FILE.into(),
        reason: error.to_string(),
    })?;
    line.push(b'\n');
    Ok(line)
}

/// The steps of the last change of each job. A last line that was cut off is a step that was not taken.
fn replay(text: &str) -> Result<Steps, String> {
    let mut steps = Steps::new();
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    for (number, line) in whole.lines().enumerate() {
        let entry: Entry =
            serde_json::from_str(line).map_err(|error| format!("line {}: {error}", number + 1))?;
        if entry.format != FORMAT {
            return Err(format!(
                "line {}: format {} instead of {FORMAT}",
                number + 1,
                entry.format
            ));
        }
        let of_job = steps.entry(entry.job).or_default();
        let begins = matches!(
            entry.step,
            Step::Rescaling { .. } | Step::Stopping { .. } | Step::Over { .. }
        );
        if begins {
            // What a client knew of the id and the timeout before stays known until the change is over.
            of_job
                .retain(|step| matches!(step, Step::Over { .. }) && !matches!(entry.step, Step::Over { .. }));
        }
        of_job.push(entry.step);
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn over(id: &str) -> Step {
        Step::Over {
            id: id.into(),
            buffer_timeout_ms: None,
        }
    }

    fn rescaling(id: &str) -> Step {
        let requirements = Requirements(BTreeMap::new());
        Step::Rescaling {
            id: id.into(),
            before: requirements.clone(),
            wanted: requirements,
        }
    }

    #[test]
    fn a_journal_gives_back_the_last_change_of_each_job() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(JobId::new);
        {
            let (mut journal, steps) = Journal::open(folder.path()).unwrap();
            assert!(steps.is_empty());
            for step in [
                rescaling("1"),
                over("1"),
                rescaling("1"),
                over("2"),
                rescaling("2"),
            ] {
                journal.write(&a, step).unwrap();
            }
            journal.write(&b, over("9")).unwrap();
        }
        for _ in 0..2 {
            let (_, steps) = Journal::open(folder.path()).unwrap();
            assert_eq!(steps[&a], [over("2"), rescaling("2")]);
            assert_eq!(steps[&b], [over("9")]);
        }
    }

    #[test]
    fn a_journal_in_use_is_not_opened_twice() {
        let folder = tempfile::tempdir().unwrap();
        let first = Journal::open(folder.path()).unwrap();
        let error = Journal::open(folder.path()).unwrap_err();
        assert!(error.to_string().ends_with("in use by another client"), "{error}");
        drop(first);
        Journal::open(folder.path()).unwrap();
    }

    #[test]
    fn a_damaged_line_is_an_error_that_names_it_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        for text in [
            "{}\n",
            "nonsense\n",
            "{\"format\":99,\"at_ms\":0,\"job\":\"a\",\"step\":\"over\",\"id\":\"1\"}\n",
        ] {
            std::fs::write(&path, text).unwrap();
            let error = Journal::open(folder.path()).unwrap_err().to_string();
            assert!(error.contains("line 1: "), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    proptest! {
        #[test]
        fn wherever_a_journal_is_cut_what_is_before_stays(cut in 0usize..400) {
            let job = JobId::new("a");
            let mut text = line(&job, rescaling("1")).unwrap();
            let first = text.len();
            text.extend(line(&job, over("1")).unwrap());
            let cut = cut.min(text.len());
            let steps = replay(std::str::from_utf8(&text[..cut]).unwrap()).unwrap();
            let expected = match cut {
                _ if cut < first => vec![],
                _ if cut < text.len() => vec![rescaling("1")],
                _ => vec![over("1")],
            };
            prop_assert_eq!(steps.get(&job).cloned().unwrap_or_default(), expected);
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = replay(&text);
        }
    }
}
