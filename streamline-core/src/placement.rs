use serde::{Deserialize, Serialize};

use crate::CoreError;

/// One subtask of one operator of one job, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Instance {
    /// Index of the job among those that are planned together.
    pub job: usize,
    /// Index of the operator in the job's graph.
    pub operator: usize,
    /// Index of the subtask, below the operator's parallelism.
    pub subtask: u32,
}

/// Where one instance runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Assignment {
    /// The instance.
    pub instance: Instance,
    /// Index of the TaskManager in the cluster.
    pub task_manager: usize,
}

/// Where every instance runs.
///
/// Invariant: assignments are sorted by instance and no instance occurs twice.
///
/// # Examples
///
/// ```
/// use streamline_core::{Assignment, Instance, Placement};
///
/// let instance = Instance { job: 0, operator: 2, subtask: 1 };
/// let placement = Placement::new(vec![Assignment { instance, task_manager: 3 }])?;
/// assert_eq!(placement.task_manager(instance), Some(3));
/// # Ok::<(), streamline_core::CoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<Assignment>", into = "Vec<Assignment>")]
pub struct Placement {
    assignments: Vec<Assignment>,
}

impl Placement {
    /// Sorts and checks the assignments.
    ///
    /// # Errors
    /// [`CoreError::DuplicateInstance`] if an instance is placed twice.
    pub fn new(mut assignments: Vec<Assignment>) -> Result<Self, CoreError> {
        assignments.sort_unstable();
        match assignments
            .windows(2)
            .find(|pair| pair[0].instance == pair[1].instance)
        {
            Some(pair) => {
                let Instance {
                    job,
                    operator,
                    subtask,
                } = pair[0].instance;
                Err(CoreError::DuplicateInstance {
                    job,
                    operator,
                    subtask,
                })
            }
            None => Ok(Self { assignments }),
        }
    }

    /// All assignments, sorted by instance.
    #[must_use]
    pub fn assignments(&self) -> &[Assignment] {
        &self.assignments
    }

    /// Index of the TaskManager that an instance runs on.
    #[must_use]
    pub fn task_manager(&self, instance: Instance) -> Option<usize> {
        let found = self
            .assignments
            .binary_search_by_key(&instance, |assignment| assignment.instance);
        found.ok().map(|index| self.assignments[index].task_manager)
    }

    /// The instances on one TaskManager, sorted.
    pub fn on(&self, task_manager: usize) -> impl Iterator<Item = Instance> + '_ {
        self.assignments
            .iter()
            .filter(move |a| a.task_manager == task_manager)
            .map(|a| a.instance)
    }

    /// How many instances of `self` run elsewhere in `other` (those that `other` does not have are not counted).
    #[must_use]
    pub fn moved_to(&self, other: &Self) -> usize {
        self.assignments
            .iter()
            .filter(|a| {
                other
                    .task_manager(a.instance)
                    .is_some_and(|manager| manager != a.task_manager)
            })
            .count()
    }
}

impl TryFrom<Vec<Assignment>> for Placement {
    type Error = CoreError;

    fn try_from(assignments: Vec<Assignment>) -> Result<Self, CoreError> {
        Self::new(assignments)
    }
}

impl From<Placement> for Vec<Assignment> {
    fn from(placement: Placement) -> Self {
        placement.assignments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(subtask: u32, task_manager: usize) -> Assignment {
        Assignment {
            instance: Instance {
                job: 0,
                operator: 0,
                subtask,
            },
            task_manager,
        }
    }

    #[test]
    fn an_instance_has_one_place() {
        assert!(matches!(
            Placement::new(vec![at(1, 0), at(0, 0), at(1, 2)]),
            Err(CoreError::DuplicateInstance { subtask: 1, .. })
        ));
    }

    #[test]
    fn only_instances_that_both_have_can_move() {
        let before = Placement::new(vec![at(0, 0), at(1, 0), at(2, 1)]).unwrap();
        let after = Placement::new(vec![at(0, 0), at(1, 1)]).unwrap();
        assert_eq!(before.moved_to(&after), 1);
        assert_eq!(after.on(1).count(), 1);
    }
}
