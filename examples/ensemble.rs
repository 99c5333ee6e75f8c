//! Several pipelines on one cluster: each follows its own load, one's load drops for good, and for an hour there is more
//! than the cluster can carry.
//!
//! Everything runs on the simulated cluster, on arrival rates that are generated or, with `--trace`, read from files.

#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

mod support;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use streamline_core::{Cluster, JobConfig, JobId, TimeSeries};
use streamline_flink::{FlinkClient, LoadShape, Model, SimulatedCluster};
use streamline_tuner::{
    Controller, JobPolicy, Memory, Objective, Plan, Profile, Tuner, TunerOptions, plot_series,
};
use support::arguments::{Arguments, finish, last_days};
use support::days::{Days, compare};
use support::learning::{sweep, train_forecaster, train_surrogate};
use support::pipeline::Pipeline;

/// Tunes several pipelines together through some days on one cluster
#[derive(Debug, Parser)]
struct Options {
    #[command(flatten)]
    common: Arguments,
    /// Latency that no pipeline should exceed, in milliseconds
    #[arg(long, default_value_t = 1_000.0, value_name = "MS")]
    latency_limit: f64,
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// When the load of the second pipeline drops for good, and to what share.
const DROP_HOUR: f64 = 5.0;
const DROP_TO: f64 = 0.3;
/// By what all loads are multiplied in the hour in which there is most to do.
const RUSH: f64 = 1.7;
/// The cluster holds so much more than what the peaks of all pipelines take.
const ROOM: f64 = 1.15;
const SLOTS_PER_TASK_MANAGER: u32 = 8;
const CORES_PER_TASK_MANAGER: f64 = 16.0;

/// A pipeline with its load.
struct Member {
    pipeline: Pipeline,
    history: TimeSeries,
    /// The day as it comes, with what happens in it.
    day: TimeSeries,
    /// The peak of the day as it would have been.
    peak: f64,
    priority: i32,
}

fn main() -> ExitCode {
    finish(run(Options::parse()))
}

fn run(options: Options) -> Result<()> {
    let Options {
        common,
        latency_limit,
    } = options;
    std::fs::create_dir_all(&common.out)?;
    let members = members(&common)?;
    let step_ms = members[0].day.step_ms();
    let interval = Duration::from_millis(step_ms);
    let points = members.iter().map(|member| member.day.len()).min().unwrap_or(0);

    // What the peaks take, on a cluster with room for anything, sizes the cluster and is the yardstick.
    let ample = Cluster::uniform(64, CORES_PER_TASK_MANAGER, 64 << 30, SLOTS_PER_TASK_MANAGER)?;
    let mut samples = Vec::new();
    let mut sweeps = Vec::new();
    for member in &members {
        let observations = sweep(&member.pipeline, &ample, common.seed, common.quick)?;
        samples.extend(Profile::from_observations(&observations, &ample)?.samples);
        sweeps.push(observations);
    }
    let surrogate = train_surrogate(&samples, common.seed, common.quick)?;
    let histories: Vec<TimeSeries> = members.iter().map(|member| member.history.clone()).collect();
    let forecaster = train_forecaster(&histories, common.seed, common.quick)?;
    let options = TunerOptions {
        interval,
        step: interval,
        seed: common.seed,
        ..TunerOptions::default()
    };
    let tuner = Tuner::builder()
        .predictor(forecaster)
        .surrogate(surrogate)
        .options(options)
        .build()?;

    let mut fixed_configs = Vec::new();
    for (member, observations) in members.iter().zip(&sweeps) {
        let mut memory = Memory::default();
        for seen in observations {
            memory.learn(&seen.job, seen)?;
        }
        let client = SimulatedCluster::new(Model::default(), ample.clone(), common.seed)?;
        let capabilities = client.capabilities()?;
        fixed_configs.push(tuner.size_for(
            &observations[0],
            &[member.peak],
            &ample,
            &capabilities,
            &memory,
        )?);
    }
    let mut slots = 0;
    for (member, config) in members.iter().zip(&fixed_configs) {
        slots += config.slots(&member.pipeline.graph)?;
    }
    let managers = (ROOM * slots as f64 / f64::from(SLOTS_PER_TASK_MANAGER)).ceil() as usize;
    let cluster = Cluster::uniform(managers, CORES_PER_TASK_MANAGER, 64 << 30, SLOTS_PER_TASK_MANAGER)?;
    println!(
        "{managers} TaskManagers with {} task slots; the peaks of all pipelines take {slots}",
        cluster.slots()
    );

    let start = |configs: &[JobConfig]| -> Result<(SimulatedCluster, Vec<JobId>)> {
        let simulated = SimulatedCluster::new(Model::default(), cluster.clone(), common.seed)?
            .starting_at(members[0].day.start_ms());
        let mut jobs = Vec::new();
        for (member, config) in members.iter().zip(configs) {
            jobs.push(simulated.submit(member.pipeline.job(config.clone(), member.day.clone()))?);
        }
        Ok((simulated, jobs))
    };
    let (simulated, jobs) = start(&fixed_configs)?;
    let (fixed_cluster, fixed_jobs) = start(&fixed_configs)?;

    let mut memory = Memory::default();
    for ((job, member), observations) in jobs.iter().zip(&members).zip(&sweeps) {
        memory.preload(job, 0, &member.history)?;
        for seen in observations {
            memory.learn(job, seen)?;
        }
    }
    let mut controller = Controller::new(tuner).with_memory(memory);
    for (job, member) in jobs.iter().zip(&members) {
        let objective = Objective::latency_at_most(latency_limit);
        let policy = JobPolicy::default()
            .with_priority(member.priority)
            .with_objective(objective);
        controller = controller.with_policy(job.clone(), policy);
    }

    let begin = |cluster: &SimulatedCluster, jobs: &[JobId]| -> Result<Vec<Days>> {
        jobs.iter()
            .zip(&members)
            .map(|(job, member)| Days::new(cluster, job, &member.pipeline, interval))
            .collect()
    };
    let mut tuned = begin(&simulated, &jobs)?;
    let mut fixed = begin(&fixed_cluster, &fixed_jobs)?;
    let mut changed_after_drop = vec![false; members.len()];
    let mut short_rounds = 0;
    for point in 0..points {
        simulated.advance(interval);
        fixed_cluster.advance(interval);
        for (day, job) in tuned.iter_mut().zip(&jobs) {
            day.note(&simulated, job)?;
        }
        for (day, job) in fixed.iter_mut().zip(&fixed_jobs) {
            day.note(&fixed_cluster, job)?;
        }
        let round = controller.round(&simulated)?;
        let hours = (point + 1) as f64 * interval.as_secs_f64() / 3600.0;
        if point == 0 {
            println!("\nthe first plan:\n{}\nthe days:", round.plan);
        }
        report(hours, &round.plan);
        for (job, outcome) in &round.changes {
            if let Err(error) = outcome {
                println!("  {hours:5.2} h  the change of {job} failed: {error}");
            }
        }
        if round.plan.jobs.iter().any(|job| job.granted < 1.0) {
            short_rounds += 1;
        }
        if (DROP_HOUR..DROP_HOUR + 1.0).contains(&hours) {
            for (changed, job) in changed_after_drop.iter_mut().zip(&round.plan.jobs) {
                *changed |= job.is_changed();
            }
        }
    }

    let named = |wanted: bool| -> Vec<&str> {
        let members = members
            .iter()
            .zip(&changed_after_drop)
            .filter(|(_, changed)| **changed == wanted);
        members.map(|(member, _)| member.pipeline.name.as_str()).collect()
    };
    println!(
        "\nin the hour after the load of {} dropped: changed {:?}, untouched {:?}",
        members[1].pipeline.name,
        named(true),
        named(false)
    );
    println!("the cluster was too small for all in {short_rounds} rounds\n");
    for ((member, tuned), fixed) in members.iter().zip(&tuned).zip(&fixed) {
        compare(&member.pipeline.name, tuned, fixed);
    }
    let total = |days: &[Days], of: fn(&Days) -> f64| days.iter().map(of).sum::<f64>();
    println!(
        "\nall pipelines: tuned {:.1} core-hours used and {:.1} slot-hours held, fixed {:.1} and {:.1}",
        total(&tuned, Days::core_hours),
        total(&tuned, Days::slot_hours),
        total(&fixed, Days::core_hours),
        total(&fixed, Days::slot_hours),
    );
    for (member, day) in members.iter().zip(&tuned) {
        let name = &member.pipeline.name;
        let lines = [
            ("arrived", day.series(&day.arrivals)?),
            ("capacity", day.series(&day.capacity)?),
        ];
        let lines: Vec<(&str, &TimeSeries)> = lines.iter().map(|(label, series)| (*label, series)).collect();
        plot_series(
            &common.out.join(format!("ensemble_{name}.svg")),
            name,
            "records/s",
            &lines,
        )?;
    }
    println!("pictures are in {}", common.out.display());
    if tuned.iter().all(|day| day.final_backlog() < 1.0) {
        Ok(())
    } else {
        Err("a pipeline did not keep up".into())
    }
}

/// Prints what a round changed, and who got less than it needs.
fn report(hours: f64, plan: &Plan) {
    for job in &plan.jobs {
        if job.granted < 1.0 {
            let percent = 100.0 * job.granted;
            println!(
                "  {hours:5.2} h  {}: the cluster has room for {percent:.0} % of its load, others go first",
                job.name
            );
        }
        if job.is_changed() {
            let parallelism = job.config.parallelism();
            println!(
                "  {hours:5.2} h  {} to {parallelism:?}: {}",
                job.name, job.decision
            );
        }
    }
}

/// The pipelines and their loads: generated, or one for each trace.
fn members(common: &Arguments) -> Result<Vec<Member>> {
    let traces = common.read_traces()?;
    let named: Vec<(String, TimeSeries)> = if traces.is_empty() {
        let shapes = [
            ("orders", LoadShape::DayAndNight, 60_000.0),
            ("reports", LoadShape::Flat, 20_000.0),
            ("tickets", LoadShape::OfficeHours, 30_000.0),
        ];
        let mut generated = Vec::new();
        for ((name, shape, peak), seed) in shapes.into_iter().zip(common.seed..) {
            generated.push((name.to_owned(), shape.days(15, 300_000, peak, seed)?));
        }
        generated
    } else {
        let names = common.traces.iter().map(|path| {
            path.file_stem()
                .map_or_else(|| "trace".to_owned(), |stem| stem.to_string_lossy().into_owned())
        });
        names.zip(traces).collect()
    };
    if named.len() < 2 {
        return Err("an ensemble takes at least two traces".into());
    }
    let mut members = Vec::new();
    let step_ms = named[0].1.step_ms();
    for (index, (name, trace)) in named.into_iter().enumerate() {
        if trace.step_ms() != step_ms {
            return Err(format!(
                "the trace of {name} has a step of {} ms, the first {step_ms} ms",
                trace.step_ms()
            )
            .into());
        }
        let (history, day) = last_days(&trace, common.days)?;
        let peak = day.max().unwrap_or(0.0);
        // Days of different traces are lived through at the same time.
        let start = members
            .first()
            .map_or(day.start_ms(), |first: &Member| first.day.start_ms());
        let shift =
            |series: &TimeSeries, start_ms: i64| TimeSeries::new(start_ms, step_ms, series.iter().collect());
        let before_ms = i64::try_from(history.len())?.saturating_mul(i64::try_from(step_ms)?);
        let (history, day) = (shift(&history, start - before_ms)?, shift(&day, start)?);
        let subtasks = [9.0, 6.0, 7.0][index % 3];
        let priority = [10, 5, 0][index % 3];
        members.push(Member {
            pipeline: Pipeline::new(&name, peak, subtasks)?,
            history,
            day,
            peak,
            priority,
        });
    }
    disturb(&mut members)?;
    Ok(members)
}

/// Lets the load of the second pipeline drop, and all loads rise in the busiest hour after that.
fn disturb(members: &mut [Member]) -> Result<()> {
    let step_ms = members[0].day.step_ms();
    let points_per_hour = 3_600_000.0 / step_ms as f64;
    let drop_at = (DROP_HOUR * points_per_hour) as usize;
    let total = |point: usize| -> f64 {
        members
            .iter()
            .filter_map(|member| Some(member.day.get(point)? / member.peak.max(1.0)))
            .sum()
    };
    let points = members.iter().map(|member| member.day.len()).min().unwrap_or(0);
    // Late enough after the drop, and early enough to catch up within the day.
    let candidates = (2 * drop_at)..points.saturating_sub((3.0 * points_per_hour) as usize);
    let rush_at = candidates
        .max_by(|&a, &b| total(a).total_cmp(&total(b)))
        .unwrap_or(0);
    let rush = rush_at..rush_at + points_per_hour as usize;
    for (index, member) in members.iter_mut().enumerate() {
        let values = member.day.iter().enumerate().map(|(point, rate)| {
            let drop = if index == 1 && point >= drop_at {
                DROP_TO
            } else {
                1.0
            };
            let more = if rush.contains(&point) { RUSH } else { 1.0 };
            rate.map(|rate| rate * drop * more)
        });
        member.day = TimeSeries::new(member.day.start_ms(), step_ms, values.collect())?;
    }
    println!(
        "at {DROP_HOUR} h the load of {} drops to {:.0} %; at {:.1} h all loads are {RUSH} times as high for an hour",
        members[1].pipeline.name,
        100.0 * DROP_TO,
        rush_at as f64 / points_per_hour,
    );
    Ok(())
}
