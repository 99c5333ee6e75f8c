//! Runs the published instances and prints a table: `cargo run --release -p streamline-sched --example published`.
//!
//! The one-dimensional instances are Falkenauer's uniform ones from the OR-Library, in `../shared/data/binpacking` seen
//! from the workspace or in the folder given as the first argument. It fails where the local search reaches the best known
//! number of bins on fewer than 58 of the 60, or takes longer than a second for one.
#![allow(clippy::print_stdout, reason = "it prints a table")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use streamline_core::{Cluster, Instance};
use streamline_sched::{BestFitDecreasing, Demand, FirstFitDecreasing, LocalSearch, Request, Scheduler};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let folder = std::env::args().nth(1).map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/binpacking"),
        PathBuf::from,
    );
    let schedulers: [&dyn Scheduler; 3] = [
        &FirstFitDecreasing,
        &BestFitDecreasing::default(),
        &LocalSearch::default(),
    ];
    println!(
        "file          instances  {:<24}at best known  above it by  slowest",
        "scheduler"
    );
    let mut searched = (0, 0.0f64);
    for file in ["binpack1.txt", "binpack2.txt", "binpack3.txt"] {
        let path = folder.join(file);
        let fail = |error: Failure| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|error| fail(error.into()))?;
        let instances = parse(&text).map_err(fail)?;
        for scheduler in schedulers {
            let (mut reached, mut above, mut slowest) = (0, 0, 0.0f64);
            for (capacity, best, sizes) in &instances {
                // One unit of size is one core.
                let cluster = Cluster::uniform(sizes.len(), *capacity, 1, 64)?;
                let demands: Vec<Demand> = sizes
                    .iter()
                    .enumerate()
                    .map(|(n, &size)| demand(n, size))
                    .collect();
                let begin = Instant::now();
                let schedule = scheduler.schedule(&Request::new(&demands, &cluster))?;
                slowest = slowest.max(begin.elapsed().as_secs_f64());
                let used = schedule.task_managers_used();
                reached += usize::from(used <= *best);
                above += used.saturating_sub(*best);
            }
            println!(
                "{file:<14}{:>9}  {:<24}{reached:>13}{above:>13}{slowest:>8.3} s",
                instances.len(),
                scheduler.name()
            );
            if scheduler.name() == LocalSearch::default().name() {
                searched = (searched.0 + reached, searched.1.max(slowest));
            }
        }
    }
    match searched {
        (58.., ..=1.0) => Ok(()),
        (reached, slowest) => Err(format!("local search: {reached} reached, slowest {slowest:.3} s").into()),
    }
}

fn demand(operator: usize, cpu_cores: f64) -> Demand {
    Demand {
        instance: Instance {
            job: 0,
            operator,
            subtask: 0,
        },
        cpu_cores,
        memory_bytes: 0,
        network_bytes: 0,
        sharing_group: 0,
        state_bytes: 0,
    }
}

/// Capacity, best known number of bins and sizes of each instance.
fn parse(text: &str) -> Result<Vec<(f64, usize, Vec<f64>)>, Failure> {
    let mut words = text.split_whitespace();
    let mut next = || words.next().ok_or("the file ends early");
    let count: usize = next()?.parse()?;
    let mut instances = Vec::new();
    for _ in 0..count {
        next()?;
        let capacity = next()?.parse()?;
        let items: usize = next()?.parse()?;
        let best = next()?.parse()?;
        let sizes: Result<Vec<f64>, Failure> = (0..items).map(|_| Ok(next()?.parse()?)).collect();
        instances.push((capacity, best, sizes?));
    }
    Ok(instances)
}
