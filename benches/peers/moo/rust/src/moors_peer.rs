//! moors. It has no polynomial mutation; Gaussian mutation is what its own benchmarks take.

use moors::{
    GaussianMutation, NoDuplicatesCleaner, Nsga2Builder, RandomSamplingFloat, SimulatedBinaryCrossover,
    impl_constraints_fn,
};
use ndarray::{Array2, Axis, stack};

use crate::Found;

impl_constraints_fn!(Unit, lower_bound = 0.0, upper_bound = 1.0);

fn zdt1(genes: &Array2<f64>) -> Array2<f64> {
    let n = genes.ncols() as f64;
    let first = genes.column(0).to_owned();
    let g = (genes.sum_axis(Axis(1)) - &first) * (9.0 / (n - 1.0)) + 1.0;
    let second = &g * (1.0 - (&first / &g).mapv(f64::sqrt));
    stack(Axis(1), &[first.view(), second.view()]).expect("equal lengths")
}

/// ZDT4 with all variables scaled to 0 … 1, since moors has one pair of bounds for all.
fn zdt4(genes: &Array2<f64>) -> Array2<f64> {
    let mut out = Array2::zeros((genes.nrows(), 2));
    for (x, mut f) in genes.rows().into_iter().zip(out.rows_mut()) {
        let waves: f64 = x
            .iter()
            .skip(1)
            .map(|x| x * 10.0 - 5.0)
            .map(|x| x * x - 10.0 * (4.0 * std::f64::consts::PI * x).cos())
            .sum();
        let g = 1.0 + 10.0 * (x.len() as f64 - 1.0) + waves;
        f[0] = x[0];
        f[1] = g * (1.0 - (x[0] / g).sqrt());
    }
    out
}

fn dtlz2(genes: &Array2<f64>) -> Array2<f64> {
    let mut out = Array2::zeros((genes.nrows(), 3));
    for (x, mut f) in genes.rows().into_iter().zip(out.rows_mut()) {
        let g: f64 = x.iter().skip(2).map(|x| (x - 0.5) * (x - 0.5)).sum();
        let (sin0, cos0) = (x[0] * std::f64::consts::FRAC_PI_2).sin_cos();
        let (sin1, cos1) = (x[1] * std::f64::consts::FRAC_PI_2).sin_cos();
        f[0] = (1.0 + g) * cos0 * cos1;
        f[1] = (1.0 + g) * cos0 * sin1;
        f[2] = (1.0 + g) * sin0;
    }
    out
}

/// On one thread.
pub fn run(problem: &str, population: usize, generations: u64, seed: u64) -> Found {
    let (fitness, variables): (fn(&Array2<f64>) -> Array2<f64>, usize) = match problem {
        "ZDT1" => (zdt1, 30),
        "ZDT4" => (zdt4, 10),
        "DTLZ2" => (dtlz2, 12),
        _ => panic!("no problem {problem}"),
    };
    let start = crate::cpu_seconds();
    let mut search = Nsga2Builder::default()
        .sampler(RandomSamplingFloat::new(0.0, 1.0))
        .crossover(SimulatedBinaryCrossover::new(15.0))
        .mutation(GaussianMutation::new(1.0 / variables as f64, 0.1))
        .duplicates_cleaner(NoDuplicatesCleaner)
        .fitness_fn(fitness)
        .constraints_fn(Unit)
        .num_vars(variables)
        .population_size(population)
        .num_offsprings(population)
        .num_iterations(generations as usize)
        .mutation_rate(1.0)
        .crossover_rate(0.9)
        .keep_infeasible(false)
        .verbose(false)
        .seed(seed)
        .build()
        .expect("valid options");
    search.run().expect("a run");
    let seconds = crate::cpu_seconds() - start;
    let population = search.population.expect("a population");
    let best = population.best();
    Found {
        seconds,
        front: best.fitness.rows().into_iter().map(|row| row.to_vec()).collect(),
    }
}
