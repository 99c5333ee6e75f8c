//! What is seen of jobs on real clusters, against what they are known to do.
#![allow(clippy::unwrap_used, reason = "tests")]

mod real;

use std::time::{Duration, Instant};

use approx::assert_relative_eq;
use real::{Shared, alone, client, index, program, until, until_ended, until_running};
use streamline_core::{JobId, JobStatus, Observation};
use streamline_flink::local::{LocalCluster, Version};
use streamline_flink::{FlinkClient, FlinkError};

static V2_3: Shared = Shared::new(Version::V2_3);
static V1_20: Shared = Shared::new(Version::V1_20);

/// How long rates are counted.
const INTERVAL: Duration = Duration::from_secs(10);

/// What is seen over ten seconds of a job with these arguments.
fn see(cluster: &LocalCluster, arguments: &[(&str, &str)]) -> Observation {
    let client = client(cluster, |options| options);
    let job = client.submit(&program(cluster, arguments), 1).unwrap();
    std::thread::sleep(Duration::from_secs(3));
    client.observe(&job).unwrap();
    std::thread::sleep(INTERVAL);
    let seen = client.observe(&job).unwrap();
    client.cancel(&job).unwrap();
    seen
}

fn selectivity(seen: &Observation, from: &str, to: &str) -> f64 {
    let (from, to) = (index(seen, from), index(seen, to));
    let edges = seen.graph.edges();
    let edge = edges.iter().position(|edge| (edge.from, edge.to) == (from, to));
    seen.edges[edge.unwrap()].selectivity.unwrap()
}

fn rates_selectivities_and_costs_are_as_known(cluster: &LocalCluster) {
    let seen = see(
        cluster,
        &[
            ("schedule", "0:1000"),
            ("parse-us", "1000"),
            ("parse-selectivity", "1.5"),
            ("count-us", "400"),
            ("count-selectivity", "0.25"),
            ("sink-us", "500"),
            ("parallelism", "parse=2"),
        ],
    );
    assert_eq!(seen.status, JobStatus::Running);
    let of = |name: &str| &seen.operators[index(&seen, name)];
    assert_relative_eq!(
        seen.sources[0].arrival_rate.unwrap(),
        1_000.0,
        max_relative = 0.05
    );
    assert!(seen.backlog() < 200.0, "{}", seen.backlog());
    for (name, rate, cost) in [
        ("parse", 1_000.0, 1e-3),
        ("count", 1_500.0, 400e-6),
        ("sink", 375.0, 500e-6),
    ] {
        assert_relative_eq!(of(name).input_rate.unwrap(), rate, max_relative = 0.05);
        let parallelism = f64::from(seen.config.operators[index(&seen, name)].parallelism);
        assert_relative_eq!(
            of(name).true_processing_rate().unwrap(),
            parallelism / cost,
            max_relative = 0.15
        );
    }
    assert_relative_eq!(selectivity(&seen, "parse", "count"), 1.5, max_relative = 0.02);
    assert_relative_eq!(selectivity(&seen, "count", "sink"), 0.25, max_relative = 0.02);
    assert!(seen.latency_ms.is_some() && !seen.latency_estimated);
}

#[test]
fn rates_selectivities_and_costs_are_as_known_on_2_3() {
    let shared = V2_3.get();
    rates_selectivities_and_costs_are_as_known(&alone(&shared));
}

#[test]
fn rates_selectivities_and_costs_are_as_known_on_1_20() {
    let shared = V1_20.get();
    rates_selectivities_and_costs_are_as_known(&alone(&shared));
}

#[test]
fn each_edge_of_an_operator_with_several_has_its_own_selectivity() {
    let shared = V2_3.get();
    let cluster = alone(&shared);
    let diamond = see(&cluster, &[("shape", "diamond"), ("parse-selectivity", "0.5")]);
    for side in ["left", "right"] {
        assert_relative_eq!(selectivity(&diamond, "parse", side), 0.5, max_relative = 0.02);
        assert_relative_eq!(selectivity(&diamond, side, "count"), 1.0, max_relative = 0.02);
    }
    let join = see(&cluster, &[("shape", "join"), ("schedule", "0:400")]);
    assert_eq!(join.sources.len(), 2);
    for source in ["Source: source", "Source: second"] {
        assert_relative_eq!(selectivity(&join, source, "join"), 1.0, max_relative = 0.02);
    }
    let joined = join.operators[index(&join, "join")].input_rate.unwrap();
    assert_relative_eq!(joined, 800.0, max_relative = 0.05);
}

#[test]
fn of_a_job_that_falls_behind_the_arrivals_are_seen_not_only_what_it_reads() {
    let shared = V2_3.get();
    let seen = see(&alone(&shared), &[("schedule", "0:5000"), ("parse-us", "5000")]);
    // Network buffers hold some 25,000 such records before the source feels it.
    let source = &seen.sources[0];
    assert_relative_eq!(source.arrival_rate.unwrap(), 5_000.0, max_relative = 0.05);
    assert!(seen.backlog() > 5_000.0, "{}", seen.backlog());
    let parse = &seen.operators[index(&seen, "parse")];
    assert_relative_eq!(parse.input_rate.unwrap(), 200.0, max_relative = 0.1);
    assert!(parse.busy.unwrap() > 0.9, "{parse:?}");
    assert!(seen.operators[index(&seen, "source")].backpressured.unwrap() > 0.2);
}

#[test]
fn a_job_that_is_cancelled_finishes_or_fails_while_it_is_watched_is_seen_to_have_ended() {
    let shared = V2_3.get();
    let cluster = alone(&shared);
    let client = client(&cluster, |options| options);
    let cancelled = client.submit(&program(&cluster, &[]), 1).unwrap();
    let finished = client
        .submit(&program(&cluster, &[("records", "400")]), 1)
        .unwrap();
    let failing = program(&cluster, &[("fail-at", "20")]).with_setting("restart-strategy.type", "none");
    let failed = client.submit(&failing, 1).unwrap();
    until_running(&client, &cancelled);
    client.cancel(&cancelled).unwrap();
    for job in [&cancelled, &finished, &failed] {
        until_ended(&client, job);
        assert!(!client.jobs().unwrap().contains(job));
    }
}

#[test]
fn a_job_that_restarts_over_and_over_is_seen_to_restart() {
    let shared = V2_3.get();
    let cluster = alone(&shared);
    let client = client(&cluster, |options| options);
    let failing = program(&cluster, &[("fail-at", "200"), ("schedule", "0:6400")]);
    let job = client.submit(&failing, 1).unwrap();
    until(&client, &job, |seen| {
        seen.as_ref()
            .is_ok_and(|seen| seen.restarted || seen.status == JobStatus::Restarting)
    })
    .unwrap();
    client.cancel(&job).unwrap();
}

#[test]
fn many_jobs_are_read_in_seconds() {
    let shared = V2_3.get();
    let cluster = alone(&shared);
    let client = client(&cluster, |options| options);
    let slow = program(&cluster, &[("schedule", "0:10")]);
    let jobs: Vec<_> = (0..8).map(|_| client.submit(&slow, 1).unwrap()).collect();
    let begun = Instant::now();
    for job in &jobs {
        client.observe(job).unwrap();
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    for job in &jobs {
        client.cancel(job).unwrap();
    }
}

#[test]
fn what_the_cluster_can_do_is_found_out() {
    let new = V2_3.get();
    let seen = client(&alone(&new), |options| options).capabilities().unwrap();
    assert_eq!((&*seen.version, seen.in_place_rescale), ("2.3.0", true));
    assert_eq!(seen.rescale_waits.unwrap().cooldown, Duration::from_secs(1));
    let old = V1_20.get();
    let seen = client(&alone(&old), |options| options).capabilities().unwrap();
    assert_eq!((&*seen.version, seen.in_place_rescale), ("1.20.5", true));
}

#[test]
fn a_job_that_is_not_there_is_unknown() {
    let shared = V2_3.get();
    let client = client(&alone(&shared), |options| options);
    for id in ["00000000000000000000000000000000", "no id", ""] {
        let seen = client.observe(&JobId::new(id));
        assert!(matches!(seen, Err(FlinkError::UnknownJob { .. })), "{seen:?}");
    }
}
