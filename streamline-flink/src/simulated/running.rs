//! One job of a simulated cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use streamline_core::{
    CoreError, JobConfig, JobGraph, JobId, JobStatus, Observation, Partitioning, TimeSeries,
};

use super::cluster::Truth;
use super::flow::{self, Moved, Stage};
use super::job::SimulatedJob;
use super::meter::{Meter, Shares};
use super::model::Model;
use crate::FlinkError;

/// For each TaskManager, the speed of the subtasks on it, 0 to 1.
pub(super) type Speeds = BTreeMap<String, f64>;

#[derive(Debug)]
pub(super) struct Running {
    job: SimulatedJob,
    /// Id of the TaskManager of each subtask.
    locations: Vec<Vec<String>>,
    /// Records before each operator; before a source, its backlog.
    waiting: Vec<f64>,
    /// Records over each edge in the last step.
    traffic: Vec<f64>,
    /// When it runs again, if it is down.
    down_until_ms: Option<i64>,
    /// Records read at each source since the last checkpoint, and for how long.
    since_checkpoint: Vec<f64>,
    checkpoint_age: f64,
    /// What each operator did in the last step, and at what share of full speed.
    last: Vec<Moved>,
    speed: Vec<f64>,
    meter: Meter,
    truth: Truth,
}

impl Running {
    pub(super) fn new(job: SimulatedJob, locations: Vec<Vec<String>>, model: &Model) -> Self {
        let (operators, edges) = (job.operators.len(), job.selectivities.len());
        let sources = job.arrivals.len();
        let mut running = Self {
            locations,
            waiting: vec![0.0; operators],
            traffic: vec![0.0; edges],
            down_until_ms: None,
            since_checkpoint: vec![0.0; sources],
            checkpoint_age: 0.0,
            last: vec![Moved::default(); operators],
            speed: vec![1.0; operators],
            meter: Meter::new(operators, edges, sources),
            truth: Truth {
                backlog: 0.0,
                arrived: 0.0,
                read: 0.0,
                capacity: Vec::new(),
                utilization: vec![0.0; operators],
                latency_ms: 0.0,
                core_seconds: 0.0,
                slot_seconds: 0.0,
                downtime: Duration::ZERO,
                restarts: 0,
            },
            job,
        };
        running.truth.capacity = (0..operators)
            .map(|operator| running.full_speed(operator, model))
            .collect();
        running
    }

    pub(super) fn graph(&self) -> &JobGraph {
        &self.job.graph
    }

    pub(super) fn locations(&self) -> &[Vec<String>] {
        &self.locations
    }

    pub(super) fn status(&self) -> JobStatus {
        if self.down_until_ms.is_some() {
            JobStatus::Restarting
        } else {
            JobStatus::Running
        }
    }

    pub(super) fn truth(&self) -> Truth {
        self.truth.clone()
    }

    pub(super) fn runs_on(&self, task_manager: &str) -> bool {
        self.locations.iter().flatten().any(|id| id == task_manager)
    }

    pub(super) fn set_arrivals(&mut self, source: usize, arrivals: TimeSeries) -> Result<(), FlinkError> {
        let sources = self.job.arrivals.len();
        match self.job.arrivals.get_mut(source) {
            Some(of_source) => *of_source = arrivals,
            None => {
                return Err(CoreError::WrongLength {
                    what: "sources",
                    expected: source + 1,
                    given: sources,
                }
                .into());
            }
        }
        Ok(())
    }

    /// Takes the job down and brings it up again as configured. Its state and its backlog are kept.
    pub(super) fn change(
        &mut self,
        config: JobConfig,
        locations: Vec<Vec<String>>,
        now_ms: i64,
        model: &Model,
    ) -> Duration {
        (self.job.config, self.locations) = (config, locations);
        let downtime = model.downtime(self.state_bytes());
        self.go_down(now_ms, downtime);
        downtime
    }

    /// Takes the job down for as long as a failure takes, and back to its last checkpoint.
    pub(super) fn fail(&mut self, now_ms: i64, model: &Model) {
        for (source, operator) in self.job.graph.sources().enumerate() {
            let again = std::mem::take(&mut self.since_checkpoint[source]);
            self.waiting[operator] += again;
            self.truth.read -= again;
        }
        let inner: Vec<usize> = (0..self.waiting.len())
            .filter(|&operator| !self.job.graph.inputs(operator).is_empty())
            .collect();
        for operator in inner {
            self.waiting[operator] = 0.0;
        }
        let noticed = Duration::try_from_secs_f64(model.restart.detection_seconds).unwrap_or(Duration::MAX);
        self.go_down(now_ms, noticed.saturating_add(model.downtime(self.state_bytes())));
    }

    fn go_down(&mut self, now_ms: i64, time: Duration) {
        let until = now_ms.saturating_add_unsigned(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        self.down_until_ms = Some(until.max(self.down_until_ms.unwrap_or(until)));
        self.meter.restarted = true;
        self.truth.restarts += 1;
        self.traffic.fill(0.0);
        self.last.fill(Moved::default());
    }

    fn state_bytes(&self) -> u64 {
        self.job
            .operators
            .iter()
            .fold(0, |sum, profile| sum.saturating_add(profile.state_bytes))
    }

    /// Adds the cores that the subtasks want, were they to run at full speed.
    pub(super) fn add_wanted_cores<'a>(&'a self, model: &Model, wanted: &mut BTreeMap<&'a str, f64>) {
        if self.status() != JobStatus::Running {
            return;
        }
        let seconds = f64::from(model.step_ms) / 1e3;
        for (operator, on) in self.locations.iter().enumerate() {
            let possible = self.full_speed(operator, model) * seconds;
            let busiest = if possible > 0.0 {
                (self.last[operator].offered / possible).min(1.0)
            } else {
                0.0
            };
            let each = busiest * self.evenness(operator) + model.cpu.idle_cores;
            for id in on {
                *wanted.entry(id).or_default() += each;
            }
        }
    }

    /// Records per second that an operator can process, if it gets all the cores that it wants.
    fn full_speed(&self, operator: usize, model: &Model) -> f64 {
        let parallelism = self.job.config.operators[operator].parallelism;
        let each = self.job.operators[operator].unit_rate / model.slowdown(parallelism);
        // On broadcast inputs every subtask receives every record.
        let broadcast = self
            .job
            .graph
            .inputs(operator)
            .iter()
            .all(|&edge| self.job.graph.edges()[edge].partitioning == Partitioning::Broadcast);
        if broadcast && !self.job.graph.inputs(operator).is_empty() {
            return each;
        }
        each * f64::from(parallelism) * self.evenness(operator)
    }

    /// How much of what the busiest subtask does the mean subtask does.
    fn evenness(&self, operator: usize) -> f64 {
        let parallelism = self.job.config.operators[operator].parallelism;
        let keyed = self.job.graph.is_keyed(operator);
        let effective = self.job.graph.operators()[operator].effective_parallelism(parallelism, keyed);
        let hot = if keyed {
            self.job.operators[operator].hot_share
        } else {
            0.0
        };
        // The busiest subtask has an even share, or the hottest key.
        let largest_share = hot.max(1.0 / effective.max(1.0));
        1.0 / (largest_share * f64::from(parallelism.max(1)))
    }

    /// Lets one step pass.
    pub(super) fn step(
        &mut self,
        now_ms: i64,
        seconds: f64,
        model: &Model,
        speeds: &Speeds,
        around_one: &mut impl FnMut(f64) -> f64,
    ) {
        let mut arriving = Vec::with_capacity(self.job.arrivals.len());
        for (source, operator) in self.job.graph.sources().enumerate() {
            let records =
                rate_at(&self.job.arrivals[source], now_ms) * seconds * around_one(model.noise.arrivals);
            self.waiting[operator] += records;
            self.meter.arrived[source] += records;
            self.truth.arrived += records;
            arriving.push(records);
        }
        self.meter.seconds += seconds;
        let slots = self.job.config.slots(&self.job.graph).unwrap_or(0);
        self.truth.slot_seconds += slots as f64 * seconds;
        if self.down_until_ms.is_some_and(|until| until <= now_ms) {
            self.down_until_ms = None;
        }
        if self.down_until_ms.is_some() {
            self.truth.downtime += Duration::try_from_secs_f64(seconds).unwrap_or_default();
            self.truth.backlog = self.backlog();
            self.truth.utilization.fill(0.0);
            return;
        }

        let config = &self.job.config;
        let parallelism: Vec<u32> = config
            .operators
            .iter()
            .map(|operator| operator.parallelism)
            .collect();
        let segments: Vec<u32> = config
            .operators
            .iter()
            .map(|operator| operator.segment_bytes)
            .collect();
        let stages: Vec<Stage> = (0..parallelism.len())
            .map(|operator| {
                // The slowest subtask sets the pace.
                let slowest = self.locations[operator]
                    .iter()
                    .filter_map(|id| speeds.get(id))
                    .copied();
                self.speed[operator] = slowest.fold(1.0, f64::min);
                let speed = self.speed[operator] * around_one(model.noise.speed);
                Stage {
                    capacity: self.full_speed(operator, model) * speed,
                    room: flow::room(
                        &self.job.graph,
                        &parallelism,
                        &segments,
                        &self.job.operators,
                        model,
                        operator,
                    ),
                }
            })
            .collect();
        self.last = flow::step(
            &self.job.graph,
            &stages,
            &self.job.selectivities,
            seconds,
            &mut self.waiting,
            &mut self.traffic,
        );
        self.checkpoint(seconds, model);
        self.truth.capacity = stages.iter().map(|stage| stage.capacity).collect();
        self.truth.backlog = self.backlog();
        self.record(seconds, model);
    }

    fn backlog(&self) -> f64 {
        self.job
            .graph
            .sources()
            .map(|operator| self.waiting[operator])
            .sum()
    }

    fn checkpoint(&mut self, seconds: f64, model: &Model) {
        for (source, operator) in self.job.graph.sources().enumerate() {
            self.since_checkpoint[source] += self.last[operator].processed;
            self.truth.read += self.last[operator].processed;
        }
        self.checkpoint_age += seconds;
        if self.checkpoint_age >= model.restart.checkpoint_seconds {
            self.checkpoint_age = 0.0;
            self.since_checkpoint.fill(0.0);
        }
    }

    /// Counts what the step did.
    fn record(&mut self, seconds: f64, model: &Model) {
        let mut latencies = Vec::with_capacity(self.last.len());
        self.meter.running_seconds += seconds;
        for operator in 0..self.last.len() {
            let moved = self.last[operator];
            let shares = Shares::new(&moved, self.evenness(operator));
            let parallelism = f64::from(self.job.config.operators[operator].parallelism);
            // A subtask that gets half a core is busy twice as long for the same work.
            let core_seconds =
                (shares.busy * self.speed[operator] + model.cpu.idle_cores) * parallelism * seconds;
            let latency = self.latency_ms(operator, &shares, seconds, model);
            let meter = &mut self.meter.operators[operator];
            meter.processed += moved.processed;
            meter.busy += shares.busy * seconds;
            meter.busiest += shares.busiest * seconds;
            meter.backpressured += shares.backpressured * seconds;
            meter.core_seconds += core_seconds;
            meter.latency += latency * seconds;
            self.truth.core_seconds += core_seconds;
            self.truth.utilization[operator] = shares.busiest;
            latencies.push(latency);
        }
        for (sent, records) in self.meter.sent.iter_mut().zip(&self.traffic) {
            *sent += records;
        }
        self.truth.latency_ms = self.job.graph.longest_path(&latencies).unwrap_or(0.0);
        self.meter.latency += self.truth.latency_ms * seconds;
    }

    /// Milliseconds that a record spends before, in and behind an operator until the next one has it.
    fn latency_ms(&self, operator: usize, shares: &Shares, seconds: f64, model: &Model) -> f64 {
        let profile = &self.job.operators[operator];
        let config = &self.job.config.operators[operator];
        let rate = self.last[operator].processed / seconds;
        let capacity = self.last[operator].possible / seconds;
        let queue_ms = if self.waiting[operator] > 0.0 {
            1e3 * self.waiting[operator] / rate
        } else {
            0.0
        };
        // M/M/1 with batch arrivals: the mean wait is the service time of half a burst more, over what is left free.
        let free = (1.0 - shares.busiest).max(0.01);
        let burst_ms = if capacity > 0.0 {
            1e3 * model.latency.burst_records * shares.busiest / (capacity * free)
        } else {
            0.0
        };
        let fill_ms = self
            .job
            .graph
            .outputs(operator)
            .iter()
            .map(|&edge| {
                let to = self.job.config.operators[self.job.graph.edges()[edge].to].parallelism;
                let channels = match self.job.graph.edges()[edge].partitioning {
                    Partitioning::Forward => f64::from(config.parallelism),
                    _ => f64::from(config.parallelism) * f64::from(to),
                };
                let bytes = self.traffic[edge] / seconds * profile.record_bytes;
                flow::fill_ms(
                    config.segment_bytes,
                    self.job.config.buffer_timeout_ms,
                    bytes,
                    channels,
                )
            })
            .fold(0.0, f64::max);
        // On average a record finds its buffer half full.
        let total = profile.delay_ms + model.latency.hop_ms + queue_ms + burst_ms + fill_ms / 2.0;
        if total.is_finite() {
            total.min(model.latency.longest_ms)
        } else {
            model.latency.longest_ms
        }
    }

    /// What a client sees: means since it looked before, and nothing known of a job that is down.
    pub(super) fn observe(&mut self, id: &JobId, now_ms: i64) -> Observation {
        let fresh = Meter::new(self.last.len(), self.traffic.len(), self.job.arrivals.len());
        let meter = std::mem::replace(&mut self.meter, fresh);
        let mut seen = Observation::unknown(
            id.clone(),
            now_ms,
            self.job.graph.clone(),
            self.job.config.clone(),
        );
        seen.name.clone_from(&self.job.name);
        seen.status = self.status();
        seen.restarted = meter.restarted;
        for (metrics, locations) in seen.operators.iter_mut().zip(&self.locations) {
            metrics.locations = locations.iter().cloned().map(Some).collect();
        }
        for (source, operator) in self.job.graph.sources().enumerate() {
            seen.sources[source].backlog = Some(self.waiting[operator]);
            if meter.seconds > 0.0 {
                seen.sources[source].arrival_rate = Some(meter.arrived[source] / meter.seconds);
            }
        }
        for (metrics, profile) in seen.operators.iter_mut().zip(&self.job.operators) {
            metrics.state_bytes = Some(profile.state_bytes);
        }
        if seen.status != JobStatus::Running || meter.running_seconds <= 0.0 {
            return seen;
        }
        let mean = |sum: f64| Some(sum / meter.running_seconds);
        for (metrics, of) in seen.operators.iter_mut().zip(&meter.operators) {
            metrics.input_rate = mean(of.processed);
            metrics.busy = mean(of.busy);
            metrics.busiest = mean(of.busiest);
            metrics.backpressured = mean(of.backpressured);
            metrics.cpu_cores = mean(of.core_seconds);
            metrics.latency_ms = mean(of.latency);
        }
        for (edge, metrics) in seen.edges.iter_mut().enumerate() {
            let from = self.job.graph.edges()[edge].from;
            let processed = meter.operators[from].processed;
            metrics.selectivity = (processed > 0.0).then(|| meter.sent[edge] / processed);
            metrics.record_bytes = Some(self.job.operators[from].record_bytes);
        }
        seen.latency_ms = mean(meter.latency);
        seen
    }
}

/// The rate that arrives at a time.
fn rate_at(arrivals: &TimeSeries, now_ms: i64) -> f64 {
    let since = now_ms.saturating_sub(arrivals.start_ms()).max(0).unsigned_abs();
    let point = usize::try_from(since / arrivals.step_ms())
        .unwrap_or(usize::MAX)
        .min(arrivals.len().saturating_sub(1));
    let known = (0..=point).rev().find_map(|point| arrivals.get(point));
    // Before the first value: that value.
    known.or_else(|| arrivals.iter().flatten().next()).unwrap_or(0.0)
}
