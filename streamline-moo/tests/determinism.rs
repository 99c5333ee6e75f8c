//! The same seed gives the same population bit for bit: on any number of threads, in batches or one at a time, in one go or
//! resumed.
#![cfg(feature = "test-problems")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;

use streamline_moo::test_problems::{ConstrainedDtlz, Dtlz, MixedZdt, Textbook, Zdt};
use streamline_moo::{
    BoxError, Checkpoint, ConstraintHandling, Directions, Evaluations, Function, Goal, Nsga2, Nsga3, Options,
    Outcome, Problem, Rows, Stagnation, Stop, Variable,
};

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
        .install(work)
}

fn assert_same(a: &Outcome, b: &Outcome) {
    let bits = |outcome: &Outcome| -> Vec<u64> {
        let all = [
            outcome.population.genomes().as_slice(),
            outcome.population.objectives().as_slice(),
        ]
        .concat();
        all.iter().map(|v| v.to_bits()).collect()
    };
    assert_eq!(bits(a), bits(b));
    assert_eq!(a.population, b.population);
    assert_eq!(a.archive, b.archive);
    assert_eq!(
        (a.generations, a.evaluations, a.reason),
        (b.generations, b.evaluations, b.reason)
    );
}

#[test]
fn one_two_and_eight_threads_give_the_same() {
    let problems: [&(dyn Problem + Sync); 4] =
        [&Zdt::new(1), &MixedZdt::new(), &Textbook::Osy, &Dtlz::new(2, 3)];
    for problem in problems {
        let options = Options::default()
            .with_population(700)
            .with_generations(8)
            .with_archive(100);
        let search = Nsga2::new(options).unwrap();
        let one = on_threads(1, || search.run(problem).unwrap());
        for threads in [2, 8] {
            assert_same(&one, &on_threads(threads, || search.run(problem).unwrap()));
        }
    }
}

#[test]
fn another_seed_gives_something_else() {
    let run = |seed| {
        Nsga2::new(Options::default().with_generations(3).with_seed(seed))
            .unwrap()
            .run(&Zdt::new(1))
            .unwrap()
    };
    assert_ne!(run(1).population, run(2).population);
}

/// Evaluates the whole batch on one thread.
struct Batch;

const VARIABLES: [Variable; 4] = [Variable::real(0.0, 1.0); 4];

fn one(x: &[f64], f: &mut [f64]) {
    f[0] = x[0];
    f[1] = (1.0 - x[0].sqrt()) * (1.0 + x[1] + x[2] * x[3]);
}

impl Problem for Batch {
    fn variables(&self) -> &[Variable] {
        &VARIABLES
    }
    fn objectives(&self) -> &[Goal] {
        &[Goal::Minimise; 2]
    }
    fn evaluate(&self, genomes: Rows<'_>, out: &mut Evaluations<'_>) -> Result<(), BoxError> {
        genomes
            .iter()
            .zip(out.objectives.chunks_exact_mut(2))
            .for_each(|(x, f)| one(x, f));
        Ok(())
    }
}

#[test]
fn a_batch_gives_the_same_as_one_at_a_time() {
    let single = Function::new(VARIABLES.to_vec(), vec![Goal::Minimise; 2], |x, f, _| {
        one(x, f);
        Ok(())
    });
    let search = Nsga2::new(Options::default().with_generations(20)).unwrap();
    assert_same(
        &search.run(&Batch).unwrap(),
        &on_threads(4, || search.run(&single).unwrap()),
    );
}

fn interrupted<P: Problem>(problem: &P, search: &Nsga2) -> Outcome {
    let mut checkpoint: Option<Checkpoint> = None;
    loop {
        let mut run = match &checkpoint {
            Some(checkpoint) => search.resume(problem, checkpoint).unwrap(),
            None => search.start(problem).unwrap(),
        };
        for _ in 0..7 {
            if run.advance().unwrap().is_some() {
                return run.outcome();
            }
        }
        checkpoint = Some(run.checkpoint());
    }
}

#[test]
fn a_run_resumed_again_and_again_ends_as_one_in_one_go() {
    let epsilon = ConstraintHandling::Epsilon {
        generations: 20,
        share: 0.3,
        exponent: 3.0,
    };
    let stop = Stop {
        generations: Some(60),
        stagnation: Some(Stagnation {
            generations: 10,
            tolerance: 0.01,
        }),
        ..Stop::default()
    };
    let options = Options::default()
        .with_stop(stop)
        .with_archive(50)
        .with_constraints(epsilon);
    let search = Nsga2::new(options).unwrap();
    assert_same(
        &search.run(&Textbook::Tnk).unwrap(),
        &interrupted(&Textbook::Tnk, &search),
    );
    let mixed = MixedZdt::new();
    assert_same(&search.run(&mixed).unwrap(), &interrupted(&mixed, &search));
}

#[test]
fn nsga3_resumes_with_its_ideal_and_extreme_points() {
    let problem = ConstrainedDtlz::new(2, 3);
    let options = Options::default().with_population(91).with_generations(30);
    let search = Nsga3::new(options, Directions::das_dennis(3, 12)).unwrap();
    let whole = search.run(&problem).unwrap();
    let mut run = search.start(&problem).unwrap();
    for _ in 0..11 {
        run.advance().unwrap();
    }
    let resumed = search.resume(&problem, &run.checkpoint()).unwrap();
    assert_same(&whole, &resumed.finish(|_| ControlFlow::Continue(())).unwrap());
}

#[test]
fn a_checkpoint_of_another_search_is_refused() {
    let problem = Zdt::new(1);
    let search = |seed, population| {
        Nsga2::new(Options::default().with_seed(seed).with_population(population)).unwrap()
    };
    let checkpoint = search(1, 50).start(&problem).unwrap().checkpoint();
    assert!(search(2, 50).resume(&problem, &checkpoint).is_err());
    assert!(search(1, 40).resume(&problem, &checkpoint).is_err());
    assert!(search(1, 50).resume(&Zdt::new(4), &checkpoint).is_err());
    assert!(search(1, 50).resume(&problem, &checkpoint).is_ok());
}

#[cfg(feature = "serde")]
#[test]
fn a_checkpoint_survives_json_with_all_its_bits() {
    let search = Nsga2::new(Options::default().with_generations(12)).unwrap();
    let problem = Zdt::new(4);
    let mut run = search.start(&problem).unwrap();
    run.advance().unwrap();
    let text = serde_json::to_string(&run.checkpoint()).unwrap();
    let checkpoint: Checkpoint = serde_json::from_str(&text).unwrap();
    let resumed = search
        .resume(&problem, &checkpoint)
        .unwrap()
        .finish(|_| ControlFlow::Continue(()))
        .unwrap();
    assert_same(&search.run(&problem).unwrap(), &resumed);
    let options: Options = serde_json::from_str(r#"{ "population": 40 }"#).unwrap();
    assert_eq!(options, Options::default().with_population(40));
}
