//! What a client sees of a job.

use streamline_core::{Cluster, JobId, JobStatus, Observation};

use super::meter::Meter;
use super::running::Running;

impl Running {
    /// What a client sees: means since it looked before, and nothing known of a job that is down.
    pub(super) fn observe(&mut self, id: &JobId, now_ms: i64, cluster: &Cluster) -> Observation {
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
            let id = |&manager: &usize| cluster.task_managers().get(manager).map(|on| on.id.clone());
            metrics.locations = locations.iter().map(id).collect();
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
