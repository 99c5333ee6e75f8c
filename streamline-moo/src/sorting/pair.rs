//! One and two objectives: of each front only the smallest second objective matters.

use super::key::key;
use super::strips::Layers;

/// The smallest second objective of each front so far, 0 if it lies in a strip below; never falls from one front to the next.
#[derive(Debug, Default)]
pub(super) struct Tails(Vec<u64>);

impl Layers for Tails {
    /// The second objective; the first once more if there is no second: equal values are one front, and all else is a chain.
    type Rest = u64;

    const FALLING: bool = true;

    fn rest(point: &[f64]) -> u64 {
        key(point[point.len() - 1])
    }

    fn last(second: u64) -> u64 {
        second
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn place(&mut self, second: u64) -> (usize, Option<u64>) {
        let front = self.0.partition_point(|&tail| tail <= second);
        match self.0.get_mut(front) {
            Some(tail) => {
                *tail = second;
                (front, None)
            }
            None => {
                self.0.push(second);
                (front, Some(0))
            }
        }
    }

    /// All points of a strip above are above in the second objective, so that it is enough that the front has begun.
    fn hear(&mut self, front: usize, extent: u64) -> bool {
        match self.0.get_mut(front) {
            Some(tail) => {
                *tail = extent;
                false
            }
            None => {
                self.0.push(extent);
                true
            }
        }
    }
}
