//! Real clusters that tests share.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use streamline_core::{JobConfig, JobId, JobStatus, Observation};
use streamline_flink::local::{LocalCluster, LocalClusterOptions, Version};
use streamline_flink::rest::Program;
use streamline_flink::{Change, FlinkClient, FlinkError, RestClient, RestOptions};

/// A cluster that is kept for as long as some test wants it.
pub(crate) struct Shared {
    cluster: Mutex<Weak<Mutex<LocalCluster>>>,
    version: Version,
}

impl Shared {
    pub(crate) const fn new(version: Version) -> Self {
        Self {
            cluster: Mutex::new(Weak::new()),
            version,
        }
    }

    /// The cluster: two TaskManagers with four slots each, which waits little between changes.
    pub(crate) fn get(&self) -> Arc<Mutex<LocalCluster>> {
        let mut known = self.cluster.lock().unwrap_or_else(PoisonError::into_inner);
        known.upgrade().unwrap_or_else(|| {
            let cluster = Arc::new(Mutex::new(start(self.version, |options| options)));
            *known = Arc::downgrade(&cluster);
            cluster
        })
    }
}

/// One test at a time, also after one that failed.
pub(crate) fn alone(cluster: &Mutex<LocalCluster>) -> MutexGuard<'_, LocalCluster> {
    cluster.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn start(
    version: Version,
    more: impl FnOnce(LocalClusterOptions) -> LocalClusterOptions,
) -> LocalCluster {
    let options = LocalClusterOptions::new(version)
        .with_task_managers(2)
        .with_setting("web.refresh-interval", "500");
    LocalCluster::start(more(options)).expect("a cluster")
}

pub(crate) fn client(cluster: &LocalCluster, more: impl FnOnce(RestOptions) -> RestOptions) -> RestClient {
    let options = cluster.rest_options().with_patience(Duration::from_secs(60));
    RestClient::connect(more(options)).expect("sound options")
}

/// The known job, with a checkpoint every second.
pub(crate) fn program(cluster: &LocalCluster, arguments: &[(&str, &str)]) -> Program {
    let arguments = arguments
        .iter()
        .chain(&[("checkpoint-ms", "1000")])
        .flat_map(|(name, value)| [format!("--{name}"), (*value).to_owned()]);
    cluster
        .distribution()
        .pipeline()
        .expect("a compiler")
        .with_arguments(arguments)
}

/// The parallelism of each operator, by a part of its name.
pub(crate) fn with_parallelism(seen: &Observation, wanted: &[(&str, u32)]) -> JobConfig {
    let mut config = seen.config.clone();
    for &(name, parallelism) in wanted {
        config.operators[index(seen, name)].parallelism = parallelism;
    }
    config
}

pub(crate) fn index(seen: &Observation, name: &str) -> usize {
    let operators = seen.graph.operators();
    let index = operators.iter().position(|operator| operator.name.contains(name));
    index.unwrap_or_else(|| panic!("no `{name}` in {operators:?}"))
}

/// Looks until what is seen is so, for 60 s at most.
pub(crate) fn until(
    client: &RestClient,
    job: &JobId,
    is_so: impl Fn(&Result<Observation, FlinkError>) -> bool,
) -> Result<Observation, FlinkError> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let seen = client.observe(job);
        if is_so(&seen) {
            return seen;
        }
        assert!(
            Instant::now() < deadline,
            "not within 60 s; the last look: {seen:?}"
        );
        std::thread::sleep(Duration::from_millis(300));
    }
}

pub(crate) fn until_running(client: &RestClient, job: &JobId) -> Observation {
    until(client, job, |seen| {
        seen.as_ref().is_ok_and(|seen| seen.status == JobStatus::Running)
    })
    .expect("it runs")
}

pub(crate) fn until_ended(client: &RestClient, job: &JobId) {
    until(client, job, |seen| {
        seen.as_ref().is_ok_and(|seen| seen.status == JobStatus::Ended)
    })
    .expect("it ends");
}

/// Changes the parallelism of these operators.
pub(crate) fn rescale(client: &RestClient, job: &JobId, wanted: &[(&str, u32)]) -> Result<(), FlinkError> {
    let seen = until_running(client, job);
    let change = Change::new(with_parallelism(&seen, wanted));
    client.apply(job, &change).map(drop)
}

/// What a bounded run of the known job must have counted by key, and the sum of the places: of each of `partitions` the first
/// `records` records, each as often as parse emits it.
pub(crate) fn expected(partitions: u64, records: u64, selectivity: f64, keys: u64) -> Vec<(u64, u64, u64)> {
    let mut results: Vec<(u64, u64, u64)> = (0..keys).map(|key| (key, 0, 0)).collect();
    for place in 0..records {
        let copies = ((place + 1) as f64 * selectivity).floor() - (place as f64 * selectivity).floor();
        let result = &mut results[(place % keys) as usize];
        result.1 += partitions * copies as u64;
        result.2 += partitions * copies as u64 * place;
    }
    results
}

/// What the known job wrote when its input had ended.
pub(crate) fn results(folder: &std::path::Path) -> Vec<(u64, u64, u64)> {
    let mut results: Vec<(u64, u64, u64)> = std::fs::read_dir(folder)
        .expect("results")
        .map(|entry| {
            let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("a result");
            let mut numbers = text
                .split_whitespace()
                .map(|number| number.parse().expect("a number"));
            let mut next = || numbers.next().expect("three numbers");
            (next(), next(), next())
        })
        .collect();
    results.sort_unstable();
    results
}
