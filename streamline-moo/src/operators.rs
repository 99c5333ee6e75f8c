//! Which crossover and mutation new individuals come from, per kind of variable.

use crate::Error;

/// How parents are mixed and children mutated, per kind of variable. A pair of parents is of the whole population's
/// tournaments; each pair has two children.
///
/// ```
/// use streamline_moo::{Crossover, Operators};
///
/// let operators = Operators { real: Crossover::Differential { scale: 0.5, rate: 0.9 }, ..Operators::default() };
/// assert_eq!(operators.crossover_probability, 0.9);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Operators {
    /// The probability that a pair is mixed at all; 0.9 by default, as in Deb et al. 2002.
    pub crossover_probability: f64,
    /// For real variables; SBX with η = 15 by default, as in pymoo.
    pub real: Crossover,
    /// For integer and ordinal variables; SBX with η = 15 by default, on cells of equal width that are then rounded, so
    /// that the first and the last value are as likely as the others.
    pub integer: Crossover,
    /// For binary and categorical variables; uniform by default.
    pub choice: Exchange,
    /// The distribution index η of polynomial mutation of real, integer and ordinal variables; 20 by default. Binary and
    /// categorical variables change to any other value, permutations reverse a stretch or swap two places.
    pub mutation_index: f64,
    /// The probability that a variable is mutated; one over the number of variables by default.
    pub mutation_rate: Option<f64>,
}

impl Default for Operators {
    fn default() -> Self {
        Self {
            crossover_probability: 0.9,
            real: Crossover::Sbx { index: 15.0 },
            integer: Crossover::Sbx { index: 15.0 },
            choice: Exchange::Uniform,
            mutation_index: 20.0,
            mutation_rate: None,
        }
    }
}

/// How two parents' real or integer variables are mixed.
///
/// Permutations are always mixed by order crossover.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Crossover {
    /// Simulated binary crossover within bounds, of each variable with probability one half (K. Deb, R. B. Agrawal:
    /// *Simulated binary crossover for continuous search space*, Complex Systems 9, 1995).
    Sbx {
        /// The distribution index η: the larger, the closer are children to their parents.
        index: f64,
    },
    /// Differential variation (R. Storn, K. Price 1997; as an NSGA-II operator in GDE3, S. Kukkonen, J. Lampinen 2005):
    /// a parent plus the scaled difference of two other individuals, in each variable with probability `rate`. What leaves
    /// the bounds is drawn between the bound and the parent.
    Differential {
        /// The factor F of the difference.
        scale: f64,
        /// The probability CR that a variable takes part.
        rate: f64,
    },
    /// Parents exchange values.
    Exchange(Exchange),
}

/// Which values two parents exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Exchange {
    /// Each with probability one half.
    Uniform,
    /// Every second stretch between so many random cuts.
    Point {
        /// The number of cuts, at least 1.
        cuts: usize,
    },
}

impl Operators {
    pub(crate) fn validate(&self) -> Result<(), Error> {
        let check = |option, given: f64, holds: bool, expected| {
            if holds {
                Ok(())
            } else {
                Err(Error::Option {
                    option,
                    given,
                    expected,
                })
            }
        };
        let share = |option, given: f64| check(option, given, (0.0..=1.0).contains(&given), "0 to 1");
        let index = |option, given: f64| check(option, given, (0.0..=1e6).contains(&given), "0 to 1e6");
        let exchange = |option, exchange: Exchange| match exchange {
            Exchange::Point { cuts: 0 } => check(option, 0.0, false, "at least 1"),
            _ => Ok(()),
        };
        share("operators.crossover_probability", self.crossover_probability)?;
        index("operators.mutation_index", self.mutation_index)?;
        share("operators.mutation_rate", self.mutation_rate.unwrap_or(0.0))?;
        exchange("operators.choice.cuts", self.choice)?;
        for (crossover, names) in [
            (
                self.real,
                [
                    "operators.real.index",
                    "operators.real.scale",
                    "operators.real.rate",
                    "operators.real.cuts",
                ],
            ),
            (
                self.integer,
                [
                    "operators.integer.index",
                    "operators.integer.scale",
                    "operators.integer.rate",
                    "operators.integer.cuts",
                ],
            ),
        ] {
            match crossover {
                Crossover::Sbx { index: given } => index(names[0], given)?,
                Crossover::Differential { scale, rate } => {
                    check(names[1], scale, (0.0..=4.0).contains(&scale), "0 to 4")?;
                    share(names[2], rate)?;
                }
                Crossover::Exchange(how) => exchange(names[3], how)?,
            }
        }
        Ok(())
    }
}
