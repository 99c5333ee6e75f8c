use std::collections::BTreeMap;

use super::Version;

/// What a local cluster shall be.
///
/// # Examples
///
/// ```
/// use streamline_flink::local::{LocalClusterOptions, Version};
///
/// let options = LocalClusterOptions::new(Version::V1_20)
///     .with_task_managers(3)
///     .with_slots(2)
///     .with_setting("jobmanager.scheduler", "default");
/// assert_eq!(options.task_managers, 3);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalClusterOptions {
    /// Which Flink.
    pub version: Version,
    /// TaskManagers at the start. Default: 1.
    pub task_managers: u32,
    /// Slots of each. Default: 4.
    pub slots: u32,
    /// Whether jobs outlive their JobManager, by a `ZooKeeper` beside it. Default: no.
    pub high_availability: bool,
    /// Whether the REST API is behind TLS, with a certificate of the cluster's own. Default: no.
    pub tls: bool,
    /// Flink's settings, over ours: the adaptive scheduler, 1 s between a cluster's looks at its counters, checkpoints in the
    /// cluster's folder, and waits of a second or two before a change.
    pub settings: BTreeMap<String, String>,
}

impl LocalClusterOptions {
    /// One TaskManager with four slots.
    #[must_use]
    pub fn new(version: Version) -> Self {
        Self {
            version,
            task_managers: 1,
            slots: 4,
            high_availability: false,
            tls: false,
            settings: BTreeMap::new(),
        }
    }

    /// Sets how many TaskManagers there are at the start.
    #[must_use]
    pub fn with_task_managers(mut self, task_managers: u32) -> Self {
        self.task_managers = task_managers;
        self
    }

    /// Sets how many slots each TaskManager has.
    #[must_use]
    pub fn with_slots(mut self, slots: u32) -> Self {
        self.slots = slots;
        self
    }

    /// Lets jobs outlive their JobManager.
    #[must_use]
    pub fn with_high_availability(mut self) -> Self {
        self.high_availability = true;
        self
    }

    /// Puts the REST API behind TLS. Needs `keytool`, which comes with `java`.
    #[must_use]
    pub fn with_tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Sets one of Flink's settings.
    #[must_use]
    pub fn with_setting(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.insert(key.into(), value.into());
        self
    }
}
