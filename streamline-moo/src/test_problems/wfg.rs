//! The WFG problems: any number of objectives, with bias, deception, many local fronts and inseparable variables.

use std::f64::consts::{FRAC_PI_2, PI};

use super::{TestProblem, grid, non_dominated};
use crate::{BoxError, Evaluations, Goal, Problem, Rows, Variable};

/// WFG1 to WFG9 (S. Huband, P. Hingston, L. Barone, L. While: *A review of multiobjective test problems and a scalable test
/// problem toolkit*, IEEE Transactions on Evolutionary Computation 10(5), 2006).
///
/// ```
/// use streamline_moo::test_problems::{TestProblem, Wfg};
///
/// let wfg4 = Wfg::new(4, 2);
/// let front = wfg4.front(50);
/// // A quarter of an ellipse with the half-axes 2 and 4.
/// assert!(front.chunks(2).all(|f| ((f[0] / 2.0).powi(2) + (f[1] / 4.0).powi(2) - 1.0).abs() < 1e-12));
/// ```
#[derive(Debug, Clone)]
pub struct Wfg {
    number: u8,
    /// Position variables, a multiple of the objectives less one.
    k: usize,
    variables: Vec<Variable>,
    goals: Vec<Goal>,
}

impl Wfg {
    /// Problem `number`, 1 to 9, with this many objectives, 2 at least (what is outside becomes the nearest), with 2 (m − 1)
    /// position and 20 distance variables.
    #[must_use]
    pub fn new(number: u8, objectives: usize) -> Self {
        let (number, objectives) = (number.clamp(1, 9), objectives.max(2));
        let k = 2 * (objectives - 1);
        let variables = (1..=k + 20)
            .map(|i| Variable::real(0.0, 2.0 * i as f64))
            .collect();
        Self {
            number,
            k,
            variables,
            goals: vec![Goal::Minimise; objectives],
        }
    }

    fn evaluate_one(&self, z: &[f64], f: &mut [f64]) {
        let y: Vec<f64> = z
            .iter()
            .enumerate()
            .map(|(i, z)| (z / (2.0 * (i + 1) as f64)).clamp(0.0, 1.0))
            .collect();
        let t = self.transform(y, f.len());
        let (position, distance) = t.split_at(f.len() - 1);
        let distance = distance[0];
        let x: Vec<f64> = position
            .iter()
            .enumerate()
            .map(|(i, t)| {
                let a = if self.number == 3 && i > 0 { 0.0 } else { 1.0 };
                distance.max(a) * (t - 0.5) + 0.5
            })
            .collect();
        self.shape(&x, f);
        f.iter_mut()
            .enumerate()
            .for_each(|(j, f)| *f = distance + 2.0 * (j + 1) as f64 * *f);
    }

    /// All transformations: the position parameters, and the distance parameter last.
    fn transform(&self, mut y: Vec<f64>, m: usize) -> Vec<f64> {
        let (k, n) = (self.k, y.len());
        let shift = |y: &mut [f64]| y.iter_mut().for_each(|y| *y = linear(*y, 0.35));
        match self.number {
            1 => {
                shift(&mut y[k..]);
                y[k..].iter_mut().for_each(|y| *y = flat(*y, 0.8, 0.75, 0.85));
                y.iter_mut().for_each(|y| *y = y.powf(0.02));
                return groups(&y, k, m, |y, start| {
                    let weights = (0..y.len()).map(|i| 2.0 * (start + i + 1) as f64);
                    let total: f64 = weights.clone().sum();
                    y.iter().zip(weights).map(|(y, w)| y * w).sum::<f64>() / total
                });
            }
            2 | 3 => {
                shift(&mut y[k..]);
                let pairs: Vec<f64> = y[k..].chunks_exact(2).map(|pair| inseparable(pair, 2)).collect();
                y.truncate(k);
                y.extend(pairs);
            }
            4 => y.iter_mut().for_each(|y| *y = multi(*y, 30.0, 10.0, 0.35)),
            5 => y.iter_mut().for_each(|y| *y = deceptive(*y, 0.35, 0.001, 0.05)),
            6 => shift(&mut y[k..]),
            7 => {
                for i in 0..k {
                    y[i] = dependent(y[i], mean(&y[i + 1..]), 0.98 / 49.98, 0.02, 50.0);
                }
                shift(&mut y[k..]);
            }
            8 => {
                for i in (k..n).rev() {
                    y[i] = dependent(y[i], mean(&y[..i]), 0.98 / 49.98, 0.02, 50.0);
                }
                shift(&mut y[k..]);
            }
            _ => {
                for i in 0..n - 1 {
                    y[i] = dependent(y[i], mean(&y[i + 1..]), 0.98 / 49.98, 0.02, 50.0);
                }
                y[..k]
                    .iter_mut()
                    .for_each(|y| *y = deceptive(*y, 0.35, 0.001, 0.05));
                y[k..].iter_mut().for_each(|y| *y = multi(*y, 30.0, 95.0, 0.35));
            }
        }
        match self.number {
            6 | 9 => groups(&y, k, m, |y, _| inseparable(y, y.len())),
            _ => groups(&y, k, m, |y, _| mean(y)),
        }
    }

    fn shape(&self, x: &[f64], h: &mut [f64]) {
        let m = h.len();
        // Each shape is a product over the first parameters times a last factor.
        type Part = fn(f64) -> f64;
        let (factor, last): (Part, Part) = match self.number {
            1 | 2 => (|x| 1.0 - (x * FRAC_PI_2).cos(), |x| 1.0 - (x * FRAC_PI_2).sin()),
            3 => (|x| x, |x| 1.0 - x),
            _ => (|x| (x * FRAC_PI_2).sin(), |x| (x * FRAC_PI_2).cos()),
        };
        let mut product = 1.0;
        for (i, &x) in x.iter().enumerate() {
            h[m - 1 - i] = product * last(x);
            product *= factor(x);
        }
        h[0] = product;
        match self.number {
            1 => h[m - 1] = 1.0 - x[0] - (10.0 * PI * x[0] + FRAC_PI_2).cos() / (10.0 * PI),
            2 => h[m - 1] = 1.0 - x[0] * (5.0 * x[0] * PI).cos().powi(2),
            _ => {}
        }
    }

    /// A genome of the Pareto set with these relative positions.
    #[cfg(test)]
    fn optimum(&self, position: &[f64]) -> Vec<f64> {
        let (k, n) = (self.k, self.variables.len());
        let mut y = position.to_vec();
        y.resize(n, 0.35);
        let solve = |u: f64, a: f64, b: f64, c: f64| {
            0.35f64.powf(1.0 / (b + (c - b) * (a - (1.0 - 2.0 * u) * ((0.5 - u).floor() + a).abs())))
        };
        if self.number == 8 {
            for i in k..n {
                y[i] = solve(mean(&y[..i]), 0.98 / 49.98, 0.02, 50.0);
            }
        }
        if self.number == 9 {
            for i in (k..n - 1).rev() {
                y[i] = solve(mean(&y[i + 1..]), 0.98 / 49.98, 0.02, 50.0);
            }
        }
        y.iter()
            .enumerate()
            .map(|(i, y)| y * 2.0 * (i + 1) as f64)
            .collect()
    }
}

/// Reduces the position variables to m − 1 parameters and the distance variables to one.
fn groups(y: &[f64], k: usize, m: usize, reduce: impl Fn(&[f64], usize) -> f64) -> Vec<f64> {
    let size = k / (m - 1);
    let mut t: Vec<f64> = (0..m - 1)
        .map(|i| reduce(&y[i * size..(i + 1) * size], i * size))
        .collect();
    t.push(reduce(&y[k..], k));
    t
}

/// Puts what rounding left outside of 0 to 1, or just beside one of them, where it belongs: what follows may be so steep that
/// it makes much of 1e-17.
fn tidy(y: f64) -> f64 {
    if y < 1e-10 {
        0.0
    } else if y > 1.0 - 1e-10 {
        1.0
    } else {
        y
    }
}

fn mean(y: &[f64]) -> f64 {
    y.iter().sum::<f64>() / y.len() as f64
}

fn linear(y: f64, a: f64) -> f64 {
    tidy((y - a).abs() / ((a - y).floor() + a).abs())
}

fn flat(y: f64, a: f64, b: f64, c: f64) -> f64 {
    let below = (y - b).floor().min(0.0) * a * (b - y) / b;
    let above = (c - y).floor().min(0.0) * (1.0 - a) * (y - c) / (1.0 - c);
    tidy(a + below - above)
}

fn dependent(y: f64, u: f64, a: f64, b: f64, c: f64) -> f64 {
    let v = a - (1.0 - 2.0 * u) * ((0.5 - u).floor() + a).abs();
    tidy(y.powf(b + (c - b) * v))
}

fn deceptive(y: f64, a: f64, b: f64, c: f64) -> f64 {
    let left = (y - a + b).floor() * (1.0 - c + (a - b) / b) / (a - b);
    let right = (a + b - y).floor() * (1.0 - c + (1.0 - a - b) / b) / (1.0 - a - b);
    tidy(1.0 + ((y - a).abs() - b) * (left + right + 1.0 / b))
}

fn multi(y: f64, a: f64, b: f64, c: f64) -> f64 {
    let place = (y - c).abs() / (2.0 * ((c - y).floor() + c));
    let waves = ((4.0 * a + 2.0) * PI * (0.5 - place)).cos();
    tidy((1.0 + waves + 4.0 * b * place * place) / (b + 2.0))
}

fn inseparable(y: &[f64], a: usize) -> f64 {
    let n = y.len();
    let mut sum = 0.0;
    for j in 0..n {
        sum += y[j];
        for k in 0..a - 1 {
            sum += (y[j] - y[(j + k + 1) % n]).abs();
        }
    }
    let half = a.div_ceil(2) as f64;
    tidy(sum / (n as f64 / a as f64 * half * (1.0 + 2.0 * a as f64 - 2.0 * half)))
}

impl Problem for Wfg {
    fn variables(&self) -> &[Variable] {
        &self.variables
    }

    fn objectives(&self) -> &[Goal] {
        &self.goals
    }

    fn evaluate(&self, genomes: Rows<'_>, out: &mut Evaluations<'_>) -> Result<(), BoxError> {
        out.each(genomes, |z, f, _| {
            self.evaluate_one(z, f);
            Ok(())
        })
    }
}

impl TestProblem for Wfg {
    fn name(&self) -> String {
        format!("WFG{}", self.number)
    }

    fn front(&self, count: usize) -> Vec<f64> {
        let m = self.goals.len();
        // WFG3 is a line, drawn out by the first parameter alone.
        let free = if self.number == 3 { 1 } else { m - 1 };
        let mut all = Vec::new();
        let mut h = vec![0.0; m];
        for mut x in grid(free, if self.number <= 2 { 4 * count } else { count }) {
            x.resize(m - 1, 0.5);
            self.shape(&x, &mut h);
            all.extend(h.iter().enumerate().map(|(j, h)| 2.0 * (j + 1) as f64 * h));
        }
        if self.number <= 2 {
            non_dominated(&all, m)
        } else {
            all
        }
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    fn objectives(problem: &Wfg, position: &[f64]) -> Vec<f64> {
        let mut f = vec![0.0; problem.goals.len()];
        problem.evaluate_one(&problem.optimum(position), &mut f);
        f
    }

    #[test]
    fn optimal_genomes_of_wfg4_to_9_lie_on_the_ellipsoid() {
        for number in 4..=9 {
            let problem = Wfg::new(number, 3);
            for position in grid(4, 81) {
                let f = objectives(&problem, &position);
                let sum: f64 = f
                    .iter()
                    .enumerate()
                    .map(|(j, f)| (f / (2.0 * (j + 1) as f64)).powi(2))
                    .sum();
                // The optimum of WFG8 and WFG9 takes powers of powers.
                assert_relative_eq!(sum, 1.0, epsilon = 1e-6);
            }
        }
    }

    #[test]
    fn optimal_genomes_of_wfg1_to_3_have_the_shape_of_their_parameters() {
        for number in 1..=3 {
            let problem = Wfg::new(number, 3);
            for position in grid(4, 81) {
                let f = objectives(&problem, &position);
                let mut y = position.clone();
                y.resize(24, 0.35);
                let t = problem.transform(y, 3);
                assert_relative_eq!(t[2], 0.0, epsilon = 1e-9);
                let x = if number == 3 {
                    vec![t[0], 0.5]
                } else {
                    t[..2].to_vec()
                };
                let mut h = vec![0.0; 3];
                problem.shape(&x, &mut h);
                for j in 0..3 {
                    assert_relative_eq!(f[j], 2.0 * (j + 1) as f64 * h[j], epsilon = 1e-9);
                }
            }
        }
    }

    #[test]
    fn the_front_of_wfg3_is_a_line() {
        for f in Wfg::new(3, 3).front(20).chunks(3) {
            assert_relative_eq!(f[0] / 2.0, f[1] / 4.0, epsilon = 1e-12);
            assert_relative_eq!(f[0] + f[2] / 6.0, 1.0, epsilon = 1e-12);
        }
    }

    #[test]
    fn no_random_genome_dominates_the_front() {
        let mut random = crate::random::Streams::new(1, 0, crate::random::Purpose::Sample).stream(0);
        for number in 1..=9 {
            let problem = Wfg::new(number, 2);
            let front = problem.front(200);
            for _ in 0..200 {
                let z: Vec<f64> = (1..=22).map(|i| random.unit() * 2.0 * f64::from(i)).collect();
                let mut f = [0.0; 2];
                problem.evaluate_one(&z, &mut f);
                assert!(
                    !front.chunks(2).any(|p| f[0] < p[0] - 1e-9 && f[1] < p[1] - 1e-9),
                    "WFG{number}"
                );
            }
        }
    }
}
