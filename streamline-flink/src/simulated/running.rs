//! One job of a simulated cluster.

use std::time::Duration;

use streamline_core::{CoreError, JobConfig, JobGraph, JobStatus, Partitioning, TimeSeries};

use super::cluster::Truth;
use super::flow::{self, Moved, Stage};
use super::job::{SimulatedJob, rate_at};
use super::meter::{Meter, Shares};
use super::model::Model;
use crate::FlinkError;

/// The TaskManager of each subtask of each operator, as an index into the cluster's list.
pub(super) type Locations = Vec<Vec<usize>>;

#[derive(Debug)]
pub(super) struct Running {
    pub(super) job: SimulatedJob,
    pub(super) locations: Locations,
    /// Records that fit into the input buffers of each operator.
    pub(super) rooms: Vec<f64>,
    /// Records before each operator; before a source, its backlog.
    pub(super) waiting: Vec<f64>,
    /// Records over each edge in the last step.
    pub(super) traffic: Vec<f64>,
    /// When it runs again, if it is down.
    down_until_ms: Option<i64>,
    checkpoint: Checkpoint,
    /// What each operator did in the last step, and at what share of full speed.
    pub(super) last: Vec<Moved>,
    speed: Vec<f64>,
    pub(super) meter: Meter,
    truth: Truth,
}

/// What a failure takes a job back to.
#[derive(Debug)]
struct Checkpoint {
    /// Records before each operator but the sources, as they were then.
    waiting: Vec<f64>,
    /// Records read at each source since then.
    read_since: Vec<f64>,
    /// Seconds of running since then.
    age: f64,
}

impl Running {
    pub(super) fn new(job: SimulatedJob, locations: Locations, model: &Model) -> Self {
        let (operators, edges) = (job.operators.len(), job.selectivities.len());
        let sources = job.arrivals.len();
        let mut running = Self {
            locations,
            rooms: Vec::new(),
            waiting: vec![0.0; operators],
            traffic: vec![0.0; edges],
            down_until_ms: None,
            checkpoint: Checkpoint {
                waiting: vec![0.0; operators],
                read_since: vec![0.0; sources],
                age: 0.0,
            },
            last: vec![Moved::default(); operators],
            speed: vec![1.0; operators],
            meter: Meter::new(operators, edges, sources),
            truth: Truth {
                backlog: 0.0,
                arrived: 0.0,
                read: 0.0,
                written: 0.0,
                capacity: Vec::new(),
                utilization: vec![0.0; operators],
                latency_ms: 0.0,
                worst_latency_ms: 0.0,
                core_seconds: 0.0,
                slot_seconds: 0.0,
                downtime: Duration::ZERO,
                restarts: 0,
            },
            job,
        };
        running.rooms = running.rooms(model);
        running.truth.capacity = (0..operators)
            .map(|operator| running.full_speed(operator, model))
            .collect();
        running
    }

    pub(super) fn graph(&self) -> &JobGraph {
        &self.job.graph
    }

    pub(super) fn locations(&self) -> &[Vec<usize>] {
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

    pub(super) fn runs_on(&self, task_manager: usize) -> bool {
        self.locations.iter().flatten().any(|&on| on == task_manager)
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
        locations: Locations,
        now_ms: i64,
        model: &Model,
    ) -> Duration {
        (self.job.config, self.locations) = (config, locations);
        self.rooms = self.rooms(model);
        self.take_checkpoint();
        let downtime = model.downtime(self.state_bytes());
        self.go_down(now_ms, downtime);
        downtime
    }

    /// Takes the job down for as long as a failure takes, and back to its last checkpoint.
    pub(super) fn fail(&mut self, now_ms: i64, model: &Model) {
        for (source, operator) in self.job.graph.sources().enumerate() {
            let again = std::mem::take(&mut self.checkpoint.read_since[source]);
            self.waiting[operator] += again;
            self.truth.read -= again;
        }
        for operator in 0..self.waiting.len() {
            if !self.job.graph.inputs(operator).is_empty() {
                self.waiting[operator] = self.checkpoint.waiting[operator];
            }
        }
        self.checkpoint.age = 0.0;
        let noticed = Duration::try_from_secs_f64(model.restart.detection_seconds).unwrap_or(Duration::MAX);
        self.go_down(now_ms, noticed.saturating_add(model.downtime(self.state_bytes())));
    }

    fn go_down(&mut self, now_ms: i64, time: Duration) {
        let until = now_ms.saturating_add_unsigned(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        self.down_until_ms = Some(until.max(self.down_until_ms.unwrap_or(until)));
        self.meter.restart();
        self.truth.restarts += 1;
        self.truth.backlog = self.backlog();
        self.truth.utilization.fill(0.0);
        self.traffic.fill(0.0);
        self.last.fill(Moved::default());
    }

    fn state_bytes(&self) -> u64 {
        self.job
            .operators
            .iter()
            .fold(0, |sum, profile| sum.saturating_add(profile.state_bytes))
    }

    fn rooms(&self, model: &Model) -> Vec<f64> {
        let configs = &self.job.config.operators;
        let parallelism = self.job.config.parallelism();
        let segments: Vec<u32> = configs.iter().map(|config| config.segment_bytes).collect();
        let room = |operator| {
            flow::room(
                &self.job.graph,
                &parallelism,
                &segments,
                &self.job.operators,
                model,
                operator,
            )
        };
        (0..configs.len()).map(room).collect()
    }

    /// Adds, for each TaskManager, the share of a core that each subtask on it would use in this step, were all at full
    /// speed.
    pub(super) fn add_wanted_cores(&self, model: &Model, wanted: &mut [Vec<f64>]) {
        if self.down_until_ms.is_some() {
            return;
        }
        let stages: Vec<Stage> = (0..self.rooms.len())
            .map(|operator| Stage {
                capacity: self.full_speed(operator, model),
                room: self.rooms[operator],
            })
            .collect();
        // The step, tried on copies.
        let moved = flow::step(
            &self.job.graph,
            &stages,
            &self.job.selectivities,
            f64::from(model.step_ms) / 1e3,
            &mut self.waiting.clone(),
            &mut self.traffic.clone(),
        );
        for (operator, on) in self.locations.iter().enumerate() {
            let shares = Shares::new(&moved[operator], self.evenness(operator));
            for &manager in on {
                wanted[manager].push(shares.busy + model.cpu.idle_cores);
            }
        }
    }

    /// Records per second that an operator can process, if it gets all the cores that it wants.
    fn full_speed(&self, operator: usize, model: &Model) -> f64 {
        let parallelism = self.job.config.operators[operator].parallelism;
        let (busiest, _) = self.shares_of_subtasks(operator);
        self.job.operators[operator].unit_rate / (model.slowdown(parallelism) * busiest)
    }

    /// The shares of an operator's records that its busiest and its mean subtask process.
    fn shares_of_subtasks(&self, operator: usize) -> (f64, f64) {
        let parallelism = self.job.config.operators[operator].parallelism;
        let graph = &self.job.graph;
        let keyed = graph.is_keyed(operator);
        let effective = graph.operators()[operator].effective_parallelism(parallelism, keyed);
        let hot = if keyed {
            self.job.operators[operator].hot_share
        } else {
            0.0
        };
        // The busiest subtask has an even share of what is dealt out, or the hottest key.
        let busiest = hot.max(1.0 / effective.max(1.0));
        let mean = 1.0 / f64::from(parallelism.max(1));
        // What is broadcast, every subtask has in full.
        let broadcast = self.broadcast_share(operator);
        let with_broadcast = |share: f64| broadcast + (1.0 - broadcast) * share;
        (with_broadcast(busiest), with_broadcast(mean))
    }

    /// The share of the records that reach an operator by broadcast, as it was in the last step.
    fn broadcast_share(&self, operator: usize) -> f64 {
        let graph = &self.job.graph;
        let inputs = graph.inputs(operator);
        let is_broadcast = |&&edge: &&usize| graph.edges()[edge].partitioning == Partitioning::Broadcast;
        let count = inputs.iter().filter(is_broadcast).count();
        if count == 0 || count == inputs.len() {
            return if count == 0 { 0.0 } else { 1.0 };
        }
        let all: f64 = inputs.iter().map(|&edge| self.traffic[edge]).sum();
        let broadcast: f64 = inputs
            .iter()
            .filter(is_broadcast)
            .map(|&edge| self.traffic[edge])
            .sum();
        if all > 0.0 { broadcast / all } else { 0.0 }
    }

    /// How much of what the busiest subtask does the mean subtask does.
    fn evenness(&self, operator: usize) -> f64 {
        let (busiest, mean) = self.shares_of_subtasks(operator);
        mean / busiest
    }

    /// Lets records arrive for one step, and the job come up if it is time.
    pub(super) fn arrive(
        &mut self,
        now_ms: i64,
        seconds: f64,
        model: &Model,
        around_one: &mut impl FnMut(f64) -> f64,
    ) {
        for (source, operator) in self.job.graph.sources().enumerate() {
            let records =
                rate_at(&self.job.arrivals[source], now_ms) * seconds * around_one(model.noise.arrivals);
            self.waiting[operator] += records;
            self.meter.arrived[source] += records;
            self.truth.arrived += records;
        }
        self.meter.seconds += seconds;
        let slots = self.job.config.slots(&self.job.graph).unwrap_or(0);
        self.truth.slot_seconds += slots as f64 * seconds;
        if self.down_until_ms.is_some_and(|until| until <= now_ms) {
            self.down_until_ms = None;
        }
    }

    /// Lets one step pass, the subtasks on each TaskManager at its share of full speed.
    pub(super) fn step(
        &mut self,
        seconds: f64,
        model: &Model,
        speeds: &[f64],
        around_one: &mut impl FnMut(f64) -> f64,
    ) {
        if self.down_until_ms.is_some() {
            self.truth.downtime += Duration::try_from_secs_f64(seconds).unwrap_or_default();
            self.truth.backlog = self.backlog();
            return;
        }
        let mut stages = Vec::with_capacity(self.rooms.len());
        for operator in 0..self.rooms.len() {
            // The slowest subtask sets the pace.
            let slowest = self.locations[operator]
                .iter()
                .map(|&manager| speeds[manager])
                .fold(1.0, f64::min);
            self.speed[operator] = slowest;
            stages.push(Stage {
                capacity: self.full_speed(operator, model) * slowest * around_one(model.noise.speed),
                room: self.rooms[operator],
            });
        }
        self.last = flow::step(
            &self.job.graph,
            &stages,
            &self.job.selectivities,
            seconds,
            &mut self.waiting,
            &mut self.traffic,
        );
        self.count_towards_checkpoint(seconds, model);
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

    fn count_towards_checkpoint(&mut self, seconds: f64, model: &Model) {
        for (source, operator) in self.job.graph.sources().enumerate() {
            self.checkpoint.read_since[source] += self.last[operator].processed;
            self.truth.read += self.last[operator].processed;
        }
        for operator in self.job.graph.sinks() {
            self.truth.written += self.last[operator].processed;
        }
        self.checkpoint.age += seconds;
        if self.checkpoint.age >= model.restart.checkpoint_seconds {
            self.take_checkpoint();
        }
    }

    fn take_checkpoint(&mut self) {
        self.checkpoint.waiting.clone_from(&self.waiting);
        self.checkpoint.read_since.fill(0.0);
        self.checkpoint.age = 0.0;
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
            let speed = self.speed[operator];
            let cores = (shares.busy * speed + model.cpu.idle_cores).min(speed);
            let core_seconds = cores * parallelism * seconds;
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
        self.truth.worst_latency_ms = self.truth.worst_latency_ms.max(self.truth.latency_ms);
        self.meter.latency += self.truth.latency_ms * seconds;
    }
}
