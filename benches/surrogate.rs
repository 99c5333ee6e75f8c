//! How fast the surrogates answer and learn.
//!
//! Batches are swept because the search asks for all options of all operators at once (thousands of rows) while a
//! controller that only checks asks for a few; the network is the 8-64-64-3 one that published figures are given for.

#![allow(missing_docs, reason = "criterion's macros make public items")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use streamline_core::{OperatorEstimate, OperatorKind};
use streamline_surrogate::{
    Analytic, CapacityCurve, DenseLayer, DenseNetwork, Mlp, MlpOptions, PerformanceSurrogate, Prediction,
    Query, Sample,
};

const BATCHES: [usize; 5] = [1, 16, 100, 1_000, 10_000];

/// A number from 0 to 1, spread evenly over many `n` (the golden-ratio sequence), each `stream` in its own order.
fn spread(n: usize, stream: usize) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    ((n as f64 + 1.0) * (GOLDEN + 0.1 * stream as f64).fract()).fract()
}

fn samples(count: usize) -> Vec<Sample> {
    (0..count)
        .map(|n| {
            let parallelism = 1 + (24.0 * spread(n, 0)) as u32;
            let p = f64::from(parallelism);
            let unit_rate = 10_000.0;
            let query = Query {
                kind: OperatorKind::ALL[(6.0 * spread(n, 1)) as usize],
                unit_rate,
                parallelism,
                segment_bytes: 4096 << (5.0 * spread(n, 2)) as u32,
                buffer_timeout_ms: [10, 50, 100][(3.0 * spread(n, 3)) as usize],
                input_rate: unit_rate * p * 1.2 * spread(n, 4),
                selectivity: 0.5,
                record_bytes: 100.0,
                colocation_load: 1.5 * spread(n, 5),
            };
            let throughput = query.input_rate.min(unit_rate * p / (1.0 + 0.05 * (p - 1.0)));
            Sample {
                query,
                measured: OperatorEstimate {
                    throughput,
                    latency_ms: 10.0 + 3.0 * p + 5.0 * spread(n, 6),
                    cpu_cores: 1.2 * throughput / unit_rate + 0.02 * p,
                },
            }
        })
        .collect()
}

fn network(criterion: &mut Criterion) {
    let layers = [(8, 64), (64, 64), (64, 3)]
        .into_iter()
        .map(|(inputs, outputs)| DenseLayer {
            inputs,
            outputs,
            weights: (0..inputs * outputs).map(|n| spread(n, 0) as f32 - 0.5).collect(),
            bias: vec![0.1; outputs],
        })
        .collect();
    let network = DenseNetwork::new(layers).expect("a sound network");
    let mut group = criterion.benchmark_group("surrogate/network 8-64-64-3");
    for batch in BATCHES {
        let rows: Vec<f32> = (0..8 * batch).map(|n| spread(n, 1) as f32).collect();
        let mut out = vec![0.0; 3 * batch];
        group.throughput(Throughput::Elements(batch as u64));
        group.bench_function(BenchmarkId::from_parameter(batch), |bencher| {
            bencher.iter(|| network.infer(&rows, &mut out));
        });
    }
    group.finish();
}

fn predict(criterion: &mut Criterion) {
    let samples = samples(1600);
    let one = MlpOptions {
        members: 1,
        epochs: 10,
        ..MlpOptions::default()
    };
    let five = MlpOptions {
        members: 5,
        ..one.clone()
    };
    let [one, five] = [one, five].map(|options| Mlp::fit(&samples, &options).expect("sound samples"));
    let analytic = Analytic::default();
    let surrogates: [(&str, &dyn PerformanceSurrogate); 3] =
        [("analytic", &analytic), ("mlp of 1", &one), ("mlp of 5", &five)];
    let mut group = criterion.benchmark_group("surrogate/predict");
    for (name, surrogate) in surrogates {
        for batch in [1, 100, 10_000] {
            let queries: Vec<Query> = (0..batch).map(|n| samples[n % samples.len()].query).collect();
            let mut out = vec![Prediction::ZERO; batch];
            group.throughput(Throughput::Elements(batch as u64));
            group.bench_function(BenchmarkId::new(name, batch), |bencher| {
                bencher.iter(|| surrogate.predict(&queries, &mut out));
            });
        }
    }
    group.finish();
}

fn train(criterion: &mut Criterion) {
    let samples = samples(1600);
    let mut group = criterion.benchmark_group("surrogate/train 200 epochs");
    group.sample_size(10);
    for members in [1usize, 5] {
        let options = MlpOptions {
            members,
            epochs: 200,
            patience: 200,
            ..MlpOptions::default()
        };
        group.throughput(Throughput::Elements(200 * samples.len() as u64));
        group.bench_function(BenchmarkId::new("members", members), |bencher| {
            bencher.iter(|| Mlp::fit(&samples, &options));
        });
    }
    group.finish();
}

fn capacity(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("surrogate/capacity");
    for count in [5u32, 20, 100] {
        let points: Vec<(u32, f64)> = (1..=count)
            .map(|p| {
                let noise = 0.98 + 0.04 * spread(p as usize, 0);
                (p, noise * 1000.0 * f64::from(p) / (1.0 + 0.02 * f64::from(p - 1)))
            })
            .collect();
        group.bench_function(BenchmarkId::new("fit", count), |bencher| {
            bencher.iter(|| CapacityCurve::fit(&points));
        });
    }
    group.finish();
}

criterion_group!(benches, network, predict, train, capacity);
criterion_main!(benches);
