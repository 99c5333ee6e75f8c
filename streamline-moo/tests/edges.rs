//! What happens where problems are odd.
#![cfg(feature = "test-problems")]
#![allow(clippy::float_cmp, reason = "values compared are exact")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use streamline_moo::test_problems::Textbook;
use streamline_moo::{
    ConstraintHandling, Crossover, Crowding, Directions, Exchange, Fill, Function, Goal, Nsga2, Nsga3,
    Operators, Options, Outcome, Rows, Start, StopReason, Variable, non_dominated_sort,
};
use support::{line, problem, run, short};

#[test]
fn nan_and_infinite_objectives_rank_last_and_disturb_nobody() {
    let odd = problem(vec![Variable::real(0.0, 1.0)], 2, |x, f, _| {
        f[0] = if x[0] < 0.3 { f64::NAN } else { x[0] };
        f[1] = if x[0] > 0.9 { f64::INFINITY } else { 1.0 - x[0] };
        Ok(())
    });
    let outcome = run(&odd, short());
    assert_eq!(outcome.front().count(), 20);
    assert!(
        outcome
            .front()
            .all(|s| s.objectives[0].is_finite() && (0.3..=0.9).contains(&s.genome[0]))
    );
    let hopeless = problem(vec![Variable::real(0.0, 1.0)], 2, |_, f, _| {
        f.fill(f64::NAN);
        Ok(())
    });
    assert_eq!(run(&hopeless, short()).population.len(), 20);
    let bottomless = problem(vec![Variable::real(0.0, 1.0)], 2, |x, f, _| {
        f.copy_from_slice(&[f64::NEG_INFINITY, x[0]]);
        Ok(())
    });
    assert!(
        run(&bottomless, short())
            .front()
            .all(|s| s.objectives[0] == f64::NEG_INFINITY)
    );
}

#[test]
fn a_population_that_is_all_infeasible_moves_towards_feasibility() {
    let narrow = problem(vec![Variable::real(0.0, 1.0); 5], 2, |x, f, g| {
        f.copy_from_slice(&[x[0], 1.0 - x[0]]);
        g[0] = x.iter().sum::<f64>() - 1e-9;
        Ok(())
    })
    .with_constraints(1);
    let first = run(&narrow, short().with_generations(0));
    let last = run(&narrow, short().with_generations(60));
    let least = |outcome: &Outcome| {
        outcome
            .population
            .iter()
            .map(|s| s.violation)
            .fold(f64::INFINITY, f64::min)
    };
    assert!(least(&last) < 0.05 * least(&first));
    assert!(
        last.front()
            .all(|s| !s.is_feasible() && s.violation == least(&last))
    );
}

#[test]
fn epsilon_lets_infeasible_individuals_live_for_a_while_and_ends_feasible() {
    let handling = ConstraintHandling::Epsilon {
        generations: 40,
        share: 0.5,
        exponent: 5.0,
    };
    let outcome = run(
        &Textbook::Tnk,
        Options::default().with_generations(80).with_constraints(handling),
    );
    assert!(outcome.front().all(|s| s.is_feasible()) && outcome.front().count() > 50);
    let early = run(
        &Textbook::Osy,
        Options::default().with_generations(1).with_constraints(handling),
    );
    {
        let pair: Vec<_> = early.population.iter().collect();
        let worst_feasible = pair.iter().filter(|s| s.is_feasible()).map(|s| s.rank).max();
        let best_infeasible = pair.iter().filter(|s| !s.is_feasible()).map(|s| s.rank).min();
        assert!(
            best_infeasible.is_none() || worst_feasible < best_infeasible,
            "ranks are those of true feasibility"
        );
    }
}

#[test]
fn populations_of_one_two_and_odd_sizes_run_with_all_operators() {
    let crossovers = [
        Crossover::Sbx { index: 15.0 },
        Crossover::Sbx { index: 3.7 },
        Crossover::Differential {
            scale: 0.5,
            rate: 0.5,
        },
        Crossover::Exchange(Exchange::Uniform),
        Crossover::Exchange(Exchange::Point { cuts: 2 }),
    ];
    let mixed = problem(
        vec![
            Variable::real(-1.0, 1.0),
            Variable::integer(-3, 3),
            Variable::Binary,
            Variable::Permutation { length: 4 },
            Variable::Categorical { categories: 3 },
            Variable::Ordinal { levels: 1 },
        ],
        2,
        |x, f, _| {
            assert_eq!(x[1].fract(), 0.0);
            let mut order = x[3..7].to_vec();
            order.sort_by(f64::total_cmp);
            assert_eq!(order, [0.0, 1.0, 2.0, 3.0]);
            assert!(x[7] <= 2.0 && x[8] == 0.0);
            f.copy_from_slice(&[x.iter().sum(), x[0] * x[1] - x[3]]);
            Ok(())
        },
    );
    for population in [1, 2, 3, 7, 33] {
        for crossover in crossovers {
            for (eliminate, crowding) in [(true, Crowding::OneAtATime), (false, Crowding::AllAtOnce)] {
                let operators = Operators {
                    real: crossover,
                    integer: crossover,
                    ..Operators::default()
                };
                let options = short()
                    .with_population(population)
                    .with_operators(operators)
                    .with_duplicates_eliminated(eliminate)
                    .with_crowding(crowding)
                    .with_archive(5);
                let outcome = run(&mixed, options);
                assert_eq!(outcome.population.len(), population);
                assert_eq!(outcome.evaluations, population as u64 * 16);
                assert!((1..=5).contains(&outcome.archive.unwrap().len()));
            }
        }
    }
}

#[test]
fn a_single_objective_is_minimised() {
    let sphere = problem(vec![Variable::real(-5.0, 5.0); 4], 1, |x, f, _| {
        f[0] = x.iter().map(|x| x * x).sum();
        Ok(())
    });
    let outcome = run(&sphere, Options::default().with_generations(100));
    assert!(outcome.front().next().unwrap().objectives[0] < 1e-3);
}

#[test]
fn fixed_variables_stay_and_zero_variables_have_one_solution() {
    let fixed = problem(
        vec![
            Variable::real(0.0, 1.0),
            Variable::real(3.0, 3.0),
            Variable::integer(2, 2),
        ],
        2,
        line,
    );
    assert!(
        run(&fixed, short())
            .population
            .iter()
            .all(|s| s.genome[1..] == [3.0, 2.0])
    );
    let nothing = problem(vec![], 2, |_, f, _| {
        f.copy_from_slice(&[1.0, 2.0]);
        Ok(())
    });
    let outcome = run(&nothing, short());
    assert_eq!(
        (outcome.population.len(), outcome.reason),
        (1, StopReason::Exhausted)
    );
    assert_eq!(
        run(&nothing, short().with_duplicates_eliminated(false))
            .population
            .len(),
        20
    );
}

#[test]
fn identical_individuals_are_kept_only_if_duplicates_may_be() {
    let start = Start {
        genomes: vec![vec![0.5]; 20],
        fill: Fill::Random,
    };
    let same = run(
        &problem(vec![Variable::real(0.0, 1.0)], 2, line),
        short()
            .with_generations(0)
            .with_start(start.clone())
            .with_duplicates_eliminated(false),
    );
    assert!(same.population.iter().all(|s| s.genome == [0.5] && s.rank == 0));
    let distinct = run(
        &problem(vec![Variable::real(0.0, 1.0)], 2, line),
        short().with_start(start),
    );
    let mut genes: Vec<f64> = distinct.population.iter().map(|s| s.genome[0]).collect();
    genes.sort_by(f64::total_cmp);
    genes.dedup();
    assert_eq!(genes.len(), 20);
}

#[test]
fn more_objectives_than_points_sort_and_run() {
    let many = problem(vec![Variable::real(0.0, 1.0); 3], 12, |x, f, _| {
        for (j, f) in f.iter_mut().enumerate() {
            *f = (x[j % 3] - j as f64 / 12.0).abs();
        }
        Ok(())
    });
    assert_eq!(run(&many, short().with_population(5)).population.len(), 5);
    let directions = Directions::das_dennis(12, 1);
    let outcome = Nsga3::new(short().with_population(5), directions)
        .unwrap()
        .run(&many)
        .unwrap();
    assert_eq!(outcome.population.len(), 5);
}

#[test]
fn an_objective_without_range_is_no_obstacle() {
    let flat = problem(vec![Variable::real(0.0, 1.0)], 3, |x, f, _| {
        f.copy_from_slice(&[x[0], 7.0, 1.0 - x[0]]);
        Ok(())
    });
    let outcome = run(&flat, short());
    assert_eq!(outcome.front().count(), 20);
    assert!(
        Nsga3::new(short(), Directions::das_dennis(3, 5))
            .unwrap()
            .run(&flat)
            .unwrap()
            .front()
            .count()
            > 5
    );
}

#[test]
fn a_million_points_sort() {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 11) as f64
    };
    let data: Vec<f64> = (0..2_000_000).map(|_| next()).collect();
    let fronts = non_dominated_sort(Rows::new(&data, 2));
    assert!(fronts.len() > 1000);
    let chain: Vec<f64> = (0..200_000).flat_map(|i| [f64::from(i); 3]).collect();
    assert_eq!(non_dominated_sort(Rows::new(&chain, 3)).len(), 200_000);
    let plane: Vec<f64> = (0..1_000_000)
        .flat_map(|i| [f64::from(i), -f64::from(i), 0.0])
        .collect();
    assert_eq!(non_dominated_sort(Rows::new(&plane, 3)).len(), 1);
}

#[test]
fn an_evaluation_that_errs_gives_back_what_there_was() {
    let count = AtomicUsize::new(0);
    let failing = Function::new(
        vec![Variable::real(0.0, 1.0)],
        vec![Goal::Minimise; 2],
        |x, f, g| {
            if count.fetch_add(1, Ordering::Relaxed) == 50 {
                Err("no more".into())
            } else {
                line(x, f, g)
            }
        },
    );
    let error = Nsga2::new(short()).unwrap().run(&failing).unwrap_err();
    assert_eq!(error.to_string(), "the evaluation failed in generation 1");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "no more");
    let outcome = error.into_outcome().unwrap();
    assert_eq!(
        (outcome.population.len(), outcome.reason, outcome.evaluations),
        (20, StopReason::Failed, 40)
    );
}

#[test]
fn an_evaluation_that_panics_in_a_thread_is_an_error() {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(3)
        .panic_handler(|_| ())
        .build()
        .unwrap();
    let count = AtomicUsize::new(0);
    let failing = Function::new(
        vec![Variable::real(0.0, 1.0)],
        vec![Goal::Minimise; 2],
        |x, f, g| {
            std::thread::sleep(Duration::from_micros(50));
            assert!(count.fetch_add(1, Ordering::Relaxed) != 30, "broken at {}", 30);
            line(x, f, g)
        },
    );
    let error = pool
        .install(|| Nsga2::new(short()).unwrap().run(&failing))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the evaluation panicked in generation 0: broken at 30"
    );
    assert_eq!(error.into_outcome().unwrap().population.len(), 20);
}

#[test]
fn a_first_evaluation_that_fails_leaves_nobody() {
    let failing = problem(vec![Variable::real(0.0, 1.0)], 2, |_, _, _| Err("never".into()));
    let error = Nsga2::new(short()).unwrap().run(&failing).unwrap_err();
    assert_eq!(error.into_outcome().unwrap().population.len(), 0);
}
