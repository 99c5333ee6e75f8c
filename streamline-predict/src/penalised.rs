//! Linear regressions with a ridge penalty, in closed form.

use nalgebra::{DMatrix, DefaultAllocator, Dim, Dyn, OMatrix, allocator::Allocator};

/// Penalties that are tried, as shares of the mean square of a feature.
pub(crate) const PENALTIES: [f64; 5] = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1];

/// The solution of `(XᵀX + λI) W = XᵀY` (Hoerl and Kennard 1970), a column for each target; none if it is not finite.
pub(crate) fn solve<C: Dim>(
    gram: &DMatrix<f64>,
    moment: &OMatrix<f64, Dyn, C>,
    penalty: f64,
) -> Option<OMatrix<f64, Dyn, C>>
where
    DefaultAllocator: Allocator<Dyn, C>,
{
    let mean = gram.diagonal().sum() / gram.nrows().max(1) as f64;
    let mut penalised = gram.clone();
    for index in 0..penalised.nrows() {
        penalised[(index, index)] += penalty * mean;
    }
    let weights = penalised.cholesky()?.solve(moment);
    weights.iter().all(|weight| weight.is_finite()).then_some(weights)
}
