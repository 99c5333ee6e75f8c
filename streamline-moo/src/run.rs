//! A run in progress, one generation after another.

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::archive::Archive;
use crate::breeding::Breeder;
use crate::checkpoint::{Bits, Checkpoint, Individuals, fits};
use crate::niching::Niching;
use crate::options::{ConstraintHandling, Options};
use crate::pool::Pool;
use crate::random::{Purpose, Streams};
use crate::stop::Watch;
use crate::survival::{Cut, Survival};
use crate::variable::Layout;
use crate::{Directions, Error, Evaluations, Outcome, Population, Problem, Rows, StopReason};

/// A run in progress. Made by [`Nsga2::start`](crate::Nsga2::start), for those who want the loop in their own hands.
///
/// ```
/// use streamline_moo::{Function, Goal, Nsga2, Options, Variable};
///
/// let problem = Function::new(vec![Variable::real(0.0, 1.0)], vec![Goal::Minimise; 2], |x, f, _| {
///     f[0] = x[0];
///     f[1] = 1.0 - x[0];
///     Ok(())
/// });
/// let mut run = Nsga2::new(Options::default().with_generations(5))?.start(&problem)?;
/// while run.advance()?.is_none() {
///     assert!(run.generation() <= 5);
/// }
/// assert_eq!(run.outcome().evaluations, 600);
/// # Ok::<(), streamline_moo::Error>(())
/// ```
#[derive(Debug)]
pub struct Run<'p, P: Problem + ?Sized> {
    problem: &'p P,
    options: Options,
    pub(crate) pool: Pool,
    breeder: Breeder,
    survival: Survival,
    /// Where reference directions cut the last front, not crowding.
    niching: Option<Niching>,
    pub(crate) archive: Option<Archive>,
    watch: Watch,
    pub(crate) generation: u64,
    pub(crate) evaluations: u64,
    /// ε at the start, if violations up to ε count as none.
    pub(crate) epsilon: f64,
    started: Instant,
    pub(crate) before: Duration,
    stopped: Option<StopReason>,
}

impl<'p, P: Problem + ?Sized> Run<'p, P> {
    /// A run without its first population.
    pub(crate) fn prepare(
        problem: &'p P,
        options: Options,
        directions: Option<&Directions>,
    ) -> Result<Self, Error> {
        let goals = problem.objectives();
        if goals.is_empty() {
            return Err(Error::NoObjective);
        }
        let layout = Layout::new(problem.variables())?;
        options.validate(layout.width(), goals.len())?;
        if let Some(directions) = directions {
            let (given, expected) = (directions.rows().width(), goals.len());
            if given != expected {
                return Err(Error::Width {
                    what: "a reference direction",
                    given,
                    expected,
                });
            }
        }
        let k = problem.constraints();
        let pool = Pool::new(layout.width(), goals, k);
        Ok(Self {
            archive: options
                .archive
                .map(|capacity| Archive::new(capacity, layout.width(), goals, k)),
            watch: Watch::new(&options.stop, goals),
            breeder: Breeder::new(layout, &options, directions.is_none()),
            niching: directions.map(Niching::new),
            survival: Survival::default(),
            problem,
            options,
            pool,
            generation: 0,
            evaluations: 0,
            epsilon: 0.0,
            started: Instant::now(),
            before: Duration::ZERO,
            stopped: None,
        })
    }

    pub(crate) fn start(
        problem: &'p P,
        options: Options,
        directions: Option<&Directions>,
    ) -> Result<Self, Error> {
        let mut run = Self::prepare(problem, options, directions)?;
        run.breeder.found(&mut run.pool, problem, &run.options);
        run.evaluate(0)?;
        if let ConstraintHandling::Epsilon { share, .. } = run.options.constraints {
            let mut violations = run.pool.violations.clone();
            violations.sort_unstable_by(f64::total_cmp);
            let place = (share * violations.len() as f64) as usize;
            let quantile = violations
                .get(place.min(violations.len() - 1))
                .copied()
                .unwrap_or(0.0);
            run.epsilon = if quantile.is_finite() { quantile } else { 0.0 };
        }
        let n = run.pool.len;
        run.survive(n);
        Ok(run)
    }

    pub(crate) fn resume(
        problem: &'p P,
        options: Options,
        directions: Option<&Directions>,
        checkpoint: &Checkpoint,
    ) -> Result<Self, Error> {
        let mut run = Self::prepare(problem, options, directions)?;
        checkpoint.validate(run.options.seed, run.options.population)?;
        checkpoint.population.restore(&mut run.pool)?;
        let archives = |there: bool| u64::from(there);
        fits(
            "the archive",
            archives(checkpoint.archive.is_some()),
            archives(run.archive.is_some()),
        )?;
        if let (Some(archive), Some(stored)) = (&mut run.archive, &checkpoint.archive) {
            stored.restore(&mut archive.pool)?;
        }
        checkpoint.epsilon.check("epsilon", 1)?;
        run.epsilon = checkpoint.epsilon.values().sum();
        run.watch.snapshot = checkpoint
            .snapshot_at
            .map(|at| (at, checkpoint.snapshot.values().collect()));
        fits(
            "niching",
            archives(checkpoint.niching.is_some()),
            archives(run.niching.is_some()),
        )?;
        if let (Some(niching), Some((ideal, extremes))) = (&mut run.niching, &checkpoint.niching) {
            ideal.check("the ideal point", niching.ideal.len())?;
            extremes.check("the extreme points", niching.extremes.len())?;
            niching.ideal = ideal.values().collect();
            niching.extremes = extremes.values().collect();
        }
        run.generation = checkpoint.generation;
        run.evaluations = checkpoint.evaluations;
        run.before = checkpoint.elapsed;
        Ok(run)
    }

    /// All that is needed to continue from here.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        let snapshot = self.watch.snapshot.as_ref();
        Checkpoint {
            version: Checkpoint::VERSION,
            seed: self.options.seed,
            generation: self.generation,
            evaluations: self.evaluations,
            elapsed: self.elapsed(),
            population: Individuals::of(&self.pool),
            archive: self
                .archive
                .as_ref()
                .map(|archive| Individuals::of(&archive.pool)),
            snapshot_at: snapshot.map(|s| s.0),
            snapshot: snapshot.map_or(Bits::default(), |s| s.1.as_slice().into()),
            epsilon: [self.epsilon].as_slice().into(),
            niching: self
                .niching
                .as_ref()
                .map(|n| (n.ideal.as_slice().into(), n.extremes.as_slice().into())),
        }
    }

    /// Makes one more generation, unless there is a reason to stop, which is given then.
    ///
    /// # Errors
    /// [`Error::Evaluation`] or [`Error::Panic`] if the problem's evaluation failed; the run is then as it was before.
    pub fn advance(&mut self) -> Result<Option<StopReason>, Error> {
        if let Some(reason) = self.reason_to_stop() {
            self.stopped = Some(reason);
            return Ok(Some(reason));
        }
        let parents = self.pool.len;
        let n = self.options.population;
        self.breeder.breed(
            &mut self.pool,
            n,
            self.generation + 1,
            self.problem,
            &self.options,
        );
        if self.pool.len == parents {
            self.stopped = Some(StopReason::Exhausted);
            return Ok(self.stopped);
        }
        self.evaluate(parents)?;
        self.generation += 1;
        self.survive(n.min(self.pool.len));
        Ok(None)
    }

    /// Makes generations until there is a reason to stop. `observer` looks at the run after each, the first population
    /// included, and may end it.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    pub fn finish(mut self, mut observer: impl FnMut(&Self) -> ControlFlow<()>) -> Result<Outcome, Error> {
        loop {
            if observer(&self).is_break() {
                self.stopped = Some(StopReason::Observer);
                break;
            }
            if self.advance()?.is_some() {
                break;
            }
        }
        Ok(self.outcome())
    }

    /// The generations made, the first population not counted.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The individuals evaluated so far.
    #[must_use]
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// The time since the start, all sessions of a resumed run together.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.before + self.started.elapsed()
    }

    /// The options of the run.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The genomes of the population at hand, without a copy.
    #[must_use]
    pub fn genomes(&self) -> Rows<'_> {
        Rows::with_len(&self.pool.genomes, self.pool.width, self.pool.len)
    }

    /// The objectives of the population at hand without a copy, maximised ones negated.
    #[must_use]
    pub fn minimised_objectives(&self) -> Rows<'_> {
        self.pool.objectives()
    }

    /// A copy of the population at hand.
    #[must_use]
    pub fn population(&self) -> Population {
        self.pool.to_population(0..self.pool.len)
    }

    /// What the run has found so far.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.outcome_of(self.pool.len, self.stopped.unwrap_or(StopReason::Running))
    }

    fn outcome_of(&self, len: usize, reason: StopReason) -> Outcome {
        let population = if self.epsilon_now() > 0.0 {
            // Ranks by what is feasible in truth.
            let mut pool = self.pool.clone();
            pool.resize(len);
            Survival::default().select(&mut pool, len, 0.0, Cut::Crowding(self.options.crowding));
            pool.to_population(0..len)
        } else {
            self.pool.to_population(0..len)
        };
        Outcome {
            population,
            archive: self.archive.as_ref().map(|a| a.pool.to_population(0..a.pool.len)),
            generations: self.generation,
            evaluations: self.evaluations,
            elapsed: self.elapsed(),
            reason,
        }
    }

    fn reason_to_stop(&mut self) -> Option<StopReason> {
        let elapsed = self.elapsed();
        self.watch.look(
            &self.pool,
            self.generation,
            self.evaluations,
            self.options.population,
            elapsed,
        )
    }

    fn epsilon_now(&self) -> f64 {
        match self.options.constraints {
            ConstraintHandling::Epsilon {
                generations,
                exponent,
                ..
            } if self.generation < generations => {
                self.epsilon * (1.0 - self.generation as f64 / generations as f64).powf(exponent)
            }
            _ => 0.0,
        }
    }

    /// Evaluates the individuals from `begin` on. On failure these are dropped.
    fn evaluate(&mut self, begin: usize) -> Result<(), Error> {
        let (pool, problem) = (&mut self.pool, self.problem);
        let (w, m, k, n) = (pool.width, pool.m(), pool.k, pool.len - begin);
        let genomes = Rows::with_len(&pool.genomes[begin * w..], w, n);
        let objectives = &mut pool.objectives[begin * m..];
        let constraints = &mut pool.constraints[begin * k..];
        objectives.fill(f64::NAN);
        constraints.fill(f64::NAN);
        let mut out = Evaluations {
            objectives,
            constraints,
        };
        // A panic leaves nothing behind but the rows, which are dropped.
        let result = catch_unwind(AssertUnwindSafe(|| problem.evaluate(genomes, &mut out)));
        match result {
            Ok(Ok(())) => {
                self.pool.digest(begin);
                self.evaluations += n as u64;
                if let Some(archive) = &mut self.archive {
                    archive.absorb(&self.pool, begin);
                }
                Ok(())
            }
            Ok(Err(source)) => {
                let outcome = self.give_up(begin);
                Err(Error::Evaluation { source, outcome })
            }
            Err(panic) => {
                let outcome = self.give_up(begin);
                Err(Error::Panic {
                    message: message(&*panic),
                    outcome,
                })
            }
        }
    }

    fn give_up(&mut self, begin: usize) -> Box<Outcome> {
        self.pool.resize(begin);
        self.stopped = Some(StopReason::Failed);
        Box::new(self.outcome_of(begin, StopReason::Failed))
    }

    fn survive(&mut self, keep: usize) {
        let epsilon = self.epsilon_now();
        let cut = match &mut self.niching {
            Some(niching) => {
                let streams = Streams::new(self.options.seed, self.generation, Purpose::Niche);
                Cut::Niching(niching, streams.stream(0))
            }
            None => Cut::Crowding(self.options.crowding),
        };
        self.survival.select(&mut self.pool, keep, epsilon, cut);
        self.pool.keep(&mut self.survival.survivors);
        self.pool.resize(keep);
    }
}

/// The text of a panic, if it has one.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
        .to_owned()
}
