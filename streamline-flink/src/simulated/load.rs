use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use streamline_core::{CoreError, TimeSeries};

use crate::FlinkError;

/// Shapes of arrival rates over days, for runs without measured traces.
///
/// # Examples
///
/// ```
/// use streamline_flink::LoadShape;
///
/// let week = LoadShape::DayAndNight.days(7, 300_000, 50_000.0, 1)?;
/// assert_eq!(week.len(), 7 * 288);
/// assert!(week.max() > Some(45_000.0) && week.iter().flatten().all(|rate| rate >= 0.0));
/// assert_eq!(week, LoadShape::DayAndNight.days(7, 300_000, 50_000.0, 1)?);
/// # Ok::<(), streamline_flink::FlinkError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LoadShape {
    /// Low at night, a peak at noon and a higher one in the evening.
    DayAndNight,
    /// High from morning to late afternoon, and on five days of seven.
    OfficeHours,
    /// The same all day.
    Flat,
    /// Low, with bursts at no fixed time.
    Bursty,
    /// Rises evenly from a tenth of the peak to the peak, over all the days.
    Growing,
    /// High for the first half of the days, then of a sudden a quarter of that.
    Drop,
}

/// How much of the noise of one step is left in the next.
const PERSISTENCE: f64 = 0.9;
/// Standard deviation of the noise, as a share.
const NOISE: f64 = 0.03;
/// Bursts a day, and how much of a burst is left after an hour.
const BURSTS: f64 = 4.0;
const BURST_LEFT_AFTER_AN_HOUR: f64 = 0.3;
const DAY_MS: f64 = 86_400_000.0;

impl LoadShape {
    /// `days` days from time 0 at a step of `step_ms`, peaking near `peak` records per second.
    ///
    /// The series is cut at [`TimeSeries::MAX_POINTS`] points.
    ///
    /// # Errors
    /// [`FlinkError::Invalid`] if the step is 0 or the peak is not a finite number of at least 0.
    pub fn days(self, days: u32, step_ms: u64, peak: f64, seed: u64) -> Result<TimeSeries, FlinkError> {
        if !(0.0..=f64::MAX / 4.0).contains(&peak) {
            let expected = "a finite number of at least 0";
            return Err(CoreError::InvalidNumber {
                what: "peak".into(),
                value: peak,
                expected,
            }
            .into());
        }
        let days_ms = f64::from(days) * DAY_MS;
        let points = (days_ms / step_ms.max(1) as f64).min(TimeSeries::MAX_POINTS as f64) as usize;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
        let step_days = step_ms as f64 / DAY_MS;
        let decay = BURST_LEFT_AFTER_AN_HOUR.powf(24.0 * step_days);
        let (mut noise, mut burst) = (0.0, 0.0);
        let values = (0..points).map(|point| {
            let day = point as f64 * step_days;
            noise = PERSISTENCE * noise + (1.0 - PERSISTENCE * PERSISTENCE).sqrt() * NOISE * normal();
            burst *= decay;
            // A normal draw beyond the quantile of the chance of a burst in this step.
            if self == Self::Bursty && normal_tail(normal()) < BURSTS * step_days {
                burst = 1.0;
            }
            Some(
                peak * (self.at(day, day / f64::from(days)) + 0.75 * burst).min(1.0) * (1.0 + noise).max(0.0),
            )
        });
        Ok(TimeSeries::new(0, step_ms, values.collect())?)
    }

    /// The share of the peak at a time in days, `progress` of all the days having passed, without noise and bursts.
    fn at(self, day: f64, progress: f64) -> f64 {
        let hour = day.fract() * 24.0;
        let bump = |center: f64, width: f64| {
            let away = (hour - center + 36.0).rem_euclid(24.0) - 12.0;
            (-0.5 * (away / width).powi(2)).exp()
        };
        match self {
            Self::DayAndNight => 0.2 + 0.5 * bump(12.0, 2.5) + 0.8 * bump(19.5, 2.5),
            Self::OfficeHours => {
                let weekday = if day.rem_euclid(7.0) < 5.0 { 1.0 } else { 0.3 };
                let open = 1.0 / (1.0 + (-(hour - 8.0) * 2.0).exp()) / (1.0 + ((hour - 17.0) * 2.0).exp());
                0.1 + 0.9 * weekday * open
            }
            Self::Flat => 0.9,
            Self::Bursty => 0.25,
            Self::Growing => 0.1 + 0.9 * progress,
            Self::Drop if progress < 0.5 => 0.9,
            Self::Drop => 0.225,
        }
    }
}

/// The chance that a normal draw exceeds this one (Abramowitz and Stegun 26.2.17, to 1e-7).
fn normal_tail(draw: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * draw.abs());
    let series = t
        * (0.319_381_530
            + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let tail = (-0.5 * draw * draw).exp() / std::f64::consts::TAU.sqrt() * series;
    if draw < 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [LoadShape; 6] = [
        LoadShape::DayAndNight,
        LoadShape::OfficeHours,
        LoadShape::Flat,
        LoadShape::Bursty,
        LoadShape::Growing,
        LoadShape::Drop,
    ];

    #[test]
    fn every_shape_stays_between_nothing_and_a_little_above_its_peak() {
        for shape in SHAPES {
            let series = shape.days(14, 300_000, 100.0, 3).unwrap();
            assert!(
                series.iter().flatten().all(|rate| (0.0..125.0).contains(&rate)),
                "{shape:?}"
            );
            assert!(series.max() > Some(80.0), "{shape:?}");
        }
    }

    #[test]
    fn nights_are_quieter_than_evenings() {
        let day = LoadShape::DayAndNight.days(1, 3_600_000, 100.0, 1).unwrap();
        assert!(day.get(4) < Some(40.0) && day.get(20) > Some(80.0));
    }

    #[test]
    fn a_growing_load_ends_high_and_a_drop_ends_low() {
        let mean = |series: &TimeSeries, points: std::ops::Range<usize>| {
            let count = points.len() as f64;
            points.filter_map(|point| series.get(point)).sum::<f64>() / count
        };
        let growing = LoadShape::Growing.days(2, 3_600_000, 100.0, 1).unwrap();
        assert!(mean(&growing, 0..6) < 25.0 && mean(&growing, 42..48) > 85.0);
        let drop = LoadShape::Drop.days(2, 3_600_000, 100.0, 1).unwrap();
        assert!(mean(&drop, 18..24) > 80.0 && mean(&drop, 24..30) < 30.0);
    }

    #[test]
    fn senseless_arguments_are_refused() {
        for shape in SHAPES {
            assert!(shape.days(0, 1000, 1.0, 1).unwrap().is_empty());
            assert!(shape.days(1, 0, 1.0, 1).is_err());
            for peak in [f64::NAN, f64::INFINITY, -1.0] {
                assert!(shape.days(1, 1000, peak, 1).is_err());
            }
        }
    }
}
