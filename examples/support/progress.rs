//! Progress of a training: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shows how a training goes on.
pub(crate) struct Training {
    name: &'static str,
    bar: Option<ProgressBar>,
    last: Option<(usize, f64, f64)>,
}

/// Without a terminal, a line is printed for every so many epochs.
const EPOCHS_PER_LINE: usize = 10;

impl Training {
    pub(crate) fn new(name: &'static str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{prefix} [{wide_bar}] {pos}/{len} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_prefix(name);
            bar
        });
        Self {
            name,
            bar,
            last: None,
        }
    }

    pub(crate) fn epoch(&mut self, epoch: usize, epochs: usize, training_loss: f64, validation_loss: f64) {
        self.last = Some((epoch, training_loss, validation_loss));
        match &self.bar {
            Some(bar) => {
                bar.set_length(epochs as u64);
                bar.set_position(epoch as u64);
                bar.set_message(format!(
                    "loss {training_loss:.4}, validation {validation_loss:.4}"
                ));
            }
            None if epoch == 1 || epoch.is_multiple_of(EPOCHS_PER_LINE) => self.line(),
            None => {}
        }
    }

    pub(crate) fn finish(self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        self.line();
    }

    fn line(&self) {
        if let Some((epoch, training_loss, validation_loss)) = self.last {
            let name = self.name;
            println!("{name}: epoch {epoch}, loss {training_loss:.4}, validation {validation_loss:.4}");
        }
    }
}
