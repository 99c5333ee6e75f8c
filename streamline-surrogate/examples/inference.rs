//! Prints how many rows a second an 8-64-64-3 network takes on one core, by the size of the batch: best of many calls.

#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use streamline_surrogate::{DenseLayer, DenseNetwork};

const BATCHES: [usize; 3] = [100, 1_000, 10_000];
const SHAPE: [usize; 4] = [8, 64, 64, 3];

fn main() -> Result<(), Box<dyn Error>> {
    let wave = |n: usize| (n as f32 * 0.7).sin();
    let layers = SHAPE.windows(2).map(|ends| DenseLayer {
        inputs: ends[0],
        outputs: ends[1],
        weights: (0..ends[0] * ends[1]).map(wave).collect(),
        bias: vec![0.1; ends[1]],
    });
    let network = DenseNetwork::new(layers.collect())?;
    for batch in BATCHES {
        let rows: Vec<f32> = (0..SHAPE[0] * batch).map(wave).collect();
        let mut out = vec![0.0; SHAPE[3] * batch];
        let (begin, mut best) = (Instant::now(), Duration::MAX);
        while begin.elapsed() < Duration::from_secs(1) {
            let call = Instant::now();
            network.infer(black_box(&rows), black_box(&mut out))?;
            best = best.min(call.elapsed());
        }
        println!("{batch} {:.0}", batch as f64 / best.as_secs_f64());
    }
    Ok(())
}
