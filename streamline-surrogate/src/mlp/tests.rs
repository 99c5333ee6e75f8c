use std::ops::ControlFlow;

use proptest::prelude::*;

use super::*;
use crate::log_error::LATENCY_FLOOR_MS;
use crate::synthetic::{any_query, truth, world};

fn quick() -> MlpOptions {
    MlpOptions {
        members: 3,
        epochs: 60,
        hidden: vec![32, 32],
        ..MlpOptions::default()
    }
}

fn ask(model: &Mlp, queries: &[Query]) -> Vec<Prediction> {
    let mut out = vec![Prediction::ZERO; queries.len()];
    model.predict(queries, &mut out).unwrap();
    out
}

/// A trained model, made once.
fn model() -> &'static Mlp {
    static MODEL: std::sync::OnceLock<Mlp> = std::sync::OnceLock::new();
    MODEL.get_or_init(|| Mlp::fit(&world(1500, 7), &quick()).unwrap())
}

#[test]
fn it_beats_the_calibrated_analytic_model_on_configurations_that_it_never_saw() {
    let report = model().report();
    let [learned, analytic] = [report.test.unwrap(), report.analytic_test.unwrap()];
    for (what, learned, analytic) in [
        ("throughput", learned.throughput, analytic.throughput),
        ("latency", learned.latency, analytic.latency),
        ("cpu", learned.cpu, analytic.cpu),
    ] {
        println!("{what}: {learned:?}, analytic {analytic:?}");
        assert!(learned.log_r_squared > analytic.log_r_squared, "{what}");
        assert!(learned.log_r_squared > 0.9, "{what}");
        assert!(learned.median_q_error < 1.15, "{what}");
    }
}

#[test]
fn the_same_seed_gives_the_same_model_even_while_another_is_trained() {
    let samples = world(300, 2);
    let options = MlpOptions { epochs: 5, ..quick() };
    let first = Mlp::fit(&samples, &options).unwrap();
    let [second, third] = std::thread::scope(|scope| {
        [0; 2]
            .map(|_| scope.spawn(|| Mlp::fit(&samples, &options).unwrap()))
            .map(|thread| thread.join().unwrap())
    });
    assert_eq!(first, second);
    assert_eq!(first, third);
    let other = Mlp::fit(&samples, &MlpOptions { seed: 1, ..options }).unwrap();
    assert_ne!(first, other);
}

#[cfg(feature = "ndarray")]
#[test]
fn the_deprecated_backend_learns_as_well() {
    let samples = world(600, 7);
    let train = |backend| {
        let options = MlpOptions { backend, ..quick() };
        Mlp::fit(&samples, &options).unwrap().report().validation
    };
    let [flex, ndarray] = [train(Backend::Flex), train(Backend::Ndarray)];
    let difference = flex.latency.log_r_squared - ndarray.latency.log_r_squared;
    assert!(difference.abs() < 0.03, "{flex:?}, {ndarray:?}");
}

#[test]
fn twice_the_largest_rate_or_parallelism_is_far_and_what_lies_within_is_not() {
    let samples = world(1500, 7);
    let largest_rate = samples
        .iter()
        .map(|sample| sample.query.input_rate)
        .fold(0.0, f64::max);
    let share = |queries: &[Query]| {
        let far = ask(model(), queries)
            .iter()
            .filter(|answer| answer.extrapolated)
            .count();
        far as f64 / queries.len() as f64
    };
    let held_out: Vec<Query> = world(2000, 7)[1500..].iter().map(|sample| sample.query).collect();
    let within = share(&held_out);
    let faster: Vec<Query> = held_out
        .iter()
        .map(|query| Query {
            input_rate: 2.0 * largest_rate,
            ..*query
        })
        .collect();
    let wider: Vec<Query> = held_out
        .iter()
        .map(|query| Query {
            parallelism: 48,
            ..*query
        })
        .collect();
    println!(
        "far: within {within}, rate {}, parallelism {}",
        share(&faster),
        share(&wider)
    );
    assert!(within <= 0.05);
    assert!(share(&faster) >= 0.95);
    assert!(share(&wider) >= 0.95);
}

#[test]
fn a_kind_that_was_never_seen_is_far_and_gets_the_analytic_answer() {
    let mut query = world(1, 7)[0].query;
    query.kind = streamline_core::OperatorKind::Other;
    let answer = ask(model(), &[query])[0];
    assert!(answer.extrapolated);
    let mut analytic = [Prediction::ZERO];
    model().analytic().predict(&[query], &mut analytic).unwrap();
    assert_eq!(answer.estimate, analytic[0].estimate);
}

#[test]
fn the_stated_uncertainty_covers_most_errors() {
    let queries: Vec<Query> = world(2000, 7)[1500..].iter().map(|sample| sample.query).collect();
    let answers = ask(model(), &queries);
    let covered = queries
        .iter()
        .zip(&answers)
        .filter(|(query, answer)| {
            let right = truth(query, [1.0; 3]).latency_ms;
            (answer.estimate.latency_ms / right).ln().abs() <= 2.0 * answer.uncertainty.latency_ms
        })
        .count();
    let share = covered as f64 / queries.len() as f64;
    assert!(share > 0.9, "two deviations cover {share}");
}

#[test]
fn training_stops_where_progress_breaks_and_when_it_no_longer_pays() {
    let samples = world(300, 2);
    let mut epochs = Vec::new();
    let model = Mlp::fit_with_progress(&samples, &quick(), &mut |state| {
        epochs.push((state.epoch, state.epochs));
        if state.epoch < 4 {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })
    .unwrap();
    assert_eq!(epochs, [(1, 60), (2, 60), (3, 60), (4, 60)]);
    assert_eq!(model.report().history.len(), 4);

    let options = MlpOptions {
        patience: 3,
        epochs: 5000,
        learning_rate: 0.05,
        ..quick()
    };
    let model = Mlp::fit(&samples, &options).unwrap();
    assert!(model.report().history.len() < 1000);
}

#[test]
fn where_the_analytic_model_is_right_hardly_anything_is_corrected() {
    let mut samples = world(400, 4);
    let analytic = Analytic::default();
    for sample in &mut samples {
        sample.measured = analytic.work_out(&sample.query).estimate;
    }
    let model = Mlp::fit(
        &samples,
        &MlpOptions {
            epochs: 20,
            ..quick()
        },
    )
    .unwrap();
    let scores = model.report().test.unwrap();
    assert!(scores.throughput.median_q_error < 1.01);
    assert!(scores.cpu.median_q_error < 1.01);
    assert!(scores.latency.median_q_error < 1.05);
}

#[test]
fn without_a_test_share_nothing_is_held_out() {
    let options = MlpOptions {
        test_share: 0.0,
        epochs: 2,
        ..quick()
    };
    let model = Mlp::fit(&world(200, 4), &options).unwrap();
    assert_eq!(model.report().test, None);
}

#[test]
fn samples_that_make_no_sense_are_refused_with_their_place() {
    let mut samples = world(100, 4);
    samples[31].measured.cpu_cores = f64::NAN;
    assert!(matches!(
        Mlp::fit(&samples, &quick()),
        Err(SurrogateError::InvalidSample {
            index: 31,
            field: "cpu_cores",
            ..
        })
    ));
    assert!(matches!(
        Mlp::fit(&[], &quick()),
        Err(SurrogateError::TooFewSamples { given: 0, .. })
    ));
}

#[test]
fn a_bad_query_is_named_by_its_place_in_the_whole_batch() {
    let mut queries: Vec<Query> = world(700, 4).iter().map(|sample| sample.query).collect();
    queries[600].record_bytes = -1.0;
    let error = model()
        .predict(&queries, &mut vec![Prediction::ZERO; 700])
        .unwrap_err();
    assert!(matches!(error, SurrogateError::InvalidQuery { index: 600, .. }));
}

#[test]
fn a_query_gets_the_same_answer_alone_and_in_a_batch() {
    let queries: Vec<Query> = world(300, 9).iter().map(|sample| sample.query).collect();
    let together = ask(model(), &queries);
    for (query, together) in queries.iter().zip(&together) {
        assert_eq!(ask(model(), &[*query])[0], *together);
    }
}

proptest! {
    #[test]
    fn every_answer_is_finite_and_within_its_bounds(query in any_query()) {
        let answer = ask(model(), &[query])[0];
        let estimate = answer.estimate;
        prop_assert!(estimate.throughput >= 0.0 && estimate.throughput <= query.input_rate);
        for value in [
            estimate.latency_ms,
            estimate.cpu_cores,
            answer.uncertainty.throughput,
            answer.uncertainty.latency_ms,
            answer.uncertainty.cpu_cores,
        ] {
            prop_assert!(value.is_finite() && value >= 0.0);
        }
    }

    #[test]
    fn answers_within_the_training_range_stay_within_the_corrections_that_were_seen(
        index in 0usize..1500,
        rate in 0.5..1.5f64,
        parallelism in 1u32..30,
    ) {
        let query = world(1500, 7)[index].query;
        let query = Query { input_rate: query.input_rate * rate, parallelism, ..query };
        let answer = ask(model(), &[query])[0].estimate;
        let working = model().analytic().work_out(&query).estimate;
        let (low, high) = model().correction.limits[1];
        let log = ((answer.latency_ms + LATENCY_FLOOR_MS) / (working.latency_ms + LATENCY_FLOOR_MS)).ln();
        prop_assert!(log >= low - 1e-9 && log <= high + 1e-9);
        prop_assert!(answer.throughput <= query.input_rate);
    }
}
