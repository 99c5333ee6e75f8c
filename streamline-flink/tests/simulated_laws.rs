//! What holds on the simulated cluster whatever the job.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use proptest::prelude::*;
use streamline_core::{Cluster, Edge, JobGraph, Operator, OperatorKind, Partitioning, TimeSeries};
use streamline_flink::{Change, FlinkClient, Model, OperatorProfile, SimulatedCluster, SimulatedJob};
use support::{config, seconds};

/// Jobs of 2 to 6 operators, each with inputs from any before it.
fn jobs() -> impl Strategy<Value = SimulatedJob> {
    let partitioning = prop_oneof![
        Just(Partitioning::Hash),
        Just(Partitioning::Rebalance),
        Just(Partitioning::Broadcast)
    ];
    let operator = (
        1.0..1e5f64,
        0.0..1.0f64,
        1.0..1e4f64,
        0u64..1 << 34,
        1u32..9,
        any::<bool>(),
    );
    let edge = (any::<prop::sample::Index>(), partitioning, 0.0..4.0f64);
    let arrivals = prop::collection::vec(prop::option::weighted(0.9, 0.0..2e4f64), 1..8);
    (
        prop::collection::vec((operator, edge), 2..7),
        prop::collection::vec(arrivals, 6),
    )
        .prop_map(|(parts, arrivals)| {
            let mut operators = Vec::new();
            let (mut edges, mut selectivities) = (Vec::new(), Vec::new());
            for (index, &((.., is_source), (from, partitioning, selectivity))) in parts.iter().enumerate() {
                let is_source = is_source || index == 0;
                let kind = if is_source {
                    OperatorKind::Source
                } else {
                    OperatorKind::Other
                };
                operators.push(Operator::new(index.to_string(), index.to_string(), kind));
                if !is_source {
                    let from = from.index(index);
                    edges.push(Edge {
                        from,
                        to: index,
                        partitioning,
                    });
                    selectivities.push(selectivity);
                    if from != 0 {
                        edges.push(Edge {
                            from: 0,
                            to: index,
                            partitioning: Partitioning::Rebalance,
                        });
                        selectivities.push(1.0);
                    }
                }
            }
            let graph = JobGraph::new(operators, edges).unwrap();
            let sources = graph.sources().count();
            let arrivals = arrivals.into_iter().take(sources).map(|mut points| {
                points[0] = points[0].or(Some(1.0));
                TimeSeries::new(0, 30_000, points).unwrap()
            });
            let arrivals = arrivals.collect();
            let profile = |&((rate, hot, bytes, state, ..), _): &((f64, f64, f64, u64, u32, bool), _)| {
                OperatorProfile::new(rate)
                    .with_hot_share(hot)
                    .with_record_bytes(bytes)
                    .with_state_bytes(state)
            };
            let parallelism: Vec<u32> = parts
                .iter()
                .map(|&((_, _, _, _, parallelism, _), _)| parallelism)
                .collect();
            SimulatedJob {
                name: "any".into(),
                config: config(&parallelism),
                operators: parts.iter().map(profile).collect(),
                graph,
                selectivities,
                arrivals,
            }
        })
}

/// A cluster on which this and that fails, with too few cores.
fn unruly(seed: u64) -> SimulatedCluster {
    let mut model = Model::default();
    model.failures.per_hour = 20.0;
    SimulatedCluster::new(model, Cluster::uniform(3, 1.5, 8 << 30, 8).unwrap(), seed).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_arrived_was_read_or_waits(job in jobs(), seed in any::<u64>(), wider in 1u32..9) {
        let cluster = unruly(seed);
        let first = job.config.operators[0].parallelism;
        let id = cluster.submit(job.clone()).unwrap();
        for round in 0..20 {
            cluster.advance(seconds(17));
            if round % 5 == 4 {
                let mut change = Change::new(job.config.clone());
                change.config.operators[0].parallelism = if round == 4 { wider } else { first };
                // Refused while it is down, which changes nothing.
                let _ = cluster.apply(&id, &change);
            }
            let truth = cluster.truth(&id).unwrap();
            let kept = truth.read + truth.backlog;
            prop_assert!((kept - truth.arrived).abs() <= 1e-9 * truth.arrived.max(1.0), "{kept} of {}", truth.arrived);
            prop_assert!(truth.backlog >= 0.0 && truth.read >= -1e-6 && truth.written >= 0.0);
        }
    }

    #[test]
    fn what_is_seen_makes_sense(job in jobs(), seed in any::<u64>()) {
        let cluster = unruly(seed);
        let id = cluster.submit(job).unwrap();
        for _ in 0..10 {
            cluster.advance(seconds(30));
            let seen = cluster.observe(&id).unwrap();
            prop_assert!(seen.check().is_ok(), "{:?}", seen.check());
            for metrics in &seen.operators {
                for share in [metrics.busy, metrics.busiest, metrics.backpressured].into_iter().flatten() {
                    prop_assert!((0.0..=1.0 + 1e-9).contains(&share), "{metrics:?}");
                }
                prop_assert!(metrics.busy <= metrics.busiest.map(|busiest| busiest + 1e-9));
            }
            let truth = cluster.truth(&id).unwrap();
            prop_assert!(truth.latency_ms.is_finite() && truth.worst_latency_ms >= truth.latency_ms);
        }
    }

    #[test]
    fn no_more_cores_are_used_than_there_are(job in jobs(), seed in any::<u64>()) {
        let cluster = unruly(seed);
        let id = cluster.submit(job).unwrap();
        let mut before = 0.0;
        for _ in 0..20 {
            cluster.advance(seconds(10));
            let used = cluster.truth(&id).unwrap().core_seconds;
            // The speed of an operator varies by a percent or so.
            prop_assert!(used - before <= 10.0 * 3.0 * 1.5 * 1.03, "{}", used - before);
            before = used;
        }
    }

    // Where flows join it does not hold: of the room downstream, a flow whose records become many may get more, and how the
    // buffers of a diamond fill decides who waits for whom.
    #[test]
    fn without_chance_and_joins_more_load_never_means_less_read(
        job in jobs().prop_filter("a tree", |job| {
            (0..job.graph.operators().len()).all(|operator| job.graph.inputs(operator).len() <= 1)
        }),
        more in 1.0..3.0f64,
    ) {
        let read = |factor: f64| {
            let mut job = job.clone();
            let grown = |series: &TimeSeries| {
                let points = series.iter().map(|point| point.map(|rate| rate * factor)).collect();
                TimeSeries::new(0, 30_000, points).unwrap()
            };
            job.arrivals = job.arrivals.iter().map(grown).collect();
            let cluster = SimulatedCluster::new(support::plain(), support::roomy(2), 1).unwrap();
            let id = cluster.submit(job).unwrap();
            cluster.advance(seconds(120));
            cluster.truth(&id).unwrap().read
        };
        let (with, without) = (read(more), read(1.0));
        prop_assert!(with >= without * (1.0 - 1e-9), "{with} instead of {without}");
    }
}
