//! A borrowed table of numbers: one row per individual or point.

/// A table of numbers in row-major order: genomes (one gene per column) or points (one objective per column).
///
/// Costs nothing to copy. Converts from a slice of arrays, or is made from a flat slice and a width.
///
/// ```
/// use streamline_moo::Rows;
///
/// let rows = Rows::new(&[0.0, 2.0, 1.0, 1.0], 2);
/// assert_eq!(rows.len(), 2);
/// assert_eq!(rows.row(1), [1.0, 1.0]);
/// assert_eq!(Rows::from(&[[0.0, 2.0], [1.0, 1.0]]), rows);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rows<'a> {
    data: &'a [f64],
    width: usize,
    len: usize,
}

impl<'a> Rows<'a> {
    /// The rows of `data`, each of `width` numbers. What is left over after the last whole row is ignored.
    #[must_use]
    pub fn new(data: &'a [f64], width: usize) -> Self {
        let len = data.len().checked_div(width).unwrap_or(0);
        Self::with_len(data, width, len)
    }

    /// As [`Rows::new`], for rows that may be empty. Invariant: `data` holds at least `width * len` numbers.
    pub(crate) fn with_len(data: &'a [f64], width: usize, len: usize) -> Self {
        Self {
            data: &data[..width * len],
            width,
            len,
        }
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The numbers in each row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// All numbers, row after row.
    #[must_use]
    pub fn as_slice(&self) -> &'a [f64] {
        self.data
    }

    /// Row `index`, empty if there is none.
    #[must_use]
    #[inline]
    pub fn row(&self, index: usize) -> &'a [f64] {
        let start = index.saturating_mul(self.width);
        self.data
            .get(start..start.saturating_add(self.width))
            .unwrap_or(&[])
    }

    /// Goes over the rows.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [f64]> + Clone + use<'a> {
        let (data, width) = (self.data, self.width);
        (0..self.len).map(move |i| &data[i * width..(i + 1) * width])
    }
}

impl<'a, const W: usize> From<&'a [[f64; W]]> for Rows<'a> {
    fn from(rows: &'a [[f64; W]]) -> Self {
        Self::with_len(rows.as_flattened(), W, rows.len())
    }
}

impl<'a, const W: usize, const N: usize> From<&'a [[f64; W]; N]> for Rows<'a> {
    fn from(rows: &'a [[f64; W]; N]) -> Self {
        rows.as_slice().into()
    }
}

impl<'a, const W: usize> From<&'a Vec<[f64; W]>> for Rows<'a> {
    fn from(rows: &'a Vec<[f64; W]>) -> Self {
        rows.as_slice().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_does_not_exist_is_empty() {
        let rows = Rows::new(&[1.0, 2.0, 3.0], 2);
        assert_eq!(rows.len(), 1);
        assert!(rows.row(1).is_empty() && rows.row(usize::MAX).is_empty());
    }

    #[test]
    fn zero_width_means_no_rows_in_new() {
        assert!(Rows::new(&[1.0], 0).is_empty());
    }
}
