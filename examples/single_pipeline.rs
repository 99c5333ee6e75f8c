//! One pipeline, from nothing: learn its load and its performance, tune it, and live through some days.
//!
//! Everything runs on the simulated cluster, on arrival rates that are generated or, with `--trace`, read from a file.

#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

mod support;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use streamline_core::{Cluster, JobConfig};
use streamline_flink::{FlinkClient, LoadShape, Model, SimulatedCluster};
use streamline_predict::WorkloadPredictor;
use streamline_tuner::{
    Controller, FrontPoint, JobPolicy, Memory, Objective, Profile, Tuner, TunerOptions, plot_capacity,
    plot_forecast, plot_front, plot_series,
};
use support::arguments::{Arguments, finish, last_days};
use support::days::{Days, compare};
use support::learning::{sweep, train_forecaster, train_surrogate};
use support::pipeline::Pipeline;

/// Learns the load and the performance of one pipeline, tunes it, and lives through some days
#[derive(Debug, Parser)]
struct Options {
    #[command(flatten)]
    common: Arguments,
    /// Latency that should not be exceeded, in milliseconds
    #[arg(long, default_value_t = 1_000.0, value_name = "MS")]
    latency_limit: f64,
}

/// Subtasks of the window that the peak takes.
const SUBTASKS: f64 = 10.0;

fn main() -> ExitCode {
    finish(run(Options::parse()))
}

fn run(options: Options) -> Result<(), Box<dyn std::error::Error>> {
    let Options {
        common,
        latency_limit,
    } = options;
    std::fs::create_dir_all(&common.out)?;
    let picture = |name: &str| common.out.join(name);

    // The load: the last days are lived through, what comes before them is the history.
    let trace = match common.read_traces()?.into_iter().next() {
        Some(trace) => trace,
        None => LoadShape::DayAndNight.days(15, 300_000, 100_000.0, common.seed)?,
    };
    let (history, live) = last_days(&trace, common.days)?;
    let peak = live.max().unwrap_or(0.0);
    println!(
        "load: {} points of history, then {} points to live through, with a peak of {peak:.0} records/s",
        history.len(),
        live.len()
    );
    let pipeline = Pipeline::new("pipeline", peak, SUBTASKS)?;
    let cluster = Cluster::uniform(4, 16.0, 64 << 30, 8)?;

    // The three models.
    let started = Instant::now();
    let observations = sweep(&pipeline, &cluster, common.seed, common.quick)?;
    let profile = Profile::from_observations(&observations, &cluster)?;
    for ((operator, measured), curve) in pipeline
        .graph
        .operators()
        .iter()
        .zip(&profile.measured)
        .zip(&profile.curves)
    {
        let Some(curve) = curve else { continue };
        println!(
            "capacity of {}: {} measurements, polynomial of degree {}, R² {:.3}",
            operator.name,
            measured.len(),
            curve.degree(),
            curve.r_squared()
        );
        let title = format!("Maximum processing rate of `{}`", operator.name);
        plot_capacity(
            &picture(&format!("capacity_{}.svg", operator.name)),
            &title,
            measured,
            curve,
            32,
        )?;
    }
    let surrogate = train_surrogate(&profile.samples, common.seed, common.quick)?;
    let forecaster = train_forecaster(std::slice::from_ref(&history), common.seed, common.quick)?;
    println!("learnt all that in {:.1} s", started.elapsed().as_secs_f64());
    let forecast = forecaster.forecast(&history, 24)?;
    plot_forecast(
        &picture("forecast.svg"),
        "The first hours, as forecast",
        &history.tail(144),
        &forecast,
        Some(&live.slice(0, 24)),
    )?;

    // The tuner, with what it knows before these days begin.
    let interval = Duration::from_millis(trace.step_ms());
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

    let start = |config: JobConfig| -> Result<_, Box<dyn std::error::Error>> {
        let simulated = SimulatedCluster::new(Model::default(), cluster.clone(), common.seed)?;
        let simulated = simulated.starting_at(live.start_ms());
        let job = simulated.submit(pipeline.job(config, live.clone()))?;
        Ok((simulated, job))
    };
    let (simulated, job) = start(pipeline.uniform(8))?;
    let mut memory = Memory::default();
    memory.preload(&job, 0, &history)?;
    for seen in &observations {
        memory.learn(&job, seen)?;
    }

    // The yardstick: the same job with the smallest configuration that carries the peak of these days, known in hindsight.
    let fixed_config = tuner.size_for(
        &simulated.observe(&job)?,
        &[peak],
        &cluster,
        &simulated.capabilities()?,
        &memory,
    )?;
    let (fixed_cluster, fixed_job) = start(fixed_config)?;

    let policy = JobPolicy::default().with_objective(Objective::latency_at_most(latency_limit));
    let mut controller = Controller::new(tuner)
        .with_memory(memory)
        .with_policy(job.clone(), policy);
    let mut tuned = Days::new(&simulated, &job, &pipeline, interval)?;
    let mut fixed = Days::new(&fixed_cluster, &fixed_job, &pipeline, interval)?;
    let mut shown = false;
    for point in 0..live.len() {
        simulated.advance(interval);
        fixed_cluster.advance(interval);
        tuned.note(&simulated, &job)?;
        fixed.note(&fixed_cluster, &fixed_job)?;
        let round = controller.round(&simulated)?;
        let plan = &round.plan;
        if !shown && (plan.jobs[0].is_changed() || point + 1 == live.len()) {
            shown = true;
            println!("\nthe first plan that changes something:\n{plan}\nthe days:");
            if let (Some(cost), Some(estimate)) = (plan.jobs[0].cost, &plan.jobs[0].estimate) {
                let chosen = FrontPoint {
                    cost,
                    latency_ms: estimate.latency_ms,
                };
                plot_front(&picture("front.svg"), "Cost against latency", &plan.front, chosen)?;
            }
        }
        if plan.jobs[0].is_changed() {
            let hours = point as f64 * interval.as_secs_f64() / 3600.0;
            let parallelism = plan.jobs[0].config.parallelism();
            println!("  {hours:5.2} h  to {parallelism:?}: {}", plan.jobs[0].decision);
        }
        for (_, outcome) in &round.changes {
            if let Err(error) = outcome {
                println!("  the change failed: {error}");
            }
        }
    }
    println!();
    compare("the days", &tuned, &fixed);
    plot_series(
        &picture("days.svg"),
        "What arrived, and what the pipeline could have carried",
        "records/s",
        &[
            ("arrived", &tuned.series(&tuned.arrivals)?),
            ("capacity, tuned", &tuned.series(&tuned.capacity)?),
            ("capacity, fixed", &fixed.series(&fixed.capacity)?),
        ],
    )?;
    println!("pictures are in {}", common.out.display());
    if tuned.kept_up() {
        Ok(())
    } else {
        Err("the pipeline did not keep up".into())
    }
}
