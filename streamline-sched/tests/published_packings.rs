//! Published packing problems with several resources, prices and alternatives.
#![allow(clippy::print_stdout, reason = "the figures are part of what the test shows")]

use std::path::PathBuf;
use std::time::Instant;

use streamline_core::{Cluster, Instance};
use streamline_sched::{Demand, LocalSearch, Packing, PackingProblem, Request, Scheduler};

/// The text of a published instance, or `None` on a machine without it.
fn published(name: &str) -> Option<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/data/binpacking")
        .join(name);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        assert!(std::env::var_os("CI").is_none(), "{} is missing", path.display());
        println!("skipped: {} is missing", path.display());
    }
    text
}

#[track_caller]
fn check(problem: &PackingProblem) -> Packing {
    let begin = Instant::now();
    let packing = problem.solve();
    println!(
        "price {}, bound {}, {} bins, proven {} in {:.1?}",
        packing.price,
        packing.bound,
        packing.bins.len(),
        packing.proven,
        begin.elapsed()
    );
    let mut counts = vec![0; problem.pieces().len()];
    for bin in &packing.bins {
        let mut used = vec![0; problem.kinds()[bin.kind].capacity.len()];
        for &(piece, choice, count) in &bin.contents {
            counts[piece] += count;
            for (used, size) in used.iter_mut().zip(&problem.pieces()[piece].choices[choice]) {
                *used += size * u64::from(count);
            }
        }
        assert!(
            used.iter()
                .zip(&problem.kinds()[bin.kind].capacity)
                .all(|(used, capacity)| used <= capacity)
        );
    }
    let wanted: Vec<u32> = problem.pieces().iter().map(|piece| piece.count).collect();
    assert_eq!(counts, wanted);
    packing
}

#[test]
fn the_vector_examples_are_solved_to_proven_optimality() {
    for name in ["bpp.vbp", "instance.vbp"] {
        let Some(text) = published(name) else { return };
        assert!(check(&PackingProblem::from_vbp(&text).unwrap()).proven, "{name}");
    }
}

#[test]
fn the_priced_examples_are_solved_to_proven_optimality() {
    for name in ["instance.mvp", "vsbpp.mvp"] {
        let Some(text) = published(name) else { return };
        assert!(check(&PackingProblem::from_mvp(&text).unwrap()).proven, "{name}");
    }
}

#[test]
fn local_search_reaches_the_best_known_number_of_bins_on_the_uniform_instances() {
    let mut reached = 0;
    for file in ["binpack1.txt", "binpack2.txt", "binpack3.txt"] {
        let Some(text) = published(file) else { return };
        let mut words = text.split_whitespace();
        let mut next = || words.next().expect("the file is complete");
        let count: usize = next().parse().unwrap();
        for _ in 0..count {
            let name = next().to_owned();
            let [capacity, items, best] = [(); 3].map(|()| next().parse::<usize>().expect("a whole number"));
            let demand = |operator: usize, size: f64| Demand {
                instance: Instance {
                    job: 0,
                    operator,
                    subtask: 0,
                },
                cpu_cores: size,
                memory_bytes: 0,
                network_bytes: 0,
                sharing_group: 0,
                state_bytes: 0,
            };
            let demands: Vec<Demand> = (0..items)
                .map(|n| demand(n, next().parse().expect("a number")))
                .collect();
            let cluster = Cluster::uniform(items, capacity as f64, 1, 64).unwrap();
            let schedule = LocalSearch::default()
                .schedule(&Request::new(&demands, &cluster))
                .unwrap();
            assert!(schedule.is_complete());
            if schedule.task_managers_used() <= best {
                reached += 1;
            } else {
                println!("{name}: {} instead of {best}", schedule.task_managers_used());
            }
        }
    }
    println!("{reached} of 60");
    assert!(reached >= 58);
}
