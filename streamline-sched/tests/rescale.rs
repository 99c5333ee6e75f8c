//! What moves when one job changes.

use streamline_core::{Instance, Placement};
use streamline_sched::{
    BestFitDecreasing, Demand, FirstFitDecreasing, IncrementalPlacement, LocalSearch, Objective, Request,
    Scheduler, Spread, Synthetic, Term,
};

/// A cluster on which about 100 jobs run.
fn running() -> (Synthetic, Placement) {
    let synthetic = Synthetic::new(8_900, 1_000, 11).expect("the input is valid");
    assert!(
        (95..=105).contains(&synthetic.jobs()),
        "{} jobs",
        synthetic.jobs()
    );
    let placement = LocalSearch::default()
        .with_steps(400_000)
        .schedule(&synthetic.request())
        .expect("the input is valid")
        .placement;
    (synthetic, placement)
}

/// The demands after every operator of a job got half as many instances again, at least one more.
fn rescaled(demands: &[Demand], job: usize) -> Vec<Demand> {
    let mut after = demands.to_vec();
    for demand in demands.iter().filter(|demand| demand.instance.job == job) {
        let Instance {
            operator, subtask, ..
        } = demand.instance;
        let twins = demands
            .iter()
            .filter(|d| d.instance.job == job && d.instance.operator == operator)
            .count() as u32;
        if subtask < twins.div_ceil(2) {
            let mut new = *demand;
            new.instance.subtask += twins;
            after.push(new);
        }
    }
    after
}

fn moved_of_others(before: &Placement, after: &Placement, job: usize) -> usize {
    let others = before
        .assignments()
        .iter()
        .filter(|assignment| assignment.instance.job != job);
    others
        .filter(|a| {
            after
                .task_manager(a.instance)
                .is_some_and(|manager| manager != a.task_manager)
        })
        .count()
}

#[test]
fn under_two_percent_of_the_others_move_when_one_of_a_hundred_jobs_rescales() {
    let (synthetic, before) = running();
    let demands = rescaled(&synthetic.demands, 40);
    let others = synthetic
        .demands
        .iter()
        .filter(|demand| demand.instance.job != 40)
        .count();
    // A price for moves that a TaskManager's price rarely outweighs.
    let weighed = Objective::lexicographic([
        vec![(Term::Unplaced, 1.0)],
        vec![(Term::Price, 1.0), (Term::MovedInstances, 0.3)],
        vec![(Term::Traffic, 1.0)],
    ])
    .unwrap();
    let standard = Objective::default();
    let schedulers: [&dyn Scheduler; 4] = [
        &FirstFitDecreasing,
        &BestFitDecreasing::default(),
        &Spread,
        &LocalSearch::default(),
    ];
    for scheduler in schedulers {
        for objective in [&standard, &weighed] {
            let request = Request::new(&demands, &synthetic.cluster)
                .with_traffic(&synthetic.traffic)
                .with_current(&before)
                .with_objective(objective);
            let schedule = scheduler.schedule(&request).unwrap();
            assert!(schedule.is_complete());
            let moved = moved_of_others(&before, &schedule.placement, 40);
            assert!(
                moved * 50 < others,
                "{} moves {moved} of {others}",
                scheduler.name()
            );
        }
    }
}

#[test]
fn an_update_of_one_job_touches_no_other() {
    let synthetic = Synthetic::new(2_000, 220, 5).unwrap();
    let mut placement = IncrementalPlacement::new(synthetic.cluster.clone(), 0.0).unwrap();
    for job in 0..synthetic.jobs() {
        let demands: Vec<Demand> = synthetic
            .demands
            .iter()
            .filter(|d| d.instance.job == job)
            .copied()
            .collect();
        assert!(placement.update_job(job, &demands).unwrap().unplaced.is_empty());
    }
    let before = placement.placement().unwrap();
    let demands: Vec<Demand> = rescaled(&synthetic.demands, 3)
        .into_iter()
        .filter(|demand| demand.instance.job == 3)
        .collect();
    let change = placement.update_job(3, &demands).unwrap();
    assert!(change.unplaced.is_empty() && !change.added.is_empty() && change.moved.is_empty());
    assert_eq!(before.moved_to(&placement.placement().unwrap()), 0);
}
