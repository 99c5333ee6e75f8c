//! What is made of the answers of real clusters, recorded and spoilt in every way.
#![allow(clippy::unwrap_used, reason = "tests")]

mod real;
mod replay;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use approx::assert_relative_eq;
use proptest::prelude::*;
use real::{index, program, start, until_running};
use replay::{Recording, player, recorder};
use streamline_core::{JobId, Observation};
use streamline_flink::local::Version;
use streamline_flink::{FlinkClient, FlinkError, RestClient, RestOptions};

const VERSIONS: [(Version, &str); 2] = [(Version::V2_3, "2.3.0"), (Version::V1_20, "1.20.5")];

fn file(version: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/answers");
    folder.join(format!("flink-{version}.json"))
}

fn recorded(version: &str) -> Recording {
    serde_json::from_str(&std::fs::read_to_string(file(version)).unwrap()).unwrap()
}

fn client(url: &str) -> RestClient {
    let options = RestOptions::new(url)
        .with_retries(0)
        .with_timeout(Duration::from_secs(5));
    RestClient::connect(options).unwrap()
}

#[test]
#[ignore = "makes the recordings anew: cargo test -p streamline-flink --test replayed -- --ignored"]
fn record() {
    for (version, name) in VERSIONS {
        let cluster = start(version, |options| options.with_task_managers(1));
        let arguments = [
            ("shape", "diamond"),
            ("schedule", "0:800"),
            ("parse-us", "1000"),
            ("parse-selectivity", "0.5"),
            ("parallelism", "parse=2"),
        ];
        let direct = client(cluster.url());
        let job = direct.submit(&program(&cluster, &arguments), 1).unwrap();
        until_running(&direct, &job);
        std::thread::sleep(Duration::from_secs(3));
        let recording = Arc::new(Mutex::new(Recording {
            job: job.clone(),
            answers: BTreeMap::new(),
        }));
        let gate = recorder(cluster.url(), Arc::clone(&recording));
        let through = client(&gate.url);
        through.capabilities().unwrap();
        through.cluster().unwrap();
        through.jobs().unwrap();
        through.observe(&job).unwrap();
        std::thread::sleep(Duration::from_secs(10));
        through.observe(&job).unwrap();
        let mut recording = recording.lock().unwrap().clone();
        // Asked only so that the cluster reads its counters.
        recording.answers.retain(|path, _| !path.contains("get=uptime"));
        std::fs::write(
            file(name),
            serde_json::to_string_pretty(&recording).unwrap() + "\n",
        )
        .unwrap();
    }
}

fn selectivity(seen: &Observation, from: &str, to: &str) -> f64 {
    let (from, to) = (index(seen, from), index(seen, to));
    let edges = seen.graph.edges();
    let edge = edges.iter().position(|edge| (edge.from, edge.to) == (from, to));
    seen.edges[edge.unwrap()].selectivity.unwrap()
}

#[test]
fn answers_of_either_version_are_read_as_they_were_meant() {
    for (_, version) in VERSIONS {
        let recording = recorded(version);
        let job = recording.job.clone();
        let player = player(recording);
        let client = client(&player.url);
        let capabilities = client.capabilities().unwrap();
        assert_eq!(
            (&*capabilities.version, capabilities.in_place_rescale),
            (version, true)
        );
        assert_eq!(client.cluster().unwrap().slots(), 4);
        assert_eq!(client.jobs().unwrap(), std::slice::from_ref(&job));
        let first = client.observe(&job).unwrap();
        assert!(
            first
                .operators
                .iter()
                .all(|operator| operator.input_rate.is_none())
        );
        let seen = client.observe(&job).unwrap();
        assert_relative_eq!(seen.sources[0].arrival_rate.unwrap(), 800.0, max_relative = 0.05);
        assert_relative_eq!(selectivity(&seen, "parse", "left"), 0.5, max_relative = 0.02);
        assert_relative_eq!(selectivity(&seen, "left", "count"), 1.0, max_relative = 0.02);
        let parse = &seen.operators[index(&seen, "parse")];
        assert_relative_eq!(
            parse.true_processing_rate().unwrap(),
            2_000.0,
            max_relative = 0.15
        );
        assert_eq!(parse.locations.len(), 2);
    }
}

/// Everything that a tuner asks of a cluster. What comes back is an error of a kind that a caller can act on, or an observation
/// that holds together.
fn ask(client: &RestClient, job: &JobId) -> Result<(), TestCaseError> {
    let known = |error: &FlinkError| {
        matches!(
            error,
            FlinkError::Malformed { .. }
                | FlinkError::UnknownJob { .. }
                | FlinkError::NotFound { .. }
                | FlinkError::Conflict { .. }
                | FlinkError::Invalid(_)
        )
    };
    for outcome in [
        client.capabilities().map(drop),
        client.cluster().map(drop),
        client.jobs().map(drop),
    ] {
        prop_assert!(outcome.as_ref().err().is_none_or(known), "{outcome:?}");
    }
    for _ in 0..2 {
        match client.observe(job) {
            Ok(seen) => {
                let numbers = seen.operators.iter().flat_map(|operator| {
                    [
                        operator.input_rate,
                        operator.busy,
                        operator.busiest,
                        operator.cpu_cores,
                    ]
                });
                for number in numbers
                    .chain(seen.sources.iter().map(|source| source.arrival_rate))
                    .flatten()
                {
                    prop_assert!(number.is_finite() && number >= 0.0, "{seen:?}");
                }
                prop_assert!(seen.config.check(&seen.graph).is_ok());
            }
            Err(error) => prop_assert!(known(&error), "{error:?}"),
        }
    }
    Ok(())
}

/// Numbers, texts and names that no cluster should answer with.
const ODD: [&str; 14] = [
    "null",
    "-1",
    "0",
    "1e300",
    "-1e300",
    "9223372036854775808",
    "\"NaN\"",
    "\"-Infinity\"",
    "\"\"",
    "[]",
    "{}",
    "true",
    "\"\\u0000\"",
    "0.5",
];

/// One value of a JSON text replaced by another: where in the text by a share of it.
fn spoilt(body: &str, place: f64, value: &str) -> String {
    let from = (body.len() as f64 * place) as usize;
    let Some(colon) = body
        .bytes()
        .enumerate()
        .skip(from)
        .find(|&(_, byte)| byte == b':')
        .map(|(at, _)| at)
    else {
        return body.to_owned();
    };
    let rest = &body[colon + 1..];
    let end = rest.find([',', '}', ']']).unwrap_or(rest.len());
    format!("{}{value}{}", &body[..=colon], &rest[end..])
}

/// The texts with every answer whose path fits `which` spoilt.
fn with_spoilt(mut recording: Recording, which: usize, spoil: impl Fn(&str) -> String) -> Recording {
    let paths = recording.answers.len();
    let answers = recording.answers.values_mut().nth(which % paths).unwrap();
    for answer in answers {
        *answer = spoil(answer);
    }
    recording
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn an_odd_value_anywhere_is_unknown_or_an_error_and_never_believed(
        old in any::<bool>(),
        which in any::<usize>(),
        place in 0.0..1.0f64,
        value in prop::sample::select(&ODD[..]),
    ) {
        let recording = recorded(VERSIONS[usize::from(old)].1);
        let job = recording.job.clone();
        let player = player(with_spoilt(recording, which, |body| spoilt(body, place, value)));
        ask(&client(&player.url), &job)?;
    }

    #[test]
    fn an_answer_that_is_cut_off_is_an_error_and_never_believed(
        old in any::<bool>(),
        which in any::<usize>(),
        place in 0.0..1.0f64,
    ) {
        let recording = recorded(VERSIONS[usize::from(old)].1);
        let job = recording.job.clone();
        let cut = |body: &str| {
            let characters = (body.chars().count() as f64 * place) as usize;
            body.chars().take(characters).collect()
        };
        let player = player(with_spoilt(recording, which, cut));
        ask(&client(&player.url), &job)?;
    }
}
