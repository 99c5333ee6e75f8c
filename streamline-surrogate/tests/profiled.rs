//! What was profiled on real Flink can be read, and is what the profiled job does.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use streamline_core::OperatorKind;
use streamline_surrogate::{Sample, read_samples};

fn samples() -> Vec<Sample> {
    read_samples(include_bytes!("../data/flink_2_3.csv").as_slice()).unwrap()
}

#[test]
fn every_kind_of_operator_was_seen_at_several_widths() {
    let samples = samples();
    for kind in [OperatorKind::Other, OperatorKind::Aggregate] {
        let mut widths: Vec<u32> = (samples.iter())
            .filter(|sample| sample.query.kind == kind)
            .map(|sample| sample.query.parallelism)
            .collect();
        widths.sort_unstable();
        widths.dedup();
        assert!(widths.len() >= 3, "{kind:?}: {widths:?}");
    }
}

#[test]
fn selectivities_and_cpu_are_those_of_the_profiled_job() {
    // parse gives 1.25 records for one at 400 µs, count 0.5 at 250 µs.
    for sample in samples() {
        let (selectivity, cost) = match sample.query.kind {
            OperatorKind::Other => (1.25, 400e-6),
            OperatorKind::Aggregate => (0.5, 250e-6),
            _ => continue,
        };
        approx::assert_relative_eq!(sample.query.selectivity, selectivity, max_relative = 0.03);
        let measured = sample.measured;
        let cores = measured.throughput * cost;
        assert!(
            measured.cpu_cores > 0.6 * cores && measured.cpu_cores < 1.8 * cores + 0.1,
            "{sample:?}: {cores} cores expected"
        );
    }
}
