//! Measured Flink jobs, and what surrogates say of each of them that learned from the others.
#![allow(dead_code, reason = "each user takes its own part")]
#![allow(clippy::print_stderr, reason = "whoever runs it is told what is left out")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use streamline_core::{OperatorEstimate, OperatorKind};
use streamline_surrogate::{
    Analytic, AnalyticOptions, Mlp, MlpOptions, PerformanceSurrogate, Prediction, Query, Sample, read_samples,
};

/// The folder of measured data; none, with a line that says so, where it is not there.
pub(crate) fn data(folder: &str) -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data")).join(folder);
    if path.is_dir() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is missing", path.display());
    eprintln!("skipped: {} is not there", path.display());
    None
}

/// Rows of a CSV file by column name.
pub(crate) fn rows(path: &std::path::Path) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_path(path)
        .unwrap()
        .into_deserialize()
        .map(Result::unwrap)
        .collect()
}

pub(crate) fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap_or(f64::NAN)
}

/// A sample, the group that must not be split between folds, and whether it ran as fast as it could.
pub(crate) struct Measured {
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
pub(crate) fn phoebe() -> Option<Vec<Measured>> {
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
pub(crate) fn demeter() -> Option<Vec<Measured>> {
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
pub(crate) fn zerotune() -> Option<Vec<Measured>> {
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

/// Operators of the profiled job, grouped by what can be set of them.
pub(crate) fn profiled() -> Vec<Measured> {
    let samples = read_samples(include_bytes!("../../data/flink_2_3.csv").as_slice()).unwrap();
    let measured = |sample: Sample| {
        let query = &sample.query;
        let setting = (query.parallelism, query.segment_bytes, query.buffer_timeout_ms);
        Measured {
            group: format!("{:?} {setting:?}", query.kind),
            saturated: false,
            sample,
        }
    };
    samples.into_iter().map(measured).collect()
}

/// What was said of a sample by those that learned from the other folds. Cpu is that of one subtask: that of all would be met
/// by counting them.
pub(crate) struct Answer {
    pub(crate) fold: usize,
    pub(crate) query: Query,
    pub(crate) measured: OperatorEstimate,
    pub(crate) learned: OperatorEstimate,
    pub(crate) analytic: OperatorEstimate,
}

/// Answers on five folds, of the ensemble and of the calibrated analytic model alone. `unit_rate` of all samples is what the
/// saturated ones of the training folds show, unless it is `known`.
pub(crate) fn five_folds(measured: &[Measured], known: bool, options: &MlpOptions) -> Vec<Answer> {
    const FOLDS: usize = 5;
    let mut groups: Vec<&str> = measured.iter().map(|measured| measured.group.as_str()).collect();
    groups.sort_unstable();
    groups.dedup();
    // Neighbours in the order of names fall into different folds.
    let fold = |measured: &Measured| {
        let place = groups.binary_search(&measured.group.as_str());
        place.map_or(0, |place| place % FOLDS)
    };
    let mut answers = Vec::new();
    for held_out in 0..FOLDS {
        let training = measured.iter().filter(|measured| fold(measured) != held_out);
        let estimated = with_unit_rate(training.clone(), 1e6);
        let finished = |measured: &Measured| {
            if known {
                measured.sample
            } else {
                estimated(measured)
            }
        };
        let training: Vec<Sample> = training.map(finished).collect();
        let testing: Vec<Sample> = measured
            .iter()
            .filter(|measured| fold(measured) == held_out)
            .map(finished)
            .collect();
        let queries: Vec<Query> = testing.iter().map(|sample| sample.query).collect();
        let ask = |surrogate: &dyn PerformanceSurrogate| {
            let mut out = vec![Prediction::ZERO; queries.len()];
            surrogate.predict(&queries, &mut out).unwrap();
            out
        };
        let learned = ask(&Mlp::fit(&training, options).unwrap());
        let analytic = ask(&Analytic::fit(&training, &AnalyticOptions::default()).unwrap());
        for ((sample, learned), analytic) in testing.iter().zip(learned).zip(analytic) {
            let p = f64::from(sample.query.parallelism);
            let each = |estimate: OperatorEstimate| OperatorEstimate {
                cpu_cores: estimate.cpu_cores / p,
                ..estimate
            };
            answers.push(Answer {
                fold: held_out,
                query: sample.query,
                measured: each(sample.measured),
                learned: each(learned.estimate),
                analytic: each(analytic.estimate),
            });
        }
    }
    answers
}

pub(crate) fn options() -> MlpOptions {
    MlpOptions {
        test_share: 0.0,
        ..MlpOptions::default()
    }
}
