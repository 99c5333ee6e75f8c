//! A real Flink cluster, started here or elsewhere, and a job on it that is tuned while it runs.
//!
//! The load of the job rises and falls in minutes instead of days, and the tuner looks every five seconds instead of every
//! five minutes. What is printed was seen on the cluster.

#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

mod live;
mod support;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use live::load::Load;
use live::watch::watch;
use streamline_flink::local::{Distribution, LocalCluster, LocalClusterOptions, Version};
use streamline_flink::{FlinkClient, RestClient, RestOptions};
use streamline_predict::SeasonalNaive;
use streamline_tuner::{Controller, Tuner, TunerOptions};
use support::arguments::finish;

/// Tunes a job on a real Flink cluster while its load changes
#[derive(Debug, Parser)]
struct Options {
    /// A cluster with the adaptive scheduler to use, instead of one that is started here
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// How the load goes
    #[arg(long, value_enum, default_value_t = Load::Pattern)]
    load: Load,
    /// Only watches, for comparison
    #[arg(long)]
    untuned: bool,
    /// Where the picture goes
    #[arg(long, default_value = "out", value_name = "FOLDER")]
    out: PathBuf,
}

/// The time between two rounds, and the step of the series of arrival rates.
const STEP: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    finish(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    std::fs::create_dir_all(&options.out)?;
    let own = match &options.url {
        Some(_) => None,
        None => Some(start()?),
    };
    let url = options.url.as_deref().or(own.as_ref().map(LocalCluster::url));
    // Rounds come often here: a change must not be watched for long after it is made.
    let client = RestClient::connect(
        RestOptions::new(url.unwrap_or_default())
            .with_patience(Duration::from_secs(60))
            .with_catch_up(Duration::ZERO),
    )?;
    let capabilities = client.capabilities()?;
    println!(
        "Flink {}, {} slots; parallelism {}",
        capabilities.version,
        client.cluster()?.slots(),
        if capabilities.in_place_rescale {
            "is changed in place"
        } else {
            "takes a restart, for which this example is not made"
        }
    );
    let version = if capabilities.version.starts_with("1.") {
        Version::V1_20
    } else {
        Version::V2_3
    };
    let program = Distribution::fetch(version)?
        .pipeline()?
        .with_arguments(options.load.arguments());
    let job = client.submit(&program, 1)?;

    let tuner = Tuner::builder()
        .predictor(SeasonalNaive::new(options.load.period()))
        .options(TunerOptions {
            interval: STEP,
            step: STEP,
            horizon: 12,
            catch_up: Duration::from_secs(30),
            tolerated_backlog: Duration::from_secs(2),
            assumed_downtime: Duration::from_secs(3),
            // The savings of a minute, which stands for hours here, have to pay for a change.
            downtime_weight: 1.0,
            cooldown: Duration::from_secs(20),
            ..TunerOptions::default()
        })
        .build()?;
    let mut controller = Controller::new(tuner).with_dry_run(options.untuned);
    let told = watch(&client, &job, &mut controller, options.load, STEP);
    client.cancel(&job)?;
    let told = told?;
    told.draw(&options.out.join("live_flink.svg"))?;
    told.sum_up(options.load, !options.untuned)
}

/// A cluster of one machine with room for a job of four subtasks each.
fn start() -> Result<LocalCluster, Box<dyn std::error::Error>> {
    println!("starting Flink; the first time it is fetched");
    Ok(LocalCluster::start(
        LocalClusterOptions::new(Version::V2_3)
            .with_setting(
                "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling",
                "5 s",
            )
            // Every record of network buffers waits longer than one that the source holds: keep them small.
            .with_setting("taskmanager.network.memory.buffer-debloat.enabled", "true"),
    )?)
}
