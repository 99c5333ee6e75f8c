use std::io::{Read, Write};

use serde::{Deserialize, Serialize};
use streamline_core::{OperatorEstimate, OperatorKind};

use crate::{Query, Sample, SurrogateError};

/// A sample as a flat record.
#[derive(Serialize, Deserialize)]
struct Row {
    kind: OperatorKind,
    unit_rate: f64,
    parallelism: u32,
    segment_bytes: u32,
    buffer_timeout_ms: u32,
    input_rate: f64,
    selectivity: f64,
    record_bytes: f64,
    colocation_load: f64,
    throughput: f64,
    latency_ms: f64,
    cpu_cores: f64,
}

/// Reads samples from CSV with a header line.
///
/// Columns, in any order, others ignored: `kind` (`source`, `map`, `filter`, `flat_map`, `aggregate`, `window`, `join`,
/// `sink` or `other`), `unit_rate`, `parallelism`, `segment_bytes`, `buffer_timeout_ms`, `input_rate`, `selectivity`,
/// `record_bytes`, `colocation_load`, `throughput`, `latency_ms`, `cpu_cores`, as in [`Query`] and
/// [`OperatorEstimate`].
///
/// # Errors
/// [`SurrogateError::Csv`] with the line that cannot be read, or whose numbers make no sense.
///
/// # Examples
///
/// ```
/// use streamline_surrogate::{read_samples, write_samples};
///
/// let csv = "\
/// kind,parallelism,unit_rate,segment_bytes,buffer_timeout_ms,input_rate,selectivity,record_bytes,colocation_load,throughput,latency_ms,cpu_cores
/// map,4,10000,32768,100,25000,1,120,0.7,25000,38.5,2.9
/// ";
/// let samples = read_samples(csv.as_bytes())?;
/// assert_eq!(samples[0].measured.cpu_cores, 2.9);
///
/// let mut written = Vec::new();
/// write_samples(&mut written, &samples)?;
/// assert_eq!(read_samples(written.as_slice())?, samples);
///
/// let error = read_samples(csv.replace("38.5", "-1").as_bytes()).unwrap_err();
/// assert_eq!(error.to_string(), "line 2 of the samples: latency_ms is -1, expected 0 to 1e12");
/// # Ok::<(), streamline_surrogate::SurrogateError>(())
/// ```
pub fn read_samples(from: impl Read) -> Result<Vec<Sample>, SurrogateError> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(from);
    let headers = reader.headers().map_err(csv_error)?.clone();
    let mut samples = Vec::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(csv_error)? {
        let line = record.position().map_or(0, csv::Position::line);
        let row: Row = record.deserialize(Some(&headers)).map_err(csv_error)?;
        let sample = Sample {
            query: Query {
                kind: row.kind,
                unit_rate: row.unit_rate,
                parallelism: row.parallelism,
                segment_bytes: row.segment_bytes,
                buffer_timeout_ms: row.buffer_timeout_ms,
                input_rate: row.input_rate,
                selectivity: row.selectivity,
                record_bytes: row.record_bytes,
                colocation_load: row.colocation_load,
            },
            measured: OperatorEstimate {
                throughput: row.throughput,
                latency_ms: row.latency_ms,
                cpu_cores: row.cpu_cores,
            },
        };
        sample.check(samples.len()).map_err(|error| {
            let reason = match error {
                SurrogateError::InvalidQuery {
                    field,
                    value,
                    expected,
                    ..
                } => format!("{field} is {value}, expected {expected}"),
                SurrogateError::InvalidSample { field, value, .. } => {
                    format!("{field} is {value}, expected 0 to 1e12")
                }
                other => other.to_string(),
            };
            SurrogateError::Csv { line, reason }
        })?;
        samples.push(sample);
    }
    Ok(samples)
}

/// Writes samples as CSV, in the columns that [`read_samples`] reads.
///
/// # Errors
/// [`SurrogateError::Csv`] if it cannot be written.
pub fn write_samples(to: impl Write, samples: &[Sample]) -> Result<(), SurrogateError> {
    let mut writer = csv::Writer::from_writer(to);
    for Sample { query, measured } in samples {
        writer
            .serialize(Row {
                kind: query.kind,
                unit_rate: query.unit_rate,
                parallelism: query.parallelism,
                segment_bytes: query.segment_bytes,
                buffer_timeout_ms: query.buffer_timeout_ms,
                input_rate: query.input_rate,
                selectivity: query.selectivity,
                record_bytes: query.record_bytes,
                colocation_load: query.colocation_load,
                throughput: measured.throughput,
                latency_ms: measured.latency_ms,
                cpu_cores: measured.cpu_cores,
            })
            .map_err(csv_error)?;
    }
    writer.flush().map_err(|error| csv_error(error.into()))
}

fn csv_error(error: csv::Error) -> SurrogateError {
    let line = error.position().map_or(0, csv::Position::line);
    let reason = match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => err.kind().to_string(),
        _ => error.to_string(),
    };
    SurrogateError::Csv { line, reason }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::synthetic::world;

    fn written(samples: &[Sample]) -> String {
        let mut bytes = Vec::new();
        write_samples(&mut bytes, samples).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn samples_survive_csv_bit_for_bit() {
        let samples = world(200, 1);
        assert_eq!(read_samples(written(&samples).as_bytes()).unwrap(), samples);
    }

    #[test]
    fn what_cannot_be_read_is_named_by_its_line() {
        let refused = |csv: &str| match read_samples(csv.as_bytes()) {
            Err(SurrogateError::Csv { line, reason }) => (line, reason),
            other => panic!("{other:?}"),
        };
        let good = written(&world(3, 1));
        let kind = good.lines().nth(2).unwrap().split(',').next().unwrap();
        let (line, reason) = refused(&good.replacen(&format!("\n{kind},"), "\nmagic,", 1));
        assert!(line >= 2 && reason.contains("magic"), "{line}: {reason}");
        let (_, reason) = refused(&good.replacen("parallelism", "threads", 1));
        assert!(reason.contains("parallelism"), "{reason}");
        let cut: String = good.lines().take(2).collect::<Vec<_>>().join("\n") + "\nmap,1,2\n";
        assert_eq!(refused(&cut).0, 3);
    }

    #[test]
    fn nothing_at_all_holds_no_samples() {
        assert_eq!(read_samples(b"".as_slice()).unwrap(), []);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read_samples(bytes.as_slice());
        }

        #[test]
        fn any_damage_to_a_good_file_is_read_or_refused(at in 0usize..2000, byte in any::<u8>()) {
            let mut bytes = written(&world(8, 2)).into_bytes();
            let at = at % bytes.len();
            bytes[at] = byte;
            if let Ok(samples) = read_samples(bytes.as_slice()) {
                for (index, sample) in samples.iter().enumerate() {
                    prop_assert!(sample.check(index).is_ok());
                }
            }
        }
    }
}
