use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What `ask` gives for each of the items, in their order, with at most `width` threads at work.
pub(super) fn each<T: Sync, R: Send>(items: &[T], width: usize, ask: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let width = width.clamp(1, items.len().max(1));
    if width == 1 {
        return items.iter().map(ask).collect();
    }
    let next = AtomicUsize::new(0);
    let given = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..width {
            scope.spawn(|| {
                while let Some((index, item)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    items.get(index).map(|item| (index, item))
                } {
                    let answer = ask(item);
                    super::lock(&given).push((index, answer));
                }
            });
        }
    });
    let mut given = given
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    given.sort_by_key(|&(index, _)| index);
    given.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..100).collect();
        for width in [0, 1, 3, 1000] {
            let answers = each(&items, width, |item| item * 2);
            assert_eq!(answers, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
        assert!(each(&[] as &[u64], 4, |item| *item).is_empty());
    }
}
