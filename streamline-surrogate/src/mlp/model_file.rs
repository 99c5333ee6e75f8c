//! A model on disk.
//!
//! `magic (8 bytes) · format version (u32) · header length (u32) · weight count (u32) · header (JSON) · weights (f32) ·
//! CRC-32 of everything before (u32)`, all little-endian. Burn's own record holds random parameter ids and no checksum,
//! and has changed between minor releases; so the weights are written plainly, and the header says which Burn trained
//! them.

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Correction, Mlp, TrainingReport};
use crate::mlp::features::{FEATURES, Features, SCHEMA};
use crate::mlp::network::{DenseLayer, DenseNetwork};
use crate::mlp::options::MlpOptions;
use crate::mlp::training::TARGETS;
use crate::{Analytic, SurrogateError};

const MAGIC: [u8; 8] = *b"STRLSUR\n";
const VERSION: u32 = 1;
/// The Burn that trains, as the workspace pins it.
const BURN: &str = "0.22.1";
/// Bytes before the header.
const PREFIX: usize = MAGIC.len() + 3 * 4;

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
    let io = |source| SurrogateError::Io {
        path: path.to_owned(),
        source,
    };
    let bytes = encode(model).map_err(|error| io(std::io::Error::other(error)))?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(io)?;
    file.write_all(&bytes).map_err(io)?;
    file.as_file().sync_all().map_err(io)?;
    file.persist(path).map_err(|error| io(error.error))?;
    Ok(())
}

pub(super) fn load(path: &Path) -> Result<Mlp, SurrogateError> {
    let bytes = std::fs::read(path).map_err(|source| SurrogateError::Io {
        path: path.to_owned(),
        source,
    })?;
    decode(&bytes).map_err(|reason| SurrogateError::Damaged {
        path: path.to_owned(),
        reason,
    })
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
    let weights: Vec<f32> = model
        .members
        .iter()
        .flat_map(DenseNetwork::to_layers)
        .flat_map(|layer| layer.weights.into_iter().chain(layer.bias))
        .collect();
    let too_long = |_| serde::ser::Error::custom("the model is too large");
    let mut bytes = Vec::with_capacity(PREFIX + header.len() + 4 * weights.len() + 4);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(u32::try_from(header.len()).map_err(too_long)?.to_le_bytes());
    bytes.extend(u32::try_from(weights.len()).map_err(too_long)?.to_le_bytes());
    bytes.extend(header);
    bytes.extend(weights.iter().flat_map(|weight| weight.to_le_bytes()));
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    Ok(bytes)
}

/// The model, or what is wrong with its bytes.
fn decode(bytes: &[u8]) -> Result<Mlp, String> {
    let Some((magic, rest)) = bytes.split_first_chunk::<8>() else {
        return Err(format!("cut short: {} bytes", bytes.len()));
    };
    if *magic != MAGIC {
        return Err("not a surrogate model: the first 8 bytes are others".into());
    }
    let (numbers, _) = rest.as_chunks::<4>();
    let [version, header_bytes, weight_count, ..] = numbers else {
        return Err(format!("cut short: {} bytes", bytes.len()));
    };
    let version = u32::from_le_bytes(*version);
    if version != VERSION {
        return Err(format!(
            "format version {version}, but this build reads {VERSION}"
        ));
    }
    let header_bytes = u64::from(u32::from_le_bytes(*header_bytes));
    let weight_count = u64::from(u32::from_le_bytes(*weight_count));
    let expected = PREFIX as u64 + header_bytes + 4 * weight_count + 4;
    if bytes.len() as u64 != expected {
        return Err(format!(
            "{} bytes long, but its lengths add up to {expected}",
            bytes.len()
        ));
    }
    let Some((content, checksum)) = bytes.split_last_chunk::<4>() else {
        return Err(format!("cut short: {} bytes", bytes.len()));
    };
    let checksum = u32::from_le_bytes(*checksum);
    let found = crc32fast::hash(content);
    if checksum != found {
        return Err(format!(
            "its checksum is {checksum:08x}, but that of its content is {found:08x}"
        ));
    }
    // The lengths add up, so both parts are there.
    let body = content.get(PREFIX..).unwrap_or_default();
    let (header, weights) = body
        .split_at_checked(usize::try_from(header_bytes).unwrap_or(usize::MAX))
        .ok_or("cut short within the header")?;
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
    let (weights, _) = weights.as_chunks::<4>();
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
        let mut bytes = encode(&small()).unwrap();
        assert!(decode(&bytes).is_ok());
        for index in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                bytes[index] ^= flip;
                assert!(decode(&bytes).is_err(), "byte {index} ^ {flip:#x}");
                bytes[index] ^= flip;
            }
        }
    }

    #[test]
    fn every_truncation_and_every_surplus_is_noticed() {
        let bytes = encode(&small()).unwrap();
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_err(), "{length} bytes");
        }
        assert!(decode(&[bytes.as_slice(), &[0]].concat()).is_err());
    }

    #[test]
    fn the_reason_says_what_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.bin");
        let model = small();
        let reason = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = encode(&model).unwrap();
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
        assert!(reason(&|bytes| bytes.truncate(bytes.len() / 2)).contains("bytes long"));
        assert!(reason(&|bytes| bytes[100] ^= 1).starts_with("its checksum is"));
        let reseal = |bytes: &mut Vec<u8>| {
            let length = bytes.len() - 4;
            let checksum = crc32fast::hash(&bytes[..length]).to_le_bytes();
            bytes[length..].copy_from_slice(&checksum);
        };
        // A file that was written with a weight that is not finite.
        let not_finite = reason(&|bytes| {
            let at = bytes.len() - 8;
            bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
            reseal(bytes);
        });
        assert_eq!(not_finite, "member 0: layer 1: a weight is not finite");
        // Another schema.
        let other = reason(&|bytes| {
            let at = bytes
                .windows(9)
                .position(|window| window == b"unit_rate")
                .unwrap();
            bytes[at] = b'U';
            reseal(bytes);
        });
        assert_eq!(other, "it was trained on other features than this build makes");
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
