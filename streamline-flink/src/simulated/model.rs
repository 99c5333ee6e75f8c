use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::FlinkError;

/// The constants of a simulated cluster, read from TOML. What each means, and where its default comes from, stands in
/// `models/default.toml`.
///
/// # Examples
///
/// ```
/// use streamline_flink::Model;
///
/// let model = Model::default();
/// let noiseless = Model::from_toml(&Model::DEFAULT_TOML.replace("arrivals = 0.02", "arrivals = 0.0"))?;
/// assert_ne!(model, noiseless);
/// assert!(Model::from_toml("step_ms = 0").is_err());
/// # Ok::<(), streamline_flink::FlinkError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Length of a step in milliseconds.
    pub step_ms: u32,
    /// How capacity grows with parallelism.
    pub scaling: Scaling,
    /// What subtasks use beside their work.
    pub cpu: Cpu,
    /// What records wait for.
    pub latency: Latency,
    /// How many network buffers there are.
    pub buffers: Buffers,
    /// What a restart takes.
    pub restart: Restart,
    /// What varies at random.
    pub noise: Noise,
    /// What fails at random.
    pub failures: Failures,
}

/// The universal scalability law.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaling {
    /// What subtasks wait for one another, `σ`.
    pub contention: f64,
    /// What subtasks have to agree with one another, `κ`.
    pub coherency: f64,
}

/// What subtasks use beside their work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// Cores that an idle subtask uses.
    pub idle_cores: f64,
}

/// What records wait for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Milliseconds of a hop at no load.
    pub hop_ms: f64,
    /// Records that arrive at once.
    pub burst_records: f64,
    /// The longest wait that is reported, in milliseconds.
    pub longest_ms: f64,
}

/// How many network buffers there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffers {
    /// Buffers of each channel.
    pub exclusive_per_channel: u32,
    /// Buffers that the channels of a gate share.
    pub floating_per_gate: u32,
}

/// What a restart takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restart {
    /// Seconds without any state.
    pub base_seconds: f64,
    /// Seconds for each GiB of state.
    pub seconds_per_gib: f64,
    /// Seconds until a failure is noticed.
    pub detection_seconds: f64,
    /// Seconds between checkpoints.
    pub checkpoint_seconds: f64,
}

/// What varies at random.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// Standard deviation of the arrivals, as a share.
    pub arrivals: f64,
    /// Standard deviation of the speed of an operator, as a share.
    pub speed: f64,
}

/// What fails at random.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failures {
    /// Failures for each TaskManager and hour.
    pub per_hour: f64,
}

impl Model {
    /// The text that the default is read from.
    pub const DEFAULT_TOML: &'static str = include_str!("../../models/default.toml");

    /// Reads the constants from a TOML text, all of which must be there.
    ///
    /// # Errors
    /// [`FlinkError::Model`] naming the line that cannot be read, or the constant that is out of its range.
    pub fn from_toml(text: &str) -> Result<Self, FlinkError> {
        let model: Self = toml::from_str(text).map_err(|error| FlinkError::Model {
            reason: error.to_string(),
        })?;
        model.check()?;
        Ok(model)
    }

    /// Checks that every constant is in its range.
    ///
    /// # Errors
    /// [`FlinkError::Model`] naming the first that is not.
    pub fn check(&self) -> Result<(), FlinkError> {
        let refuse = |reason| FlinkError::Model { reason };
        let model = self;
        if !(1..=60_000).contains(&model.step_ms) {
            return Err(refuse(format!(
                "step_ms is {}, expected 1 to 60,000",
                model.step_ms
            )));
        }
        let numbers = [
            ("scaling.contention", model.scaling.contention),
            ("scaling.coherency", model.scaling.coherency),
            ("cpu.idle_cores", model.cpu.idle_cores),
            ("latency.hop_ms", model.latency.hop_ms),
            ("latency.burst_records", model.latency.burst_records),
            ("latency.longest_ms", model.latency.longest_ms),
            ("restart.base_seconds", model.restart.base_seconds),
            ("restart.seconds_per_gib", model.restart.seconds_per_gib),
            ("restart.detection_seconds", model.restart.detection_seconds),
            ("restart.checkpoint_seconds", model.restart.checkpoint_seconds),
            ("noise.arrivals", model.noise.arrivals),
            ("noise.speed", model.noise.speed),
            ("failures.per_hour", model.failures.per_hour),
        ];
        match numbers
            .into_iter()
            .find(|(_, value)| !(0.0..=1e9).contains(value))
        {
            Some((name, value)) => Err(refuse(format!("{name} is {value}, expected 0 to 1e9"))),
            None => Ok(()),
        }
    }

    /// The default with nothing left to chance.
    #[must_use]
    pub fn without_chance() -> Self {
        let noise = Noise {
            arrivals: 0.0,
            speed: 0.0,
        };
        Self {
            noise,
            failures: Failures { per_hour: 0.0 },
            ..Self::default()
        }
    }

    /// How much longer than one alone each of `parallelism` subtasks takes for a record.
    #[must_use]
    pub fn slowdown(&self, parallelism: u32) -> f64 {
        let p = f64::from(parallelism.max(1));
        1.0 + self.scaling.contention * (p - 1.0) + self.scaling.coherency * p * (p - 1.0)
    }

    /// How long a job with this much state is down when it is changed.
    #[must_use]
    pub fn downtime(&self, state_bytes: u64) -> Duration {
        const GIB: f64 = (1u64 << 30) as f64;
        let seconds = self.restart.base_seconds + self.restart.seconds_per_gib * state_bytes as f64 / GIB;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

impl Default for Model {
    fn default() -> Self {
        // A test reads the shipped text, so that this cannot fail.
        Self::from_toml(Self::DEFAULT_TOML).expect("the shipped constants are sound")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_shipped_constants_are_sound() {
        Model::from_toml(Model::DEFAULT_TOML).unwrap();
    }

    #[test]
    fn a_constant_out_of_its_range_is_named() {
        for (from, to, expected) in [
            (
                "contention = 0.0007",
                "contention = -1.0",
                "scaling.contention is -1",
            ),
            (
                "contention = 0.0007",
                "contention = nan",
                "scaling.contention is NaN",
            ),
            ("step_ms = 1000", "step_ms = 0", "step_ms is 0"),
            ("hop_ms = 2.0", "hop = 2.0", "unknown field `hop`"),
            ("hop_ms = 2.0", "", "missing field `hop_ms`"),
        ] {
            let text = Model::DEFAULT_TOML.replace(from, to);
            let message = Model::from_toml(&text).unwrap_err().to_string();
            assert!(
                message.contains(expected),
                "`{message}` does not say `{expected}`"
            );
        }
    }

    #[test]
    fn more_state_takes_longer_to_restart() {
        let model = Model::default();
        assert!(model.downtime(8 << 30) > model.downtime(1 << 30));
        assert!(model.downtime(u64::MAX) > model.downtime(8 << 30));
    }

    proptest! {
        #[test]
        fn any_text_is_a_model_or_an_error(text in ".{0,200}") {
            let _ = Model::from_toml(&text);
        }
    }
}
