//! What holds for every scheduler.

use proptest::prelude::*;
use streamline_core::{Cluster, Instance, Placement, TaskManager};
use streamline_sched::{
    BestFitDecreasing, Demand, FirstFitDecreasing, FitRule, LocalSearch, Request, Resource, Schedule,
    ScheduleError, Scheduler, Spread,
};

fn schedulers() -> Vec<Box<dyn Scheduler>> {
    vec![
        Box::new(FirstFitDecreasing),
        Box::new(BestFitDecreasing::new(FitRule::Norm)),
        Box::new(BestFitDecreasing::new(FitRule::DotProduct)),
        Box::new(Spread),
        Box::new(LocalSearch::default().with_steps(20_000)),
    ]
}

fn demand(operator: usize, subtask: u32, cpu_cores: f64) -> Demand {
    Demand {
        instance: Instance {
            job: 0,
            operator,
            subtask,
        },
        cpu_cores,
        memory_bytes: 256 << 20,
        network_bytes: 1 << 20,
        sharing_group: 0,
        state_bytes: 0,
    }
}

/// Four operators with their published cores in total.
fn published() -> Vec<Demand> {
    let mut demands = Vec::new();
    for (operator, (instances, cores)) in [(3, 1.7213), (3, 1.3095), (2, 1.0710), (2, 1.6019)]
        .into_iter()
        .enumerate()
    {
        demands.extend((0..instances).map(|n| demand(operator, n, cores / f64::from(instances))));
    }
    demands
}

#[test]
fn the_published_example_is_packed_in_decreasing_cpu_on_one_task_manager() {
    // Exactly as many cores as the ten instances need.
    let cluster = Cluster::new(vec![
        TaskManager::new("tm-1", 5.7037, 8 << 30, 4),
        TaskManager::new("tm-2", 5.7037, 8 << 30, 4),
    ])
    .unwrap();
    let demands = published();
    for scheduler in [
        &FirstFitDecreasing as &dyn Scheduler,
        &BestFitDecreasing::default(),
    ] {
        let schedule = scheduler.schedule(&Request::new(&demands, &cluster)).unwrap();
        assert!(schedule.is_complete());
        assert_eq!(schedule.task_managers_used(), 1);
        approx::assert_relative_eq!(schedule.usage[0].cpu_cores, 5.7037, max_relative = 1e-12);
        assert_eq!(schedule.usage[0].slots, 3);
        assert_eq!(
            schedule
                .text(&cluster, |instance| format!("v_{}", instance.operator))
                .to_string(),
            "tm-1: cpu 5.7037 of 5.7037, memory 2560 of 8192 MiB, network 10 of 64 MiB, slots 3 of 4: \
             v_3 v_3 v_0 v_0 v_0 v_2 v_2 v_1 v_1 v_1\n",
        );
    }
}

#[test]
fn without_a_slot_nothing_can_be_placed() {
    let cluster = Cluster::uniform(2, 4.0, 1 << 30, 0).unwrap();
    for scheduler in schedulers() {
        assert_eq!(
            scheduler.schedule(&Request::new(&published(), &cluster)),
            Err(ScheduleError::NoSlots {
                instances: 10,
                task_managers: 2
            })
        );
        assert!(
            scheduler
                .schedule(&Request::new(&[], &cluster))
                .unwrap()
                .is_complete()
        );
    }
}

#[test]
fn senseless_requests_are_refused_with_their_place() {
    let cluster = Cluster::uniform(1, 4.0, 1 << 30, 1).unwrap();
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        let demands = [demand(0, 0, 1.0), demand(0, 1, bad)];
        let error = FirstFitDecreasing
            .schedule(&Request::new(&demands, &cluster))
            .unwrap_err();
        assert!(matches!(error, ScheduleError::InvalidDemand { index: 1, .. }));
    }
    let twins = [demand(0, 0, 1.0), demand(0, 0, 1.0)];
    let error = FirstFitDecreasing
        .schedule(&Request::new(&twins, &cluster))
        .unwrap_err();
    assert!(matches!(error, ScheduleError::Instances(_)));
    for bad in [f64::NAN, 1.0, -0.1] {
        let request = Request::new(&[], &cluster).with_headroom(bad);
        assert!(matches!(
            FirstFitDecreasing.schedule(&request),
            Err(ScheduleError::InvalidOption { name: "headroom", .. })
        ));
    }
    let elsewhere = Placement::try_from(vec![streamline_core::Assignment {
        instance: twins[0].instance,
        task_manager: 7,
    }])
    .unwrap();
    assert_eq!(
        FirstFitDecreasing.schedule(&Request::new(&twins[..1], &cluster).with_current(&elsewhere)),
        Err(ScheduleError::UnknownTaskManager {
            task_manager: 7,
            task_managers: 1
        })
    );
}

#[test]
fn what_is_missing_is_said_exactly() {
    let cluster = Cluster::uniform(2, 2.0, 1 << 30, 2).unwrap();
    let mut hungry = demand(1, 0, 0.1);
    hungry.memory_bytes = 2 << 30;
    let demands = [demand(0, 0, 3.0), demand(0, 1, 2.5), hungry];
    for scheduler in schedulers() {
        let schedule = scheduler.schedule(&Request::new(&demands, &cluster)).unwrap();
        let lacking: Vec<Resource> = schedule
            .unplaced
            .iter()
            .map(|unplaced| unplaced.lacking)
            .collect();
        assert_eq!(lacking, [Resource::Cpu, Resource::Cpu, Resource::Memory]);
        approx::assert_relative_eq!(schedule.missing.cpu_cores, 5.6);
        assert_eq!(schedule.missing.memory_bytes, (2 << 30) + (512 << 20));
        assert_eq!(schedule.missing.slots, 2);
    }
    // Two instances of one operator never share a slot.
    let cluster = Cluster::uniform(1, 4.0, 1 << 30, 1).unwrap();
    let demands = [demand(0, 0, 0.1), demand(0, 1, 0.1), demand(1, 0, 0.1)];
    let schedule = FirstFitDecreasing
        .schedule(&Request::new(&demands, &cluster))
        .unwrap();
    assert_eq!(schedule.placement.assignments().len(), 2);
    assert_eq!(schedule.unplaced[0].lacking, Resource::Slots);
}

#[test]
fn headroom_stays_free() {
    let cluster = Cluster::uniform(2, 4.0, 8 << 30, 4).unwrap();
    let demands = [demand(0, 0, 1.6), demand(0, 1, 1.6)];
    let schedule = FirstFitDecreasing
        .schedule(&Request::new(&demands, &cluster).with_headroom(0.2))
        .unwrap();
    assert_eq!(schedule.task_managers_used(), 1);
    let schedule = FirstFitDecreasing
        .schedule(&Request::new(&demands, &cluster).with_headroom(0.25))
        .unwrap();
    assert_eq!(schedule.task_managers_used(), 2);
}

#[test]
fn what_runs_stays_where_it_is() {
    let cluster = Cluster::uniform(3, 4.0, 8 << 30, 4).unwrap();
    let before = published();
    let mut placements = vec![
        Spread
            .schedule(&Request::new(&before, &cluster))
            .unwrap()
            .placement,
    ];
    placements.push(
        FirstFitDecreasing
            .schedule(&Request::new(&before, &cluster))
            .unwrap()
            .placement,
    );
    let mut after = before.clone();
    after.push(demand(0, 3, 0.5));
    for placement in &placements {
        for scheduler in schedulers() {
            let schedule = scheduler
                .schedule(&Request::new(&after, &cluster).with_current(placement))
                .unwrap();
            assert!(schedule.is_complete());
            assert_eq!(schedule.moved, 0, "{}", scheduler.name());
        }
    }
}

fn check(
    demands: &[Demand],
    cluster: &Cluster,
    headroom: f64,
    schedule: &Schedule,
) -> Result<(), TestCaseError> {
    let placed = schedule.placement.assignments().len();
    prop_assert_eq!(placed + schedule.unplaced.len(), demands.len());
    for demand in demands {
        let unplaced = schedule
            .unplaced
            .iter()
            .any(|unplaced| unplaced.instance == demand.instance);
        prop_assert_ne!(
            schedule.placement.task_manager(demand.instance).is_some(),
            unplaced
        );
    }
    for (index, manager) in cluster.task_managers().iter().enumerate() {
        let on: Vec<&Demand> = demands
            .iter()
            .filter(|demand| schedule.placement.task_manager(demand.instance) == Some(index))
            .collect();
        let usable = 1.0 - headroom;
        prop_assert!(on.iter().map(|d| d.cpu_cores).sum::<f64>() <= manager.cpu_cores * usable + 2e-6);
        let memory: u64 = on.iter().map(|d| d.memory_bytes).sum();
        prop_assert!(memory as f64 <= manager.memory_bytes as f64 * usable);
        prop_assert!(
            on.iter().map(|d| d.network_bytes).sum::<u64>() as f64 <= manager.network_bytes as f64 * usable
        );
        let mut slots = 0;
        for group in 0..3 {
            let of = |operator| {
                on.iter()
                    .filter(|d| d.sharing_group == group && d.instance.operator == operator)
                    .count()
            };
            slots += (0..4).map(of).max().unwrap_or(0);
        }
        prop_assert!(slots <= manager.slots as usize);
        prop_assert_eq!(schedule.usage[index].slots as usize, slots);
        prop_assert_eq!(schedule.usage[index].memory_bytes, memory);
    }
    Ok(())
}

prop_compose! {
    fn demands()(
        list in proptest::collection::vec((0..4usize, 0.0..3.0f64, 0..2u64 << 30, 0..40u64 << 20), 0..30)
    ) -> Vec<Demand> {
        list.into_iter()
            .enumerate()
            .map(|(index, (operator, cpu_cores, memory_bytes, network_bytes))| Demand {
                memory_bytes,
                network_bytes,
                sharing_group: operator as u32 / 2,
                ..demand(operator, index as u32, cpu_cores)
            })
            .collect()
    }
}

prop_compose! {
    fn cluster()(list in proptest::collection::vec((0.0..6.0f64, 0..4u64 << 30, 0..4u32), 1..6)) -> Cluster {
        let managers = list.into_iter().enumerate();
        let managers = managers.map(|(n, (cores, memory, slots))| TaskManager::new(format!("tm-{n}"), cores, memory, slots + 1));
        Cluster::new(managers.collect()).expect("ids are unique and cores finite")
    }
}

proptest! {
    #[test]
    fn no_task_manager_is_overfilled_and_no_instance_is_lost(
        demands in demands(), cluster in cluster(), headroom in prop_oneof![Just(0.0), 0.0..0.5f64],
    ) {
        for scheduler in schedulers() {
            let schedule = scheduler.schedule(&Request::new(&demands, &cluster).with_headroom(headroom)).unwrap();
            check(&demands, &cluster, headroom, &schedule)?;
            // Again, with everything where the others put it and half of the room gone.
            let squeezed = Request::new(&demands, &cluster).with_headroom(0.5).with_current(&schedule.placement);
            check(&demands, &cluster, 0.5, &scheduler.schedule(&squeezed).unwrap())?;
        }
    }

    #[test]
    fn the_order_of_the_demands_does_not_matter(demands in demands(), cluster in cluster(), turn in 0..30usize) {
        let mut turned = demands.clone();
        turned.reverse();
        turned.rotate_left(turn % demands.len().max(1));
        for scheduler in schedulers() {
            let schedule = scheduler.schedule(&Request::new(&demands, &cluster)).unwrap();
            prop_assert_eq!(scheduler.schedule(&Request::new(&turned, &cluster)).unwrap(), schedule);
        }
    }

    #[test]
    fn what_fits_where_it_runs_does_not_move(demands in demands(), cluster in cluster()) {
        for first in schedulers() {
            let before = first.schedule(&Request::new(&demands, &cluster)).unwrap();
            for second in schedulers() {
                let after = second.schedule(&Request::new(&demands, &cluster).with_current(&before.placement)).unwrap();
                // Only to make room for more.
                prop_assert!(after.moved == 0 || after.unplaced.len() < before.unplaced.len());
            }
        }
    }
}
