//! NSGA-III: for more than two or three objectives.

use std::ops::ControlFlow;

use crate::{Checkpoint, Directions, Error, Options, Outcome, Problem, Run};

/// NSGA-III (K. Deb, H. Jain: *An evolutionary many-objective optimization algorithm using reference-point-based
/// nondominated sorting approach, part I*, IEEE Transactions on Evolutionary Computation 18(4), 2014): as
/// [`Nsga2`](crate::Nsga2), but reference directions instead of crowding decide who lives on.
///
/// [`Options::crowding`] has no effect. Take a population of at least as many individuals as directions.
///
/// ```
/// use streamline_moo::{Directions, Function, Goal, Nsga3, Options, Variable};
///
/// let problem = Function::new(vec![Variable::real(0.0, 1.0); 4], vec![Goal::Minimise; 4], |x, f, _| {
///     for j in 0..4 {
///         f[j] = 1.0 - x[j] + 0.5 * x.iter().sum::<f64>();
///     }
///     Ok(())
/// });
/// let directions = Directions::das_dennis(4, 5);
/// let options = Options::default().with_population(directions.len()).with_generations(20);
/// let outcome = Nsga3::new(options, directions)?.run(&problem)?;
/// assert_eq!(outcome.population.len(), 56);
/// # Ok::<(), streamline_moo::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Nsga3 {
    options: Options,
    directions: Directions,
}

impl Nsga3 {
    /// With these options and directions, checked except for what depends on the problem.
    ///
    /// # Errors
    /// [`Error::Option`] for a value with which no search can run, or no direction.
    pub fn new(options: Options, directions: Directions) -> Result<Self, Error> {
        options.validate_alone()?;
        if directions.is_empty() {
            return Err(Error::Option {
                option: "directions",
                given: 0.0,
                expected: "at least 1",
            });
        }
        Ok(Self { options, directions })
    }

    /// Searches until there is a reason to stop.
    ///
    /// # Errors
    /// As [`Nsga2::run`](crate::Nsga2::run), and [`Error::Width`] if the directions have not as many columns as the problem
    /// has objectives.
    pub fn run<P: Problem + ?Sized>(&self, problem: &P) -> Result<Outcome, Error> {
        self.run_observed(problem, |_| ControlFlow::Continue(()))
    }

    /// As [`run`](Self::run), with an observer that looks at each generation and may end the run.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_observed<P: Problem + ?Sized>(
        &self,
        problem: &P,
        observer: impl FnMut(&Run<'_, P>) -> ControlFlow<()>,
    ) -> Result<Outcome, Error> {
        self.start(problem)?.finish(observer)
    }

    /// Evaluates the first population and hands over the run.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn start<'p, P: Problem + ?Sized>(&self, problem: &'p P) -> Result<Run<'p, P>, Error> {
        Run::start(problem, self.options.clone(), Some(&self.directions))
    }

    /// Continues where a checkpoint was taken.
    ///
    /// # Errors
    /// As [`Nsga2::resume`](crate::Nsga2::resume).
    pub fn resume<'p, P: Problem + ?Sized>(
        &self,
        problem: &'p P,
        checkpoint: &Checkpoint,
    ) -> Result<Run<'p, P>, Error> {
        Run::resume(problem, self.options.clone(), Some(&self.directions), checkpoint)
    }
}
