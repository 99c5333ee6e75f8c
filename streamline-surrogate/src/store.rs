use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::analytic::kind_index;
use crate::envelope::Envelope;
use crate::{Sample, SurrogateError};

const ENVELOPE: Envelope = Envelope {
    magic: *b"STRLSMP\n",
    version: 1,
    what: "sample store",
};

/// How a [`SampleStore`] remembers and forgets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoreOptions {
    /// The most samples that are kept, 1 to 1,000,000; beyond it the oldest goes. Default 10,000.
    pub capacity: usize,
    /// Milliseconds after which a sample counts half. Default a week.
    pub half_life_ms: u64,
    /// A sample that counts less than this share of a new one is forgotten, 1e-6 to 1. Default 0.05, that is after 4.3
    /// half-lives.
    pub forget_below: f64,
    /// Loads that differ by less than about this share count as the same, 0.001 to 1. Default 0.1.
    pub resolution: f64,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            capacity: 10_000,
            half_life_ms: 7 * 24 * 3_600_000,
            forget_below: 0.05,
            resolution: 0.1,
        }
    }
}

impl StoreOptions {
    /// Checks that every setting lies within its range.
    ///
    /// # Errors
    /// [`SurrogateError::InvalidOption`] naming the first that does not.
    pub fn check(&self) -> Result<(), SurrogateError> {
        for (name, value, range, expected) in [
            ("capacity", self.capacity as f64, 1.0..=1e6, "1 to 1000000"),
            (
                "half_life_ms",
                self.half_life_ms as f64,
                1.0..=f64::INFINITY,
                "at least 1",
            ),
            ("forget_below", self.forget_below, 1e-6..=1.0, "1e-6 to 1"),
            ("resolution", self.resolution, 0.001..=1.0, "0.001 to 1"),
        ] {
            if !range.contains(&value) {
                return Err(SurrogateError::InvalidOption {
                    name,
                    value,
                    expected,
                });
            }
        }
        Ok(())
    }
}

/// What makes two samples the same: configuration exactly, operator and load roughly.
type Key = [i64; 9];

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Stored {
    sample: Sample,
    time_ms: i64,
}

/// Samples from live jobs, for learning while they run.
///
/// Bounded: beyond its capacity the oldest sample goes. Deduplicated: a sample of the same configuration and about the
/// same load replaces the earlier one, so that a job that idles along does not crowd out all others. Fading: a sample
/// counts less as it ages, and is forgotten in the end, so that yesterday's hardware does not outvote today's. Time comes
/// from the caller, in milliseconds since any fixed moment.
///
/// # Examples
///
/// ```
/// use streamline_core::{OperatorEstimate, OperatorKind};
/// use streamline_surrogate::{Query, Sample, SampleStore, StoreOptions};
///
/// let sample = |input_rate| Sample {
///     query: Query {
///         kind: OperatorKind::Map,
///         unit_rate: 10_000.0,
///         parallelism: 4,
///         segment_bytes: 32 << 10,
///         buffer_timeout_ms: 100,
///         input_rate,
///         selectivity: 1.0,
///         record_bytes: 100.0,
///         colocation_load: 0.5,
///     },
///     measured: OperatorEstimate { throughput: input_rate, latency_ms: 20.0, cpu_cores: 1.0 },
/// };
/// let hour = 3_600_000;
/// let mut store = SampleStore::new(StoreOptions { half_life_ms: 24 * 3_600_000, ..StoreOptions::default() })?;
/// store.insert(sample(9_000.0), 0)?;
/// store.insert(sample(20_000.0), 12 * hour)?;
/// store.insert(sample(20_010.0), 24 * hour)?; // about the same load: replaces the one before
///
/// let (samples, weights) = store.weighted(24 * hour);
/// assert_eq!(samples.len(), 2);
/// assert_eq!(weights, [0.5, 1.0]);
/// # Ok::<(), streamline_surrogate::SurrogateError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SampleStore {
    options: StoreOptions,
    samples: BTreeMap<Key, Stored>,
}

/// What is written to disk.
#[derive(Serialize, Deserialize)]
struct Contents {
    options: StoreOptions,
    samples: Vec<Stored>,
}

impl SampleStore {
    /// An empty store.
    ///
    /// # Errors
    /// [`SurrogateError::InvalidOption`].
    pub fn new(options: StoreOptions) -> Result<Self, SurrogateError> {
        options.check()?;
        Ok(Self {
            options,
            samples: BTreeMap::new(),
        })
    }

    /// Remembers a sample that was measured at `time_ms`, unless a later one of the same configuration and load is there.
    ///
    /// Where the store is full, finding the oldest takes time in proportion to its size.
    ///
    /// # Errors
    /// [`SurrogateError::InvalidQuery`] or [`SurrogateError::InvalidSample`] if the sample makes no sense.
    pub fn insert(&mut self, sample: Sample, time_ms: i64) -> Result<(), SurrogateError> {
        sample.check(0)?;
        let key = self.key(&sample);
        if self
            .samples
            .get(&key)
            .is_some_and(|stored| stored.time_ms > time_ms)
        {
            return Ok(());
        }
        self.samples.insert(key, Stored { sample, time_ms });
        while self.samples.len() > self.options.capacity {
            let oldest = self
                .samples
                .iter()
                .min_by_key(|(key, stored)| (stored.time_ms, **key))
                .map(|(key, _)| *key);
            match oldest {
                Some(oldest) => self.samples.remove(&oldest),
                None => break,
            };
        }
        Ok(())
    }

    /// Drops what has faded by `now_ms` and says how many samples that were.
    pub fn forget(&mut self, now_ms: i64) -> usize {
        let before = self.samples.len();
        let options = self.options;
        self.samples
            .retain(|_, stored| weight(&options, stored, now_ms) >= options.forget_below);
        before - self.samples.len()
    }

    /// The samples that have not faded by `now_ms` with how much each counts, above 0 to 1, oldest first.
    #[must_use]
    pub fn weighted(&self, now_ms: i64) -> (Vec<Sample>, Vec<f64>) {
        self.by_age()
            .into_iter()
            .map(|stored| (stored.sample, weight(&self.options, stored, now_ms)))
            .filter(|&(_, weight)| weight >= self.options.forget_below)
            .unzip()
    }

    /// The samples measured at `time_ms` or later, oldest first.
    #[must_use]
    pub fn since(&self, time_ms: i64) -> Vec<Sample> {
        self.by_age()
            .into_iter()
            .filter(|stored| stored.time_ms >= time_ms)
            .map(|stored| stored.sample)
            .collect()
    }

    /// How many samples it holds, faded ones that were not yet forgotten included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// How it remembers.
    #[must_use]
    pub fn options(&self) -> &StoreOptions {
        &self.options
    }

    /// Writes the store to a file, whole or not at all.
    ///
    /// # Errors
    /// [`SurrogateError::Io`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SurrogateError> {
        let path = path.as_ref();
        let contents = Contents {
            options: self.options,
            samples: self.by_age().into_iter().copied().collect(),
        };
        let body = serde_json::to_vec(&contents).map_err(|error| SurrogateError::Io {
            path: path.to_owned(),
            source: error.into(),
        })?;
        ENVELOPE.write(path, &body)
    }

    /// Reads a store from a file that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`SurrogateError::Io`], or [`SurrogateError::Damaged`] saying what is wrong.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SurrogateError> {
        ENVELOPE.read(path.as_ref(), |body| {
            let contents: Contents = serde_json::from_slice(body).map_err(|error| error.to_string())?;
            let mut store = Self::new(contents.options).map_err(|error| error.to_string())?;
            for stored in contents.samples {
                store
                    .insert(stored.sample, stored.time_ms)
                    .map_err(|error| error.to_string())?;
            }
            Ok(store)
        })
    }

    fn by_age(&self) -> Vec<&Stored> {
        let mut all: Vec<&Stored> = self.samples.values().collect();
        // Stable: samples of one time keep the order of their keys.
        all.sort_by_key(|stored| stored.time_ms);
        all
    }

    fn key(&self, sample: &Sample) -> Key {
        /// Estimates of what an operator is like wander more than loads do.
        const LIKENESS: f64 = 0.5;
        let query = &sample.query;
        let bucket = |value: f64, share: f64| {
            if value > 0.0 {
                (value.ln() / share.ln_1p()).round() as i64
            } else {
                i64::MIN
            }
        };
        [
            kind_index(query.kind) as i64,
            i64::from(query.parallelism),
            i64::from(query.segment_bytes),
            i64::from(query.buffer_timeout_ms),
            bucket(query.unit_rate, LIKENESS),
            bucket(query.record_bytes, LIKENESS),
            bucket(query.selectivity, LIKENESS),
            bucket(query.input_rate, self.options.resolution),
            bucket(query.colocation_load, self.options.resolution),
        ]
    }
}

/// How much a sample counts: half after each half-life; one from the future as much as a new one.
fn weight(options: &StoreOptions, stored: &Stored, now_ms: i64) -> f64 {
    let age = now_ms.saturating_sub(stored.time_ms).max(0) as f64;
    0.5f64.powf(age / options.half_life_ms as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::synthetic::world;

    fn small(capacity: usize) -> SampleStore {
        SampleStore::new(StoreOptions {
            capacity,
            half_life_ms: 1000,
            ..StoreOptions::default()
        })
        .unwrap()
    }

    #[test]
    fn the_oldest_goes_where_the_store_is_full() {
        let samples = world(50, 1);
        let mut store = small(20);
        for (time, sample) in samples.iter().enumerate() {
            store.insert(*sample, time as i64).unwrap();
        }
        assert_eq!(store.since(0), samples[30..]);
    }

    #[test]
    fn an_older_sample_does_not_replace_a_newer_one() {
        let mut store = small(10);
        let new = world(1, 1)[0];
        let mut old = new;
        old.measured.latency_ms += 1.0;
        store.insert(new, 10).unwrap();
        store.insert(old, 5).unwrap();
        assert_eq!(store.since(0), [new]);
        store.insert(old, 20).unwrap();
        assert_eq!(store.since(0), [old]);
    }

    #[test]
    fn faded_samples_are_neither_given_nor_kept() {
        let mut store = small(10);
        for (time, sample) in world(5, 1).into_iter().enumerate() {
            store.insert(sample, 1000 * time as i64).unwrap();
        }
        let (samples, weights) = store.weighted(8000);
        assert_eq!(weights, [0.0625]); // four half-lives; the others are below a twentieth
        assert_eq!(samples.len(), 1);
        assert_eq!(store.forget(8000), 4);
        assert_eq!(store.len(), 1);
        assert_eq!(store.forget(i64::MAX), 1);
        assert!(store.is_empty());
    }

    #[test]
    fn a_store_survives_a_file_and_damage_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples");
        let mut store = small(100);
        for (time, sample) in world(40, 3).into_iter().enumerate() {
            store.insert(sample, time as i64).unwrap();
        }
        store.save(&path).unwrap();
        assert_eq!(SampleStore::load(&path).unwrap(), store);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[60] ^= 4;
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(
            SampleStore::load(&path),
            Err(SurrogateError::Damaged { .. })
        ));
        // A whole envelope around a senseless store.
        for body in [
            r#"{"options":{"capacity":0},"samples":[]}"#,
            r#"{"options":{}}"#,
            "[]",
            "",
        ] {
            ENVELOPE.write(&path, body.as_bytes()).unwrap();
            assert!(
                matches!(SampleStore::load(&path), Err(SurrogateError::Damaged { .. })),
                "{body}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_store_never_grows_beyond_its_capacity_and_holds_no_load_twice(
            times in prop::collection::vec(any::<i64>(), 0..60),
            capacity in 1usize..30,
        ) {
            let mut store = small(capacity);
            for (sample, time) in world(20, 4).iter().cycle().zip(&times) {
                store.insert(*sample, *time).unwrap();
                prop_assert!(store.len() <= capacity);
            }
            let kept = store.since(i64::MIN);
            for (index, sample) in kept.iter().enumerate() {
                prop_assert!(!kept[..index].contains(sample));
            }
        }
    }
}
