//! A function of one point, as a problem.

use crate::{BoxError, Evaluations, Goal, Problem, Rows, Variable};

/// Makes a [`Problem`] of a function that evaluates one point at a time; rayon's threads share the points.
///
/// ```
/// use streamline_moo::{Function, Goal, Nsga2, Options, Variable};
///
/// // Binh and Korn's problem, with two constraints.
/// let problem = Function::new(
///     vec![Variable::real(0.0, 5.0), Variable::real(0.0, 3.0)],
///     vec![Goal::Minimise; 2],
///     |x, f, g| {
///         f[0] = 4.0 * x[0] * x[0] + 4.0 * x[1] * x[1];
///         f[1] = (x[0] - 5.0).powi(2) + (x[1] - 5.0).powi(2);
///         g[0] = (x[0] - 5.0).powi(2) + x[1] * x[1] - 25.0;
///         g[1] = 7.7 - (x[0] - 8.0).powi(2) - (x[1] + 3.0).powi(2);
///         Ok(())
///     },
/// )
/// .with_constraints(2);
/// let outcome = Nsga2::new(Options::default().with_generations(50))?.run(&problem)?;
/// assert!(outcome.front().all(|solution| solution.is_feasible()));
/// # Ok::<(), streamline_moo::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Function<F> {
    variables: Vec<Variable>,
    objectives: Vec<Goal>,
    constraints: usize,
    function: F,
}

impl<F> Function<F>
where
    F: Fn(&[f64], &mut [f64], &mut [f64]) -> Result<(), BoxError> + Sync,
{
    /// The problem that `function(genome, objectives, constraints)` evaluates.
    pub fn new(variables: Vec<Variable>, objectives: Vec<Goal>, function: F) -> Self {
        Self {
            variables,
            objectives,
            constraints: 0,
            function,
        }
    }

    /// With so many constraints, which the function writes into its third argument.
    #[must_use]
    pub fn with_constraints(mut self, constraints: usize) -> Self {
        self.constraints = constraints;
        self
    }
}

impl<F> Problem for Function<F>
where
    F: Fn(&[f64], &mut [f64], &mut [f64]) -> Result<(), BoxError> + Sync,
{
    fn variables(&self) -> &[Variable] {
        &self.variables
    }

    fn objectives(&self) -> &[Goal] {
        &self.objectives
    }

    fn constraints(&self) -> usize {
        self.constraints
    }

    fn evaluate(&self, genomes: Rows<'_>, out: &mut Evaluations<'_>) -> Result<(), BoxError> {
        out.each(genomes, &self.function)
    }
}
