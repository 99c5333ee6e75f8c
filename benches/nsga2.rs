//! The search and its building blocks: how their cost grows with points, objectives and population.
#![allow(missing_docs, reason = "criterion's macros make public functions")]

use std::hint::black_box;
use std::time::Instant;

use criterion::{Bencher, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use streamline_moo::test_problems::{Dtlz, Zdt};
use streamline_moo::{
    BoxError, Crossover, Evaluations, Exchange, Goal, Nsga2, Operators, Options, Problem, Rows, Sorter,
    Variable, crowding_distances, hypervolume, thin_by_crowding,
};

/// Uniform numbers from a fixed seed.
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn points(count: usize, objectives: usize) -> Vec<f64> {
        let mut uniform = Self(1);
        (0..count * objectives).map(|_| uniform.next()).collect()
    }

    /// Points of which none dominates another: on the unit sphere.
    fn front(count: usize, objectives: usize) -> Vec<f64> {
        let mut points = Self::points(count, objectives);
        for p in points.chunks_exact_mut(objectives) {
            let length = p.iter().map(|v| v * v).sum::<f64>().sqrt();
            p.iter_mut().for_each(|v| *v /= length);
        }
        points
    }
}

/// Measures `work` on so many threads.
fn on_threads<T>(threads: usize, bencher: &mut Bencher<'_>, mut work: impl FnMut() -> T + Send) {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("a pool");
    bencher.iter_custom(|times| {
        pool.install(|| {
            let start = Instant::now();
            for _ in 0..times {
                black_box(work());
            }
            start.elapsed()
        })
    });
}

/// Each decade of points, for the numbers of objectives that take another method each; on one thread and on all.
fn sorting(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("nsga2/sort");
    group.sample_size(10);
    for objectives in [2, 3, 5, 8] {
        for count in [100, 1000, 10_000, 100_000] {
            let data = Uniform::points(count, objectives);
            group.throughput(Throughput::Elements(count as u64));
            for threads in [1, 2] {
                if threads == 2 && count < 100_000 {
                    continue;
                }
                let mut sorter = Sorter::default();
                let id = BenchmarkId::new(format!("m{objectives}/threads{threads}"), count);
                group.bench_function(id, |bencher| {
                    on_threads(threads, bencher, || {
                        sorter.ranks(Rows::new(&data, objectives)).len()
                    });
                });
            }
        }
    }
    group.finish();
}

fn crowding(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("nsga2/crowding");
    for objectives in [2, 3] {
        for count in [100, 1000, 10_000] {
            let data = Uniform::front(count, objectives);
            let front = Rows::new(&data, objectives);
            group.throughput(Throughput::Elements(count as u64));
            group.bench_function(
                BenchmarkId::new(format!("distances/m{objectives}"), count),
                |bencher| {
                    bencher.iter(|| black_box(crowding_distances(front)));
                },
            );
            group.bench_function(
                BenchmarkId::new(format!("thin to half/m{objectives}"), count),
                |bencher| {
                    bencher.iter(|| black_box(thin_by_crowding(front, count / 2)));
                },
            );
        }
    }
    group.finish();
}

/// Sizes that take about a millisecond each: the cost explodes with objectives.
fn volume(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("nsga2/hypervolume");
    for (objectives, count) in [(2, 100_000), (3, 10_000), (4, 1000), (5, 200), (6, 100), (8, 50)] {
        let data = Uniform::front(count, objectives);
        let reference = vec![1.1; objectives];
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::new(format!("m{objectives}"), count), |bencher| {
            bencher.iter(|| black_box(hypervolume(Rows::new(&data, objectives), &reference)));
        });
    }
    group.finish();
}

/// Costs nothing, so that what is measured is variation and survival.
struct Free(Vec<Variable>);

impl Problem for Free {
    fn variables(&self) -> &[Variable] {
        &self.0
    }
    fn objectives(&self) -> &[Goal] {
        &[Goal::Minimise]
    }
    fn evaluate(&self, genomes: Rows<'_>, out: &mut Evaluations<'_>) -> Result<(), BoxError> {
        genomes
            .iter()
            .zip(out.objectives.iter_mut())
            .for_each(|(x, f)| *f = x[0]);
        Ok(())
    }
}

/// A generation of 1,000 children of 30 variables, by operator.
fn variation(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("nsga2/variation");
    let sbx = |index| Crossover::Sbx { index };
    let operators = [
        ("sbx, eta 15", sbx(15.0), Variable::real(0.0, 1.0)),
        ("sbx, eta 20", sbx(20.0), Variable::real(0.0, 1.0)),
        ("sbx of integers", sbx(15.0), Variable::integer(0, 1000)),
        (
            "differential",
            Crossover::Differential {
                scale: 0.5,
                rate: 0.9,
            },
            Variable::real(0.0, 1.0),
        ),
        (
            "uniform exchange",
            Crossover::Exchange(Exchange::Uniform),
            Variable::real(0.0, 1.0),
        ),
    ];
    group.throughput(Throughput::Elements(10_000));
    for (name, crossover, variable) in operators {
        let operators = Operators {
            real: crossover,
            integer: crossover,
            ..Operators::default()
        };
        let options = Options::default()
            .with_population(1000)
            .with_generations(9)
            .with_operators(operators);
        let search = Nsga2::new(options).expect("valid options");
        let problem = Free(vec![variable; 30]);
        group.bench_function(name, |bencher| {
            on_threads(1, bencher, || search.run(&problem).expect("a run"))
        });
    }
    group.finish();
}

/// Whole runs of 250 generations on one thread, in evaluations per second.
fn runs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("nsga2/run");
    group.sample_size(10);
    let problems: [(&str, &dyn Problem); 3] = [
        ("ZDT1", &Zdt::new(1)),
        ("ZDT4", &Zdt::new(4)),
        ("DTLZ2", &Dtlz::new(2, 3)),
    ];
    for (name, problem) in problems {
        for population in [100, 200, 1000] {
            let search = Nsga2::new(Options::default().with_population(population)).expect("valid options");
            group.throughput(Throughput::Elements(251 * population as u64));
            group.bench_function(BenchmarkId::new(name, population), |bencher| {
                on_threads(1, bencher, || search.run(problem).expect("a run"));
            });
        }
    }
    group.finish();
}

/// 20 generations at each size of population.
fn growth(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("nsga2/growth");
    group.sample_size(10);
    for population in [100, 1000, 10_000, 100_000] {
        let options = Options::default()
            .with_population(population)
            .with_generations(20);
        let search = Nsga2::new(options).expect("valid options");
        group.throughput(Throughput::Elements(21 * population as u64));
        for threads in [1, 2] {
            group.bench_function(
                BenchmarkId::new(format!("threads{threads}"), population),
                |bencher| {
                    on_threads(threads, bencher, || search.run(&Zdt::new(1)).expect("a run"));
                },
            );
        }
    }
    group.finish();
}

criterion_group!(benches, sorting, crowding, volume, variation, runs, growth);
criterion_main!(benches);
