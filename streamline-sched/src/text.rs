use std::fmt;

use streamline_core::{Cluster, Instance};

use crate::Schedule;

/// A schedule as text for logs: one line a TaskManager, its instances in packing order. Made by [`Schedule::text`].
pub struct ScheduleText<'a, N> {
    schedule: &'a Schedule,
    cluster: &'a Cluster,
    name: N,
}

impl Schedule {
    /// The schedule as text, TaskManager by TaskManager, with the instances in packing order (decreasing cpu).
    ///
    /// Empty TaskManagers are left out; what found no room comes last with what it lacked.
    ///
    /// # Examples
    ///
    /// ```
    /// use streamline_core::{Cluster, Instance};
    /// use streamline_sched::{Demand, FirstFitDecreasing, Request, Scheduler};
    ///
    /// let demand = |operator, cpu_cores| Demand {
    ///     instance: Instance { job: 0, operator, subtask: 0 },
    ///     cpu_cores,
    ///     memory_bytes: 0,
    ///     network_bytes: 0,
    ///     sharing_group: 0,
    ///     state_bytes: 0,
    /// };
    /// let cluster = Cluster::uniform(1, 2.0, 1 << 30, 1)?;
    /// let demands = [demand(0, 0.5), demand(1, 0.75), demand(2, 3.0)];
    /// let schedule = FirstFitDecreasing.schedule(&Request::new(&demands, &cluster))?;
    /// let text = schedule.text(&cluster, |instance| ["source", "map", "sink"][instance.operator].to_string());
    /// assert_eq!(
    ///     text.to_string(),
    ///     "tm-1: cpu 1.2500 of 2.0000, memory 0 of 1024 MiB, network 0 of 64 MiB, slots 1 of 1: map source\n\
    ///      no room: sink (cpu)\n",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn text<'a, N: Fn(Instance) -> String>(
        &'a self,
        cluster: &'a Cluster,
        name: N,
    ) -> ScheduleText<'a, N> {
        ScheduleText {
            schedule: self,
            cluster,
            name,
        }
    }

    /// The instances on each TaskManager in packing order.
    #[must_use]
    pub fn instances_by_task_manager(&self) -> Vec<Vec<Instance>> {
        let mut lists = vec![Vec::new(); self.usage.len()];
        for &instance in &self.order {
            if let Some(list) = self
                .placement
                .task_manager(instance)
                .and_then(|manager| lists.get_mut(manager))
            {
                list.push(instance);
            }
        }
        lists
    }
}

impl<N> fmt::Debug for ScheduleText<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduleText")
            .field("schedule", self.schedule)
            .finish_non_exhaustive()
    }
}

impl<N: Fn(Instance) -> String> fmt::Display for ScheduleText<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        let lists = self.schedule.instances_by_task_manager();
        for ((manager, usage), list) in self
            .cluster
            .task_managers()
            .iter()
            .zip(&self.schedule.usage)
            .zip(&lists)
        {
            if list.is_empty() {
                continue;
            }
            write!(
                f,
                "{}: cpu {:.4} of {:.4}, memory {} of {} MiB, network {} of {} MiB, slots {} of {}:",
                manager.id,
                usage.cpu_cores,
                manager.cpu_cores,
                mib(usage.memory_bytes),
                mib(manager.memory_bytes),
                mib(usage.network_bytes),
                mib(manager.network_bytes),
                usage.slots,
                manager.slots
            )?;
            for &instance in list {
                write!(f, " {}", (self.name)(instance))?;
            }
            writeln!(f)?;
        }
        if !self.schedule.unplaced.is_empty() {
            write!(f, "no room:")?;
            for unplaced in &self.schedule.unplaced {
                write!(f, " {} ({})", (self.name)(unplaced.instance), unplaced.lacking)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
