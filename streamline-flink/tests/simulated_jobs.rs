//! What happens to jobs on the simulated cluster: changes, failures, slots, senseless requests.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use approx::assert_relative_eq;
use streamline_core::{Cluster, JobStatus, Partitioning, TimeSeries};
use streamline_flink::{
    Change, FlinkClient, FlinkError, Model, Scope, SimulatedCluster, SimulatedJob, Truth,
};
use support::{chain, config, plain, roomy, running, seconds, steady};

use Partitioning::{Hash, Rebalance};

/// What became of a job after this many seconds.
fn after(time: u64, model: Model, cluster: Cluster, job: SimulatedJob) -> Truth {
    let (cluster, id) = running(model, cluster, job);
    cluster.advance(seconds(time));
    cluster.truth(&id).unwrap()
}

#[test]
fn a_restart_with_more_state_takes_longer() {
    let of = |state_bytes| {
        let mut job = chain(&[1e5, 1e4], Hash, &[1; 2], 1e3);
        job.operators[1] = job.operators[1].with_state_bytes(state_bytes);
        let (cluster, id) = running(plain(), roomy(1), job);
        cluster.advance(seconds(60));
        let applied = cluster.apply(&id, &Change::new(config(&[1, 2]))).unwrap();
        cluster.advance(seconds(600));
        let truth = cluster.truth(&id).unwrap();
        assert_eq!(truth.restarts, 1);
        // It is down for as long as was said, in whole steps.
        let off = truth.downtime.abs_diff(applied.downtime);
        assert!(off <= seconds(1), "{:?} {:?}", truth.downtime, applied.downtime);
        applied.downtime
    };
    assert!(of(16 << 30) > 2 * of(0));
}

#[test]
fn after_a_restart_the_backlog_is_caught_up_with() {
    let (cluster, id) = running(plain(), roomy(1), chain(&[1e5, 1e3], Hash, &[1; 2], 800.0));
    cluster.advance(seconds(60));
    let downtime = cluster
        .apply(&id, &Change::new(config(&[1, 2])))
        .unwrap()
        .downtime;
    cluster.advance(downtime);
    let backlog = cluster.truth(&id).unwrap().backlog;
    assert!(backlog >= 800.0 * (downtime.as_secs_f64() - 1.0), "{backlog}");
    assert_eq!(cluster.observe(&id).unwrap().status, JobStatus::Restarting);
    // 1,200 records per second are spare.
    cluster.advance(seconds(30));
    let truth = cluster.truth(&id).unwrap();
    assert!(truth.backlog < 1e-9, "{}", truth.backlog);
    assert!(truth.worst_latency_ms > truth.latency_ms);
}

#[test]
fn nothing_but_the_backlog_is_known_of_a_job_that_is_down() {
    let (cluster, id) = running(plain(), roomy(1), chain(&[1e5, 1e3], Hash, &[1; 2], 800.0));
    cluster.advance(seconds(60));
    cluster.apply(&id, &Change::new(config(&[1, 2]))).unwrap();
    cluster.advance(seconds(5));
    let seen = cluster.observe(&id).unwrap();
    assert_eq!((seen.status, seen.restarted), (JobStatus::Restarting, true));
    assert_eq!(seen.latency_ms, None);
    for metrics in &seen.operators {
        assert_eq!(
            (metrics.busy, metrics.input_rate, metrics.cpu_cores),
            (None, None, None)
        );
    }
    assert!(seen.sources[0].backlog >= Some(4_000.0));
    seen.check().unwrap();
}

#[test]
fn after_a_change_rates_are_those_of_the_new_configuration_alone() {
    let (cluster, id) = running(plain(), roomy(1), chain(&[1e5, 1e3], Rebalance, &[1; 2], 2e3));
    cluster.advance(seconds(300));
    cluster.apply(&id, &Change::new(config(&[1, 4]))).unwrap();
    cluster.advance(seconds(20));
    let seen = cluster.observe(&id).unwrap();
    assert_eq!(seen.status, JobStatus::Running);
    assert_relative_eq!(seen.operators[1].input_rate.unwrap(), 4e3, max_relative = 0.01);
}

#[test]
fn a_second_change_waits_for_the_first() {
    let (cluster, id) = running(plain(), roomy(1), chain(&[1e5, 1e3], Hash, &[1; 2], 800.0));
    cluster.apply(&id, &Change::new(config(&[1, 2]))).unwrap();
    let again = cluster.apply(&id, &Change::new(config(&[1, 3])));
    assert!(matches!(again, Err(FlinkError::Conflict { .. })), "{again:?}");
}

#[test]
fn a_failure_repeats_what_was_read_since_the_last_checkpoint() {
    let mut model = plain();
    model.restart.checkpoint_seconds = 60.0;
    let (cluster, id) = running(model, roomy(1), chain(&[1e5, 1e4], Hash, &[1; 2], 1e3));
    cluster.advance(seconds(90));
    let on = cluster.cluster().unwrap().task_managers()[0].id.clone();
    cluster.fail_task_manager(&on).unwrap();
    let truth = cluster.truth(&id).unwrap();
    assert_relative_eq!(truth.backlog, 30e3, max_relative = 1e-9);
    assert_relative_eq!(truth.read, 60e3, max_relative = 1e-9);
    cluster.advance(seconds(300));
    let truth = cluster.truth(&id).unwrap();
    assert_eq!((truth.backlog, truth.restarts), (0.0, 1));
    assert_relative_eq!(truth.written, truth.read + 30e3, max_relative = 1e-9);
}

#[test]
fn a_failure_after_a_change_does_not_undo_what_came_before_it() {
    let (cluster, id) = running(plain(), roomy(1), chain(&[1e5, 1e4], Hash, &[1; 2], 1e3));
    cluster.advance(seconds(50));
    cluster.apply(&id, &Change::new(config(&[1, 2]))).unwrap();
    cluster.fail_job(&id).unwrap();
    assert_relative_eq!(cluster.truth(&id).unwrap().read, 50e3, max_relative = 1e-9);
}

#[test]
fn failures_come_at_random_and_about_as_often_as_asked() {
    let mut model = plain();
    model.failures.per_hour = 0.5;
    model.restart.base_seconds = 0.0;
    let truth = after(
        100 * 3600,
        model,
        roomy(2),
        chain(&[1e5, 1e4], Hash, &[2; 2], 1e3),
    );
    // 100 hours with two TaskManagers: 100 failures, ± 3 standard deviations.
    assert!((70..=130).contains(&truth.restarts), "{}", truth.restarts);
}

#[test]
fn jobs_on_a_failed_task_manager_go_down_and_others_do_not() {
    let cluster = SimulatedCluster::new(plain(), Cluster::uniform(2, 4.0, 8 << 30, 1).unwrap(), 1).unwrap();
    let jobs = [1e3; 2].map(|rate| cluster.submit(chain(&[1e5, 1e4], Hash, &[1; 2], rate)).unwrap());
    cluster.advance(seconds(10));
    let on = cluster.observe(&jobs[0]).unwrap().operators[0].locations[0]
        .clone()
        .unwrap();
    cluster.fail_task_manager(&on).unwrap();
    let status = jobs.map(|job| cluster.observe(&job).unwrap().status);
    assert_eq!(status, [JobStatus::Restarting, JobStatus::Running]);
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let history = |seed| {
        let mut model = Model::default();
        model.failures.per_hour = 1.0;
        let cluster = SimulatedCluster::new(model, roomy(2), seed).unwrap();
        let jobs = [2e3, 3e3].map(|rate| cluster.submit(chain(&[1e5, 1e3], Hash, &[2, 4], rate)).unwrap());
        let mut seen = Vec::new();
        for _ in 0..48 {
            cluster.advance(seconds(300));
            seen.extend(
                jobs.iter()
                    .map(|job| serde_json::to_string(&cluster.observe(job).unwrap()).unwrap()),
            );
        }
        seen
    };
    assert_eq!(history(1), history(1));
    assert_ne!(history(1), history(2));
}

#[test]
fn more_slots_than_exist_are_refused_and_nothing_changes() {
    let cluster = SimulatedCluster::new(plain(), Cluster::uniform(2, 4.0, 8 << 30, 2).unwrap(), 1).unwrap();
    let job = cluster.submit(chain(&[1e5, 1e4], Hash, &[1, 3], 1e3)).unwrap();
    let refused = cluster.apply(&job, &Change::new(config(&[1, 5])));
    let Err(FlinkError::Refused { reason }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(reason, "5 task slots are wanted, but 4 are free");
    let other = cluster.submit(chain(&[1e5, 1e4], Hash, &[1, 2], 1e3));
    assert!(matches!(other, Err(FlinkError::Refused { .. })), "{other:?}");
    assert_eq!(cluster.jobs().unwrap(), std::slice::from_ref(&job));
    let seen = cluster.observe(&job).unwrap();
    assert_eq!((seen.status, seen.config), (JobStatus::Running, config(&[1, 3])));
    // Its own slots are free for its own change, and all are when it has gone.
    cluster.apply(&job, &Change::new(config(&[4, 4]))).unwrap();
    cluster.cancel(&job).unwrap();
    cluster.submit(chain(&[1e5, 1e4], Hash, &[1, 4], 1e3)).unwrap();
}

#[test]
fn jobs_are_spread_over_the_task_managers_and_go_where_they_are_told() {
    let cluster = SimulatedCluster::new(plain(), Cluster::uniform(2, 4.0, 8 << 30, 4).unwrap(), 1).unwrap();
    let job = cluster.submit(chain(&[1e5, 1e4], Hash, &[2, 4], 1e3)).unwrap();
    let ids: Vec<String> = cluster
        .cluster()
        .unwrap()
        .task_managers()
        .iter()
        .map(|on| on.id.clone())
        .collect();
    let on = |operator: usize, id: &String| {
        let seen = cluster.observe(&job).unwrap();
        seen.operators[operator]
            .locations
            .iter()
            .filter(|on| on.as_ref() == Some(id))
            .count()
    };
    assert_eq!(
        [on(0, &ids[0]), on(0, &ids[1]), on(1, &ids[0]), on(1, &ids[1])],
        [1, 1, 2, 2]
    );
    let here =
        Change::new(config(&[2, 4])).with_placement(vec![vec![ids[1].clone(); 2], vec![ids[1].clone(); 4]]);
    cluster.apply(&job, &here).unwrap();
    assert_eq!([on(0, &ids[1]), on(1, &ids[1])], [2, 4]);
    cluster.advance(seconds(60));
    for (placement, expected) in [
        (
            vec![vec![ids[0].clone(); 2]],
            "does not name one TaskManager for each subtask",
        ),
        (
            vec![vec![ids[0].clone(); 2], vec!["tm-x".into(); 4]],
            "no TaskManager `tm-x`",
        ),
        (
            vec![vec![ids[0].clone(); 2], vec![ids[0].clone(); 5]],
            "5 slots are wanted on",
        ),
    ] {
        let widest = placement.last().map_or(4, Vec::len).max(4) as u32;
        let change = Change::new(config(&[2, widest])).with_placement(placement);
        let message = cluster.apply(&job, &change).unwrap_err().to_string();
        assert!(
            message.contains(expected),
            "`{message}` does not say `{expected}`"
        );
    }
}

#[test]
fn an_arrival_series_can_be_replaced_while_the_job_runs() {
    let (cluster, id) = running(plain(), roomy(1), chain(&[1e5, 1e4], Hash, &[1; 2], 1e3));
    cluster.advance(seconds(60));
    cluster.set_arrivals(&id, 0, steady(3e3)).unwrap();
    cluster.observe(&id).unwrap();
    cluster.advance(seconds(60));
    let rate = cluster.observe(&id).unwrap().sources[0].arrival_rate;
    assert_relative_eq!(rate.unwrap(), 3e3, max_relative = 1e-9);
    assert!(cluster.set_arrivals(&id, 1, steady(1.0)).is_err());
    let negative = TimeSeries::from_values(0, 1_000, &[-1.0]).unwrap();
    assert!(matches!(
        cluster.set_arrivals(&id, 0, negative),
        Err(FlinkError::Invalid(_))
    ));
}

#[test]
fn a_gap_in_the_arrivals_holds_what_came_before_it() {
    let mut job = chain(&[1e5, 1e4], Hash, &[1; 2], 0.0);
    job.arrivals = vec![TimeSeries::new(0, 10_000, vec![Some(100.0), None, Some(300.0)]).unwrap()];
    assert_relative_eq!(
        after(20, plain(), roomy(1), job.clone()).arrived,
        2_000.0,
        max_relative = 1e-9
    );
    // The last holds for ever.
    assert_relative_eq!(
        after(50, plain(), roomy(1), job).arrived,
        11_000.0,
        max_relative = 1e-9
    );
}

#[test]
fn what_is_left_of_a_step_is_owed_to_the_next() {
    let (cluster, id) = running(plain(), roomy(1), chain(&[1e5, 1e4], Hash, &[1; 2], 1e3));
    for _ in 0..10 {
        cluster.advance(std::time::Duration::from_millis(250));
    }
    assert_eq!(cluster.now_ms(), 2_000);
    assert_relative_eq!(cluster.truth(&id).unwrap().arrived, 2e3);
}

#[test]
fn the_scope_of_the_segment_size_is_said() {
    let cluster = SimulatedCluster::new(plain(), roomy(1), 1).unwrap();
    assert_eq!(cluster.capabilities().unwrap().segment_size, Scope::Operator);
    let cluster = cluster.with_segment_scope(Scope::Fixed);
    assert_eq!(cluster.capabilities().unwrap().segment_size, Scope::Fixed);
}

#[test]
fn nobody_knows_a_job_that_was_never_submitted() {
    let cluster = SimulatedCluster::new(plain(), Cluster::default(), 1).unwrap();
    let id = streamline_core::JobId::new("nobody");
    assert!(matches!(cluster.observe(&id), Err(FlinkError::UnknownJob { .. })));
    assert!(matches!(cluster.truth(&id), Err(FlinkError::UnknownJob { .. })));
    assert!(matches!(cluster.cancel(&id), Err(FlinkError::UnknownJob { .. })));
    assert!(matches!(
        cluster.fail_job(&id),
        Err(FlinkError::UnknownJob { .. })
    ));
    let change = Change::new(config(&[1]));
    assert!(matches!(
        cluster.apply(&id, &change),
        Err(FlinkError::UnknownJob { .. })
    ));
    assert!(cluster.fail_task_manager("nobody").is_err());
    // And on a cluster without slots there is no job.
    let refused = cluster.submit(chain(&[1e5, 1e4], Hash, &[1; 2], 1e3));
    assert!(matches!(refused, Err(FlinkError::Refused { .. })));
}

#[test]
fn a_description_that_makes_no_sense_is_refused_with_the_place() {
    let good = || chain(&[1e5, 1e4], Hash, &[1; 2], 1e3);
    type Spoil = fn(&mut SimulatedJob);
    let cases: [(&str, Spoil); 9] = [
        ("unit rate of operator `v1`", |job| {
            job.operators[1].unit_rate = f64::NAN
        }),
        ("hot share of operator `v1`", |job| {
            job.operators[1].hot_share = 1.5
        }),
        ("record size of operator `v0`", |job| {
            job.operators[0].record_bytes = 0.0
        }),
        ("delay of operator `v0`", |job| job.operators[0].delay_ms = -1.0),
        ("selectivity of edge 0", |job| {
            job.selectivities[0] = f64::INFINITY
        }),
        ("operator profiles", |job| job.operators.truncate(1)),
        ("selectivities", |job| job.selectivities.clear()),
        ("points of an arrival series", |job| {
            job.arrivals[0] = TimeSeries::from_values(0, 1_000, &[]).unwrap();
        }),
        ("operator `v1`: parallelism 0", |job| {
            job.config.operators[1].parallelism = 0
        }),
    ];
    for (expected, spoil) in cases {
        let cluster = SimulatedCluster::new(plain(), roomy(1), 1).unwrap();
        let mut job = good();
        spoil(&mut job);
        let error = cluster.submit(job).unwrap_err();
        let cause = std::error::Error::source(&error).map_or_else(String::new, ToString::to_string);
        assert!(
            cause.contains(expected),
            "`{error}: {cause}` does not say `{expected}`"
        );
    }
}
