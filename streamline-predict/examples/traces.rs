//! How well each predictor forecasts measured loads that it has not seen.
//!
//! `cargo run --release -p streamline-predict --example traces -- FOLDER` reads every `NAME_5min.csv` and `NAME_15min.csv` in
//! the folder (a head, then `YYYY-MM-DD hh:mm:ss,value`), fits on the older four fifths of each and forecasts two hours and
//! more, 24 steps, from every fourth point of the rest. It ends with exit code 0 only where the combination's mean absolute
//! scaled error is at most 0.82 of ridge regression's on the geometric mean.

#![allow(clippy::print_stdout, reason = "an example speaks to its reader")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use streamline_core::TimeSeries;
use streamline_predict::{
    BacktestOptions, Baseline, Combination, LastValue, Ridge, SeasonalNaive, Transformer, TransformerOptions,
    WorkloadPredictor, backtest,
};

const AT_MOST: f64 = 0.82;
const DAY_S: u64 = 86_400;
/// Where the ridge regression and the combination stand among the models.
const RIDGE: usize = 2;
const COMBINATION: usize = 5;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let folder = std::env::args_os()
        .nth(1)
        .ok_or("expected a folder with traces")?;
    let traces = traces(Path::new(&folder))?;
    if traces.is_empty() {
        return Err("no NAME_5min.csv or NAME_15min.csv in the folder".into());
    }
    println!(
        "{:>20} {:>24} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>6}",
        "trace",
        "model",
        "origins",
        "refused",
        "wape",
        "mase",
        "p50",
        "p90",
        "p95",
        "cover",
        "under",
        "over",
        "fit s"
    );
    let (mut logs, mut worst) = ([0.0; COMBINATION + 1], f64::MIN);
    for trace in &traces {
        let errors = compare(trace)?;
        for (log, error) in logs.iter_mut().zip(&errors) {
            *log += (error / errors[RIDGE]).ln() / traces.len() as f64;
        }
        worst = worst.max(errors[COMBINATION] / errors[RIDGE]);
    }
    let ratios = logs.map(f64::exp);
    println!(
        "error by that of ridge regression, geometric mean: last value {:.3}, last day {:.3}, transformer on ridge {:.3}, \
         transformer on the last value {:.3}, combination {:.3} (at worst {worst:.3})",
        ratios[0], ratios[1], ratios[3], ratios[4], ratios[COMBINATION]
    );
    Ok(if ratios[COMBINATION] <= AT_MOST {
        ExitCode::SUCCESS
    } else {
        println!("expected at most {AT_MOST} for the combination");
        ExitCode::FAILURE
    })
}

/// The mean absolute scaled error of each model.
fn compare(trace: &Trace) -> Result<Vec<f64>, Box<dyn Error>> {
    let series = &read(&trace.path, trace.minutes)?;
    let step = Duration::from_secs(60 * trace.minutes);
    let options = BacktestOptions {
        every: 4,
        period: Some(usize::try_from(DAY_S / step.as_secs())?),
        ..BacktestOptions::default()
    };
    let held_back = (series.len() as f64 * options.share).round() as usize;
    let seen = series.slice(0, series.len() - held_back);
    let transformer = |baseline| {
        Transformer::new(TransformerOptions {
            baseline,
            ..TransformerOptions::for_step(step)
        })
    };
    let mut on_ridge = transformer(Baseline::Ridge)?;
    let mut on_last_value = transformer(Baseline::LastValue)?;
    let mut combination = Combination::for_step(step)?;
    let models: [(&str, &mut dyn WorkloadPredictor); COMBINATION + 1] = [
        ("last value", &mut LastValue),
        ("last day", &mut SeasonalNaive::default()),
        ("ridge", &mut Ridge::default()),
        ("transformer, ridge", &mut on_ridge),
        ("transformer, last value", &mut on_last_value),
        ("combination", &mut combination),
    ];
    let mut errors = Vec::with_capacity(models.len());
    for (model, predictor) in models {
        let begun = Instant::now();
        predictor.fit(std::slice::from_ref(&seen))?;
        let seconds = begun.elapsed().as_secs_f64();
        let report = backtest(predictor, series, &options)?;
        println!(
            "{:>20} {model:>24} {report} {seconds:>6.1}",
            format!("{} {} min", trace.name, trace.minutes)
        );
        errors.push(report.mase);
    }
    Ok(errors)
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Trace {
    name: String,
    /// From point to point.
    minutes: u64,
    path: PathBuf,
}

fn traces(folder: &Path) -> Result<Vec<Trace>, Box<dyn Error>> {
    let mut traces = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(file) = path.file_name().and_then(|file| file.to_str()) else {
            continue;
        };
        for minutes in [5, 15] {
            if let Some(name) = file.strip_suffix(&format!("_{minutes}min.csv"))
                && !name.starts_with("baseline_")
            {
                traces.push(Trace {
                    name: name.to_owned(),
                    minutes,
                    path: path.clone(),
                });
            }
        }
    }
    traces.sort();
    Ok(traces)
}

fn read(path: &Path, minutes: u64) -> Result<TimeSeries, Box<dyn Error>> {
    let text = std::fs::read_to_string(path)?;
    let mut samples = Vec::new();
    for line in text.lines().skip(1) {
        let (date, value) = line.split_once(',').ok_or("expected a time and a value")?;
        samples.push((
            time_ms(date).ok_or("expected YYYY-MM-DD hh:mm:ss")?,
            value.trim().parse()?,
        ));
    }
    Ok(TimeSeries::from_samples(&samples, minutes * 60_000)?)
}

/// Milliseconds since the epoch, by the days of the civil calendar.
fn time_ms(date: &str) -> Option<i64> {
    let part = |range: std::ops::Range<usize>| date.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (part(0..4)?, part(5..7)?, part(8..10)?);
    // Years that begin in March, so that the leap day comes last.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469;
    Some(((days * 24 + part(11..13)?) * 60 + part(14..16)?) * 60_000)
}
