//! Random numbers whose values depend on what they are for, never on which thread draws them.
//!
//! Every pair of parents, every new individual and every shuffle gets a [`Stream`] of its own, derived from
//! the seed, the generation, the purpose and an index. So the work can be cut into pieces in any way, and a
//! resumed run needs no generator state beyond the seed and the generation.
//!
//! The generator is xoshiro256++ seeded by `SplitMix64` (D. Blackman, S. Vigna: *Scrambled linear pseudorandom
//! number generators*, ACM Transactions on Mathematical Software 47(4), 2021).

/// What a stream is drawn for, so that no two uses in one generation share numbers.
#[derive(Debug, Clone, Copy)]
#[repr(u64)]
pub(crate) enum Purpose {
    Sample = 1,
    Mating,
    Variation,
    Immigrant,
    Niche,
}

/// The family of streams of one generation and purpose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Streams {
    key: u64,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Streams {
    pub(crate) fn new(seed: u64, generation: u64, purpose: Purpose) -> Self {
        let key = mix(seed.wrapping_add(GOLDEN));
        let key = mix(key ^ generation.wrapping_mul(GOLDEN).wrapping_add(1));
        Self {
            key: mix(key ^ (purpose as u64).wrapping_mul(0xd1b5_4a32_d192_ed03)),
        }
    }

    /// The stream with this index.
    #[inline]
    pub(crate) fn stream(self, index: u64) -> Stream {
        let mut z = mix(self.key ^ index.wrapping_mul(0xa076_1d64_78bd_642f));
        let mut next = || {
            z = z.wrapping_add(GOLDEN);
            mix(z)
        };
        Stream([next(), next(), next(), next()])
    }
}

/// One xoshiro256++ generator.
#[derive(Debug, Clone)]
pub(crate) struct Stream([u64; 4]);

impl Stream {
    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in `[0, 1)`, a multiple of 2⁻⁵³.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in `0..n`, and 0 if `n` is 0. The bias is below n·2⁻⁶⁴.
    #[inline]
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// Whether an event of this probability happens.
    #[inline]
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Fisher and Yates' shuffle.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_different_indices_generations_and_purposes_differ() {
        let first = |g, p, i| Streams::new(7, g, p).stream(i).bits();
        let base = first(0, Purpose::Sample, 0);
        assert_ne!(base, first(1, Purpose::Sample, 0));
        assert_ne!(base, first(0, Purpose::Mating, 0));
        assert_ne!(base, first(0, Purpose::Sample, 1));
        assert_eq!(base, first(0, Purpose::Sample, 0));
    }

    #[test]
    fn units_are_uniform_in_mean_and_variance() {
        let mut s = Streams::new(1, 2, Purpose::Variation).stream(3);
        let draws: Vec<f64> = (0..100_000).map(|_| s.unit()).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.005 && (variance - 1.0 / 12.0).abs() < 0.002);
        assert!(draws.iter().all(|x| (0.0..1.0).contains(x)));
    }

    #[test]
    fn below_covers_its_range_and_nothing_else() {
        let mut s = Streams::new(1, 0, Purpose::Mating).stream(0);
        let mut seen = [0; 7];
        for _ in 0..7000 {
            seen[s.below(7)] += 1;
        }
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
        assert_eq!(s.below(0), 0);
    }
}
