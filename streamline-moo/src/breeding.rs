//! The first population, and the children of each generation.

use rayon::prelude::*;

use crate::Problem;
use crate::duplicates::{Seen, hash};
use crate::options::{Fill, Options, Sampling};
use crate::pool::Pool;
use crate::random::{Purpose, Stream, Streams};
use crate::variable::Layout;
use crate::variation::Variation;

/// How often a child that equals an individual already there is made anew; the last time it is a random immigrant.
const ATTEMPTS: u64 = 8;
/// How many genes a thread should at least work on.
const GRAIN: usize = 8192;

/// Makes new individuals. Holds memory that is used again each generation.
#[derive(Debug)]
pub(crate) struct Breeder {
    pub(crate) layout: Layout,
    variation: Variation,
    seen: Seen,
    entrants: Vec<u32>,
    /// Whether tournaments compare rank and crowding (NSGA-II), or violation alone (NSGA-III).
    by_crowding: bool,
}

impl Breeder {
    pub(crate) fn new(layout: Layout, options: &Options, by_crowding: bool) -> Self {
        let variation = Variation::new(&options.operators, &layout);
        Self {
            layout,
            variation,
            seen: Seen::default(),
            entrants: Vec::new(),
            by_crowding,
        }
    }

    /// Fills an empty pool with the first population.
    pub(crate) fn found<P: Problem + ?Sized>(&mut self, pool: &mut Pool, problem: &P, options: &Options) {
        let n = options.population;
        let streams = Streams::new(options.seed, 0, Purpose::Sample);
        let given = &options.start.genomes[..options.start.genomes.len().min(n)];
        let copies = match options.start.fill {
            Fill::Mutated { share } if !given.is_empty() => {
                ((n - given.len()) as f64 * share).round() as usize
            }
            _ => 0,
        };
        let cells = self.cells(n, options);
        pool.resize(n);
        for i in 0..n {
            let genome = &mut pool.genomes[i * pool.width..(i + 1) * pool.width];
            let mut random = streams.stream(i as u64);
            if let Some(start) = given.get(i) {
                genome.copy_from_slice(start);
            } else if i < given.len() + copies {
                genome.copy_from_slice(&given[(i - given.len()) % given.len()]);
                self.layout.sanitise(genome);
                self.variation.mutate(&self.layout, genome, &mut random);
            } else {
                self.layout
                    .sample(genome, &mut random, |gene, u| match cells.get(gene) {
                        Some(cells) => (f64::from(cells[i]) + u) / n as f64,
                        None => u,
                    });
            }
            problem.repair(genome);
            self.layout.sanitise(genome);
            pool.hashes[i] = hash(genome);
        }
        if options.eliminate_duplicates {
            self.seen.reset(n);
            self.replace_duplicates(
                pool,
                0,
                problem,
                Streams::new(options.seed, 0, Purpose::Immigrant),
            );
        }
    }

    /// For each gene the cell of each individual in Latin hypercube sampling; nothing in uniform sampling.
    fn cells(&self, n: usize, options: &Options) -> Vec<Vec<u32>> {
        if options.sampling == Sampling::Uniform {
            return Vec::new();
        }
        let streams = Streams::new(options.seed, 0, Purpose::Mating);
        let cells = |gene| {
            let mut cells: Vec<u32> = (0..n as u32).collect();
            streams.stream(gene as u64).shuffle(&mut cells);
            cells
        };
        (0..self.layout.width()).map(cells).collect()
    }

    /// Adds the children of a generation behind the parents; at most `count`, fewer if new ones are hard to find.
    pub(crate) fn breed<P: Problem + ?Sized>(
        &mut self,
        pool: &mut Pool,
        count: usize,
        generation: u64,
        problem: &P,
        options: &Options,
    ) {
        let parents = pool.len;
        if parents == 0 || count == 0 {
            return;
        }
        self.enter_tournaments(
            parents,
            count,
            Streams::new(options.seed, generation, Purpose::Mating),
        );
        pool.resize(parents + count);
        let w = pool.width;
        if w == 0 {
            pool.hashes[parents..].fill(hash(&[]));
        } else {
            let streams = Streams::new(options.seed, generation, Purpose::Variation);
            let (old, new) = pool.genomes.split_at_mut(parents * w);
            let merits = (&pool.ranks[..], &pool.crowding[..], &pool.violations[..]);
            let best = |entrants: &[u32]| self.winner(entrants[0], entrants[1], merits);
            let pair = |(j, (children, hashes)): (usize, (&mut [f64], &mut [u64]))| {
                let entrants = &self.entrants[4 * j..4 * j + 4];
                let mut random = streams.stream(j as u64);
                let parents = [best(&entrants[..2]), best(&entrants[2..])];
                self.bear(old, w, parents, children, &mut random);
                for (child, hash_of) in children.chunks_exact_mut(w).zip(hashes) {
                    problem.repair(child);
                    self.layout.sanitise(child);
                    *hash_of = hash(child);
                }
            };
            let hashes = &mut pool.hashes[parents..];
            let grain = (GRAIN / (2 * w)).max(1);
            if rayon::current_num_threads() > 1 && count >= 4 * grain {
                let pairs = new.par_chunks_mut(2 * w).zip(hashes.par_chunks_mut(2));
                pairs.enumerate().with_min_len(grain).for_each(pair);
            } else {
                new.chunks_mut(2 * w)
                    .zip(hashes.chunks_mut(2))
                    .enumerate()
                    .for_each(pair);
            }
        }
        if options.eliminate_duplicates {
            self.seen.reset(parents + count);
            for i in 0..parents {
                self.seen.insert(pool.hashes[i], i, |_| false);
            }
            self.replace_duplicates(
                pool,
                parents,
                problem,
                Streams::new(options.seed, generation, Purpose::Immigrant),
            );
        }
    }

    /// Lists who meets whom: every parent enters equally often, in random order.
    fn enter_tournaments(&mut self, parents: usize, count: usize, streams: Streams) {
        let mut random = streams.stream(0);
        let needed = count.next_multiple_of(2) * 2;
        self.entrants.clear();
        while self.entrants.len() < needed {
            let start = self.entrants.len();
            self.entrants.extend(0..parents as u32);
            random.shuffle(&mut self.entrants[start..]);
        }
    }

    /// The better of two individuals by ranks, crowding distances and violations; the first of equals.
    #[inline]
    fn winner(&self, a: u32, b: u32, (ranks, crowding, violations): (&[u32], &[f64], &[f64])) -> usize {
        let (i, j) = (a as usize, b as usize);
        let first = if self.by_crowding {
            ranks[i] < ranks[j] || (ranks[i] == ranks[j] && crowding[i] >= crowding[j])
        } else {
            violations[i] <= violations[j]
        };
        if first { i } else { j }
    }

    /// Makes one or two children of two parents.
    fn bear(&self, old: &[f64], w: usize, parents: [usize; 2], children: &mut [f64], random: &mut Stream) {
        let row = |i: usize| &old[i * w..(i + 1) * w];
        let others = if self.variation.is_differential() {
            let n = old.len() / w;
            [row(random.below(n)), row(random.below(n))]
        } else {
            [&[][..], &[][..]]
        };
        if children.len() == w {
            // The last child of an odd number still needs its partner.
            let mut partner = row(parents[1]).to_vec();
            children.copy_from_slice(row(parents[0]));
            self.variation
                .cross(&self.layout, children, &mut partner, others, random);
            self.variation.mutate(&self.layout, children, random);
            return;
        }
        let (a, b) = children.split_at_mut(w);
        a.copy_from_slice(row(parents[0]));
        b.copy_from_slice(row(parents[1]));
        self.variation.cross(&self.layout, a, b, others, random);
        self.variation.mutate(&self.layout, a, random);
        self.variation.mutate(&self.layout, b, random);
    }

    /// Makes individuals from `begin` on anew that equal an earlier one, and drops those that stay equal.
    fn replace_duplicates<P: Problem + ?Sized>(
        &mut self,
        pool: &mut Pool,
        begin: usize,
        problem: &P,
        streams: Streams,
    ) {
        let w = pool.width;
        let mut child = Vec::new();
        let mut i = begin;
        while i < pool.len {
            let mut new = self.admit(pool, i);
            let mut attempt = 0;
            while !new && attempt < ATTEMPTS {
                let mut random = streams.stream(i as u64 * ATTEMPTS + attempt);
                attempt += 1;
                child.resize(w, 0.0);
                if begin == 0 || attempt == ATTEMPTS {
                    self.layout.sample(&mut child, &mut random, |_, u| u);
                } else if w > 0 {
                    let mut choose = || {
                        let (a, b) = (random.below(begin) as u32, random.below(begin) as u32);
                        self.winner(a, b, (&pool.ranks, &pool.crowding, &pool.violations))
                    };
                    let parents = [choose(), choose()];
                    self.bear(&pool.genomes[..begin * w], w, parents, &mut child, &mut random);
                }
                problem.repair(&mut child);
                self.layout.sanitise(&mut child);
                pool.genomes[i * w..(i + 1) * w].copy_from_slice(&child);
                pool.hashes[i] = hash(&child);
                new = self.admit(pool, i);
            }
            if new {
                i += 1;
            } else {
                let last = pool.len - 1;
                pool.copy(last, i);
                pool.resize(last);
            }
        }
    }

    fn admit(&mut self, pool: &Pool, i: usize) -> bool {
        self.seen
            .insert(pool.hashes[i], i, |other| pool.genome(other) == pool.genome(i))
    }
}
