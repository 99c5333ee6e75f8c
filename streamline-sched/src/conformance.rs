//! A check that any implementation of [`Scheduler`] keeps its promises.

use std::fmt;

use streamline_core::Cluster;

use crate::{Request, Schedule, ScheduleError, Scheduler, Synthetic, evaluate};

/// A promise of [`Scheduler`] that an implementation breaks, with the input that shows it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Broken {
    /// The promise, in words.
    pub promise: &'static str,
    /// Instances and TaskManagers of the [`Synthetic`] input, with its seed; it may have been given in another order, with
    /// headroom or with a current placement.
    pub input: (usize, usize, u64),
    /// The error where one was returned that should not have been.
    pub error: Option<ScheduleError>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (instances, managers, seed) = self.input;
        write!(
            f,
            "{} ({instances} instances on {managers} TaskManagers, seed {seed})",
            self.promise
        )
    }
}

impl std::error::Error for Broken {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.as_ref().map(|error| error as _)
    }
}

/// Checks that a scheduler keeps the promises of the trait, on clusters with too much, just enough and too little room.
///
/// No TaskManager is given more than it has; no instance is lost or made up; what is said to be used and moved is so; the same
/// request gives the same schedule, in whatever order its demands are; headroom stays free; an empty request is fine, and
/// a cluster without slots is a typed error.
///
/// # Errors
/// [`Broken`] with the first promise that is not kept.
///
/// # Examples
///
/// ```
/// use streamline_sched::{FirstFitDecreasing, conformance};
///
/// conformance::check(&FirstFitDecreasing)?;
/// # Ok::<(), streamline_sched::conformance::Broken>(())
/// ```
pub fn check(scheduler: &dyn Scheduler) -> Result<(), Broken> {
    for input in [
        (0, 0, 1),
        (0, 3, 1),
        (40, 2, 2),
        (60, 8, 3),
        (120, 12, 4),
        (200, 60, 5),
    ] {
        let (instances, managers, seed) = input;
        let broken = |promise: &'static str, error: Option<ScheduleError>| Broken {
            promise,
            input,
            error,
        };
        let failed = |error| broken("a request that makes sense is answered", Some(error));
        let synthetic = Synthetic::new(instances, managers, seed).map_err(|error| failed(error.into()))?;
        let request = synthetic.request();
        let schedule = scheduler.schedule(&request).map_err(failed)?;
        complete(&request, &schedule, &broken)?;
        if scheduler.schedule(&request).as_ref() != Ok(&schedule) {
            return Err(broken("the same request gives the same schedule", None));
        }
        let mut turned = synthetic.demands.clone();
        turned.reverse();
        turned.rotate_left(instances / 3);
        let mut other = request;
        other.demands = &turned;
        if scheduler
            .schedule(&other)
            .as_ref()
            .map(|schedule| &schedule.placement)
            != Ok(&schedule.placement)
        {
            return Err(broken("the order of the demands does not matter", None));
        }
        let tight = request.with_headroom(0.3).with_current(&schedule.placement);
        complete(&tight, &scheduler.schedule(&tight).map_err(failed)?, &broken)?;
        if instances > 0 {
            let none = Cluster::uniform(managers, 4.0, 1 << 30, 0).map_err(|error| failed(error.into()))?;
            let mut without = request;
            without.cluster = &none;
            if !matches!(scheduler.schedule(&without), Err(ScheduleError::NoSlots { .. })) {
                return Err(broken("a cluster without slots is refused as such", None));
            }
        }
    }
    Ok(())
}

fn complete(
    request: &Request<'_>,
    schedule: &Schedule,
    broken: &impl Fn(&'static str, Option<ScheduleError>) -> Broken,
) -> Result<(), Broken> {
    let again = evaluate(request, &schedule.placement)
        .map_err(|error| broken("no TaskManager is given more than it has", Some(error)))?;
    let unplaced = |schedule: &Schedule| schedule.unplaced.iter().map(|u| u.instance).collect::<Vec<_>>();
    if again.placement != schedule.placement || unplaced(&again) != unplaced(schedule) {
        return Err(broken("no instance is lost or made up", None));
    }
    if again.usage != schedule.usage || again.moved != schedule.moved {
        return Err(broken("what is said to be used and moved is so", None));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BestFitDecreasing, FirstFitDecreasing, FitRule, LocalSearch, Spread};

    #[test]
    fn our_own_schedulers_keep_the_promises() {
        let schedulers: [&dyn Scheduler; 5] = [
            &FirstFitDecreasing,
            &BestFitDecreasing::default(),
            &BestFitDecreasing::new(FitRule::DotProduct),
            &Spread,
            &LocalSearch::default().with_steps(50_000),
        ];
        for scheduler in schedulers {
            assert_eq!(check(scheduler), Ok(()), "{}", scheduler.name());
        }
    }

    #[test]
    fn a_scheduler_that_forgets_an_instance_is_caught() {
        struct Forgetful;
        impl Scheduler for Forgetful {
            fn name(&self) -> &str {
                "forgetful"
            }

            fn schedule(&self, request: &Request<'_>) -> Result<Schedule, ScheduleError> {
                let mut schedule = FirstFitDecreasing.schedule(request)?;
                schedule.unplaced.pop();
                Ok(schedule)
            }
        }
        assert_eq!(
            check(&Forgetful).unwrap_err().promise,
            "no instance is lost or made up"
        );
    }
}
