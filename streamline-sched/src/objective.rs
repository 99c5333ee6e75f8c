use serde::{Deserialize, Serialize};

use crate::ScheduleError;

/// Something that a placement should have little of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Term {
    /// Instances without room; one that is served earlier counts a thousand times as much (at most 10¹⁵ times).
    Unplaced,
    /// The price of an hour of the TaskManagers that run something.
    Price,
    /// Use above the request's target, as shares of what the TaskManagers have, summed over them and their resources.
    Overload,
    /// Bytes per second that cross TaskManagers on forward edges.
    ForwardTraffic,
    /// Bytes per second that cross TaskManagers on any edge.
    Traffic,
    /// Instances that run elsewhere than they did.
    MovedInstances,
    /// State in bytes that has to move with them.
    MovedState,
    /// Pairs of instances of one operator that share a TaskManager.
    Crowding,
    /// How uneven the busiest TaskManager makes it: the largest [`Contention`] over cpu, state access and network, each
    /// against the request's limit.
    Contention,
}

pub(crate) const TERMS: usize = 9;

/// What a placement has of each [`Term`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Measures {
    /// See [`Term::Unplaced`]; here every instance counts 1.
    pub unplaced: f64,
    /// See [`Term::Price`].
    pub price: f64,
    /// See [`Term::Overload`].
    pub overload: f64,
    /// See [`Term::ForwardTraffic`].
    pub forward_traffic: f64,
    /// See [`Term::Traffic`].
    pub traffic: f64,
    /// See [`Term::MovedInstances`].
    pub moved_instances: f64,
    /// See [`Term::MovedState`].
    pub moved_state: f64,
    /// See [`Term::Crowding`].
    pub crowding: f64,
    /// See [`Term::Contention`].
    pub contention: Contention,
}

/// How far the busiest TaskManager is from an even share, for each kind of load: 0 for an even share, 1 for as much as
/// the heaviest instances that its slots can hold.
///
/// For compute and state access the even share is the mean over the TaskManagers, for network it is no traffic at all
/// (Wang, Huang, Kalavri et al., *`CAPSys`: Contention-aware task placement for data stream processing*, `EuroSys` 2025).
/// The network load of a TaskManager is what its instances send to others; on a forward edge that is what the surplus of
/// senders over receivers sends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Contention {
    /// Of cpu.
    pub cpu: f64,
    /// Of state access.
    pub state_access: f64,
    /// Of network.
    pub network: f64,
}

impl Contention {
    /// One number for each kind.
    #[must_use]
    pub const fn new(cpu: f64, state_access: f64, network: f64) -> Self {
        Self {
            cpu,
            state_access,
            network,
        }
    }

    /// The largest of the three.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.cpu.max(self.state_access).max(self.network)
    }
}

/// What makes one placement better than another: levels in order of importance, each a weighted sum of terms.
///
/// A level counts only among placements that are equal on all levels before it.
///
/// # Examples
///
/// ```
/// use streamline_sched::{Objective, Term};
///
/// // Feasible first; then one TaskManager-hour at price 1 is worth five moves; then little traffic.
/// let objective = Objective::lexicographic([
///     vec![(Term::Unplaced, 1.0)],
///     vec![(Term::Price, 1.0), (Term::MovedInstances, 0.2)],
///     vec![(Term::Traffic, 1.0)],
/// ])?;
/// assert_eq!(objective.levels().len(), 3);
/// # Ok::<(), streamline_sched::ScheduleError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Vec<(Term, f64)>>", into = "Vec<Vec<(Term, f64)>>")]
pub struct Objective {
    levels: Vec<Vec<(Term, f64)>>,
}

impl Default for Objective {
    /// Everything placed, little overload, few moves, a low price, little forward traffic, little traffic, little state
    /// moved, operators spread out; in this order.
    fn default() -> Self {
        Self::ordered(&[
            Term::Unplaced,
            Term::Overload,
            Term::MovedInstances,
            Term::Price,
            Term::ForwardTraffic,
            Term::Traffic,
            Term::MovedState,
            Term::Crowding,
        ])
    }
}

impl Objective {
    /// Levels in order of importance.
    ///
    /// # Errors
    /// [`ScheduleError::InvalidOption`] if a weight is not a finite number of at least 0.
    pub fn lexicographic(levels: impl IntoIterator<Item = Vec<(Term, f64)>>) -> Result<Self, ScheduleError> {
        let levels: Vec<_> = levels.into_iter().collect();
        match levels
            .iter()
            .flatten()
            .find(|(_, weight)| !(weight.is_finite() && *weight >= 0.0))
        {
            Some(&(_, value)) => Err(ScheduleError::InvalidOption {
                name: "objective weight",
                value,
                expected: "a finite number of at least 0",
            }),
            None => Ok(Self { levels }),
        }
    }

    /// Everything placed first, then one weighted sum.
    ///
    /// # Errors
    /// As [`Objective::lexicographic`].
    pub fn weighted(terms: impl IntoIterator<Item = (Term, f64)>) -> Result<Self, ScheduleError> {
        Self::lexicographic([vec![(Term::Unplaced, 1.0)], terms.into_iter().collect()])
    }

    /// As the default, but a lower price is worth any number of moves.
    #[must_use]
    pub fn cheapest() -> Self {
        Self::ordered(&[
            Term::Unplaced,
            Term::Overload,
            Term::Price,
            Term::MovedInstances,
            Term::ForwardTraffic,
            Term::Traffic,
            Term::MovedState,
            Term::Crowding,
        ])
    }

    /// Everything placed, then as even a load as possible, then little traffic and a low price: all TaskManagers are
    /// used, as one does in a cluster of fixed size.
    #[must_use]
    pub fn least_contention() -> Self {
        Self::ordered(&[Term::Unplaced, Term::Contention, Term::Traffic, Term::Price])
    }

    fn ordered(terms: &[Term]) -> Self {
        Self {
            levels: terms.iter().map(|&term| vec![(term, 1.0)]).collect(),
        }
    }

    /// The levels.
    #[must_use]
    pub fn levels(&self) -> &[Vec<(Term, f64)>] {
        &self.levels
    }

    pub(crate) fn uses(&self, term: Term) -> bool {
        self.levels
            .iter()
            .flatten()
            .any(|&(used, weight)| used == term && weight > 0.0)
    }

    /// Whether the change is for the better: the first level that it touches by more than rounding falls.
    pub(crate) fn improves(&self, change: &[f64; TERMS], tolerance: &[f64; TERMS]) -> bool {
        for level in &self.levels {
            let (mut sum, mut rounding) = (0.0, 0.0);
            for &(term, weight) in level {
                sum += weight * change[term as usize];
                rounding += weight * tolerance[term as usize];
            }
            if sum.abs() > rounding {
                return sum < 0.0;
            }
        }
        false
    }
}

impl TryFrom<Vec<Vec<(Term, f64)>>> for Objective {
    type Error = ScheduleError;

    fn try_from(levels: Vec<Vec<(Term, f64)>>) -> Result<Self, ScheduleError> {
        Self::lexicographic(levels)
    }
}

impl From<Objective> for Vec<Vec<(Term, f64)>> {
    fn from(objective: Objective) -> Self {
        objective.levels
    }
}
