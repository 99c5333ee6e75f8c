//! Which genomes are already there.

/// A hash of a genome's values.
#[inline]
pub(crate) fn hash(genome: &[f64]) -> u64 {
    // Two lanes of multiply-and-rotate; only equality of genomes matters, which is checked in full.
    let (mut a, mut b) = (0x243f_6a88_85a3_08d3u64, 0x1319_8a2e_0370_7344u64);
    let (pairs, rest) = genome.as_chunks::<2>();
    for [x, y] in pairs {
        a = (a ^ (x + 0.0).to_bits())
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
        b = (b ^ (y + 0.0).to_bits())
            .wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
            .rotate_left(31);
    }
    for x in rest {
        a = (a ^ (x + 0.0).to_bits())
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
    }
    let mixed = (a ^ b.rotate_left(17)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 32)
}

/// A hash table of individuals by genome. Rebuilt each generation, in the same memory.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Hash and individual + 1; 0 is free.
    slots: Vec<(u64, u32)>,
}

impl Seen {
    /// Empties it and makes room for so many individuals.
    pub(crate) fn reset(&mut self, capacity: usize) {
        self.slots.clear();
        self.slots.resize((capacity * 2 + 1).next_power_of_two(), (0, 0));
    }

    /// Adds an individual unless one with the same genome is there; whether it was added.
    pub(crate) fn insert(&mut self, hash: u64, individual: usize, same: impl Fn(usize) -> bool) -> bool {
        let mask = self.slots.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let (stored, other) = self.slots[place];
            if other == 0 {
                self.slots[place] = (hash, individual as u32 + 1);
                return true;
            }
            if stored == hash && same(other as usize - 1) {
                return false;
            }
            place = (place + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_equal_genome_is_refused_and_a_colliding_one_is_not() {
        let mut seen = Seen::default();
        seen.reset(4);
        assert!(seen.insert(7, 0, |_| true));
        assert!(!seen.insert(7, 1, |other| other == 0));
        assert!(seen.insert(7, 2, |_| false));
        assert!(seen.insert(15, 3, |_| true));
    }

    #[test]
    fn negative_zero_hashes_as_zero() {
        assert_eq!(hash(&[0.0, 1.0, -0.0]), hash(&[-0.0, 1.0, 0.0]));
        assert_ne!(hash(&[0.0, 1.0]), hash(&[1.0, 0.0]));
    }
}
