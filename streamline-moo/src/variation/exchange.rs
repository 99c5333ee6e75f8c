//! Crossover that exchanges values and makes no new ones.

use crate::Exchange;
use crate::random::Stream;

/// Exchanges genes between two children.
pub(super) fn cross(a: &mut [f64], b: &mut [f64], how: Exchange, random: &mut Stream) {
    match how {
        Exchange::Uniform => {
            for (a, b) in a.chunks_mut(64).zip(b.chunks_mut(64)) {
                let bits = random.bits();
                for (i, (a, b)) in a.iter_mut().zip(b).enumerate() {
                    if bits >> i & 1 == 1 {
                        std::mem::swap(a, b);
                    }
                }
            }
        }
        Exchange::Point { cuts } => {
            // An odd number of cuts leaves the last stretch exchanged; each further cut starts or ends one.
            for _ in 0..cuts.min(a.len().saturating_sub(1)) {
                let cut = 1 + random.below(a.len() - 1);
                a[cut..].swap_with_slice(&mut b[cut..]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Streams};

    #[test]
    fn each_gene_comes_from_one_parent_and_the_other_child_has_the_other() {
        for how in [
            Exchange::Uniform,
            Exchange::Point { cuts: 1 },
            Exchange::Point { cuts: 3 },
        ] {
            let mut random = Streams::new(4, 0, Purpose::Variation).stream(0);
            let mut exchanged = 0;
            for _ in 0..200 {
                let (mut a, mut b) = ([0.0; 70], [1.0; 70]);
                cross(&mut a, &mut b, how, &mut random);
                assert!(a.iter().zip(&b).all(|(a, b)| a + b == 1.0));
                exchanged += a.iter().filter(|&&x| x == 1.0).count();
            }
            let share = exchanged as f64 / 14_000.0;
            assert!((0.4..0.6).contains(&share), "{how:?}: {share}");
        }
    }

    #[test]
    fn a_single_gene_survives_point_crossover() {
        let mut random = Streams::new(4, 0, Purpose::Variation).stream(0);
        let (mut a, mut b) = ([0.0], [1.0]);
        cross(&mut a, &mut b, Exchange::Point { cuts: 2 }, &mut random);
        assert_eq!((a, b), ([0.0], [1.0]));
    }
}
