//! A revised simplex method for the small linear programs of column generation.

/// A column of the program: its cost and its entries that are not zero.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) cost: f64,
    pub(crate) entries: Vec<(usize, f64)>,
}

/// The optimum of min c·x with A·x ≥ b on the first rows and A·x ≤ b on the rest, x ≥ 0.
#[derive(Debug, Clone)]
pub(crate) struct Optimum {
    /// The columns that are not zero, by index, with their values.
    pub(crate) values: Vec<(usize, f64)>,
    /// The price of one more unit of each row.
    pub(crate) duals: Vec<f64>,
    pub(crate) cost: f64,
}

const EPSILON: f64 = 1e-9;
/// After so many steps the rule of Bland takes over, which cannot cycle.
const STEPS_BEFORE_BLAND: usize = 2_000;
const MOST_STEPS: usize = 20_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Basic {
    Column(usize),
    Slack(usize),
    /// Stands for what no column covers yet, at a prohibitive cost.
    Missing(usize),
}

/// Solves the program; `None` if it takes too many steps.
///
/// `right` must not be negative. What the columns cannot cover is covered at the cost `prohibitive` a unit.
pub(crate) fn solve(columns: &[Column], covered: usize, right: &[f64], prohibitive: f64) -> Option<Optimum> {
    let rows = right.len();
    let mut inverse = vec![vec![0.0; rows]; rows];
    for row in 0..rows {
        inverse[row][row] = 1.0;
    }
    let mut basis: Vec<Basic> = (0..rows)
        .map(|row| {
            if row < covered {
                Basic::Missing(row)
            } else {
                Basic::Slack(row)
            }
        })
        .collect();
    let mut values = right.to_vec();
    let cost_of = |basic: Basic| match basic {
        Basic::Column(column) => columns[column].cost,
        Basic::Slack(_) => 0.0,
        Basic::Missing(_) => prohibitive,
    };
    let scale = columns.iter().map(|column| column.cost.abs()).fold(1.0, f64::max);
    for step in 0..MOST_STEPS {
        let duals: Vec<f64> = (0..rows)
            .map(|col| (0..rows).map(|row| cost_of(basis[row]) * inverse[row][col]).sum())
            .collect();
        let mut entering: Option<(f64, Basic)> = None;
        let mut consider = |reduced: f64, basic: Basic| {
            if reduced < -EPSILON * scale
                && entering.is_none_or(|(least, _)| step < STEPS_BEFORE_BLAND && reduced < least)
            {
                entering = Some((reduced, basic));
            }
        };
        for (index, column) in columns.iter().enumerate() {
            let priced: f64 = column
                .entries
                .iter()
                .map(|&(row, entry)| duals[row] * entry)
                .sum();
            consider(column.cost - priced, Basic::Column(index));
        }
        for row in 0..rows {
            // A surplus has −1 in its row, a slack 1.
            consider(
                if row < covered { duals[row] } else { -duals[row] },
                Basic::Slack(row),
            );
        }
        let Some((_, entering)) = entering else {
            let cost = (0..rows).map(|row| cost_of(basis[row]) * values[row]).sum();
            let values = basis
                .iter()
                .zip(&values)
                .filter_map(|(basic, &value)| match *basic {
                    Basic::Column(column) if value > EPSILON => Some((column, value)),
                    _ => None,
                });
            return Some(Optimum {
                values: values.collect(),
                duals,
                cost,
            });
        };
        let direction: Vec<f64> = (0..rows)
            .map(|row| match entering {
                Basic::Column(column) => columns[column]
                    .entries
                    .iter()
                    .map(|&(entry_row, entry)| inverse[row][entry_row] * entry)
                    .sum(),
                Basic::Slack(slack) if slack < covered => -inverse[row][slack],
                Basic::Slack(other) | Basic::Missing(other) => inverse[row][other],
            })
            .collect();
        let mut leaving: Option<(f64, usize)> = None;
        for row in 0..rows {
            if direction[row] > EPSILON {
                let ratio = values[row] / direction[row];
                let better = leaving.is_none_or(|(least, other)| {
                    ratio < least - EPSILON || (ratio <= least + EPSILON && direction[row] > direction[other])
                });
                if better {
                    leaving = Some((ratio, row));
                }
            }
        }
        let (ratio, pivot) = leaving?;
        for row in 0..rows {
            if row != pivot {
                values[row] = (values[row] - ratio * direction[row]).max(0.0);
            }
        }
        values[pivot] = ratio.max(0.0);
        basis[pivot] = entering;
        let factor = 1.0 / direction[pivot];
        for col in 0..rows {
            inverse[pivot][col] *= factor;
        }
        let pivot_row = inverse[pivot].clone();
        for row in 0..rows {
            if row != pivot && direction[row].abs() > 1e-14 {
                for col in 0..rows {
                    inverse[row][col] -= direction[row] * pivot_row[col];
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_covering_program_has_the_known_optimum() {
        // Cover 3 and 5; columns (1,0) for 2, (0,1) for 3, (1,1) for 4, of which at most 2.
        let column = |cost: f64, entries: &[(usize, f64)]| Column {
            cost,
            entries: entries.to_vec(),
        };
        let columns = [
            column(2.0, &[(0, 1.0)]),
            column(3.0, &[(1, 1.0)]),
            column(4.0, &[(0, 1.0), (1, 1.0), (2, 1.0)]),
        ];
        let optimum = solve(&columns, 2, &[3.0, 5.0, 2.0], 1e6).unwrap();
        approx::assert_relative_eq!(optimum.cost, 2.0 + 3.0 * 3.0 + 2.0 * 4.0, max_relative = 1e-9);
        approx::assert_relative_eq!(optimum.duals[2], -1.0, max_relative = 1e-9);
    }
}
