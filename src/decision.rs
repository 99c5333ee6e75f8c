//! Whether a job is changed: what keeping it as it is would mean, against what the change costs.

use std::time::Duration;

use streamline_core::Observation;

use crate::candidates::{Assessment, Capacities};
use crate::outlook::Outlook;
use crate::{ChangeReason, Decision, HoldReason, JobPolicy, Preference, TunerOptions};

/// All that a decision about one job rests on.
pub(crate) struct Situation<'a> {
    pub(crate) seen: &'a Observation,
    pub(crate) policy: &'a JobPolicy,
    pub(crate) outlook: &'a Outlook,
    pub(crate) capacities: &'a Capacities,
    /// The downtime to expect of a change.
    pub(crate) downtime: Duration,
    /// How long ago the last change was.
    pub(crate) since_change: Option<Duration>,
    /// How many savings of late soon had to be undone.
    pub(crate) regrets: f64,
    /// What the running configuration takes and gives over the horizon.
    pub(crate) current: Assessment,
    /// What the configuration that the search chose takes and gives over the horizon.
    pub(crate) chosen: Assessment,
    /// Whether they differ.
    pub(crate) differs: bool,
    /// Latency to expect of the running configuration until a change of the next round takes effect.
    pub(crate) lead_latency_ms: f64,
    /// Whether the cluster is too small for all jobs.
    pub(crate) cluster_is_short: bool,
}

impl Situation<'_> {
    /// Decides for this job on its own.
    pub(crate) fn decide(&self, options: &TunerOptions) -> Decision {
        if !self.differs {
            return Decision::Hold(HoldReason::Optimal);
        }
        if let Some(reason) = self.urgent(options) {
            return Decision::Change(reason);
        }
        if self.cluster_is_short && self.chosen.slots < self.current.slots {
            return Decision::Change(ChangeReason::MakeRoom);
        }
        let wait = self
            .since_change
            .map_or(Duration::ZERO, |since| options.cooldown.saturating_sub(since));
        if !wait.is_zero() {
            return Decision::Hold(HoldReason::Cooldown { wait });
        }
        if let Some(reason) = self.late() {
            return Decision::Change(reason);
        }
        let backlog = self.seen.backlog();
        let arriving: f64 = self
            .outlook
            .sources
            .iter()
            .filter_map(|source| source.rates.first())
            .sum();
        if backlog > arriving * options.tolerated_backlog.as_secs_f64() {
            return Decision::Hold(HoldReason::BacklogDraining { backlog });
        }
        if let Some(reason) = self.falling() {
            return Decision::Hold(reason);
        }
        let (gain, price) = (self.gain(options), self.price(options));
        if gain > price {
            Decision::Change(ChangeReason::Pays { gain, price })
        } else {
            Decision::Hold(HoldReason::DoesNotPay { gain, price })
        }
    }

    /// Why the job cannot be left as it is until the next round, if it cannot, and if the change helps.
    fn urgent(&self, options: &TunerOptions) -> Option<ChangeReason> {
        let running = self
            .seen
            .graph
            .operators()
            .iter()
            .zip(&self.seen.config.operators);
        for (operator, config) in running {
            if operator
                .bounds()
                .is_ok_and(|bounds| !bounds.contains(&config.parallelism))
            {
                let (operator, parallelism) = (operator.name.clone(), config.parallelism);
                return Some(ChangeReason::OutOfBounds {
                    operator,
                    parallelism,
                });
            }
        }
        let rates = self.outlook.peak(options.lead_steps(self.downtime));
        let (operator, load) = self.bottleneck(&rates)?;
        if load > options.max_utilization && self.chosen.shortfall < self.current.shortfall {
            return Some(ChangeReason::KeepUp {
                operator: self.seen.graph.operators()[operator].name.clone(),
                rate: rates[operator],
                capacity: rates[operator] / load,
            });
        }
        None
    }

    /// Why the job's latency is too high until the next round, if it is, and if the change helps.
    fn late(&self) -> Option<ChangeReason> {
        let limit_ms = self.policy.objective.latency_limit_ms?;
        let latency_ms = self.lead_latency_ms;
        let helps = self.chosen.latency_ms < latency_ms && self.chosen.latency_ms < self.current.latency_ms;
        (latency_ms > limit_ms && helps).then_some(ChangeReason::Latency { latency_ms, limit_ms })
    }

    /// Whether the load has yet to fall to what is forecast.
    ///
    /// Who shrinks a job while its load is on its way down shrinks it twice, or before it falls at all.
    fn falling(&self) -> Option<HoldReason> {
        const NOTABLY: f64 = 1.1;
        let rate: f64 = self
            .seen
            .sources
            .iter()
            .filter_map(|source| source.arrival_rate)
            .sum();
        let highest = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
        let sources = self.outlook.sources.iter();
        let forecast: f64 = sources.map(|source| highest(&source.rates)).sum();
        let shrinks = self.chosen.cost < self.current.cost;
        (shrinks && rate > forecast * NOTABLY).then_some(HoldReason::Falling { rate, forecast })
    }

    /// The operator of the running configuration with the largest share of its capacity in use at these rates.
    fn bottleneck(&self, rates: &[f64]) -> Option<(usize, f64)> {
        let load = |operator: usize| {
            let parallelism = self.seen.config.operators[operator].parallelism;
            rates[operator] / self.capacities.capacity(self.seen, operator, parallelism)
        };
        (0..rates.len())
            .map(|operator| (operator, load(operator)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Core-seconds that the chosen configuration gains over the horizon.
    ///
    /// Where latency is wanted and not only limited, a share of latency gained counts as that share of the job's cores.
    fn gain(&self, options: &TunerOptions) -> f64 {
        let saved = self.current.cost - self.chosen.cost;
        let faster = match self.policy.objective.prefer {
            Preference::LeastCost => 0.0,
            Preference::Knee | Preference::LowestLatency if self.current.latency_ms > 0.0 => {
                (self.current.latency_ms - self.chosen.latency_ms) / self.current.latency_ms
                    * self.current.cost
            }
            Preference::Knee | Preference::LowestLatency => 0.0,
        };
        (saved + faster) * options.step.as_secs_f64() * options.horizon as f64
    }

    /// Core-seconds that a change costs: the downtime, dearly, and the time until its backlog is worked off.
    ///
    /// With a load of `ρ` on the bottleneck, the backlog of a downtime `d` takes `d · ρ / (1 − ρ)` to work off. Savings that
    /// soon had to be undone make the next ones dearer.
    fn price(&self, options: &TunerOptions) -> f64 {
        const BUSIEST: f64 = 0.99;
        let down = self.downtime.as_secs_f64();
        let load = self
            .bottleneck(&self.outlook.peak(1))
            .map_or(0.0, |(_, load)| load)
            .clamp(0.0, BUSIEST);
        (1.0 + self.regrets)
            * (options.downtime_weight * down + down * load / (1.0 - load))
            * self.current.cost
    }
}
