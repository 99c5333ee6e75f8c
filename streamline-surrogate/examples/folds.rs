//! Prints what the ensemble and the analytic model say of measured operators that are held out, as CSV: to hold other models
//! against on the same folds. Sets of measurements that are not on this machine are left out.

#![allow(clippy::unwrap_used, reason = "shared with tests")]

#[path = "../tests/measured/mod.rs"]
mod measured;

use std::error::Error;

use measured::{Answer, Measured, demeter, five_folds, options, phoebe, profiled, zerotune};
use streamline_core::OperatorEstimate;

const COLUMNS: [&str; 20] = [
    "set",
    "fold",
    "kind",
    "unit_rate",
    "parallelism",
    "segment_bytes",
    "buffer_timeout_ms",
    "input_rate",
    "selectivity",
    "record_bytes",
    "colocation_load",
    "throughput",
    "latency",
    "cpu",
    "ours throughput",
    "ours latency",
    "ours cpu",
    "analytic throughput",
    "analytic latency",
    "analytic cpu",
];

fn main() -> Result<(), Box<dyn Error>> {
    let sets = [
        ("profiled", true, Some(profiled())),
        ("phoebe", false, phoebe()),
        ("demeter", false, demeter()),
        ("zerotune", false, zerotune()),
    ];
    let mut out = csv::Writer::from_writer(std::io::stdout());
    out.write_record(COLUMNS)?;
    for (set, known, measured) in sets {
        let measured: Vec<Measured> = measured.unwrap_or_default();
        if !measured.is_empty() {
            for answer in five_folds(&measured, known, &options()) {
                out.write_record(record(set, &answer))?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

fn record(set: &str, answer: &Answer) -> Vec<String> {
    let query = &answer.query;
    let numbers = [
        query.unit_rate,
        f64::from(query.parallelism),
        f64::from(query.segment_bytes),
        f64::from(query.buffer_timeout_ms),
        query.input_rate,
        query.selectivity,
        query.record_bytes,
        query.colocation_load,
    ];
    let quantities =
        |estimate: &OperatorEstimate| [estimate.throughput, estimate.latency_ms, estimate.cpu_cores];
    let estimates = [&answer.measured, &answer.learned, &answer.analytic].map(quantities);
    let words = [
        set.to_owned(),
        answer.fold.to_string(),
        format!("{:?}", query.kind),
    ];
    let numbers = numbers.into_iter().chain(estimates.into_iter().flatten());
    words
        .into_iter()
        .chain(numbers.map(|number| number.to_string()))
        .collect()
}
