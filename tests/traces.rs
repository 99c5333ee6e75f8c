//! Forecasts of measured arrival rates, on the newest fifth of each trace, which nothing was fitted on.

#![expect(clippy::unwrap_used, reason = "the data are known")]

use std::path::Path;
use std::time::Instant;

use streamline_core::TimeSeries;
use streamline_predict::{
    BacktestOptions, BacktestReport, Combination, LastValue, Ridge, RidgeOptions, SeasonalNaive,
    WorkloadPredictor, backtest,
};
use streamline_tuner::{TraceColumns, read_trace};

const DAY_MS: usize = 86_400_000;

/// The trace on a regular grid; none where the data are not at hand.
fn trace(name: &str, minutes: u64) -> Option<TimeSeries> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/traces");
    let path = folder.join(format!("{name}_{minutes}min.csv"));
    if !path.exists() {
        assert!(
            std::env::var_os("CI").is_none(),
            "the traces are missing in {}",
            folder.display()
        );
        return None;
    }
    Some(read_trace(&path, &TraceColumns::default()).unwrap())
}

#[test]
fn ridge_beats_the_last_value_and_the_last_day_on_measured_loads() {
    let names = [
        ("IoT", 5),
        ("wiki_en", 5),
        ("taxi", 5),
        ("alibaba", 5),
        ("elb", 5),
        ("twitter_goog", 5),
        ("IoT", 15),
        ("wiki_en", 15),
        ("taxi", 15),
        ("alibaba", 15),
    ];
    println!(
        "{:>15} {:>6} {:>14} {} {:>7}",
        "trace",
        "steps",
        "model",
        BacktestReport::HEAD,
        "fit s"
    );
    for horizon in [1, 12, 24] {
        // Logarithms of MASE: last value, last day, ridge, combination.
        let mut logs = [0.0; 4];
        for (name, minutes) in names {
            let Some(series) = trace(name, minutes) else {
                println!("skipped: the traces are not at hand");
                return;
            };
            let options = BacktestOptions {
                horizon,
                every: 12,
                period: Some(DAY_MS / (minutes as usize * 60_000)),
                ..BacktestOptions::default()
            };
            let seen = series.slice(
                0,
                series.len() - (series.len() as f64 * options.share).round() as usize,
            );
            let mut ridge = Ridge::new(RidgeOptions::default()).unwrap();
            let start = Instant::now();
            ridge.fit(std::slice::from_ref(&seen)).unwrap();
            let seconds = start.elapsed().as_secs_f64();
            let mut combination = Combination::default();
            combination.fit(&[seen]).unwrap();
            let last_day = SeasonalNaive::default();
            let models: [&dyn WorkloadPredictor; 4] = [&LastValue, &last_day, &ridge, &combination];
            for (model, log) in models.into_iter().zip(&mut logs) {
                let report = backtest(model, &series, &options).unwrap();
                println!(
                    "{:>15} {horizon:>6} {:>14} {report} {seconds:>7.2}",
                    format!("{name} {minutes}"),
                    model.name()
                );
                *log += report.mase.ln() / names.len() as f64;
            }
        }
        let [last_value, last_day, ridge, combination] = logs.map(f64::exp);
        println!(
            "{horizon} steps: last value {last_value:.3}, last day {last_day:.3}, ridge {ridge:.3}, combination {combination:.3}"
        );
        assert!(combination < 0.95 * last_day.min(last_value));
        assert!(ridge < 0.9 * last_day.min(last_value) || (horizon == 1 && ridge < last_value));
    }
}
