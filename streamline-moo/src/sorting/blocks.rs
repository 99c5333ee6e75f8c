//! Four objectives and more: the points of a front lie in blocks, and a block is compared with a point at once.
//!
//! Values are replaced by their places among the distinct values, and these once more by one of 255 shelves. Shelves are
//! bytes, of which a machine compares many at a time; only where a whole row of shelves is not above that of the point are
//! the places compared.

use rayon::prelude::*;

use super::key::key;
use super::sweep::Sweep;
use crate::Rows;

/// Points in a block.
const LANES: usize = 64;
/// Shelves in use; one more is above all of them.
const SHELVES: u64 = 255;
const ABOVE: u8 = 255;

/// Memory for sorting by many objectives.
#[derive(Debug, Default)]
pub(super) struct Many {
    columns: Vec<Column>,
    /// The points in lexicographic order, and their ranks.
    sorted: Vec<u32>,
    ranks: Vec<u32>,
    /// The places of the points in all objectives, in lexicographic order.
    table: Vec<i32>,
    sweep: Sweep,
}

/// One objective: small integers compare faster than the values.
#[derive(Debug, Default)]
struct Column {
    by_value: Vec<(u64, u32)>,
    /// The place of each point's value among the distinct values.
    places: Vec<i32>,
}

impl Column {
    fn fill(&mut self, points: Rows<'_>, objective: usize) {
        self.by_value.clear();
        self.by_value.extend(
            points
                .iter()
                .enumerate()
                .map(|(i, p)| (key(p[objective]), i as u32)),
        );
        self.by_value.sort_unstable();
        self.places.resize(points.len(), 0);
        let (mut place, mut previous) = (-1, None);
        for &(value, i) in &self.by_value {
            if previous != Some(value) {
                place += 1;
                previous = Some(value);
            }
            self.places[i as usize] = place;
        }
    }
}

impl Many {
    pub(super) fn assign(&mut self, points: Rows<'_>, parallel: bool) {
        let (n, m) = (points.len(), points.width());
        self.columns.resize_with(m, Column::default);
        if parallel {
            self.columns
                .par_iter_mut()
                .enumerate()
                .for_each(|(j, column)| column.fill(points, j));
        } else {
            self.columns
                .iter_mut()
                .enumerate()
                .for_each(|(j, column)| column.fill(points, j));
        }
        let columns = &self.columns;
        let sorted = &mut self.sorted;
        sorted.clear();
        sorted.extend(columns[0].by_value.iter().map(|&(_, i)| i));
        // Among equal first objectives the others decide.
        for tied in
            sorted.chunk_by_mut(|&a, &b| columns[0].places[a as usize] == columns[0].places[b as usize])
        {
            if tied.len() > 1 {
                tied.sort_unstable_by(|&a, &b| {
                    let row = |i: u32| columns[1..].iter().map(move |column| column.places[i as usize]);
                    row(a).cmp(row(b)).then(a.cmp(&b))
                });
            }
        }
        let shelf = |place: i32| (place as u64 * SHELVES / n.max(1) as u64) as i32;
        self.table.clear();
        for &i in sorted.iter() {
            let places = columns.iter().map(|column| column.places[i as usize]);
            self.table.extend(places.clone().chain(places.skip(1).map(shelf)));
        }
        self.ranks.clear();
        // A row: the first objective's place, the others', and the others' shelves.
        let (table, width) = (&self.table, 2 * m - 1);
        let row = |i: usize| &table[i * width..(i + 1) * width];
        self.sweep.run(
            n,
            parallel,
            |i| &row(i)[1..],
            |i| i > 0 && row(i) == row(i - 1),
            &mut self.ranks,
        );
    }

    /// Goes over the index and rank of each point, in lexicographic order.
    pub(super) fn each(&self, mut visit: impl FnMut(u32, u32)) {
        for (&i, &rank) in self.sorted.iter().zip(&self.ranks) {
            visit(i, rank);
        }
    }
}

/// The points of one front. Shelves lie in blocks of `LANES` points: first those of all in one objective, then those in the
/// next. Lanes without a point are above all.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    shelves: Vec<u8>,
    places: Vec<i32>,
    /// The length of `shelves` at the last mark.
    marked: usize,
}

/// A point is its places in all objectives but the first, and then as many shelves.
impl Blocks {
    /// Empties it and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.shelves.clear();
        self.places.clear();
        self.marked = 0;
    }

    /// Whether one of its points is nowhere above `point`.
    pub(super) fn dominates(&self, point: &[i32]) -> bool {
        self.dominates_from(0, point)
    }

    /// Whether one of the points added since the last [`mark`](Self::mark) is nowhere above `point`; it may look at older ones
    /// too.
    pub(super) fn dominates_since(&self, point: &[i32]) -> bool {
        // The last block at the mark may have been filled since.
        let block = LANES * point.len() / 2;
        self.dominates_from((self.marked / block).saturating_sub(1), point)
    }

    /// Remembers what is there.
    pub(super) fn mark(&mut self) {
        self.marked = self.shelves.len();
    }

    /// Adds a point that it does not dominate.
    pub(super) fn insert(&mut self, point: &[i32]) {
        let d = point.len() / 2;
        let (places, shelves) = point.split_at(d);
        let lane = self.places.len() / d % LANES;
        if lane == 0 {
            self.shelves.resize(self.shelves.len() + LANES * d, ABOVE);
        }
        let start = self.shelves.len() - LANES * d;
        for (lanes, &shelf) in self.shelves[start..]
            .as_chunks_mut::<LANES>()
            .0
            .iter_mut()
            .zip(shelves)
        {
            lanes[lane] = shelf as u8;
        }
        self.places.extend_from_slice(places);
    }

    /// Whether one of the points of the blocks from `first` on is nowhere above `point`.
    fn dominates_from(&self, first: usize, point: &[i32]) -> bool {
        match point.len() / 2 {
            3 => self.dominate::<3>(first, point),
            4 => self.dominate::<4>(first, point),
            5 => self.dominate::<5>(first, point),
            6 => self.dominate::<6>(first, point),
            7 => self.dominate::<7>(first, point),
            _ => self.dominate_any(first, point),
        }
    }

    /// `D` objectives, so that what is compared stays in registers.
    fn dominate<const D: usize>(&self, first: usize, point: &[i32]) -> bool {
        let (places, shelves) = point.split_at(D);
        let mut shelf = [0u8; D];
        for (to, &from) in shelf.iter_mut().zip(shelves) {
            *to = from as u8;
        }
        let blocks = self.shelves.as_chunks::<LANES>().0.as_chunks::<D>().0;
        let mut excess = [0u8; LANES];
        for (b, block) in blocks.iter().enumerate().skip(first) {
            for lane in 0..LANES {
                // How far the point in this lane is above in some objective; 0 if in none.
                excess[lane] = (0..D).fold(0, |all, j| all | block[j][lane].saturating_sub(shelf[j]));
            }
            if smallest(&excess) == 0 && self.confirm(b, &excess, places) {
                return true;
            }
        }
        false
    }

    /// Any number of objectives.
    fn dominate_any(&self, first: usize, point: &[i32]) -> bool {
        let d = point.len() / 2;
        let (places, shelves) = point.split_at(d);
        for (b, block) in self.shelves.chunks_exact(LANES * d).enumerate().skip(first) {
            let mut excess = [0u8; LANES];
            for (lanes, &shelf) in block.as_chunks::<LANES>().0.iter().zip(shelves) {
                for (excess, lane) in excess.iter_mut().zip(lanes) {
                    *excess |= lane.saturating_sub(shelf as u8);
                }
            }
            if smallest(&excess) == 0 && self.confirm(b, &excess, places) {
                return true;
            }
        }
        false
    }

    /// Whether one of the points of block `b` without excess is nowhere above `places`.
    fn confirm(&self, b: usize, excess: &[u8; LANES], places: &[i32]) -> bool {
        let d = places.len();
        let block = self.places.chunks_exact(d).skip(b * LANES);
        let mut candidates = block.zip(excess).filter(|(_, excess)| **excess == 0);
        candidates.any(|(candidate, _)| candidate.iter().zip(places).all(|(c, p)| c <= p))
    }
}

/// The smallest of the bytes.
fn smallest(bytes: &[u8; LANES]) -> u8 {
    let mut least = [u8::MAX; 16];
    for part in bytes.as_chunks::<16>().0 {
        for (least, byte) in least.iter_mut().zip(part) {
            *least = (*least).min(*byte);
        }
    }
    least.into_iter().fold(u8::MAX, u8::min)
}
