use serde::{Deserialize, Serialize};

use crate::SurrogateError;

/// How the capacity of an operator grows with its parallelism.
///
/// Universal scalability law, `X(p) = p·c / (1 + σ(p − 1) + κ·p(p − 1))` (Gunther, *Guerrilla Capacity Planning*, 2007),
/// with `c` what one subtask alone would process, `σ` the contention (what waits for one another) and `κ` the coherency
/// (what has to agree with one another).
///
/// # Examples
///
/// ```
/// use streamline_surrogate::Scalability;
///
/// let law = Scalability { contention: 0.1, coherency: 0.0 };
/// assert_eq!(law.speedup(1), 1.0);
/// assert_eq!(law.speedup(11), 5.5); // 11 subtasks do the work of 5.5
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scalability {
    /// `σ`, 0 to 1.
    pub contention: f64,
    /// `κ`, 0 to 1.
    pub coherency: f64,
}

impl Default for Scalability {
    /// `σ = 0.02`, `κ = 0.0001`: 91 % of linear scaling at 6 subtasks, 58 % at 32, and a peak near 99.
    fn default() -> Self {
        Self {
            contention: Self::DEFAULT_CONTENTION,
            coherency: 0.0001,
        }
    }
}

impl Scalability {
    /// The contention that is assumed where nothing is known.
    pub const DEFAULT_CONTENTION: f64 = 0.02;

    /// Capacity over that of one subtask.
    #[must_use]
    pub fn speedup(&self, parallelism: u32) -> f64 {
        let p = f64::from(parallelism);
        p / self.slowdown(parallelism)
    }

    /// How much longer each subtask takes for a record than one alone: `1 + σ(p − 1) + κ·p(p − 1)`.
    pub(crate) fn slowdown(&self, parallelism: u32) -> f64 {
        let p = f64::from(parallelism);
        1.0 + self.contention * (p - 1.0).max(0.0) + self.coherency * p * (p - 1.0).max(0.0)
    }

    /// Checks that both constants lie between 0 and 1.
    ///
    /// # Errors
    /// [`SurrogateError::InvalidOption`] naming the one that does not.
    pub fn check(&self) -> Result<(), SurrogateError> {
        for (name, value) in [
            ("scalability.contention", self.contention),
            ("scalability.coherency", self.coherency),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return Err(SurrogateError::InvalidOption {
                    name,
                    value,
                    expected: "0 to 1",
                });
            }
        }
        Ok(())
    }

    /// Fits the law to measured `(parallelism, slowdown)`, where the slowdown is the capacity of one subtask alone over
    /// that of each of many, drawn towards `prior` with the weight of `prior_weight` points.
    ///
    /// It minimises the relative error, squared where small and absolute where large (reweighted least squares): a
    /// subtask that was held back by something else must not bend the law.
    pub(crate) fn fit(slowdowns: &[(u32, f64)], prior: Self, prior_weight: f64) -> Self {
        const ROUNDS: usize = 20;
        const SMALL: f64 = 0.02;
        let mut weights = vec![1.0; slowdowns.len()];
        let mut law = Self::fit_weighted(slowdowns, &weights, prior, prior_weight);
        for _ in 0..ROUNDS {
            for (weight, &(parallelism, slowdown)) in weights.iter_mut().zip(slowdowns) {
                let error = (law.slowdown(parallelism) / slowdown - 1.0).abs();
                *weight = (SMALL / error).min(1.0);
            }
            // The best point counts fully, so that the prior does not gain weight where none is met.
            let best = weights.iter().copied().fold(1e-9, f64::max);
            for weight in &mut weights {
                *weight /= best;
            }
            law = Self::fit_weighted(slowdowns, &weights, prior, prior_weight);
        }
        law
    }

    /// One round of least squares. The slowdown is linear in both constants, so this is a 2×2 system; a constant that
    /// would come out negative is set to 0 and the other fitted alone.
    fn fit_weighted(slowdowns: &[(u32, f64)], weights: &[f64], prior: Self, prior_weight: f64) -> Self {
        // Both columns are scaled to about 1 at the largest parallelism, so that the prior weighs alike on both.
        let largest = slowdowns.iter().map(|&(p, _)| f64::from(p)).fold(2.0, f64::max);
        let [scale_a, scale_b] = [largest - 1.0, largest * (largest - 1.0)];
        let (mut aa, mut ab, mut bb) = (prior_weight, 0.0, prior_weight);
        let mut ay = prior_weight * prior.contention * scale_a;
        let mut by = prior_weight * prior.coherency * scale_b;
        for (&(parallelism, slowdown), weight) in slowdowns.iter().zip(weights) {
            let p = f64::from(parallelism);
            let weight = weight / (slowdown * slowdown).max(1e-6);
            let [a, b] = [(p - 1.0) / scale_a, p * (p - 1.0) / scale_b];
            let y = slowdown - 1.0;
            aa += weight * a * a;
            ab += weight * a * b;
            bb += weight * b * b;
            ay += weight * a * y;
            by += weight * b * y;
        }
        let determinant = aa * bb - ab * ab;
        let (mut contention, mut coherency) = if determinant > 1e-12 * aa * bb {
            (
                (ay * bb - by * ab) / determinant,
                (by * aa - ay * ab) / determinant,
            )
        } else {
            (ay / aa.max(f64::MIN_POSITIVE), 0.0)
        };
        if coherency < 0.0 {
            (contention, coherency) = (ay / aa.max(f64::MIN_POSITIVE), 0.0);
        } else if contention < 0.0 {
            (contention, coherency) = (0.0, by / bb.max(f64::MIN_POSITIVE));
        }
        let bounded = |value: f64| {
            if value.is_finite() {
                value.clamp(0.0, 1.0)
            } else {
                0.0
            }
        };
        Self {
            contention: bounded(contention / scale_a),
            coherency: bounded(coherency / scale_b),
        }
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    #[test]
    fn a_law_is_recovered_from_its_own_slowdowns() {
        let law = Scalability {
            contention: 0.05,
            coherency: 0.002,
        };
        let seen: Vec<_> = [1, 2, 4, 8, 16, 32].map(|p| (p, law.slowdown(p))).to_vec();
        let fitted = Scalability::fit(&seen, Scalability::default(), 0.0);
        assert_relative_eq!(fitted.contention, 0.05, max_relative = 1e-9);
        assert_relative_eq!(fitted.coherency, 0.002, max_relative = 1e-9);
    }

    #[test]
    fn subtasks_that_something_else_held_back_do_not_bend_the_law() {
        let law = Scalability {
            contention: 0.05,
            coherency: 0.002,
        };
        let mut seen: Vec<_> = (1..=30).map(|p| (p, law.slowdown(p))).collect();
        for held_back in seen.iter_mut().step_by(5) {
            held_back.1 *= 5.0;
        }
        let fitted = Scalability::fit(&seen, Scalability::default(), 0.01);
        assert_relative_eq!(fitted.speedup(30), law.speedup(30), max_relative = 0.05);
    }

    #[test]
    fn constants_never_come_out_negative() {
        // Superlinear scaling, as a cache effect would give.
        let seen = [(1, 1.0), (2, 0.9), (4, 0.7), (8, 0.6)];
        let fitted = Scalability::fit(&seen, Scalability::default(), 0.1);
        assert!(fitted.check().is_ok());
        assert!(fitted.speedup(8) <= 8.0);
    }

    #[test]
    fn without_measurements_the_prior_remains() {
        let prior = Scalability::default();
        let fitted = Scalability::fit(&[], prior, 1.0);
        assert_relative_eq!(fitted.contention, prior.contention, max_relative = 1e-9);
        assert_relative_eq!(fitted.coherency, prior.coherency, max_relative = 1e-9);
    }
}
