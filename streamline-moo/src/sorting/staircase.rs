//! Three objectives: of each front the staircase of its second and third objectives matters.

use rayon::prelude::*;

use super::key::key;
use super::merge;
use super::sweep::{BATCH, Kept, Sweep};
use crate::Rows;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    first: u64,
    rest: (u64, u64),
    index: u32,
}

/// Memory for sorting by three objectives.
#[derive(Debug, Default)]
pub(super) struct Three {
    items: Vec<Item>,
    spare: Vec<Item>,
    sweep: Sweep<Staircase>,
}

impl Three {
    pub(super) fn assign(
        &mut self,
        points: Rows<'_>,
        parallel: bool,
        sorted: &mut Vec<u32>,
        ranks: &mut Vec<u32>,
    ) {
        let item = |i: usize| {
            let p = points.row(i);
            Item {
                first: key(p[0]),
                rest: (key(p[1]), key(p[2])),
                index: i as u32,
            }
        };
        if parallel {
            let all = (0..points.len()).into_par_iter().with_min_len(BATCH);
            all.map(item).collect_into_vec(&mut self.items);
            merge::sort(&mut self.items, &mut self.spare);
        } else {
            self.items.clear();
            self.items.extend((0..points.len()).map(item));
            self.items.sort_unstable();
        }
        let items = &self.items;
        sorted.extend(items.iter().map(|item| item.index));
        let point = |i: usize| &items[i].rest;
        let repeats = |i: usize| i > 0 && items[i].first == items[i - 1].first && point(i) == point(i - 1);
        self.sweep.run(items.len(), parallel, point, repeats, ranks);
    }
}

/// The points of a front that are minimal in the second and third objective: the second rises and the third falls. Cut
/// into steps of bounded length, so that inserting moves little memory however many points there are.
#[derive(Debug, Default)]
struct Staircase {
    steps: Vec<Vec<(u64, u64)>>,
}

const STEP: usize = 512;

impl Staircase {
    /// The step that holds the last entry whose second objective is at most `second`; the first if there is none.
    fn step(&self, second: u64) -> usize {
        if self.steps.len() < 2 {
            return 0;
        }
        self.steps
            .partition_point(|step| step[0].0 <= second)
            .saturating_sub(1)
    }
}

impl Kept for Staircase {
    type Point = (u64, u64);

    fn clear(&mut self) {
        self.steps.truncate(1);
        self.steps.iter_mut().for_each(Vec::clear);
    }

    fn dominates(&self, &(second, third): &Self::Point) -> bool {
        let Some(step) = self.steps.get(self.step(second)) else {
            return false;
        };
        let position = step.partition_point(|entry| entry.0 <= second);
        position > 0 && step[position - 1].1 <= third
    }

    fn dominates_since(&self, point: &Self::Point) -> bool {
        self.dominates(point)
    }

    fn mark(&mut self) {}

    fn insert(&mut self, &point: &Self::Point) {
        if self.steps.is_empty() {
            self.steps.push(Vec::new());
        }
        let s = self.step(point.0);
        let step = &mut self.steps[s];
        let begin = step.partition_point(|entry| entry.0 < point.0);
        let end = begin + step[begin..].partition_point(|entry| entry.1 >= point.1);
        let reaches_end = end == step.len();
        if begin == end {
            step.insert(begin, point);
        } else {
            step[begin] = point;
            step.drain(begin + 1..end);
        }
        if reaches_end {
            // The point may cover the beginning of later steps as well.
            while let Some(next) = self.steps.get_mut(s + 1) {
                let covered = next.partition_point(|entry| entry.1 >= point.1);
                if covered < next.len() {
                    next.drain(..covered);
                    break;
                }
                self.steps.remove(s + 1);
            }
        }
        let step = &mut self.steps[s];
        if step.len() > STEP {
            let tail = step.split_off(STEP / 2);
            self.steps.insert(s + 1, tail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_staircase_answers_as_a_plain_list() {
        let mut random = crate::random::Streams::new(5, 0, crate::random::Purpose::Sample).stream(0);
        let mut stairs = Staircase::default();
        let mut all = Vec::new();
        for round in 0..6000u64 {
            // A falling line with some noise keeps the staircase long, and sometimes covers many entries.
            let x = random.below(20_000) as u64;
            let y = 20_000 - x + random.below(if round % 500 == 0 { 1 } else { 40 }) as u64;
            let y = if round % 700 == 699 { y / 2 } else { y };
            let dominated = all.iter().any(|&(a, b)| a <= x && b <= y);
            assert_eq!(stairs.dominates(&(x, y)), dominated, "round {round}");
            if !dominated {
                stairs.insert(&(x, y));
                all.push((x, y));
            }
        }
        assert!(stairs.steps.iter().all(|s| !s.is_empty() && s.len() <= STEP));
    }
}
