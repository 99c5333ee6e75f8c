//! What the options ask for happens, and what the problem asks for besides.
#![cfg(feature = "test-problems")]
#![allow(clippy::float_cmp, reason = "values compared are exact")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use streamline_moo::test_problems::Zdt;
use streamline_moo::{
    BoxError, Crossover, Error, Evaluations, Fill, Goal, Nsga2, Operators, Options, Population, Problem,
    Rows, Sampling, Stagnation, Start, Stop, StopReason, TargetHypervolume, Variable,
};
use support::{line, problem, run, short};

#[test]
fn wrong_options_are_named() {
    let option = |options: Options| match Nsga2::new(options).unwrap_err() {
        Error::Option { option, .. } => option,
        other => panic!("{other}"),
    };
    let operators = |operators| option(Options::default().with_operators(operators));
    assert_eq!(option(Options::default().with_population(0)), "population");
    assert_eq!(option(Options::default().with_archive(0)), "archive");
    let nan = Operators {
        crossover_probability: f64::NAN,
        ..Operators::default()
    };
    assert_eq!(operators(nan), "operators.crossover_probability");
    let negative = Operators {
        real: Crossover::Sbx { index: -1.0 },
        ..Operators::default()
    };
    assert_eq!(operators(negative), "operators.real.index");
    let rate = Operators {
        mutation_rate: Some(2.0),
        ..Operators::default()
    };
    assert_eq!(operators(rate), "operators.mutation_rate");
    let wide = problem(vec![Variable::real(0.0, 1.0)], 2, line);
    let start = Start {
        genomes: vec![vec![0.0; 2]],
        fill: Fill::Random,
    };
    let error = Nsga2::new(short().with_start(start))
        .unwrap()
        .run(&wide)
        .unwrap_err();
    assert!(matches!(
        error,
        Error::Width {
            given: 2,
            expected: 1,
            ..
        }
    ));
    let none = problem(vec![Variable::real(0.0, 1.0)], 0, |_, _, _| Ok(()));
    assert!(matches!(
        Nsga2::new(short()).unwrap().run(&none),
        Err(Error::NoObjective)
    ));
    let reversed = problem(vec![Variable::real(1.0, 0.0)], 2, line);
    assert!(matches!(
        Nsga2::new(short()).unwrap().run(&reversed),
        Err(Error::BoundsReversed { index: 0, .. })
    ));
}

#[test]
fn every_stop_condition_stops() {
    let zdt1 = Zdt::new(1);
    let reason = |stop: Stop| run(&zdt1, Options::default().with_stop(stop));
    let none = Stop::default;
    assert_eq!(
        reason(Stop {
            evaluations: Some(1050),
            ..none()
        })
        .evaluations,
        1000
    );
    let time = reason(Stop {
        time: Some(Duration::from_millis(20)),
        ..none()
    });
    assert_eq!(time.reason, StopReason::Time);
    let target = TargetHypervolume {
        target: 0.8,
        reference: vec![1.1, 1.1],
    };
    let reached = reason(Stop {
        hypervolume: Some(target),
        generations: Some(500),
        ..none()
    });
    assert_eq!(reached.reason, StopReason::Hypervolume);
    let stagnation = Stagnation {
        generations: 20,
        tolerance: 0.002,
    };
    let still = reason(Stop {
        stagnation: Some(stagnation),
        generations: Some(2000),
        ..none()
    });
    assert_eq!(still.reason, StopReason::Stagnation);
    assert!((40..2000).contains(&still.generations), "{}", still.generations);
}

#[test]
fn a_warm_start_begins_where_the_last_search_ended() {
    let zdt1 = Zdt::new(1);
    let volume = |population: &Population| {
        streamline_moo::hypervolume(Rows::new(&population.minimised_front(), 2), &[1.1, 1.1])
    };
    let before = run(&zdt1, Options::default().with_generations(150)).population;
    for fill in [Fill::Random, Fill::Mutated { share: 0.5 }] {
        let mut genomes = before.to_genomes();
        genomes.truncate(50);
        let start = Start { genomes, fill };
        let after = run(
            &zdt1,
            Options::default()
                .with_generations(5)
                .with_start(start)
                .with_seed(9),
        )
        .population;
        assert!(volume(&after) > 0.99 * volume(&before));
    }
}

#[test]
fn latin_hypercube_uses_each_cell_of_each_variable_once() {
    let square = problem(vec![Variable::real(0.0, 1.0); 2], 2, line);
    let outcome = run(
        &square,
        short()
            .with_generations(0)
            .with_sampling(Sampling::LatinHypercube),
    );
    for gene in 0..2 {
        let mut cells: Vec<usize> = outcome
            .population
            .iter()
            .map(|s| (s.genome[gene] * 20.0) as usize)
            .collect();
        cells.sort_unstable();
        assert!(cells.iter().copied().eq(0..20));
    }
}

/// Repairs into a corner, where all its genomes are equal.
struct Repaired(Vec<Variable>);

impl Problem for Repaired {
    fn variables(&self) -> &[Variable] {
        &self.0
    }
    fn objectives(&self) -> &[Goal] {
        &[Goal::Maximise]
    }
    fn evaluate(&self, genomes: Rows<'_>, out: &mut Evaluations<'_>) -> Result<(), BoxError> {
        genomes
            .iter()
            .zip(out.objectives.iter_mut())
            .for_each(|(x, f)| *f = x[0]);
        Ok(())
    }
    fn repair(&self, genome: &mut [f64]) {
        genome[0] = 99.0;
    }
}

#[test]
fn what_a_repair_leaves_outside_of_the_bounds_is_put_back() {
    let outcome = run(
        &Repaired(vec![Variable::real(0.0, 1.0), Variable::integer(0, 5)]),
        short(),
    );
    assert!(
        outcome
            .population
            .iter()
            .all(|s| s.genome[0] == 1.0 && s.objectives == [1.0])
    );
    assert_eq!(
        (outcome.population.len(), outcome.reason),
        (6, StopReason::Exhausted)
    );
}

#[test]
fn a_problem_behind_a_reference_to_dyn_runs() {
    let problem: &dyn Problem = &Zdt::new(1);
    assert_eq!(
        Nsga2::new(short())
            .unwrap()
            .run(problem)
            .unwrap()
            .population
            .len(),
        20
    );
}
