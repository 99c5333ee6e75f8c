//! Who gets what when there is too little for all.

use streamline_core::{Assignment, Cluster, Instance, Placement};
use streamline_sched::{
    BestFitDecreasing, Demand, FirstFitDecreasing, JobShare, LocalSearch, Reason, Request, Resource,
    Schedule, Scheduler, Spread,
};

fn demand(job: usize, operator: usize, subtask: u32) -> Demand {
    Demand {
        instance: Instance {
            job,
            operator,
            subtask,
        },
        cpu_cores: 1.0,
        memory_bytes: 0,
        network_bytes: 0,
        sharing_group: job as u32,
        state_bytes: 0,
    }
}

/// Three jobs of four instances each.
fn demands() -> Vec<Demand> {
    (0..3)
        .flat_map(|job| (0..2).flat_map(move |operator| (0..2).map(move |n| demand(job, operator, n))))
        .collect()
}

fn placed(schedule: &Schedule) -> Vec<usize> {
    schedule.jobs.iter().map(|job| job.placed).collect()
}

fn with_each(request: &Request<'_>, check: impl Fn(&Schedule)) {
    let schedulers: [&dyn Scheduler; 4] = [
        &FirstFitDecreasing,
        &BestFitDecreasing::default(),
        &Spread,
        &LocalSearch::default(),
    ];
    for scheduler in schedulers {
        check(&scheduler.schedule(request).expect("the request makes sense"));
    }
}

#[test]
fn floors_come_before_priorities_and_the_reasons_are_told() {
    let cluster = Cluster::uniform(2, 3.0, 1, 8).unwrap();
    let demands = demands();
    let shares = [
        JobShare::new(0).with_priority(-1).with_floor(2.0),
        JobShare::new(1).with_priority(10),
        JobShare::new(2).with_priority(5),
    ];
    with_each(
        &Request::new(&demands, &cluster).with_shares(&shares),
        |schedule| {
            assert_eq!(placed(schedule), [2, 4, 0]);
            assert_eq!(schedule.jobs[0].reason, Some(Reason::GaveWay { to: vec![1] }));
            assert_eq!(schedule.jobs[1].reason, None);
            assert_eq!(schedule.jobs[2].reason, Some(Reason::GaveWay { to: vec![0, 1] }));
            // What lies within the floor is one instance of each operator.
            for operator in 0..2 {
                assert!(
                    schedule
                        .placement
                        .task_manager(demand(0, operator, 0).instance)
                        .is_some()
                );
            }
        },
    );
}

#[test]
fn a_cap_holds_even_if_there_is_room() {
    let cluster = Cluster::uniform(4, 4.0, 1, 8).unwrap();
    let demands = demands();
    let shares = [JobShare::new(1).with_cap(3.0)];
    with_each(
        &Request::new(&demands, &cluster).with_shares(&shares),
        |schedule| {
            assert_eq!(placed(schedule), [4, 3, 4]);
            assert_eq!(schedule.jobs[1].reason, Some(Reason::Cap));
            assert_eq!(schedule.unplaced[0].lacking, Resource::Cap);
        },
    );
}

#[test]
fn what_runs_gives_way_to_higher_priority_only_as_far_as_needed() {
    let cluster = Cluster::uniform(1, 6.0, 1, 12).unwrap();
    let demands = demands();
    let running: Vec<Assignment> = demands
        .iter()
        .filter(|demand| demand.instance.job != 2)
        .take(6)
        .map(|demand| Assignment {
            instance: demand.instance,
            task_manager: 0,
        })
        .collect();
    let current = Placement::new(running).unwrap();
    let shares = [JobShare::new(2).with_priority(1)];
    with_each(
        &Request::new(&demands, &cluster)
            .with_current(&current)
            .with_shares(&shares),
        |schedule| {
            assert_eq!(schedule.jobs[2].placed, 4);
            assert_eq!(schedule.jobs[0].placed + schedule.jobs[1].placed, 2);
        },
    );
}

#[test]
fn without_anybody_served_earlier_the_reason_is_the_resource() {
    let cluster = Cluster::uniform(1, 2.0, 1, 8).unwrap();
    let demands = [demand(0, 0, 0), demand(0, 0, 1), demand(0, 0, 2)];
    with_each(&Request::new(&demands, &cluster), |schedule| {
        assert_eq!(
            schedule.jobs[0].reason,
            Some(Reason::NoRoom {
                lacking: Resource::Cpu
            })
        );
    });
}
