//! A model on disk: in the envelope, `header length (u32) · header (JSON) · weights (f32)`, little-endian.
//!
//! Burn's own record holds random parameter ids and no checksum, and has changed between minor releases; so the weights
//! are written plainly, and the header says which Burn trained them.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::correction::Correction;
use super::{Mlp, TrainingReport};
use crate::envelope::Envelope;
use crate::mlp::features::{FEATURES, Features, SCHEMA};
use crate::mlp::network::{DenseLayer, DenseNetwork};
use crate::mlp::options::MlpOptions;
use crate::mlp::training::TARGETS;
use crate::{Analytic, SurrogateError};

const ENVELOPE: Envelope = Envelope {
    magic: *b"STRLSUR\n",
    version: 1,
    what: "surrogate model",
};
/// The Burn that trains, as the workspace pins it.
const BURN: &str = "0.22.1";

/// Everything but the weights.
#[derive(Serialize, Deserialize)]
struct Header {
    burn: String,
    features: Vec<String>,
    options: MlpOptions,
    analytic: Analytic,
    scaling: Features,
    correction: Correction,
    report: TrainingReport,
}

pub(super) fn save(model: &Mlp, path: &Path) -> Result<(), SurrogateError> {
    let body = encode(model).map_err(|error| SurrogateError::Io {
        path: path.to_owned(),
        source: std::io::Error::other(error),
    })?;
    ENVELOPE.write(path, &body)
}

pub(super) fn load(path: &Path) -> Result<Mlp, SurrogateError> {
    ENVELOPE.read(path, decode)
}

fn encode(model: &Mlp) -> Result<Vec<u8>, serde_json::Error> {
    let header = serde_json::to_vec(&Header {
        burn: BURN.into(),
        features: SCHEMA.map(String::from).to_vec(),
        options: model.options.clone(),
        analytic: model.analytic.clone(),
        scaling: model.features.clone(),
        correction: model.correction,
        report: model.report.clone(),
    })?;
    let length = u32::try_from(header.len())
        .map_err(|_| serde::ser::Error::custom("the header is longer than 4 GiB"))?;
    let mut body = length.to_le_bytes().to_vec();
    body.extend(header);
    for layer in model.members.iter().flat_map(DenseNetwork::to_layers) {
        for weight in layer.weights.iter().chain(&layer.bias) {
            body.extend(weight.to_le_bytes());
        }
    }
    Ok(body)
}

/// The model, or what is wrong with its body.
fn decode(body: &[u8]) -> Result<Mlp, String> {
    let (length, rest) = body
        .split_first_chunk::<4>()
        .ok_or("its body has no header length")?;
    let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let (header, weights) = rest
        .split_at_checked(length)
        .ok_or("its header is longer than its body")?;
    let header: Header = serde_json::from_slice(header).map_err(|error| format!("its header: {error}"))?;
    if header.features != SCHEMA {
        return Err("it was trained on other features than this build makes".into());
    }
    header
        .options
        .check()
        .and_then(|()| header.analytic.check())
        .map_err(|error| format!("its header: {error}"))?;
    if !header.scaling.is_sound() || !header.correction.is_sound() {
        return Err("its header: a number of the scaling is out of range".into());
    }
    let (weights, rest) = weights.as_chunks::<4>();
    if !rest.is_empty() {
        return Err("its weights are not a whole number of four-byte values".into());
    }
    let members = unpack(
        weights.iter().map(|weight| f32::from_le_bytes(*weight)),
        weights.len(),
        &header.options,
    )?;
    Ok(Mlp {
        options: header.options,
        analytic: header.analytic,
        features: header.scaling,
        members,
        correction: header.correction,
        report: header.report,
    })
}

/// The networks whose shape the options tell.
fn unpack(
    mut weights: impl Iterator<Item = f32>,
    count: usize,
    options: &MlpOptions,
) -> Result<Vec<DenseNetwork>, String> {
    let mut sizes = vec![FEATURES];
    sizes.extend(&options.hidden);
    sizes.push(TARGETS);
    let each: usize = sizes.windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum();
    let expected = each * options.members;
    if count != expected {
        return Err(format!("{count} weights, but its shape needs {expected}"));
    }
    (0..options.members)
        .map(|member| {
            let layers = sizes
                .windows(2)
                .map(|pair| DenseLayer {
                    inputs: pair[0],
                    outputs: pair[1],
                    weights: weights.by_ref().take(pair[0] * pair[1]).collect(),
                    bias: weights.by_ref().take(pair[1]).collect(),
                })
                .collect();
            DenseNetwork::new(layers).map_err(|error| format!("member {member}: {error}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::world;
    use crate::{PerformanceSurrogate, Prediction};

    fn small() -> Mlp {
        let options = MlpOptions {
            members: 1,
            hidden: vec![2],
            epochs: 2,
            ..MlpOptions::default()
        };
        Mlp::fit(&world(120, 1), &options).unwrap()
    }

    #[test]
    fn a_saved_model_answers_with_the_same_bits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.bin");
        let model = small();
        model.save(&path).unwrap();
        model.save(&path).unwrap(); // over itself
        assert_eq!(Mlp::load(&path).unwrap(), model);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn every_flipped_byte_is_noticed() {
        let mut bytes = ENVELOPE.seal(&encode(&small()).unwrap());
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
        let body = encode(&small()).unwrap();
        let bytes = ENVELOPE.seal(&body);
        for length in 0..bytes.len() {
            assert!(ENVELOPE.open(&bytes[..length]).is_err(), "{length} bytes");
        }
        // Even where the envelope is whole.
        for length in 0..body.len() {
            assert!(decode(&body[..length]).is_err(), "{length} bytes of the body");
        }
        assert!(decode(&[body.as_slice(), &[0]].concat()).is_err());
    }

    #[test]
    fn the_reason_says_what_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.bin");
        let model = small();
        let reason = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = ENVELOPE.seal(&encode(&model).unwrap());
            change(&mut bytes);
            std::fs::write(&path, bytes).unwrap();
            match Mlp::load(&path).unwrap_err() {
                SurrogateError::Damaged { reason, .. } => reason,
                other => panic!("{other}"),
            }
        };
        assert!(reason(&|bytes| bytes[0] = b'x').starts_with("not a surrogate model"));
        assert_eq!(
            reason(&|bytes| bytes[8] = 9),
            "format version 9, but this build reads 1"
        );
        assert!(reason(&|bytes| bytes.truncate(bytes.len() / 2)).starts_with("its body is"));
        assert!(reason(&|bytes| bytes[100] ^= 1).starts_with("its checksum is"));

        // Files that were written like this: the envelope is whole.
        let body = encode(&model).unwrap();
        let mut not_finite = body.clone();
        let at = body.len() - 4;
        not_finite[at..].copy_from_slice(&f32::NAN.to_le_bytes());
        assert_eq!(
            decode(&not_finite).unwrap_err(),
            "member 0: layer 1: a weight is not finite"
        );
        let mut other = body;
        let at = other
            .windows(9)
            .position(|window| window == b"unit_rate")
            .unwrap();
        other[at] = b'U';
        assert_eq!(
            decode(&other).unwrap_err(),
            "it was trained on other features than this build makes"
        );
    }

    #[test]
    fn whatever_a_whole_envelope_holds_is_refused_or_answers_sensibly() {
        let mut body = encode(&small()).unwrap();
        let queries: Vec<_> = world(20, 5).iter().map(|sample| sample.query).collect();
        let mut out = vec![Prediction::ZERO; queries.len()];
        for index in 0..body.len() {
            let kept = body[index];
            body[index] = [b'9', b'-', b'e', 0xff, 0x7f, b'0'][index % 6];
            if let Ok(model) = decode(&body) {
                model.predict(&queries, &mut out).unwrap();
                for (query, Prediction { estimate, .. }) in queries.iter().zip(&out) {
                    assert!(
                        (0.0..=query.input_rate).contains(&estimate.throughput),
                        "byte {index}"
                    );
                    assert!(
                        estimate.latency_ms.is_finite() && estimate.cpu_cores.is_finite(),
                        "byte {index}"
                    );
                }
            }
            body[index] = kept;
        }
    }

    #[test]
    fn a_missing_file_is_an_io_error_with_its_path() {
        let error = Mlp::load("no/such/model.bin").unwrap_err();
        assert!(error.to_string().contains("no/such/model.bin"));
        assert!(matches!(
            small().save("no/such/folder/model.bin"),
            Err(SurrogateError::Io { .. })
        ));
    }
}
