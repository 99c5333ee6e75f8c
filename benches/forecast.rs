//! Fitting and forecasting: a network, the regressions, the combination, and a thousand series one after the other.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use streamline_core::TimeSeries;
use streamline_flink::LoadShape;
use streamline_predict::{
    Baseline, Calibration, Combination, DLinear, Ridge, Transformer, TransformerOptions, WorkloadPredictor,
};

const STEP: Duration = Duration::from_secs(300);
const HORIZON: usize = 24;

fn series(days: u32, seed: u64) -> TimeSeries {
    let step_ms = u64::try_from(STEP.as_millis()).unwrap_or(u64::MAX);
    LoadShape::DayAndNight
        .days(days, step_ms, 10_000.0, seed)
        .expect("a step above 0")
}

/// A network that has been trained for as many epochs.
fn trained(baseline: Baseline, epochs: usize, history: &TimeSeries) -> Transformer {
    let options = TransformerOptions {
        baseline,
        epochs,
        ..TransformerOptions::for_step(STEP)
    };
    let mut model = Transformer::new(options).expect("sound options");
    model.fit(std::slice::from_ref(history)).expect("enough points");
    model
}

fn fitting(criterion: &mut Criterion) {
    let history = series(14, 1);
    let mut group = criterion.benchmark_group("fit two weeks of five minutes");
    group.sample_size(10);
    group.bench_function("one epoch of the transformer", |bencher| {
        bencher.iter(|| trained(Baseline::LastValue, 1, black_box(&history)));
    });
    group.bench_function("ridge", |bencher| {
        bencher.iter(|| Ridge::default().fit(std::slice::from_ref(black_box(&history))));
    });
    group.bench_function("dlinear", |bencher| {
        bencher.iter(|| DLinear::default().fit(std::slice::from_ref(black_box(&history))));
    });
    group.finish();
}

fn forecasting(criterion: &mut Criterion) {
    let history = series(14, 1);
    let mut ridge = Ridge::default();
    ridge.fit(std::slice::from_ref(&history)).expect("enough points");
    let on_ridge = trained(Baseline::Ridge, 1, &history);
    let mut combination = Combination::new(
        vec![
            Box::new(ridge.clone()),
            Box::new(on_ridge.clone()),
            Box::new(trained(Baseline::LastValue, 1, &history)),
        ],
        HORIZON,
    );
    // What is fitted on little is weighed on little; the time of a forecast is the same.
    combination.fit(&[series(3, 1)]).expect("enough points");

    let mut group = criterion.benchmark_group("forecast two hours");
    for (name, predictor) in [
        ("ridge", &ridge as &dyn WorkloadPredictor),
        ("transformer", &on_ridge),
        ("combination", &combination),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| predictor.forecast(black_box(&history), HORIZON));
        });
    }
    let mut calibration = Calibration::default();
    for now in history.len() - 600..history.len() {
        let seen = history.slice(0, now);
        calibration.observe(&seen);
        calibration.record(&ridge.forecast(&seen, HORIZON).expect("enough points"));
    }
    let forecast = ridge.forecast(&history, HORIZON).expect("enough points");
    group.bench_function("calibrate", |bencher| {
        bencher.iter(|| calibration.apply(black_box(&forecast)));
    });
    group.bench_function("provision", |bencher| {
        bencher.iter(|| calibration.provision(black_box(&forecast), 0.95));
    });
    group.finish();

    let many: Vec<TimeSeries> = (0..1_000).map(|seed| series(4, seed)).collect();
    let mut group = criterion.benchmark_group("forecast a thousand series");
    group.sample_size(10);
    for (name, predictor) in [
        ("transformer", &on_ridge as &dyn WorkloadPredictor),
        ("combination", &combination),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let forecasts = many
                    .iter()
                    .map(|series| predictor.forecast(black_box(series), HORIZON));
                forecasts.filter(Result::is_ok).count()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, fitting, forecasting);
criterion_main!(benches);
