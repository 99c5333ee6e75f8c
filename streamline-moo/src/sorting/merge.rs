//! Sorting on several threads: halves apart, then merged from both ends of a cut.

/// Fewer items than this are sorted on one thread.
const ALONE: usize = 8192;

/// Sorts `items` on the threads of the current rayon pool. `spare` is memory of the same kind. Equal items must not be told
/// apart.
pub(super) fn sort<T: Copy + Ord + Send + Sync>(items: &mut Vec<T>, spare: &mut Vec<T>) {
    spare.clear();
    spare.extend_from_slice(items);
    let pieces = rayon::current_num_threads().next_power_of_two();
    if into(spare, items, pieces) {
        std::mem::swap(items, spare);
    }
}

/// Sorts what both slices hold; whether the result is in `from` rather than in `to`.
fn into<T: Copy + Ord + Send + Sync>(from: &mut [T], to: &mut [T], pieces: usize) -> bool {
    if pieces < 2 || from.len() < ALONE {
        from.sort_unstable();
        return true;
    }
    let middle = from.len() / 2;
    let ((from_left, from_right), (to_left, to_right)) = (from.split_at_mut(middle), to.split_at_mut(middle));
    let (left, right) = rayon::join(
        || into(from_left, to_left, pieces / 2),
        || into(from_right, to_right, pieces / 2),
    );
    // Both halves have come the same way but for their length; bring them together.
    if left != right {
        if left {
            to_left.copy_from_slice(from_left)
        } else {
            to_right.copy_from_slice(from_right)
        }
        merge((to_left, to_right), from, pieces);
        return true;
    }
    if left {
        merge((from_left, from_right), to, pieces);
    } else {
        merge((to_left, to_right), from, pieces);
    }
    !left
}

/// Merges two sorted slices into `out`.
fn merge<T: Copy + Ord + Send + Sync>((a, b): (&[T], &[T]), out: &mut [T], pieces: usize) {
    if pieces > 1 && out.len() >= ALONE {
        let i = a.len() / 2;
        let j = b.partition_point(|item| *item < a[i]);
        let (left, right) = out.split_at_mut(i + j);
        rayon::join(
            || merge((&a[..i], &b[..j]), left, pieces / 2),
            || merge((&a[i..], &b[j..]), right, pieces / 2),
        );
        return;
    }
    let (mut i, mut j) = (0, 0);
    for place in out.iter_mut() {
        let from_a = j == b.len() || (i < a.len() && a[i] <= b[j]);
        *place = if from_a { a[i] } else { b[j] };
        i += usize::from(from_a);
        j += usize::from(!from_a);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_length_sorts_on_any_number_of_threads() {
        let mut random = crate::random::Streams::new(2, 0, crate::random::Purpose::Sample).stream(0);
        for threads in [1, 2, 3, 8] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            for n in [0, 1, 8191, 8192, 16_385, 20_001, 40_000, 65_541] {
                let mut items: Vec<u64> = (0..n).map(|_| random.below(n) as u64).collect();
                let mut expected = items.clone();
                expected.sort_unstable();
                pool.install(|| sort(&mut items, &mut Vec::new()));
                assert_eq!(items, expected, "{n} on {threads}");
            }
        }
    }
}
