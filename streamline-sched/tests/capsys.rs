//! Measured queries of `CAPSys` (Wang et al., `EuroSys` 2025): the contention of our plans against exhaustive search.
#![allow(clippy::print_stdout, reason = "the figures are part of what the test shows")]

use std::path::PathBuf;
use std::time::Instant;

use serde::Deserialize;
use streamline_core::{Cluster, Instance, Partitioning};
use streamline_sched::{
    Contention, Demand, LocalSearch, Objective, Request, Scheduler, Spread, StateAccess, Term, Traffic,
};

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    id: String,
    parallelism: u32,
    state: f64,
    compute: f64,
    network: f64,
    outboundtype: String,
    down_node: Vec<String>,
}

/// The measured queries whose file names start so, or `None` on a machine without them.
fn queries(prefix: &str) -> Option<Vec<(String, Vec<Task>)>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/capsys");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        assert!(
            std::env::var_os("CI").is_none(),
            "{} is missing",
            folder.display()
        );
        println!("skipped: {} is missing", folder.display());
        return None;
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|n| n.starts_with(prefix))
        .collect();
    names.sort();
    let read = |name: String| {
        let text = std::fs::read_to_string(folder.join(&name)).expect("the file can be read");
        let tasks = serde_json::from_str(&text).expect("the file is JSON of the expected shape");
        (name, tasks)
    };
    Some(names.into_iter().map(read).collect())
}

const NO_LIMITS: Contention = Contention::new(1.0, 1.0, 1.0);

/// Four workers with the fewest slots out of 8, 16 and 32 that hold every task in a slot of its own.
fn workers(tasks: &[Task]) -> (usize, u32) {
    let all: u32 = tasks.iter().map(|task| task.parallelism).sum();
    (
        4,
        [8, 16, 32]
            .into_iter()
            .find(|slots| 4 * slots >= all)
            .expect("at most 128 tasks"),
    )
}

fn plan(
    scheduler: &dyn Scheduler,
    tasks: &[Task],
    workers: usize,
    slots: u32,
    limits: Contention,
) -> Contention {
    let cluster = Cluster::uniform(workers, 1e6, 1, slots).expect("the input is valid");
    let (mut demands, mut traffic, mut access) = (Vec::new(), Vec::new(), Vec::new());
    for (operator, task) in tasks.iter().enumerate() {
        for subtask in 0..task.parallelism {
            demands.push(Demand {
                instance: Instance {
                    job: 0,
                    operator,
                    subtask,
                },
                cpu_cores: task.compute,
                memory_bytes: 0,
                network_bytes: 0,
                sharing_group: operator as u32,
                state_bytes: 0,
            });
        }
        access.push(StateAccess {
            job: 0,
            operator,
            bytes_per_second: task.state,
        });
        for down in &task.down_node {
            let to = tasks
                .iter()
                .position(|task| &task.id == down)
                .expect("the receiver is there");
            let partitioning = match task.outboundtype.as_str() {
                "FORWARD" => Partitioning::Forward,
                "HASH" => Partitioning::Hash,
                _ => Partitioning::Rebalance,
            };
            let rate = task.network * f64::from(task.parallelism);
            traffic.push(Traffic::new(0, operator, to, partitioning, rate, 1.0));
        }
    }
    let objective = Objective::lexicographic([vec![(Term::Unplaced, 1.0)], vec![(Term::Contention, 1.0)]])
        .expect("the input is valid");
    let request = Request::new(&demands, &cluster)
        .with_traffic(&traffic)
        .with_state_access(&access)
        .with_objective(&objective)
        .with_contention_limits(limits);
    let schedule = scheduler.schedule(&request).expect("the input is valid");
    assert!(schedule.is_complete());
    schedule.measures.contention
}

/// All plans, up to exchanging workers, one operator after the other; those that cannot be better are cut off.
struct Exhaustive<'a> {
    tasks: &'a [Task],
    down: Vec<Vec<usize>>,
    order: Vec<usize>,
    /// Where each operator is in the order.
    position: Vec<usize>,
    slots: u32,
    even: [f64; 2],
    range: [f64; 3],
    /// Tasks of each operator on each worker.
    counts: Vec<Vec<u32>>,
    best: f64,
}

impl<'a> Exhaustive<'a> {
    fn new(tasks: &'a [Task], workers: usize, slots: u32, best: f64) -> Self {
        let find = |id: &String| {
            tasks
                .iter()
                .position(|task| &task.id == id)
                .expect("the receiver is there")
        };
        let heaviest = |load: fn(&Task) -> f64| {
            let mut all: Vec<f64> = tasks
                .iter()
                .flat_map(|task| vec![load(task); task.parallelism as usize])
                .collect();
            all.sort_by(|a, b| b.total_cmp(a));
            (
                all.iter().sum::<f64>() / workers as f64,
                all.iter().take(slots as usize).sum::<f64>(),
            )
        };
        let [cpu, state, network] = [
            heaviest(|t| t.compute),
            heaviest(|t| t.state),
            heaviest(|t| t.network),
        ];
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        order.sort_by(|&a, &b| {
            let load = |task: usize| tasks[task].compute * f64::from(tasks[task].parallelism);
            load(b).total_cmp(&load(a))
        });
        let mut position = vec![0; tasks.len()];
        for (at, &task) in order.iter().enumerate() {
            position[task] = at;
        }
        Self {
            position,
            down: tasks
                .iter()
                .map(|task| task.down_node.iter().map(find).collect())
                .collect(),
            tasks,
            order,
            slots,
            even: [cpu.0, state.0],
            range: [cpu.1 - cpu.0, state.1 - state.0, network.1],
            counts: vec![vec![0; tasks.len()]; workers],
            best,
        }
    }

    /// Cpu and state of a worker so far; network only counts the links whose both ends are placed.
    fn cost(&self, worker: usize, placed: usize) -> f64 {
        let counts = &self.counts[worker];
        let (mut cpu, mut state, mut network) = (0.0, 0.0, 0.0);
        for (operator, task) in self.tasks.iter().enumerate() {
            let here = f64::from(counts[operator]);
            cpu += here * task.compute;
            state += here * task.state;
            for &down in &self.down[operator] {
                if self.position[operator] < placed && self.position[down] < placed {
                    let there = f64::from(counts[down]);
                    network += task.network
                        * if task.outboundtype == "FORWARD" {
                            (here - there).max(0.0)
                        } else {
                            here * (1.0 - there / f64::from(self.tasks[down].parallelism))
                        };
                }
            }
        }
        let share = |load: f64, range: f64| if range > 0.0 { (load / range).max(0.0) } else { 0.0 };
        share(cpu - self.even[0], self.range[0])
            .max(share(state - self.even[1], self.range[1]))
            .max(share(network, self.range[2]))
    }

    fn place(&mut self, at: usize) {
        let Some(&operator) = self.order.get(at) else {
            let cost = (0..self.counts.len())
                .map(|worker| self.cost(worker, at))
                .fold(0.0, f64::max);
            self.best = self.best.min(cost);
            return;
        };
        self.deal(at, operator, 0, self.tasks[operator].parallelism);
    }

    fn deal(&mut self, at: usize, operator: usize, worker: usize, left: u32) {
        if worker == self.counts.len() {
            if left == 0 && (0..worker).all(|worker| self.cost(worker, at + 1) < self.best - 1e-12) {
                self.place(at + 1);
            }
            return;
        }
        let used: u32 = self.counts[worker].iter().sum();
        // Workers that are equal so far take falling numbers.
        let twin = (0..worker).rev().find(|&other| {
            let same = |operator: &usize| self.counts[other][*operator] == self.counts[worker][*operator];
            self.order[..at].iter().all(same)
        });
        let most = twin
            .map_or(left, |twin| self.counts[twin][operator].min(left))
            .min(self.slots - used);
        for number in (0..=most).rev() {
            self.counts[worker][operator] = number;
            if self.cost(worker, at) < self.best - 1e-12 {
                self.deal(at, operator, worker + 1, left - number);
            }
        }
        self.counts[worker][operator] = 0;
    }
}

#[test]
fn single_queries_are_planned_no_worse_than_by_exhaustive_search() {
    let Some(queries) = queries("json__singlequery") else {
        return;
    };
    assert_eq!(queries.len(), 24);
    for (name, tasks) in queries {
        let (workers, slots) = workers(&tasks);
        let begin = Instant::now();
        let ours = plan(&LocalSearch::default(), &tasks, workers, slots, NO_LIMITS);
        let (our_time, begin) = (begin.elapsed(), Instant::now());
        // Cut off at what we have: whatever is found is better.
        let mut exhaustive = Exhaustive::new(&tasks, workers, slots, ours.largest());
        exhaustive.place(0);
        println!(
            "{name}: {workers} x {slots}, ours {:.6} in {our_time:.1?}, exhaustive {:.6} in {:.1?}",
            ours.largest(),
            exhaustive.best,
            begin.elapsed()
        );
        assert!(ours.largest() <= exhaustive.best + 1e-9, "{name}");
    }
}

#[test]
fn the_published_multi_query_instance_meets_its_published_thresholds() {
    let Some(queries) = queries("json__mergedQuery") else {
        return;
    };
    // The thresholds of the authors' own run.
    let limits = Contention::new(0.08, 0.15, 0.9);
    let begin = Instant::now();
    let contention = plan(&LocalSearch::default(), &queries[0].1, 20, 8, limits);
    println!(
        "merged queries, 20 workers of 8 slots: {contention:?} in {:.1?}",
        begin.elapsed()
    );
    assert!(contention.cpu <= limits.cpu);
    assert!(contention.state_access <= limits.state_access);
    assert!(contention.network <= limits.network);
}

#[test]
fn several_queries_at_once_and_large_ones_contend_less_than_when_spread_evenly() {
    let files = ["json__multiquery", "json__microbenchmark"];
    let Some(queries) = files
        .iter()
        .map(|prefix| queries(prefix))
        .collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let queries = queries.concat();
    assert_eq!(queries.len(), 4);
    for (name, tasks) in queries {
        let all: u32 = tasks.iter().map(|task| task.parallelism).sum();
        let workers = all.div_ceil(8) as usize;
        let spread = plan(&Spread, &tasks, workers, 8, NO_LIMITS);
        let begin = Instant::now();
        let ours = plan(&LocalSearch::default(), &tasks, workers, 8, NO_LIMITS);
        println!(
            "{name}: {all} tasks on {workers} x 8, ours {ours:.4?} in {:.1?}, spread {spread:.4?}",
            begin.elapsed(),
        );
        assert!(ours.largest() < spread.largest(), "{name}");
    }
}
