//! Building blocks on points from a file, and an evaluation that takes its time.

use std::hint::black_box;
use std::time::{Duration, Instant};

use streamline_moo::{Function, Goal, Nsga2, Options, Rows, Sorter, Variable, hypervolume};

/// Times a building block on the points in a file of little-endian `f64`, and prints the seconds of each repetition and a
/// figure to compare results by.
pub fn time(kind: &str, file: &str, objectives: usize, threads: usize, repeats: usize) {
    let bytes = std::fs::read(file).expect("a file of points");
    let data: Vec<f64> = bytes
        .as_chunks::<8>()
        .0
        .iter()
        .map(|bytes| f64::from_le_bytes(*bytes))
        .collect();
    let points = Rows::new(&data, objectives);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("a pool");
    let mut seconds = Vec::new();
    let mut value = 0.0;
    pool.install(|| {
        for _ in 0..repeats {
            let start = Instant::now();
            value = match kind {
                // A new sorter each time, as the peer allocates anew each time.
                "ranks" => {
                    let mut sorter = Sorter::default();
                    let ranks = black_box(sorter.ranks(points));
                    f64::from(ranks[ranks.len() / 2])
                }
                _ => black_box(hypervolume(points, &vec![1.0; objectives])),
            };
            seconds.push(start.elapsed().as_secs_f64());
        }
    });
    println!("{{\"seconds\": {seconds:?}, \"value\": {value}}}");
}

/// Prints the seconds of a run with one and with two threads on an evaluation that takes `micros` microseconds.
pub fn threads(micros: u64) {
    let busy = Function::new(
        vec![Variable::real(0.0, 1.0); 10],
        vec![Goal::Minimise; 2],
        |x, f, _| {
            let start = Instant::now();
            f[0] = x[0];
            f[1] = 1.0 - x[0] + x[1..].iter().sum::<f64>();
            while start.elapsed() < Duration::from_micros(micros) {
                std::hint::spin_loop();
            }
            Ok(())
        },
    );
    let search = Nsga2::new(Options::default().with_generations(100)).expect("valid options");
    let time = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool");
        let start = Instant::now();
        pool.install(|| black_box(search.run(&busy)).expect("a run"));
        start.elapsed().as_secs_f64()
    };
    // In turn, so that what else the machine does meets both.
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        one.push(time(1));
        two.push(time(2));
    }
    println!("{{\"one\": {one:?}, \"two\": {two:?}}}");
}
