//! Queries and samples for tests.

use proptest::prelude::*;
use streamline_core::OperatorKind;

use crate::Query;

/// An ordinary query.
pub(crate) fn query() -> Query {
    Query {
        kind: OperatorKind::Map,
        unit_rate: 10_000.0,
        parallelism: 4,
        segment_bytes: 32 << 10,
        buffer_timeout_ms: 100,
        input_rate: 20_000.0,
        selectivity: 1.0,
        record_bytes: 100.0,
        colocation_load: 0.5,
    }
}

/// Any query that passes its check.
pub(crate) fn any_query() -> impl Strategy<Value = Query> {
    let magnitude = |from: f64, to: f64| (from.log10()..to.log10()).prop_map(|exponent| 10f64.powf(exponent));
    let or_zero = move |to: f64| prop_oneof![1 => Just(0.0), 9 => magnitude(1e-6, to)];
    (
        (0..OperatorKind::ALL.len()).prop_map(|index| OperatorKind::ALL[index]),
        magnitude(1e-5, 1e11),
        prop_oneof![1u32..=64, 1u32..=32_768],
        1u32..=u32::MAX,
        prop_oneof![0u32..=1000, 0u32..=u32::MAX],
        or_zero(1e11),
        or_zero(1e5),
        magnitude(1e-5, 1e11),
        or_zero(1e5),
    )
        .prop_map(
            |(
                kind,
                unit_rate,
                parallelism,
                segment_bytes,
                buffer_timeout_ms,
                input_rate,
                selectivity,
                record_bytes,
                colocation_load,
            )| Query {
                kind,
                unit_rate,
                parallelism,
                segment_bytes,
                buffer_timeout_ms,
                input_rate,
                selectivity,
                record_bytes,
                colocation_load,
            },
        )
}
