use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How to start a job: its jar and what to call it with. Needed where a change needs a restart, for a cluster does not tell from
/// what a running job was started.
///
/// In an argument, `{parallelism:NAME}` stands for the parallelism of the vertex of that name. Other ways of giving each
/// vertex its own are tried too, for which works depends on the version and the scheduler; whether it did is seen afterwards.
///
/// # Examples
///
/// ```
/// use streamline_flink::rest::Program;
///
/// let program = Program::new("checkout.jar")
///     .with_entry_class("org.example.Checkout")
///     .with_arguments(["--parse-parallelism", "{parallelism:parse}"])
///     .with_setting("state.backend.type", "rocksdb");
/// assert_eq!(program.arguments.len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Program {
    /// The jar on this machine.
    pub jar: PathBuf,
    /// The class to run, where the jar's manifest does not say it.
    pub entry_class: Option<String>,
    /// The arguments.
    pub arguments: Vec<String>,
    /// Flink settings that go with the job.
    pub settings: BTreeMap<String, String>,
}

impl Program {
    /// The main class of a jar, without arguments.
    #[must_use]
    pub fn new(jar: impl Into<PathBuf>) -> Self {
        Self {
            jar: jar.into(),
            entry_class: None,
            arguments: Vec::new(),
            settings: BTreeMap::new(),
        }
    }

    /// Sets the class to run.
    #[must_use]
    pub fn with_entry_class(mut self, class: impl Into<String>) -> Self {
        self.entry_class = Some(class.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn with_arguments<S: Into<String>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets one of Flink's settings for the job.
    #[must_use]
    pub fn with_setting(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.insert(key.into(), value.into());
        self
    }

    /// The arguments with the parallelism of each vertex, by name, filled in.
    pub(super) fn arguments_for(&self, parallelism: &[(&str, u32)]) -> Vec<String> {
        self.arguments
            .iter()
            .map(|argument| {
                parallelism
                    .iter()
                    .fold(argument.clone(), |argument, (name, parallelism)| {
                        argument.replace(&format!("{{parallelism:{name}}}"), &parallelism.to_string())
                    })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_gets_the_parallelism_of_its_vertex() {
        let program = Program::new("x.jar")
            .with_arguments(["a={parallelism:Source: in},b={parallelism:b}", "{parallelism:c}"]);
        let filled = program.arguments_for(&[("Source: in", 3), ("b", 4)]);
        assert_eq!(filled, ["a=3,b=4", "{parallelism:c}"]);
    }
}
