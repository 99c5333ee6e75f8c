//! What may vary, and how a genome lays it out.

use std::ops::Range;

use crate::Error;
use crate::random::Stream;

/// One thing that may vary. Its values sit in the genome as `f64`, whole numbers where the variable is whole.
///
/// ```
/// use streamline_moo::Variable;
///
/// let variables = [
///     Variable::real(0.0, 1.0),
///     Variable::integer(1, 16),              // parallelism
///     Variable::Ordinal { levels: 5 },       // 0, 1, … 4: index into a sorted list
///     Variable::Categorical { categories: 3 },
///     Variable::Binary,
/// ];
/// assert_eq!(variables.iter().map(Variable::width).sum::<usize>(), 5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Variable {
    /// Any number from `lower` to `upper`, both included.
    Real {
        /// The smallest value.
        lower: f64,
        /// The largest value.
        upper: f64,
    },
    /// Any whole number from `lower` to `upper`, both included.
    Integer {
        /// The smallest value.
        lower: i64,
        /// The largest value.
        upper: i64,
    },
    /// An index `0..levels` into an ordered list: neighbours are alike.
    Ordinal {
        /// How many there are.
        levels: usize,
    },
    /// An index `0..categories` into a list without order.
    Categorical {
        /// How many there are.
        categories: usize,
    },
    /// 0 or 1.
    Binary,
    /// An order of `length` things: takes `length` genes, which hold each of `0..length` once.
    Permutation {
        /// How many things there are to order.
        length: usize,
    },
}

impl Variable {
    /// [`Variable::Real`] from `lower` to `upper`.
    #[must_use]
    pub const fn real(lower: f64, upper: f64) -> Self {
        Self::Real { lower, upper }
    }

    /// [`Variable::Integer`] from `lower` to `upper`.
    #[must_use]
    pub const fn integer(lower: i64, upper: i64) -> Self {
        Self::Integer { lower, upper }
    }

    /// The number of genes it takes: 1, but for a permutation.
    #[must_use]
    pub const fn width(&self) -> usize {
        match self {
            Self::Permutation { length } => *length,
            _ => 1,
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Real { .. } => Kind::Real,
            Self::Integer { .. } | Self::Ordinal { .. } => Kind::Whole,
            Self::Categorical { .. } | Self::Binary => Kind::Choice,
            Self::Permutation { .. } => Kind::Permutation,
        }
    }

    fn bounds(&self, index: usize) -> Result<(f64, f64), Error> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let (lower, upper, limit) = match *self {
            Self::Real { lower, upper } => (lower, upper, f64::MAX / 4.0),
            Self::Integer { lower, upper } => (lower as f64, upper as f64, EXACT),
            Self::Ordinal { levels: n } | Self::Categorical { categories: n } => {
                let last = n.checked_sub(1).ok_or(Error::NoLevels { index })?;
                (0.0, last as f64, EXACT)
            }
            Self::Binary => (0.0, 1.0, EXACT),
            Self::Permutation { length } => (0.0, length.saturating_sub(1) as f64, EXACT),
        };
        if lower > upper {
            return Err(Error::BoundsReversed { index, lower, upper });
        }
        if !(lower.abs() <= limit && upper.abs() <= limit) {
            return Err(Error::BoundsNotUsable { index, lower, upper });
        }
        Ok((lower, upper))
    }
}

/// How the operators treat a gene.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Real,
    Whole,
    Choice,
    Permutation,
}

/// Neighbouring genes of one kind; a permutation is a segment of its own.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) kind: Kind,
    pub(crate) genes: Range<usize>,
}

/// The variables as the operators need them. Invariant: `lower <= upper`, both finite, for each gene.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) variables: usize,
}

impl Layout {
    pub(crate) fn new(variables: &[Variable]) -> Result<Self, Error> {
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        let mut segments: Vec<Segment> = Vec::new();
        for (index, variable) in variables.iter().enumerate() {
            let bounds = variable.bounds(index)?;
            let kind = variable.kind();
            let start = lower.len();
            lower.extend(std::iter::repeat_n(bounds.0, variable.width()));
            upper.extend(std::iter::repeat_n(bounds.1, variable.width()));
            match segments.last_mut() {
                Some(last) if last.kind == kind && kind != Kind::Permutation => last.genes.end = lower.len(),
                _ => segments.push(Segment {
                    kind,
                    genes: start..lower.len(),
                }),
            }
        }
        Ok(Self {
            lower,
            upper,
            segments,
            variables: variables.len(),
        })
    }

    pub(crate) fn width(&self) -> usize {
        self.lower.len()
    }

    /// Draws a genome uniformly. `place` maps gene and draw to the unit interval.
    pub(crate) fn sample(&self, genome: &mut [f64], random: &mut Stream, place: impl Fn(usize, f64) -> f64) {
        for segment in &self.segments {
            if segment.kind == Kind::Permutation {
                let genes = &mut genome[segment.genes.clone()];
                for (i, gene) in genes.iter_mut().enumerate() {
                    *gene = i as f64;
                }
                random.shuffle(genes);
                continue;
            }
            for g in segment.genes.clone() {
                let (lower, upper) = (self.lower[g], self.upper[g]);
                let u = place(g, random.unit());
                genome[g] = if segment.kind == Kind::Real {
                    (lower + u * (upper - lower)).min(upper)
                } else {
                    (lower + (u * (upper - lower + 1.0)).floor()).min(upper)
                };
            }
        }
    }

    /// Makes a genome that came from outside valid: into the bounds, whole where whole, orders complete.
    pub(crate) fn sanitise(&self, genome: &mut [f64]) {
        for segment in &self.segments {
            let range = segment.genes.clone();
            match segment.kind {
                Kind::Real => {
                    let bounds = self.lower[range.clone()].iter().zip(&self.upper[range.clone()]);
                    for (gene, (&lower, &upper)) in genome[range].iter_mut().zip(bounds) {
                        // `max` first: it turns NaN into the lower bound.
                        *gene = gene.max(lower).min(upper);
                    }
                }
                Kind::Whole | Kind::Choice => {
                    for g in range {
                        genome[g] = genome[g].max(self.lower[g]).min(self.upper[g]).round();
                    }
                }
                Kind::Permutation => complete_order(&mut genome[range]),
            }
        }
    }
}

/// Replaces what is doubled or out of range in an order by what is missing.
fn complete_order(genes: &mut [f64]) {
    let n = genes.len();
    let mut seen = vec![false; n];
    let mut wrong = Vec::new();
    for (i, &gene) in genes.iter().enumerate() {
        let value = gene as usize;
        if gene.fract() == 0.0 && gene >= 0.0 && value < n && !seen[value] {
            seen[value] = true;
        } else {
            wrong.push(i);
        }
    }
    let missing = (0..n).filter(|&v| !seen[v]);
    for (i, value) in wrong.into_iter().zip(missing) {
        genes[i] = value as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Streams};

    #[test]
    fn reversed_and_infinite_bounds_are_refused_by_name() {
        let reversed = Layout::new(&[Variable::Binary, Variable::real(2.0, 1.0)]);
        assert!(matches!(reversed, Err(Error::BoundsReversed { index: 1, .. })));
        let infinite = Layout::new(&[Variable::real(0.0, f64::INFINITY)]);
        assert!(matches!(infinite, Err(Error::BoundsNotUsable { index: 0, .. })));
        let nan = Layout::new(&[Variable::real(f64::NAN, 1.0)]);
        assert!(matches!(nan, Err(Error::BoundsNotUsable { index: 0, .. })));
        let huge = Layout::new(&[Variable::integer(i64::MIN, 0)]);
        assert!(matches!(huge, Err(Error::BoundsNotUsable { index: 0, .. })));
        let none = Layout::new(&[Variable::Categorical { categories: 0 }]);
        assert!(matches!(none, Err(Error::NoLevels { index: 0 })));
    }

    #[test]
    fn neighbours_of_one_kind_share_a_segment() {
        let layout = Layout::new(&[
            Variable::real(0.0, 1.0),
            Variable::real(0.0, 1.0),
            Variable::integer(0, 3),
            Variable::Ordinal { levels: 3 },
            Variable::Permutation { length: 4 },
            Variable::Permutation { length: 2 },
        ])
        .unwrap();
        let ranges: Vec<_> = layout.segments.iter().map(|s| s.genes.clone()).collect();
        assert_eq!(ranges, [0..2, 2..4, 4..8, 8..10]);
    }

    #[test]
    fn every_whole_value_is_drawn_equally_often() {
        let layout = Layout::new(&[Variable::integer(-1, 2)]).unwrap();
        let mut random = Streams::new(1, 0, Purpose::Sample).stream(0);
        let mut counts = [0; 4];
        let mut genome = [0.0];
        for _ in 0..4000 {
            layout.sample(&mut genome, &mut random, |_, u| u);
            counts[(genome[0] + 1.0) as usize] += 1;
        }
        assert!(counts.iter().all(|&n| (880..1120).contains(&n)), "{counts:?}");
    }

    #[test]
    fn a_broken_genome_becomes_valid() {
        let layout = Layout::new(&[
            Variable::real(0.0, 1.0),
            Variable::integer(1, 3),
            Variable::Permutation { length: 3 },
        ])
        .unwrap();
        let mut genome = [f64::NAN, 2.6, 1.0, 1.0, 9.0];
        layout.sanitise(&mut genome);
        assert_eq!(genome, [0.0, 3.0, 1.0, 0.0, 2.0]);
    }
}
