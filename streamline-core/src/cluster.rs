use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::CoreError;
use crate::error::non_negative;

/// One TaskManager: a process with task slots and resources of its own.
///
/// # Examples
///
/// ```
/// use streamline_core::TaskManager;
///
/// let manager = TaskManager::new("tm-1", 4.0, 8 << 30, 8).with_network_bytes(256 << 20).with_price(0.4);
/// assert_eq!(manager.slots, 8);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskManager {
    /// Its resource id.
    pub id: String,
    /// CPU cores.
    pub cpu_cores: f64,
    /// Memory for tasks, in bytes.
    pub memory_bytes: u64,
    /// Memory for network buffers, in bytes.
    pub network_bytes: u64,
    /// Task slots.
    pub slots: u32,
    /// What an hour of it costs, in any one currency.
    pub price: f64,
    /// What distinguishes it besides its size, by key: `rack`, `zone`, `disk`, … Empty by default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

impl TaskManager {
    /// Describes a TaskManager with 64 MiB of network memory and a price of 1 for each core.
    #[must_use]
    pub fn new(id: impl Into<String>, cpu_cores: f64, memory_bytes: u64, slots: u32) -> Self {
        Self {
            id: id.into(),
            cpu_cores,
            memory_bytes,
            network_bytes: 64 << 20,
            slots,
            price: cpu_cores,
            labels: BTreeMap::new(),
        }
    }

    /// Sets the memory for network buffers.
    #[must_use]
    pub fn with_network_bytes(mut self, bytes: u64) -> Self {
        self.network_bytes = bytes;
        self
    }

    /// Sets the price of an hour.
    #[must_use]
    pub fn with_price(mut self, price: f64) -> Self {
        self.price = price;
        self
    }

    /// Sets a label, such as `rack` or `zone`.
    ///
    /// # Examples
    ///
    /// ```
    /// use streamline_core::TaskManager;
    ///
    /// let manager = TaskManager::new("tm-1", 4.0, 8 << 30, 8).with_label("zone", "b");
    /// assert_eq!(manager.labels["zone"], "b");
    /// ```
    #[must_use]
    pub fn with_label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }
}

/// The TaskManagers that the jobs share. Per-TaskManager lists have their order.
///
/// Invariant: ids are unique, cores and prices are finite and not negative. A cluster may be empty.
///
/// # Examples
///
/// ```
/// use streamline_core::Cluster;
///
/// let cluster = Cluster::uniform(3, 4.0, 8 << 30, 4)?;
/// assert_eq!((cluster.slots(), cluster.cpu_cores()), (12, 12.0));
/// # Ok::<(), streamline_core::CoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<TaskManager>", into = "Vec<TaskManager>")]
pub struct Cluster {
    task_managers: Vec<TaskManager>,
}

impl Cluster {
    /// Checks the TaskManagers and joins them.
    ///
    /// # Errors
    /// [`CoreError::DuplicateTaskManager`], or [`CoreError::InvalidNumber`] for cores or a price that make no sense.
    pub fn new(task_managers: Vec<TaskManager>) -> Result<Self, CoreError> {
        let mut seen = std::collections::HashSet::with_capacity(task_managers.len());
        for manager in &task_managers {
            if !seen.insert(manager.id.as_str()) {
                return Err(CoreError::DuplicateTaskManager {
                    id: manager.id.clone(),
                });
            }
            non_negative(manager.cpu_cores, || {
                format!("cpu cores of TaskManager `{}`", manager.id)
            })?;
            non_negative(manager.price, || format!("price of TaskManager `{}`", manager.id))?;
        }
        Ok(Self { task_managers })
    }

    /// `count` equal TaskManagers named `tm-1`, `tm-2`, …
    ///
    /// # Errors
    /// [`CoreError::InvalidNumber`] if `cpu_cores` is not a finite number of at least 0.
    pub fn uniform(count: usize, cpu_cores: f64, memory_bytes: u64, slots: u32) -> Result<Self, CoreError> {
        Self::new(
            (1..=count)
                .map(|n| TaskManager::new(format!("tm-{n}"), cpu_cores, memory_bytes, slots))
                .collect(),
        )
    }

    /// The TaskManagers.
    #[must_use]
    pub fn task_managers(&self) -> &[TaskManager] {
        &self.task_managers
    }

    /// Task slots of all TaskManagers.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.task_managers
            .iter()
            .map(|manager| u64::from(manager.slots))
            .sum()
    }

    /// CPU cores of all TaskManagers.
    #[must_use]
    pub fn cpu_cores(&self) -> f64 {
        self.task_managers.iter().map(|manager| manager.cpu_cores).sum()
    }

    /// Network memory of all TaskManagers, in bytes.
    #[must_use]
    pub fn network_bytes(&self) -> u64 {
        self.task_managers
            .iter()
            .fold(0, |sum, manager| sum.saturating_add(manager.network_bytes))
    }
}

impl TryFrom<Vec<TaskManager>> for Cluster {
    type Error = CoreError;

    fn try_from(task_managers: Vec<TaskManager>) -> Result<Self, CoreError> {
        Self::new(task_managers)
    }
}

impl From<Cluster> for Vec<TaskManager> {
    fn from(cluster: Cluster) -> Self {
        cluster.task_managers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twins_and_senseless_numbers_are_refused() {
        let twins = vec![TaskManager::new("a", 1.0, 0, 1), TaskManager::new("a", 1.0, 0, 1)];
        assert_eq!(
            Cluster::new(twins),
            Err(CoreError::DuplicateTaskManager { id: "a".into() })
        );
        for bad in [f64::NAN, -1.0, f64::INFINITY] {
            assert!(matches!(
                Cluster::uniform(1, bad, 0, 1),
                Err(CoreError::InvalidNumber { .. })
            ));
        }
    }

    #[test]
    fn an_empty_cluster_has_no_slots() {
        assert_eq!(Cluster::default().slots(), 0);
    }
}
