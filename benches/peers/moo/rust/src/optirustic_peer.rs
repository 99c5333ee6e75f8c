//! optirustic, with its own problems.

use optirustic::algorithms::{Algorithm, NSGA2, NSGA2Arg, StoppingCondition};
use optirustic::core::builtin_problems::{DTLZ2Problem, ZTD1Problem, ZTD4Problem};
use optirustic::operators::SimulatedBinaryCrossoverArgs;

use crate::Found;

/// On one thread. Its polynomial mutation is that of the comparison already.
pub fn run(problem: &str, population: usize, generations: u64, seed: u64) -> Found {
    let problem = match problem {
        "ZDT1" => ZTD1Problem::create(30),
        "ZDT4" => ZTD4Problem::create(10),
        "DTLZ2" => DTLZ2Problem::create(12, 3),
        _ => panic!("no problem {problem}"),
    };
    let crossover = SimulatedBinaryCrossoverArgs {
        crossover_probability: 0.9,
        ..SimulatedBinaryCrossoverArgs::default()
    };
    let options = NSGA2Arg {
        number_of_individuals: population,
        crossover_operator_options: Some(crossover),
        mutation_operator_options: None,
        resume_from_file: None,
        seed: Some(seed),
        stopping_condition: StoppingCondition::MaxGeneration(generations as u32),
        parallel: Some(false),
        export_history: None,
    };
    let mut search = NSGA2::new(problem.expect("a problem"), options).expect("valid options");
    let start = crate::cpu_seconds();
    search.run().expect("a run");
    let seconds = crate::cpu_seconds() - start;
    let objectives = |individual: &optirustic::core::Individual| {
        individual.get_objective_values().expect("it is evaluated")
    };
    Found {
        seconds,
        front: search.get_results().individuals.iter().map(objectives).collect(),
    }
}
