//! The simulated cluster against measured runs: the CARS job of Phoebe (Geldenhuys et al. 2022), a Kafka source and a
//! keyed window of about a second, on 2 to 23 workers.
//!
//! What depends on the job (what a record costs, how long a window takes) is fitted on some scale-outs, and the model is
//! held against the others.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "the errors are printed")]

mod support;

use std::path::Path;

use streamline_core::{Cluster, Operator, OperatorKind, Partitioning};
use streamline_flink::{FlinkClient, Model, SimulatedJob};
use support::{chain, running, seconds};

/// The scale-outs that are fitted on.
const FITTED: [u32; 4] = [2, 8, 14, 20];
/// Mean latency in milliseconds beyond which a run of two minutes did not keep up.
const SATURATED_MS: f64 = 5_000.0;
const SECONDS: u64 = 120;
/// Roughly what the window of the job adds to the latency; the test of latencies fits it.
const WINDOW_MS: f64 = 1_000.0;

#[derive(Debug, Clone, Copy)]
struct Run {
    scale_out: u32,
    latency_ms: f64,
    rate: f64,
    /// Read as fast as it could, from a backlog.
    at_capacity: bool,
}

impl Run {
    fn is_fitted(&self) -> bool {
        FITTED.contains(&self.scale_out)
    }
}

/// The measured runs, or none where the data is not at hand.
fn runs() -> Option<Vec<Run>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/phoebe/profiles2.csv");
    if !path.exists() {
        assert!(
            std::env::var_os("CI").is_none(),
            "the measured runs are missing: {}",
            path.display()
        );
        println!("skipped: the measured runs are missing: {}", path.display());
        return None;
    }
    let mut reader = csv::Reader::from_path(path).unwrap();
    let headers = reader.headers().unwrap().clone();
    let column = |name: &str| headers.iter().position(|header| header == name).unwrap();
    let [scale_out, latency, rate, at_capacity] = ["scaleOut", "avgLat", "avgThr", "isBckPres"].map(column);
    let run = |record: csv::StringRecord| Run {
        scale_out: record[scale_out].parse().unwrap(),
        latency_ms: record[latency].parse().unwrap(),
        rate: record[rate].parse().unwrap(),
        at_capacity: &record[at_capacity] == "1",
    };
    Some(reader.records().map(|record| run(record.unwrap())).collect())
}

/// How many times what one worker processes this many do, by the scalability law and by the key groups that each gets.
fn speedup(model: &Model, scale_out: u32) -> f64 {
    let window = Operator::new("w", "window", OperatorKind::Window);
    window.effective_parallelism(scale_out, true) / model.slowdown(scale_out)
}

/// What one worker alone would process: the mean (of the logarithms) of what the measured runs say of it.
fn unit_rate(model: &Model, runs: &[Run]) -> f64 {
    let units: Vec<f64> = runs
        .iter()
        .filter(|run| run.at_capacity && run.is_fitted())
        .map(|run| run.rate / speedup(model, run.scale_out))
        .collect();
    (units.iter().map(|unit| unit.ln()).sum::<f64>() / units.len() as f64).exp()
}

/// Sum of the squares of how far the law is off, as logarithms, with the best unit rate.
fn misfit(model: &Model, runs: &[Run]) -> f64 {
    let unit = unit_rate(model, runs);
    runs.iter()
        .filter(|run| run.at_capacity && run.is_fitted())
        .map(|run| (unit * speedup(model, run.scale_out) / run.rate).ln().powi(2))
        .sum()
}

/// The CARS job: its window takes nearly all of the work.
fn cars(scale_out: u32, unit_rate: f64, window_ms: f64, rate: f64) -> SimulatedJob {
    let mut job = chain(
        &[10.0 * unit_rate, unit_rate],
        Partitioning::Hash,
        &[scale_out; 2],
        rate,
    );
    job.operators[1] = job.operators[1].with_delay_ms(window_ms);
    job
}

/// Records per second and mean latency that the simulated cluster gives.
fn simulate(model: Model, job: SimulatedJob) -> (f64, f64) {
    // One slot a worker, as measured, and a worker has the cores that its slot wants.
    let workers = job.config.operators[0].parallelism;
    let (cluster, id) = running(
        model,
        Cluster::uniform(workers as usize, 2.0, 8 << 30, 1).unwrap(),
        job,
    );
    cluster.advance(seconds(60));
    let before = cluster.truth(&id).unwrap();
    cluster.observe(&id).unwrap();
    cluster.advance(seconds(SECONDS));
    let seen = cluster.observe(&id).unwrap();
    let read = cluster.truth(&id).unwrap().read - before.read;
    (read / SECONDS as f64, seen.latency_ms.unwrap())
}

/// What the window of the job adds to the latency: the median of what was measured beyond a window of no length.
fn window_ms(model: Model, unit_rate: f64, runs: &[Run]) -> f64 {
    let mut beyond: Vec<f64> = runs
        .iter()
        .filter(|run| !run.at_capacity && run.latency_ms < SATURATED_MS && run.is_fitted())
        .map(|run| run.latency_ms - simulate(model, cars(run.scale_out, unit_rate, 0.0, run.rate)).1)
        .collect();
    beyond.sort_by(f64::total_cmp);
    beyond[beyond.len() / 2]
}

fn mape(pairs: &[(f64, f64)]) -> f64 {
    let off = pairs
        .iter()
        .map(|(model, measured)| (model / measured - 1.0).abs());
    off.sum::<f64>() / pairs.len() as f64
}

#[test]
fn the_shipped_contention_is_what_the_fit_gives() {
    let Some(runs) = runs() else { return };
    let with = |contention: f64| {
        let mut model = Model::default();
        model.scaling.contention = contention;
        model
    };
    let steps = (0..=200).map(|step| f64::from(step) * 1e-4);
    let best = steps
        .min_by(|a, b| misfit(&with(*a), &runs).total_cmp(&misfit(&with(*b), &runs)))
        .unwrap();
    let shipped = Model::default().scaling;
    println!(
        "contention: {best:.4} fits best, given a coherency of {}",
        shipped.coherency
    );
    approx::assert_abs_diff_eq!(shipped.contention, best, epsilon = 1e-4);
}

#[test]
fn capacity_against_scale_out_is_as_measured() {
    let Some(runs) = runs() else { return };
    let model = Model::default();
    let unit = unit_rate(&model, &runs);
    let mut pairs = [Vec::new(), Vec::new()];
    println!("one worker: {unit:.0} records/s\nworkers   measured      model    off");
    for run in runs.iter().filter(|run| run.at_capacity) {
        // Far more arrives than it can read.
        let (rate, _) = simulate(model, cars(run.scale_out, unit, WINDOW_MS, 1e6));
        let off = 100.0 * (rate / run.rate - 1.0);
        let fitted = if run.is_fitted() { "fitted" } else { "" };
        println!(
            "{:>7} {:>10.0} {rate:>10.0} {off:>5.1}% {fitted}",
            run.scale_out, run.rate
        );
        pairs[usize::from(run.is_fitted())].push((rate, run.rate));
    }
    let [others, fitted] = pairs.map(|pairs| mape(&pairs));
    println!(
        "mean error: {:.1} % fitted, {:.1} % others",
        100.0 * fitted,
        100.0 * others
    );
    assert!(fitted < 0.05 && others < 0.06, "{fitted} {others}");
}

#[test]
fn latency_against_load_is_as_measured() {
    let Some(runs) = runs() else { return };
    let model = Model::default();
    let unit = unit_rate(&model, &runs);
    let capacity = |scale_out: u32| {
        let at = runs
            .iter()
            .find(|run| run.at_capacity && run.scale_out == scale_out);
        at.unwrap().rate
    };
    let kept_up = |run: &&Run| !run.at_capacity && run.latency_ms < SATURATED_MS;
    let window = window_ms(model, unit, &runs);
    println!("window: {window:.0} ms");
    let (mut below, mut near) = ([Vec::new(), Vec::new()], Vec::new());
    for run in runs.iter().filter(kept_up) {
        let (_, latency) = simulate(model, cars(run.scale_out, unit, window, run.rate));
        let pair = (latency, run.latency_ms);
        // Next to saturation the latency says how well the capacity is known, which is the other test.
        if run.rate < 0.9 * capacity(run.scale_out) {
            below[usize::from(run.is_fitted())].push(pair);
        } else {
            println!(
                "near saturation: {} workers, {:.0} records/s: measured {:.0} ms, model {latency:.0} ms",
                run.scale_out, run.rate, run.latency_ms
            );
            near.push(pair);
        }
    }
    let constant: Vec<(f64, f64)> = below[0]
        .iter()
        .map(|&(_, measured)| (1_050.0, measured))
        .collect();
    let [others, fitted] = below.each_ref().map(|pairs| mape(pairs));
    println!(
        "mean error below 90 % of the capacity: {:.1} % of {} fitted runs, {:.1} % of {} others ({:.1} % if it were always \
         1050 ms); {:.0} % of {} near saturation",
        100.0 * fitted,
        below[1].len(),
        100.0 * others,
        below[0].len(),
        100.0 * mape(&constant),
        100.0 * mape(&near),
        near.len()
    );
    assert!(fitted < 0.13 && others < 0.13, "{fitted} {others}");
}

#[test]
fn a_load_a_tenth_above_one_that_was_too_much_is_not_kept_up_with() {
    let Some(runs) = runs() else { return };
    let model = Model::default();
    let unit = unit_rate(&model, &runs);
    for run in runs
        .iter()
        .filter(|run| !run.at_capacity && run.latency_ms > SATURATED_MS)
    {
        let (_, latency) = simulate(model, cars(run.scale_out, unit, WINDOW_MS, 1.1 * run.rate));
        assert!(latency > 2.0 * WINDOW_MS, "{run:?}: {latency} ms");
    }
}
