//! Our search.

use streamline_moo::test_problems::{Dtlz, Zdt};
use streamline_moo::{Nsga2, Options, Problem};

use crate::Found;

/// On one thread, with all defaults.
pub fn run(problem: &str, population: usize, generations: u64, seed: u64) -> Found {
    let problem: Box<dyn Problem> = match problem {
        "ZDT1" => Box::new(Zdt::new(1)),
        "ZDT4" => Box::new(Zdt::new(4)),
        "DTLZ2" => Box::new(Dtlz::new(2, 3)),
        _ => panic!("no problem {problem}"),
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a pool");
    let options = Options::default()
        .with_population(population)
        .with_generations(generations)
        .with_seed(seed);
    let search = Nsga2::new(options).expect("valid options");
    pool.install(|| {
        let start = crate::cpu_seconds();
        let mut outcome = search.run(&*problem).expect("a run");
        let mut runs = 1.0;
        // The clock is too coarse for one short run.
        while crate::cpu_seconds() - start < 0.2 {
            outcome = search.run(&*problem).expect("a run");
            runs += 1.0;
        }
        let seconds = (crate::cpu_seconds() - start) / runs;
        assert_eq!(outcome.evaluations, population as u64 * (generations + 1));
        Found {
            seconds,
            front: outcome.front().map(|s| s.objectives.to_vec()).collect(),
        }
    })
}
