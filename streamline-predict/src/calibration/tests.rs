use proptest::prelude::*;

use super::*;
use crate::{LastValue, SeasonalNaive, WorkloadPredictor};

/// Forecasts a series from each point on, as a tuner does, and gives for each origin the forecast as applied, the rates
/// to provide, and what came.
fn rounds(
    predictor: &dyn WorkloadPredictor,
    series: &TimeSeries,
    steps: usize,
) -> Vec<(Forecast, Vec<f64>, Vec<f64>)> {
    let mut calibration = Calibration::new(steps);
    (1..series.len().saturating_sub(steps))
        .filter_map(|now| {
            let history = series.slice(0, now);
            let forecast = calibration.round(&history, &predictor.forecast(&history, steps).ok()?);
            let came = series.slice(now, now + steps).filled();
            let provided = calibration.provision(&forecast, 0.95);
            Some((forecast, provided, came))
        })
        .collect()
}

fn noise(points: usize, change: impl Fn(usize) -> f64) -> TimeSeries {
    use rand::{RngExt, SeedableRng};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(7);
    let values: Vec<f64> = (0..points)
        .map(|index| 1_000.0 + change(index) * rng.random_range(-1.0..1.0))
        .collect();
    TimeSeries::from_values(0, 300_000, &values).unwrap()
}

#[test]
fn provisions_hold_what_they_promise_although_the_noise_triples() {
    let series = noise(4_000, |index| if index < 2_000 { 50.0 } else { 150.0 });
    let rounds = rounds(&LastValue, &series, 12);
    for half in [500..2_000, 2_000..3_900] {
        let violated =
            |(_, provided, came): &&(Forecast, Vec<f64>, Vec<f64>)| largest(came, 12) > largest(provided, 12);
        let count = half.len() as f64;
        let share = rounds[half].iter().filter(violated).count() as f64 / count;
        assert!((0.03..0.08).contains(&share), "{share}");
    }
}

#[test]
fn bands_become_as_wide_as_what_comes_spreads() {
    /// Is sure of itself without reason.
    struct TooSure;
    impl WorkloadPredictor for TooSure {
        fn name(&self) -> &str {
            "too sure"
        }
        fn lookback(&self) -> usize {
            0
        }
        fn fit(&mut self, _history: &[TimeSeries]) -> Result<(), PredictError> {
            Ok(())
        }
        fn forecast(&self, history: &TimeSeries, horizon: usize) -> Result<Forecast, PredictError> {
            let steps = |value| vec![value; horizon];
            Forecast::new(
                history,
                steps(1_000.0),
                vec![0.1, 0.5, 0.9],
                vec![steps(990.0), steps(1_000.0), steps(1_010.0)],
            )
        }
    }
    let rounds = rounds(&TooSure, &noise(3_000, |_| 200.0), 6);
    let late = &rounds[1_500..];
    for level in [0.1, 0.9] {
        let below = |(forecast, _, came): &(Forecast, Vec<f64>, Vec<f64>)| {
            let pairs = came.iter().zip(forecast.quantile(level));
            pairs.filter(|(came, quantile)| *came <= quantile).count()
        };
        let covered = late.iter().map(below).sum::<usize>() as f64 / (6 * late.len()) as f64;
        assert!((covered - level).abs() < 0.02, "{covered}");
    }
}

#[test]
fn a_source_that_never_received_anything_needs_nothing() {
    let series = TimeSeries::from_values(0, 60_000, &[0.0; 300]).unwrap();
    let rounds = rounds(&LastValue, &series, 12);
    assert!(
        rounds
            .iter()
            .all(|(_, provided, _)| provided.iter().all(|&rate| rate == 0.0))
    );
}

#[test]
fn what_is_read_back_goes_on_alike_and_what_is_not_sound_is_refused() {
    let series = noise(200, |_| 50.0);
    let mut calibration = Calibration::default();
    for now in 1..150 {
        let history = series.slice(0, now);
        calibration.observe(&history);
        calibration.record(&LastValue.forecast(&history, 12).unwrap());
    }
    let written = serde_json::to_value(&calibration).unwrap();
    let mut read: Calibration = serde_json::from_value(written.clone()).unwrap();
    calibration.observe(&series);
    read.observe(&series);
    assert_eq!(read, calibration);
    for (place, value) in [
        ("/steps", 0.into()),
        ("/steps", 3.into()),
        ("/pending/0/step_ms", 0.into()),
        ("/pending/3/origin_ms", 0.into()),
        ("/pending/0/seen", 99.into()),
        ("/headroom/taken/2", 2.5.into()),
        ("/stretch/logs/1", (-9.0).into()),
    ] {
        let mut spoilt = written.clone();
        *spoilt.pointer_mut(place).unwrap() = value;
        assert!(serde_json::from_value::<Calibration>(spoilt).is_err(), "{place}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_comes_bands_stay_in_order_and_provisions_are_rates(
        values in proptest::collection::vec(
            prop_oneof![Just(None), Just(Some(0.0)), Just(Some(f64::MAX)), (0.0..1e6).prop_map(Some)],
            2..150,
        ),
        origins in proptest::collection::vec(1usize..150, 1..80),
        steps in 0usize..20,
        horizon in 0usize..20,
    ) {
        let series = TimeSeries::new(0, 3_600_000, values).unwrap();
        let predictor = SeasonalNaive::default();
        let mut calibration = Calibration::new(steps);
        for now in origins {
            let history = series.slice(0, now.min(series.len()));
            calibration.observe(&history);
            let Ok(forecast) = predictor.forecast(&history, horizon) else { continue };
            let applied = calibration.apply(&forecast);
            calibration.record(&applied);
            prop_assert_eq!(applied.point(), forecast.point());
            for level in [0.1, 0.9, 0.95, 2.0, f64::NAN] {
                let rates = calibration.provision(&applied, level);
                prop_assert_eq!(rates.len(), horizon);
                prop_assert!(rates.iter().all(|rate| rate.is_finite() && *rate >= 0.0));
            }
        }
        let written = serde_json::to_string(&calibration).unwrap();
        prop_assert_eq!(serde_json::from_str::<Calibration>(&written).unwrap(), calibration);
    }
}
