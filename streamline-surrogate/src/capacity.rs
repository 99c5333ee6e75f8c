use serde::{Deserialize, Serialize};

use crate::SurrogateError;
use crate::chebyshev::Chebyshev;
use crate::log_error::median;
use crate::scalability::Scalability;
use crate::surrogate::{HUGE, MAX_PARALLELISM};

/// One measured capacity.
///
/// # Examples
///
/// A point that counts like three:
///
/// ```
/// use streamline_surrogate::CapacityPoint;
///
/// let point = CapacityPoint { weight: 3.0, ..CapacityPoint::from((4, 3700.0)) };
/// assert_eq!((point.parallelism, point.rate), (4, 3700.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CapacityPoint {
    /// Number of subtasks.
    pub parallelism: u32,
    /// Records per second that they processed together when they were busy all the time.
    pub rate: f64,
    /// How much the point counts; 1 is an ordinary point.
    pub weight: f64,
}

impl From<(u32, f64)> for CapacityPoint {
    /// A point of weight 1 from `(parallelism, records per second)`.
    fn from((parallelism, rate): (u32, f64)) -> Self {
        Self {
            parallelism,
            rate,
            weight: 1.0,
        }
    }
}

/// What the polynomial of a [`CapacityCurve`] describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CurveForm {
    /// `p / capacity` as a polynomial in `p`, at a degree of at most 2: the universal scalability law,
    /// `(1 + σ(p − 1) + κ·p(p − 1)) / c`. It keeps its shape beyond the data.
    #[default]
    Reciprocal,
    /// `capacity` as a polynomial in `p`. It follows any shape within the data and runs wild beyond it.
    Direct,
}

/// How a [`CapacityCurve`] is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CapacityOptions {
    /// What the polynomial describes.
    pub form: CurveForm,
    /// The highest degree to try, 1 to 8; the reciprocal form never goes beyond 2. Default 4.
    pub max_degree: usize,
}

impl Default for CapacityOptions {
    fn default() -> Self {
        Self {
            form: CurveForm::Reciprocal,
            max_degree: 4,
        }
    }
}

/// The maximum processing rate of an operator against its parallelism.
///
/// A polynomial regression, on a scaled Chebyshev basis, whose degree is chosen by cross-validation over whole
/// parallelism values (each left out in turn, or a tenth of them at a time where there are many). Errors are relative,
/// and Huber weights keep single outliers from bending the curve.
///
/// With a single parallelism, or two, there is nothing to choose a degree by: the curve then goes through the (mean)
/// point as the universal scalability law with the contention [`Scalability::DEFAULT_CONTENTION`] and no coherency.
///
/// The curve is never negative. Beyond the data it never promises more per subtask than at the end of the data, and
/// within it never more than four times the best that was seen; [`extrapolates`](Self::extrapolates) says where it is
/// beyond.
///
/// # Examples
///
/// ```
/// use streamline_surrogate::CapacityCurve;
///
/// let measured = [(1, 1000.0), (2, 1960.0), (4, 3700.0), (8, 6600.0), (12, 8800.0)];
/// let curve = CapacityCurve::fit(&measured)?;
/// assert!((curve.capacity(6) / 5200.0 - 1.0).abs() < 0.05);
/// assert!(!curve.extrapolates(6) && curve.extrapolates(24));
/// assert_eq!(curve.smallest_for(5000.0, &[2, 4, 6, 8]), Some(6));
/// assert_eq!(curve.smallest_for(50_000.0, &[2, 4, 6, 8]), None);
/// # Ok::<(), streamline_surrogate::SurrogateError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityCurve {
    form: CurveForm,
    /// In rates over `best_each`, so that its numbers are of the order of 1.
    polynomial: Chebyshev,
    lowest: u32,
    highest: u32,
    /// Most records per second that one subtask was seen to process.
    best_each: f64,
    points: usize,
    r_squared: f64,
    cv_error: Option<f64>,
}

impl CapacityCurve {
    /// Fits `(parallelism, records per second)` points of equal weight with the default options.
    ///
    /// # Errors
    /// [`SurrogateError::NoPoints`], or [`SurrogateError::InvalidPoint`] naming the first point that makes no sense.
    pub fn fit(points: &[(u32, f64)]) -> Result<Self, SurrogateError> {
        let points: Vec<_> = points.iter().copied().map(CapacityPoint::from).collect();
        Self::fit_with(&points, &CapacityOptions::default())
    }

    /// Fits points with these options.
    ///
    /// # Errors
    /// [`SurrogateError::NoPoints`], [`SurrogateError::InvalidPoint`] naming the first point that makes no sense,
    /// [`SurrogateError::InvalidOption`], or [`SurrogateError::Unsolvable`] if the least-squares problem has no
    /// finite solution.
    ///
    /// # Examples
    ///
    /// ```
    /// use streamline_surrogate::{CapacityCurve, CapacityOptions, CapacityPoint, CurveForm};
    ///
    /// let points: Vec<CapacityPoint> = (1..=9).map(|p| (p, 500.0 * f64::from(p)).into()).collect();
    /// let options = CapacityOptions { form: CurveForm::Direct, ..CapacityOptions::default() };
    /// let curve = CapacityCurve::fit_with(&points, &options)?;
    /// assert_eq!(curve.degree(), 1);
    /// assert!(curve.r_squared() > 0.999);
    /// # Ok::<(), streamline_surrogate::SurrogateError>(())
    /// ```
    pub fn fit_with(points: &[CapacityPoint], options: &CapacityOptions) -> Result<Self, SurrogateError> {
        if !(1..=8).contains(&options.max_degree) {
            return Err(SurrogateError::InvalidOption {
                name: "max_degree",
                value: options.max_degree as f64,
                expected: "1 to 8",
            });
        }
        for (index, point) in points.iter().enumerate() {
            point.check(index)?;
        }
        let mut distinct: Vec<u32> = points.iter().map(|point| point.parallelism).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let (Some(&lowest), Some(&highest)) = (distinct.first(), distinct.last()) else {
            return Err(SurrogateError::NoPoints);
        };
        let best_each = points
            .iter()
            .map(|point| point.rate / f64::from(point.parallelism))
            .fold(0.0, f64::max);
        let mut curve = Self {
            form: options.form,
            polynomial: Chebyshev::line([1.0, 2.0], [0.0; 2]),
            lowest,
            highest,
            best_each,
            points: points.len(),
            r_squared: 0.0,
            cv_error: None,
        };
        if best_each <= 0.0 {
            // Nothing was ever processed: the curve is zero.
        } else if distinct.len() < 3 {
            curve.form = CurveForm::Reciprocal;
            curve.polynomial = default_law(points, highest, best_each);
        } else {
            let most = match options.form {
                CurveForm::Reciprocal => options.max_degree.min(2),
                CurveForm::Direct => options.max_degree,
            };
            let mut best: Option<(f64, usize)> = None;
            for degree in 0..=most.min(distinct.len() - 2) {
                let error = curve.cross_validate(points, &distinct, degree)?;
                // A higher degree has to be better by more than a hair.
                if best.is_none_or(|(least, _)| error < 0.98 * least) {
                    best = Some((error, degree));
                }
            }
            let (error, degree) = best.unwrap_or((f64::INFINITY, 0));
            curve.polynomial = curve.regress(points, degree)?;
            curve.cv_error = Some(error);
        }
        curve.r_squared = curve.explained(points);
        Ok(curve)
    }

    /// The records per second that `parallelism` subtasks can process together; 0 for none.
    #[must_use]
    pub fn capacity(&self, parallelism: u32) -> f64 {
        if parallelism == 0 {
            return 0.0;
        }
        let p = f64::from(parallelism);
        let within = self.unbounded(p.clamp(f64::from(self.lowest), f64::from(self.highest)));
        let capacity = if parallelism > self.highest {
            let each = within / f64::from(self.highest);
            self.unbounded(p).clamp(0.0, each * p)
        } else if parallelism < self.lowest {
            // Fewer subtasks are at least as efficient, and no faster than the best that was seen.
            let linear = within * p / f64::from(self.lowest);
            self.unbounded(p)
                .max(linear)
                .min((self.best_each * p).max(linear))
        } else {
            within
        };
        if capacity.is_finite() {
            capacity.max(0.0)
        } else {
            0.0
        }
    }

    /// The smallest of the `options` whose capacity is at least `rate` records per second, if any is.
    #[must_use]
    pub fn smallest_for(&self, rate: f64, options: &[u32]) -> Option<u32> {
        options
            .iter()
            .copied()
            .filter(|&parallelism| self.capacity(parallelism) >= rate)
            .min()
    }

    /// Whether `parallelism` lies outside those that were measured.
    #[must_use]
    pub fn extrapolates(&self, parallelism: u32) -> bool {
        !(self.lowest..=self.highest).contains(&parallelism)
    }

    /// The smallest and the largest parallelism that was measured.
    #[must_use]
    pub fn range(&self) -> (u32, u32) {
        (self.lowest, self.highest)
    }

    /// What the polynomial describes; with fewer than three distinct parallelism values always the reciprocal form.
    #[must_use]
    pub fn form(&self) -> CurveForm {
        self.form
    }

    /// The degree of the polynomial.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.polynomial.degree()
    }

    /// How many points it was fitted to.
    #[must_use]
    pub fn points(&self) -> usize {
        self.points
    }

    /// The share of the variance of the rates that the curve explains; 1 where they do not vary and are met.
    #[must_use]
    pub fn r_squared(&self) -> f64 {
        self.r_squared
    }

    /// The relative error (root mean square) at parallelism values that the fit had not seen; none with fewer than
    /// three distinct ones.
    #[must_use]
    pub fn cv_error(&self) -> Option<f64> {
        self.cv_error
    }

    fn unbounded(&self, p: f64) -> f64 {
        let value = self.polynomial.at(p);
        self.best_each
            * match self.form {
                CurveForm::Direct => value.clamp(0.0, 4.0 * p),
                CurveForm::Reciprocal => p / value.max(0.25),
            }
    }

    /// Fits a polynomial of this degree, three times with weights that let outliers count less.
    fn regress(&self, points: &[CapacityPoint], degree: usize) -> Result<Chebyshev, SurrogateError> {
        // What lies beyond 2.5 standard deviations (by the median) counts less; Huber, Robust Statistics, 1981.
        const BEND: f64 = 2.5;
        const ROUNDS: usize = 4;
        const FLOOR: f64 = 1e-3;
        let domain = [f64::from(self.lowest), f64::from(self.highest)];
        // An error of the same share weighs the same everywhere.
        let (targets, relative): (Vec<_>, Vec<_>) = points
            .iter()
            .map(|point| {
                let p = f64::from(point.parallelism);
                let rate = point.rate / self.best_each;
                let each = (rate / p).max(FLOOR);
                match self.form {
                    CurveForm::Reciprocal => ((p, 1.0 / each), each * each),
                    CurveForm::Direct => ((p, rate), 1.0 / (each * p * each * p)),
                }
            })
            .unzip();
        let plain: Vec<f64> = points
            .iter()
            .zip(&relative)
            .map(|(point, relative)| point.weight * relative)
            .collect();
        let mut polynomial = Chebyshev::fit(domain, degree, &targets, &plain)?;
        for _ in 1..ROUNDS {
            let residuals: Vec<f64> = targets
                .iter()
                .zip(&relative)
                .map(|(&(p, y), relative)| (y - polynomial.at(p)).abs() * relative.sqrt())
                .collect();
            let spread = 1.4826 * median(&mut residuals.clone()).unwrap_or(0.0);
            if spread < 1e-9 {
                break;
            }
            let weights: Vec<f64> = plain
                .iter()
                .zip(&residuals)
                .map(|(weight, residual)| weight * (BEND * spread / residual).min(1.0))
                .collect();
            polynomial = Chebyshev::fit(domain, degree, &targets, &weights)?;
        }
        Ok(polynomial)
    }

    /// Root mean square relative error at parallelism values that were left out.
    fn cross_validate(
        &self,
        points: &[CapacityPoint],
        distinct: &[u32],
        degree: usize,
    ) -> Result<f64, SurrogateError> {
        const FOLDS: usize = 10;
        let folds = if distinct.len() <= 2 * FOLDS {
            distinct.len()
        } else {
            FOLDS
        };
        let (mut sum, mut weights) = (0.0, 0.0);
        for fold in 0..folds {
            // The values are sorted, so every fold reaches over the whole range.
            let held_out = |point: &&CapacityPoint| {
                distinct
                    .binary_search(&point.parallelism)
                    .is_ok_and(|place| place % folds == fold)
            };
            let seen: Vec<_> = points.iter().filter(|point| !held_out(point)).copied().collect();
            let mut curve = self.clone();
            curve.polynomial = self.regress(&seen, degree)?;
            for point in points.iter().filter(held_out) {
                let p = f64::from(point.parallelism);
                let scale = point.rate.max(1e-3 * self.best_each * p);
                let error = (curve.unbounded(p) - point.rate) / scale;
                // Far beyond is far beyond: one point must not decide alone.
                sum += point.weight * error.clamp(-1.0, 1.0).powi(2);
                weights += point.weight;
            }
        }
        Ok((sum / weights.max(f64::MIN_POSITIVE)).sqrt())
    }

    fn explained(&self, points: &[CapacityPoint]) -> f64 {
        const HAIR: f64 = 1e-18;
        let total: f64 = points.iter().map(|point| point.weight).sum();
        let mean = points.iter().map(|point| point.weight * point.rate).sum::<f64>() / total;
        let (mut left, mut all) = (0.0, 0.0);
        for point in points {
            left += point.weight * (point.rate - self.capacity(point.parallelism)).powi(2);
            all += point.weight * (point.rate - mean).powi(2);
        }
        let square = total * mean * mean;
        if all > HAIR * square {
            1.0 - left / all
        } else if left <= 1e-6 * square {
            1.0
        } else {
            0.0
        }
    }
}

/// `p / capacity` (in rates over `best_each`) by the scalability law with the default contention, through the weighted
/// mean of the points.
fn default_law(points: &[CapacityPoint], highest: u32, best_each: f64) -> Chebyshev {
    let law = Scalability {
        contention: Scalability::DEFAULT_CONTENTION,
        coherency: 0.0,
    };
    let (mut sum, mut weights) = (0.0, 0.0);
    for point in points {
        sum += point.weight * point.rate / law.speedup(point.parallelism);
        weights += point.weight;
    }
    let alone = sum / weights / best_each;
    let end = highest.max(2);
    Chebyshev::line(
        [1.0, f64::from(end)],
        [1.0 / alone, f64::from(end) / law.speedup(end) / alone],
    )
}

impl CapacityPoint {
    fn check(&self, index: usize) -> Result<(), SurrogateError> {
        let refuse = |field, value, expected| {
            Err(SurrogateError::InvalidPoint {
                index,
                field,
                value,
                expected,
            })
        };
        if !(1..=MAX_PARALLELISM).contains(&self.parallelism) {
            return refuse("parallelism", f64::from(self.parallelism), "1 to 32768");
        }
        if !(0.0..=HUGE).contains(&self.rate) {
            return refuse("rate", self.rate, "0 to 1e12 records per second");
        }
        if !(1e-6..=1e6).contains(&self.weight) {
            return refuse("weight", self.weight, "1e-6 to 1e6");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use proptest::prelude::*;

    use super::*;

    fn law(p: u32) -> f64 {
        let law = Scalability {
            contention: 0.05,
            coherency: 0.001,
        };
        2000.0 * law.speedup(p)
    }

    fn measured(range: impl IntoIterator<Item = u32>) -> Vec<(u32, f64)> {
        range.into_iter().map(|p| (p, law(p))).collect()
    }

    fn direct(points: &[(u32, f64)], max_degree: usize) -> CapacityCurve {
        let points: Vec<_> = points.iter().copied().map(CapacityPoint::from).collect();
        let options = CapacityOptions {
            form: CurveForm::Direct,
            max_degree,
        };
        CapacityCurve::fit_with(&points, &options).unwrap()
    }

    #[test]
    fn the_reciprocal_form_follows_the_scalability_law_far_beyond_its_data() {
        let curve = CapacityCurve::fit(&measured(1..=16)).unwrap();
        assert_eq!(curve.degree(), 2);
        assert_relative_eq!(curve.capacity(32), law(32), max_relative = 1e-6);
        assert!(curve.extrapolates(32));
        assert!(curve.cv_error().unwrap() < 1e-6);
        assert_relative_eq!(curve.r_squared(), 1.0, epsilon = 1e-9);
    }

    #[test]
    fn the_reciprocal_form_extrapolates_better_than_a_direct_polynomial_on_noisy_data() {
        let noisy: Vec<_> = (1..=16)
            .map(|p| (p, law(p) * (1.0 + 0.02 * f64::from(p * 7 % 5) - 0.04)))
            .collect();
        let error = |curve: &CapacityCurve| (curve.capacity(32) / law(32) - 1.0).abs();
        let reciprocal = CapacityCurve::fit(&noisy).unwrap();
        assert!(error(&reciprocal) < 0.15, "off by {}", error(&reciprocal));
        assert!(error(&reciprocal) < error(&direct(&noisy, 5)));
    }

    #[test]
    fn a_direct_polynomial_follows_shapes_that_no_law_has() {
        // A step in the middle: a second TaskManager joins.
        let shape = |p: u32| f64::from(p) * 100.0 + 300.0 * (f64::from(p) / 3.0).sin();
        let points: Vec<_> = (1..=20).map(|p| (p, shape(p))).collect();
        assert!(direct(&points, 8).r_squared() > 0.995);
    }

    #[test]
    fn one_parallelism_scales_by_the_law_with_the_default_contention() {
        let curve = CapacityCurve::fit(&[(4, 4000.0), (4, 4200.0)]).unwrap();
        assert_relative_eq!(curve.capacity(4), 4100.0, max_relative = 1e-9);
        assert_relative_eq!(
            curve.capacity(8),
            4100.0 * 2.0 * (1.0 + 0.02 * 3.0) / (1.0 + 0.02 * 7.0),
            max_relative = 1e-9
        );
        assert_eq!(curve.cv_error(), None);
        assert!(curve.capacity(1) > 1000.0 && curve.extrapolates(1));
    }

    #[test]
    fn a_single_outlier_does_not_bend_the_curve() {
        let mut points = measured(1..=16);
        points[9].1 *= 0.2;
        let curve = CapacityCurve::fit(&points).unwrap();
        for p in [1, 5, 10, 16] {
            assert_relative_eq!(curve.capacity(p), law(p), max_relative = 0.03);
        }
    }

    #[test]
    fn a_heavy_point_counts_like_many() {
        let mut points: Vec<CapacityPoint> = vec![(2, 100.0).into(), (2, 200.0).into()];
        points[1].weight = 3.0;
        let curve = CapacityCurve::fit_with(&points, &CapacityOptions::default()).unwrap();
        assert_relative_eq!(curve.capacity(2), 175.0, max_relative = 1e-9);
    }

    #[test]
    fn the_smallest_parallelism_is_found_in_options_of_any_order() {
        let curve = CapacityCurve::fit(&measured([1, 2, 4, 8, 12])).unwrap();
        assert_eq!(curve.smallest_for(law(4), &[12, 6, 3]), Some(6));
        assert_eq!(curve.smallest_for(0.0, &[]), None);
        assert_eq!(curve.smallest_for(f64::NAN, &[1, 2]), None);
    }

    #[test]
    fn senseless_points_are_refused_with_their_place() {
        assert!(matches!(CapacityCurve::fit(&[]), Err(SurrogateError::NoPoints)));
        for (bad, field) in [
            ((0, 5.0), "parallelism"),
            ((u32::MAX, 5.0), "parallelism"),
            ((1, f64::NAN), "rate"),
            ((1, -1.0), "rate"),
            ((1, f64::INFINITY), "rate"),
            ((1, 1e300), "rate"),
        ] {
            match CapacityCurve::fit(&[(1, 1.0), bad]) {
                Err(SurrogateError::InvalidPoint {
                    index: 1, field: at, ..
                }) => assert_eq!(at, field),
                other => panic!("{bad:?} gave {other:?}"),
            }
        }
    }

    #[test]
    fn a_curve_survives_json() {
        let curve = CapacityCurve::fit(&measured(1..=9)).unwrap();
        let json = serde_json::to_string(&curve).unwrap();
        assert_eq!(serde_json::from_str::<CapacityCurve>(&json).unwrap(), curve);
    }

    proptest! {
        #[test]
        fn capacity_is_finite_and_never_negative_and_beyond_the_data_never_better_than_linear(
            points in prop::collection::vec((1u32..200, prop_oneof![Just(0.0), 1e-3..1e9]), 1..30),
            direct_form in any::<bool>(),
        ) {
            let curve = if direct_form { direct(&points, 5) } else { CapacityCurve::fit(&points).unwrap() };
            let (_, highest) = curve.range();
            for p in [0, 1, 2, 7, 50, 199, 1000, u32::MAX] {
                let capacity = curve.capacity(p);
                prop_assert!(capacity.is_finite() && capacity >= 0.0);
                if p > highest {
                    let each = curve.capacity(highest) / f64::from(highest);
                    prop_assert!(capacity <= each * f64::from(p) * (1.0 + 1e-9));
                }
            }
        }

        #[test]
        fn the_order_of_the_points_does_not_matter(seed in 0usize..100) {
            let mut points: Vec<_> = (1..=8).map(|p| (p, law(p) * (1.0 + 0.01 * f64::from(p % 3)))).collect();
            let before = CapacityCurve::fit(&points).unwrap();
            points.rotate_left(seed % 8);
            points.swap(seed % 7, 7);
            let after = CapacityCurve::fit(&points).unwrap();
            assert_relative_eq!(before.capacity(5), after.capacity(5), max_relative = 1e-9);
        }
    }
}
