//! Profiles a job on a real Flink cluster: what its operators do under configurations and loads, as samples for a surrogate.

#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

mod support;

use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use streamline_core::{JobConfig, Observation};
use streamline_flink::local::{LocalCluster, LocalClusterOptions, Version};
use streamline_flink::{FlinkClient, RestClient, RestOptions};
use streamline_surrogate::{Sample, write_samples};
use streamline_tuner::{Profile, Profiler};
use support::arguments::finish;

/// Profiles a job on a real Flink cluster that is started here
#[derive(Debug, Parser)]
struct Options {
    /// Where the samples go
    #[arg(long, default_value = "out/profile.csv", value_name = "FILE.csv")]
    out: PathBuf,
    /// Sizes of network buffers, in KiB; each takes a cluster of its own, and eight minutes
    #[arg(long, value_delimiter = ',', default_values_t = [32, 8])]
    segments: Vec<u32>,
    /// Two configurations only
    #[arg(long)]
    quick: bool,
}

/// Records a second, each for this long.
const RATES: [u32; 5] = [200, 600, 1_200, 1_800, 2_600];
const DWELL: Duration = Duration::from_secs(16);
const INTERVAL: Duration = Duration::from_secs(4);
/// Subtasks of parse and of count.
const PARALLELISM: [(u32, u32); 6] = [(1, 1), (2, 1), (1, 2), (2, 2), (3, 2), (4, 4)];

fn main() -> ExitCode {
    finish(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let parallelism = if options.quick {
        &PARALLELISM[..2]
    } else {
        &PARALLELISM[..]
    };
    let mut samples = Vec::new();
    for &segment in &options.segments {
        samples.extend(profile(segment, parallelism)?);
    }
    if let Some(folder) = options.out.parent() {
        std::fs::create_dir_all(folder)?;
    }
    write_samples(File::create(&options.out)?, &samples)?;
    println!("{} samples in {}", samples.len(), options.out.display());
    Ok(())
}

/// Profiles the job on a cluster with network buffers of this size.
fn profile(segment_kib: u32, parallelism: &[(u32, u32)]) -> Result<Vec<Sample>, Box<dyn std::error::Error>> {
    let cluster = LocalCluster::start(
        LocalClusterOptions::new(Version::V2_3)
            .with_setting("taskmanager.memory.segment-size", format!("{segment_kib}kb")),
    )?;
    let client = RestClient::connect(RestOptions::new(cluster.url()).with_catch_up(Duration::ZERO))?;
    let dwell = DWELL.as_secs();
    let steps: Vec<String> = (0..)
        .zip(RATES)
        .map(|(step, rate)| format!("{}:{rate}", step * dwell))
        .collect();
    let period = dwell * RATES.len() as u64;
    // Costs are computed, not waited, so that the cpu is real and the machine's cores are shared. The last subtask that a
    // configuration adds may thus bring nothing.
    let program = cluster.distribution().pipeline()?.with_arguments([
        "--schedule",
        &steps.join(","),
        "--period",
        &period.to_string(),
        "--burn",
        "true",
        "--parse-us",
        "400",
        "--count-us",
        "250",
        "--sink-us",
        "50",
        "--parse-selectivity",
        "1.25",
        "--count-selectivity",
        "0.5",
        "--checkpoint-ms",
        "2000",
    ]);
    let job = client.submit(&program, 1)?;
    std::thread::sleep(INTERVAL);
    let seen = client.observe(&job)?;
    let configs: Vec<JobConfig> = parallelism
        .iter()
        .map(|&(parse, count)| configure(&seen, parse, count))
        .collect();
    let profiler = Profiler {
        looks: usize::try_from(period / INTERVAL.as_secs())? + 1,
        interval: INTERVAL,
        tolerance: 0.1,
    };
    let profiled = profiler.profile(&client, &job, &configs, &mut std::thread::sleep)?;
    for (config, error) in &profiled.refused {
        println!("not taken: {config:?}: {error}");
    }
    let saturated = profiled.steady.iter().filter(|steady| steady.saturated).count();
    println!(
        "buffers of {segment_kib} KiB: {} steady looks, {saturated} of them saturated",
        profiled.steady.len()
    );
    let seen: Vec<Observation> = profiled.steady.into_iter().map(|steady| steady.seen).collect();
    let cluster = client.cluster()?;
    client.cancel(&job)?;
    Ok(Profile::from_observations(&seen, &cluster)?.samples)
}

fn configure(seen: &Observation, parse: u32, count: u32) -> JobConfig {
    let mut config = seen.config.clone();
    for (operator, config) in seen.graph.operators().iter().zip(&mut config.operators) {
        match operator.name.as_str() {
            "parse" => config.parallelism = parse,
            "count" => config.parallelism = count,
            _ => {}
        }
    }
    config
}
