//! Arguments that all examples take.

use std::path::PathBuf;
use std::process::ExitCode;

use streamline_core::TimeSeries;
use streamline_tuner::{Error, TraceColumns, read_trace};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Arguments {
    /// CSV file with arrival rates to run on, instead of generated ones; give several for several pipelines
    #[arg(long = "trace", value_name = "FILE")]
    pub(crate) traces: Vec<PathBuf>,
    /// Column of the trace that holds the times
    #[arg(long, default_value = "date", value_name = "COLUMN")]
    time_column: String,
    /// Column of the trace that holds the rates
    #[arg(long, default_value = "messages", value_name = "COLUMN")]
    rate_column: String,
    /// Folder to write pictures to
    #[arg(long, default_value = "out", value_name = "FOLDER")]
    pub(crate) out: PathBuf,
    /// How many days, the last of the trace, to live through; what comes before them is learnt from
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=365))]
    pub(crate) days: u32,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Train less and tune a shorter time, for a quick look
    #[arg(long)]
    pub(crate) quick: bool,
}

impl Arguments {
    /// The traces that were named.
    pub(crate) fn read_traces(&self) -> Result<Vec<TimeSeries>, Error> {
        let columns = TraceColumns {
            time: self.time_column.clone(),
            rate: self.rate_column.clone(),
        };
        self.traces
            .iter()
            .map(|path| read_trace(path, &columns))
            .collect()
    }
}

/// Splits a trace into what comes before its last days, and these days.
pub(crate) fn last_days(
    trace: &TimeSeries,
    days: u32,
) -> Result<(TimeSeries, TimeSeries), Box<dyn std::error::Error>> {
    const DAY_MS: u64 = 86_400_000;
    let points = usize::try_from(DAY_MS / trace.step_ms())? * days as usize;
    let before = trace
        .len()
        .checked_sub(points)
        .filter(|&before| before > 0 && points > 0);
    let before = before.ok_or_else(|| {
        format!(
            "the trace has {} points, but {days} days and some history before them are needed",
            trace.len()
        )
    })?;
    Ok((trace.slice(0, before), trace.slice(before, trace.len())))
}

/// Prints what went wrong, with what caused it, and gives the exit code.
#[allow(clippy::print_stderr, reason = "an example talks to whoever runs it")]
pub(crate) fn finish(result: Result<(), Box<dyn std::error::Error>>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    eprintln!("error: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        eprintln!("  because: {error}");
        cause = error.source();
    }
    ExitCode::FAILURE
}
