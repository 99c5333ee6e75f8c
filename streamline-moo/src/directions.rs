//! Reference directions: points spread evenly over the simplex.

use crate::{Error, Rows};

/// Reference directions for [`Nsga3`](crate::Nsga3): rows of non-negative numbers that sum to one.
///
/// ```
/// use streamline_moo::Directions;
///
/// let directions = Directions::das_dennis(3, 12);
/// assert_eq!(directions.len(), 91);
/// assert_eq!(Directions::two_layers(8, 3, 2).len(), 156);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Directions {
    data: Vec<f64>,
    objectives: usize,
}

impl Directions {
    /// All points whose coordinates are multiples of one over `partitions`: `C(partitions + objectives − 1, partitions)` of
    /// them (I. Das, J. E. Dennis: *Normal-boundary intersection*, SIAM Journal on Optimization 8(3), 1998).
    #[must_use]
    pub fn das_dennis(objectives: usize, partitions: usize) -> Self {
        let mut data = Vec::new();
        if objectives > 0 {
            let mut parts = vec![0; objectives];
            spread(&mut parts, 0, partitions, partitions.max(1) as f64, &mut data);
        }
        Self { data, objectives }
    }

    /// An outer layer as [`Directions::das_dennis`], and an inner one shrunk halfway to the centre: for many objectives,
    /// where one layer would lie on the border alone (K. Deb, H. Jain 2014).
    #[must_use]
    pub fn two_layers(objectives: usize, outer: usize, inner: usize) -> Self {
        let mut both = Self::das_dennis(objectives, outer);
        let shrunk = Self::das_dennis(objectives, inner).data;
        both.data.extend(
            shrunk
                .into_iter()
                .map(|value| (value + 1.0 / objectives as f64) / 2.0),
        );
        both
    }

    /// Directions of one's own, each row scaled to sum to one.
    ///
    /// # Errors
    /// [`Error::Option`] if there is no row, or a row has a negative or infinite number or is all zero.
    pub fn new<'a>(rows: impl Into<Rows<'a>>) -> Result<Self, Error> {
        let rows = rows.into();
        let wrong = |given| Error::Option {
            option: "directions",
            given,
            expected: "rows of numbers of at least 0, not all 0",
        };
        let mut data = Vec::with_capacity(rows.as_slice().len());
        for row in rows.iter() {
            let sum: f64 = row.iter().sum();
            if row.iter().any(|&v| v.is_nan() || v < 0.0) || sum <= 0.0 || !sum.is_finite() {
                return Err(wrong(sum));
            }
            data.extend(row.iter().map(|v| v / sum));
        }
        if data.is_empty() {
            return Err(wrong(0.0));
        }
        Ok(Self {
            data,
            objectives: rows.width(),
        })
    }

    /// The number of directions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows().len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The directions, one row each.
    #[must_use]
    pub fn rows(&self) -> Rows<'_> {
        Rows::new(&self.data, self.objectives)
    }
}

/// Writes all ways to share `left` among the parts from `j` on.
fn spread(parts: &mut [usize], j: usize, left: usize, total: f64, data: &mut Vec<f64>) {
    if j + 1 == parts.len() {
        parts[j] = left;
        data.extend(parts.iter().map(|&part| part as f64 / total));
        return;
    }
    for part in 0..=left {
        parts[j] = part;
        spread(parts, j + 1, left - part, total, data);
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    #[test]
    fn every_direction_sums_to_one() {
        for directions in [Directions::das_dennis(4, 5), Directions::two_layers(5, 3, 2)] {
            for row in directions.rows().iter() {
                assert_relative_eq!(row.iter().sum::<f64>(), 1.0, max_relative = 1e-12);
            }
        }
    }

    #[test]
    fn unusable_directions_are_refused() {
        assert!(Directions::new(&[[0.0, 0.0]]).is_err());
        assert!(Directions::new(&[[-1.0, 2.0]]).is_err());
        assert!(Directions::new(Rows::new(&[], 2)).is_err());
        assert_eq!(Directions::new(&[[2.0, 2.0]]).unwrap().rows().row(0), [0.5, 0.5]);
    }
}
