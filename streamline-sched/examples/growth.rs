//! How time and price grow with size: `cargo run --release -p streamline-sched --example growth`.
//!
//! With `--write FILE INSTANCES TASK_MANAGERS` it writes one input as JSON instead, for other solvers.
#![allow(clippy::print_stdout, reason = "it prints a table")]

use std::time::Instant;

use streamline_sched::{
    BestFitDecreasing, FirstFitDecreasing, FitRule, LocalSearch, LowerBounds, Scheduler, Spread, Synthetic,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "instances  TaskManagers  {:<24}time      price     above bound  crossing traffic",
        "scheduler"
    );
    let schedulers: [&dyn Scheduler; 5] = [
        &FirstFitDecreasing,
        &BestFitDecreasing::new(FitRule::Norm),
        &BestFitDecreasing::new(FitRule::DotProduct),
        &Spread,
        &LocalSearch::default(),
    ];
    for (instances, task_managers) in [(100, 10), (300, 30), (1_000, 100), (3_000, 300), (10_000, 1_000)] {
        let synthetic = Synthetic::new(instances, task_managers, 7)?;
        let request = synthetic.request();
        let bounds = LowerBounds::of(&request)?;
        for scheduler in schedulers {
            let begin = Instant::now();
            let schedule = scheduler.schedule(&request)?;
            let seconds = begin.elapsed().as_secs_f64();
            let all: f64 = synthetic
                .traffic
                .iter()
                .map(|traffic| traffic.bytes_per_second)
                .sum();
            println!(
                "{instances:>9}{task_managers:>14}  {:<24}{:>7.1} ms {:>9.1} {:>10.2} % {:>15.1} %  {}",
                scheduler.name(),
                seconds * 1e3,
                schedule.measures.price,
                bounds.gap(&schedule) * 100.0,
                schedule.measures.traffic / all * 100.0,
                if schedule.is_complete() { "" } else { "incomplete" },
            );
        }
    }
    Ok(())
}
