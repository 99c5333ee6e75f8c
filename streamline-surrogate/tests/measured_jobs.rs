//! Holds the surrogates against measured Flink jobs: five folds by configuration, everything (unit rates, constants,
//! networks) learned from the other four.
//!
//! The data sets are small and noisy, so the bounds below are what was reached, with room for other processors' last
//! bits; the printed table is the result.

#![allow(clippy::print_stdout, reason = "the printed table is the result")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(feature = "burn")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use streamline_core::{OperatorEstimate, OperatorKind};
use streamline_surrogate::{
    Analytic, AnalyticOptions, CapacityCurve, Mlp, MlpOptions, PerformanceSurrogate, Prediction, Query,
    Sample, Score, Scores,
};

/// The folder of measured data; none, with a line that says so, where it is not there.
fn data(folder: &str) -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data")).join(folder);
    if path.is_dir() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is missing", path.display());
    println!("skipped: {} is not there", path.display());
    None
}

/// Rows of a CSV file by column name.
fn rows(path: &std::path::Path) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_path(path)
        .unwrap()
        .into_deserialize()
        .map(Result::unwrap)
        .collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap_or(f64::NAN)
}

/// A sample, the group that must not be split between folds, and whether it ran as fast as it could.
struct Measured {
    sample: Sample,
    group: String,
    saturated: bool,
}

fn whole_job(parallelism: u32, input_rate: f64) -> Query {
    Query {
        kind: OperatorKind::Other,
        unit_rate: 1.0,
        parallelism,
        segment_bytes: 32 << 10,
        buffer_timeout_ms: 100,
        input_rate,
        selectivity: 0.1,
        record_bytes: 100.0,
        colocation_load: 1.0,
    }
}

/// Runs at a given rate, grouped by scale-out.
fn phoebe() -> Option<Vec<Measured>> {
    let rows = rows(&data("phoebe")?.join("profiles2.csv"));
    let start = |row: &BTreeMap<String, String>| (number(row, "startTs") / 60.0) as i64;
    // All scale-outs read the same topic at the same time: the middle of their throughputs is what arrived.
    let mut offered: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row["isBckPres"] == "0") {
        offered.entry(start(row)).or_default().push(number(row, "avgThr"));
    }
    for rates in offered.values_mut() {
        rates.sort_by(f64::total_cmp);
    }
    Some(
        rows.iter()
            .filter(|row| row["isBckPres"] == "0")
            .map(|row| {
                let rates = &offered[&start(row)];
                let throughput = number(row, "avgThr");
                let input_rate = rates[rates.len() / 2].max(throughput);
                Measured {
                    sample: Sample {
                        query: whole_job(row["scaleOut"].parse().unwrap(), input_rate),
                        measured: OperatorEstimate {
                            throughput,
                            latency_ms: number(row, "avgLat"),
                            cpu_cores: 1.0,
                        },
                    },
                    group: row["scaleOut"].clone(),
                    saturated: number(row, "avgLat") > 5000.0,
                }
            })
            .collect(),
    )
}

/// Profiled configurations: scale-out, and task slots that share the cores of a TaskManager.
fn demeter() -> Option<Vec<Measured>> {
    let folder = data("demeter")?;
    let mut measured = Vec::new();
    for run in 1..=3 {
        let rows = rows(&folder.join(format!("{run}_demeter_CARS_24_new__profiles.csv")));
        for row in &rows {
            // Profiles that ran together read the same topic; the fastest kept up with it.
            let offered = rows
                .iter()
                .filter(|other| other["startTs"] == row["startTs"])
                .map(|other| number(other, "avgThr"))
                .fold(0.0, f64::max);
            let mut query = whole_job(row["scaleOut"].parse().unwrap(), offered);
            query.colocation_load = number(row, "taskSlots") / number(row, "cpuVal");
            measured.push(Measured {
                sample: Sample {
                    query,
                    measured: OperatorEstimate {
                        throughput: number(row, "avgThr"),
                        latency_ms: number(row, "avgLat"),
                        cpu_cores: 1.0,
                    },
                },
                group: ["scaleOut", "chkInt", "cpuVal", "memVal", "taskSlots"]
                    .map(|column| row[column].as_str())
                    .join(" "),
                saturated: number(row, "avgLat") > 5000.0,
            });
        }
    }
    Some(measured)
}

/// The cpu of operators, whole queries held out.
fn zerotune() -> Option<Vec<Measured>> {
    let rows = rows(&data("zerotune")?.join("operator_instances.csv"));
    Some(
        rows.iter()
            .step_by(4)
            .filter_map(|row| {
                let parallelism: u32 = row["parallelism"].parse().ok()?;
                let output_rate = number(row, "output_rate");
                let input_rate = [number(row, "input_rate"), output_rate]
                    .into_iter()
                    .find(|rate| rate.is_finite())?;
                let p = f64::from(parallelism);
                Some(Measured {
                    sample: Sample {
                        query: Query {
                            kind: match row["operator_type"].as_str() {
                                "SourceOperator" => OperatorKind::Source,
                                "FilterOperator" => OperatorKind::Filter,
                                "WindowedJoinOperator" => OperatorKind::Join,
                                _ => OperatorKind::Window,
                            },
                            selectivity: (output_rate / input_rate.max(1e-3)).min(1e3),
                            ..whole_job(parallelism, p * input_rate)
                        },
                        measured: OperatorEstimate {
                            throughput: p * input_rate,
                            latency_ms: 1.0,
                            cpu_cores: number(row, "avg_cpu_load") / 100.0 * p,
                        },
                    },
                    group: format!("{} {}", row["group"], row["query"]),
                    saturated: false,
                })
            })
            .collect(),
    )
}

/// Sets the unit rate of all samples to what the saturated ones of the training folds show.
fn with_unit_rate<'a>(
    training: impl Iterator<Item = &'a Measured> + Clone,
    fallback: f64,
) -> impl Fn(&Measured) -> Sample {
    let mut rates: Vec<f64> = training
        .filter(|measured| measured.saturated)
        .map(|Measured { sample, .. }| {
            sample.measured.throughput * sample.query.colocation_load.max(1.0)
                / f64::from(sample.query.parallelism)
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    let unit_rate = rates.get(rates.len() / 2).copied().unwrap_or(fallback);
    move |measured| {
        let mut sample = measured.sample;
        sample.query.unit_rate = unit_rate;
        sample
    }
}

/// Pooled scores of the five folds: of the ensemble, and of the calibrated analytic model alone.
fn five_folds(measured: &[Measured], options: &MlpOptions) -> (Scores, Scores) {
    const FOLDS: usize = 5;
    let mut groups: Vec<&str> = measured.iter().map(|measured| measured.group.as_str()).collect();
    groups.sort_unstable();
    groups.dedup();
    // Neighbours in the order of names fall into different folds.
    let fold = |measured: &Measured| {
        let place = groups.binary_search(&measured.group.as_str());
        place.map_or(0, |place| place % FOLDS)
    };
    let (mut learned, mut analytic) = (Vec::new(), Vec::new());
    for held_out in 0..FOLDS {
        let training = measured.iter().filter(|measured| fold(measured) != held_out);
        let finished = with_unit_rate(training.clone(), 1e6);
        let training: Vec<Sample> = training.map(&finished).collect();
        let testing: Vec<Sample> = measured
            .iter()
            .filter(|measured| fold(measured) == held_out)
            .map(&finished)
            .collect();
        let model = Mlp::fit(&training, options).unwrap();
        let plain = Analytic::fit(&training, &AnalyticOptions::default()).unwrap();
        for (surrogate, pairs) in [
            (&model as &dyn PerformanceSurrogate, &mut learned),
            (&plain, &mut analytic),
        ] {
            let queries: Vec<Query> = testing.iter().map(|sample| sample.query).collect();
            let mut out = vec![Prediction::ZERO; queries.len()];
            surrogate.predict(&queries, &mut out).unwrap();
            pairs.extend(testing.iter().zip(&out).map(|(sample, out)| {
                // The cpu of one subtask: that of all would be met by counting them.
                let p = f64::from(sample.query.parallelism);
                let each = |estimate: OperatorEstimate| OperatorEstimate {
                    cpu_cores: estimate.cpu_cores / p,
                    ..estimate
                };
                (each(sample.measured), each(out.estimate))
            }));
        }
    }
    (Scores::of(learned).unwrap(), Scores::of(analytic).unwrap())
}

fn options() -> MlpOptions {
    MlpOptions {
        test_share: 0.0,
        ..MlpOptions::default()
    }
}

/// Prints a row of the table, and holds the ensemble to a least R² of the logarithm and to the analytic model's.
fn check(set: &str, what: &str, value: fn(&Scores) -> Score, scores: &(Scores, Scores), least: f64) {
    let [mlp, analytic] = [value(&scores.0), value(&scores.1)];
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
    let scores = five_folds(&measured, &options());
    check("phoebe", "latency", |scores| scores.latency, &scores, 0.6);
    check("phoebe", "throughput", |scores| scores.throughput, &scores, 0.99);
}

#[test]
fn demeter_latency_and_throughput_of_unseen_configurations() {
    let Some(measured) = demeter() else { return };
    let scores = five_folds(&measured, &options());
    check("demeter", "latency", |scores| scores.latency, &scores, 0.6);
    check("demeter", "throughput", |scores| scores.throughput, &scores, 0.93);
}

#[test]
fn zerotune_cpu_of_unseen_queries() {
    let Some(measured) = zerotune() else { return };
    let scores = five_folds(&measured, &options());
    check("zerotune", "cpu", |scores| scores.cpu, &scores, 0.0);
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
