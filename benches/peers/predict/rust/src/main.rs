//! Trains the Transformer for some epochs on values that are read from standard input, one a line, and prints the seconds,
//! the weights' number, and the training loss of the last epoch: `predict-peers EPOCHS < VALUES`.

use std::error::Error;
use std::io::BufRead;
use std::ops::ControlFlow;
use std::time::Instant;

use streamline_core::TimeSeries;
use streamline_predict::{Baseline, Transformer, TransformerOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let epochs = std::env::args().nth(1).ok_or("expected the number of epochs")?.parse()?;
    let values: Vec<f64> = std::io::stdin().lock().lines().map(|line| Ok(line?.parse()?)).collect::<Result<_, Box<dyn Error>>>()?;
    let series = TimeSeries::from_values(0, 300_000, &values)?;
    let mut model = Transformer::new(TransformerOptions {
        baseline: Baseline::LastValue,
        epochs,
        patience: epochs,
        ..TransformerOptions::default()
    })?;
    let begun = Instant::now();
    let mut losses = (0.0, 0.0);
    model.fit_with(&[series], &mut |progress| {
        losses = (progress.train_loss, progress.validation_loss);
        ControlFlow::Continue(())
    })?;
    println!("{:.3} {:.5} {:.5}", begun.elapsed().as_secs_f64(), losses.0, losses.1);
    Ok(())
}
