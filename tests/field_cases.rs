//! What happened to people who run Flink, as cases that the tuner has to pass.

mod support;

use std::time::Duration;

use streamline_core::{Cluster, JobConfig, JobGraph, JobStatus, OperatorConfig};
use streamline_tuner::{
    ChangeReason, Decision, Error, HoldReason, JobPolicy, Memory, Objective, PlanRequest,
};
use support::{STEP_MS, ample, capabilities, plan, plan_with, seen, tuner};

#[test]
fn a_source_never_gets_more_subtasks_than_partitions() {
    let mut job = seen("j", STEP_MS, 9_500.0, 1_000.0, 10);
    let mut operators = job.graph.operators().to_vec();
    operators[0] = operators[0].clone().with_partitions(15).with_bounds(1, 180);
    job.graph = JobGraph::new(operators, job.graph.edges().to_vec()).unwrap();
    let plan = plan(&tuner(3.0), &[job], &[JobPolicy::default()], &ample());
    assert!(plan.jobs[0].is_changed());
    assert_eq!(plan.jobs[0].config.operators[0].parallelism, 15);
}

#[test]
fn a_source_that_runs_with_more_subtasks_than_partitions_is_brought_back() {
    let mut job = seen("j", STEP_MS, 8_000.0, 1_000.0, 10);
    let mut operators = job.graph.operators().to_vec();
    operators[0] = operators[0].clone().with_partitions(15).with_bounds(1, 180);
    job.graph = JobGraph::new(operators, job.graph.edges().to_vec()).unwrap();
    job.config.operators[0].parallelism = 100;
    (job.operators[0].busy, job.operators[0].busiest) = (Some(0.08), Some(0.53));
    let plan = plan(&tuner(1.0), &[job], &[JobPolicy::default()], &ample());
    assert!(
        matches!(
            plan.jobs[0].decision,
            Decision::Change(ChangeReason::OutOfBounds { .. })
        ),
        "{plan}"
    );
    assert_eq!(plan.jobs[0].config.operators[0].parallelism, 15);
}

#[test]
fn an_unknown_arrival_rate_holds_the_job_and_says_so() {
    let mut job = seen("j", STEP_MS, 9_500.0, 1_000.0, 10);
    job.sources[0].arrival_rate = None;
    let plan = plan(&tuner(0.1), &[job], &[JobPolicy::default()], &ample());
    let expected = HoldReason::Unknown {
        what: "the arrival rate of source `source`".into(),
    };
    assert_eq!(plan.jobs[0].decision, Decision::Hold(expected));
}

#[test]
fn an_unknown_selectivity_holds_the_job_and_says_so() {
    let mut job = seen("j", STEP_MS, 9_500.0, 1_000.0, 10);
    job.edges[1].selectivity = None;
    let plan = plan(&tuner(0.1), &[job], &[JobPolicy::default()], &ample());
    let expected = HoldReason::Unknown {
        what: "the selectivity from `map` to `window`".into(),
    };
    assert_eq!(plan.jobs[0].decision, Decision::Hold(expected));
}

#[test]
fn a_source_that_reports_no_backlog_can_be_scaled_down() {
    let mut job = seen("j", STEP_MS, 2_000.0, 1_000.0, 16);
    job.sources[0].backlog = None;
    let plan = plan(&tuner(1.0), &[job], &[JobPolicy::default()], &ample());
    assert!(
        matches!(plan.jobs[0].decision, Decision::Change(ChangeReason::Pays { .. })),
        "{plan}"
    );
}

#[test]
fn an_operator_without_busy_time_keeps_its_parallelism_and_still_feeds_those_downstream() {
    let mut job = seen("j", STEP_MS, 9_500.0, 1_000.0, 10);
    (job.operators[0].busy, job.operators[0].cpu_cores) = (None, None);
    let plan = plan(&tuner(2.0), &[job], &[JobPolicy::default()], &ample());
    let after = plan.jobs[0].config.parallelism();
    assert_eq!(after[0], 10);
    assert!(after[1] > 20 && after[2] > 20, "{after:?}");
    assert!((plan.jobs[0].rates[3] - 19_000.0).abs() < 1e-6);
}

#[test]
fn an_almost_idle_operator_is_not_taken_for_a_slow_one() {
    let mut job = seen("j", STEP_MS, 9_500.0, 1_000.0, 10);
    job.edges[2].selectivity = Some(1e-5);
    (job.operators[3].input_rate, job.operators[3].busy) = (Some(0.095), Some(0.002));
    let plan = plan(&tuner(2.0), &[job], &[JobPolicy::default()], &ample());
    assert!(plan.jobs[0].is_changed());
    assert_eq!(plan.jobs[0].config.parallelism()[3], 10);
}

#[test]
fn a_job_that_works_off_a_backlog_is_not_scaled_down() {
    let mut job = seen("j", STEP_MS, 2_000.0, 1_000.0, 16);
    job.sources[0].backlog = Some(500_000.0);
    let plan = plan(&tuner(1.0), &[job], &[JobPolicy::default()], &ample());
    assert_eq!(
        plan.jobs[0].decision,
        Decision::Hold(HoldReason::BacklogDraining { backlog: 500_000.0 })
    );
}

#[test]
fn slowly_falling_traffic_causes_few_changes() {
    let tuner = tuner(1.0);
    let mut memory = Memory::default();
    let mut running = 16;
    let mut changes = 0;
    for round in 1..=288i64 {
        let at_ms = round * STEP_MS;
        let rate = 11_000.0 - 9_000.0 * round as f64 / 288.0;
        let mut job = seen("j", at_ms, rate, 1_000.0, running);
        job.config = JobConfig::uniform(
            4,
            OperatorConfig {
                parallelism: running,
                segment_bytes: 32 << 10,
            },
        );
        memory.remember(&job, Duration::from_secs(300)).unwrap();
        let plan = plan_with(&tuner, &[job], &[JobPolicy::default()], &ample(), &memory);
        if plan.jobs[0].is_changed() {
            changes += 1;
            running = plan.jobs[0].config.parallelism().into_iter().max().unwrap();
            let config = JobConfig::uniform(
                4,
                OperatorConfig {
                    parallelism: running,
                    segment_bytes: 32 << 10,
                },
            );
            let Decision::Change(reason) = &plan.jobs[0].decision else {
                unreachable!()
            };
            memory.changed(&plan.jobs[0].job, at_ms, &config, Duration::from_secs(30), reason);
        }
    }
    assert!((1..=10).contains(&changes), "{changes} changes in a day");
    assert!(running <= 4, "{running} subtasks for 2 that are needed");
}

/// What is decided about a job that is twice as wide as it need be, whose load is forecast to become `factor` of what it is, and
/// whose last change took it down for so many seconds.
fn about_a_job_that_is_too_wide(factor: f64, downtime: u64) -> Decision {
    let job = seen("j", 2 * STEP_MS, 6_000.0, 1_000.0, 12);
    let mut memory = Memory::default();
    memory.changed(
        &job.job,
        i64::MIN / 2,
        &job.config,
        Duration::from_secs(downtime),
        &ChangeReason::MakeRoom,
    );
    memory.remember(&job, Duration::from_secs(300)).expect("sound");
    let plan = plan_with(&tuner(factor), &[job], &[JobPolicy::default()], &ample(), &memory);
    plan.jobs[0].decision.clone()
}

#[test]
fn a_load_that_has_yet_to_fall_to_its_forecast_is_not_answered_before() {
    let decision = about_a_job_that_is_too_wide(0.5, 5);
    assert!(
        matches!(decision, Decision::Hold(HoldReason::Falling { .. })),
        "{decision}"
    );
    let decision = about_a_job_that_is_too_wide(1.0, 5);
    assert!(
        matches!(decision, Decision::Change(ChangeReason::Pays { .. })),
        "{decision}"
    );
}

#[test]
fn the_measured_downtime_of_the_job_enters_the_decision() {
    let decision = about_a_job_that_is_too_wide(1.0, 5);
    assert!(
        matches!(decision, Decision::Change(ChangeReason::Pays { .. })),
        "{decision}"
    );
    let decision = about_a_job_that_is_too_wide(1.0, 150);
    assert!(
        matches!(decision, Decision::Hold(HoldReason::DoesNotPay { .. })),
        "{decision}"
    );
}

#[test]
fn a_change_that_was_undone_is_not_repeated_at_once() {
    let mut memory = Memory::default();
    let job = seen("j", 2 * STEP_MS, 15_000.0, 1_000.0, 8);
    let wanted = JobConfig::uniform(
        4,
        OperatorConfig {
            parallelism: 22,
            segment_bytes: 32 << 10,
        },
    );
    memory.changed(
        &job.job,
        STEP_MS,
        &wanted,
        Duration::from_secs(30),
        &ChangeReason::MakeRoom,
    );
    memory.remember(&job, Duration::from_secs(300)).unwrap();
    let plan = plan_with(&tuner(1.0), &[job], &[JobPolicy::default()], &ample(), &memory);
    assert!(
        matches!(
            plan.jobs[0].decision,
            Decision::Hold(HoldReason::Backoff { failures: 1, .. })
        ),
        "{}",
        plan.jobs[0].decision
    );
}

#[test]
fn a_full_cluster_serves_the_job_that_goes_first_and_says_who_got_less() {
    let cluster = Cluster::uniform(2, 64.0, 32 << 30, 12).unwrap();
    let observations = [
        seen("low", STEP_MS, 8_000.0, 1_000.0, 12),
        seen("high", STEP_MS, 9_500.0, 1_000.0, 10),
    ];
    let policies = [JobPolicy::default(), JobPolicy::default().with_priority(5)];
    let plan = plan(&tuner(1.2), &observations, &policies, &cluster);
    assert!((plan.jobs[1].granted - 1.0).abs() < f64::EPSILON, "{plan}");
    assert!(plan.jobs[0].granted < 1.0, "{plan}");
    let slots: u64 = plan
        .jobs
        .iter()
        .map(|job| u64::from(*job.config.parallelism().iter().max().unwrap()))
        .sum();
    assert!(slots <= cluster.slots(), "{plan}");
    assert!(
        plan.to_string().contains("% of its load, since others go first"),
        "{plan}"
    );
    assert!(plan.schedule.is_complete());
}

#[test]
fn a_job_that_is_frozen_or_not_running_is_left_alone() {
    let frozen = seen("frozen", STEP_MS, 9_900.0, 1_000.0, 10);
    let mut restarting = seen("restarting", STEP_MS, 9_900.0, 1_000.0, 10);
    restarting.status = JobStatus::Restarting;
    let policies = [JobPolicy::default().with_frozen(true), JobPolicy::default()];
    let plan = plan(&tuner(2.0), &[frozen, restarting], &policies, &ample());
    assert_eq!(plan.jobs[0].decision, Decision::Hold(HoldReason::Frozen));
    assert_eq!(plan.jobs[1].decision, Decision::Hold(HoldReason::NotRunning));
}

#[test]
fn a_rise_that_is_forecast_is_met_before_it_comes() {
    let job = seen("j", STEP_MS, 5_000.0, 1_000.0, 8);
    let calm = plan(
        &tuner(1.0),
        std::slice::from_ref(&job),
        &[JobPolicy::default()],
        &ample(),
    );
    assert!(!calm.jobs[0].is_changed(), "{calm}");
    let warned = plan(&tuner(1.8), &[job], &[JobPolicy::default()], &ample());
    assert!(
        matches!(
            warned.jobs[0].decision,
            Decision::Change(ChangeReason::KeepUp { .. })
        ),
        "{warned}"
    );
}

#[test]
fn a_latency_limit_is_paid_for_only_as_far_as_it_takes() {
    let job = seen("j", STEP_MS, 6_500.0, 1_000.0, 10);
    let with = |objective| {
        let policy = JobPolicy::default().with_objective(objective);
        plan(&tuner(1.0), std::slice::from_ref(&job), &[policy], &ample()).front
    };
    let front = with(Objective::default());
    assert!(!front.is_empty());
    for pair in front.windows(2) {
        assert!(pair[0].cost <= pair[1].cost && pair[0].latency_ms >= pair[1].latency_ms);
    }
}

#[test]
fn nothing_to_plan_for_and_nothing_to_run_on_are_errors() {
    let without_slots = Cluster::uniform(2, 4.0, 1 << 30, 0).unwrap();
    let jobs = [seen("j", STEP_MS, 1.0, 1.0, 1)];
    let policies = [JobPolicy::default()];
    let refusal = |observations, policies, cluster: &Cluster| {
        let (capabilities, memory) = (&capabilities(), &Memory::default());
        tuner(1.0)
            .plan(&PlanRequest {
                observations,
                policies,
                cluster,
                capabilities,
                memory,
            })
            .unwrap_err()
    };
    assert!(matches!(refusal(&[], &[], &ample()), Error::NoJobs));
    assert!(matches!(
        refusal(&jobs, &policies, &without_slots),
        Error::NoSlots { task_managers: 2 }
    ));
    let never = [JobPolicy::default().with_objective(Objective::latency_at_most(f64::NAN))];
    let refused = refusal(&jobs, &never, &ample());
    assert!(matches!(
        refused,
        Error::InvalidOption {
            name: "latency_limit_ms",
            ..
        }
    ));
    assert!(matches!(
        refusal(&jobs, &[], &ample()),
        Error::InvalidOption { name: "policies", .. }
    ));
}

#[test]
fn the_same_request_gives_byte_identical_plans_on_one_thread_and_on_two() {
    let observations: Vec<_> = (0..6)
        .map(|n| {
            seen(
                &format!("j{n}"),
                STEP_MS,
                2_000.0 + 1_500.0 * f64::from(n),
                1_000.0,
                8,
            )
        })
        .collect();
    let policies = vec![JobPolicy::default().with_objective(Objective::latency_at_most(200.0)); 6];
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let plan = pool.install(|| plan(&tuner(1.3), &observations, &policies, &ample()));
        serde_json::to_vec(&plan).unwrap()
    };
    assert_eq!(on(1), on(2));
}
