//! How time, price and traffic grow with size: `cargo run --release -p streamline-sched --example growth`.
//!
//! It fails where 10,000 instances on 1,000 TaskManagers are not placed within 100 ms, or improved within a second to at most
//! 3 % above the lower bound. With `--json INSTANCES TASK_MANAGERS` it prints one input with our answers instead, to hold other solvers against.
#![allow(clippy::print_stdout, reason = "it prints a table")]

use std::time::Instant;

use streamline_sched::{
    BestFitDecreasing, FirstFitDecreasing, FitRule, LocalSearch, LowerBounds, Schedule, Scheduler, Spread,
    Synthetic,
};

type Failure = Box<dyn std::error::Error>;

const SEED: u64 = 7;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => table(),
        [flag, instances, task_managers] if flag == "--json" => {
            json(instances.parse()?, task_managers.parse()?)
        }
        _ => Err("expected nothing, or --json INSTANCES TASK_MANAGERS".into()),
    }
}

fn schedulers() -> [Box<dyn Scheduler>; 5] {
    [
        Box::new(FirstFitDecreasing),
        Box::new(BestFitDecreasing::new(FitRule::Norm)),
        Box::new(BestFitDecreasing::new(FitRule::DotProduct)),
        Box::new(Spread),
        Box::new(LocalSearch::default()),
    ]
}

fn timed(scheduler: &dyn Scheduler, synthetic: &Synthetic) -> Result<(f64, Schedule), Failure> {
    let begin = Instant::now();
    let schedule = scheduler.schedule(&synthetic.request())?;
    Ok((begin.elapsed().as_secs_f64(), schedule))
}

fn table() -> Result<(), Failure> {
    let (mut placed_in, mut improved) = (f64::INFINITY, (f64::INFINITY, f64::INFINITY));
    println!(
        "instances  TaskManagers  scheduler                     time     price  above bound  crossing traffic"
    );
    for (instances, task_managers) in [
        (100, 10),
        (300, 30),
        (1_000, 100),
        (3_000, 300),
        (10_000, 1_000),
        (30_000, 3_000),
    ] {
        let synthetic = Synthetic::new(instances, task_managers, SEED)?;
        let bounds = LowerBounds::of(&synthetic.request())?;
        let all: f64 = synthetic
            .traffic
            .iter()
            .map(|traffic| traffic.bytes_per_second)
            .sum();
        for scheduler in schedulers() {
            let (seconds, schedule) = timed(scheduler.as_ref(), &synthetic)?;
            let gap = bounds.gap(&schedule);
            if instances == 10_000 && schedule.is_complete() {
                placed_in = seconds.min(placed_in);
                improved = if gap < improved.0 {
                    (gap, seconds)
                } else {
                    improved
                };
            }
            println!(
                "{instances:>9}{task_managers:>14}  {:<24}{:>7.1} ms{:>10.1}{:>11.2} %{:>16.1} %{}",
                scheduler.name(),
                seconds * 1e3,
                schedule.measures.price,
                gap * 100.0,
                schedule.measures.traffic / all * 100.0,
                if schedule.is_complete() {
                    ""
                } else {
                    "  incomplete"
                },
            );
        }
    }
    match (placed_in, improved) {
        (..=0.1, (..=0.03, ..=1.0)) => Ok(()),
        (placed_in, (gap, seconds)) => Err(format!(
            "10,000 instances: placed in {placed_in:.3} s, improved in {seconds:.3} s to {:.2} % above the bound",
            gap * 100.0
        )
        .into()),
    }
}

fn json(instances: usize, task_managers: usize) -> Result<(), Failure> {
    let synthetic = Synthetic::new(instances, task_managers, SEED)?;
    let bound = LowerBounds::of(&synthetic.request())?.price;
    let mut ours = Vec::new();
    for scheduler in schedulers() {
        let (seconds, schedule) = timed(scheduler.as_ref(), &synthetic)?;
        ours.push(serde_json::json!({
            "name": scheduler.name(),
            "seconds": seconds,
            "price": schedule.measures.price,
            "complete": schedule.is_complete(),
        }));
    }
    let input = serde_json::json!({
        "demands": synthetic.demands,
        "task_managers": synthetic.cluster,
        "bound": bound,
        "ours": ours,
    });
    println!("{input}");
    Ok(())
}
