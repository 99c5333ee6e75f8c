//! Who lives on: fronts first, then crowding or niching within the front that fits only in part.

use crate::crowding::Crowd;
use crate::niching::Niching;
use crate::pool::Pool;
use crate::random::Stream;
use crate::{Crowding, Rows, Sorter};

/// How the front that fits only in part is cut.
#[derive(Debug)]
pub(crate) enum Cut<'a> {
    Crowding(Crowding),
    Niching(&'a mut Niching, Stream),
}

/// Memory for choosing survivors.
#[derive(Debug, Default)]
pub(crate) struct Survival {
    sorter: Sorter,
    crowd: Crowd,
    /// The feasible individuals, and their objectives, where not all are.
    feasible: Vec<u32>,
    objectives: Vec<f64>,
    infeasible: Vec<u32>,
    members: Vec<u32>,
    distances: Vec<f64>,
    order: Vec<u32>,
    pub(crate) survivors: Vec<u32>,
}

impl Survival {
    /// Ranks all individuals in the pool, lists `keep` survivors and gives these their crowding distances. A violation up
    /// to `epsilon` counts as none.
    pub(crate) fn select(&mut self, pool: &mut Pool, keep: usize, epsilon: f64, mut cut: Cut<'_>) {
        self.survivors.clear();
        let all_feasible = self.split(pool, epsilon);
        let fronts = if all_feasible {
            self.sorter.sort(pool.objectives())
        } else {
            self.sorter
                .sort(Rows::with_len(&self.objectives, pool.m(), self.feasible.len()))
        };
        for (rank, front) in fronts.iter().enumerate() {
            let members = if all_feasible {
                front
            } else {
                self.members.clear();
                self.members
                    .extend(front.iter().map(|&i| self.feasible[i as usize]));
                &self.members
            };
            for &i in members {
                pool.ranks[i as usize] = rank as u32;
            }
            let room = keep - self.survivors.len();
            if room == 0 {
                continue;
            }
            let crowding = match &mut cut {
                Cut::Crowding(crowding) => *crowding,
                Cut::Niching(niching, random) => {
                    for &i in members {
                        pool.crowding[i as usize] = 0.0;
                    }
                    if members.len() <= room {
                        self.survivors.extend_from_slice(members);
                    }
                    if members.len() >= room {
                        // The best front without the detour over `feasible` of what is at hand.
                        let best: Vec<u32> = match (all_feasible, fronts.front(0)) {
                            (true, best) => best.to_vec(),
                            (false, best) => best.iter().map(|&i| self.feasible[i as usize]).collect(),
                        };
                        let last = if members.len() > room { members } else { &[] };
                        let room = keep - self.survivors.len();
                        let mut chosen = niching.choose(pool, &self.survivors, last, &best, room, random);
                        self.survivors.append(&mut chosen);
                    }
                    continue;
                }
            };
            self.crowd.prepare(pool.objectives(), members, true);
            if members.len() > room && crowding == Crowding::OneAtATime {
                self.crowd.thin(room, |position, distance| {
                    let i = members[position as usize];
                    pool.crowding[i as usize] = distance;
                    self.survivors.push(i);
                });
                continue;
            }
            self.distances.resize(members.len(), 0.0);
            self.crowd.distances_into(&mut self.distances);
            for (&i, &distance) in members.iter().zip(&self.distances) {
                pool.crowding[i as usize] = distance;
            }
            if members.len() <= room {
                self.survivors.extend_from_slice(members);
            } else {
                self.order.clear();
                self.order.extend(0..members.len() as u32);
                let distances = &self.distances;
                self.order.sort_unstable_by(|&a, &b| {
                    distances[b as usize]
                        .total_cmp(&distances[a as usize])
                        .then(a.cmp(&b))
                });
                self.survivors.extend(
                    self.order[..room]
                        .iter()
                        .map(|&position| members[position as usize]),
                );
            }
        }
        let offset = fronts.len();
        self.append_infeasible(pool, keep, offset as u32);
    }

    /// Lists who is feasible and who is not; whether all are.
    fn split(&mut self, pool: &Pool, epsilon: f64) -> bool {
        self.infeasible.clear();
        if pool.k == 0 || pool.violations[..pool.len].iter().all(|&v| v <= epsilon) {
            return true;
        }
        self.feasible.clear();
        self.objectives.clear();
        for i in 0..pool.len {
            if pool.violations[i] <= epsilon {
                self.feasible.push(i as u32);
                self.objectives.extend_from_slice(pool.objectives().row(i));
            } else {
                self.infeasible.push(i as u32);
            }
        }
        false
    }

    /// Infeasible individuals in order of violation; of equal ones the younger first, so that a search on a plateau moves.
    fn append_infeasible(&mut self, pool: &mut Pool, keep: usize, offset: u32) {
        let violations = &pool.violations;
        self.infeasible.sort_unstable_by(|&a, &b| {
            violations[a as usize]
                .total_cmp(&violations[b as usize])
                .then(b.cmp(&a))
        });
        let (mut rank, mut previous) = (offset, None);
        for &i in &self.infeasible {
            let violation = pool.violations[i as usize];
            if previous.is_some_and(|p| violation > p) {
                rank += 1;
            }
            previous = Some(violation);
            pool.ranks[i as usize] = rank;
            pool.crowding[i as usize] = 0.0;
            if self.survivors.len() < keep {
                self.survivors.push(i);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Goal;

    fn pool(rows: &[([f64; 2], f64)]) -> Pool {
        let mut pool = Pool::new(0, &[Goal::Minimise; 2], 1);
        pool.resize(rows.len());
        for (i, (f, g)) in rows.iter().enumerate() {
            pool.objectives[2 * i..2 * i + 2].copy_from_slice(f);
            pool.constraints[i] = *g;
        }
        pool.digest(0);
        pool
    }

    #[test]
    fn feasible_point_comes_before_infeasible_one_whatever_its_objectives() {
        let mut pool = pool(&[
            ([0.0, 0.0], 1.0),
            ([9.0, 9.0], -1.0),
            ([0.0, 0.0], 0.5),
            ([8.0, 10.0], 0.0),
        ]);
        let mut survival = Survival::default();
        survival.select(&mut pool, 3, 0.0, Cut::Crowding(Crowding::OneAtATime));
        assert_eq!(pool.ranks, [2, 0, 1, 0]);
        assert_eq!(survival.survivors, [3, 1, 2]);
    }

    #[test]
    fn violations_up_to_epsilon_count_as_none() {
        let mut pool = pool(&[([0.0, 0.0], 1.0), ([9.0, 9.0], -1.0)]);
        Survival::default().select(&mut pool, 2, 1.0, Cut::Crowding(Crowding::OneAtATime));
        assert_eq!(pool.ranks, [0, 1]);
    }

    #[test]
    fn both_ways_of_cutting_keep_the_extremes() {
        let rows: Vec<_> = (0..9).map(|i| ([f64::from(i), f64::from(8 - i)], 0.0)).collect();
        for crowding in [Crowding::OneAtATime, Crowding::AllAtOnce] {
            let mut survival = Survival::default();
            survival.select(&mut pool(&rows), 4, 0.0, Cut::Crowding(crowding));
            assert_eq!(survival.survivors.len(), 4);
            assert!(survival.survivors.contains(&0) && survival.survivors.contains(&8));
        }
    }
}
