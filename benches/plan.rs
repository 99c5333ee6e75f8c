//! How long a whole round of planning takes: forecast, estimate, search, decide, place.
//!
//! Swept over the number of jobs, for that is what grows; each has four operators with up to 32 options of parallelism
//! and five of segment size.

#![allow(missing_docs, reason = "criterion's macros make public items")]

#[path = "../tests/support/mod.rs"]
mod support;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use streamline_core::{Cluster, Observation};
use streamline_tuner::{JobPolicy, Memory, PlanRequest, Tuner, TunerOptions};
use support::{STEP_MS, Times, capabilities, seen};

fn plan(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("plan/jobs");
    group.sample_size(10);
    let tuner = Tuner::builder()
        .predictor(Times(1.3))
        .build()
        .expect("the default options are sound");
    for jobs in [1usize, 10, 50] {
        let observations: Vec<Observation> = (0..jobs)
            .map(|n| {
                seen(
                    &format!("job {n}"),
                    STEP_MS,
                    1_000.0 + 100.0 * (n % 50) as f64,
                    1_000.0,
                    8,
                )
            })
            .collect();
        let policies = vec![JobPolicy::default(); jobs];
        let cluster = Cluster::uniform(4 * jobs, 16.0, 64 << 30, 16).expect("a sound cluster");
        let mut memory = Memory::default();
        for seen in &observations {
            memory
                .remember(seen, TunerOptions::default().step)
                .expect("a sound observation");
        }
        let capabilities = capabilities();
        let request = PlanRequest {
            observations: &observations,
            policies: &policies,
            cluster: &cluster,
            capabilities: &capabilities,
            memory: &memory,
        };
        assert!(tuner.plan(&request).expect("a plan").schedule.is_complete());
        group.throughput(Throughput::Elements(jobs as u64 * 4));
        group.bench_function(BenchmarkId::from_parameter(jobs), |bencher| {
            bencher.iter(|| tuner.plan(&request))
        });
    }
    group.finish();
}

criterion_group!(benches, plan);
criterion_main!(benches);
