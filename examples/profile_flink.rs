//! Profiles a job on a real Flink cluster: what its operators do under configurations and loads, as samples for a surrogate.

#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

mod support;

use std::fs::File;
use std::ops::Range;
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

/// Profiles a job on real Flink clusters that are started here
#[derive(Debug, Parser)]
struct Options {
    /// Where the samples go
    #[arg(long, default_value = "out/profile.csv", value_name = "FILE.csv")]
    out: PathBuf,
    /// Sizes of network buffers, in KiB
    #[arg(long, value_delimiter = ',', default_values_t = [8, 32, 128])]
    segments: Vec<u32>,
    /// Buffer timeouts in milliseconds; with each size of buffers each takes a cluster of its own
    #[arg(long, value_delimiter = ',', default_values_t = [10, 100])]
    timeouts: Vec<u32>,
    /// Configurations on each cluster, a minute for each
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    configurations: u32,
    /// One cluster and two configurations only
    #[arg(long)]
    quick: bool,
}

/// Records a second of each of the two sources, each for this long. The last is more than two cores can do.
const RATES: [u32; 5] = [100, 300, 700, 1_200, 2_400];
const DWELL: Duration = Duration::from_secs(12);
const INTERVAL: Duration = Duration::from_secs(3);
/// What a record costs each operator in microseconds, computed and not waited, so that the cpu is real and the machine's cores
/// are shared: map is heavy on the cpu, count on its state.
const ARGUMENTS: &str = "--shape kinds --burn true --join-us 80 --map-us 300 --filter-us 40 --count-us 60 --window-us 100 \
                         --sink-us 50 --state-bytes 20000 --keys 64 --window-ms 100 --checkpoint-ms 2000";
/// The widest operator.
const WIDEST: u32 = 6;

fn main() -> ExitCode {
    finish(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let clusters: Vec<(u32, u32)> = (options.segments.iter())
        .flat_map(|&segment| options.timeouts.iter().map(move |&timeout| (segment, timeout)))
        .collect();
    let (clusters, count) = if options.quick {
        (&clusters[..1], 2)
    } else {
        (&clusters[..], options.configurations)
    };
    if let Some(folder) = options.out.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut samples = Vec::new();
    for (index, &(segment, timeout)) in (0..).zip(clusters) {
        samples.extend(profile(segment, timeout, index * count..(index + 1) * count)?);
        // Anew each time, so that what was measured outlasts what fails later.
        write_samples(File::create(&options.out)?, &samples)?;
    }
    println!("{} samples in {}", samples.len(), options.out.display());
    Ok(())
}

/// Profiles the job on a cluster with network buffers of this size and this timeout.
fn profile(
    segment_kib: u32,
    timeout_ms: u32,
    configurations: Range<u32>,
) -> Result<Vec<Sample>, Box<dyn std::error::Error>> {
    let cluster = LocalCluster::start(
        LocalClusterOptions::new(Version::V2_3)
            .with_slots(WIDEST)
            .with_setting("taskmanager.memory.segment-size", format!("{segment_kib}kb"))
            .with_setting("taskmanager.memory.network.min", "512m")
            .with_setting("taskmanager.memory.network.max", "512m")
            .with_setting("execution.buffer-timeout.interval", format!("{timeout_ms}ms"))
            .with_setting("state.backend.type", "rocksdb"),
    )?;
    let client = RestClient::connect(RestOptions::new(cluster.url()).with_catch_up(Duration::ZERO))?;
    let dwell = DWELL.as_secs();
    let steps: Vec<String> = (0..)
        .zip(RATES)
        .map(|(step, rate)| format!("{}:{rate}", step * dwell))
        .collect();
    let period = dwell * RATES.len() as u64;
    let schedule = [
        "--schedule".into(),
        steps.join(","),
        "--period".into(),
        period.to_string(),
    ];
    let arguments = ARGUMENTS.split(' ').map(String::from).chain(schedule);
    let program = cluster.distribution().pipeline()?.with_arguments(arguments);
    let job = client.submit(&program, 1)?;
    std::thread::sleep(INTERVAL);
    let seen = client.observe(&job)?;
    let configs: Vec<JobConfig> = configurations.map(|number| configure(&seen, number)).collect();
    let profiler = Profiler {
        looks: usize::try_from(period / INTERVAL.as_secs())? + 1,
        interval: INTERVAL,
        tolerance: 0.15,
    };
    let profiled = profiler.profile(&client, &job, &configs, &mut std::thread::sleep)?;
    for (config, error) in &profiled.refused {
        println!("not taken: {config:?}: {error}");
    }
    let saturated = profiled.steady.iter().filter(|steady| steady.saturated).count();
    println!(
        "buffers of {segment_kib} KiB, sent after {timeout_ms} ms: {} steady looks, {saturated} of them saturated",
        profiled.steady.len()
    );
    let seen: Vec<Observation> = profiled.steady.into_iter().map(|steady| steady.seen).collect();
    let cluster = client.cluster()?;
    client.cancel(&job)?;
    Ok(Profile::from_observations(&seen, &cluster)?.samples)
}

/// The configuration of this number: each operator goes through the widths at a pace of its own.
fn configure(seen: &Observation, number: u32) -> JobConfig {
    let mut config = seen.config.clone();
    for (pace, operator) in (1..).zip(&mut config.operators) {
        operator.parallelism = 1 + (number * pace + number / (WIDEST + 1)) % (WIDEST + 1) % WIDEST;
    }
    config
}
