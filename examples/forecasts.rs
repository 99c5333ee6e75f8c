//! How well each predictor forecasts loads that it has not seen, on measured traces or generated ones.
//!
//! Each is fitted on the older four fifths of a trace and forecasts 24 steps from every point of the rest, with bands and
//! capacity (to suffice for the next 12 steps with probability 0.95) calibrated by what came before. Prints a row for each
//! trace and predictor and a table over all, and draws two pictures for each trace.

#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

mod support;

use std::cmp::Ordering;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use serde::Serialize;
use streamline_core::TimeSeries;
use streamline_flink::LoadShape;
use streamline_predict::{
    BacktestOptions, BacktestReport, Baseline, Calibration, Combination, Forecast, LastValue, Ridge,
    SeasonalNaive, Transformer, TransformerOptions, WorkloadPredictor, backtest,
};
use streamline_tuner::{TraceColumns, plot_forecast, plot_series, read_trace};
use support::arguments::finish;

/// Compares predictors on loads that they have not seen
#[derive(Debug, Parser)]
struct Options {
    /// CSV files with columns `date` and `messages`, or folders of them (`baseline_*` are left out); without any, two loads
    /// are generated
    traces: Vec<PathBuf>,
    /// Folder to write pictures to
    #[arg(long, default_value = "out", value_name = "FOLDER")]
    out: PathBuf,
    /// Folder to write the traces to, as `TRACE.csv`, and the forecasts from every fourth point, as `TRACE.PREDICTOR.csv`
    #[arg(long, value_name = "FOLDER")]
    dump: Option<PathBuf>,
    /// Fail unless what the documentation says of the combination holds
    #[arg(long)]
    check: bool,
    /// Generate shorter loads
    #[arg(long)]
    quick: bool,
}

const DAY_MS: u64 = 86_400_000;
const LEVEL: f64 = 0.95;
const STEPS: usize = 24;
const PREDICTORS: [&str; 6] = [
    "last value",
    "last day",
    "ridge",
    "transformer on ridge",
    "transformer on last value",
    "combination",
];
/// Where the ridge regression and the combination stand among the predictors.
const RIDGE: usize = 2;
const COMBINATION: usize = 5;

fn main() -> ExitCode {
    finish(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(&options.out)?;
    if let Some(folder) = &options.dump {
        std::fs::create_dir_all(folder)?;
    }
    let traces = traces(options)?;
    println!(
        "{:>20} {:>26} {} {:>6}",
        "trace",
        "predictor",
        BacktestReport::HEAD,
        "fit s"
    );
    let mut reports = Vec::with_capacity(traces.len());
    for (name, series) in &traces {
        reports.push(compare(name, series, options)?);
    }
    println!("pictures are in {}\n", options.out.display());
    let failed = summarise(&reports);
    if options.check && !failed.is_empty() {
        return Err(format!("expected less of the combination: {}", failed.join(", ")).into());
    }
    Ok(())
}

/// Prints what each predictor is worth over all traces, and gives what does not hold of the combination.
fn summarise(reports: &[Vec<BacktestReport>]) -> Vec<String> {
    println!(
        "{:>26} {:>14} {:>9} {:>7} {:>9} {:>7}",
        "predictor", "error by ridge", "at worst", "under", "at worst", "over"
    );
    let mut failed = Vec::new();
    for (predictor, name) in PREDICTORS.into_iter().enumerate() {
        let of = |value: &dyn Fn(&[BacktestReport]) -> f64| -> Vec<f64> {
            reports.iter().map(|reports| value(reports)).collect()
        };
        let errors = of(&|reports| reports[predictor].mase / reports[RIDGE].mase);
        let under = of(&|reports| reports[predictor].under_provisioned);
        let over = of(&|reports| reports[predictor].over_provision);
        let figures = [
            geometric_mean(&errors),
            largest(&errors),
            under.iter().sum::<f64>() / under.len() as f64,
            largest(&under),
            geometric_mean(&over),
        ];
        let [error, worst, violations, worst_violations, over] = figures;
        println!(
            "{name:>26} {error:>14.3} {worst:>9.3} {violations:>7.4} {worst_violations:>9.4} {over:>7.4}"
        );
        if predictor == COMBINATION {
            let limits = [0.82, 1.02, 0.06, 0.08, 0.095];
            let what = [
                "error",
                "worst error",
                "violations",
                "worst violations",
                "over-provision",
            ];
            for ((figure, limit), what) in figures.into_iter().zip(limits).zip(what) {
                // Also where it is NaN.
                if !matches!(figure.partial_cmp(&limit), Some(Ordering::Less | Ordering::Equal)) {
                    failed.push(format!("{what} {figure:.4}, not {limit}"));
                }
            }
        }
    }
    failed
}

fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::MIN, f64::max)
}

/// How each predictor does on a trace.
fn compare(
    name: &str,
    series: &TimeSeries,
    options: &Options,
) -> Result<Vec<BacktestReport>, Box<dyn Error>> {
    let step = Duration::from_millis(series.step_ms());
    let backtesting = BacktestOptions {
        horizon: STEPS,
        period: Some(usize::try_from(DAY_MS / series.step_ms())?),
        level: LEVEL,
        ..BacktestOptions::default()
    };
    let held_back = (series.len() as f64 * backtesting.share).round() as usize;
    let first = series.len() - held_back;
    let seen = series.slice(0, first);
    let transformer = |baseline| {
        Transformer::new(TransformerOptions {
            baseline,
            ..TransformerOptions::for_step(step)
        })
    };
    let predictors: [Box<dyn WorkloadPredictor>; PREDICTORS.len()] = [
        Box::new(LastValue),
        Box::new(SeasonalNaive::default()),
        Box::new(Ridge::default()),
        Box::new(transformer(Baseline::Ridge)?),
        Box::new(transformer(Baseline::LastValue)?),
        Box::new(Combination::for_step(step)?),
    ];
    if let Some(folder) = &options.dump {
        let mut file = csv::Writer::from_path(folder.join(format!("{name}.csv")))?;
        for (index, value) in series.iter().enumerate() {
            file.serialize(Point { index, value })?;
        }
        file.flush()?;
    }
    let mut reports = Vec::with_capacity(PREDICTORS.len());
    for (index, (mut predictor, label)) in predictors.into_iter().zip(PREDICTORS).enumerate() {
        let begun = Instant::now();
        predictor.fit(std::slice::from_ref(&seen))?;
        let seconds = begun.elapsed().as_secs_f64();
        let report = backtest(predictor.as_ref(), series, &backtesting)?;
        println!("{name:>20} {label:>26} {report} {seconds:>6.1}");
        reports.push(report);
        if index == COMBINATION || options.dump.is_some() {
            let rounds = live(predictor.as_ref(), series, first)?;
            if index == COMBINATION {
                draw(name, series, first, &rounds, &options.out)?;
            }
            if let Some(folder) = &options.dump {
                dump(&folder.join(format!("{name}.{label}.csv")), first, &rounds)?;
            }
        }
    }
    Ok(reports)
}

/// A forecast from every point, and the capacity to be provided, as in a tuner.
fn live(
    predictor: &dyn WorkloadPredictor,
    series: &TimeSeries,
    first: usize,
) -> Result<Vec<(Forecast, f64)>, Box<dyn Error>> {
    let mut calibration: Calibration = predictor.calibration().cloned().unwrap_or_default();
    let mut rounds = Vec::new();
    for origin in first..=series.len().saturating_sub(STEPS) {
        let history = series.slice(0, origin);
        let forecast = calibration.round(&history, &predictor.forecast(&history, STEPS)?);
        let rates = calibration.provision(&forecast, LEVEL);
        rounds.push((forecast, largest(&rates[..STEPS / 2])));
    }
    Ok(rounds)
}

/// One forecast with its band, and the whole time with what was expected an hour before and what was provided.
fn draw(
    name: &str,
    series: &TimeSeries,
    first: usize,
    rounds: &[(Forecast, f64)],
    out: &Path,
) -> Result<(), Box<dyn Error>> {
    let middle = rounds.len() / 2;
    let origin = first + middle;
    let day = usize::try_from(DAY_MS / series.step_ms())?;
    let past = series.slice(origin.saturating_sub(day), origin);
    let came = series.slice(origin, origin + STEPS);
    let (forecast, _) = &rounds[middle];
    let title = format!("{name}: a forecast and what came");
    plot_forecast(
        &out.join(format!("{name}_forecast.svg")),
        &title,
        &past,
        forecast,
        Some(&came),
    )?;

    // From a forecast's origin on, capacity is for the next steps; its last step stands for the time that it is for.
    let ahead = STEPS / 2;
    let expected: Vec<f64> = rounds
        .iter()
        .map(|(forecast, _)| forecast.point()[ahead - 1])
        .collect();
    let capacity: Vec<f64> = rounds.iter().map(|&(_, capacity)| capacity).collect();
    let starting =
        |at: usize, values: &[f64]| TimeSeries::from_values(series.time_ms(at), series.step_ms(), values);
    plot_series(
        &out.join(format!("{name}_provisioned.svg")),
        &format!("{name}: load, the forecast {ahead} steps before, and capacity"),
        "messages",
        &[
            ("load", &series.slice(first, series.len())),
            ("expected", &starting(first + ahead - 1, &expected)?),
            ("capacity", &starting(first, &capacity)?),
        ],
    )?;
    Ok(())
}

/// A point of a trace on its grid, for other programs.
#[derive(Serialize)]
struct Point {
    index: usize,
    /// None in a gap.
    value: Option<f64>,
}

/// A step of a forecast, for other programs.
#[derive(Serialize)]
struct Row {
    /// Index of the first point that is forecast.
    origin: usize,
    /// From 1.
    step: usize,
    point: f64,
    q10: f64,
    q50: f64,
    q90: f64,
    q95: f64,
    q99: f64,
}

fn dump(path: &Path, first: usize, rounds: &[(Forecast, f64)]) -> Result<(), Box<dyn Error>> {
    const EVERY: usize = 4;
    let mut file = csv::Writer::from_path(path)?;
    for (index, (forecast, _)) in rounds.iter().enumerate().step_by(EVERY) {
        let [q10, q50, q90, q95, q99] = [0.1, 0.5, 0.9, 0.95, 0.99].map(|level| forecast.quantile(level));
        for step in 0..STEPS {
            file.serialize(Row {
                origin: first + index,
                step: step + 1,
                point: forecast.point()[step],
                q10: q10[step],
                q50: q50[step],
                q90: q90[step],
                q95: q95[step],
                q99: q99[step],
            })?;
        }
    }
    file.flush()?;
    Ok(())
}

/// The traces that were named, or generated ones.
fn traces(options: &Options) -> Result<Vec<(String, TimeSeries)>, Box<dyn Error>> {
    if options.traces.is_empty() {
        let days = if options.quick { 4 } else { 14 };
        let generated = |shape: LoadShape| shape.days(days, 900_000, 10_000.0, 1);
        return Ok(vec![
            ("day_and_night".into(), generated(LoadShape::DayAndNight)?),
            ("bursty".into(), generated(LoadShape::Bursty)?),
        ]);
    }
    let mut files = Vec::new();
    for path in &options.traces {
        if path.is_dir() {
            for entry in std::fs::read_dir(path)? {
                files.extend(Some(entry?.path()).filter(|file| is_trace(file)));
            }
        } else {
            files.push(path.clone());
        }
    }
    if files.is_empty() {
        return Err("no trace in the folders: expected files like NAME.csv".into());
    }
    files.sort();
    let mut traces = Vec::with_capacity(files.len());
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        traces.push((name.into_owned(), read_trace(&file, &TraceColumns::default())?));
    }
    Ok(traces)
}

/// Whether a file of a folder is a trace and not a table of somebody's forecasts.
fn is_trace(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".csv") && !name.starts_with("baseline_")
}
