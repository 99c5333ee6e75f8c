use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn tiny() -> RidgeOptions {
    RidgeOptions {
        lags: 4,
        horizon: 3,
        period: Some(Duration::from_millis(12)),
        around: 1,
        ..RidgeOptions::default()
    }
}

fn fitted(history: &[TimeSeries]) -> Ridge {
    let mut model = Ridge::new(tiny()).unwrap();
    model.fit(history).unwrap();
    model
}

fn wave(points: usize) -> Vec<f64> {
    (0..points)
        .map(|index| 100.0 + 0.05 * index as f64 + 30.0 * (index as f64 * std::f64::consts::TAU / 12.0).sin())
        .collect()
}

#[test]
fn a_pattern_on_a_slope_is_forecast_far_beyond_the_trained_horizon() {
    let values = wave(400);
    let series = TimeSeries::from_values(0, 1, &values).unwrap();
    let forecast = fitted(&[series.slice(0, 350)])
        .forecast(&series.slice(0, 350), 30)
        .unwrap();
    for (forecast, value) in forecast.point().iter().zip(&values[350..]) {
        approx::assert_relative_eq!(*forecast, *value, max_relative = 0.02);
    }
}

#[test]
fn forecasts_scale_with_their_series() {
    let values = wave(300);
    let series = TimeSeries::from_values(0, 1, &values).unwrap();
    let model = fitted(std::slice::from_ref(&series));
    let plain = model.forecast(&series, 5).unwrap();
    let scaled: Vec<f64> = values.iter().map(|value| value * 1e9).collect();
    let scaled = model
        .forecast(&TimeSeries::from_values(0, 1, &scaled).unwrap(), 5)
        .unwrap();
    for level in [0.1, 0.5, 0.99] {
        for (plain, scaled) in plain.quantile(level).iter().zip(scaled.quantile(level)) {
            approx::assert_relative_eq!(plain * 1e9, scaled, max_relative = 1e-9);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_forgotten() {
    let series = TimeSeries::from_values(0, 1, &wave(200)).unwrap();
    let mut model = Ridge::new(tiny()).unwrap();
    assert!(matches!(
        model.forecast(&series, 1),
        Err(PredictError::NotFitted { .. })
    ));
    model.fit(std::slice::from_ref(&series)).unwrap();
    let before = model.forecast(&series, 4).unwrap();
    for bad in [vec![], vec![series.slice(0, 6)], vec![series.slice(0, 0)]] {
        assert!(matches!(
            model.fit(&bad),
            Err(PredictError::HistoryTooShort { .. })
        ));
    }
    let other = TimeSeries::from_values(0, 2, &wave(200)).unwrap();
    assert!(model.fit(&[series.clone(), other.clone()]).is_err());
    assert!(model.forecast(&other, 1).is_err());
    assert!(matches!(
        model.forecast(&series.slice(0, 3), 1),
        Err(PredictError::HistoryTooShort { given: 3, .. })
    ));
    assert_eq!(model.forecast(&series, 4).unwrap(), before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn odd_values_give_finite_forecasts_that_are_not_negative_where_the_history_is_not(
        values in proptest::collection::vec(
            prop_oneof![
                1 => Just(None),
                3 => Just(Some(0.0)),
                3 => (0.0..1e3).prop_map(Some),
                1 => Just(Some(1e-300)),
                1 => Just(Some(f64::MAX)),
            ],
            40..90,
        ),
        negative in any::<bool>(),
    ) {
        let sign = if negative { -1.0 } else { 1.0 };
        let values = values.into_iter().map(|value| value.map(|value| sign * value)).collect();
        let series = TimeSeries::new(0, 1, values).unwrap();
        let mut model = Ridge::new(tiny()).unwrap();
        if model.fit(std::slice::from_ref(&series)).is_ok()
            && let Ok(forecast) = model.forecast(&series, 7)
        {
            prop_assert_eq!(forecast.horizon(), 7);
            for level in [0.1, 0.5, 0.99] {
                for value in forecast.quantile(level) {
                    prop_assert!(value.is_finite() && (negative || value >= 0.0));
                }
            }
        }
    }
}

#[test]
fn what_is_written_of_a_regression_is_read_as_the_same_and_what_does_not_fit_is_refused() {
    let series = TimeSeries::from_values(0, 1, &wave(200)).unwrap();
    let model = fitted(std::slice::from_ref(&series));
    let text = serde_json::to_string(&model).unwrap();
    let read: Ridge = serde_json::from_str(&text).unwrap();
    assert_eq!(read, model);
    assert_eq!(
        read.forecast(&series, 7).unwrap(),
        model.forecast(&series, 7).unwrap()
    );
    let written: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (path, value) in [
        ("/options/lags", serde_json::json!(9)),
        ("/options/horizon", serde_json::json!(4)),
        ("/learnt/period", serde_json::json!(0)),
        ("/learnt/period", serde_json::json!(u64::MAX)),
        ("/learnt/waves/0", serde_json::json!(65)),
        ("/learnt/steps/0/weights", serde_json::json!([])),
    ] {
        let mut spoilt = written.clone();
        *spoilt.pointer_mut(path).unwrap() = value;
        assert!(serde_json::from_value::<Ridge>(spoilt).is_err(), "{path}");
    }
}
