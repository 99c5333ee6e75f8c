//! The search for the best configuration of all jobs together.

use std::cmp::Ordering;

use streamline_moo::{
    BoxError, Evaluations, Fill, Goal, Nsga2, Options, Problem, Rows, Start, Variable, knee_point,
};

use crate::candidates::{Assessment, Candidates};
use crate::{Error, FrontPoint, Objective, Preference, TunerOptions};

/// What the jobs that are searched together may take of the cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) slots: u64,
    pub(crate) cpu_cores: f64,
    pub(crate) network_bytes: u64,
}

/// One job of a search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Searched<'a> {
    pub(crate) candidates: &'a Candidates<'a>,
    pub(crate) objective: Objective,
    /// The share of its load that has to be carried.
    pub(crate) share: f64,
}

/// What a search found.
#[derive(Debug)]
pub(crate) struct Found {
    /// The choice for each job.
    pub(crate) choices: Vec<Vec<usize>>,
    /// The Pareto front of all jobs together, by ascending cost.
    pub(crate) front: Vec<FrontPoint>,
}

/// Searches the options of all jobs together and picks, for each job, what its objective asks for.
///
/// Two objectives are minimised: the cost in cores and the mean latency. That every job keeps up and that all of them
/// fit the cluster are constraints. From the front each job takes the entry that suits its own objective best; where
/// these do not fit the cluster together, the entry that serves all of them best is taken. A descent along single
/// genes then takes what the search left lying.
pub(crate) fn search(jobs: &[Searched<'_>], limits: Limits, options: &TunerOptions) -> Result<Found, Error> {
    let joint = Joint::new(jobs, limits);
    let front = joint.evolve(options)?;
    let mut choices: Vec<Vec<usize>> = (0..jobs.len()).map(|job| joint.pick(job, &front)).collect();
    if joint.overload(&joint.assess(&choices)) > 0.0
        && let Some(best) = front
            .iter()
            .min_by(|a, b| joint.compare(&joint.assess(a), &joint.assess(b)))
    {
        choices.clone_from(best);
    }
    joint.descend(&mut choices);

    let whole = front.iter().chain(std::iter::once(&choices));
    let points = whole.map(|choices| joint.point(&joint.assess(choices))).collect();
    Ok(Found {
        front: non_dominated(points),
        choices,
    })
}

/// The points that none of the others beats, by ascending cost.
fn non_dominated(mut points: Vec<FrontPoint>) -> Vec<FrontPoint> {
    points.sort_by(|a, b| {
        a.cost
            .total_cmp(&b.cost)
            .then(a.latency_ms.total_cmp(&b.latency_ms))
    });
    let mut fastest = f64::INFINITY;
    points.retain(|point| {
        let better = point.latency_ms < fastest;
        fastest = fastest.min(point.latency_ms);
        better
    });
    points
}

/// All jobs as one problem: the genes of one job after those of another.
struct Joint<'a> {
    jobs: &'a [Searched<'a>],
    limits: Limits,
    variables: Vec<Variable>,
}

/// A choice for every job.
type Choices = Vec<Vec<usize>>;

impl<'a> Joint<'a> {
    fn new(jobs: &'a [Searched<'a>], limits: Limits) -> Self {
        let levels = jobs.iter().flat_map(|job| job.candidates.levels());
        let variables = levels.map(|levels| Variable::Ordinal { levels }).collect();
        Self {
            jobs,
            limits,
            variables,
        }
    }

    /// Runs the genetic algorithm and returns the feasible front, or, if nothing is feasible, what comes closest.
    fn evolve(&self, options: &TunerOptions) -> Result<Vec<Choices>, Error> {
        let current: Choices = self.jobs.iter().map(|job| job.candidates.current()).collect();
        let smallest: Choices = self
            .jobs
            .iter()
            .map(|job| job.candidates.smallest(job.share))
            .collect();
        let roomier: Choices = self
            .jobs
            .iter()
            .map(|job| job.candidates.smallest(1.25 * job.share))
            .collect();
        let seeds: Vec<Vec<f64>> = [&current, &smallest, &roomier].map(genome).to_vec();
        let settings = Options::default()
            .with_population(options.population)
            .with_generations(options.generations as u64)
            .with_seed(options.seed)
            .with_start(Start {
                genomes: seeds,
                fill: Fill::Mutated { share: 0.5 },
            });
        let outcome = Nsga2::new(settings)?.run(self)?;
        Ok(outcome
            .front()
            .map(|solution| self.choices(solution.genome))
            .collect())
    }

    fn assess(&self, choices: &Choices) -> Vec<Assessment> {
        self.jobs
            .iter()
            .zip(choices)
            .map(|(job, choice)| job.candidates.assess(choice, job.share))
            .collect()
    }

    /// By how much the jobs together exceed what they may take, as shares of the limits.
    fn excesses(&self, assessed: &[Assessment]) -> [f64; 3] {
        let slots: u64 = assessed.iter().fold(0, |sum, a| sum.saturating_add(a.slots));
        let network: u64 = assessed
            .iter()
            .fold(0, |sum, a| sum.saturating_add(a.network_bytes));
        let cpu: f64 = assessed.iter().map(|a| a.cpu_cores).sum();
        [
            slots as f64 / self.limits.slots.max(1) as f64 - 1.0,
            cpu / self.limits.cpu_cores.max(f64::MIN_POSITIVE) - 1.0,
            network as f64 / self.limits.network_bytes.max(1) as f64 - 1.0,
        ]
    }

    fn overload(&self, assessed: &[Assessment]) -> f64 {
        self.excesses(assessed).iter().map(|excess| excess.max(0.0)).sum()
    }

    fn point(&self, assessed: &[Assessment]) -> FrontPoint {
        let cost = assessed.iter().map(|a| a.cost).sum();
        let latency_ms = assessed.iter().map(|a| a.latency_ms).sum::<f64>() / assessed.len() as f64;
        FrontPoint { cost, latency_ms }
    }

    /// What comes first: no job falls behind and all fit, then the latency limits, then what each job prefers.
    fn compare(&self, a: &[Assessment], b: &[Assessment]) -> Ordering {
        let key = |assessed: &[Assessment]| {
            let shortfall: f64 = assessed.iter().map(|a| a.shortfall).sum();
            let jobs = || self.jobs.iter().zip(assessed);
            let late: f64 = jobs().map(|(job, a)| lateness(&job.objective, a)).sum();
            let wanted: f64 = jobs().map(|(job, a)| preferred(&job.objective, a).0).sum();
            let otherwise: f64 = jobs().map(|(job, a)| preferred(&job.objective, a).1).sum();
            [shortfall + self.overload(assessed), late, wanted, otherwise]
        };
        compare_roughly(&key(a), &key(b))
    }

    /// The entry of the front that suits one job best.
    fn pick(&self, job: usize, front: &[Choices]) -> Vec<usize> {
        let Searched {
            candidates,
            objective,
            share,
        } = self.jobs[job];
        let mut entries: Vec<(Assessment, &Vec<usize>)> = front
            .iter()
            .map(|choices| (candidates.assess(&choices[job], share), &choices[job]))
            .collect();
        entries.retain(|(assessed, _)| assessed.shortfall <= 0.0);
        if objective.prefer == Preference::Knee {
            let meets_limit = |a: &Assessment| lateness(&objective, a) <= 0.0;
            if entries.iter().any(|(assessed, _)| meets_limit(assessed)) {
                entries.retain(|(assessed, _)| meets_limit(assessed));
            }
            let points: Vec<[f64; 2]> = entries.iter().map(|(a, _)| [a.cost, a.latency_ms]).collect();
            if let Some(knee) = knee_point(&points[..]) {
                return entries[knee].1.clone();
            }
        }
        let key = |a: &Assessment| {
            let (wanted, otherwise) = preferred(&objective, a);
            [lateness(&objective, a), wanted, otherwise]
        };
        let best = entries
            .iter()
            .min_by(|(a, _), (b, _)| compare_roughly(&key(a), &key(b)));
        best.map_or_else(|| candidates.smallest(share), |(_, choice)| (*choice).clone())
    }

    /// Changes single genes for as long as that makes the whole better. Jobs that want the knee keep what they have.
    fn descend(&self, choices: &mut Choices) {
        /// One pass mostly suffices; what is left after so many is not worth the time.
        const MAX_PASSES: usize = 32;
        let mut best = self.assess(choices);
        for _ in 0..MAX_PASSES {
            let mut improved = false;
            for (
                job,
                Searched {
                    candidates,
                    objective,
                    share,
                },
            ) in self.jobs.iter().enumerate()
            {
                if objective.prefer == Preference::Knee {
                    continue;
                }
                for (gene, levels) in candidates.levels().enumerate() {
                    for level in 0..levels {
                        let kept = std::mem::replace(&mut choices[job][gene], level);
                        let mut assessed = best.clone();
                        assessed[job] = candidates.assess(&choices[job], *share);
                        if self.compare(&assessed, &best) == Ordering::Less {
                            (best, improved) = (assessed, true);
                        } else {
                            choices[job][gene] = kept;
                        }
                    }
                }
            }
            if !improved {
                return;
            }
        }
    }

    fn choices(&self, genome: &[f64]) -> Choices {
        let mut genes = genome.iter().map(|&gene| gene as usize);
        self.jobs
            .iter()
            .map(|job| genes.by_ref().take(job.candidates.levels().count()).collect())
            .collect()
    }
}

impl Problem for Joint<'_> {
    fn variables(&self) -> &[Variable] {
        &self.variables
    }

    fn objectives(&self) -> &[Goal] {
        &[Goal::Minimise, Goal::Minimise]
    }

    fn constraints(&self) -> usize {
        4
    }

    fn evaluate(&self, genomes: Rows<'_>, out: &mut Evaluations<'_>) -> Result<(), BoxError> {
        out.each(genomes, |genome, objectives, constraints| {
            let assessed = self.assess(&self.choices(genome));
            let FrontPoint { cost, latency_ms } = self.point(&assessed);
            objectives.copy_from_slice(&[cost, latency_ms]);
            let [slots, cpu, network] = self.excesses(&assessed);
            let shortfall = assessed.iter().map(|a| a.shortfall).sum();
            constraints.copy_from_slice(&[shortfall, slots, cpu, network]);
            Ok(())
        })
    }
}

fn genome(choices: &Choices) -> Vec<f64> {
    choices.iter().flatten().map(|&level| level as f64).collect()
}

/// By how much a job exceeds its latency limit, as a share of it.
fn lateness(objective: &Objective, assessed: &Assessment) -> f64 {
    objective
        .latency_limit_ms
        .map_or(0.0, |limit| (assessed.latency_ms / limit - 1.0).max(0.0))
}

/// What a job wants little of, and what it wants little of where that is equal.
fn preferred(objective: &Objective, assessed: &Assessment) -> (f64, f64) {
    match objective.prefer {
        Preference::LeastCost | Preference::Knee => (assessed.cost, assessed.latency_ms),
        Preference::LowestLatency => (assessed.latency_ms, assessed.cost),
    }
}

/// Compares in order of importance; what differs by less than a billionth counts as equal.
fn compare_roughly<const N: usize>(a: &[f64; N], b: &[f64; N]) -> Ordering {
    const EQUAL: f64 = 1e-9;
    let pairs = a.iter().zip(b);
    let different = |(a, b): &(&f64, &f64)| (*a - *b).abs() > EQUAL * a.abs().max(b.abs()).max(1.0);
    pairs
        .clone()
        .find(different)
        .map_or(Ordering::Equal, |(a, b)| a.total_cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assessed(cost: f64, latency_ms: f64) -> Assessment {
        Assessment {
            shortfall: 0.0,
            latency_ms,
            cpu_cores: cost,
            cost,
            slots: 1,
            network_bytes: 0,
        }
    }

    #[test]
    fn latency_counts_against_a_job_only_above_its_limit() {
        let objective = Objective::latency_at_most(100.0);
        assert_eq!(
            lateness(&objective, &assessed(1.0, 99.0)).to_bits(),
            0.0f64.to_bits()
        );
        assert!((lateness(&objective, &assessed(1.0, 150.0)) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn what_matters_more_decides_and_tiny_differences_do_not() {
        assert_eq!(compare_roughly(&[1.0, 5.0], &[2.0, 0.0]), Ordering::Less);
        assert_eq!(
            compare_roughly(&[1.0, 5.0], &[1.0 + 1e-12, 0.0]),
            Ordering::Greater
        );
        assert_eq!(compare_roughly(&[1.0, 5.0], &[1.0, 5.0]), Ordering::Equal);
    }

    #[test]
    fn a_front_falls_strictly_in_latency_as_its_cost_rises() {
        let point = |cost, latency_ms| FrontPoint { cost, latency_ms };
        let points = [(2.0, 5.0), (1.0, 9.0), (3.0, 5.0), (2.0, 7.0), (1.0, 9.0)];
        let front = non_dominated(points.map(|(cost, latency_ms)| point(cost, latency_ms)).to_vec());
        assert_eq!(front, [point(1.0, 9.0), point(2.0, 5.0)]);
    }

    #[test]
    fn the_fastest_is_preferred_where_that_is_wanted() {
        let fastest = Objective {
            latency_limit_ms: None,
            prefer: Preference::LowestLatency,
        };
        assert!(preferred(&fastest, &assessed(9.0, 1.0)) < preferred(&fastest, &assessed(1.0, 2.0)));
        let cheapest = Objective::default();
        assert!(preferred(&cheapest, &assessed(1.0, 2.0)) < preferred(&cheapest, &assessed(9.0, 1.0)));
    }
}
