//! The ZDT problems: two objectives.

use std::f64::consts::PI;

use super::{TestProblem, non_dominated, steps};
use crate::{BoxError, Evaluations, Goal, Problem, Rows, Variable};

/// ZDT1 to ZDT6 (E. Zitzler, K. Deb, L. Thiele: *Comparison of multiobjective evolutionary algorithms: empirical results*,
/// Evolutionary Computation 8(2), 2000). ZDT5 has binary variables.
///
/// ```
/// use streamline_moo::test_problems::{TestProblem, Zdt};
///
/// let zdt1 = Zdt::new(1);
/// assert_eq!(zdt1.name(), "ZDT1");
/// assert_eq!(zdt1.front(3), [0.0, 1.0, 0.5, 1.0 - 0.5_f64.sqrt(), 1.0, 0.0]);
/// ```
#[derive(Debug, Clone)]
pub struct Zdt {
    number: u8,
    variables: Vec<Variable>,
}

const GOALS: [Goal; 2] = [Goal::Minimise; 2];

impl Zdt {
    /// Problem `number`, 1 to 6 (what is outside becomes the nearest), with the number of variables of the paper: 30 for 1 to
    /// 3, 10 for 4 and 6, and 11 strings of 80 bits together for 5.
    #[must_use]
    pub fn new(number: u8) -> Self {
        let number = number.clamp(1, 6);
        let variables = match number {
            4 => {
                let mut variables = vec![Variable::real(-5.0, 5.0); 10];
                variables[0] = Variable::real(0.0, 1.0);
                variables
            }
            5 => vec![Variable::Binary; 80],
            6 => vec![Variable::real(0.0, 1.0); 10],
            _ => vec![Variable::real(0.0, 1.0); 30],
        };
        Self { number, variables }
    }
}

fn evaluate_one(number: u8, x: &[f64]) -> [f64; 2] {
    let n = x.len() as f64;
    let sum = |x: &[f64]| x[1..].iter().sum::<f64>();
    match number {
        1 => {
            let g = 1.0 + 9.0 * sum(x) / (n - 1.0);
            [x[0], g * (1.0 - (x[0] / g).sqrt())]
        }
        2 => {
            let g = 1.0 + 9.0 * sum(x) / (n - 1.0);
            [x[0], g * (1.0 - (x[0] / g).powi(2))]
        }
        3 => {
            let g = 1.0 + 9.0 * sum(x) / (n - 1.0);
            let share = x[0] / g;
            [x[0], g * (1.0 - share.sqrt() - share * (10.0 * PI * x[0]).sin())]
        }
        4 => {
            let waves: f64 = x[1..].iter().map(|x| x * x - 10.0 * (4.0 * PI * x).cos()).sum();
            let g = 1.0 + 10.0 * (n - 1.0) + waves;
            [x[0], g * (1.0 - (x[0] / g).sqrt())]
        }
        5 => {
            let first = 1.0 + x[..30].iter().sum::<f64>();
            let ones = x[30..].chunks(5).map(|bits| bits.iter().sum::<f64>());
            let g: f64 = ones.map(|u| if u < 4.5 { 2.0 + u } else { 1.0 }).sum();
            [first, g / first]
        }
        _ => {
            let first = 1.0 - (-4.0 * x[0]).exp() * (6.0 * PI * x[0]).sin().powi(6);
            let g = 1.0 + 9.0 * (sum(x) / (n - 1.0)).powf(0.25);
            [first, g * (1.0 - (first / g).powi(2))]
        }
    }
}

impl Problem for Zdt {
    fn variables(&self) -> &[Variable] {
        &self.variables
    }

    fn objectives(&self) -> &[Goal] {
        &GOALS
    }

    fn evaluate(&self, genomes: Rows<'_>, out: &mut Evaluations<'_>) -> Result<(), BoxError> {
        out.each(genomes, |x, f, _| {
            f.copy_from_slice(&evaluate_one(self.number, x));
            Ok(())
        })
    }
}

impl TestProblem for Zdt {
    fn name(&self) -> String {
        format!("ZDT{}", self.number)
    }

    fn front(&self, count: usize) -> Vec<f64> {
        match self.number {
            1 | 4 => steps(count).flat_map(|x| [x, 1.0 - x.sqrt()]).collect(),
            2 => steps(count).flat_map(|x| [x, 1.0 - x * x]).collect(),
            3 => {
                let curve: Vec<f64> = steps(4 * count)
                    .flat_map(|x| [x, 1.0 - x.sqrt() - x * (10.0 * PI * x).sin()])
                    .collect();
                non_dominated(&curve, 2)
            }
            5 => (1..=31)
                .flat_map(|u| [f64::from(u), 10.0 / f64::from(u)])
                .collect(),
            _ => {
                let lowest = steps(100_001)
                    .map(|x| evaluate_one(6, &[x, 0.0])[0])
                    .fold(1.0, f64::min);
                steps(count)
                    .map(|s| lowest + s * (1.0 - lowest))
                    .flat_map(|x| [x, 1.0 - x * x])
                    .collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    #[test]
    fn optimal_genomes_lie_on_the_front() {
        for number in [1, 2, 3, 4, 6] {
            let problem = Zdt::new(number);
            for x in steps(40) {
                let mut genome = vec![0.0; problem.variables.len()];
                genome[0] = x;
                let [f1, f2] = evaluate_one(number, &genome);
                let expected = match number {
                    1 | 4 => 1.0 - f1.sqrt(),
                    3 => 1.0 - f1.sqrt() - f1 * (10.0 * PI * f1).sin(),
                    _ => 1.0 - f1 * f1,
                };
                assert_relative_eq!(f2, expected, epsilon = 1e-12);
            }
        }
        let mut bits = vec![1.0; 80];
        assert_eq!(evaluate_one(5, &bits), [31.0, 10.0 / 31.0]);
        bits[..30].fill(0.0);
        assert_eq!(evaluate_one(5, &bits), [1.0, 10.0]);
    }

    #[test]
    fn the_front_of_zdt3_has_five_pieces() {
        let front = Zdt::new(3).front(2000);
        let gaps = front
            .chunks(2)
            .zip(front.chunks(2).skip(1))
            .filter(|(a, b)| b[0] - a[0] > 0.02);
        assert_eq!(gaps.count(), 4);
    }
}
