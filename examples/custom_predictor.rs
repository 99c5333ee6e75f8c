//! A predictor of one's own, compared with those of the crate.
//!
//! `cargo run --release --example custom_predictor`

#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

use std::error::Error;
use std::f64::consts::TAU;

use streamline_core::TimeSeries;
use streamline_predict::{
    BacktestOptions, Forecast, LastValue, PredictError, Ridge, SeasonalNaive, WorkloadPredictor, backtest,
};

/// The mean of the newest points, with a band as wide as they spread.
struct MovingAverage {
    points: usize,
}

impl WorkloadPredictor for MovingAverage {
    fn name(&self) -> &str {
        "moving average"
    }

    fn lookback(&self) -> usize {
        1
    }

    fn fit(&mut self, _history: &[TimeSeries]) -> Result<(), PredictError> {
        Ok(()) // nothing to learn
    }

    fn forecast(&self, history: &TimeSeries, horizon: usize) -> Result<Forecast, PredictError> {
        // Gaps are left out rather than counted as no load.
        let newest: Vec<f64> = history.tail(self.points).iter().flatten().collect();
        if newest.is_empty() {
            return Err(PredictError::HistoryTooShort { given: 0, needed: 1 });
        }
        let mean = newest.iter().sum::<f64>() / newest.len() as f64;
        let least = newest.iter().copied().fold(f64::MAX, f64::min);
        let largest = newest.iter().copied().fold(f64::MIN, f64::max);
        let steps = |value| vec![value; horizon];
        Forecast::new(
            history,
            steps(mean),
            vec![0.1, 0.5, 0.9],
            vec![steps(least), steps(mean), steps(largest)],
        )
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // Ten days of records per second, a point every quarter of an hour, busier by day, with a wobble.
    let values: Vec<f64> = (0..960)
        .map(|i| {
            let day = f64::from(i) / 96.0;
            1_000.0 * (3.0 - 2.0 * (day * TAU).cos() + 0.2 * (day * 13.7 * TAU).sin())
        })
        .collect();
    let series = TimeSeries::from_values(0, 900_000, &values)?;
    let seen = series.slice(0, 768);

    let mut predictors: Vec<Box<dyn WorkloadPredictor>> = vec![
        Box::new(MovingAverage { points: 4 }),
        Box::new(LastValue),
        Box::new(SeasonalNaive::default()),
        Box::new(Ridge::default()),
    ];
    let options = BacktestOptions {
        horizon: 8,
        period: Some(96),
        ..BacktestOptions::default()
    };
    println!("two hours ahead        WAPE   below the 0.9 quantile");
    for predictor in &mut predictors {
        predictor.fit(std::slice::from_ref(&seen))?;
        let report = backtest(predictor.as_ref(), &series, &options)?;
        let (error, coverage) = (100.0 * report.wape, 100.0 * report.coverage);
        println!("{:<18} {error:>6.1} % {coverage:>8.1} %", predictor.name());
    }
    Ok(())
}
