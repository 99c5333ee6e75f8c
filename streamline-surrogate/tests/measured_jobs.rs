//! Holds the surrogates against measured Flink jobs: five folds by configuration, everything (unit rates, constants,
//! networks) learned from the other four.
//!
//! The data sets are small and noisy, so the bounds below are what was reached, with room for other processors' last
//! bits; the printed table is the result.

#![allow(clippy::print_stdout, reason = "the printed table is the result")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(feature = "burn")]

mod measured;

use measured::{Answer, data, demeter, five_folds, number, options, phoebe, profiled, rows, zerotune};
use streamline_core::OperatorEstimate;
use streamline_surrogate::{CapacityCurve, Score, Scores};

/// Prints a row of the table, and holds the ensemble to a least R² of the logarithm and to the analytic model's.
fn check(set: &str, what: &str, value: fn(&Scores) -> Score, answers: &[Answer], least: f64) {
    let score = |said: fn(&Answer) -> OperatorEstimate| {
        let pairs = answers.iter().map(|answer| (answer.measured, said(answer)));
        value(&Scores::of(pairs).unwrap())
    };
    let [mlp, analytic] = [score(|answer| answer.learned), score(|answer| answer.analytic)];
    println!(
        "{set:9} {what:10} R² of the logarithm {:6.3} (analytic {:6.3}), R² {:6.3} ({:6.3}), median q-error {:.3} ({:.3})",
        mlp.log_r_squared,
        analytic.log_r_squared,
        mlp.r_squared,
        analytic.r_squared,
        mlp.median_q_error,
        analytic.median_q_error,
    );
    assert!(mlp.log_r_squared >= least, "{set} {what}");
    assert!(mlp.log_r_squared > analytic.log_r_squared, "{set} {what}");
}

#[test]
fn phoebe_latency_and_throughput_at_unseen_scale_outs() {
    let Some(measured) = phoebe() else { return };
    let answers = five_folds(&measured, false, &options());
    check("phoebe", "latency", |scores| scores.latency, &answers, 0.6);
    check("phoebe", "throughput", |scores| scores.throughput, &answers, 0.99);
}

#[test]
fn demeter_latency_and_throughput_of_unseen_configurations() {
    let Some(measured) = demeter() else { return };
    let answers = five_folds(&measured, false, &options());
    check("demeter", "latency", |scores| scores.latency, &answers, 0.6);
    check(
        "demeter",
        "throughput",
        |scores| scores.throughput,
        &answers,
        0.93,
    );
}

#[test]
fn zerotune_cpu_of_unseen_queries() {
    let Some(measured) = zerotune() else { return };
    let answers = five_folds(&measured, false, &options());
    check("zerotune", "cpu", |scores| scores.cpu, &answers, 0.0);
}

#[test]
fn phoebe_capacity_at_unseen_scale_outs() {
    let Some(folder) = data("phoebe") else { return };
    let points: Vec<(u32, f64)> = rows(&folder.join("profiles2.csv"))
        .iter()
        .filter(|row| row["isBckPres"] == "1")
        .map(|row| (row["scaleOut"].parse().unwrap(), number(row, "avgThr")))
        .collect();
    let pairs = (0..5).flat_map(|held_out| {
        let fold = |place: usize| place % 5 == held_out;
        let part = |wanted: bool| -> Vec<(u32, f64)> {
            (0..points.len())
                .filter(|&place| fold(place) == wanted)
                .map(|place| points[place])
                .collect()
        };
        let curve = CapacityCurve::fit(&part(false)).unwrap();
        part(true).into_iter().map(move |(parallelism, rate)| {
            let estimate = |throughput| OperatorEstimate {
                throughput,
                latency_ms: 0.0,
                cpu_cores: 0.0,
            };
            (estimate(rate), estimate(curve.capacity(parallelism)))
        })
    });
    let score = Scores::of(pairs).unwrap().throughput;
    println!("phoebe    capacity   {score:?}");
    assert!(score.r_squared > 0.98);
}

#[test]
fn profiled_operators_in_unseen_configurations() {
    let answers = five_folds(&profiled(), true, &options());
    check("profiled", "cpu", |scores| scores.cpu, &answers, 0.8);
}
