//! How fast placements are found.
//!
//! Swept over size with ten instances a TaskManager, as price and time of a packing depend on both; the incremental update
//! is swept over the size of the cluster with one job of fixed size, for it is to depend on the job alone.

#![allow(missing_docs, reason = "criterion's macros make public items")]

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use streamline_sched::{
    BestFitDecreasing, Demand, FirstFitDecreasing, FitRule, IncrementalPlacement, LocalSearch, LowerBounds,
    Scheduler, Synthetic,
};

const SIZES: [(usize, usize); 3] = [(100, 10), (1_000, 100), (10_000, 1_000)];
const SEED: u64 = 7;

fn initial(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sched/initial");
    group.sample_size(10);
    let schedulers: [&dyn Scheduler; 3] = [
        &FirstFitDecreasing,
        &BestFitDecreasing::default(),
        &BestFitDecreasing::new(FitRule::DotProduct),
    ];
    for (instances, task_managers) in SIZES {
        let synthetic = Synthetic::new(instances, task_managers, SEED).expect("the numbers are valid");
        group.throughput(Throughput::Elements(instances as u64));
        for scheduler in schedulers {
            group.bench_function(BenchmarkId::new(scheduler.name(), instances), |bencher| {
                bencher.iter(|| scheduler.schedule(&synthetic.request()));
            });
        }
    }
    group.finish();
}

fn improved(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sched/improved");
    group.sample_size(10);
    for (instances, task_managers) in SIZES {
        let synthetic = Synthetic::new(instances, task_managers, SEED).expect("the numbers are valid");
        group.throughput(Throughput::Elements(instances as u64));
        let schedule = LocalSearch::default()
            .schedule(&synthetic.request())
            .expect("the request is valid");
        assert!(schedule.is_complete());
        group.bench_function(BenchmarkId::new("local search", instances), |bencher| {
            bencher.iter(|| LocalSearch::default().schedule(&synthetic.request()));
        });
        group.bench_function(BenchmarkId::new("lower bounds", instances), |bencher| {
            bencher.iter(|| LowerBounds::of(&synthetic.request()));
        });
    }
    group.finish();
}

fn incremental(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sched/incremental");
    for (instances, task_managers) in SIZES {
        let synthetic = Synthetic::new(instances, task_managers, SEED).expect("the numbers are valid");
        let mut placement =
            IncrementalPlacement::new(synthetic.cluster.clone(), 0.0).expect("the headroom is valid");
        let of_job = |job: usize| -> Vec<Demand> {
            synthetic
                .demands
                .iter()
                .filter(|demand| demand.instance.job == job)
                .copied()
                .collect()
        };
        for job in 1..synthetic.jobs() {
            placement
                .update_job(job, &of_job(job))
                .expect("the demands are valid");
        }
        let demands = of_job(0);
        group.throughput(Throughput::Elements(demands.len() as u64));
        group.bench_function(
            BenchmarkId::new("add and remove a job, cluster of", instances),
            |bencher| {
                bencher.iter_batched_ref(
                    || (),
                    |()| {
                        let change = placement.update_job(0, &demands);
                        placement.update_job(0, &[]).and(change)
                    },
                    BatchSize::SmallInput,
                );
            },
        );
    }
    group.finish();
}

criterion_group!(benches, initial, improved, incremental);
criterion_main!(benches);
