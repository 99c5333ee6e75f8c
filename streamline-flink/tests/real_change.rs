//! Changes of jobs on real clusters, and that they keep every record.
#![allow(clippy::unwrap_used, reason = "tests")]

mod real;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use real::{
    Shared, alone, client, expected, program, rescale, results, start, until_ended, until_running,
    with_parallelism,
};
use streamline_core::JobId;
use streamline_flink::local::{LocalCluster, Version};
use streamline_flink::rest::Program;
use streamline_flink::{Change, FlinkClient, FlinkError, RestClient, conformance};

static V2_3: Shared = Shared::new(Version::V2_3);
static V1_20: Shared = Shared::new(Version::V1_20);

const PARTITIONS: u64 = 8;
const KEYS: u64 = 64;
const SELECTIVITY: f64 = 1.5;

/// Each operator's parallelism, filled in where the job is started again.
const EACH: &str = "source={parallelism:Source: source},parse={parallelism:parse},count={parallelism:count},\
                    sink={parallelism:sink -> discard: Writer}";

/// A run of so many seconds, which writes what it counted into a folder of this name.
fn bounded(cluster: &LocalCluster, name: &str, seconds: u64) -> (Program, PathBuf, u64) {
    let records = 100 * seconds;
    let folder = cluster.folder().join(name);
    let program = program(
        cluster,
        &[
            ("name", name),
            ("schedule", "0:800"),
            ("records", &records.to_string()),
            ("parse-us", "200"),
            ("parse-selectivity", "1.5"),
            ("result", folder.to_str().unwrap()),
            ("parallelism", EACH),
        ],
    );
    (program, folder, records)
}

/// Waits until the job has finished and holds what it counted against what it must have.
fn counted_exactly(client: &RestClient, job: &JobId, folder: &std::path::Path, records: u64) {
    until_ended(client, job);
    assert_eq!(results(folder), expected(PARTITIONS, records, SELECTIVITY, KEYS));
}

fn scales_up_and_down_in_place(cluster: &LocalCluster) {
    let client = client(cluster, |options| options);
    let (program, folder, records) = bounded(cluster, "in-place", 25);
    let job = client.submit(&program, 1).unwrap();
    for wanted in [[("parse", 3), ("count", 2)], [("parse", 1), ("count", 4)]] {
        let seen = until_running(&client, &job);
        let config = with_parallelism(&seen, &wanted);
        let applied = client.apply(&job, &Change::new(config.clone())).unwrap();
        assert!(applied.in_place);
        assert!(applied.downtime < Duration::from_secs(15), "{applied:?}");
        assert_eq!(until_running(&client, &job).config, config);
    }
    counted_exactly(&client, &job, &folder, records);
}

#[test]
fn scales_up_and_down_in_place_and_loses_nothing_on_2_3() {
    let shared = V2_3.get();
    scales_up_and_down_in_place(&alone(&shared));
}

#[test]
fn scales_up_and_down_in_place_and_loses_nothing_on_1_20() {
    let shared = V1_20.get();
    scales_up_and_down_in_place(&alone(&shared));
}

#[test]
fn more_slots_than_there_are_is_refused_and_nothing_changed() {
    let shared = V2_3.get();
    let cluster = alone(&shared);
    let client = client(&cluster, |options| options);
    let job = client.submit(&program(&cluster, &[]), 1).unwrap();
    let before = until_running(&client, &job).config;
    let refused = rescale(&client, &job, &[("count", 9)]);
    assert!(
        matches!(&refused, Err(FlinkError::Refused { reason }) if reason.contains("9 task slots")),
        "{refused:?}"
    );
    assert_eq!(until_running(&client, &job).config, before);
    client.cancel(&job).unwrap();
}

#[test]
fn slots_that_a_job_let_go_of_are_its_own_again() {
    let shared = V2_3.get();
    let cluster = alone(&shared);
    let client = client(&cluster, |options| options.with_catch_up(Duration::ZERO));
    let job = client.submit(&program(&cluster, &[]), 1).unwrap();
    for wanted in [8, 1, 8] {
        rescale(&client, &job, &[("count", wanted)]).unwrap();
    }
    client.cancel(&job).unwrap();
}

#[test]
fn a_change_that_needs_a_restart_keeps_state_and_the_jobs_first_id() {
    let shared = V2_3.get();
    let cluster = alone(&shared);
    let (program, folder, records) = bounded(&cluster, "restarted", 20);
    let client = client(&cluster, |options| {
        options.with_program("restarted", program.clone())
    });
    let job = client.submit(&program, 1).unwrap();
    let seen = until_running(&client, &job);
    let mut config = with_parallelism(&seen, &[("parse", 2)]);
    config.buffer_timeout_ms = 20;
    let applied = client.apply(&job, &Change::new(config.clone())).unwrap();
    assert!(!applied.in_place);
    assert_eq!(client.jobs().unwrap(), std::slice::from_ref(&job));
    assert_eq!(until_running(&client, &job).config, config);
    counted_exactly(&client, &job, &folder, records);
}

#[test]
fn a_program_that_makes_other_vertices_is_refused_before_the_job_is_stopped() {
    let shared = V2_3.get();
    let cluster = alone(&shared);
    let other = program(&cluster, &[("shape", "join")]);
    let client = client(&cluster, |options| options.with_program("pipeline", other));
    let job = client
        .submit(&program(&cluster, &[("shape", "diamond")]), 1)
        .unwrap();
    let mut config = until_running(&client, &job).config;
    config.buffer_timeout_ms = 20;
    let refused = client.apply(&job, &Change::new(config));
    assert!(matches!(refused, Err(FlinkError::Refused { .. })), "{refused:?}");
    assert!(!until_running(&client, &job).restarted);
    client.cancel(&job).unwrap();
}

#[test]
fn the_default_scheduler_is_changed_by_a_restart() {
    for version in [Version::V2_3, Version::V1_20] {
        let cluster = start(version, |options| {
            options.with_setting("jobmanager.scheduler", "default")
        });
        let (program, folder, records) = bounded(&cluster, "default", 20);
        let client = client(&cluster, |options| {
            options.with_program("default", program.clone())
        });
        assert!(!client.capabilities().unwrap().in_place_rescale);
        let job = client.submit(&program, 1).unwrap();
        for wanted in [3, 1] {
            let seen = until_running(&client, &job);
            let config = with_parallelism(&seen, &[("parse", wanted), ("count", 2)]);
            let applied = client.apply(&job, &Change::new(config.clone())).unwrap();
            assert!(!applied.in_place);
            assert_eq!(until_running(&client, &job).config, config);
        }
        counted_exactly(&client, &job, &folder, records);
    }
}

#[test]
fn a_second_change_waits_for_the_cooldown_of_the_first() {
    const COOLDOWN: Duration = Duration::from_secs(8);
    let cluster = start(Version::V2_3, |options| {
        options.with_setting(
            "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling",
            "8 s",
        )
    });
    let client = client(&cluster, |options| options.with_catch_up(Duration::ZERO));
    let job = client.submit(&program(&cluster, &[]), 1).unwrap();
    rescale(&client, &job, &[("count", 2)]).unwrap();
    let first = Instant::now();
    rescale(&client, &job, &[("count", 3)]).unwrap();
    assert!(
        first.elapsed() > COOLDOWN - Duration::from_secs(3),
        "{:?}",
        first.elapsed()
    );
    assert!(until_running(&client, &job).config.parallelism().contains(&3));
}

#[test]
fn the_client_keeps_the_promises_of_every_client() {
    let shared = V2_3.get();
    let cluster = alone(&shared);
    let client = client(&cluster, |options| options);
    let job = client.submit(&program(&cluster, &[]), 2).unwrap();
    until_running(&client, &job);
    conformance::check(&client, &job, &mut std::thread::sleep).unwrap();
    client.cancel(&job).unwrap();
}

/// What the child process of the test below does: changes a job, and is killed on its way.
const CHILD: &str = "STREAMLINE_TEST_CHILD";

#[test]
fn a_controller_that_is_killed_in_the_middle_leaves_a_job_that_the_next_one_finishes() {
    if let Ok(arguments) = std::env::var(CHILD) {
        let [url, journal, jar_arguments, job] = serde_json::from_str::<[String; 4]>(&arguments).unwrap();
        let program: Program = serde_json::from_str(&jar_arguments).unwrap();
        let options = streamline_flink::RestOptions::new(url)
            .with_journal(journal)
            .with_program("killed", program);
        let client = RestClient::connect(options).unwrap();
        let job = JobId::new(job);
        let mut config = until_running(&client, &job).config;
        config.buffer_timeout_ms = 20;
        client.apply(&job, &Change::new(config)).unwrap();
        return;
    }
    let shared = V2_3.get();
    let cluster = alone(&shared);
    for step in ["stopping", "stopped", "starting"] {
        let (program, folder, records) = bounded(&cluster, "killed", 14);
        let journal = tempfile::tempdir().unwrap();
        let submitter = client(&cluster, |options| options);
        let job = submitter.submit(&program, 1).unwrap();
        until_running(&submitter, &job);
        let arguments = serde_json::to_string(&[
            cluster.url(),
            journal.path().to_str().unwrap(),
            &serde_json::to_string(&program).unwrap(),
            &job.0,
        ]);
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", std::thread::current().name().unwrap()])
            .env(CHILD, arguments.unwrap())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let written = journal.path().join("changes.jsonl");
        while !std::fs::read_to_string(&written).is_ok_and(|text| text.contains(&format!("\"{step}\""))) {
            assert!(
                Instant::now() < deadline && child.try_wait().unwrap().is_none(),
                "no step {step}"
            );
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();

        let client = client(&cluster, |options| {
            options
                .with_journal(journal.path())
                .with_program("killed", program.clone())
        });
        for (of, outcome) in client.recover() {
            assert_eq!(of, job);
            outcome.unwrap();
        }
        assert_eq!(
            client.jobs().unwrap(),
            std::slice::from_ref(&job),
            "killed at {step}"
        );
        let timeout = client.observe(&job).unwrap().config.buffer_timeout_ms;
        assert_eq!(timeout, 20, "killed at {step}");
        counted_exactly(&client, &job, &folder, records);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
