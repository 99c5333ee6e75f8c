//! Constraints by what they name, for operators that come and go.

use std::collections::HashMap;

use streamline_core::TaskManager;

use crate::Constraint;

/// Job and operator.
pub(crate) type Key = (usize, usize);

/// What constraints ask of an operator.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    at_most: HashMap<Key, u32>,
    apart: HashMap<Key, Vec<Key>>,
    jobs_apart: HashMap<usize, Vec<usize>>,
    /// By job.
    labels: HashMap<usize, Vec<Label>>,
}

/// A label that the TaskManagers of an operator need, or of all operators of a job.
#[derive(Debug, Clone)]
struct Label {
    operator: Option<usize>,
    key: String,
    value: String,
}

impl Rules {
    pub(crate) fn new(constraints: &[Constraint]) -> Self {
        let mut rules = Self::default();
        for constraint in constraints {
            match constraint {
                Constraint::AtMost {
                    job,
                    operator,
                    instances,
                } => {
                    let at_most = rules.at_most.entry((*job, *operator)).or_insert(u32::MAX);
                    *at_most = (*at_most).min(*instances);
                }
                Constraint::Apart { one, other } if one != other => {
                    rules.apart.entry(*one).or_default().push(*other);
                    rules.apart.entry(*other).or_default().push(*one);
                }
                Constraint::JobsApart { one, other } if one != other => {
                    rules.jobs_apart.entry(*one).or_default().push(*other);
                    rules.jobs_apart.entry(*other).or_default().push(*one);
                }
                // Nothing is apart from itself.
                Constraint::Apart { .. } | Constraint::JobsApart { .. } => {}
                Constraint::Label {
                    job,
                    operator,
                    key,
                    value,
                } => {
                    rules.labels.entry(*job).or_default().push(Label {
                        operator: *operator,
                        key: key.clone(),
                        value: value.clone(),
                    });
                }
            }
        }
        rules
    }

    /// How many instances of an operator may be on one TaskManager.
    pub(crate) fn at_most(&self, operator: Key) -> u32 {
        self.at_most.get(&operator).copied().unwrap_or(u32::MAX)
    }

    /// The operators that never share a TaskManager with this one.
    pub(crate) fn apart(&self, operator: Key) -> &[Key] {
        self.apart.get(&operator).map_or(&[], Vec::as_slice)
    }

    /// The jobs that never share a TaskManager with this one.
    pub(crate) fn jobs_apart(&self, job: usize) -> &[usize] {
        self.jobs_apart.get(&job).map_or(&[], Vec::as_slice)
    }

    /// Whether an operator needs any label.
    pub(crate) fn needs_labels(&self, operator: Key) -> bool {
        self.labels(operator).next().is_some()
    }

    /// Whether a TaskManager has the labels that an operator needs.
    pub(crate) fn allow(&self, operator: Key, manager: &TaskManager) -> bool {
        self.labels(operator)
            .all(|label| manager.labels.get(&label.key) == Some(&label.value))
    }

    fn labels(&self, (job, operator): Key) -> impl Iterator<Item = &Label> {
        let of_job = self.labels.get(&job).into_iter().flatten();
        of_job.filter(move |label| label.operator.is_none_or(|one| one == operator))
    }
}
