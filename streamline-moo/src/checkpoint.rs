//! What a run needs to continue.

use std::time::Duration;

use crate::Error;
use crate::pool::Pool;

/// The format of [`Checkpoint`]s that this version writes and reads.
const VERSION: u64 = 1;

/// A run at rest between two generations. With the same problem and options it continues bit for bit: the random numbers
/// depend on the seed and the generation alone.
///
/// With the feature `serde` it can be stored; numbers are written as their 64 bits, so that nothing is lost in any format.
///
/// ```
/// use streamline_moo::{Function, Goal, Nsga2, Options, Variable};
///
/// # let problem = Function::new(vec![Variable::real(0.0, 1.0); 3], vec![Goal::Minimise; 2], |x, f, _| {
/// #     f[0] = x[0];
/// #     f[1] = 1.0 - x[0] + x[1] + x[2];
/// #     Ok(())
/// # });
/// let search = Nsga2::new(Options::default().with_generations(20))?;
/// let whole = search.run(&problem)?;
///
/// let mut run = search.start(&problem)?;
/// run.advance()?;
/// let checkpoint = run.checkpoint();
/// drop(run);
/// let resumed = search.resume(&problem, &checkpoint)?.finish(|_| std::ops::ControlFlow::Continue(()))?;
/// assert_eq!(resumed.population, whole.population);
/// # Ok::<(), streamline_moo::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Checkpoint {
    pub(crate) version: u64,
    pub(crate) seed: u64,
    pub(crate) generation: u64,
    pub(crate) evaluations: u64,
    pub(crate) elapsed: Duration,
    pub(crate) population: Individuals,
    pub(crate) archive: Option<Individuals>,
    /// When the front was last looked at for stagnation.
    pub(crate) snapshot_at: Option<u64>,
    pub(crate) snapshot: Bits,
    pub(crate) epsilon: Bits,
    /// The ideal point and the extreme points of NSGA-III.
    pub(crate) niching: Option<(Bits, Bits)>,
}

/// Numbers as their bits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub(crate) struct Bits(Vec<u64>);

impl From<&[f64]> for Bits {
    fn from(values: &[f64]) -> Self {
        Self(values.iter().map(|value| value.to_bits()).collect())
    }
}

impl Bits {
    pub(crate) fn values(&self) -> impl Iterator<Item = f64> {
        self.0.iter().map(|&bits| f64::from_bits(bits))
    }

    pub(crate) fn check(&self, what: &'static str, expected: usize) -> Result<(), Error> {
        fits(what, self.0.len() as u64, expected as u64)
    }
}

/// The individuals of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Individuals {
    genomes: Bits,
    objectives: Bits,
    constraints: Bits,
    violations: Bits,
    crowding: Bits,
    hashes: Vec<u64>,
    ranks: Vec<u32>,
}

impl Individuals {
    pub(crate) fn of(pool: &Pool) -> Self {
        Self {
            genomes: pool.genomes.as_slice().into(),
            objectives: pool.objectives.as_slice().into(),
            constraints: pool.constraints.as_slice().into(),
            violations: pool.violations.as_slice().into(),
            crowding: pool.crowding.as_slice().into(),
            hashes: pool.hashes.clone(),
            ranks: pool.ranks.clone(),
        }
    }

    /// Fills an empty pool of the right shape.
    pub(crate) fn restore(&self, pool: &mut Pool) -> Result<(), Error> {
        let n = self.ranks.len();
        self.genomes.check("the number of genes", n * pool.width)?;
        self.objectives
            .check("the number of objective values", n * pool.m())?;
        self.constraints
            .check("the number of constraint values", n * pool.k)?;
        self.violations.check("the number of violations", n)?;
        self.crowding.check("the number of crowding distances", n)?;
        fits("the number of hashes", self.hashes.len() as u64, n as u64)?;
        pool.len = n;
        pool.genomes = self.genomes.values().collect();
        pool.objectives = self
            .objectives
            .values()
            .map(crate::dominance::worst_if_nan)
            .collect();
        pool.constraints = self.constraints.values().collect();
        pool.violations = self.violations.values().collect();
        pool.crowding = self.crowding.values().collect();
        pool.hashes.clone_from(&self.hashes);
        pool.ranks.clone_from(&self.ranks);
        Ok(())
    }
}

impl Checkpoint {
    pub(crate) const VERSION: u64 = VERSION;

    /// The generation after which it was taken.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    pub(crate) fn validate(&self, seed: u64, population: usize) -> Result<(), Error> {
        fits("the format", self.version, VERSION)?;
        fits("the seed", self.seed, seed)?;
        let n = self.population.ranks.len() as u64;
        if n == 0 || n > population as u64 {
            return Err(Error::Checkpoint {
                what: "the population",
                given: n,
                expected: population as u64,
            });
        }
        Ok(())
    }
}

/// An error unless both are the same.
pub(crate) fn fits(what: &'static str, given: u64, expected: u64) -> Result<(), Error> {
    if given == expected {
        Ok(())
    } else {
        Err(Error::Checkpoint {
            what,
            given,
            expected,
        })
    }
}
