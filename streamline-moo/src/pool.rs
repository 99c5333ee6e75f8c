//! Parents and children side by side in flat arrays: the memory that a run works in.

use crate::dominance::worst_if_nan;
use crate::population::orient;
use crate::{Goal, Population, Rows};

/// Individuals `0..len` in flat rows. Parents come first, then children; room for both is kept. Nothing is allocated per
/// individual, nor per generation once the pool has its size.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pool {
    pub(crate) len: usize,
    /// Genes in a genome.
    pub(crate) width: usize,
    pub(crate) goals: Vec<Goal>,
    /// Constraints.
    pub(crate) k: usize,
    pub(crate) genomes: Vec<f64>,
    /// All minimised, never NaN.
    pub(crate) objectives: Vec<f64>,
    pub(crate) constraints: Vec<f64>,
    pub(crate) violations: Vec<f64>,
    pub(crate) hashes: Vec<u64>,
    pub(crate) ranks: Vec<u32>,
    pub(crate) crowding: Vec<f64>,
}

impl Pool {
    pub(crate) fn new(width: usize, goals: &[Goal], k: usize) -> Self {
        Self {
            width,
            goals: goals.to_vec(),
            k,
            ..Self::default()
        }
    }

    /// Objectives.
    pub(crate) fn m(&self) -> usize {
        self.goals.len()
    }

    /// Makes it hold `len` individuals; new ones are unspecified.
    pub(crate) fn resize(&mut self, len: usize) {
        self.len = len;
        self.genomes.resize(len * self.width, 0.0);
        self.objectives.resize(len * self.goals.len(), 0.0);
        self.constraints.resize(len * self.k, 0.0);
        self.violations.resize(len, 0.0);
        self.hashes.resize(len, 0);
        self.ranks.resize(len, 0);
        self.crowding.resize(len, 0.0);
    }

    pub(crate) fn genome(&self, i: usize) -> &[f64] {
        &self.genomes[i * self.width..(i + 1) * self.width]
    }

    pub(crate) fn objectives(&self) -> Rows<'_> {
        Rows::with_len(&self.objectives, self.m(), self.len)
    }

    /// Copies individual `from` over `to`.
    pub(crate) fn copy(&mut self, from: usize, to: usize) {
        if from == to {
            return;
        }
        let (w, m, k) = (self.width, self.m(), self.k);
        self.genomes.copy_within(from * w..(from + 1) * w, to * w);
        self.objectives.copy_within(from * m..(from + 1) * m, to * m);
        self.constraints.copy_within(from * k..(from + 1) * k, to * k);
        self.violations[to] = self.violations[from];
        self.hashes[to] = self.hashes[from];
        self.ranks[to] = self.ranks[from];
        self.crowding[to] = self.crowding[from];
    }

    /// Turns what an evaluation wrote for the individuals from `begin` on into minimised objectives and violations.
    pub(crate) fn digest(&mut self, begin: usize) {
        let m = self.m();
        let objectives = &mut self.objectives[begin * m..];
        orient(objectives, &self.goals);
        for value in objectives {
            *value = worst_if_nan(*value);
        }
        for i in begin..self.len {
            let values = &self.constraints[i * self.k..(i + 1) * self.k];
            self.violations[i] = values.iter().map(|&g| worst_if_nan(g).max(0.0)).sum();
        }
    }

    /// Keeps the individuals listed, in as few moves as can be: those that sit below the new length stay where they are.
    pub(crate) fn keep(&mut self, survivors: &mut [u32]) {
        survivors.sort_unstable();
        let len = survivors.len();
        let stay = survivors.partition_point(|&i| (i as usize) < len);
        let (mut hole, mut next) = (0, 0);
        for &from in &survivors[stay..] {
            // The next place below `len` that no survivor holds.
            while next < stay && survivors[next] == hole {
                hole += 1;
                next += 1;
            }
            self.copy(from as usize, hole as usize);
            hole += 1;
        }
        self.len = len;
    }

    /// A copy of the individuals listed, to hand out.
    pub(crate) fn to_population(&self, members: impl Iterator<Item = usize> + Clone) -> Population {
        fn gather<T: Copy>(data: &[T], width: usize, members: impl Iterator<Item = usize>) -> Vec<T> {
            members
                .flat_map(|i| &data[i * width..(i + 1) * width])
                .copied()
                .collect()
        }
        let mut objectives = gather(&self.objectives, self.m(), members.clone());
        orient(&mut objectives, &self.goals);
        Population {
            width: self.width,
            goals: self.goals.clone(),
            constraint_count: self.k,
            genomes: gather(&self.genomes, self.width, members.clone()),
            objectives,
            constraints: gather(&self.constraints, self.k, members.clone()),
            violations: gather(&self.violations, 1, members.clone()),
            ranks: gather(&self.ranks, 1, members.clone()),
            crowding: gather(&self.crowding, 1, members),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeping_moves_survivors_into_the_places_of_the_dead() {
        let mut pool = Pool::new(1, &[Goal::Minimise], 0);
        pool.resize(6);
        pool.genomes.copy_from_slice(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        pool.keep(&mut [5, 1, 4]);
        assert_eq!(pool.genomes[..3], [4.0, 1.0, 5.0]);
        assert_eq!(pool.len, 3);
    }

    #[test]
    fn nan_becomes_the_worst_value_whatever_the_goal() {
        let mut pool = Pool::new(0, &[Goal::Minimise, Goal::Maximise], 2);
        pool.resize(1);
        pool.objectives.copy_from_slice(&[f64::NAN, f64::NAN]);
        pool.constraints.copy_from_slice(&[-3.0, f64::NAN]);
        pool.digest(0);
        assert_eq!(
            pool.to_population(0..1).get(0).unwrap().objectives,
            [f64::INFINITY, f64::NEG_INFINITY]
        );
        assert_eq!(pool.violations, [f64::INFINITY]);
    }
}
