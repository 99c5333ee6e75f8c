#![allow(missing_docs, clippy::print_stdout, reason = "scratch")]
use std::time::Instant;
use streamline_core::*;
use streamline_surrogate::*;
fn rnd(s: &mut u64) -> f64 {
    *s = s
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    ((*s >> 11) as f64) / (1u64 << 53) as f64
}
fn net(shape: &[usize]) -> DenseNetwork {
    let mut s = 1u64;
    DenseNetwork::new(
        shape
            .windows(2)
            .map(|p| DenseLayer {
                inputs: p[0],
                outputs: p[1],
                weights: (0..p[0] * p[1]).map(|_| rnd(&mut s) as f32 - 0.5).collect(),
                bias: (0..p[1]).map(|_| rnd(&mut s) as f32 - 0.5).collect(),
            })
            .collect(),
    )
    .unwrap()
}
fn main() {
    let n = net(&[8, 64, 64, 3]);
    for rows in [1usize, 16, 100, 256, 1000, 10_000] {
        let x = vec![0.3f32; rows * 8];
        let mut out = vec![0.0; rows * 3];
        let mut best = f64::MAX;
        for _ in 0..15 {
            let reps = (200_000 / rows).max(3);
            let t = Instant::now();
            for _ in 0..reps {
                n.infer(std::hint::black_box(&x), &mut out).unwrap();
            }
            best = best.min(t.elapsed().as_secs_f64() / reps as f64);
        }
        println!(
            "{rows}: {:.2} us, {:.2} M rows/s",
            best * 1e6,
            rows as f64 / best / 1e6
        );
    }
    let mut s = 3u64;
    let mut samples = Vec::new();
    for _ in 0..1600 {
        let p = 1 + (rnd(&mut s) * 24.0) as u32;
        let unit = 1e4;
        let q = Query {
            kind: OperatorKind::ALL[(rnd(&mut s) * 6.0) as usize],
            unit_rate: unit,
            parallelism: p,
            segment_bytes: 4096 << (rnd(&mut s) * 5.0) as u32,
            buffer_timeout_ms: [10, 50, 100][(rnd(&mut s) * 3.0) as usize],
            input_rate: unit * p as f64 * rnd(&mut s) * 1.2,
            selectivity: 0.5,
            record_bytes: 100.0,
            colocation_load: rnd(&mut s) * 1.5,
        };
        let t = q
            .input_rate
            .min(unit * p as f64 / (1.0 + 0.05 * (p as f64 - 1.0)));
        samples.push(Sample {
            query: q,
            measured: OperatorEstimate {
                throughput: t,
                latency_ms: 10.0 + 3.0 * p as f64 + rnd(&mut s) * 5.0,
                cpu_cores: 1.2 * t / unit + 0.02 * p as f64,
            },
        });
    }
    for (members, batch) in [(1, 128), (5, 128), (5, 64), (5, 256), (1, 64)] {
        let o = MlpOptions {
            members,
            batch,
            patience: 1000,
            ..MlpOptions::default()
        };
        let t = Instant::now();
        let m = Mlp::fit(&samples, &o).unwrap();
        let el = t.elapsed().as_secs_f64();
        println!(
            "members {members} batch {batch}: {el:.2} s; epochs {}, test {:?}",
            m.report().history.len(),
            m.report().test.map(|t| (
                t.throughput.log_r_squared,
                t.latency.log_r_squared,
                t.cpu.log_r_squared
            ))
        );
        let queries: Vec<_> = samples.iter().map(|x| x.query).collect();
        let mut out = vec![Prediction::ZERO; queries.len()];
        let mut best = f64::MAX;
        for _ in 0..30 {
            let t = Instant::now();
            m.predict(&queries, &mut out).unwrap();
            best = best.min(t.elapsed().as_secs_f64());
        }
        println!("   predict {:.2} M queries/s", queries.len() as f64 / best / 1e6);
        let a = m.analytic();
        let mut best = f64::MAX;
        for _ in 0..30 {
            let t = Instant::now();
            a.predict(&queries, &mut out).unwrap();
            best = best.min(t.elapsed().as_secs_f64());
        }
        println!("   analytic {:.2} M queries/s", queries.len() as f64 / best / 1e6);
    }
}
