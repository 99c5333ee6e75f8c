//! Permutations: order crossover, and mutation by reversal and swap.

use crate::random::Stream;

/// Order crossover (L. Davis 1985): each child keeps a stretch of its parent, and has the rest in the other's order.
pub(super) fn cross(a: &mut [f64], b: &mut [f64], random: &mut Stream) {
    let n = a.len();
    if n < 2 {
        return;
    }
    let (i, j) = (random.below(n + 1), random.below(n + 1));
    let kept = i.min(j)..i.max(j);
    let (first, second) = (a.to_vec(), b.to_vec());
    for (child, own, other) in [(a, &first, &second), (b, &second, &first)] {
        let mut taken = vec![false; n];
        for &value in &own[kept.clone()] {
            taken[value as usize] = true;
        }
        let mut rest = (0..n)
            .map(|k| other[(kept.end + k) % n])
            .filter(|&value| !taken[value as usize]);
        for k in 0..n - kept.len() {
            if let Some(value) = rest.next() {
                child[(kept.end + k) % n] = value;
            }
        }
    }
}

/// Reverses a stretch or swaps two places.
pub(super) fn mutate(genes: &mut [f64], random: &mut Stream) {
    let n = genes.len();
    if n < 2 {
        return;
    }
    let i = random.below(n);
    let j = (i + 1 + random.below(n - 1)) % n;
    if random.chance(0.5) {
        genes.swap(i, j);
    } else {
        genes[i.min(j)..=i.max(j)].reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Streams};

    #[test]
    fn children_are_orders_again_and_a_mutation_changes_something() {
        let mut random = Streams::new(6, 0, Purpose::Variation).stream(0);
        for n in 2..9 {
            for _ in 0..50 {
                let mut a: Vec<f64> = (0..n).map(f64::from).collect();
                let mut b = a.clone();
                random.shuffle(&mut b);
                let before = a.clone();
                mutate(&mut a, &mut random);
                assert_ne!(a, before);
                cross(&mut a, &mut b, &mut random);
                for mut child in [a, b] {
                    child.sort_by(f64::total_cmp);
                    assert_eq!(child, before);
                }
            }
        }
    }
}
