use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use streamline_core::{JobConfig, JobId, JobStatus, Observation, TimeSeries};
use streamline_predict::{Calibration, WorkloadPredictor};

use crate::options::in_ms;
use crate::profile::capacity;
use crate::{ChangeReason, Error, Plan};

/// What a tuner remembers of the jobs that it has seen: arrival rates, selectivities, capacities, what changes cost.
///
/// A plain value with serde: keep it with your control plane's state and a new process goes on where the old one
/// stopped.
///
/// # Examples
///
/// Histories that were recorded elsewhere can be put in before the first look:
///
/// ```
/// use streamline_core::{JobId, TimeSeries};
/// use streamline_tuner::Memory;
///
/// let mut memory = Memory::default();
/// let last_week = TimeSeries::from_values(0, 300_000, &[100.0, 120.0, 90.0])?;
/// memory.preload(&JobId::new("clicks"), 0, &last_week)?;
/// assert_eq!(memory.arrivals(&JobId::new("clicks"), 0, 300_000)?.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    jobs: BTreeMap<JobId, JobMemory>,
}

/// What is remembered of one job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobMemory {
    /// When it was last looked at.
    last_look_ms: Option<i64>,
    /// For each source, samples of `(start of the interval in ms, records per second)`.
    arrivals: BTreeMap<usize, VecDeque<(i64, f64)>>,
    /// For each edge, the smoothed selectivity.
    selectivities: Vec<Option<f64>>,
    /// For each source, how forecasts of its load fared.
    #[serde(default)]
    calibrations: BTreeMap<usize, Calibration>,
    /// For each operator, the smoothed true processing rate at each parallelism that it ran with, had its work been
    /// spread evenly.
    capacities: Vec<BTreeMap<u32, f64>>,
    /// Smoothed downtime of a change.
    downtime_ms: Option<f64>,
    /// The change that was made last.
    change: Option<LastChange>,
    /// When a change was last made to save cores, unless it has been undone since.
    saved_at_ms: Option<i64>,
    /// Savings that soon had to be undone, fading with time.
    regrets: Fading,
}

/// A count that halves with every day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Fading {
    count: f64,
    at_ms: i64,
}

impl Fading {
    fn at(self, now_ms: i64) -> f64 {
        const DAY_MS: f64 = 86_400_000.0;
        let days = now_ms.saturating_sub(self.at_ms).max(0) as f64 / DAY_MS;
        self.count * (-days).exp2()
    }
}

/// A change that was made, and whether it held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LastChange {
    at_ms: i64,
    config: JobConfig,
    /// How many changes in a row failed or were undone.
    failures: u32,
    /// Whether the configuration has been seen running.
    seen: bool,
}

/// Samples kept for each source: four weeks at 5 minutes.
const MAX_ARRIVALS: usize = 28 * 288;
/// Weight of a new measurement against what is remembered.
const SMOOTHING: f64 = 0.3;
/// A saving that is undone within this time was none.
const REGRET: Duration = Duration::from_secs(6 * 3600);
/// The longest wait after failed changes.
const LONGEST_RETRY: Duration = Duration::from_secs(24 * 3600);

impl Memory {
    /// Puts in a source's arrival rates from before the first look.
    ///
    /// # Errors
    /// [`Error::Observation`] naming the first rate that is negative; nothing is put in then.
    pub fn preload(&mut self, job: &JobId, source: usize, history: &TimeSeries) -> Result<(), Error> {
        history.check_rates().map_err(|source| Error::Observation {
            job: job.clone(),
            source,
        })?;
        let memory = self.jobs.entry(job.clone()).or_default();
        for (index, rate) in history.iter().enumerate() {
            if let Some(rate) = rate {
                memory.push_arrival(source, history.time_ms(index), rate);
            }
        }
        Ok(())
    }

    /// The arrival rates of a source on a grid of `step_ms`; each point is the mean over the step that starts there.
    ///
    /// # Errors
    /// [`Error::Observation`] if the samples span more steps than a series can hold.
    pub fn arrivals(&self, job: &JobId, source: usize, step_ms: u64) -> Result<TimeSeries, Error> {
        let mut samples = Vec::new();
        if let Some(log) = self.jobs.get(job).and_then(|memory| memory.arrivals.get(&source)) {
            samples.extend(log.iter().copied());
        }
        TimeSeries::from_samples(&samples, step_ms).map_err(|source| Error::Observation {
            job: job.clone(),
            source,
        })
    }

    /// Takes note of a look at a job. Call it once for each observation, in the order in which they were made.
    ///
    /// What is unknown leaves what is remembered as it is; a job that is restarting adds nothing but its arrivals.
    ///
    /// # Errors
    /// [`Error::Observation`] if the observation makes no sense; nothing is remembered of it then.
    pub fn remember(&mut self, seen: &Observation, step: Duration) -> Result<(), Error> {
        seen.check().map_err(|source| Error::Observation {
            job: seen.job.clone(),
            source,
        })?;
        self.jobs
            .entry(seen.job.clone())
            .or_default()
            .remember(seen, step);
        for source in 0..seen.sources.len() {
            self.calibrate(seen, source, in_ms(step))?;
        }
        Ok(())
    }

    /// Compares what forecasts of a source there are with what has come.
    fn calibrate(&mut self, seen: &Observation, source: usize, step_ms: u64) -> Result<(), Error> {
        if self
            .job(&seen.job)
            .and_then(|job| job.calibration(source))
            .is_none()
        {
            return Ok(());
        }
        let mut history = self.arrivals(&seen.job, source, step_ms)?;
        let newest = history.len().saturating_sub(1);
        if history.time_ms(newest + 1) > seen.at_ms {
            history = history.slice(0, newest); // the newest step has not ended
        }
        let job = self.jobs.get_mut(&seen.job);
        if let Some(calibration) = job.and_then(|job| job.calibrations.get_mut(&source)) {
            calibration.observe(&history);
        }
        Ok(())
    }

    /// Takes note of what a plan expects each source to receive, to learn from what comes how far to trust the next
    /// forecast. A source that is new starts from what the predictor knows of that.
    pub fn expect(&mut self, plan: &Plan, predictor: &dyn WorkloadPredictor) {
        for job in &plan.jobs {
            let memory = self.jobs.entry(job.job.clone()).or_default();
            for (source, outlook) in job.sources.iter().enumerate() {
                let Some(forecast) = &outlook.forecast else {
                    continue;
                };
                let known = predictor.calibration();
                let calibration = memory.calibrations.entry(source);
                calibration
                    .or_insert_with(|| known.cloned().unwrap_or_default())
                    .record(forecast);
            }
        }
    }

    /// Takes over what a look at a trial run of a job, under a load of its own, teaches of `job`: selectivities and
    /// capacities, but no arrivals.
    ///
    /// # Errors
    /// [`Error::Observation`] if the observation makes no sense; nothing is remembered of it then.
    pub fn learn(&mut self, job: &JobId, trial: &Observation) -> Result<(), Error> {
        trial.check().map_err(|source| Error::Observation {
            job: trial.job.clone(),
            source,
        })?;
        if trial.status == JobStatus::Running && !trial.restarted {
            self.jobs.entry(job.clone()).or_default().learn(trial);
        }
        Ok(())
    }

    /// Takes note of a change that was made, and why.
    pub fn changed(
        &mut self,
        job: &JobId,
        at_ms: i64,
        config: &JobConfig,
        downtime: Duration,
        reason: &ChangeReason,
    ) {
        let memory = self.jobs.entry(job.clone()).or_default();
        match reason {
            ChangeReason::Pays { .. } => memory.saved_at_ms = Some(at_ms),
            ChangeReason::KeepUp { .. } | ChangeReason::Latency { .. } => {
                if let Some(saved_at_ms) = memory.saved_at_ms.take()
                    && u128::from(at_ms.abs_diff(saved_at_ms)) <= REGRET.as_millis()
                {
                    memory.regrets = Fading {
                        count: memory.regrets.at(at_ms) + 1.0,
                        at_ms,
                    };
                }
            }
            ChangeReason::OutOfBounds { .. } | ChangeReason::MakeRoom => {}
        }
        let ms = downtime.as_secs_f64() * 1e3;
        memory.downtime_ms = Some(smooth(memory.downtime_ms, ms));
        let failures = memory.change.as_ref().map_or(0, |change| change.failures);
        memory.change = Some(LastChange {
            at_ms,
            config: config.clone(),
            failures,
            seen: false,
        });
    }

    /// Takes note of a change that failed.
    pub fn change_failed(&mut self, job: &JobId, at_ms: i64, config: &JobConfig) {
        let memory = self.jobs.entry(job.clone()).or_default();
        let failures = memory
            .change
            .as_ref()
            .map_or(0, |change| change.failures)
            .saturating_add(1);
        memory.change = Some(LastChange {
            at_ms,
            config: config.clone(),
            failures,
            seen: true,
        });
    }

    /// Forgets the jobs that `keep` does not hold to.
    pub fn retain(&mut self, mut keep: impl FnMut(&JobId) -> bool) {
        self.jobs.retain(|job, _| keep(job));
    }

    pub(crate) fn job(&self, job: &JobId) -> Option<&JobMemory> {
        self.jobs.get(job)
    }
}

impl JobMemory {
    /// The selectivity of each edge, as far as it was ever measured.
    pub(crate) fn selectivity(&self, edge: usize) -> Option<f64> {
        self.selectivities.get(edge).copied().flatten()
    }

    /// How forecasts of a source's load fared, if there were any.
    pub(crate) fn calibration(&self, source: usize) -> Option<&Calibration> {
        self.calibrations.get(&source)
    }

    /// The true processing rates measured of an operator: `(parallelism, records per second)`.
    pub(crate) fn capacities(&self, operator: usize) -> Vec<(u32, f64)> {
        self.capacities
            .get(operator)
            .into_iter()
            .flatten()
            .map(|(&p, &rate)| (p, rate))
            .collect()
    }

    /// The downtime of a change, if one was ever measured.
    pub(crate) fn downtime(&self) -> Option<Duration> {
        self.downtime_ms.map(|ms| Duration::from_secs_f64(ms / 1e3))
    }

    /// How many savings of late soon had to be undone; it halves with every day.
    pub(crate) fn regrets(&self, now_ms: i64) -> f64 {
        self.regrets.at(now_ms)
    }

    /// How long ago the last change was, from `now_ms`.
    pub(crate) fn since_change(&self, now_ms: i64) -> Option<Duration> {
        let change = self.change.as_ref()?;
        Some(Duration::from_millis(
            now_ms.saturating_sub(change.at_ms).max(0).unsigned_abs(),
        ))
    }

    /// How many changes in a row failed, and how much longer to wait before the next; nothing to wait for if none did.
    ///
    /// The first wait is of two rounds, and each further one twice as long.
    pub(crate) fn retry_wait(&self, now_ms: i64, interval: Duration) -> Option<(u32, Duration)> {
        let change = self.change.as_ref().filter(|change| change.failures > 0)?;
        let wait = interval
            .saturating_mul(2 << (change.failures - 1).min(16))
            .min(LONGEST_RETRY);
        let left = wait.saturating_sub(self.since_change(now_ms)?);
        (!left.is_zero()).then_some((change.failures, left))
    }

    fn push_arrival(&mut self, source: usize, at_ms: i64, rate: f64) {
        let log = self.arrivals.entry(source).or_default();
        log.push_back((at_ms, rate));
        if log.len() > MAX_ARRIVALS {
            log.pop_front();
        }
    }

    /// Expects a checked observation.
    fn remember(&mut self, seen: &Observation, step: Duration) {
        let step_ms = i64::try_from(step.as_millis()).unwrap_or(i64::MAX);
        let start_ms = self.last_look_ms.map_or_else(
            || seen.at_ms.saturating_sub(step_ms),
            |last| last.max(seen.at_ms.saturating_sub(step_ms)),
        );
        self.last_look_ms = Some(seen.at_ms);
        for (source, metrics) in seen.sources.iter().enumerate() {
            if let Some(rate) = metrics.arrival_rate {
                self.push_arrival(source, start_ms, rate);
            }
        }
        if let Some(change) = self.change.as_mut()
            && seen.status == JobStatus::Running
        {
            let holds = seen.config == change.config;
            match (holds, change.seen) {
                (true, false) => (change.seen, change.failures) = (true, 0),
                (false, false) => (change.seen, change.failures) = (true, change.failures.saturating_add(1)),
                (_, true) => {}
            }
        }
        if seen.status == JobStatus::Running && !seen.restarted {
            self.learn(seen);
        }
    }

    /// Takes over selectivities and capacities.
    fn learn(&mut self, seen: &Observation) {
        self.selectivities.resize(seen.edges.len(), None);
        for (remembered, edge) in self.selectivities.iter_mut().zip(&seen.edges) {
            if let Some(selectivity) = edge.selectivity {
                *remembered = Some(smooth(*remembered, selectivity));
            }
        }
        self.capacities.resize_with(seen.operators.len(), BTreeMap::new);
        for (operator, known) in self.capacities.iter_mut().enumerate() {
            if let Some((parallelism, rate)) = capacity(seen, operator) {
                let smoothed = smooth(known.get(&parallelism).copied(), rate);
                known.insert(parallelism, smoothed);
            }
        }
    }
}

fn smooth(remembered: Option<f64>, measured: f64) -> f64 {
    remembered.map_or(measured, |old| old + SMOOTHING * (measured - old))
}

#[cfg(test)]
mod tests {
    use streamline_core::{Edge, JobGraph, Operator, OperatorConfig, OperatorKind, Partitioning};

    use super::*;

    const STEP: Duration = Duration::from_secs(60);

    fn seen(at_ms: i64, rate: f64, busy: f64) -> Observation {
        let graph = JobGraph::new(
            vec![
                Operator::new("s", "in", OperatorKind::Source),
                Operator::new("k", "out", OperatorKind::Sink),
            ],
            vec![Edge {
                from: 0,
                to: 1,
                partitioning: Partitioning::Hash,
            }],
        )
        .unwrap();
        let config = JobConfig::uniform(
            2,
            OperatorConfig {
                parallelism: 2,
                segment_bytes: 1024,
            },
        );
        let mut seen = Observation::unknown(JobId::new("j"), at_ms, graph, config);
        seen.sources[0].arrival_rate = Some(rate);
        seen.operators[1].input_rate = Some(rate);
        seen.operators[1].busy = Some(busy);
        seen.edges[0].selectivity = Some(0.5);
        seen
    }

    #[test]
    fn arrivals_stand_at_the_start_of_the_interval_in_which_they_came() {
        let mut memory = Memory::default();
        for minute in 1..=3 {
            memory
                .remember(&seen(minute * 60_000, 10.0 * minute as f64, 0.5), STEP)
                .unwrap();
        }
        let series = memory.arrivals(&JobId::new("j"), 0, 60_000).unwrap();
        assert_eq!(series.start_ms(), 0);
        assert_eq!(
            series.iter().collect::<Vec<_>>(),
            [Some(10.0), Some(20.0), Some(30.0)]
        );
    }

    #[test]
    fn a_hole_between_looks_is_a_gap_and_not_zero_load() {
        let mut memory = Memory::default();
        memory.remember(&seen(60_000, 10.0, 0.5), STEP).unwrap();
        memory.remember(&seen(240_000, 40.0, 0.5), STEP).unwrap();
        let series = memory.arrivals(&JobId::new("j"), 0, 60_000).unwrap();
        assert_eq!(
            series.iter().collect::<Vec<_>>(),
            [Some(10.0), None, None, Some(40.0)]
        );
    }

    #[test]
    fn an_idle_operator_does_not_change_the_remembered_capacity() {
        let mut memory = Memory::default();
        memory.remember(&seen(60_000, 100.0, 0.5), STEP).unwrap();
        memory.remember(&seen(120_000, 0.0, 0.0), STEP).unwrap();
        assert_eq!(memory.job(&JobId::new("j")).unwrap().capacities(1), [(2, 200.0)]);
    }

    #[test]
    fn a_restart_between_two_looks_adds_no_capacity() {
        let mut memory = Memory::default();
        let mut restarted = seen(60_000, 100.0, 0.5);
        restarted.restarted = true;
        memory.remember(&restarted, STEP).unwrap();
        assert_eq!(memory.job(&JobId::new("j")).unwrap().capacities(1), []);
    }

    #[test]
    fn a_change_that_was_undone_is_waited_out_longer_each_time() {
        let job = JobId::new("j");
        let mut memory = Memory::default();
        let other = JobConfig::uniform(
            2,
            OperatorConfig {
                parallelism: 4,
                segment_bytes: 1024,
            },
        );
        let mut waits = Vec::new();
        for round in 0..3 {
            let now = round * 10_000_000;
            memory.changed(
                &job,
                now,
                &other,
                Duration::from_secs(20),
                &ChangeReason::MakeRoom,
            );
            memory.remember(&seen(now + 60_000, 1.0, 0.5), STEP).unwrap();
            waits.push(
                memory
                    .job(&job)
                    .unwrap()
                    .retry_wait(now + 60_000, Duration::from_secs(300))
                    .unwrap()
                    .1
                    .as_secs(),
            );
        }
        assert_eq!(waits, [540, 1140, 2340]);
        let ran = seen(0, 1.0, 0.5).config;
        memory.changed(
            &job,
            40_000_000,
            &ran,
            Duration::from_secs(20),
            &ChangeReason::MakeRoom,
        );
        memory.remember(&seen(40_060_000, 1.0, 0.5), STEP).unwrap();
        assert_eq!(memory.job(&job).unwrap().retry_wait(40_060_000, STEP), None);
    }

    #[test]
    fn a_saving_that_soon_had_to_be_undone_is_regretted_for_days() {
        const HOUR_MS: i64 = 3_600_000;
        let job = JobId::new("j");
        let mut memory = Memory::default();
        let config = seen(0, 1.0, 0.5).config;
        let mut change = |at_ms: i64, reason| memory.changed(&job, at_ms, &config, Duration::ZERO, &reason);
        let pays = ChangeReason::Pays {
            gain: 2.0,
            price: 1.0,
        };
        let late = ChangeReason::Latency {
            latency_ms: 2.0,
            limit_ms: 1.0,
        };
        change(0, pays.clone());
        change(HOUR_MS, late.clone());
        change(2 * HOUR_MS, late.clone());
        change(3 * HOUR_MS, pays);
        change(13 * HOUR_MS, late);
        let regrets = |at_ms| memory.job(&job).unwrap().regrets(at_ms);
        assert!((regrets(HOUR_MS) - 1.0).abs() < 1e-9);
        assert!((regrets(25 * HOUR_MS) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_senseless_observation_leaves_no_trace() {
        let mut memory = Memory::default();
        let mut bad = seen(0, 1.0, 0.5);
        bad.sources[0].arrival_rate = Some(f64::NAN);
        assert!(matches!(
            memory.remember(&bad, STEP),
            Err(Error::Observation { .. })
        ));
        assert_eq!(memory, Memory::default());
    }

    #[test]
    fn memory_survives_json() {
        let mut memory = Memory::default();
        memory.remember(&seen(60_000, 10.0, 0.5), STEP).unwrap();
        let json = serde_json::to_string(&memory).unwrap();
        assert_eq!(serde_json::from_str::<Memory>(&json).unwrap(), memory);
    }
}
