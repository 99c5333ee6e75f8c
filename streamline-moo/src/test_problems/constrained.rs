//! Constrained problems.

use std::f64::consts::PI;

use super::{Dtlz, TestProblem, non_dominated, simplex, steps};
use crate::{BoxError, Evaluations, Goal, Problem, Rows, Variable};

/// The constrained two-objective problems of the textbooks (as in K. Deb: *Multi-objective optimization using evolutionary
/// algorithms*, 2001).
///
/// ```
/// use streamline_moo::test_problems::{TestProblem, Textbook};
///
/// let bnh = Textbook::Bnh;
/// assert_eq!(bnh.name(), "BNH");
/// assert_eq!(bnh.front(10)[..2], [0.0, 50.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Textbook {
    /// Binh and Korn: two variables, two constraints.
    Bnh,
    /// Srinivas and Deb: two variables, two constraints.
    Srn,
    /// Tanaka: two variables, two constraints; the front is in pieces on the border of a constraint.
    Tnk,
    /// Osyczka and Kundu: six variables, six constraints; the front lies on different ones in turn.
    Osy,
}

const GOALS: [Goal; 2] = [Goal::Minimise; 2];
const BNH: [Variable; 2] = [Variable::real(0.0, 5.0), Variable::real(0.0, 3.0)];
const SRN: [Variable; 2] = [Variable::real(-20.0, 20.0); 2];
const TNK: [Variable; 2] = [Variable::real(0.0, PI); 2];
const OSY: [Variable; 6] = [
    Variable::real(0.0, 10.0),
    Variable::real(0.0, 10.0),
    Variable::real(1.0, 5.0),
    Variable::real(0.0, 6.0),
    Variable::real(1.0, 5.0),
    Variable::real(0.0, 10.0),
];

impl Textbook {
    fn evaluate_one(self, x: &[f64], f: &mut [f64], g: &mut [f64]) {
        let sq = |v: f64| v * v;
        match self {
            Self::Bnh => {
                f[0] = 4.0 * (sq(x[0]) + sq(x[1]));
                f[1] = sq(x[0] - 5.0) + sq(x[1] - 5.0);
                g[0] = sq(x[0] - 5.0) + sq(x[1]) - 25.0;
                g[1] = 7.7 - sq(x[0] - 8.0) - sq(x[1] + 3.0);
            }
            Self::Srn => {
                f[0] = 2.0 + sq(x[0] - 2.0) + sq(x[1] - 1.0);
                f[1] = 9.0 * x[0] - sq(x[1] - 1.0);
                g[0] = sq(x[0]) + sq(x[1]) - 225.0;
                g[1] = x[0] - 3.0 * x[1] + 10.0;
            }
            Self::Tnk => {
                f[0] = x[0];
                f[1] = x[1];
                g[0] = 1.0 + 0.1 * (16.0 * x[0].atan2(x[1])).cos() - sq(x[0]) - sq(x[1]);
                g[1] = sq(x[0] - 0.5) + sq(x[1] - 0.5) - 0.5;
            }
            Self::Osy => {
                f[0] = -(25.0 * sq(x[0] - 2.0)
                    + sq(x[1] - 2.0)
                    + sq(x[2] - 1.0)
                    + sq(x[3] - 4.0)
                    + sq(x[4] - 1.0));
                f[1] = x.iter().map(|x| x * x).sum();
                g[0] = 2.0 - x[0] - x[1];
                g[1] = x[0] + x[1] - 6.0;
                g[2] = x[1] - x[0] - 2.0;
                g[3] = x[0] - 3.0 * x[1] - 2.0;
                g[4] = sq(x[2] - 3.0) + x[3] - 4.0;
                g[5] = 4.0 - sq(x[4] - 3.0) - x[5];
            }
        }
    }

    /// Genomes among which the whole Pareto set is.
    fn candidates(self, count: usize) -> Vec<Vec<f64>> {
        match self {
            Self::Bnh => steps(count).map(|s| vec![5.0 * s, (5.0 * s).min(3.0)]).collect(),
            Self::Srn => steps(count)
                .map(|s| vec![-2.5, 2.5 + s * (218.75f64.sqrt() - 2.5)])
                .collect(),
            Self::Tnk => steps(4 * count)
                .map(|s| {
                    let angle = s * PI / 2.0;
                    let radius = (1.0 + 0.1 * (16.0 * angle).cos()).sqrt();
                    vec![radius * angle.sin(), radius * angle.cos()]
                })
                .collect(),
            Self::Osy => steps(count / 4)
                .flat_map(|s| {
                    let (third, first) = (1.0 + 4.0 * s, 4.0 + s);
                    [
                        vec![5.0, 1.0, third, 0.0, 5.0, 0.0],
                        vec![5.0, 1.0, third, 0.0, 1.0, 0.0],
                        vec![first, (first - 2.0) / 3.0, 1.0, 0.0, 1.0, 0.0],
                        vec![0.0, 2.0, 1.0 + 2.75 * s, 0.0, 1.0, 0.0],
                        vec![s, 2.0 - s, 1.0, 0.0, 1.0, 0.0],
                    ]
                })
                .collect(),
        }
    }
}

impl Problem for Textbook {
    fn variables(&self) -> &[Variable] {
        match self {
            Self::Bnh => &BNH,
            Self::Srn => &SRN,
            Self::Tnk => &TNK,
            Self::Osy => &OSY,
        }
    }

    fn objectives(&self) -> &[Goal] {
        &GOALS
    }

    fn constraints(&self) -> usize {
        if *self == Self::Osy { 6 } else { 2 }
    }

    fn evaluate(&self, genomes: Rows<'_>, out: &mut Evaluations<'_>) -> Result<(), BoxError> {
        out.each(genomes, |x, f, g| {
            self.evaluate_one(x, f, g);
            Ok(())
        })
    }
}

impl TestProblem for Textbook {
    fn name(&self) -> String {
        format!("{self:?}").to_uppercase()
    }

    fn front(&self, count: usize) -> Vec<f64> {
        let (mut f, mut g) = ([0.0; 2], vec![0.0; self.constraints()]);
        let mut all = Vec::new();
        for x in self.candidates(count) {
            self.evaluate_one(&x, &mut f, &mut g);
            if g.iter().all(|&g| g <= 1e-9) {
                all.extend(f);
            }
        }
        non_dominated(&all, 2)
    }
}

/// C1-DTLZ1, C2-DTLZ2 and C3-DTLZ4 (H. Jain, K. Deb: *An evolutionary many-objective optimization algorithm using
/// reference-point based nondominated sorting approach, part II*, IEEE Transactions on Evolutionary Computation 18(4), 2014).
///
/// ```
/// use streamline_moo::Problem;
/// use streamline_moo::test_problems::ConstrainedDtlz;
///
/// assert_eq!(ConstrainedDtlz::new(3, 5).constraints(), 5);
/// ```
#[derive(Debug, Clone)]
pub struct ConstrainedDtlz {
    kind: u8,
    inner: Dtlz,
}

impl ConstrainedDtlz {
    /// C1-DTLZ1, C2-DTLZ2 or C3-DTLZ4 by `kind` 1 to 3, with this many objectives, 2 at least (what is outside becomes the
    /// nearest).
    #[must_use]
    pub fn new(kind: u8, objectives: usize) -> Self {
        let kind = kind.clamp(1, 3);
        Self {
            kind,
            inner: Dtlz::new([1, 2, 4][usize::from(kind) - 1], objectives),
        }
    }

    fn constrain(&self, f: &[f64], g: &mut [f64]) {
        let m = f.len();
        let squares: f64 = f.iter().map(|f| f * f).sum();
        match self.kind {
            1 => g[0] = f[m - 1] / 0.6 + f[..m - 1].iter().sum::<f64>() / 0.5 - 1.0,
            2 => {
                let radius: f64 = if m <= 3 { 0.4 } else { 0.5 };
                let centre = 1.0 / (m as f64).sqrt();
                let corners = f.iter().map(|f| (f - 1.0).powi(2) + squares - f * f);
                let middle = f.iter().map(|f| (f - centre).powi(2)).sum();
                g[0] = corners.fold(middle, f64::min) - radius * radius;
            }
            _ => g
                .iter_mut()
                .zip(f)
                .for_each(|(g, f)| *g = 1.0 - (squares - 0.75 * f * f)),
        }
    }
}

impl Problem for ConstrainedDtlz {
    fn variables(&self) -> &[Variable] {
        self.inner.variables()
    }

    fn objectives(&self) -> &[Goal] {
        self.inner.objectives()
    }

    fn constraints(&self) -> usize {
        if self.kind == 3 {
            self.objectives().len()
        } else {
            1
        }
    }

    fn evaluate(&self, genomes: Rows<'_>, out: &mut Evaluations<'_>) -> Result<(), BoxError> {
        out.each(genomes, |x, f, g| {
            self.inner.evaluate_one(x, f);
            self.constrain(f, g);
            Ok(())
        })
    }
}

impl TestProblem for ConstrainedDtlz {
    fn name(&self) -> String {
        format!("C{}-{}", self.kind, self.inner.name())
    }

    fn front(&self, count: usize) -> Vec<f64> {
        let m = self.objectives().len();
        match self.kind {
            1 => self.inner.front(count),
            2 => {
                let mut g = [0.0];
                let feasible = |f: &&[f64]| {
                    self.constrain(f, &mut g);
                    g[0] <= 0.0
                };
                self.inner
                    .front(4 * count)
                    .chunks_exact(m)
                    .filter(feasible)
                    .flatten()
                    .copied()
                    .collect()
            }
            _ => {
                let mut front = simplex(m, count).rows().as_slice().to_vec();
                for row in front.chunks_exact_mut(m) {
                    // As far out along the direction as the last constraint allows.
                    let squares: f64 = row.iter().map(|v| v * v).sum();
                    let far = row
                        .iter()
                        .map(|v| 1.0 / (squares - 0.75 * v * v).sqrt())
                        .fold(0.0, f64::max);
                    row.iter_mut().for_each(|v| *v *= far);
                }
                front
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fronts_of_the_textbook_are_feasible_and_long() {
        for problem in [Textbook::Bnh, Textbook::Srn, Textbook::Tnk, Textbook::Osy] {
            let front = problem.front(200);
            assert!(front.len() > 150, "{}: {}", problem.name(), front.len());
        }
        let osy = Textbook::Osy.front(400);
        let ends = |j: usize| osy.chunks(2).map(move |f| f[j]).fold(f64::INFINITY, f64::min);
        assert!(
            (ends(0) + 274.0).abs() < 1e-9 && (ends(1) - 4.0).abs() < 0.01,
            "{} {}",
            ends(0),
            ends(1)
        );
    }

    #[test]
    fn the_fronts_of_constrained_dtlz_touch_their_constraints() {
        let third = ConstrainedDtlz::new(3, 3);
        let mut g = [0.0; 3];
        for f in third.front(100).chunks(3) {
            third.constrain(f, &mut g);
            let most = g.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            assert!(most.abs() < 1e-12);
        }
        assert!(!ConstrainedDtlz::new(2, 3).front(100).is_empty());
    }
}
