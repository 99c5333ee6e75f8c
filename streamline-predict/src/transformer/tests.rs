use std::time::Duration;

use proptest::prelude::*;

use super::*;

/// A network so small that it trains in milliseconds.
pub(super) fn tiny() -> TransformerOptions {
    TransformerOptions {
        lookback: 12,
        horizon: 3,
        patch: 4,
        period: Some(Duration::from_secs(720)),
        d_model: 8,
        heads: 2,
        layers: 1,
        feed_forward: 8,
        epochs: 2,
        batch: 16,
        windows_per_epoch: 64,
        ..TransformerOptions::default()
    }
}

/// A pattern of 12 points that grows, and whose peaks differ from one period to the next.
pub(super) fn wave(points: usize) -> TimeSeries {
    let values: Vec<f64> = (0..points)
        .map(|index| {
            let time = index as f64;
            let peak = if index / 12 % 2 == 0 { 40.0 } else { 60.0 };
            1_000.0 + 0.1 * time + peak * (time * std::f64::consts::TAU / 12.0).sin()
        })
        .collect();
    TimeSeries::from_values(0, 60_000, &values).unwrap()
}

fn fitted(options: TransformerOptions, history: &[TimeSeries]) -> Transformer {
    let mut model = Transformer::new(options).unwrap();
    model.fit(history).unwrap();
    model
}

/// Mean absolute error over windows that end in the last part of the series.
fn error(series: &TimeSeries, from: usize, forecast: impl Fn(&TimeSeries) -> Vec<f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for end in from..series.len() - 3 {
        for (step, value) in forecast(&series.slice(0, end)).iter().enumerate() {
            sum += (value - series.get(end + step).unwrap()).abs();
            count += 1.0;
        }
    }
    sum / count
}

#[test]
fn it_learns_a_pattern_that_neither_the_last_value_nor_the_last_period_tells() {
    let series = wave(480);
    let options = TransformerOptions {
        lookback: 24,
        epochs: 25,
        windows_per_epoch: 400,
        learning_rate: 0.005,
        ..tiny()
    };
    let model = fitted(options, &[series.slice(0, 400)]);
    let learnt = error(&series, 400, |history| {
        model.forecast(history, 3).unwrap().point().to_vec()
    });
    let last = error(&series, 400, |history| vec![history.last().unwrap(); 3]);
    let period = error(&series, 400, |history| {
        (0..3)
            .map(|step| history.get(history.len() - 12 + step).unwrap())
            .collect()
    });
    assert!(
        learnt < 0.25 * last && learnt < 0.5 * period,
        "{learnt} against {last} and {period}"
    );
    let report = model.report().unwrap();
    assert!(report.best_epoch > 0 && report.best_validation_loss < report.start_validation_loss);
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_seed_others() {
    let series = wave(120);
    let forecast = |seed| {
        let options = TransformerOptions { seed, ..tiny() };
        fitted(options, std::slice::from_ref(&series))
            .forecast(&series, 6)
            .unwrap()
    };
    let first = forecast(1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| forecast(1))).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), first);
        }
    });
    assert_ne!(forecast(2), first);
}

#[test]
fn a_history_that_is_too_short_is_refused_with_the_numbers_and_nothing_is_forgotten() {
    let mut model = Transformer::new(tiny()).unwrap();
    assert!(matches!(
        model.forecast(&wave(50), 1),
        Err(PredictError::NotFitted { .. })
    ));
    model.fit(&[wave(60)]).unwrap();
    let before = model.forecast(&wave(50), 4).unwrap();
    assert!(matches!(
        model.fit(&[wave(15)]),
        Err(PredictError::HistoryTooShort { given: 15, needed }) if needed > 15
    ));
    assert!(matches!(
        model.fit(&[]),
        Err(PredictError::HistoryTooShort { given: 0, .. })
    ));
    assert_eq!(model.forecast(&wave(50), 4).unwrap(), before);
    let needed = model.lookback();
    assert!(matches!(
        model.forecast(&wave(needed - 1), 4),
        Err(PredictError::HistoryTooShort { given, needed: told }) if given + 1 == told && told == needed
    ));
    assert!(model.forecast(&wave(needed), 4).is_ok());
    let values = (0..40).map(|index| (index < 20).then_some(1.0)).collect();
    let gaps = TimeSeries::new(0, 1, values).unwrap();
    assert!(matches!(
        model.forecast(&gaps, 4),
        Err(PredictError::HistoryTooShort { given: 0, .. })
    ));
}

#[test]
fn a_break_ends_training_and_keeps_what_was_learnt() {
    let mut model = Transformer::new(TransformerOptions { epochs: 9, ..tiny() }).unwrap();
    let mut seen = Vec::new();
    model
        .fit_with(&[wave(100)], &mut |progress| {
            seen.push(progress.epoch);
            if progress.epoch == 2 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .unwrap();
    assert_eq!(seen, [1, 2]);
    assert_eq!(model.report().unwrap().history.len(), 2);
    assert!(model.forecast(&wave(100), 3).is_ok());
}

#[test]
fn a_longer_horizon_continues_a_shorter_one_and_grows_less_sure() {
    let series = wave(240);
    let model = fitted(tiny(), std::slice::from_ref(&series));
    let (short, long) = (
        model.forecast(&series, 2).unwrap(),
        model.forecast(&series, 30).unwrap(),
    );
    assert_eq!(long.point()[..2], *short.point());
    assert_eq!(long.horizon(), 30);
    assert_eq!(model.forecast(&series, 0).unwrap().horizon(), 0);
    let width = |step: usize| long.quantile(0.95)[step] - long.point()[step];
    assert!(width(29) > width(2), "{} {}", width(29), width(2));
}

#[test]
fn what_is_constant_remains_so() {
    for value in [0.0, 7.0, 1e12, 1e-12] {
        let series = TimeSeries::from_values(0, 1, &[value; 80]).unwrap();
        let forecast = fitted(tiny(), std::slice::from_ref(&series))
            .forecast(&series, 5)
            .unwrap();
        for forecast in forecast.point() {
            approx::assert_relative_eq!(*forecast, value, max_relative = 1e-9);
        }
    }
}

#[test]
fn forecasts_scale_with_their_series() {
    let series = wave(100);
    let model = fitted(tiny(), std::slice::from_ref(&series));
    let forecast = model.forecast(&series, 5).unwrap();
    for scale in [1e-9, 1e9] {
        let scaled: Vec<f64> = series.iter().flatten().map(|value| value * scale).collect();
        let scaled = TimeSeries::from_values(0, 60_000, &scaled).unwrap();
        let scaled = model.forecast(&scaled, 5).unwrap();
        for (plain, scaled) in forecast.point().iter().zip(scaled.point()) {
            approx::assert_relative_eq!(plain * scale, *scaled, max_relative = 1e-4);
        }
    }
}

#[test]
fn histories_too_short_for_the_regression_leave_the_last_value_to_start_from() {
    let options = TransformerOptions {
        baseline: Baseline::Ridge,
        ..tiny()
    };
    let series = wave(22);
    let model = fitted(options.clone(), std::slice::from_ref(&series));
    assert_eq!(model.lookback(), options.lookback);
    assert!(model.forecast(&series, 3).is_ok());
}

#[cfg(feature = "ndarray")]
#[test]
fn both_backends_forecast_nearly_the_same() {
    let series = wave(120);
    let forecast = |backend| {
        let options = TransformerOptions { backend, ..tiny() };
        fitted(options, std::slice::from_ref(&series))
            .forecast(&series, 6)
            .unwrap()
    };
    let (flex, ndarray) = (forecast(Backend::Flex), forecast(Backend::Ndarray));
    for (flex, ndarray) in flex.point().iter().zip(ndarray.point()) {
        approx::assert_relative_eq!(flex, ndarray, max_relative = 1e-3);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn odd_values_give_finite_forecasts_that_are_not_negative_where_the_history_is_not(
        values in proptest::collection::vec(
            prop_oneof![
                1 => Just(None),
                3 => Just(Some(0.0)),
                3 => (0.0..1e3).prop_map(Some),
                1 => (0.0..1e12).prop_map(Some),
                1 => Just(Some(1e-300)),
                1 => Just(Some(f64::MAX)),
            ],
            40..60,
        ),
        negative in any::<bool>(),
    ) {
        let sign = if negative { -1.0 } else { 1.0 };
        let values = values.into_iter().map(|value| value.map(|value| sign * value)).collect();
        let series = TimeSeries::new(0, 1, values).unwrap();
        let mut model = Transformer::new(tiny()).unwrap();
        if model.fit(std::slice::from_ref(&series)).is_ok()
            && let Ok(forecast) = model.forecast(&series, 7)
        {
            prop_assert_eq!(forecast.horizon(), 7);
            for level in [0.1, 0.5, 0.99] {
                for value in forecast.quantile(level) {
                    prop_assert!(value.is_finite() && (negative || value >= 0.0));
                }
            }
        } else {
            prop_assert!(series.tail(12).filled().is_empty());
        }
    }
}

#[test]
fn fine_tuning_makes_it_better_on_the_source_and_never_worse_where_it_validates() {
    let other: Vec<f64> = (0..480)
        .map(|index| 1_000.0 + 50.0 * (f64::from(index) * std::f64::consts::TAU / 9.0).sin())
        .collect();
    let other = TimeSeries::from_values(0, 60_000, &other).unwrap();
    let options = TransformerOptions {
        lookback: 24,
        epochs: 15,
        ..tiny()
    };
    let source = wave(480);
    let seen = source.slice(0, 400);
    let general = fitted(options, &[other, seen.clone()]);
    let mut tuned = general.clone();
    tuned
        .fine_tune(&[seen], &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let of = |model: &Transformer| {
        error(&source, 400, |history| {
            model.forecast(history, 3).unwrap().point().to_vec()
        })
    };
    assert!(
        of(&tuned) < of(&general),
        "{} against {}",
        of(&tuned),
        of(&general)
    );
    let report = tuned.report().unwrap();
    assert!(report.best_validation_loss <= report.start_validation_loss);
    assert_eq!(tuned.options(), general.options());
    let mut unfitted = Transformer::new(tiny()).unwrap();
    assert!(matches!(
        unfitted.fine_tune(&[wave(100)], &mut |_| ControlFlow::Continue(())),
        Err(PredictError::NotFitted { .. })
    ));
}

#[test]
fn on_a_seasonal_series_the_training_loss_falls_below_a_hundredth_within_200_epochs() {
    let values: Vec<f64> = (0..960)
        .map(|index| {
            let day = f64::from(index) * std::f64::consts::TAU / 48.0;
            1_000.0 + 400.0 * day.sin() + 150.0 * (2.0 * day).cos() + 50.0 * (5.0 * day).sin()
        })
        .collect();
    let series = TimeSeries::from_values(0, 1_800_000, &values).unwrap();
    let mut model = Transformer::new(TransformerOptions {
        lookback: 48,
        horizon: 12,
        patch: 8,
        baseline: Baseline::LastValue,
        d_model: 16,
        heads: 2,
        layers: 1,
        feed_forward: 32,
        epochs: 200,
        patience: 200,
        learning_rate: 0.01,
        weight_decay: 0.0,
        ..TransformerOptions::default()
    })
    .unwrap();
    model
        .fit_with(&[series], &mut |progress| {
            if progress.train_loss < 0.01 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .unwrap();
    let losses: Vec<f64> = model
        .report()
        .unwrap()
        .history
        .iter()
        .map(|at| at.train_loss)
        .collect();
    println!("{losses:?}");
    assert!(losses[losses.len() - 1] < 0.01, "{losses:?}");
}

#[test]
fn dropout_changes_what_is_learnt_and_not_that_it_is_the_same_each_time() {
    let history = [wave(200)];
    let with = |dropout| fitted(TransformerOptions { dropout, ..tiny() }, &history);
    let forecast = |model: &Transformer| model.forecast(&history[0], 3).unwrap();
    assert_eq!(forecast(&with(0.5)), forecast(&with(0.5)));
    assert_ne!(forecast(&with(0.5)), forecast(&with(0.0)));
}
