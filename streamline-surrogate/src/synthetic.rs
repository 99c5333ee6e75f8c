//! Queries and samples for tests.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use streamline_core::{OperatorEstimate, OperatorKind};

use crate::{Query, Sample, Scalability};

/// An ordinary query.
pub(crate) fn query() -> Query {
    Query {
        kind: OperatorKind::Map,
        unit_rate: 10_000.0,
        parallelism: 4,
        segment_bytes: 32 << 10,
        buffer_timeout_ms: 100,
        input_rate: 20_000.0,
        selectivity: 1.0,
        record_bytes: 100.0,
        colocation_load: 0.5,
    }
}

/// Any query that passes its check.
pub(crate) fn any_query() -> impl Strategy<Value = Query> {
    let magnitude = |from: f64, to: f64| (from.log10()..to.log10()).prop_map(|exponent| 10f64.powf(exponent));
    let or_zero = move |to: f64| prop_oneof![1 => Just(0.0), 9 => magnitude(1e-6, to)];
    (
        (0..OperatorKind::ALL.len()).prop_map(|index| OperatorKind::ALL[index]),
        magnitude(1e-5, 1e11),
        prop_oneof![1u32..=64, 1u32..=32_768],
        1u32..=u32::MAX,
        prop_oneof![0u32..=1000, 0u32..=u32::MAX],
        or_zero(1e11),
        or_zero(1e5),
        magnitude(1e-5, 1e11),
        or_zero(1e5),
    )
        .prop_map(
            |(
                kind,
                unit_rate,
                parallelism,
                segment_bytes,
                buffer_timeout_ms,
                input_rate,
                selectivity,
                record_bytes,
                colocation_load,
            )| Query {
                kind,
                unit_rate,
                parallelism,
                segment_bytes,
                buffer_timeout_ms,
                input_rate,
                selectivity,
                record_bytes,
                colocation_load,
            },
        )
}

/// Samples of a made-up cluster that departs from the analytic model: it scales worse, joins and windows are dearer at
/// high rates, more parallelism costs latency, and everything is noisy.
pub(crate) fn world(count: usize, seed: u64) -> Vec<Sample> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut samples = Vec::with_capacity(count);
    let operators: Vec<(OperatorKind, f64, f64, f64)> = OperatorKind::ALL[..6]
        .iter()
        .map(|&kind| {
            (
                kind,
                10f64.powf(rng.random_range(3.0..5.0)),
                10f64.powf(rng.random_range(-1.5..0.3)),
                10f64.powf(rng.random_range(1.5..3.0)),
            )
        })
        .collect();
    for _ in 0..count {
        let (kind, unit_rate, selectivity, record_bytes) = operators[rng.random_range(0..operators.len())];
        let parallelism: u32 = rng.random_range(1..=24);
        let p = f64::from(parallelism);
        let query = Query {
            kind,
            unit_rate,
            parallelism,
            segment_bytes: 1024 << rng.random_range(2..7),
            buffer_timeout_ms: [10, 50, 100][rng.random_range(0..3)],
            input_rate: unit_rate * p * rng.random_range(0.02..1.2),
            selectivity,
            record_bytes,
            colocation_load: rng.random_range(0.2..1.6),
        };
        let mut noise = |share: f64| 1.0 + share * (rng.random::<f64>() + rng.random::<f64>() - 1.0);
        samples.push(Sample {
            query,
            measured: truth(&query, [noise(0.04), noise(0.15), noise(0.05)]),
        });
    }
    samples
}

/// How the made-up cluster performs, before noise.
pub(crate) fn truth(query: &Query, noise: [f64; 3]) -> OperatorEstimate {
    let p = f64::from(query.parallelism);
    let heavy = matches!(query.kind, OperatorKind::Window | OperatorKind::Aggregate);
    let law = Scalability {
        contention: if heavy { 0.08 } else { 0.03 },
        coherency: 0.0005,
    };
    let shared = 1.0 + 0.8 * (query.colocation_load - 0.8).max(0.0);
    let segment = f64::from(query.segment_bytes) / 32_768.0;
    let capacity = query.unit_rate * law.speedup(query.parallelism) / shared * segment.powf(0.05);
    let throughput = (query.input_rate * noise[0].min(1.0))
        .min(capacity * noise[0])
        .min(query.input_rate);
    let load = query.input_rate / capacity;
    let timeout = f64::from(query.buffer_timeout_ms);
    let queueing = if load < 1.0 {
        load * load / (1.02 - load)
    } else {
        50.0 + 20.0 * load.min(3.0)
    };
    OperatorEstimate {
        throughput,
        latency_ms: noise[1]
            * (4.0 + 1.5 * p.powf(0.8) + 8.0 * queueing + 0.4 * timeout * (segment / 2.0).min(1.0).powf(0.4)),
        cpu_cores: noise[2]
            * (0.02 * p + throughput / query.unit_rate * (if heavy { 1.6 } else { 1.1 }) * shared.sqrt()),
    }
}
