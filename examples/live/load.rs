//! How the load of the live example goes.

use std::time::Duration;

/// How the load goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Load {
    /// Low and high in turns, three times
    Pattern,
    /// Low, and then three times as much without notice
    Surge,
}

/// Seconds that each phase lasts.
const PHASE: u64 = 90;
/// The lowest rate, in records a second.
pub(crate) const LOW: u64 = 500;

impl Load {
    fn high(self) -> u64 {
        match self {
            Self::Pattern => 1_800,
            Self::Surge => 3 * LOW,
        }
    }

    /// How long it is watched.
    pub(crate) fn lasts(self) -> Duration {
        Duration::from_secs(match self {
            Self::Pattern => 6 * PHASE,
            Self::Surge => 60 + 2 * PHASE,
        })
    }

    /// After what time it repeats.
    pub(crate) fn period(self) -> Duration {
        match self {
            Self::Pattern => Duration::from_secs(2 * PHASE),
            // Longer than it lasts: nobody can know.
            Self::Surge => Duration::from_secs(3_600),
        }
    }

    /// How long after a change its backlog may take to drain.
    pub(crate) fn drains(self) -> Duration {
        Duration::from_secs(match self {
            // What was foreseen leaves no more than what the change itself holds up.
            Self::Pattern => 15,
            Self::Surge => 90,
        })
    }

    /// When the load changes, in seconds, and to what.
    pub(crate) fn steps(self) -> Vec<(u64, u64)> {
        match self {
            Self::Pattern => (1..6)
                .map(|phase| (phase * PHASE, if phase % 2 == 1 { self.high() } else { LOW }))
                .collect(),
            Self::Surge => vec![(60, self.high())],
        }
    }

    /// The arguments of the job: parse takes a millisecond for each record and count 0.4.
    pub(crate) fn arguments(self) -> Vec<String> {
        let (schedule, period) = match self {
            Self::Pattern => (format!("0:{LOW},{PHASE}:{}", self.high()), 2 * PHASE),
            Self::Surge => (format!("0:{LOW},60:{}", self.high()), 0),
        };
        [
            ("name", "live"),
            ("schedule", &schedule),
            ("period", &period.to_string()),
            ("parse-us", "1000"),
            ("count-us", "400"),
            ("checkpoint-ms", "1000"),
        ]
        .iter()
        .flat_map(|(name, value)| [format!("--{name}"), (*value).to_owned()])
        .collect()
    }
}
