//! A model on disk: in the envelope, `header length (u32) · header (JSON) · weights (f32)`, little-endian.
//!
//! Burn's own record holds random parameter ids and no checksum, and has changed between minor releases; so the weights
//! are written plainly, and the header says which Burn trained them.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::baseline::Base;
use super::network::weight_count;
use super::options::TransformerOptions;
use super::training::{Trained, TrainingReport};
use super::{Learnt, Transformer};
use crate::PredictError;
use crate::bytes;
use crate::envelope::Envelope;

const ENVELOPE: Envelope = Envelope {
    magic: *b"STRLTRF\n",
    version: 1,
    what: "transformer model",
};
/// The Burn that trains, as the workspace pins it.
const BURN: &str = "0.22.1";

/// Everything but the weights.
#[derive(Serialize, Deserialize)]
struct Header {
    burn: String,
    options: TransformerOptions,
    base: Base,
    report: TrainingReport,
}

pub(super) fn save(model: &Transformer, path: &Path) -> Result<(), PredictError> {
    let learnt = model.learnt()?;
    ENVELOPE.write(path, &encode(&model.options, learnt)?)
}

pub(super) fn load(path: &Path) -> Result<Transformer, PredictError> {
    ENVELOPE.read(path, decode)
}

/// The body of a model's file.
pub(super) fn encode(options: &TransformerOptions, learnt: &Learnt) -> Result<Vec<u8>, PredictError> {
    let header = Header {
        burn: BURN.into(),
        options: options.clone(),
        base: learnt.base.clone(),
        report: learnt.report.clone(),
    };
    let weights = learnt.weights.iter().flat_map(|weight| weight.to_le_bytes());
    bytes::with_header("transformer", &header, weights)
}

/// The model, or what is wrong with its body.
pub(super) fn decode(body: &[u8]) -> Result<Transformer, String> {
    let (header, weights) = bytes::split_header::<Header>(body)?;
    header
        .options
        .check()
        .map_err(|error| format!("its header: {error}"))?;
    if !header.base.is_sound(&header.options) {
        return Err("its header: the baseline does not fit the options".into());
    }
    let (weights, rest) = weights.as_chunks::<4>();
    if !rest.is_empty() {
        return Err("its weights are not a whole number of four-byte values".into());
    }
    let expected = weight_count(&header.options);
    if weights.len() != expected {
        return Err(format!(
            "{} weights, but its shape needs {expected}",
            weights.len()
        ));
    }
    let weights: Vec<f32> = weights.iter().map(|weight| f32::from_le_bytes(*weight)).collect();
    if let Some(index) = weights.iter().position(|weight| !weight.is_finite()) {
        return Err(format!("weight {index} is not finite"));
    }
    let trained = Trained {
        base: header.base,
        weights,
        report: header.report,
    };
    Ok(Transformer {
        learnt: Some(Learnt::new(&header.options, trained)),
        options: header.options,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WorkloadPredictor;
    use crate::transformer::tests::{tiny, wave};

    fn small() -> Transformer {
        let mut model = Transformer::new(TransformerOptions {
            epochs: 1,
            d_model: 2,
            heads: 1,
            feed_forward: 2,
            ..tiny()
        })
        .unwrap();
        model.fit(&[wave(60)]).unwrap();
        model
    }

    fn bytes(model: &Transformer) -> Vec<u8> {
        ENVELOPE.seal(&encode(&model.options, model.learnt().unwrap()).unwrap())
    }

    #[test]
    fn a_saved_model_forecasts_with_the_same_bits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.bin");
        let model = small();
        model.save(&path).unwrap();
        model.save(&path).unwrap(); // over itself
        let loaded = Transformer::load(&path).unwrap();
        assert_eq!(loaded.options(), model.options());
        assert_eq!(loaded.report(), model.report());
        let history = wave(50);
        assert_eq!(
            loaded.forecast(&history, 7).unwrap(),
            model.forecast(&history, 7).unwrap()
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn every_flipped_byte_is_noticed() {
        let mut bytes = bytes(&small());
        let read = |bytes: &[u8]| ENVELOPE.open(bytes).and_then(decode);
        assert!(read(&bytes).is_ok());
        for index in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                bytes[index] ^= flip;
                assert!(read(&bytes).is_err(), "byte {index} ^ {flip:#x}");
                bytes[index] ^= flip;
            }
        }
    }

    #[test]
    fn every_truncation_and_every_surplus_is_noticed() {
        let model = small();
        let sealed = bytes(&model);
        let body = encode(&model.options, model.learnt().unwrap()).unwrap();
        for length in 0..sealed.len() {
            assert!(ENVELOPE.open(&sealed[..length]).is_err(), "{length} bytes");
        }
        // Even where the envelope is whole.
        for length in 0..body.len() {
            assert!(decode(&body[..length]).is_err(), "{length} bytes of the body");
        }
        assert!(decode(&[body.as_slice(), &[0]].concat()).is_err());
    }

    #[test]
    fn the_reason_says_what_is_wrong_and_where() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.bin");
        let good = bytes(&small());
        let reason = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = good.clone();
            change(&mut bytes);
            std::fs::write(&path, bytes).unwrap();
            match Transformer::load(&path).unwrap_err() {
                PredictError::Damaged { reason, path: named } if named == path => reason,
                other => panic!("{other}"),
            }
        };
        assert!(reason(&|bytes| bytes[0] = b'x').starts_with("not a transformer model"));
        assert_eq!(
            reason(&|bytes| bytes[8] = 9),
            "format version 9, but this build reads 1"
        );
        assert!(reason(&|bytes| bytes.truncate(bytes.len() / 2)).starts_with("its body is"));
        assert!(reason(&|bytes| bytes[100] ^= 1).starts_with("its checksum is"));
        // A file that was written like this: the envelope is whole.
        let mut body = ENVELOPE.open(&good).unwrap().to_vec();
        let at = body.len() - 4;
        body[at..].copy_from_slice(&f32::NAN.to_le_bytes());
        assert!(decode(&body).unwrap_err().ends_with("is not finite"));
    }

    #[test]
    fn a_missing_file_is_an_io_error_with_its_path_and_an_untrained_model_is_not_saved() {
        let error = Transformer::load("no/such/model.bin").unwrap_err();
        assert!(error.to_string().contains("no/such/model.bin"));
        assert!(matches!(
            small().save("no/such/folder/model.bin"),
            Err(PredictError::Io { .. })
        ));
        assert!(matches!(
            Transformer::new(tiny()).unwrap().save("model.bin"),
            Err(PredictError::NotFitted { .. })
        ));
    }
}
