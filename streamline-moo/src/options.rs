//! How a search runs.

use std::time::Duration;

use crate::{Error, Operators};

/// How a search runs. All defaults together are NSGA-II as published, with duplicates eliminated and crowding by
/// one-at-a-time removal.
///
/// ```
/// use streamline_moo::{Options, Stop};
///
/// let options = Options::default().with_population(200).with_seed(7).with_generations(100);
/// assert_eq!(options.stop, Stop { generations: Some(100), ..Stop::default() });
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
#[non_exhaustive]
pub struct Options {
    /// The number of individuals that survive each generation, and of children in each; 100 by default.
    pub population: usize,
    /// The seed of everything random; 1 by default. The same seed gives the same result, bit for bit on one platform,
    /// whatever the number of threads.
    pub seed: u64,
    /// When to stop; after 250 generations by default.
    pub stop: Stop,
    /// How children come about.
    pub operators: Operators,
    /// Whether children that equal an individual already there are replaced before they are evaluated; yes by default.
    pub eliminate_duplicates: bool,
    /// How the last front that fits only in part is cut.
    pub crowding: Crowding,
    /// How violated constraints count.
    pub constraints: ConstraintHandling,
    /// How the first population is drawn.
    pub sampling: Sampling,
    /// Individuals to start from.
    pub start: Start,
    /// The capacity of an archive of all non-dominated feasible points seen; none by default.
    pub archive: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            population: 100,
            seed: 1,
            stop: Stop {
                generations: Some(250),
                ..Stop::default()
            },
            operators: Operators::default(),
            eliminate_duplicates: true,
            crowding: Crowding::default(),
            constraints: ConstraintHandling::default(),
            sampling: Sampling::default(),
            start: Start::default(),
            archive: None,
        }
    }
}

/// When a search stops: as soon as one of these says so. All are looked at between generations. With none, it only ends
/// when an observer ends it.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Stop {
    /// After so many generations, the first population not counted.
    pub generations: Option<u64>,
    /// Before the number of evaluations would exceed this one. The first population is always evaluated.
    pub evaluations: Option<u64>,
    /// After this time. The only condition that makes results depend on the machine.
    pub time: Option<Duration>,
    /// When the front reaches a hypervolume.
    pub hypervolume: Option<TargetHypervolume>,
    /// When the front no longer moves.
    pub stagnation: Option<Stagnation>,
}

/// Stops when the front's hypervolume reaches `target`.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TargetHypervolume {
    /// The volume to reach.
    pub target: f64,
    /// The reference point, in the problem's own orientation: larger than good values where an objective is minimised,
    /// smaller where it is maximised.
    pub reference: Vec<f64>,
}

/// Stops when the front has moved by no more than `tolerance` within `generations`.
///
/// Movement is the larger of the two IGD⁺ between the fronts then and now, each objective scaled to its range in both.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stagnation {
    /// The number of generations between the two fronts compared.
    pub generations: u64,
    /// The movement that still counts as none, as a share of the objectives' ranges; 0.001 is a good start.
    pub tolerance: f64,
}

/// How the front that fits only in part is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Crowding {
    /// The most crowded individual goes, the distances of its neighbours are brought up to date, and so on: see
    /// [`thin_by_crowding`](crate::thin_by_crowding).
    #[default]
    OneAtATime,
    /// All with the smallest distances go at once, as published. What lies in a bunch goes as a whole.
    AllAtOnce,
}

/// How violated constraints count.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum ConstraintHandling {
    /// A feasible individual is better than an infeasible one, and of two infeasible ones the one with the smaller
    /// violation (Deb et al. 2002).
    #[default]
    FeasibilityFirst,
    /// As above, but a violation up to ε counts as none. ε falls from the `share` quantile of the first population's
    /// violations to 0 as (1 − t/T)^`exponent`, within T `generations` (T. Takahama, S. Sakai: *Constrained optimization
    /// by the ε constrained differential evolution*, CEC 2006).
    Epsilon {
        /// The number of generations after which only what is feasible counts as such.
        generations: u64,
        /// How much of the first population counts as feasible, 0 to 1; 0.2 is usual.
        share: f64,
        /// How fast ε falls; 5 is usual.
        exponent: f64,
    },
}

/// How the first population is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Sampling {
    /// Each value for itself.
    #[default]
    Uniform,
    /// Each variable's range cut into as many cells as there are individuals, each cell used once (M. D. `McKay`, R. J.
    /// Beckman, W. J. Conover 1979).
    LatinHypercube,
}

/// Individuals to start from, for instance the outcome of an earlier search.
///
/// ```
/// use streamline_moo::{Fill, Options, Start};
///
/// let start = Start { genomes: vec![vec![0.5, 0.5]], fill: Fill::Mutated { share: 0.5 } };
/// let options = Options::default().with_start(start);
/// # assert_eq!(options.start.genomes.len(), 1);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Start {
    /// Their genomes, the most important first; those beyond the population size are left out. Values outside of the
    /// bounds are put into them.
    pub genomes: Vec<Vec<f64>>,
    /// Who fills the places that are left.
    pub fill: Fill,
}

/// Who fills the places that given individuals leave in the first population.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Fill {
    /// Random immigrants.
    #[default]
    Random,
    /// Mutated copies of those given, in this share of the places; random immigrants in the rest.
    Mutated {
        /// The share of mutated copies, 0 to 1.
        share: f64,
    },
}

impl Options {
    /// With a population of this size.
    #[must_use]
    pub fn with_population(mut self, population: usize) -> Self {
        self.population = population;
        self
    }

    /// With this seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Stopping after so many generations.
    #[must_use]
    pub fn with_generations(mut self, generations: u64) -> Self {
        self.stop.generations = Some(generations);
        self
    }

    /// Stopping as given.
    #[must_use]
    pub fn with_stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// With these operators.
    #[must_use]
    pub fn with_operators(mut self, operators: Operators) -> Self {
        self.operators = operators;
        self
    }

    /// With duplicates eliminated or not.
    #[must_use]
    pub fn with_duplicates_eliminated(mut self, eliminate: bool) -> Self {
        self.eliminate_duplicates = eliminate;
        self
    }

    /// With fronts cut in this way.
    #[must_use]
    pub fn with_crowding(mut self, crowding: Crowding) -> Self {
        self.crowding = crowding;
        self
    }

    /// With constraints handled in this way.
    #[must_use]
    pub fn with_constraints(mut self, constraints: ConstraintHandling) -> Self {
        self.constraints = constraints;
        self
    }

    /// With the first population drawn in this way.
    #[must_use]
    pub fn with_sampling(mut self, sampling: Sampling) -> Self {
        self.sampling = sampling;
        self
    }

    /// Starting from these individuals.
    #[must_use]
    pub fn with_start(mut self, start: Start) -> Self {
        self.start = start;
        self
    }

    /// With an archive of this capacity.
    #[must_use]
    pub fn with_archive(mut self, capacity: usize) -> Self {
        self.archive = Some(capacity);
        self
    }

    /// Checks what does not depend on the problem.
    pub(crate) fn validate_alone(&self) -> Result<(), Error> {
        let wrong = |option, given, expected| {
            Err(Error::Option {
                option,
                given,
                expected,
            })
        };
        if self.population == 0 || self.population > (u32::MAX / 4) as usize {
            return wrong("population", self.population as f64, "1 to 2^30");
        }
        if self.archive == Some(0) {
            return wrong("archive", 0.0, "at least 1");
        }
        if let ConstraintHandling::Epsilon { share, exponent, .. } = self.constraints {
            if !(0.0..=1.0).contains(&share) {
                return wrong("constraints.share", share, "0 to 1");
            }
            if !(exponent > 0.0 && exponent.is_finite()) {
                return wrong("constraints.exponent", exponent, "a number above 0");
            }
        }
        if let Fill::Mutated { share } = self.start.fill
            && !(0.0..=1.0).contains(&share)
        {
            return wrong("start.fill.share", share, "0 to 1");
        }
        if let Some(stagnation) = &self.stop.stagnation {
            if stagnation.generations == 0 {
                return wrong("stop.stagnation.generations", 0.0, "at least 1");
            }
            if stagnation.tolerance.is_nan() || stagnation.tolerance < 0.0 {
                return wrong("stop.stagnation.tolerance", stagnation.tolerance, "0 or more");
            }
        }
        self.operators.validate()
    }

    /// Checks what depends on the problem.
    pub(crate) fn validate(&self, width: usize, objectives: usize) -> Result<(), Error> {
        let fits = |what, given: usize, expected| {
            if given == expected {
                Ok(())
            } else {
                Err(Error::Width {
                    what,
                    given,
                    expected,
                })
            }
        };
        if let Some(target) = &self.stop.hypervolume {
            fits("stop.hypervolume.reference", target.reference.len(), objectives)?;
        }
        for genome in &self.start.genomes {
            fits("a genome to start from", genome.len(), width)?;
        }
        Ok(())
    }
}
