//! What predictors are written as, before it goes into a file.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::PredictError;

/// `header length (u32, little-endian) · header (JSON) · rest`.
pub(crate) fn with_header(
    name: &str,
    header: &impl Serialize,
    rest: impl IntoIterator<Item = u8>,
) -> Result<Vec<u8>, PredictError> {
    let unsound = |reason: String| PredictError::Unsound {
        name: name.into(),
        reason,
    };
    let header = serde_json::to_vec(header).map_err(|error| unsound(error.to_string()))?;
    let length =
        u32::try_from(header.len()).map_err(|_| unsound("its header is longer than 4 GiB".into()))?;
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend(header);
    bytes.extend(rest);
    Ok(bytes)
}

/// The header and the rest, or what is wrong.
pub(crate) fn split_header<H: DeserializeOwned>(bytes: &[u8]) -> Result<(H, &[u8]), String> {
    let (length, rest) = bytes
        .split_first_chunk::<4>()
        .ok_or("its body has no header length")?;
    let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let (header, rest) = rest
        .split_at_checked(length)
        .ok_or("its header is longer than its body")?;
    let header = serde_json::from_slice(header).map_err(|error| format!("its header: {error}"))?;
    Ok((header, rest))
}

/// The header alone, of a predictor of this name.
pub(crate) fn only_header<H: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<H, PredictError> {
    let header = match split_header(bytes) {
        Ok((header, [])) => Ok(header),
        Ok(_) => Err("something follows it".into()),
        Err(reason) => Err(reason),
    };
    header.map_err(|reason| PredictError::Unsound {
        name: name.into(),
        reason,
    })
}

/// For a predictor that learns nothing.
pub(crate) fn expect_none(name: &str, bytes: &[u8]) -> Result<(), PredictError> {
    if bytes.is_empty() {
        return Ok(());
    }
    Err(PredictError::Unsound {
        name: name.into(),
        reason: format!("it learns nothing, but there are {} bytes", bytes.len()),
    })
}
