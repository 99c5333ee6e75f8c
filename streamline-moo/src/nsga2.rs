//! NSGA-II: options in, outcome out.

use std::ops::ControlFlow;

use crate::{Checkpoint, Error, Options, Outcome, Problem, Run};

/// NSGA-II (K. Deb, A. Pratap, S. Agarwal, T. Meyarivan: *A fast and elitist multiobjective genetic algorithm: NSGA-II*,
/// IEEE Transactions on Evolutionary Computation 6(2), 2002), for mixed variables.
///
/// ```
/// use streamline_moo::{Function, Goal, Nsga2, Options, StopReason, Variable};
///
/// // How many servers, of which of three kinds: as cheap and as fast as can be.
/// let problem = Function::new(
///     vec![Variable::integer(1, 20), Variable::Categorical { categories: 3 }],
///     vec![Goal::Minimise, Goal::Maximise],
///     |x, f, _| {
///         let (cost, speed) = [(1.0, 1.0), (2.5, 3.0), (5.0, 4.0)][x[1] as usize];
///         f[0] = x[0] * cost;
///         f[1] = x[0] * speed / (1.0 + 0.05 * x[0]);
///         Ok(())
///     },
/// );
/// let outcome = Nsga2::new(Options::default().with_population(60))?.run(&problem)?;
/// assert_eq!(outcome.reason, StopReason::Exhausted); // all 60 configurations were tried
/// assert!(outcome.front().count() > 10);
/// # Ok::<(), streamline_moo::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Nsga2 {
    options: Options,
}

impl Nsga2 {
    /// With these options, which are checked except for what depends on the problem.
    ///
    /// # Errors
    /// [`Error::Option`] for a value with which no search can run.
    pub fn new(options: Options) -> Result<Self, Error> {
        options.validate_alone()?;
        Ok(Self { options })
    }

    /// Searches until there is a reason to stop.
    ///
    /// # Errors
    /// If the problem cannot be searched with these options, or its evaluation fails; what was found until then is then in
    /// [`Error::into_outcome`].
    pub fn run<P: Problem + ?Sized>(&self, problem: &P) -> Result<Outcome, Error> {
        self.run_observed(problem, |_| ControlFlow::Continue(()))
    }

    /// As [`run`](Self::run), with an observer that looks at each generation and may end the run.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// # use streamline_moo::{Function, Goal, Nsga2, Options, StopReason, Variable};
    /// # let problem = Function::new(vec![Variable::real(0.0, 1.0)], vec![Goal::Minimise], |x, f, _| {
    /// #     f[0] = x[0];
    /// #     Ok(())
    /// # });
    /// let outcome = Nsga2::new(Options::default())?.run_observed(&problem, |run| {
    ///     let best = run.minimised_objectives().as_slice().iter().copied().fold(f64::INFINITY, f64::min);
    ///     if best < 0.01 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    /// })?;
    /// assert_eq!(outcome.reason, StopReason::Observer);
    /// # Ok::<(), streamline_moo::Error>(())
    /// ```
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

    /// Evaluates the first population and hands over the run, to be advanced generation by generation.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn start<'p, P: Problem + ?Sized>(&self, problem: &'p P) -> Result<Run<'p, P>, Error> {
        Run::start(problem, self.options.clone(), None)
    }

    /// Continues where a [`Checkpoint`] was taken, bit for bit if the problem and the options (but for the stop conditions)
    /// are the same.
    ///
    /// # Errors
    /// [`Error::Checkpoint`] if it does not fit the problem or the options.
    pub fn resume<'p, P: Problem + ?Sized>(
        &self,
        problem: &'p P,
        checkpoint: &Checkpoint,
    ) -> Result<Run<'p, P>, Error> {
        Run::resume(problem, self.options.clone(), None, checkpoint)
    }
}
