//! What is searched: the trait that a user implements.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::{BoxError, Rows, Variable};

/// Whether an objective shall be small or large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Goal {
    /// Smaller is better.
    #[default]
    Minimise,
    /// Larger is better.
    Maximise,
}

/// A problem with several objectives, evaluated a whole population at a time.
///
/// The batch is the unit, so that a neural model or SIMD code sees all rows at once. For a function of one point
/// at a time take [`Function`](crate::Function), or call [`Evaluations::each`], which spreads the rows over rayon's
/// threads. The trait is object-safe: `&dyn Problem` runs as well.
///
/// ```
/// use streamline_moo::{BoxError, Evaluations, Goal, Problem, Rows, Variable};
///
/// /// Schaffer's first problem: x² and (x − 2)².
/// struct Schaffer;
/// const VARIABLES: [Variable; 1] = [Variable::real(-10.0, 10.0)];
///
/// impl Problem for Schaffer {
///     fn variables(&self) -> &[Variable] {
///         &VARIABLES
///     }
///     fn objectives(&self) -> &[Goal] {
///         &[Goal::Minimise, Goal::Minimise]
///     }
///     fn evaluate(&self, genomes: Rows<'_>, out: &mut Evaluations<'_>) -> Result<(), BoxError> {
///         for (x, f) in genomes.iter().zip(out.objectives.chunks_exact_mut(2)) {
///             f[0] = x[0] * x[0];
///             f[1] = (x[0] - 2.0) * (x[0] - 2.0);
///         }
///         Ok(())
///     }
/// }
/// # let mut f = [0.0; 2];
/// # Schaffer.evaluate(Rows::from(&[[1.0]]), &mut Evaluations { objectives: &mut f, constraints: &mut [] })?;
/// # assert_eq!(f, [1.0, 1.0]);
/// # Ok::<(), BoxError>(())
/// ```
pub trait Problem: Sync {
    /// What may vary. A genome is one `f64` per variable in this order (a permutation takes several).
    fn variables(&self) -> &[Variable];

    /// The objectives, in the order in which [`evaluate`](Self::evaluate) writes them.
    fn objectives(&self) -> &[Goal];

    /// The number of constraints. One holds where its value is at most 0; above, the value says by how much it is
    /// violated. Scale them alike: the violation of an individual is the sum of what is positive.
    fn constraints(&self) -> usize {
        0
    }

    /// Evaluates all `genomes` into `out`. An objective that is NaN counts as the worst there is, a constraint that is
    /// NaN as violated without measure.
    ///
    /// # Errors
    /// Any error stops the run, which then gives back what it had: see [`Error::Evaluation`](crate::Error::Evaluation).
    fn evaluate(&self, genomes: Rows<'_>, out: &mut Evaluations<'_>) -> Result<(), BoxError>;

    /// Changes a new genome before it is evaluated, for instance into one that satisfies a constraint. What leaves the
    /// bounds afterwards is put back.
    fn repair(&self, _genome: &mut [f64]) {}
}

/// Where an evaluation writes: one row per genome, all filled with NaN before.
#[derive(Debug)]
pub struct Evaluations<'a> {
    /// The objectives' values, as many a row as the problem has objectives.
    pub objectives: &'a mut [f64],
    /// The constraints' values, as many a row as the problem has constraints.
    pub constraints: &'a mut [f64],
}

/// A batch that is estimated to take less than this is not worth waking other threads for.
const WORTH_SHARING: Duration = Duration::from_micros(60);

impl Evaluations<'_> {
    /// Evaluates each genome with `function(genome, objectives, constraints)`, on all threads of the current rayon pool
    /// where that pays. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// The error of the first genome (in order of the rows) that `function` failed for among those tried.
    ///
    /// ```
    /// use streamline_moo::{BoxError, Evaluations, Rows};
    ///
    /// let mut sums = [0.0; 2];
    /// let mut out = Evaluations { objectives: &mut sums, constraints: &mut [] };
    /// out.each(Rows::from(&[[1.0, 2.0], [3.0, 4.0]]), |x, f, _| {
    ///     f[0] = x[0] + x[1];
    ///     Ok(())
    /// })?;
    /// assert_eq!(sums, [3.0, 7.0]);
    /// # Ok::<(), BoxError>(())
    /// ```
    pub fn each<F>(&mut self, genomes: Rows<'_>, function: F) -> Result<(), BoxError>
    where
        F: Fn(&[f64], &mut [f64], &mut [f64]) -> Result<(), BoxError> + Sync,
    {
        let n = genomes.len();
        if n == 0 {
            return Ok(());
        }
        let (m, k) = (self.objectives.len() / n, self.constraints.len() / n);
        let one = |i: usize, f: &mut [f64], g: &mut [f64]| function(genomes.row(i), f, g);
        let mut begin = 0;
        if rayon::current_num_threads() > 1 {
            let start = Instant::now();
            let mut cheap = true;
            while begin < n && cheap {
                one(
                    begin,
                    row(self.objectives, m, begin),
                    row(self.constraints, k, begin),
                )?;
                begin += 1;
                // Look at the clock after 1, 2, 4, 8 … rows only.
                if begin.is_power_of_two() {
                    cheap = start.elapsed() * ((n - begin) / begin) as u32 <= WORTH_SHARING;
                }
            }
            if begin < n {
                return share(
                    n - begin,
                    m,
                    k,
                    &mut self.objectives[begin * m..],
                    &mut self.constraints[begin * k..],
                    |i, f, g| one(begin + i, f, g),
                );
            }
        }
        for i in begin..n {
            one(i, row(self.objectives, m, i), row(self.constraints, k, i))?;
        }
        Ok(())
    }
}

fn row(data: &mut [f64], width: usize, index: usize) -> &mut [f64] {
    &mut data[index * width..(index + 1) * width]
}

/// Evaluates `n` rows in pieces, several per thread so that uneven costs even out.
fn share<F>(
    n: usize,
    m: usize,
    k: usize,
    objectives: &mut [f64],
    constraints: &mut [f64],
    one: F,
) -> Result<(), BoxError>
where
    F: Fn(usize, &mut [f64], &mut [f64]) -> Result<(), BoxError> + Sync,
{
    let grain = n.div_ceil(rayon::current_num_threads() * 8).max(1);
    // Chunks of nothing are not allowed, so pieces are cut by hand.
    let mut pieces = Vec::with_capacity(n.div_ceil(grain));
    let (mut f, mut g, mut begin) = (objectives, constraints, 0);
    while begin < n {
        let count = grain.min(n - begin);
        let (f_head, f_tail) = f.split_at_mut(count * m);
        let (g_head, g_tail) = g.split_at_mut(count * k);
        pieces.push((begin, count, f_head, g_head));
        (f, g, begin) = (f_tail, g_tail, begin + count);
    }
    pieces
        .into_par_iter()
        .map(|(begin, count, f, g)| (0..count).try_for_each(|i| one(begin + i, row(f, m, i), row(g, k, i))))
        .find_first(Result::is_err)
        .unwrap_or(Ok(()))
}
