//! New individuals from old ones.
//!
//! Everything that depends on the options alone is worked out once. Children are made in place, a pair at a time, with
//! the pair's own random numbers.

mod differential;
mod exchange;
mod order;
mod polynomial;
mod sbx;

use crate::operators::{Crossover, Operators};
use crate::random::Stream;
use crate::variable::{Kind, Layout};
use polynomial::Polynomial;
use sbx::Sbx;

/// The operators, prepared for a layout.
#[derive(Debug)]
pub(crate) struct Variation {
    probability: f64,
    real: Mixer,
    integer: Mixer,
    choice: Mixer,
    polynomial: Polynomial,
    rate: f64,
    /// 1 / ln(1 − rate), to jump from one mutated gene to the next.
    gap: f64,
}

#[derive(Debug)]
enum Mixer {
    Sbx(Sbx),
    Differential { scale: f64, rate: f64 },
    Exchange(crate::Exchange),
}

impl Mixer {
    fn new(crossover: Crossover) -> Self {
        match crossover {
            Crossover::Sbx { index } => Self::Sbx(Sbx::new(index)),
            Crossover::Differential { scale, rate } => Self::Differential { scale, rate },
            Crossover::Exchange(how) => Self::Exchange(how),
        }
    }
}

impl Variation {
    pub(crate) fn new(operators: &Operators, layout: &Layout) -> Self {
        let rate = operators
            .mutation_rate
            .unwrap_or(1.0 / layout.variables.max(1) as f64);
        Self {
            probability: operators.crossover_probability,
            real: Mixer::new(operators.real),
            integer: Mixer::new(operators.integer),
            choice: Mixer::Exchange(operators.choice),
            polynomial: Polynomial::new(operators.mutation_index),
            rate,
            gap: 1.0 / (-rate).ln_1p(),
        }
    }

    /// Whether parents' differences to others are needed.
    pub(crate) fn is_differential(&self) -> bool {
        [&self.real, &self.integer]
            .iter()
            .any(|mixer| matches!(mixer, Mixer::Differential { .. }))
    }

    /// Mixes two children that are copies of their parents. `others` are two more individuals.
    pub(crate) fn cross(
        &self,
        layout: &Layout,
        a: &mut [f64],
        b: &mut [f64],
        others: [&[f64]; 2],
        random: &mut Stream,
    ) {
        if !random.chance(self.probability) {
            return;
        }
        for segment in &layout.segments {
            let genes = segment.genes.clone();
            let (a, b) = (&mut a[genes.clone()], &mut b[genes.clone()]);
            let (lower, upper) = (&layout.lower[genes.clone()], &layout.upper[genes.clone()]);
            let whole = segment.kind != Kind::Real;
            let mixer = match segment.kind {
                Kind::Real => &self.real,
                Kind::Whole => &self.integer,
                Kind::Choice => &self.choice,
                Kind::Permutation => {
                    order::cross(a, b, random);
                    continue;
                }
            };
            match mixer {
                Mixer::Sbx(sbx) => sbx.cross(a, b, lower, upper, whole, random),
                Mixer::Differential { scale, rate } => {
                    let others = others.map(|other| other.get(genes.clone()).unwrap_or(&[]));
                    differential::cross(a, b, others, (*scale, *rate), (lower, upper), whole, random);
                }
                Mixer::Exchange(how) => exchange::cross(a, b, *how, random),
            }
        }
    }

    /// Mutates each variable of a genome with the probability given by the options.
    pub(crate) fn mutate(&self, layout: &Layout, genome: &mut [f64], random: &mut Stream) {
        if self.rate <= 0.0 {
            return;
        }
        let mut next = self.jump(random);
        for segment in &layout.segments {
            let genes = segment.genes.clone();
            if segment.kind == Kind::Permutation {
                if next == 0 {
                    order::mutate(&mut genome[genes], random);
                    next = self.jump(random);
                } else {
                    next -= 1;
                }
                continue;
            }
            while next < genes.len() {
                let g = genes.start + next;
                genome[g] = self.mutated(segment.kind, genome[g], layout.lower[g], layout.upper[g], random);
                next = next.saturating_add(1).saturating_add(self.jump(random));
            }
            next -= genes.len();
        }
    }

    /// How many genes stay as they are before the next one mutated: geometrically distributed.
    #[inline]
    fn jump(&self, random: &mut Stream) -> usize {
        if self.rate >= 1.0 {
            return 0;
        }
        // 1 − u is in (0, 1], so the logarithm is finite; the cast cuts off.
        ((1.0 - random.unit()).ln() * self.gap) as usize
    }

    fn mutated(&self, kind: Kind, value: f64, lower: f64, upper: f64, random: &mut Stream) -> f64 {
        if lower >= upper {
            return value;
        }
        match kind {
            Kind::Real => self.polynomial.mutate(value, lower, upper, random.unit()),
            Kind::Whole => {
                let moved = self
                    .polynomial
                    .mutate(value, lower - 0.5, upper + 0.5, random.unit());
                let moved = moved.round().clamp(lower, upper);
                if (moved - value).abs() > 0.5 {
                    return moved;
                }
                // A move within the cell is a step to a neighbour, so that a mutation changes something.
                if value <= lower || (value < upper && random.chance(0.5)) {
                    value + 1.0
                } else {
                    value - 1.0
                }
            }
            Kind::Choice | Kind::Permutation => {
                let other = lower + random.below((upper - lower) as usize) as f64;
                if other >= value { other + 1.0 } else { other }
            }
        }
    }
}
