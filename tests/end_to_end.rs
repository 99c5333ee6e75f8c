//! Whole rounds against the simulated cluster.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use streamline_core::{Cluster, JobConfig, JobId, OperatorConfig, TimeSeries};
use streamline_flink::{FlinkClient, LoadShape, Model, OperatorProfile, SimulatedCluster, SimulatedJob};
use streamline_predict::{Forecast, LastValue, PredictError, SeasonalNaive, WorkloadPredictor};
use streamline_tuner::{ChangeReason, Controller, Decision, JobPolicy, Round, Tuner, TunerOptions};
use support::{STEP_MS, four_operators};

const INTERVAL: Duration = Duration::from_secs(300);
const HOUR: usize = 12;

/// A job of four operators, each of which can do 1,000 records a second with one subtask.
fn job(name: &str, parallelism: u32, arrivals: TimeSeries) -> SimulatedJob {
    SimulatedJob {
        name: name.into(),
        graph: four_operators(),
        config: JobConfig::uniform(
            4,
            OperatorConfig {
                parallelism,
                segment_bytes: 32 << 10,
            },
        ),
        operators: vec![OperatorProfile::new(1_000.0); 4],
        selectivities: vec![1.0; 3],
        arrivals: vec![arrivals],
    }
}

fn cluster(task_managers: usize, slots: u32) -> SimulatedCluster {
    let cluster = Cluster::uniform(task_managers, 64.0, 64 << 30, slots).expect("sound");
    SimulatedCluster::new(Model::default(), cluster, 1).expect("sound")
}

/// A tuner that needs no training: it expects the day to be like the one before.
fn tuner() -> Tuner {
    let options = TunerOptions {
        population: 16,
        generations: 20,
        ..TunerOptions::default()
    };
    Tuner::builder()
        .predictor(SeasonalNaive::default())
        .options(options)
        .build()
        .expect("sound")
}

/// The jobs that were changed in each of so many rounds, with the reasons.
fn live(
    cluster: &SimulatedCluster,
    controller: &mut Controller,
    rounds: usize,
) -> Vec<Vec<(JobId, ChangeReason)>> {
    (0..rounds)
        .map(|_| {
            cluster.advance(INTERVAL);
            let round = controller.round(cluster).expect("sound");
            assert!(
                round.changes.iter().all(|(_, outcome)| outcome.is_ok()),
                "{:?}",
                round.changes
            );
            let changed = round.plan.jobs.into_iter().filter_map(|job| match job.decision {
                Decision::Change(reason) => Some((job.job, reason)),
                Decision::Hold(_) => None,
            });
            changed.collect()
        })
        .collect()
}

#[test]
fn only_the_job_whose_load_dropped_is_scaled_down() {
    let cluster = cluster(4, 16);
    let flat = |rate: f64| TimeSeries::from_values(0, STEP_MS.unsigned_abs(), &[rate]).unwrap();
    let mut jobs = Vec::new();
    for (name, rate, parallelism) in [("a", 6_000.0, 10), ("b", 8_000.0, 13), ("c", 4_000.0, 7)] {
        jobs.push(cluster.submit(job(name, parallelism, flat(rate))).unwrap());
    }
    let mut controller = Controller::new(tuner());
    let settled = live(&cluster, &mut controller, 2 * HOUR);
    cluster.set_arrivals(&jobs[1], 0, flat(2_000.0)).unwrap();
    let before = [&jobs[0], &jobs[2]].map(|job| cluster.observe(job).unwrap().config);
    let changed: Vec<JobId> = live(&cluster, &mut controller, HOUR)
        .into_iter()
        .flatten()
        .map(|(job, _)| job)
        .collect();
    assert!(
        !changed.is_empty() && changed.iter().all(|job| *job == jobs[1]),
        "{changed:?} after {settled:?}"
    );
    assert_eq!(
        [&jobs[0], &jobs[2]].map(|job| cluster.observe(job).unwrap().config),
        before
    );
    assert!(
        cluster
            .observe(&jobs[1])
            .unwrap()
            .config
            .parallelism()
            .into_iter()
            .all(|p| p <= 4)
    );
}

#[test]
fn a_day_like_the_one_before_is_met_before_its_peak_and_with_less_than_a_fixed_job_takes() {
    let days = LoadShape::DayAndNight
        .days(3, STEP_MS.unsigned_abs(), 10_000.0, 5)
        .unwrap();
    let (history, day) = (days.slice(0, 576), days.slice(576, 864));
    let start = |parallelism| {
        let cluster = cluster(4, 16).starting_at(day.start_ms());
        let job = cluster.submit(job("daily", parallelism, day.clone())).unwrap();
        (cluster, job)
    };
    let (tuned, tuned_job) = start(8);
    let mut controller = Controller::new(tuner());
    controller.memory_mut().preload(&tuned_job, 0, &history).unwrap();
    let changes: usize = live(&tuned, &mut controller, 288).iter().map(Vec::len).sum();
    let (fixed, fixed_job) = start(17);
    fixed.advance(INTERVAL * 288);

    let (of_tuned, of_fixed) = (tuned.truth(&tuned_job).unwrap(), fixed.truth(&fixed_job).unwrap());
    assert!(
        of_tuned.backlog < 1.0,
        "{} records wait at the end",
        of_tuned.backlog
    );
    assert!((2..=16).contains(&changes), "{changes} changes");
    assert!(of_tuned.slot_seconds < 0.8 * of_fixed.slot_seconds);
    assert!(of_tuned.core_seconds < of_fixed.core_seconds);
}

#[test]
fn an_unannounced_tripling_is_answered_in_the_next_round_and_worked_off() {
    let cluster = cluster(4, 16);
    let flat = |rate: f64| TimeSeries::from_values(0, STEP_MS.unsigned_abs(), &[rate]).unwrap();
    let job = cluster.submit(job("surprised", 5, flat(3_000.0))).unwrap();
    let mut controller = Controller::new(tuner());
    live(&cluster, &mut controller, HOUR);
    cluster.set_arrivals(&job, 0, flat(9_000.0)).unwrap();
    let reasons = live(&cluster, &mut controller, 1).remove(0);
    assert!(
        matches!(reasons[..], [(_, ChangeReason::KeepUp { .. })]),
        "{reasons:?}"
    );
    live(&cluster, &mut controller, 6);
    assert!(cluster.truth(&job).unwrap().backlog < 1.0);
}

#[test]
fn a_dry_run_changes_nothing() {
    let cluster = cluster(4, 16);
    let flat = TimeSeries::from_values(0, STEP_MS.unsigned_abs(), &[9_000.0]).unwrap();
    let job = cluster.submit(job("watched", 5, flat)).unwrap();
    let mut controller = Controller::new(tuner()).with_dry_run(true);
    cluster.advance(INTERVAL);
    let round = controller.round(&cluster).unwrap();
    assert!(round.plan.jobs[0].is_changed() && round.changes.is_empty());
    assert_eq!(cluster.observe(&job).unwrap().config.parallelism(), [5; 4]);
}

#[test]
fn a_change_that_the_cluster_refuses_is_reported_and_not_repeated_at_once() {
    // The client says that there are slots which it then does not have: another job has taken them.
    struct Full(SimulatedCluster);
    impl FlinkClient for Full {
        fn capabilities(&self) -> Result<streamline_flink::Capabilities, streamline_flink::FlinkError> {
            self.0.capabilities()
        }
        fn jobs(&self) -> Result<Vec<JobId>, streamline_flink::FlinkError> {
            self.0.jobs()
        }
        fn cluster(&self) -> Result<Cluster, streamline_flink::FlinkError> {
            self.0.cluster()
        }
        fn observe(&self, job: &JobId) -> Result<streamline_core::Observation, streamline_flink::FlinkError> {
            self.0.observe(job)
        }
        fn apply(
            &self,
            _job: &JobId,
            _change: &streamline_flink::Change,
        ) -> Result<streamline_flink::Applied, streamline_flink::FlinkError> {
            Err(streamline_flink::FlinkError::Refused {
                reason: "no slots".into(),
            })
        }
    }
    let flat = TimeSeries::from_values(0, STEP_MS.unsigned_abs(), &[9_000.0]).unwrap();
    let client = Full(cluster(4, 16));
    client.0.submit(job("unlucky", 5, flat)).unwrap();
    let mut controller = Controller::new(tuner());
    client.0.advance(INTERVAL);
    let first = controller.round(&client).unwrap();
    assert!(matches!(first.changes[..], [(_, Err(_))]));
    client.0.advance(INTERVAL);
    let second = controller.round(&client).unwrap();
    assert!(second.changes.is_empty(), "{}", second.plan);
}

#[test]
fn when_the_cluster_is_too_small_the_job_with_priority_keeps_up() {
    let cluster = cluster(2, 10);
    let flat = |rate: f64| TimeSeries::from_values(0, STEP_MS.unsigned_abs(), &[rate]).unwrap();
    let low = cluster.submit(job("low", 10, flat(6_000.0))).unwrap();
    let high = cluster.submit(job("high", 10, flat(6_000.0))).unwrap();
    let mut controller = support::controller(
        tuner(),
        &[
            (&low, JobPolicy::default()),
            (&high, JobPolicy::default().with_priority(9)),
        ],
    );
    live(&cluster, &mut controller, 2);
    for job in [&low, &high] {
        cluster.set_arrivals(job, 0, flat(9_500.0)).unwrap();
    }
    live(&cluster, &mut controller, HOUR);
    assert!(cluster.truth(&high).unwrap().backlog < 1.0);
    assert!(cluster.truth(&low).unwrap().backlog > 1.0);
}

/// Expects the last rate, and is sure of it to a thousandth.
struct TooSure;

impl WorkloadPredictor for TooSure {
    fn name(&self) -> &str {
        "too sure"
    }

    fn lookback(&self) -> usize {
        1
    }

    fn fit(&mut self, _history: &[TimeSeries]) -> Result<(), PredictError> {
        Ok(())
    }

    fn forecast(&self, history: &TimeSeries, horizon: usize) -> Result<Forecast, PredictError> {
        let last = LastValue.forecast(history, horizon)?;
        let times = |factor: f64| last.point().iter().map(|rate| rate * factor).collect();
        let quantiles = vec![times(0.999), times(1.0), times(1.001)];
        Forecast::new(history, times(1.0), vec![0.1, 0.5, 0.9], quantiles)
    }
}

/// Expects the last rate, and counts how often it is told what came.
struct Told(Arc<AtomicUsize>);

impl WorkloadPredictor for Told {
    fn name(&self) -> &str {
        "told"
    }

    fn lookback(&self) -> usize {
        1
    }

    fn fit(&mut self, _history: &[TimeSeries]) -> Result<(), PredictError> {
        Ok(())
    }

    fn forecast(&self, history: &TimeSeries, horizon: usize) -> Result<Forecast, PredictError> {
        LastValue.forecast(history, horizon)
    }

    fn update(&mut self, recent: &[TimeSeries]) -> Result<(), PredictError> {
        assert!(recent.len() == 1 && recent[0].len() >= 288);
        self.0.fetch_add(1, Ordering::Relaxed);
        Err(PredictError::HistoryTooShort { given: 0, needed: 1 }) // which no round fails for
    }
}

#[test]
fn the_predictor_is_told_once_a_day_what_came() {
    let flat = TimeSeries::from_values(0, STEP_MS.unsigned_abs(), &[3_000.0]).unwrap();
    let cluster = cluster(2, 16);
    cluster.submit(job("steady", 5, flat)).unwrap();
    let told = Arc::new(AtomicUsize::new(0));
    let tuner = Tuner::builder()
        .predictor(Told(Arc::clone(&told)))
        .build()
        .unwrap();
    let mut controller = Controller::new(tuner).with_dry_run(true);
    live(&cluster, &mut controller, 2 * 24 * HOUR + 2);
    assert_eq!(told.load(Ordering::Relaxed), 2);
}

#[test]
fn what_is_provided_for_grows_where_forecasts_were_too_sure() {
    // Between 4,000 and 6,000 records a second, like noise.
    let rates: Vec<f64> = (0..288u32)
        .map(|step| 4_000.0 + 2_000.0 * f64::from(step * step % 41) / 40.0)
        .collect();
    let arrivals = TimeSeries::from_values(0, STEP_MS.unsigned_abs(), &rates).unwrap();
    let cluster = cluster(2, 16);
    cluster.submit(job("noisy", 10, arrivals)).unwrap();
    let tuner = Tuner::builder().predictor(TooSure).build().unwrap();
    let mut controller = Controller::new(tuner).with_dry_run(true);
    let headroom = |round: &Round| {
        let source = &round.plan.jobs[0].sources[0];
        source.rates[0] / source.forecast.as_ref().unwrap().point()[0]
    };
    let mut headrooms = Vec::new();
    for _ in 0..200 {
        cluster.advance(INTERVAL);
        headrooms.push(headroom(&controller.round(&cluster).unwrap()));
    }
    assert!((headrooms[0] - 1.001).abs() < 1e-9, "{}", headrooms[0]);
    assert!(headrooms[199] > 1.02, "{}", headrooms[199]);
}
