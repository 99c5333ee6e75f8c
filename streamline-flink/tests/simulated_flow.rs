//! How records flow through the simulated cluster.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use approx::assert_relative_eq;
use streamline_core::{
    Cluster, Edge, JobGraph, Operator, OperatorKind, Partitioning, TaskManager, TimeSeries,
};
use streamline_flink::{Change, FlinkClient, Model, OperatorProfile, SimulatedCluster, SimulatedJob, Truth};
use support::{chain, config, plain, roomy, running, seconds, steady};

use Partitioning::{Broadcast, Forward, Hash, Rebalance};

/// What became of a job after this many seconds.
fn after(time: u64, model: Model, cluster: Cluster, job: SimulatedJob) -> Truth {
    let (cluster, id) = running(model, cluster, job);
    cluster.advance(seconds(time));
    cluster.truth(&id).unwrap()
}

/// What the second of two operators in a row can process, in records per second.
fn capacity_of_second(model: Model, job: SimulatedJob) -> f64 {
    after(10, model, roomy(4), job).capacity[1]
}

#[test]
fn capacity_grows_less_than_parallelism() {
    let mut model = plain();
    model.scaling.contention = 0.02;
    model.scaling.coherency = 0.001;
    let of = |p: u32| capacity_of_second(model, chain(&[1e6, 1e3], Rebalance, &[1, p], 1e5));
    assert_relative_eq!(of(1), 1e3, max_relative = 1e-9);
    assert_relative_eq!(
        of(8),
        8e3 / (1.0 + 0.02 * 7.0 + 0.001 * 56.0),
        max_relative = 1e-9
    );
    assert!(of(16) / of(8) < of(8) / of(4));
}

#[test]
fn key_groups_that_do_not_divide_evenly_waste_subtasks() {
    let of = |p: u32| capacity_of_second(plain(), chain(&[1e6, 1e3], Hash, &[1, p], 1e6));
    assert_relative_eq!(of(64), 64e3, max_relative = 1e-9);
    // 128 key groups on 65 to 127 subtasks: somebody has two.
    assert_relative_eq!(of(100), of(64), max_relative = 1e-9);
    assert_relative_eq!(of(128), 128e3, max_relative = 1e-9);
}

#[test]
fn a_hot_key_caps_what_more_subtasks_give() {
    let of = |p: u32| {
        let mut job = chain(&[1e6, 1e3], Hash, &[1, p], 1e6);
        job.operators[1] = job.operators[1].with_hot_share(0.25);
        capacity_of_second(plain(), job)
    };
    assert_relative_eq!(of(2), 2e3, max_relative = 1e-9);
    assert_relative_eq!(of(4), 4e3, max_relative = 1e-9);
    assert_relative_eq!(of(32), 4e3, max_relative = 1e-9);
}

#[test]
fn a_hot_key_keeps_one_subtask_busier_than_the_mean() {
    let mut job = chain(&[1e6, 1e3], Hash, &[1, 8], 2e3);
    job.operators[1] = job.operators[1].with_hot_share(0.4);
    let (cluster, id) = running(plain(), roomy(1), job);
    cluster.advance(seconds(30));
    let seen = &cluster.observe(&id).unwrap().operators[1];
    assert_relative_eq!(seen.busiest.unwrap(), 0.8, max_relative = 1e-6);
    assert_relative_eq!(seen.busy.unwrap(), 0.25, max_relative = 1e-6);
}

#[test]
fn oversubscribed_cores_slow_everything_on_that_task_manager() {
    let managers = ["small", "large"].map(|id| TaskManager::new(id, 2.0, 8 << 30, 64));
    let cluster = SimulatedCluster::new(plain(), Cluster::new(managers.to_vec()).unwrap(), 1).unwrap();
    let job = |rate| chain(&[1e6, 1e3], Forward, &[1; 2], rate);
    let [first, second, apart] = [2e3, 2e3, 500.0].map(|rate| cluster.submit(job(rate)).unwrap());
    let on = |id: &str| Change::new(config(&[1; 2])).with_placement(vec![vec![id.into()]; 2]);
    let third = cluster.submit(job(2e3)).unwrap();
    for job in [&first, &second, &third] {
        cluster.apply(job, &on("small")).unwrap();
    }
    cluster.apply(&apart, &on("large")).unwrap();
    cluster.advance(seconds(120));
    // Three subtasks want a core each (and a little more), and there are two.
    for job in [&first, &second, &third] {
        let capacity = cluster.truth(job).unwrap().capacity[1];
        assert!((600.0..680.0).contains(&capacity), "{capacity}");
    }
    assert_relative_eq!(
        cluster.truth(&apart).unwrap().capacity[1],
        1e3,
        max_relative = 1e-9
    );
    let used: f64 = [&first, &second, &third]
        .map(|job| {
            let before = cluster.truth(job).unwrap().core_seconds;
            cluster.advance(seconds(10));
            cluster.truth(job).unwrap().core_seconds - before
        })
        .iter()
        .sum();
    assert!((19.0..=20.001).contains(&used), "{used} core seconds of 20");
}

#[test]
fn an_operator_that_is_held_back_wants_no_cores_for_what_it_cannot_do() {
    // The source could read 10 times what the second operator can process, and has a backlog. Two cores suffice.
    let truth = after(
        300,
        plain(),
        Cluster::uniform(1, 1.2, 8 << 30, 4).unwrap(),
        chain(&[1e4, 1e3], Forward, &[1; 2], 5e3),
    );
    assert_relative_eq!(truth.capacity[1], 1e3, max_relative = 1e-6);
}

#[test]
fn an_operator_above_capacity_pushes_back_to_the_source() {
    let (cluster, id) = running(
        plain(),
        roomy(1),
        chain(&[1e5, 1e5, 1e3], Rebalance, &[1; 3], 2e3),
    );
    cluster.advance(seconds(600));
    cluster.observe(&id).unwrap();
    cluster.advance(seconds(60));
    let seen = cluster.observe(&id).unwrap();
    for operator in [0, 1] {
        let metrics = &seen.operators[operator];
        assert_relative_eq!(metrics.input_rate.unwrap(), 1e3, max_relative = 1e-6);
        assert!(metrics.backpressured > Some(0.9), "{metrics:?}");
    }
    assert_relative_eq!(seen.operators[2].busiest.unwrap(), 1.0, max_relative = 1e-9);
    assert_eq!(seen.operators[2].backpressured, Some(0.0));
    // What does not fit into the buffers between stays at the source.
    let truth = cluster.truth(&id).unwrap();
    assert!((600e3..660e3).contains(&truth.backlog), "{}", truth.backlog);
}

#[test]
fn nothing_is_held_back_below_capacity() {
    let (cluster, id) = running(
        plain(),
        roomy(1),
        chain(&[1e5, 1e4, 1e3], Rebalance, &[1; 3], 900.0),
    );
    cluster.advance(seconds(60));
    let seen = cluster.observe(&id).unwrap();
    assert!(
        seen.operators
            .iter()
            .all(|metrics| metrics.backpressured == Some(0.0))
    );
    assert_eq!(seen.sources[0].backlog, Some(0.0));
    assert_relative_eq!(seen.sources[0].arrival_rate.unwrap(), 900.0);
    assert_relative_eq!(
        seen.operators[2].true_processing_rate().unwrap(),
        1e3,
        max_relative = 1e-6
    );
}

#[test]
fn larger_segments_keep_more_records_under_way_when_saturated() {
    let of = |segment_bytes| {
        let mut job = chain(&[1e5, 1e3], Rebalance, &[2; 2], 5e3);
        for operator in &mut job.config.operators {
            operator.segment_bytes = segment_bytes;
        }
        let (cluster, id) = running(plain(), roomy(1), job);
        cluster.advance(seconds(120));
        cluster.observe(&id).unwrap().operators[1].latency_ms.unwrap()
    };
    assert!(of(64 << 10) > 1.5 * of(16 << 10));
}

#[test]
fn smaller_segments_fill_sooner_and_lower_latency_at_low_rates() {
    let of = |segment_bytes, buffer_timeout_ms| {
        let mut job = chain(&[1e5, 1e5], Forward, &[1; 2], 1e3);
        job.config.buffer_timeout_ms = buffer_timeout_ms;
        for operator in &mut job.config.operators {
            operator.segment_bytes = segment_bytes;
        }
        after(30, plain(), roomy(1), job).latency_ms
    };
    // 1,000 records of 100 bytes in a second: 4 KiB take 41 ms, 32 KiB would take 328 ms.
    assert!(of(4 << 10, 1_000) < of(32 << 10, 1_000) - 100.0);
    // The timeout sends them sooner.
    assert_relative_eq!(of(32 << 10, 100), of(64 << 10, 100), max_relative = 1e-9);
    assert!(of(32 << 10, 10) < of(32 << 10, 100));
}

#[test]
fn latency_rises_with_load() {
    let of = |rate| {
        after(
            60,
            Model::without_chance(),
            roomy(1),
            chain(&[1e5, 1e3], Rebalance, &[1; 2], rate),
        )
        .latency_ms
    };
    let (low, high, beyond) = (of(500.0), of(950.0), of(1_500.0));
    assert!(low < high && 3.0 * high < beyond, "{low} {high} {beyond}");
}

#[test]
fn what_is_broadcast_every_subtask_has_to_process() {
    let of = |partitioning, p| capacity_of_second(plain(), chain(&[1e6, 1e3], partitioning, &[1, p], 1e5));
    assert_relative_eq!(of(Broadcast, 4), 1e3, max_relative = 1e-9);
    assert_relative_eq!(of(Rebalance, 4), 4e3, max_relative = 1e-9);
    // Beside a stream that is dealt out, it costs as much as there is of it.
    let mut operators = vec![
        Operator::new("r", "rules", OperatorKind::Source),
        Operator::new("s", "stream", OperatorKind::Source),
    ];
    operators.push(Operator::new("m", "match", OperatorKind::Map));
    let edge = |from, partitioning| Edge {
        from,
        to: 2,
        partitioning,
    };
    let job = SimulatedJob {
        name: "rules".into(),
        graph: JobGraph::new(operators, vec![edge(0, Broadcast), edge(1, Rebalance)]).unwrap(),
        config: config(&[1, 1, 4]),
        operators: vec![
            OperatorProfile::new(1e6),
            OperatorProfile::new(1e6),
            OperatorProfile::new(1e3),
        ],
        selectivities: vec![1.0; 2],
        arrivals: vec![steady(100.0), steady(900.0)],
    };
    let truth = after(60, plain(), roomy(1), job);
    assert_relative_eq!(truth.capacity[2], 1e3 / (0.1 + 0.9 / 4.0), max_relative = 1e-9);
}

#[test]
fn several_sources_share_what_is_downstream_and_none_is_shut_out() {
    let operators = vec![
        Operator::new("a", "a", OperatorKind::Source),
        Operator::new("b", "b", OperatorKind::Source),
        Operator::new("j", "join", OperatorKind::Join),
        Operator::new("k", "left", OperatorKind::Sink),
        Operator::new("l", "right", OperatorKind::Sink),
    ];
    let edge = |from, to| Edge {
        from,
        to,
        partitioning: Hash,
    };
    let graph = JobGraph::new(operators, vec![edge(0, 2), edge(1, 2), edge(2, 3), edge(2, 4)]).unwrap();
    let late = TimeSeries::from_values(0, 100_000, &[0.0, 2e3]).unwrap();
    let (cluster, id) = running(
        plain(),
        roomy(1),
        SimulatedJob {
            name: "join".into(),
            graph,
            config: config(&[1; 5]),
            operators: [1e5, 1e5, 1e3, 1e5, 1e5].map(OperatorProfile::new).to_vec(),
            selectivities: vec![1.0, 1.0, 0.5, 2.0],
            arrivals: vec![steady(2e3), late],
        },
    );
    cluster.advance(seconds(200));
    cluster.observe(&id).unwrap();
    cluster.advance(seconds(100));
    let seen = cluster.observe(&id).unwrap();
    let rates: Vec<f64> = seen
        .operators
        .iter()
        .map(|metrics| metrics.input_rate.unwrap())
        .collect();
    for (rate, expected) in rates.iter().zip([500.0, 500.0, 1e3, 500.0, 2e3]) {
        assert_relative_eq!(*rate, expected, max_relative = 0.01);
    }
    assert_relative_eq!(seen.edges[3].selectivity.unwrap(), 2.0, max_relative = 1e-9);
}
