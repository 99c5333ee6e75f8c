//! Small problems and short runs.
#![allow(dead_code, reason = "each test file uses its own part")]

use streamline_moo::{BoxError, Function, Goal, Nsga2, Options, Outcome, Problem, Variable};

pub(crate) type Objective = fn(&[f64], &mut [f64], &mut [f64]) -> Result<(), BoxError>;

pub(crate) fn problem(
    variables: Vec<Variable>,
    objectives: usize,
    function: Objective,
) -> Function<Objective> {
    Function::new(variables, vec![Goal::Minimise; objectives], function)
}

pub(crate) fn line(x: &[f64], f: &mut [f64], _: &mut [f64]) -> Result<(), BoxError> {
    f[0] = x[0];
    f[1] = 1.0 - x[0];
    Ok(())
}

pub(crate) fn run(problem: &impl Problem, options: Options) -> Outcome {
    Nsga2::new(options).unwrap().run(problem).unwrap()
}

pub(crate) fn short() -> Options {
    Options::default().with_population(20).with_generations(15)
}
