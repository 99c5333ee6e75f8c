use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Error;

/// The settings of a [`Tuner`](crate::Tuner).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use streamline_tuner::TunerOptions;
///
/// let options = TunerOptions { interval: Duration::from_secs(60), seed: 7, ..TunerOptions::default() };
/// options.check()?;
/// assert!(TunerOptions { quantile: 1.5, ..options }.check().is_err());
/// # Ok::<(), streamline_tuner::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TunerOptions {
    /// Seed of everything random. Default 1.
    pub seed: u64,
    /// The time between rounds. A job that is left alone must get along until the next one. Default 5 min.
    pub interval: Duration,
    /// The step of the arrival-rate series that forecasts are made from. Default 5 min.
    pub step: Duration,
    /// How many steps ahead to forecast; a change must last that long. Default 24 (two hours).
    pub horizon: usize,
    /// The quantile of the forecast that capacity must suffice for. Default 0.9.
    pub quantile: f64,
    /// The share of its capacity that an operator is sized to use, as in Flink's own autoscaler. Default 0.7.
    pub target_utilization: f64,
    /// The share of its capacity above which an operator has to be scaled up. Default 0.85.
    pub max_utilization: f64,
    /// In what time a backlog should be worked off. Default 10 min.
    pub catch_up: Duration,
    /// The backlog, in seconds of input, up to which a job counts as keeping up and may be scaled down. Default 30 s.
    pub tolerated_backlog: Duration,
    /// The downtime to expect of a change as long as none of the job was measured. Default 30 s.
    pub assumed_downtime: Duration,
    /// What a second of downtime costs, in seconds of all the cores of the job. Default 60.
    pub downtime_weight: f64,
    /// After a change, how long the job is left alone unless it cannot keep up. Default 15 min.
    pub cooldown: Duration,
    /// The share of the cores of the cluster that may be planned for. Default 0.9.
    pub cpu_headroom: f64,
    /// What a subtask costs beside its slot, in cores: threads and buffers. Default 0.02.
    pub subtask_cores: f64,
    /// The sizes of network buffers to choose from, in bytes. Default 4, 8, 16, 32 and 64 KiB.
    pub segment_bytes: Vec<u32>,
    /// Size of a record in bytes where it is unknown. Default 100.
    pub record_bytes: f64,
    /// Individuals of the search. Default 64.
    pub population: usize,
    /// Generations of the search. Default 80.
    pub generations: usize,
}

impl Default for TunerOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            interval: Duration::from_secs(300),
            step: Duration::from_secs(300),
            horizon: 24,
            quantile: 0.9,
            target_utilization: 0.7,
            max_utilization: 0.85,
            catch_up: Duration::from_secs(600),
            tolerated_backlog: Duration::from_secs(30),
            assumed_downtime: Duration::from_secs(30),
            downtime_weight: 60.0,
            cooldown: Duration::from_secs(900),
            cpu_headroom: 0.9,
            subtask_cores: 0.02,
            segment_bytes: [4, 8, 16, 32, 64].map(|kib| kib << 10).to_vec(),
            record_bytes: 100.0,
            population: 64,
            generations: 80,
        }
    }
}

/// A time in milliseconds, as series have it.
pub(crate) fn in_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl TunerOptions {
    /// Checks every setting.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] naming the first setting that is out of its range.
    pub fn check(&self) -> Result<(), Error> {
        const SHARE: &str = "more than 0 and at most 1";
        const POSITIVE: &str = "more than 0";
        let share = |value: f64| value > 0.0 && value <= 1.0;
        let amount = |value: f64| value.is_finite() && value >= 0.0;
        let ms = |duration: Duration| duration.as_millis() as f64;
        let checks = [
            (
                "interval",
                ms(self.interval),
                self.interval.as_millis() > 0,
                "at least 1 ms",
            ),
            ("step", ms(self.step), self.step.as_millis() > 0, "at least 1 ms"),
            (
                "horizon",
                self.horizon as f64,
                (1..=10_000).contains(&self.horizon),
                "1 to 10,000 steps",
            ),
            (
                "quantile",
                self.quantile,
                self.quantile > 0.0 && self.quantile < 1.0,
                "more than 0 and less than 1",
            ),
            (
                "target_utilization",
                self.target_utilization,
                share(self.target_utilization),
                SHARE,
            ),
            (
                "max_utilization",
                self.max_utilization,
                share(self.max_utilization) && self.max_utilization >= self.target_utilization,
                "at least target_utilization and at most 1",
            ),
            (
                "catch_up",
                ms(self.catch_up),
                self.catch_up.as_millis() > 0,
                "at least 1 ms",
            ),
            (
                "downtime_weight",
                self.downtime_weight,
                amount(self.downtime_weight),
                "a finite number of at least 0",
            ),
            ("cpu_headroom", self.cpu_headroom, share(self.cpu_headroom), SHARE),
            (
                "subtask_cores",
                self.subtask_cores,
                amount(self.subtask_cores),
                "a finite number of at least 0",
            ),
            (
                "segment_bytes",
                self.segment_bytes.len() as f64,
                !self.segment_bytes.is_empty(),
                "at least one size",
            ),
            (
                "segment_bytes",
                0.0,
                self.segment_bytes.iter().all(|&size| size > 0),
                "sizes of at least 1 byte",
            ),
            (
                "record_bytes",
                self.record_bytes,
                amount(self.record_bytes) && self.record_bytes > 0.0,
                POSITIVE,
            ),
            (
                "population",
                self.population as f64,
                (4..=100_000).contains(&self.population),
                "4 to 100,000",
            ),
            (
                "generations",
                self.generations as f64,
                (1..=1_000_000).contains(&self.generations),
                "1 to 1,000,000",
            ),
        ];
        all_hold(checks)
    }

    /// How many steps of the forecast pass until a change that is not made now, but in the next round, takes effect.
    pub(crate) fn lead_steps(&self, downtime: Duration) -> usize {
        let lead = self.interval.saturating_add(downtime).as_millis();
        usize::try_from(lead.div_ceil(self.step.as_millis().max(1)))
            .unwrap_or(usize::MAX)
            .clamp(1, self.horizon)
    }
}

/// Refuses the first setting that is out of its range. Each is its name, its value, whether it holds, and its range in words.
pub(crate) fn all_hold(
    checks: impl IntoIterator<Item = (&'static str, f64, bool, &'static str)>,
) -> Result<(), Error> {
    match checks.into_iter().find(|&(_, _, holds, _)| !holds) {
        Some((name, value, _, expected)) => Err(Error::InvalidOption {
            name,
            value,
            expected,
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_settings_are_sound() {
        TunerOptions::default().check().unwrap();
    }

    #[test]
    fn each_senseless_setting_is_refused_by_name() {
        let base = TunerOptions::default;
        for (expected, options) in [
            (
                "quantile",
                TunerOptions {
                    quantile: f64::NAN,
                    ..base()
                },
            ),
            (
                "step",
                TunerOptions {
                    step: Duration::ZERO,
                    ..base()
                },
            ),
            ("horizon", TunerOptions { horizon: 0, ..base() }),
            (
                "max_utilization",
                TunerOptions {
                    max_utilization: 0.5,
                    ..base()
                },
            ),
            (
                "segment_bytes",
                TunerOptions {
                    segment_bytes: vec![],
                    ..base()
                },
            ),
            (
                "segment_bytes",
                TunerOptions {
                    segment_bytes: vec![0],
                    ..base()
                },
            ),
            (
                "downtime_weight",
                TunerOptions {
                    downtime_weight: f64::INFINITY,
                    ..base()
                },
            ),
            (
                "population",
                TunerOptions {
                    population: 0,
                    ..base()
                },
            ),
        ] {
            let message = options.check().unwrap_err().to_string();
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn a_job_must_get_along_until_a_change_of_the_next_round_takes_effect() {
        let options = TunerOptions::default();
        assert_eq!(options.lead_steps(Duration::ZERO), 1);
        assert_eq!(options.lead_steps(Duration::from_secs(30)), 2);
        assert_eq!(
            options.lead_steps(Duration::from_secs(1_000_000)),
            options.horizon
        );
    }
}
