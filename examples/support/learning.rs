//! What has to be learnt before a pipeline can be tuned: its load, its operators, its performance.

use std::ops::ControlFlow;
use std::time::Duration;

use streamline_core::{Cluster, Observation, TimeSeries};
use streamline_flink::{FlinkClient, Model, SimulatedCluster};
use streamline_predict::{Transformer, TransformerOptions};
use streamline_surrogate::{Mlp, MlpOptions, Sample};

use super::pipeline::Pipeline;
use super::progress::Training;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Runs a pipeline alone under many configurations and loads, a minute each, and looks at what it does.
///
/// In turn each operator is the bottleneck, with more and more subtasks, under loads from a fifth of what it could carry,
/// did it scale perfectly, to a little more than that; the others have about twice the subtasks that they need.
pub(crate) fn sweep(
    pipeline: &Pipeline,
    cluster: &Cluster,
    seed: u64,
    quick: bool,
) -> Result<Vec<Observation>> {
    let parallelisms: &[u32] = if quick {
        &[1, 4, 12, 24]
    } else {
        &[1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24]
    };
    let loads: &[f64] = if quick {
        &[0.3, 0.7, 0.9, 1.1]
    } else {
        &[0.2, 0.4, 0.55, 0.65, 0.75, 0.82, 0.88, 0.94, 1.1]
    };
    let mut segments_kib = [4u32, 8, 16, 32, 64].into_iter().cycle();
    let mut observations = Vec::new();
    for bottleneck in 0..pipeline.operators.len() {
        for &parallelism in parallelisms {
            let full = f64::from(parallelism) * pipeline.source_rate_of_one(bottleneck);
            if full > 2.0 * pipeline.peak {
                break;
            }
            for load in loads {
                let mut config = pipeline.sized_for(2.0 * full);
                config.operators[bottleneck].parallelism = parallelism;
                for operator in &mut config.operators {
                    operator.segment_bytes = segments_kib.next().unwrap_or(32) << 10;
                }
                let arrivals = TimeSeries::from_values(0, 60_000, &[load * full])?;
                let simulated = SimulatedCluster::new(Model::default(), cluster.clone(), seed)?;
                let job = simulated.submit(pipeline.job(config, arrivals))?;
                simulated.advance(Duration::from_secs(20));
                simulated.observe(&job)?;
                simulated.advance(Duration::from_secs(40));
                observations.push(simulated.observe(&job)?);
            }
        }
    }
    Ok(observations)
}

/// Trains one Transformer on the histories of all sources.
pub(crate) fn train_forecaster(histories: &[TimeSeries], seed: u64, quick: bool) -> Result<Transformer> {
    let defaults = TransformerOptions {
        seed,
        ..TransformerOptions::default()
    };
    let options = if quick {
        TransformerOptions {
            epochs: 3,
            windows_per_epoch: 256,
            ..defaults
        }
    } else {
        defaults
    };
    let mut training = Training::new("forecaster");
    let mut transformer = Transformer::new(options)?;
    transformer.fit_with(histories, &mut |state| {
        training.epoch(state.epoch, state.epochs, state.train_loss, state.validation_loss);
        ControlFlow::Continue(())
    })?;
    training.finish();
    Ok(transformer)
}

/// Trains the surrogate on what was measured, and prints how well it does on configurations that it has not seen.
pub(crate) fn train_surrogate(samples: &[Sample], seed: u64, quick: bool) -> Result<Mlp> {
    let defaults = MlpOptions {
        seed,
        ..MlpOptions::default()
    };
    let options = if quick {
        MlpOptions {
            epochs: 30,
            members: 2,
            ..defaults
        }
    } else {
        defaults
    };
    let mut training = Training::new("surrogate");
    let surrogate = Mlp::fit_with_progress(samples, &options, &mut |state| {
        training.epoch(state.epoch, state.epochs, state.train_loss, state.validation_loss);
        ControlFlow::Continue(())
    })?;
    training.finish();
    let report = surrogate.report();
    println!(
        "surrogate: {} samples of {} configurations; R² of the logarithm on configurations it has not seen:",
        report.samples, report.configurations
    );
    for (name, scores) in [
        ("network", report.test),
        ("analytic model alone", report.analytic_test),
    ] {
        if let Some(scores) = scores {
            let [throughput, latency, cpu] =
                [scores.throughput, scores.latency, scores.cpu].map(|score| score.log_r_squared);
            println!("  {name:20}  throughput {throughput:.3}, latency {latency:.3}, cpu {cpu:.3}");
        }
    }
    Ok(surrogate)
}
