//! A problem with variables of all kinds.

use super::{TestProblem, steps};
use crate::{BoxError, Evaluations, Goal, Problem, Rows, Variable};

/// ZDT1 with a distance function over variables of all kinds, and its second objective maximised.
///
/// One real position variable; then real, integer, ordinal, categorical, binary variables and a permutation, whose
/// shortfalls (scaled to 0 … 1) are averaged into g. The front is that of ZDT1: f₂ = √f₁ − 1.
///
/// ```
/// use streamline_moo::test_problems::{MixedZdt, TestProblem};
///
/// assert_eq!(MixedZdt::new().front(2), [0.0, -1.0, 1.0, 0.0]);
/// ```
#[derive(Debug, Clone)]
pub struct MixedZdt {
    variables: Vec<Variable>,
}

const GOALS: [Goal; 2] = [Goal::Minimise, Goal::Maximise];
const ORDER: usize = 5;

impl MixedZdt {
    /// The problem, with 2 real, 3 integer, 2 ordinal, 2 categorical and 3 binary variables and an order of 5.
    #[must_use]
    pub fn new() -> Self {
        let mut variables = vec![Variable::real(0.0, 1.0); 2];
        variables.extend([Variable::integer(-20, 20); 3]);
        variables.extend([Variable::Ordinal { levels: 7 }; 2]);
        variables.extend([Variable::Categorical { categories: 4 }; 2]);
        variables.extend([Variable::Binary; 3]);
        variables.push(Variable::Permutation { length: ORDER });
        Self { variables }
    }
}

impl Default for MixedZdt {
    fn default() -> Self {
        Self::new()
    }
}

impl Problem for MixedZdt {
    fn variables(&self) -> &[Variable] {
        &self.variables
    }

    fn objectives(&self) -> &[Goal] {
        &GOALS
    }

    fn evaluate(&self, genomes: Rows<'_>, out: &mut Evaluations<'_>) -> Result<(), BoxError> {
        out.each(genomes, |x, f, _| {
            let integers: f64 = x[2..5].iter().map(|x| (x - 3.0).abs() / 23.0).sum();
            let ordinals: f64 = x[5..7].iter().map(|x| (x - 4.0).abs() / 4.0).sum();
            let categories = x[7..9].iter().filter(|&&x| x as u8 != 2).count() as f64;
            let bits: f64 = x[9..12].iter().sum();
            let order =
                x[12..].windows(2).filter(|pair| pair[0] > pair[1]).count() as f64 / (ORDER - 1) as f64;
            let g = 1.0 + 9.0 * (x[1] + integers + ordinals + categories + bits + order) / 12.0;
            f[0] = x[0];
            f[1] = -g * (1.0 - (x[0] / g).sqrt());
            Ok(())
        })
    }
}

impl TestProblem for MixedZdt {
    fn name(&self) -> String {
        "mixed ZDT1".to_owned()
    }

    fn front(&self, count: usize) -> Vec<f64> {
        steps(count).flat_map(|x| [x, x.sqrt() - 1.0]).collect()
    }
}
