//! What happens to series in real life, and that forecasts bear it.

#![expect(clippy::unwrap_used, reason = "the series are known")]

use streamline_core::TimeSeries;
use streamline_predict::{Combination, WorkloadPredictor};

const STEP_MS: u64 = 900_000;
const DAY: usize = 96;
const DAYS: usize = 14;

/// Two peaks a day, with a little noise that repeats only after 53 points.
fn load(index: usize) -> f64 {
    let day = (index % DAY) as f64 / DAY as f64 * std::f64::consts::TAU;
    let noise = (index * index % 53) as f64;
    1_000.0 - 500.0 * day.cos() + 200.0 * (2.0 * day).sin() + noise
}

fn series(points: usize, value: impl Fn(usize) -> Option<f64>) -> TimeSeries {
    TimeSeries::new(0, STEP_MS, (0..points).map(value).collect()).unwrap()
}

/// Mean absolute error of the next two hours by the mean load, from each of the points.
fn error(
    predictor: &dyn WorkloadPredictor,
    series: &TimeSeries,
    origins: std::ops::Range<usize>,
    truth: impl Fn(usize) -> f64,
) -> f64 {
    let mut errors = Vec::new();
    for origin in origins {
        let forecast = predictor.forecast(&series.slice(0, origin), 8).unwrap();
        for (step, point) in forecast.point().iter().enumerate() {
            errors.push((point - truth(origin + step)).abs() / 1_000.0);
        }
    }
    errors.iter().sum::<f64>() / errors.len() as f64
}

fn fitted(history: TimeSeries) -> Combination {
    let mut predictor = Combination::default();
    predictor.fit(&[history]).unwrap();
    predictor
}

#[test]
fn an_ordinary_series_is_forecast_to_its_noise() {
    let all = series(DAYS * DAY, |index| Some(load(index)));
    let predictor = fitted(all.slice(0, 12 * DAY));
    assert!(error(&predictor, &all, 12 * DAY..13 * DAY, load) < 0.02);
}

#[test]
fn a_hole_of_hours_is_not_taken_for_no_load() {
    let hole = 12 * DAY - 20..12 * DAY - 4;
    let all = series(DAYS * DAY, |index| (!hole.contains(&index)).then(|| load(index)));
    let predictor = fitted(all.slice(0, 12 * DAY));
    let after = error(&predictor, &all, 12 * DAY - 4..12 * DAY + 8, load);
    assert!(after < 0.06, "{after}");
}

#[test]
fn samples_that_are_doubled_late_or_at_odd_times_make_the_same_forecast() {
    let plain: Vec<(i64, f64)> = (0..8 * DAY)
        .map(|index| (index as i64 * STEP_MS as i64, load(index)))
        .collect();
    let mut odd = plain.clone();
    odd.extend(plain.iter().step_by(7)); // doubled
    for (index, sample) in odd.iter_mut().enumerate().skip(1) {
        sample.0 += (index * 7_919 % 200_000) as i64; // up to 200 s late
    }
    odd[1..].reverse(); // out of order
    let [plain, odd] = [plain, odd].map(|samples| TimeSeries::from_samples(&samples, STEP_MS).unwrap());
    assert_eq!(odd.len(), plain.len());
    let [plain, odd] = [plain, odd].map(|series| fitted(series.clone()).forecast(&series, 8).unwrap());
    for (one, other) in odd.point().iter().zip(plain.point()) {
        approx::assert_relative_eq!(one, other, max_relative = 1e-9);
    }
}

#[test]
fn when_clocks_go_forward_the_forecast_follows_within_days() {
    // People come an hour earlier from the tenth day on.
    let shifted = |index: usize| load(if index < 10 * DAY { index } else { index + 4 });
    let all = series(DAYS * DAY, |index| Some(shifted(index)));
    let predictor = fitted(all.slice(0, 10 * DAY));
    let [first, third] = [10, 12].map(|day| error(&predictor, &all, day * DAY..(day + 1) * DAY, shifted));
    assert!(third < 0.05 && third < 0.8 * first, "{first} and then {third}");
}

#[test]
fn a_single_spike_leaves_the_forecasts_of_the_next_day_alone() {
    let spike = 12 * DAY + 30;
    let spiked = |index: usize| if index == spike { 50_000.0 } else { load(index) };
    let all = series(DAYS * DAY, |index| Some(spiked(index)));
    let predictor = fitted(all.slice(0, 12 * DAY));
    // Its own day's memory of it may show for two hours.
    let next_day = error(&predictor, &all, spike + DAY + 10..spike + DAY + 30, load);
    assert!(next_day < 0.05, "{next_day}");
    // And one within the history does not spoil the fit.
    let later = fitted(all.slice(0, 13 * DAY));
    let with = error(&later, &all, 13 * DAY + 40..14 * DAY - 8, load);
    assert!(with < 0.1, "{with}");
}

#[test]
fn a_level_that_doubles_for_good_is_followed_within_a_day() {
    let doubled = |index: usize| load(index) * if index < 12 * DAY { 1.0 } else { 2.0 };
    let all = series(DAYS * DAY, |index| Some(doubled(index)));
    let predictor = fitted(all.slice(0, 12 * DAY));
    let after = error(&predictor, &all, 13 * DAY..13 * DAY + 80, doubled);
    assert!(after < 0.1, "{after}");
}

#[test]
fn constant_series_and_those_of_zeros_stay_what_they_are() {
    for value in [0.0, 42.0] {
        let all = series(5 * DAY, |_| Some(value));
        let predictor = fitted(all.clone());
        let forecast = predictor.forecast(&all, 24).unwrap();
        for level in [0.1, 0.5, 0.99] {
            for quantile in forecast.quantile(level) {
                approx::assert_relative_eq!(quantile, value, max_relative = 1e-6);
            }
        }
    }
}

#[test]
fn a_counter_that_is_reset_gives_a_gap_and_no_dip() {
    let (mut count, mut readings) = (0.0, Vec::new());
    for index in 0..6 * DAY {
        if index % 200 == 150 {
            count = 0.0; // restarted
        }
        readings.push((index as i64 * STEP_MS as i64, count));
        count += load(index) * STEP_MS as f64 / 1_000.0;
    }
    let rates = TimeSeries::from_counter(&readings, STEP_MS).unwrap();
    assert_eq!(rates.gaps(), 3);
    for (index, rate) in rates.iter().enumerate() {
        if let Some(rate) = rate {
            approx::assert_relative_eq!(rate, load(index), max_relative = 1e-9);
        }
    }
}

#[test]
fn points_a_second_to_an_hour_apart_are_forecast() {
    for seconds in [1, 10, 60, 300, 900, 3_600] {
        let values: Vec<f64> = (0..600)
            .map(|index| 100.0 + 20.0 * (f64::from(index) / 24.0 * std::f64::consts::TAU).sin())
            .collect();
        let all = TimeSeries::from_values(0, seconds * 1_000, &values).unwrap();
        let predictor = fitted(all.slice(0, 500));
        let forecast = predictor.forecast(&all.slice(0, 560), 8).unwrap();
        assert_eq!(forecast.time_ms(0), 560 * seconds as i64 * 1_000);
        for (step, point) in forecast.point().iter().enumerate() {
            assert!(
                (point - values[560 + step]).abs() < 4.0,
                "{seconds} s, step {step}: {point}"
            );
        }
    }
}

#[test]
fn ten_points_of_a_rise_are_forecast_to_rise() {
    let rising = TimeSeries::from_values(
        0,
        STEP_MS,
        &[10.0, 12.0, 13.0, 16.0, 18.0, 20.0, 22.0, 23.0, 26.0, 28.0],
    )
    .unwrap();
    let forecast = fitted(rising.clone()).forecast(&rising, 3).unwrap();
    assert_eq!(forecast.point(), [30.0, 32.0, 34.0]);
}

#[test]
fn from_the_first_point_on_there_is_a_forecast_and_more_points_make_it_better() {
    let all = series(DAYS * DAY, |index| Some(load(index)));
    let errors: Vec<f64> = [1, 10, 3 * DAY, 9 * DAY]
        .into_iter()
        .map(|points| {
            let predictor = fitted(all.slice(0, points));
            error(&predictor, &all, points..points + DAY, load)
        })
        .collect();
    assert!(
        errors[2] < 0.5 * errors[0] && errors[3] <= errors[2],
        "{errors:?}"
    );
}
