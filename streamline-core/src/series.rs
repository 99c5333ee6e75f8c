use serde::{Deserialize, Serialize};

use crate::CoreError;

/// A quantity over time on a regular grid, with the gaps marked.
///
/// Point `i` stands for the time `start_ms + i · step_ms`. A point without data is a gap, which is not zero.
///
/// Invariant: the step is at least 1 ms and every point that is not a gap is finite.
///
/// # Examples
///
/// ```
/// use streamline_core::TimeSeries;
///
/// let series = TimeSeries::new(0, 1_000, vec![Some(10.0), None, Some(30.0)])?;
/// assert_eq!(series.get(1), None);
/// assert_eq!(series.filled(), [10.0, 20.0, 30.0]);
/// # Ok::<(), streamline_core::CoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct TimeSeries {
    start_ms: i64,
    step_ms: u64,
    /// NaN marks a gap; nothing else that is not finite gets in.
    values: Vec<f64>,
}

/// What a series is written as: `null` marks a gap.
#[derive(Serialize, Deserialize)]
struct Parts {
    start_ms: i64,
    step_ms: u64,
    values: Vec<Option<f64>>,
}

impl TimeSeries {
    /// The most points that a series brought to a grid may have (16 million; 128 MiB).
    pub const MAX_POINTS: usize = 1 << 24;

    /// A series from its points; `None` is a gap.
    ///
    /// # Errors
    /// [`CoreError::ZeroStep`], or [`CoreError::InvalidNumber`] naming the first point that is not finite.
    pub fn new(start_ms: i64, step_ms: u64, values: Vec<Option<f64>>) -> Result<Self, CoreError> {
        if step_ms == 0 {
            return Err(CoreError::ZeroStep);
        }
        let mut checked = Vec::with_capacity(values.len());
        for (index, value) in values.into_iter().enumerate() {
            checked.push(match value {
                Some(value) => finite(value, index)?,
                None => f64::NAN,
            });
        }
        Ok(Self {
            start_ms,
            step_ms,
            values: checked,
        })
    }

    /// A series without gaps.
    ///
    /// # Errors
    /// As [`TimeSeries::new`].
    pub fn from_values(start_ms: i64, step_ms: u64, values: &[f64]) -> Result<Self, CoreError> {
        Self::new(start_ms, step_ms, values.iter().copied().map(Some).collect())
    }

    /// Brings samples `(time in ms, value)` at any times and in any order to a grid of `step_ms`.
    ///
    /// The grid starts at the first sample's time. A sample belongs to the nearest point of the grid (the earlier one
    /// if it lies in the middle); several at one point are averaged, and a point without a sample is a gap.
    ///
    /// # Errors
    /// [`CoreError::ZeroStep`], [`CoreError::InvalidNumber`] naming the first sample that is not finite, or
    /// [`CoreError::SeriesTooLong`] if the grid would have more than [`TimeSeries::MAX_POINTS`] points.
    ///
    /// # Examples
    ///
    /// ```
    /// use streamline_core::TimeSeries;
    ///
    /// // Out of order, one twice, one missing.
    /// let series = TimeSeries::from_samples(&[(3_050, 8.0), (0, 2.0), (1_000, 3.0), (1_001, 5.0)], 1_000)?;
    /// assert_eq!(series.iter().collect::<Vec<_>>(), [Some(2.0), Some(4.0), None, Some(8.0)]);
    /// # Ok::<(), streamline_core::CoreError>(())
    /// ```
    pub fn from_samples(samples: &[(i64, f64)], step_ms: u64) -> Result<Self, CoreError> {
        if step_ms == 0 {
            return Err(CoreError::ZeroStep);
        }
        for (index, &(_, value)) in samples.iter().enumerate() {
            finite(value, index)?;
        }
        let times = || samples.iter().map(|&(time, _)| time);
        let (Some(first_ms), Some(last_ms)) = (times().min(), times().max()) else {
            return Ok(Self {
                start_ms: 0,
                step_ms,
                values: Vec::new(),
            });
        };
        let point = |time: i64| {
            let since = time.abs_diff(first_ms);
            let (whole, rest) = (since / step_ms, since % step_ms);
            whole + u64::from(rest > step_ms / 2)
        };
        let too_long = CoreError::SeriesTooLong {
            first_ms,
            last_ms,
            step_ms,
            limit: Self::MAX_POINTS,
        };
        let points = usize::try_from(point(last_ms))
            .ok()
            .filter(|&last| last < Self::MAX_POINTS)
            .ok_or(too_long)?
            + 1;

        // Running means rather than sums, so that large values do not overflow.
        let mut values = vec![0.0; points];
        let mut counts = vec![0u32; points];
        for &(time, value) in samples {
            let index = point(time) as usize;
            counts[index] += 1;
            let share = 1.0 / f64::from(counts[index]);
            values[index] = values[index] * (1.0 - share) + value * share;
        }
        for (value, &count) in values.iter_mut().zip(&counts) {
            if count == 0 {
                *value = f64::NAN;
            }
        }
        Ok(Self {
            start_ms: first_ms,
            step_ms,
            values,
        })
    }

    /// The rate, per second, of a counter that was read at any times, on a grid of `step_ms`.
    ///
    /// Readings `(time in ms, count)` may be in any order; of several at one time the highest counts. What was counted
    /// between two readings is spread evenly over the time between them. A count below the one before is that of a counter that
    /// was reset, such as by a restart: nothing is known of the time between the two. The grid starts at the first reading, and a
    /// point of which less than half is known is a gap.
    ///
    /// # Errors
    /// As of [`from_samples`](Self::from_samples).
    ///
    /// # Examples
    ///
    /// ```
    /// use streamline_core::TimeSeries;
    ///
    /// let readings = [(0, 100.0), (1_000, 150.0), (3_000, 350.0), (4_000, 20.0), (5_000, 80.0)];
    /// let rates = TimeSeries::from_counter(&readings, 1_000)?;
    /// let rates: Vec<_> = rates.iter().collect();
    /// assert_eq!(rates, [Some(50.0), Some(100.0), Some(100.0), None, Some(60.0)]);
    /// # Ok::<(), streamline_core::CoreError>(())
    /// ```
    pub fn from_counter(readings: &[(i64, f64)], step_ms: u64) -> Result<Self, CoreError> {
        let grid = Self::from_samples(readings, step_ms)?;
        let mut readings = readings.to_vec();
        readings.sort_by(|one, other| one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)));
        readings.dedup_by_key(|reading| reading.0);
        let (mut counted, mut known_ms) = (vec![0.0; grid.len()], vec![0.0; grid.len()]);
        for pair in readings.windows(2) {
            let [(from_ms, before), (to_ms, after)] = [pair[0], pair[1]];
            let per_ms = (after - before) / from_ms.abs_diff(to_ms) as f64;
            if !(0.0..f64::INFINITY).contains(&per_ms) {
                continue;
            }
            // From here on times are since the start of the grid, which is the first reading.
            let [mut at, end] = [from_ms, to_ms].map(|time| time.abs_diff(grid.start_ms));
            while at < end {
                let point = at / step_ms;
                let until = (point + 1).saturating_mul(step_ms).min(end);
                // Half a step at the end may have no point of its own.
                let index = usize::try_from(point).unwrap_or(usize::MAX);
                if let (Some(counted), Some(known)) = (counted.get_mut(index), known_ms.get_mut(index)) {
                    *counted += per_ms * (until - at) as f64;
                    *known += (until - at) as f64;
                }
                at = until;
            }
        }
        let rate = |(counted, known): (f64, f64)| {
            let rate = counted / known * 1_000.0;
            (2.0 * known >= step_ms as f64 && rate.is_finite()).then_some(rate)
        };
        let mut rates: Vec<Option<f64>> = counted.into_iter().zip(known_ms).map(rate).collect();
        while rates.pop_if(|rate| rate.is_none()).is_some() {} // the last reading starts nothing
        Self::new(grid.start_ms, step_ms, rates)
    }

    /// The time of the first point, in milliseconds since the epoch.
    #[must_use]
    pub fn start_ms(&self) -> i64 {
        self.start_ms
    }

    /// The time between points, in milliseconds.
    #[must_use]
    pub fn step_ms(&self) -> u64 {
        self.step_ms
    }

    /// The time that point `index` stands for, which may lie beyond the end. Saturates at the ends of `i64`.
    #[must_use]
    pub fn time_ms(&self, index: usize) -> i64 {
        let offset = (index as u128).saturating_mul(u128::from(self.step_ms));
        self.start_ms
            .saturating_add_unsigned(u64::try_from(offset).unwrap_or(u64::MAX))
    }

    /// How many points there are, gaps included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no points.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// How many points are gaps.
    #[must_use]
    pub fn gaps(&self) -> usize {
        self.values.iter().filter(|value| value.is_nan()).count()
    }

    /// The value at a point; `None` at a gap and beyond the end.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<f64> {
        self.values.get(index).copied().filter(|value| !value.is_nan())
    }

    /// The newest value that is not a gap.
    #[must_use]
    pub fn last(&self) -> Option<f64> {
        self.values.iter().rev().copied().find(|value| !value.is_nan())
    }

    /// The largest value.
    #[must_use]
    pub fn max(&self) -> Option<f64> {
        self.iter().flatten().reduce(f64::max)
    }

    /// All points in order, gaps as `None`.
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Option<f64>> + ExactSizeIterator + '_ {
        self.values
            .iter()
            .map(|&value| Some(value).filter(|value| !value.is_nan()))
    }

    /// Appends a point.
    ///
    /// # Errors
    /// [`CoreError::InvalidNumber`] if it is not finite.
    pub fn push(&mut self, value: Option<f64>) -> Result<(), CoreError> {
        let value = value.map_or(Ok(f64::NAN), |value| finite(value, self.values.len()))?;
        self.values.push(value);
        Ok(())
    }

    /// The points from `from` up to but without `to`, both cut to the length.
    #[must_use]
    pub fn slice(&self, from: usize, to: usize) -> Self {
        let to = to.min(self.len());
        let from = from.min(to);
        Self {
            start_ms: self.time_ms(from),
            step_ms: self.step_ms,
            values: self.values[from..to].to_vec(),
        }
    }

    /// The last `points` points.
    #[must_use]
    pub fn tail(&self, points: usize) -> Self {
        self.slice(self.len().saturating_sub(points), self.len())
    }

    /// The values with gaps bridged by straight lines, and at the ends by the nearest value.
    ///
    /// Empty if there is no value at all.
    #[must_use]
    pub fn filled(&self) -> Vec<f64> {
        let mut filled = self.values.clone();
        let mut last: Option<usize> = None;
        for index in 0..filled.len() {
            if filled[index].is_nan() {
                continue;
            }
            let (from, value) = (last.map_or(0, |last| last + 1), filled[index]);
            for gap in from..index {
                filled[gap] = match last {
                    Some(last) => {
                        let share = (gap - last) as f64 / (index - last) as f64;
                        filled[last] * (1.0 - share) + value * share
                    }
                    None => value,
                };
            }
            last = Some(index);
        }
        match last {
            Some(last) => {
                let value = filled[last];
                filled[last + 1..].fill(value);
                filled
            }
            None => Vec::new(),
        }
    }

    /// Checks that no value is negative, as a rate must not be.
    ///
    /// # Errors
    /// [`CoreError::InvalidNumber`] naming the first negative point.
    pub fn check_rates(&self) -> Result<(), CoreError> {
        match self.values.iter().position(|&value| value < 0.0) {
            Some(index) => Err(CoreError::InvalidNumber {
                what: format!("rate at point {index}"),
                value: self.values[index],
                expected: "a finite number of at least 0",
            }),
            None => Ok(()),
        }
    }
}

fn finite(value: f64, index: usize) -> Result<f64, CoreError> {
    if value.is_finite() {
        return Ok(value);
    }
    Err(CoreError::InvalidNumber {
        what: format!("point {index}"),
        value,
        expected: "a finite number",
    })
}

impl TryFrom<Parts> for TimeSeries {
    type Error = CoreError;

    fn try_from(parts: Parts) -> Result<Self, CoreError> {
        Self::new(parts.start_ms, parts.step_ms, parts.values)
    }
}

impl From<TimeSeries> for Parts {
    fn from(series: TimeSeries) -> Self {
        Self {
            start_ms: series.start_ms,
            step_ms: series.step_ms,
            values: series.iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_not_finite_is_refused_with_its_place() {
        let error = TimeSeries::from_values(0, 1, &[1.0, f64::NAN]).unwrap_err();
        assert_eq!(error.to_string(), "point 1 is NaN, expected a finite number");
        assert!(TimeSeries::from_samples(&[(0, f64::INFINITY)], 1).is_err());
        assert!(
            TimeSeries::from_values(0, 1, &[])
                .unwrap()
                .push(Some(f64::NAN))
                .is_err()
        );
    }

    #[test]
    fn a_negative_rate_is_refused_with_its_place() {
        let series = TimeSeries::from_values(0, 1, &[1.0, 0.0, -2.0]).unwrap();
        assert_eq!(
            series.check_rates().unwrap_err().to_string(),
            "rate at point 2 is -2, expected a finite number of at least 0"
        );
    }

    #[test]
    fn an_absurd_span_is_an_error_and_not_a_huge_allocation() {
        let samples = [(i64::MIN, 1.0), (i64::MAX, 1.0)];
        assert!(matches!(
            TimeSeries::from_samples(&samples, 1),
            Err(CoreError::SeriesTooLong { .. })
        ));
        assert!(matches!(
            TimeSeries::from_samples(&samples, 0),
            Err(CoreError::ZeroStep)
        ));
    }

    #[test]
    fn a_series_of_gaps_has_nothing_to_fill_from() {
        let series = TimeSeries::new(0, 5, vec![None, None]).unwrap();
        assert_eq!(
            (series.filled(), series.last(), series.max(), series.gaps()),
            (vec![], None, None, 2)
        );
    }

    #[test]
    fn a_counter_that_goes_on_gives_back_all_that_it_counted() {
        let readings: Vec<(i64, f64)> = (0..40i64)
            .map(|index| (index * 700, (index * index) as f64))
            .rev()
            .collect();
        let rates = TimeSeries::from_counter(&readings, 1_300).unwrap();
        let total: f64 = rates.iter().flatten().map(|rate| rate * 1.3).sum();
        assert_eq!(rates.len(), 21); // 27.3 s, exactly
        approx::assert_relative_eq!(total, 39.0 * 39.0, epsilon = 1e-9);
    }

    proptest! {
        #[test]
        fn any_readings_become_rates_or_an_error(
            readings in proptest::collection::vec((-5_000i64..5_000, any::<f64>()), 0..20), step in 0u64..3_000,
        ) {
            if let Ok(series) = TimeSeries::from_counter(&readings, step) {
                prop_assert!(series.iter().flatten().all(|rate| rate.is_finite() && rate >= 0.0));
            }
        }

        #[test]
        fn any_samples_become_a_series_or_an_error(
            samples in proptest::collection::vec((any::<i64>(), any::<f64>()), 0..20), step in any::<u64>(),
        ) {
            if let Ok(series) = TimeSeries::from_samples(&samples, step) {
                prop_assert!(series.iter().flatten().all(f64::is_finite));
                prop_assert_eq!(series.is_empty(), samples.is_empty());
            }
        }

        #[test]
        fn a_series_survives_json(values in proptest::collection::vec(proptest::option::of(-1e12..1e12f64), 0..30)) {
            let series = TimeSeries::new(-7, 60_000, values).unwrap();
            let json = serde_json::to_string(&series).unwrap();
            let back: TimeSeries = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(back.iter().collect::<Vec<_>>(), series.iter().collect::<Vec<_>>());
        }

        #[test]
        fn filling_keeps_what_is_known_and_stays_within_its_range(
            values in proptest::collection::vec(proptest::option::of(0.0..1e6f64), 1..30),
        ) {
            let series = TimeSeries::new(0, 1, values.clone()).unwrap();
            let filled = series.filled();
            let known: Vec<f64> = values.iter().flatten().copied().collect();
            prop_assert_eq!(filled.is_empty(), known.is_empty());
            let (low, high) = (known.iter().copied().fold(f64::MAX, f64::min), known.iter().copied().fold(0.0, f64::max));
            for (value, filled) in values.iter().zip(&filled) {
                prop_assert!((low - 1e-6..=high + 1e-6).contains(filled));
                prop_assert!(value.is_none_or(|value| value.to_bits() == filled.to_bits()));
            }
        }
    }
}
