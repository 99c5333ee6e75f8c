//! How near searches come to known fronts.
#![cfg(feature = "test-problems")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use streamline_moo::test_problems::{ConstrainedDtlz, Dtlz, MixedZdt, TestProblem, Textbook, Wfg, Zdt};
use streamline_moo::{Directions, Nsga2, Nsga3, Options, Rows, hypervolume, igd_plus};

/// The IGD⁺ of a search's front, with objectives scaled to the ranges of the true front.
fn distance(problem: &impl TestProblem, front: &[f64]) -> f64 {
    let m = problem.objectives().len();
    let mut goal = problem.front(500);
    for row in goal.chunks_exact_mut(m) {
        for (value, orientation) in row.iter_mut().zip(problem.objectives()) {
            if *orientation == streamline_moo::Goal::Maximise {
                *value = -*value;
            }
        }
    }
    let range = |j: usize| {
        let column = goal.iter().skip(j).step_by(m);
        let (low, high) = column.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| {
            (l.min(v), h.max(v))
        });
        (high - low).max(1e-12)
    };
    let ranges: Vec<f64> = (0..m).map(range).collect();
    let scale =
        |rows: &[f64]| -> Vec<f64> { rows.iter().enumerate().map(|(i, v)| v / ranges[i % m]).collect() };
    igd_plus(Rows::new(&scale(front), m), Rows::new(&scale(&goal), m))
}

#[track_caller]
fn check(problem: &impl TestProblem, generations: u64, bound: f64) {
    let options = Options::default().with_generations(generations);
    let outcome = Nsga2::new(options).unwrap().run(problem).unwrap();
    let reached = distance(problem, &outcome.population.minimised_front());
    assert!(reached < bound, "{}: {reached} from the front", problem.name());
}

#[test]
fn nsga2_reaches_the_fronts_of_zdt() {
    for (number, bound) in [(1, 0.01), (2, 0.01), (3, 0.01), (4, 0.02), (6, 0.05)] {
        check(&Zdt::new(number), 250, bound);
    }
    check(&Zdt::new(5), 250, 0.1);
}

#[test]
fn nsga2_reaches_the_fronts_of_dtlz_with_three_objectives() {
    for (number, bound) in [(2, 0.06), (4, 0.06), (5, 0.01), (7, 0.06)] {
        check(&Dtlz::new(number, 3), 250, bound);
    }
}

#[test]
fn nsga2_reaches_the_fronts_of_constrained_and_mixed_problems() {
    for (problem, bound) in [
        (Textbook::Bnh, 0.01),
        (Textbook::Srn, 0.01),
        (Textbook::Tnk, 0.01),
        (Textbook::Osy, 0.06),
    ] {
        check(&problem, 250, bound);
    }
    check(&MixedZdt::new(), 250, 0.01);
    check(&Wfg::new(4, 2), 250, 0.02);
}

#[test]
fn nsga3_spreads_over_the_sphere_with_five_objectives() {
    let problem = Dtlz::new(2, 5);
    let directions = Directions::das_dennis(5, 4);
    let options = Options::default().with_population(72).with_generations(200);
    let outcome = Nsga3::new(options, directions).unwrap().run(&problem).unwrap();
    let front = outcome.population.minimised_front();
    let volume = hypervolume(Rows::new(&front, 5), &[1.1; 5]);
    let optimum = problem.front(70);
    let best = hypervolume(Rows::new(&optimum, 5), &[1.1; 5]);
    assert!(volume > 0.95 * best, "{volume} of {best}");
}

#[test]
fn nsga3_keeps_to_the_feasible_part() {
    for kind in 1..=3 {
        let problem = ConstrainedDtlz::new(kind, 3);
        let options = Options::default().with_population(92).with_generations(400);
        let outcome = Nsga3::new(options, Directions::das_dennis(3, 12))
            .unwrap()
            .run(&problem)
            .unwrap();
        assert!(outcome.front().all(|s| s.is_feasible()));
        let reached = distance(&problem, &outcome.population.minimised_front());
        assert!(reached < 0.08, "{}: {reached}", problem.name());
    }
}
