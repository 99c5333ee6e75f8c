//! Three objectives: of each front the staircase of its second and third objectives matters.

use super::key::key;
use super::strips::Layers;

/// The fronts of a strip.
#[derive(Debug, Default)]
pub(super) struct Staircases {
    /// The smallest second objective of each front in the strips below; never falls from one front to the next. It is all that
    /// matters of them, since they are below in the third objective.
    below: Vec<u64>,
    /// The same with this strip.
    so_far: Vec<u64>,
    /// The fronts in this strip; those from `used` on are empty and wait to be used again.
    fronts: Vec<Staircase>,
    used: usize,
}

/// Lowers the entry of a front, and says whether it had to.
fn lower(tails: &mut Vec<u64>, front: usize, second: u64) -> bool {
    if tails.len() <= front {
        tails.resize(front + 1, u64::MAX);
    }
    let lower = second < tails[front];
    if lower {
        tails[front] = second;
    }
    lower
}

impl Layers for Staircases {
    /// The second and third objective.
    type Rest = (u64, u64);

    const FALLING: bool = false;

    fn rest(point: &[f64]) -> Self::Rest {
        (key(point[1]), key(point[2]))
    }

    fn last((_, third): Self::Rest) -> u64 {
        third
    }

    fn clear(&mut self) {
        self.below.clear();
        self.so_far.clear();
        self.fronts[..self.used].iter_mut().for_each(Staircase::clear);
        self.used = 0;
    }

    fn place(&mut self, rest: Self::Rest) -> (usize, Option<u64>) {
        let from = self.below.partition_point(|&tail| tail <= rest.0);
        let fronts = self.fronts.get(from..self.used).unwrap_or_default();
        // Dominance by a front implies dominance by all before it.
        let front = from + fronts.partition_point(|front| front.dominates(rest));
        if self.used <= front {
            self.used = front + 1;
            if self.fronts.len() < self.used {
                self.fronts.resize_with(self.used, Staircase::default);
            }
        }
        self.fronts[front].insert(rest);
        (front, lower(&mut self.so_far, front, rest.0).then_some(rest.0))
    }

    fn hear(&mut self, front: usize, second: u64) -> bool {
        lower(&mut self.below, front, second);
        lower(&mut self.so_far, front, second)
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

    /// Empties it and keeps some memory.
    fn clear(&mut self) {
        self.steps.truncate(1);
        self.steps.iter_mut().for_each(Vec::clear);
    }

    /// Whether one of its points is nowhere above this one.
    fn dominates(&self, (second, third): (u64, u64)) -> bool {
        let Some(step) = self.steps.get(self.step(second)) else {
            return false;
        };
        let position = step.partition_point(|entry| entry.0 <= second);
        position > 0 && step[position - 1].1 <= third
    }

    /// Adds a point that it does not dominate.
    fn insert(&mut self, point: (u64, u64)) {
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
            assert_eq!(stairs.dominates((x, y)), dominated, "round {round}");
            if !dominated {
                stairs.insert((x, y));
                all.push((x, y));
            }
        }
        assert!(stairs.steps.iter().all(|s| !s.is_empty() && s.len() <= STEP));
    }
}
