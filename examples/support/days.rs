//! Days of load on the simulated cluster, interval by interval, and what it took.

use std::time::Duration;

use streamline_core::{JobId, TimeSeries};
use streamline_flink::{SimulatedCluster, Truth};

use super::pipeline::Pipeline;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// What happened to one job, with one value for each interval.
#[derive(Debug, Clone)]
pub(crate) struct Days {
    start_ms: i64,
    interval: Duration,
    /// For each operator, the records that it gets for each that arrives.
    reaches: Vec<f64>,
    before: Truth,
    after: Truth,
    pub(crate) arrivals: Vec<f64>,
    /// The arrival rate that the slowest operator could keep up with.
    pub(crate) capacity: Vec<f64>,
    pub(crate) latency_ms: Vec<f64>,
    pub(crate) backlog: Vec<f64>,
    pub(crate) cores: Vec<f64>,
    pub(crate) slots: Vec<f64>,
    /// The share of its capacity that the busiest operator used at the end of the interval; none while the job was down
    /// or catching up.
    pub(crate) busiest: Vec<Option<f64>>,
}

impl Days {
    pub(crate) fn new(
        cluster: &SimulatedCluster,
        job: &JobId,
        pipeline: &Pipeline,
        interval: Duration,
    ) -> Result<Self> {
        let truth = cluster.truth(job)?;
        Ok(Self {
            start_ms: cluster.now_ms(),
            interval,
            reaches: pipeline.reaches(),
            before: truth.clone(),
            after: truth,
            arrivals: Vec::new(),
            capacity: Vec::new(),
            latency_ms: Vec::new(),
            backlog: Vec::new(),
            cores: Vec::new(),
            slots: Vec::new(),
            busiest: Vec::new(),
        })
    }

    /// Notes what happened in the interval that has just passed.
    pub(crate) fn note(&mut self, cluster: &SimulatedCluster, job: &JobId) -> Result<()> {
        let truth = cluster.truth(job)?;
        let seconds = self.interval.as_secs_f64();
        let arrived = (truth.arrived - self.after.arrived) / seconds;
        self.arrivals.push(arrived);
        let source_rates = truth
            .capacity
            .iter()
            .zip(&self.reaches)
            .map(|(capacity, reach)| capacity / reach);
        self.capacity.push(source_rates.fold(f64::MAX, f64::min));
        self.latency_ms.push(truth.latency_ms);
        self.backlog.push(truth.backlog);
        self.cores
            .push((truth.core_seconds - self.after.core_seconds) / seconds);
        self.slots
            .push((truth.slot_seconds - self.after.slot_seconds) / seconds);
        let steady = truth.restarts == self.after.restarts && truth.backlog < arrived;
        self.busiest
            .push(steady.then(|| truth.utilization.iter().copied().fold(0.0, f64::max)));
        self.after = truth;
        Ok(())
    }

    /// One of the lists as a series over time.
    pub(crate) fn series(&self, values: &[f64]) -> Result<TimeSeries> {
        let step_ms = u64::try_from(self.interval.as_millis())?;
        Ok(TimeSeries::from_values(self.start_ms, step_ms, values)?)
    }

    pub(crate) fn core_hours(&self) -> f64 {
        (self.after.core_seconds - self.before.core_seconds) / 3600.0
    }

    pub(crate) fn slot_hours(&self) -> f64 {
        (self.after.slot_seconds - self.before.slot_seconds) / 3600.0
    }

    pub(crate) fn changes(&self) -> u32 {
        self.after.restarts - self.before.restarts
    }

    pub(crate) fn downtime(&self) -> Duration {
        self.after.downtime.saturating_sub(self.before.downtime)
    }

    pub(crate) fn final_backlog(&self) -> f64 {
        self.after.backlog
    }

    /// The largest backlog at the end of an interval, in seconds of input.
    pub(crate) fn worst_backlog_seconds(&self) -> f64 {
        let seconds = self
            .backlog
            .iter()
            .zip(&self.arrivals)
            .map(|(backlog, rate)| backlog / rate.max(1.0));
        seconds.fold(0.0, f64::max)
    }

    /// The latency that a share of the intervals stays below.
    pub(crate) fn latency_quantile_ms(&self, level: f64) -> f64 {
        let mut sorted = self.latency_ms.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let place = (level * sorted.len() as f64).ceil() as usize;
        sorted
            .get(place.saturating_sub(1).min(sorted.len().saturating_sub(1)))
            .copied()
            .unwrap_or(0.0)
    }

    /// Intervals in steady state at whose end an operator was at its capacity.
    pub(crate) fn overloaded_intervals(&self) -> usize {
        self.busiest
            .iter()
            .flatten()
            .filter(|&&busiest| busiest >= 0.999)
            .count()
    }

    /// Whether the job kept up: nothing waits at the end, and no operator was at its capacity in steady state.
    pub(crate) fn kept_up(&self) -> bool {
        self.final_backlog() < 1.0 && self.overloaded_intervals() == 0
    }
}

/// Prints what a job took beside what it would have taken with a fixed configuration.
pub(crate) fn compare(name: &str, tuned: &Days, fixed: &Days) {
    let saved = |tuned: f64, fixed: f64| 100.0 * (1.0 - tuned / fixed.max(f64::MIN_POSITIVE));
    println!("{name:24}  {:>12}  {:>12}  {:>8}", "tuned", "fixed", "saved");
    for (what, tuned, fixed) in [
        ("cpu used, core-hours", tuned.core_hours(), fixed.core_hours()),
        ("slots held, slot-hours", tuned.slot_hours(), fixed.slot_hours()),
    ] {
        println!(
            "  {what:22}  {tuned:>12.1}  {fixed:>12.1}  {:>6.1} %",
            saved(tuned, fixed)
        );
    }
    for (what, tuned, fixed) in [
        (
            "median latency, ms",
            tuned.latency_quantile_ms(0.5),
            fixed.latency_quantile_ms(0.5),
        ),
        (
            "95 % latency, ms",
            tuned.latency_quantile_ms(0.95),
            fixed.latency_quantile_ms(0.95),
        ),
        (
            "worst backlog, s of input",
            tuned.worst_backlog_seconds(),
            fixed.worst_backlog_seconds(),
        ),
        ("backlog at the end", tuned.final_backlog(), fixed.final_backlog()),
        ("changes", f64::from(tuned.changes()), f64::from(fixed.changes())),
        (
            "downtime, s",
            tuned.downtime().as_secs_f64(),
            fixed.downtime().as_secs_f64(),
        ),
    ] {
        println!("  {what:22}  {tuned:>12.1}  {fixed:>12.1}");
    }
    let kept = if tuned.kept_up() {
        "kept up"
    } else {
        "did NOT keep up"
    };
    let overloaded = tuned.overloaded_intervals();
    println!(
        "  the tuned job {kept}; intervals with an operator at its capacity in steady state: {overloaded}"
    );
}
