//! The sweep that up to three objectives share: points in lexicographic order find their front by bisection.
//!
//! On several threads the points are cut into strips by their last objective, one for each thread. Nothing in a strip is
//! dominated from a strip above it, and whether it is dominated from below does not depend on the last objective. So each
//! strip is sorted and swept on its own, and tells the one above what it has done so far.

use std::ops::RangeInclusive;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use rayon::prelude::*;

use super::key::key;
use crate::Rows;

/// The fronts of a strip, in the order of the sweep.
pub(super) trait Layers: Default + Send {
    /// The objectives of a point after the first, as keys.
    type Rest: Copy + Ord + Default + Send + Sync;

    /// Whether the points of one front fall in the last objective where they rise in lexicographic order.
    const FALLING: bool;

    /// The rest of a point.
    fn rest(point: &[f64]) -> Self::Rest;
    /// The last objective.
    fn last(rest: Self::Rest) -> u64;
    /// Empties it and keeps the memory.
    fn clear(&mut self);
    /// Adds a point to the first front that does not dominate it. Gives this front, and what strips above should know of the
    /// point if they do not know of a better one.
    fn place(&mut self, rest: Self::Rest) -> (usize, Option<u64>);
    /// Learns of a point in a strip below. Gives whether strips above should know of it.
    fn hear(&mut self, front: usize, extent: u64) -> bool;
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Item<R> {
    first: u64,
    rest: R,
    index: u32,
    front: u32,
}

/// Memory for sorting in strips, from the lowest to the highest.
#[derive(Debug)]
pub(super) struct Strips<L: Layers> {
    strips: Vec<Strip<L>>,
    used: usize,
    /// The points of all strips if they have been brought into order.
    all: Vec<Item<L::Rest>>,
}

#[derive(Debug)]
struct Strip<L: Layers> {
    items: Vec<Item<L::Rest>>,
    layers: L,
}

impl<L: Layers> Default for Strips<L> {
    fn default() -> Self {
        Self {
            strips: Vec::new(),
            used: 0,
            all: Vec::new(),
        }
    }
}

impl<L: Layers> Default for Strip<L> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            layers: L::default(),
        }
    }
}

impl<L: Layers> Strips<L> {
    /// Finds the front of each point, on so many threads of the current pool.
    pub(super) fn assign(&mut self, points: Rows<'_>, threads: usize) {
        self.all.clear();
        let cuts = cuts::<L>(points, threads);
        self.used = cuts.len() + 1;
        if self.strips.len() < self.used {
            self.strips.resize_with(self.used, Strip::default);
        }
        sweep(points, 0, &cuts, &mut self.strips[..self.used], self.used, None);
    }

    /// Brings the points of each front into lexicographic order for [`each`](Self::each).
    pub(super) fn order(&mut self) {
        let strips = &self.strips[..self.used];
        if strips.len() < 2 || L::FALLING {
            return;
        }
        self.all
            .reserve(strips.iter().map(|strip| strip.items.len()).sum());
        for strip in strips {
            self.all.extend_from_slice(&strip.items);
        }
        // Stable sorting makes use of what is sorted already.
        self.all.par_sort();
    }

    /// Goes over the index and front of each point.
    pub(super) fn each(&self, mut visit: impl FnMut(u32, u32)) {
        let mut visit_all =
            |items: &[Item<L::Rest>]| items.iter().for_each(|item| visit(item.index, item.front));
        if self.all.is_empty() {
            // From above, since fronts that fall come down from strip to strip.
            let strips = self.strips[..self.used].iter().rev();
            strips.for_each(|strip| visit_all(&strip.items));
        } else {
            visit_all(&self.all);
        }
    }
}

/// The least last objective of each strip but the lowest, so that strips hold about as many points each; from a sample.
fn cuts<L: Layers>(points: Rows<'_>, strips: usize) -> Vec<u64> {
    const SAMPLE: usize = 1024;
    if strips < 2 {
        return Vec::new();
    }
    let step = points.len().div_ceil(SAMPLE).max(1);
    let mut sample: Vec<u64> = (0..points.len())
        .step_by(step)
        .map(|i| L::last(L::rest(points.row(i))))
        .collect();
    sample.sort_unstable();
    let mut cuts: Vec<u64> = (1..strips)
        .filter_map(|k| sample.get(k * sample.len() / strips).copied())
        .collect();
    cuts.dedup();
    cuts
}

/// Sweeps the lowest of `strips`, which begins at `low` and ends at the first of `cuts`, beside all others. It hears from the
/// one below. There are `count` in all.
///
/// A strip waits for the one below. That one is under way on another thread or done: of two tasks that are joined, the
/// first begins before the second.
fn sweep<L: Layers>(
    points: Rows<'_>,
    low: u64,
    cuts: &[u64],
    strips: &mut [Strip<L>],
    count: usize,
    below: Option<Receiver<News>>,
) {
    let Some((strip, above)) = strips.split_first_mut() else {
        return;
    };
    let Some((&high, cuts)) = cuts.split_first() else {
        strip.fill(points, low..=u64::MAX, count);
        strip.rank(below, None);
        return;
    };
    let (sender, receiver) = channel();
    rayon::join(
        || {
            strip.fill(points, low..=high.saturating_sub(1), count);
            strip.rank(below, Some(sender));
        },
        || sweep(points, high, cuts, above, count, Some(receiver)),
    );
}

impl<L: Layers> Strip<L> {
    /// Takes the points whose last objective is in a range, in lexicographic order.
    fn fill(&mut self, points: Rows<'_>, range: RangeInclusive<u64>, strips: usize) {
        let item = |(index, point): (usize, &[f64])| Item {
            first: key(point[0]),
            rest: L::rest(point),
            index: index as u32,
            front: 0,
        };
        self.items.clear();
        if range == (0..=u64::MAX) {
            self.items.extend(points.iter().enumerate().map(item));
        } else {
            // A strip has its share of the points, with some to spare.
            self.items.reserve(points.len() / strips + points.len() / 32);
            // Each point is written down, and overwritten by the next unless it is in the range: no branch to mispredict.
            let mut taken = [Item::default(); 256];
            let mut count = 0;
            for next in points.iter().enumerate().map(item) {
                taken[count] = next;
                count += usize::from(range.contains(&L::last(next.rest)));
                if count == taken.len() {
                    self.items.extend_from_slice(&taken);
                    count = 0;
                }
            }
            self.items.extend_from_slice(&taken[..count]);
        }
        self.items.sort_unstable();
    }

    /// Finds the front of each point.
    fn rank(&mut self, below: Option<Receiver<News>>, above: Option<Sender<News>>) {
        /// Points between two messages.
        const CHUNK: usize = 512;
        let layers = &mut self.layers;
        layers.clear();
        let mut below = below.map(Below::new);
        let mut told = Vec::new();
        let (mut previous, mut front) = (None, 0);
        let mut begin = 0;
        loop {
            let end = self.items.len().min(begin + CHUNK);
            for item in &mut self.items[begin..end] {
                if let Some(below) = &mut below {
                    below.hear(item.first + 1, layers, &mut told);
                }
                if previous != Some((item.first, item.rest)) {
                    previous = Some((item.first, item.rest));
                    let (found, extent) = layers.place(item.rest);
                    front = found;
                    if let (Some(extent), Some(_)) = (extent, &above) {
                        told.push(Event {
                            first: item.first,
                            front,
                            extent,
                        });
                    }
                }
                item.front = front as u32;
            }
            let until = self.items.get(end).map_or(u64::MAX, |next| next.first);
            if let Some(above) = &above {
                if let Some(below) = &mut below {
                    below.hear(until, layers, &mut told);
                }
                let events = std::mem::take(&mut told);
                // Nobody listens any more only if the strip above has panicked.
                let _ = above.send(News { events, until });
            }
            begin = end;
            if begin == self.items.len() {
                return;
            }
        }
    }
}

/// A point that strips above should know of.
#[derive(Debug, Clone, Copy)]
struct Event {
    first: u64,
    front: usize,
    extent: u64,
}

/// What happened in a strip since the last news. All points whose first objective is below `until` have been swept, and none
/// above it.
#[derive(Debug, Default)]
struct News {
    events: Vec<Event>,
    until: u64,
}

/// What is heard from the strip below.
struct Below {
    receiver: Receiver<News>,
    news: News,
    /// The next event.
    next: usize,
}

impl Below {
    fn new(receiver: Receiver<News>) -> Self {
        Self {
            receiver,
            news: News::default(),
            next: 0,
        }
    }

    /// Hears of all points below whose first objective is less than `limit`, and notes which of them to tell.
    fn hear<L: Layers>(&mut self, limit: u64, layers: &mut L, told: &mut Vec<Event>) {
        loop {
            while let Some(event) = self.news.events.get(self.next)
                && event.first < limit
            {
                if layers.hear(event.front, event.extent) {
                    told.push(*event);
                }
                self.next += 1;
            }
            if limit <= self.news.until {
                return;
            }
            debug_assert_eq!(self.next, self.news.events.len());
            self.news = self.wait();
            self.next = 0;
        }
    }

    /// The next news. Blocking would put the thread to sleep for longer than the wait.
    fn wait(&self) -> News {
        let mut spins = 0;
        loop {
            match self.receiver.try_recv() {
                Ok(news) => return news,
                Err(TryRecvError::Disconnected) => {
                    return News {
                        events: Vec::new(),
                        until: u64::MAX,
                    };
                }
                Err(TryRecvError::Empty) if spins < 1000 => {
                    spins += 1;
                    std::hint::spin_loop();
                }
                Err(TryRecvError::Empty) => std::thread::yield_now(),
            }
        }
    }
}
