//! Arrival rates from CSV files.

use std::fs::File;
use std::path::Path;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use streamline_core::TimeSeries;

use crate::Error;

/// Which columns of a CSV file hold the times and the rates.
///
/// # Examples
///
/// ```
/// use streamline_tuner::TraceColumns;
///
/// let columns = TraceColumns { time: "ts".into(), rate: "events".into() };
/// assert_ne!(columns, TraceColumns::default());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceColumns {
    /// The column of times. Default `date`.
    pub time: String,
    /// The column of rates. Default `messages`.
    pub rate: String,
}

impl Default for TraceColumns {
    fn default() -> Self {
        Self {
            time: "date".into(),
            rate: "messages".into(),
        }
    }
}

/// Reads arrival rates from a CSV file with a header line.
///
/// A time is a date and time (`2019-10-06 22:00:00`, read as UTC; `2019-10-06T22:00:00Z` and other RFC 3339 forms) or a
/// number: seconds since the epoch, or milliseconds from 10¹¹ on. Lines may be in any order; the step of the series is
/// the median time between lines, several lines at one step are averaged, and steps without a line are gaps.
///
/// # Errors
/// [`Error::TraceIo`], [`Error::TraceEmpty`], [`Error::TraceColumn`] or, naming the line, [`Error::TraceValue`] for a
/// time that cannot be read and a rate that is empty, NaN, infinite or negative.
///
/// # Examples
///
/// ```
/// use streamline_tuner::{TraceColumns, read_trace};
///
/// let file = tempfile::NamedTempFile::new()?;
/// std::fs::write(&file, "date,messages\n2024-01-01 00:00:00,120\n2024-01-01 00:05:00,130.5\n")?;
/// let trace = read_trace(file.path(), &TraceColumns::default())?;
/// assert_eq!((trace.step_ms(), trace.last()), (300_000, Some(130.5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_trace(path: &Path, columns: &TraceColumns) -> Result<TimeSeries, Error> {
    let io = |source| Error::TraceIo {
        path: path.into(),
        source,
    };
    let csv_error = |error: csv::Error| io(error.into());
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(File::open(path).map_err(io)?);
    let header = reader.headers().map_err(csv_error)?.clone();
    let column = |name: &str| {
        header
            .iter()
            .position(|column| column == name)
            .ok_or_else(|| Error::TraceColumn {
                path: path.into(),
                column: name.into(),
                available: header.iter().map(Into::into).collect(),
            })
    };
    if header.is_empty() {
        return Err(Error::TraceEmpty { path: path.into() });
    }
    let (time_column, rate_column) = (column(&columns.time)?, column(&columns.rate)?);

    let mut samples = Vec::new();
    for record in reader.records() {
        let record = record.map_err(csv_error)?;
        let bad = |column: &str, text: &str, expected| Error::TraceValue {
            path: path.into(),
            line: record.position().map_or(0, csv::Position::line),
            column: column.into(),
            text: text.into(),
            expected,
        };
        let text = record.get(time_column).unwrap_or_default();
        let time = parse_time(text)
            .ok_or_else(|| bad(&columns.time, text, "a date and time, or seconds since the epoch"))?;
        let text = record.get(rate_column).unwrap_or_default();
        let rate = text
            .parse::<f64>()
            .ok()
            .filter(|rate| rate.is_finite() && *rate >= 0.0);
        let rate = rate.ok_or_else(|| bad(&columns.rate, text, "a finite number of at least 0"))?;
        samples.push((time, rate));
    }
    if samples.is_empty() {
        return Err(Error::TraceEmpty { path: path.into() });
    }
    TimeSeries::from_samples(&samples, median_step(&samples))
        .map_err(|source| io(std::io::Error::other(source)))
}

/// Milliseconds since the epoch.
fn parse_time(text: &str) -> Option<i64> {
    const FIRST_IN_MILLISECONDS: f64 = 1e11;
    if let Ok(number) = text.parse::<f64>() {
        let ms = if number.abs() < FIRST_IN_MILLISECONDS {
            number * 1e3
        } else {
            number
        };
        return (ms.abs() < i64::MAX as f64).then_some(ms.round() as i64);
    }
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Some(timestamp.as_millisecond());
    }
    let civil = text
        .parse::<DateTime>()
        .or_else(|_| text.parse::<civil::Date>().map(DateTime::from))
        .ok()?;
    Some(TimeZone::UTC.to_timestamp(civil).ok()?.as_millisecond())
}

/// The median time between neighbouring samples, at least 1 ms; 1 s for a single sample.
fn median_step(samples: &[(i64, f64)]) -> u64 {
    let mut times: Vec<i64> = samples.iter().map(|&(time, _)| time).collect();
    times.sort_unstable();
    let mut steps: Vec<u64> = times
        .windows(2)
        .map(|pair| pair[1].abs_diff(pair[0]))
        .filter(|&step| step > 0)
        .collect();
    if steps.is_empty() {
        return 1_000;
    }
    let middle = steps.len() / 2;
    *steps.select_nth_unstable(middle).1
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<TimeSeries, Error> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        read_trace(file.path(), &TraceColumns::default())
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let message = read(text).unwrap_err().to_string();
        assert!(
            message.contains(expected),
            "`{message}` does not say `{expected}`"
        );
    }

    #[test]
    fn an_empty_trace_is_refused() {
        refused("", "no data rows");
        refused("date,messages\n", "no data rows");
    }

    #[test]
    fn a_value_that_is_no_rate_is_refused_with_its_line() {
        for bad in ["NaN", "inf", "-3", "", "many"] {
            let text = format!("date,messages\n2024-01-01 00:00:00,1\n2024-01-01 00:05:00,{bad}\n");
            refused(&text, &format!("line 3: messages is `{bad}`"));
        }
        refused("date,messages\nyesterday,1\n", "line 2: date is `yesterday`");
    }

    #[test]
    fn a_missing_column_is_refused_with_those_that_there_are() {
        refused(
            "time,messages\n1,2\n",
            "no column `date` (there are: time, messages)",
        );
    }

    #[test]
    fn a_missing_file_is_refused() {
        let error = read_trace(Path::new("no/such/file.csv"), &TraceColumns::default()).unwrap_err();
        assert!(matches!(error, Error::TraceIo { .. }));
    }

    #[test]
    fn lines_out_of_order_and_missing_ones_make_a_grid_with_gaps() {
        let series = read("date,messages\n600,3\n0,1\n300,2\n1200,5\n").unwrap();
        assert_eq!(
            series.iter().collect::<Vec<_>>(),
            [Some(1.0), Some(2.0), Some(3.0), None, Some(5.0)]
        );
    }

    #[test]
    fn times_are_read_in_the_usual_forms() {
        for text in [
            "2019-10-06 22:00:00",
            "2019-10-06T22:00:00Z",
            "2019-10-07T00:00:00+02:00",
            "1570399200",
            "1570399200000",
        ] {
            assert_eq!(parse_time(text), Some(1_570_399_200_000), "{text}");
        }
        assert_eq!(parse_time("2019-10-06"), Some(1_570_320_000_000));
        for text in ["", "NaN", "1e300", "22:00"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_text_is_a_trace_or_an_error(text in "(date,messages\n)?[-0-9a-zN:.,\"\n ]{0,80}") {
            let _ = read(&text);
        }
    }
}
