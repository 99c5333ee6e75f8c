//! Rounds of the controller on the real cluster, and what they tell.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use streamline_core::{Cluster, JobId, Observation, TimeSeries};
use streamline_flink::{Applied, Capabilities, Change, FlinkClient, FlinkError, RestClient};
use streamline_tuner::{Controller, plot_series};

use super::load::{LOW, Load};

/// How long before a step of the load a change can be meant for it: the horizon of the forecast.
const AHEAD: Duration = Duration::from_secs(60);
/// How long after a step it must be answered.
const ANSWERED: Duration = Duration::from_secs(30);
/// Seconds of input that may wait at other times.
const LONGEST: f64 = 10.0;

/// One look at the job.
struct Moment {
    /// Since the job was first seen.
    at: Duration,
    arrival_rate: Option<f64>,
    backlog: Option<f64>,
    parallelism: Vec<u32>,
}

/// A change that was made.
struct Changed {
    from: Duration,
    until: Duration,
    slots: (u32, u32),
}

/// Keeps what the controller saw, to show it: a look of our own would cut its intervals short.
struct Shown<'a> {
    client: &'a RestClient,
    seen: Mutex<Option<Observation>>,
}

impl FlinkClient for Shown<'_> {
    fn capabilities(&self) -> Result<Capabilities, FlinkError> {
        self.client.capabilities()
    }

    fn jobs(&self) -> Result<Vec<JobId>, FlinkError> {
        self.client.jobs()
    }

    fn cluster(&self) -> Result<Cluster, FlinkError> {
        self.client.cluster()
    }

    fn observe(&self, job: &JobId) -> Result<Observation, FlinkError> {
        let seen = self.client.observe(job)?;
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen.clone());
        Ok(seen)
    }

    fn apply(&self, job: &JobId, change: &Change) -> Result<Applied, FlinkError> {
        self.client.apply(job, change)
    }
}

/// What was seen and done.
pub(crate) struct Told {
    started_ms: i64,
    step: Duration,
    moments: Vec<Moment>,
    changes: Vec<Changed>,
}

/// Runs rounds until the load has gone its way.
pub(crate) fn watch(
    client: &RestClient,
    job: &JobId,
    controller: &mut Controller,
    load: Load,
    step: Duration,
) -> Result<Told, Box<dyn std::error::Error>> {
    let started = Instant::now();
    let client = Shown {
        client,
        seen: Mutex::new(None),
    };
    let mut told = Told {
        started_ms: client.observe(job)?.at_ms,
        step,
        moments: Vec::new(),
        changes: Vec::new(),
    };
    println!(" time  records/s  backlog  parallelism  decision");
    let mut next = step;
    while started.elapsed() < load.lasts() {
        std::thread::sleep(next.saturating_sub(started.elapsed()));
        let from = started.elapsed();
        let round = controller.round(&client)?;
        let until = started.elapsed();
        next = step * (u32::try_from(until.as_millis() / step.as_millis())? + 1);
        let Some(plan) = round.plan.jobs.iter().find(|plan| plan.job == *job) else {
            continue;
        };
        let seen = client.seen.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(seen) = seen else { continue };
        let moment = Moment {
            at: from,
            arrival_rate: seen.sources[0].arrival_rate,
            backlog: seen.sources[0].backlog,
            parallelism: plan.config.parallelism(),
        };
        let known = |value: Option<f64>| value.map_or("?".to_owned(), |value| format!("{value:.0}"));
        println!(
            "{:>4} s {:>9} {:>8}  {:<11}  {}",
            from.as_secs(),
            known(moment.arrival_rate),
            known(moment.backlog),
            format!("{:?}", moment.parallelism),
            plan.decision,
        );
        for (_, outcome) in &round.changes {
            match outcome {
                Ok(applied) => {
                    println!(
                        "       changed in {:.1} s, processing nothing for {:.2} s",
                        (until - from).as_secs_f64(),
                        applied.downtime.as_secs_f64()
                    );
                    let before = told
                        .moments
                        .last()
                        .map_or(1, |moment| widest(&moment.parallelism));
                    told.changes.push(Changed {
                        from,
                        until,
                        slots: (before, widest(&moment.parallelism)),
                    });
                }
                Err(error) => println!("       not changed: {error}"),
            }
        }
        told.moments.push(moment);
    }
    Ok(told)
}

fn widest(parallelism: &[u32]) -> u32 {
    parallelism.iter().copied().max().unwrap_or(1)
}

impl Told {
    /// Draws load, backlog and parallelism over time.
    pub(crate) fn draw(&self, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let series = |of: &dyn Fn(&Moment) -> Option<f64>| {
            let points: Vec<(i64, f64)> = self
                .moments
                .iter()
                .filter_map(|moment| {
                    let at = i64::try_from(moment.at.as_millis()).unwrap_or(i64::MAX);
                    Some((self.started_ms.saturating_add(at), of(moment)?))
                })
                .collect();
            TimeSeries::from_samples(&points, u64::try_from(self.step.as_millis()).unwrap_or(1))
        };
        let arrivals = series(&|moment| moment.arrival_rate)?;
        let backlog = series(&|moment| moment.backlog)?;
        let capacity = series(&|moment| Some(f64::from(moment.parallelism[1]) * 1_000.0))?;
        plot_series(
            path,
            "A live job: what comes, what parse can do, what waits",
            "records/s, records",
            &[
                ("arrivals", &arrivals),
                ("capacity of parse", &capacity),
                ("backlog", &backlog),
            ],
        )?;
        println!("picture: {}", path.display());
        Ok(())
    }

    /// Says for each rise and fall of the load when it was answered and how far the job fell behind.
    ///
    /// # Errors
    /// If the job was tuned and a step went unanswered, was answered more than once, or left the job behind for long.
    pub(crate) fn sum_up(&self, load: Load, tuned: bool) -> Result<(), Box<dyn std::error::Error>> {
        let mut faults = Vec::new();
        let mut steps = load.steps();
        steps.push((load.lasts().as_secs(), 0));
        for (number, pair) in steps.windows(2).enumerate() {
            let ((at, rate), (next, _)) = (pair[0], pair[1]);
            let step = Duration::from_secs(at);
            let ahead = if number == 0 { Duration::ZERO } else { AHEAD };
            // What is done shortly before the next step is the answer to that one.
            let answers: Vec<&Changed> = self
                .changes
                .iter()
                .filter(|change| {
                    change.from + ahead >= step && change.from + AHEAD < Duration::from_secs(next)
                })
                .collect();
            println!("{at:>4} s: the load goes to {rate} records/s");
            for change in &answers {
                let (from, until) = (change.from.as_secs_f64(), change.until.as_secs_f64());
                let (before, after) = change.slots;
                println!(
                    "        from {from:.0} to {until:.0} s, {:+.0} s: {before} to {after} slots",
                    from - step.as_secs_f64()
                );
            }
            match answers.as_slice() {
                [change] if change.from.saturating_sub(step) <= ANSWERED => {}
                answers => faults.push(format!(
                    "the step at {at} s was answered by {} changes, or late",
                    answers.len()
                )),
            }
        }
        // Right after a change the rate is unknown: the lowest makes the most of what waits.
        let behind = |moment: &Moment| {
            let rate = moment.arrival_rate.filter(|&rate| rate > 0.0);
            moment.backlog.unwrap_or(0.0) / rate.unwrap_or(LOW as f64)
        };
        let during = |moment: &&Moment| {
            let mut changes = self.changes.iter();
            !changes.any(|change| change.from <= moment.at && moment.at < change.until + load.drains())
        };
        let worst = self.moments.iter().map(behind).fold(0.0, f64::max);
        let outside = self.moments.iter().filter(during).map(behind).fold(0.0, f64::max);
        println!("at most {worst:.1} s of input waited at the source, {outside:.1} s outside the changes");
        if outside > LONGEST {
            faults.push(format!("{outside:.1} s of input waited outside the changes"));
        }
        if tuned && !faults.is_empty() {
            return Err(faults.join("; ").into());
        }
        Ok(())
    }
}
