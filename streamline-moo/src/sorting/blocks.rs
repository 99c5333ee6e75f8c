//! Four objectives and more: the points of a front lie in blocks, and a block is compared with a point at once.

use rayon::prelude::*;

use super::key::key;
use super::sweep::{Kept, Sweep};
use crate::Rows;

/// Points in a block.
const LANES: usize = 32;

/// Memory for sorting by many objectives.
#[derive(Debug, Default)]
pub(super) struct Many {
    columns: Vec<Column>,
    /// The places of the points in all objectives, in lexicographic order.
    table: Vec<i32>,
    sweep: Sweep<Blocks>,
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
    pub(super) fn assign(
        &mut self,
        points: Rows<'_>,
        parallel: bool,
        sorted: &mut Vec<u32>,
        ranks: &mut Vec<u32>,
    ) {
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
        self.table.clear();
        for &i in sorted.iter() {
            self.table
                .extend(columns.iter().map(|column| column.places[i as usize]));
        }
        let table = &self.table;
        let row = |i: usize| &table[i * m..(i + 1) * m];
        self.sweep.run(
            n,
            parallel,
            |i| &row(i)[1..],
            |i| i > 0 && row(i) == row(i - 1),
            ranks,
        );
    }
}

/// The points of one front, `LANES` to a block: first the values of all in one objective, then those in the next. Lanes
/// without a point hold `i32::MAX`.
#[derive(Debug, Default)]
struct Blocks {
    data: Vec<i32>,
    len: usize,
}

impl Kept for Blocks {
    type Point = [i32];

    fn clear(&mut self) {
        self.data.clear();
        self.len = 0;
    }

    fn dominates(&self, point: &[i32]) -> bool {
        self.data.chunks_exact(LANES * point.len()).any(|block| {
            let mut above = [0i32; LANES];
            for (lanes, &value) in block.as_chunks::<LANES>().0.iter().zip(point) {
                for (above, &lane) in above.iter_mut().zip(lanes) {
                    *above |= i32::from(lane > value);
                }
            }
            above.contains(&0)
        })
    }

    fn insert(&mut self, point: &[i32]) {
        let lane = self.len % LANES;
        if lane == 0 {
            self.data.resize(self.data.len() + LANES * point.len(), i32::MAX);
        }
        let start = self.data.len() - LANES * point.len();
        for (lanes, &value) in self.data[start..]
            .as_chunks_mut::<LANES>()
            .0
            .iter_mut()
            .zip(point)
        {
            lanes[lane] = value;
        }
        self.len += 1;
    }
}
