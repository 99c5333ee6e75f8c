//! How long a record is under way.

use streamline_core::Partitioning;

use super::meter::Shares;
use super::model::Model;
use super::running::Running;
use crate::buffer::fill_ms;

impl Running {
    /// Milliseconds that a record spends before, in and behind an operator until the next one has it.
    pub(super) fn latency_ms(&self, operator: usize, shares: &Shares, seconds: f64, model: &Model) -> f64 {
        let profile = &self.job.operators[operator];
        let config = &self.job.config.operators[operator];
        let rate = self.last[operator].processed / seconds;
        let capacity = self.last[operator].possible / seconds;
        let queue_ms = if self.waiting[operator] > 0.0 {
            1e3 * self.waiting[operator] / rate
        } else {
            0.0
        };
        // M/M/1 with batch arrivals: the mean wait is the service time of half a burst more, over what is left free; but
        // no more than fits into the buffers waits there.
        let free = (1.0 - shares.busiest).max(0.01);
        let burst_ms = if capacity > 0.0 {
            let burst = model.latency.burst_records * shares.busiest / free;
            let fits = if self.job.graph.inputs(operator).is_empty() {
                burst
            } else {
                burst.min(self.rooms[operator])
            };
            1e3 * fits / capacity
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
                let from = f64::from(config.parallelism);
                // Channels that share the bytes; of a broadcast record each gets a copy.
                let channels = match self.job.graph.edges()[edge].partitioning {
                    Partitioning::Forward | Partitioning::Broadcast => from,
                    Partitioning::Hash | Partitioning::Rebalance => from * f64::from(to),
                };
                let bytes = self.traffic[edge] / seconds * profile.record_bytes;
                fill_ms(
                    config.segment_bytes,
                    self.job.config.buffer_timeout_ms,
                    bytes,
                    channels,
                )
            })
            .fold(0.0, f64::max);
        // A queue that is there all the time takes bursts in; on average a record finds its buffer half full.
        let wait_ms = queue_ms.max(burst_ms);
        let total = profile.delay_ms + model.latency.hop_ms + wait_ms + fill_ms / 2.0;
        if total.is_finite() {
            total.min(model.latency.longest_ms)
        } else {
            model.latency.longest_ms
        }
    }
}
