//! How long it takes to look at 50 jobs of 20 vertices each, on a real cluster on this machine.
//!
//! `cargo run --release -p streamline-flink --features local --example many_jobs` ends with exit code 0 only where every rate
//! is known at the second look at all jobs, and that look took 5 s at most.
#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use streamline_core::Observation;
use streamline_flink::local::{LocalCluster, LocalClusterOptions, Version};
use streamline_flink::{FlinkClient, FlinkError, RestClient};

const JOBS: usize = 50;
const VERTICES: usize = 20;
const AT_MOST: Duration = Duration::from_secs(5);

fn main() -> Result<ExitCode, Box<dyn Error>> {
    // Small buffers, so that those of a thousand subtasks fit.
    let options = LocalClusterOptions::new(Version::V2_3)
        .with_task_managers(2)
        .with_slots(JOBS.div_ceil(2) as u32)
        .with_setting("taskmanager.memory.segment-size", "4kb");
    let cluster = LocalCluster::start(options)?;
    let client = RestClient::connect(cluster.rest_options())?;
    let stages = (VERTICES - 4).to_string();
    let program =
        cluster
            .distribution()
            .pipeline()?
            .with_arguments(["--stages", &stages, "--schedule", "0:20"]);
    for job in 1..=JOBS {
        client.submit(&program, 1)?;
        println!("{job} of {JOBS} jobs run");
    }
    look(&client)?;
    std::thread::sleep(Duration::from_secs(5));
    let (seen, took) = look(&client)?;
    let known = seen.iter().all(|seen| {
        let rates = seen
            .operators
            .iter()
            .all(|operator| operator.input_rate.is_some());
        rates && seen.operators.len() == VERTICES
    });
    Ok(if known && seen.len() == JOBS && took <= AT_MOST {
        ExitCode::SUCCESS
    } else {
        println!("expected every rate known, in {AT_MOST:?}");
        ExitCode::FAILURE
    })
}

/// Looks at every job.
fn look(client: &RestClient) -> Result<(Vec<Observation>, Duration), FlinkError> {
    let begun = Instant::now();
    let jobs = client.jobs()?;
    let seen = jobs
        .iter()
        .map(|job| client.observe(job))
        .collect::<Result<Vec<_>, _>>()?;
    let took = begun.elapsed();
    let vertices: usize = seen.iter().map(|seen| seen.operators.len()).sum();
    println!(
        "looked at {} jobs with {vertices} vertices in {:.2} s",
        jobs.len(),
        took.as_secs_f64()
    );
    Ok((seen, took))
}
