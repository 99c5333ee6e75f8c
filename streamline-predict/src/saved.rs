use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::envelope::Envelope;
use crate::{PredictError, WorkloadPredictor, bytes};

const ENVELOPE: Envelope = Envelope {
    magic: *b"STRLPRD\n",
    version: 1,
    what: "predictor",
};

#[derive(Serialize, Deserialize)]
struct Header {
    name: String,
}

/// Writes what a predictor has learnt to a file, whole or not at all: into a temporary file beside it that then takes its
/// place. The file carries a checksum.
///
/// # Errors
/// [`PredictError::Io`], or those of [`WorkloadPredictor::to_bytes`].
///
/// # Examples
///
/// ```
/// use streamline_core::TimeSeries;
/// use streamline_predict::{Combination, WorkloadPredictor, load, save};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("combination.bin");
/// let rates: Vec<f64> = (0..300).map(|i| 100.0 + f64::from(i % 24)).collect();
/// let history = TimeSeries::from_values(0, 3_600_000, &rates)?;
/// let mut predictor = Combination::default();
/// predictor.fit(&[history.clone()])?;
/// save(&predictor, &path)?;
///
/// let mut same = Combination::default();
/// load(&mut same, &path)?;
/// assert_eq!(same.forecast(&history, 12)?, predictor.forecast(&history, 12)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save(predictor: &dyn WorkloadPredictor, path: impl AsRef<Path>) -> Result<(), PredictError> {
    let header = Header {
        name: predictor.name().into(),
    };
    let body = bytes::with_header(predictor.name(), &header, predictor.to_bytes()?)?;
    ENVELOPE.write(path.as_ref(), &body)
}

/// Lets a predictor take over what another one of the same kind and the same options had learnt when it was
/// [saved](save).
///
/// # Errors
/// [`PredictError::Io`], [`PredictError::Damaged`] saying what is wrong with the file, or those of
/// [`WorkloadPredictor::restore`]. The predictor then is what it was before.
pub fn load(predictor: &mut dyn WorkloadPredictor, path: impl AsRef<Path>) -> Result<(), PredictError> {
    let learnt = ENVELOPE.read(path.as_ref(), |body| {
        let (header, learnt) = bytes::split_header::<Header>(body)?;
        if header.name == predictor.name() {
            Ok(learnt.to_vec())
        } else {
            Err(format!(
                "it holds a `{}`, not a `{}`",
                header.name,
                predictor.name()
            ))
        }
    })?;
    predictor.restore(&learnt)
}

#[cfg(test)]
mod tests {
    use streamline_core::TimeSeries;

    use super::*;
    use crate::{Combination, LastValue, Ridge, RidgeOptions};

    fn history() -> TimeSeries {
        let rates: Vec<f64> = (0..400u32)
            .map(|i| 100.0 + f64::from(i % 24) + f64::from(i * i % 7))
            .collect();
        TimeSeries::from_values(0, 3_600_000, &rates).unwrap()
    }

    #[test]
    fn what_is_loaded_forecasts_alike() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let makers: [fn() -> Box<dyn WorkloadPredictor>; 3] = [
            || Box::new(LastValue),
            || Box::new(Ridge::default()),
            || Box::new(Combination::default()),
        ];
        for make in makers {
            let mut predictor = make();
            predictor.fit(&[history()]).unwrap();
            save(predictor.as_ref(), &path).unwrap();
            let mut loaded = make();
            load(loaded.as_mut(), &path).unwrap();
            let forecast = |predictor: &dyn WorkloadPredictor| predictor.forecast(&history(), 12).unwrap();
            assert_eq!(forecast(loaded.as_ref()), forecast(predictor.as_ref()));
            assert_eq!(loaded.calibration(), predictor.calibration());
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let refused = |error: PredictError| match error {
            PredictError::Damaged { reason, .. } | PredictError::Unsound { reason, .. } => reason,
            other => panic!("{other}"),
        };
        let mut ridge = Ridge::default();
        assert!(matches!(save(&ridge, &path), Err(PredictError::NotFitted { .. })));
        ridge.fit(&[history()]).unwrap();
        save(&ridge, &path).unwrap();
        assert_eq!(
            refused(load(&mut LastValue, &path).unwrap_err()),
            "it holds a `ridge`, not a `last value`"
        );
        let mut other = Ridge::new(RidgeOptions {
            lags: 3,
            ..RidgeOptions::default()
        })
        .unwrap();
        assert_eq!(
            refused(load(&mut other, &path).unwrap_err()),
            "its options are others"
        );
        assert!(matches!(
            other.forecast(&history(), 1),
            Err(PredictError::NotFitted { .. })
        ));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.truncate(40);
        std::fs::write(&path, bytes).unwrap();
        assert!(refused(load(&mut ridge, &path).unwrap_err()).starts_with("its body is"));
        assert!(matches!(
            load(&mut ridge, folder.path().join("none")),
            Err(PredictError::Io { .. })
        ));
    }

    #[test]
    fn spoilt_bytes_of_a_combination_are_refused_and_change_nothing() {
        let mut fitted = Combination::default();
        fitted.fit(&[history()]).unwrap();
        let bytes = fitted.to_bytes().unwrap();
        let mut combination = Combination::default();
        for length in (0..bytes.len()).step_by(97) {
            assert!(combination.restore(&bytes[..length]).is_err(), "{length} bytes");
        }
        assert!(
            combination
                .restore(&[bytes.as_slice(), b"more"].concat())
                .is_err()
        );
        let mut smaller = Combination::new(vec![Box::new(LastValue)], 24);
        assert!(smaller.restore(&bytes).is_err());
        let fresh = Combination::default().forecast(&history(), 3).unwrap();
        assert_eq!(combination.forecast(&history(), 3).unwrap(), fresh);
    }
}
