//! The DTLZ problems: any number of objectives.

use std::f64::consts::{FRAC_PI_2, PI};

use super::{TestProblem, grid, non_dominated, simplex, steps};
use crate::{BoxError, Evaluations, Goal, Problem, Rows, Variable};

/// DTLZ1 to DTLZ7 (K. Deb, L. Thiele, M. Laumanns, E. Zitzler: *Scalable test problems for evolutionary multiobjective
/// optimization*, 2005).
///
/// ```
/// use streamline_moo::test_problems::{Dtlz, TestProblem};
///
/// let dtlz2 = Dtlz::new(2, 3);
/// for f in dtlz2.front(100).chunks(3) {
///     assert!((f.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-12);
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Dtlz {
    number: u8,
    variables: Vec<Variable>,
    goals: Vec<Goal>,
}

impl Dtlz {
    /// Problem `number`, 1 to 7, with this many objectives, 2 at least (what is outside becomes the nearest), and the number
    /// of distance variables of the paper: 5 for DTLZ1, 20 for DTLZ7, else 10.
    #[must_use]
    pub fn new(number: u8, objectives: usize) -> Self {
        let (number, objectives) = (number.clamp(1, 7), objectives.max(2));
        let distance = match number {
            1 => 5,
            7 => 20,
            _ => 10,
        };
        let variables = vec![Variable::real(0.0, 1.0); objectives - 1 + distance];
        Self {
            number,
            variables,
            goals: vec![Goal::Minimise; objectives],
        }
    }

    /// Writes the objectives of `x`.
    pub(super) fn evaluate_one(&self, x: &[f64], f: &mut [f64]) {
        let m = f.len();
        let (position, distance) = x.split_at(m - 1);
        let squares = || distance.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>();
        let rugged = || {
            let waves: f64 = distance
                .iter()
                .map(|x| (x - 0.5).powi(2) - (20.0 * PI * (x - 0.5)).cos())
                .sum();
            100.0 * (distance.len() as f64 + waves)
        };
        match self.number {
            1 => linear(position, 0.5 * (1.0 + rugged()), f),
            2 => spherical(position.iter().map(|x| x * FRAC_PI_2), squares(), f),
            3 => spherical(position.iter().map(|x| x * FRAC_PI_2), rugged(), f),
            4 => spherical(position.iter().map(|x| x.powi(100) * FRAC_PI_2), squares(), f),
            5 | 6 => {
                let g = if self.number == 5 {
                    squares()
                } else {
                    distance.iter().map(|x| x.powf(0.1)).sum()
                };
                let bent = |(i, &x): (usize, &f64)| {
                    if i == 0 {
                        x * FRAC_PI_2
                    } else {
                        PI / (4.0 * (1.0 + g)) * (1.0 + 2.0 * g * x)
                    }
                };
                spherical(position.iter().enumerate().map(bent), g, f);
            }
            _ => {
                let g = 1.0 + 9.0 * distance.iter().sum::<f64>() / distance.len() as f64;
                f[..m - 1].copy_from_slice(position);
                f[m - 1] = pieces(position, g);
            }
        }
    }
}

/// The last objective of DTLZ7.
fn pieces(position: &[f64], g: f64) -> f64 {
    let m = position.len() as f64 + 1.0;
    let sum: f64 = position
        .iter()
        .map(|f| f / (1.0 + g) * (1.0 + (3.0 * PI * f).sin()))
        .sum();
    (1.0 + g) * (m - sum)
}

fn linear(position: &[f64], scale: f64, f: &mut [f64]) {
    let m = f.len();
    let mut product = scale;
    for (i, x) in position.iter().enumerate() {
        f[m - 1 - i] = product * (1.0 - x);
        product *= x;
    }
    f[0] = product;
}

fn spherical(angles: impl Iterator<Item = f64>, g: f64, f: &mut [f64]) {
    let m = f.len();
    let mut product = 1.0 + g;
    for (i, angle) in angles.enumerate() {
        let (sin, cos) = angle.sin_cos();
        f[m - 1 - i] = product * sin;
        product *= cos;
    }
    f[0] = product;
}

impl Problem for Dtlz {
    fn variables(&self) -> &[Variable] {
        &self.variables
    }

    fn objectives(&self) -> &[Goal] {
        &self.goals
    }

    fn evaluate(&self, genomes: Rows<'_>, out: &mut Evaluations<'_>) -> Result<(), BoxError> {
        out.each(genomes, |x, f, _| {
            self.evaluate_one(x, f);
            Ok(())
        })
    }
}

impl TestProblem for Dtlz {
    fn name(&self) -> String {
        format!("DTLZ{}", self.number)
    }

    /// For DTLZ5 and DTLZ6 the curve where the distance function is 0; with more than three objectives they have further
    /// non-dominated points (S. Huband et al. 2006).
    fn front(&self, count: usize) -> Vec<f64> {
        let m = self.goals.len();
        match self.number {
            1 => simplex(m, count)
                .rows()
                .as_slice()
                .iter()
                .map(|v| v / 2.0)
                .collect(),
            2..=4 => {
                let mut front = simplex(m, count).rows().as_slice().to_vec();
                for row in front.chunks_exact_mut(m) {
                    let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
                    row.iter_mut().for_each(|v| *v /= length);
                }
                front
            }
            5 | 6 => {
                let mut front = vec![0.0; count.max(2) * m];
                for (x, row) in steps(count).zip(front.chunks_exact_mut(m)) {
                    let angles = (0..m - 1).map(|i| if i == 0 { x * FRAC_PI_2 } else { PI / 4.0 });
                    spherical(angles, 0.0, row);
                }
                front
            }
            _ => {
                let all: Vec<f64> = grid(m - 1, 4 * count)
                    .flat_map(|position| {
                        let last = pieces(&position, 1.0);
                        position.into_iter().chain([last])
                    })
                    .collect();
                non_dominated(&all, m)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    /// The objectives of the genome with these positions and the best distance.
    fn optimum(number: u8, position: &[f64]) -> Vec<f64> {
        let problem = Dtlz::new(number, position.len() + 1);
        let best = if number >= 6 { 0.0 } else { 0.5 };
        let mut genome = position.to_vec();
        genome.resize(problem.variables.len(), best);
        let mut f = vec![0.0; position.len() + 1];
        problem.evaluate_one(&genome, &mut f);
        f
    }

    #[test]
    fn optimal_genomes_lie_on_the_front() {
        for position in grid(3, 125) {
            let f = optimum(1, &position);
            assert_relative_eq!(f.iter().sum::<f64>(), 0.5, max_relative = 1e-12);
            for number in 2..=6 {
                let f = optimum(number, &position);
                assert_relative_eq!(f.iter().map(|v| v * v).sum::<f64>(), 1.0, max_relative = 1e-12);
            }
            let f = optimum(7, &position);
            assert_relative_eq!(f[3], pieces(&position, 1.0), max_relative = 1e-12);
        }
    }

    #[test]
    fn the_front_of_dtlz7_has_four_pieces_with_three_objectives() {
        let front = Dtlz::new(7, 3).front(2000);
        let corners = [[0.0, 0.0], [0.0, 0.7], [0.7, 0.0], [0.7, 0.7]];
        let mut counts = [0; 4];
        for f in front.chunks(3) {
            let near = |c: &[f64; 2]| (f[0] - c[0]).hypot(f[1] - c[1]);
            let nearest = (0..4).min_by(|&a, &b| near(&corners[a]).total_cmp(&near(&corners[b])));
            counts[nearest.unwrap()] += 1;
        }
        assert!(counts.iter().all(|&n| n > 10), "{counts:?}");
    }
}
