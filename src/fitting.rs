//! Making what was decided job by job fit the cluster together, and placing it.

use std::cmp::Reverse;
use std::collections::HashMap;

use streamline_core::{Assignment, Cluster, Instance, JobStatus, Observation, Placement};
use streamline_sched::{Demand, Request, Resource, Schedule};

use crate::candidates::Candidates;
use crate::search::Limits;
use crate::tuner::Active;
use crate::{ChangeReason, Decision, Error, HoldReason, JobPlan, JobPolicy, PlanRequest, Tuner};

impl Tuner {
    /// Sees to it that what was decided job by job fits the slots together.
    ///
    /// Jobs that were going to be held but would be smaller as the search has them give way first; then the jobs that
    /// were going to grow are held, those that go last first.
    pub(crate) fn settle(
        &self,
        jobs: &mut [JobPlan],
        active: &[Active<'_>],
        choices: &[Vec<usize>],
        policies: &[JobPolicy],
        limits: Limits,
    ) -> Result<(), Error> {
        let slots =
            |job: &JobPlan, a: &Active<'_>| job.config.slots(&a.candidates.seen.graph).unwrap_or(u64::MAX);
        let mut last_first: Vec<usize> = (0..active.len()).collect();
        last_first.sort_by_key(|&a| (policies[active[a].index].priority, Reverse(active[a].index)));
        let fits = |jobs: &[JobPlan]| {
            active
                .iter()
                .fold(0u64, |sum, a| sum.saturating_add(slots(&jobs[a.index], a)))
                <= limits.slots
        };
        for &which in &last_first {
            let a = &active[which];
            let smaller = a.candidates.config(&choices[which]);
            let job = &mut jobs[a.index];
            let saves = smaller.slots(&a.candidates.seen.graph).unwrap_or(u64::MAX) < slots(job, a);
            if !fits(jobs) && saves {
                let job = &mut jobs[a.index];
                job.decision = Decision::Change(ChangeReason::MakeRoom);
                job.config = smaller;
                expect(job, &a.candidates, &choices[which])?;
            }
        }
        for &which in &last_first {
            if fits(jobs) {
                break;
            }
            undo_growth(&mut jobs[active[which].index], &active[which], Resource::Slots)?;
        }
        Ok(())
    }

    /// Places all instances; a job whose growth finds no room is held.
    pub(crate) fn place(
        &self,
        jobs: &mut [JobPlan],
        active: &[Active<'_>],
        policies: &[JobPolicy],
        request: &PlanRequest<'_>,
    ) -> Result<Schedule, Error> {
        let current = current_placement(request.observations, request.cluster);
        loop {
            let demands = demands(jobs, request.observations);
            let schedule = self
                .scheduler
                .schedule(&Request::new(&demands, request.cluster).with_current(&current))?;
            let Some(unplaced) = schedule.unplaced.first() else {
                return Ok(schedule);
            };
            let grown = active
                .iter()
                .filter(|a| jobs[a.index].config.subtasks() > jobs[a.index].current.subtasks())
                .min_by_key(|a| (policies[a.index].priority, Reverse(a.index)));
            match grown {
                Some(a) => undo_growth(&mut jobs[a.index], a, unplaced.lacking)?,
                None => return Ok(schedule),
            }
        }
    }
}

/// Holds a job that was going to grow.
fn undo_growth(job: &mut JobPlan, a: &Active<'_>, lacking: Resource) -> Result<(), Error> {
    if job.config.subtasks() > job.current.subtasks() {
        job.decision = Decision::Hold(HoldReason::NoRoom { lacking });
        job.config = job.current.clone();
        expect(job, &a.candidates, &a.candidates.current())?;
    }
    Ok(())
}

/// Notes what is expected of a job with a choice.
pub(crate) fn expect(job: &mut JobPlan, candidates: &Candidates<'_>, choice: &[usize]) -> Result<(), Error> {
    job.estimate = Some(candidates.estimate(choice)?);
    job.cost = Some(candidates.assess(choice, job.granted).cost);
    Ok(())
}

/// Where instances run, as far as it is known.
fn current_placement(observations: &[Observation], cluster: &Cluster) -> Placement {
    let managers: HashMap<&str, usize> = cluster
        .task_managers()
        .iter()
        .enumerate()
        .map(|(index, manager)| (manager.id.as_str(), index))
        .collect();
    let mut assignments = Vec::new();
    for (job, seen) in observations.iter().enumerate() {
        for (operator, metrics) in seen.operators.iter().enumerate() {
            for (subtask, location) in (0u32..).zip(&metrics.locations) {
                if let Some(&task_manager) = location.as_deref().and_then(|id| managers.get(id)) {
                    assignments.push(Assignment {
                        instance: Instance {
                            job,
                            operator,
                            subtask,
                        },
                        task_manager,
                    });
                }
            }
        }
    }
    // Counted up above, so that no instance can occur twice.
    Placement::new(assignments).unwrap_or_default()
}

/// What every instance of every job needs: an equal part of what its operator is expected to use.
fn demands(jobs: &[JobPlan], observations: &[Observation]) -> Vec<Demand> {
    let mut demands = Vec::new();
    let mut sharing_groups = HashMap::new();
    for (job, (plan, seen)) in jobs.iter().zip(observations).enumerate() {
        if seen.status == JobStatus::Ended {
            continue;
        }
        let subtasks = plan.config.subtasks().max(1);
        let network_bytes = plan.config.network_bytes(&seen.graph).unwrap_or_default() / subtasks;
        for (operator, config) in plan.config.operators.iter().enumerate() {
            let parts = f64::from(config.parallelism);
            let expected = plan
                .estimate
                .as_ref()
                .map(|estimate| estimate.operators[operator].cpu_cores);
            let cpu_cores = expected.or(seen.operators[operator].cpu_cores).unwrap_or(0.0) / parts;
            let group = seen.graph.operators()[operator].slot_sharing_group.as_str();
            let next = u32::try_from(sharing_groups.len()).unwrap_or(u32::MAX);
            let sharing_group = *sharing_groups.entry((job, group)).or_insert(next);
            let state_bytes =
                seen.operators[operator].state_bytes.unwrap_or(0) / u64::from(config.parallelism.max(1));
            demands.extend((0..config.parallelism).map(|subtask| Demand {
                instance: Instance {
                    job,
                    operator,
                    subtask,
                },
                cpu_cores,
                memory_bytes: 0,
                network_bytes,
                sharing_group,
                state_bytes,
            }));
        }
    }
    demands
}
