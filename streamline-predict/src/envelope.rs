//! The frame around everything that is written to disk.
//!
//! `magic (8 bytes) · format version (u32) · body length (u64) · body · CRC-32 of everything before (u32)`, all
//! little-endian.

use std::io::Write;
use std::path::Path;

use crate::PredictError;

/// Bytes before the body: magic, version and length.
const PREFIX: usize = 8 + 4 + 8;

/// What kind of file it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Envelope {
    pub(crate) magic: [u8; 8],
    pub(crate) version: u32,
    /// What the file is called in messages, such as `transformer model`.
    pub(crate) what: &'static str,
}

impl Envelope {
    /// Puts the frame around a body.
    pub(crate) fn seal(&self, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PREFIX + body.len() + 4);
        bytes.extend(self.magic);
        bytes.extend(self.version.to_le_bytes());
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(body);
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    /// The body, or what is wrong with the bytes.
    pub(crate) fn open<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], String> {
        let short = || format!("cut short: {} bytes", bytes.len());
        let (magic, rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
        if *magic != self.magic {
            return Err(format!("not a {}: its first 8 bytes are others", self.what));
        }
        let (version, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        let version = u32::from_le_bytes(*version);
        if version != self.version {
            return Err(format!(
                "format version {version}, but this build reads {}",
                self.version
            ));
        }
        let (length, rest) = rest.split_first_chunk::<8>().ok_or_else(short)?;
        let length = u64::from_le_bytes(*length);
        let (body, checksum) = rest.split_last_chunk::<4>().ok_or_else(short)?;
        if body.len() as u64 != length {
            return Err(format!(
                "its body is {} bytes long, but should be {length}",
                body.len()
            ));
        }
        let checksum = u32::from_le_bytes(*checksum);
        let found = crc32fast::hash(bytes.get(..PREFIX + body.len()).unwrap_or_default());
        if checksum != found {
            return Err(format!(
                "its checksum is {checksum:08x}, but that of its content is {found:08x}"
            ));
        }
        Ok(body)
    }

    /// Writes a body to a file, whole or not at all: into a temporary file beside it that then takes its place.
    pub(crate) fn write(&self, path: &Path, body: &[u8]) -> Result<(), PredictError> {
        let io = |source| PredictError::Io {
            path: path.to_owned(),
            source,
        };
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(io)?;
        file.write_all(&self.seal(body)).map_err(io)?;
        file.as_file().sync_all().map_err(io)?;
        file.persist(path).map_err(|error| io(error.error))?;
        Ok(())
    }

    /// Reads a file and makes a value of its body with `decode`, which says what is wrong where it cannot.
    pub(crate) fn read<T>(
        &self,
        path: &Path,
        decode: impl FnOnce(&[u8]) -> Result<T, String>,
    ) -> Result<T, PredictError> {
        let bytes = std::fs::read(path).map_err(|source| PredictError::Io {
            path: path.to_owned(),
            source,
        })?;
        self.open(&bytes)
            .and_then(decode)
            .map_err(|reason| PredictError::Damaged {
                path: path.to_owned(),
                reason,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENVELOPE: Envelope = Envelope {
        magic: *b"TESTING\n",
        version: 3,
        what: "test",
    };

    #[test]
    fn a_body_comes_out_as_it_went_in() {
        for body in [b"".as_slice(), b"x", &[7; 1000]] {
            assert_eq!(ENVELOPE.open(&ENVELOPE.seal(body)).unwrap(), body);
        }
    }

    #[test]
    fn every_flipped_bit_every_truncation_and_every_surplus_is_noticed() {
        let mut bytes = ENVELOPE.seal(b"some body");
        for index in 0..bytes.len() {
            for bit in 0..8 {
                bytes[index] ^= 1 << bit;
                assert!(ENVELOPE.open(&bytes).is_err(), "byte {index} bit {bit}");
                bytes[index] ^= 1 << bit;
            }
            assert!(ENVELOPE.open(&bytes[..index]).is_err(), "{index} bytes");
        }
        bytes.push(0);
        assert!(ENVELOPE.open(&bytes).is_err());
    }
}
