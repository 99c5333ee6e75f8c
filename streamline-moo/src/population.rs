//! Evaluated individuals, as they are handed out.

use crate::{Goal, Rows};

/// Evaluated individuals. Everything lies in flat rows; a [`Solution`] is one of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Population {
    pub(crate) width: usize,
    pub(crate) goals: Vec<Goal>,
    pub(crate) constraint_count: usize,
    pub(crate) genomes: Vec<f64>,
    /// In the problem's own orientation.
    pub(crate) objectives: Vec<f64>,
    pub(crate) constraints: Vec<f64>,
    pub(crate) violations: Vec<f64>,
    pub(crate) ranks: Vec<u32>,
    pub(crate) crowding: Vec<f64>,
}

/// One evaluated individual.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Solution<'a> {
    /// Its genes, whole numbers where the variables are whole.
    pub genome: &'a [f64],
    /// Its objectives in the problem's own orientation. What was NaN is the worst infinity.
    pub objectives: &'a [f64],
    /// Its constraints' values.
    pub constraints: &'a [f64],
    /// The sum of what is positive in its constraints; 0 if it is feasible.
    pub violation: f64,
    /// Its front, from 0. Infeasible individuals come after all feasible ones, in order of violation.
    pub rank: u32,
    /// Its crowding distance in its front.
    pub crowding: f64,
}

impl Solution<'_> {
    /// Whether no constraint is violated.
    #[must_use]
    pub fn is_feasible(&self) -> bool {
        self.violation <= 0.0
    }
}

impl Population {
    /// The number of individuals.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranks.len()
    }

    /// Whether there is nobody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// Individual `index`, if there is one.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Solution<'_>> {
        let k = self.constraint_count;
        Some(Solution {
            rank: *self.ranks.get(index)?,
            genome: self.genomes().row(index),
            objectives: self.objectives().row(index),
            constraints: &self.constraints[index * k..(index + 1) * k],
            violation: self.violations[index],
            crowding: self.crowding[index],
        })
    }

    /// Goes over all individuals.
    pub fn iter(&self) -> impl Iterator<Item = Solution<'_>> {
        (0..self.len()).filter_map(|i| self.get(i))
    }

    /// Goes over the best front: all non-dominated feasible individuals or, if nobody is feasible, those with the smallest
    /// violation.
    pub fn front(&self) -> impl Iterator<Item = Solution<'_>> {
        self.iter().filter(|solution| solution.rank == 0)
    }

    /// The genomes, one row per individual.
    #[must_use]
    pub fn genomes(&self) -> Rows<'_> {
        Rows::with_len(&self.genomes, self.width, self.len())
    }

    /// The objectives in the problem's own orientation, one row per individual.
    #[must_use]
    pub fn objectives(&self) -> Rows<'_> {
        Rows::with_len(&self.objectives, self.goals.len(), self.len())
    }

    /// Whether each objective is minimised or maximised.
    #[must_use]
    pub fn goals(&self) -> &[Goal] {
        &self.goals
    }

    /// The genomes as [`Start`](crate::Start) takes them, the best front first: for the next search of a series.
    #[must_use]
    pub fn to_genomes(&self) -> Vec<Vec<f64>> {
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by_key(|&i| self.ranks[i]);
        order
            .into_iter()
            .map(|i| self.genomes().row(i).to_vec())
            .collect()
    }

    /// The objectives of the best front with maximised ones negated: as the building blocks take them.
    #[must_use]
    pub fn minimised_front(&self) -> Vec<f64> {
        let mut front: Vec<f64> = self.front().flat_map(|s| s.objectives.iter().copied()).collect();
        orient(&mut front, &self.goals);
        front
    }
}

/// Negates the columns of maximised objectives, there and back.
pub(crate) fn orient(objectives: &mut [f64], goals: &[Goal]) {
    if !goals.contains(&Goal::Maximise) {
        return;
    }
    for row in objectives.chunks_exact_mut(goals.len()) {
        for (value, goal) in row.iter_mut().zip(goals) {
            if *goal == Goal::Maximise {
                *value = -*value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_population_has_no_front() {
        let nobody = Population::default();
        assert!(nobody.is_empty() && nobody.get(0).is_none() && nobody.front().next().is_none());
    }
}
