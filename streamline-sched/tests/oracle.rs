//! The exact search against all placements, and the other schedulers against the exact search.

use proptest::prelude::*;
use streamline_core::{Assignment, Cluster, Instance, Partitioning, Placement, TaskManager};
use streamline_sched::{
    BestFitDecreasing, BranchAndBound, Constraint, Demand, FirstFitDecreasing, LocalSearch, LowerBounds,
    Objective, Request, Schedule, Scheduler, StateAccess, Term, Traffic,
};

#[derive(Debug, Clone)]
struct Case {
    demands: Vec<Demand>,
    cluster: Cluster,
    traffic: Vec<Traffic>,
    access: Vec<StateAccess>,
    constraints: Vec<Constraint>,
    current: Placement,
    objective: Objective,
}

impl Case {
    fn request(&self) -> Request<'_> {
        Request::new(&self.demands, &self.cluster)
            .with_traffic(&self.traffic)
            .with_state_access(&self.access)
            .with_constraints(&self.constraints)
            .with_current(&self.current)
            .with_objective(&self.objective)
            .with_target(0.75)
    }
}

fn objective() -> impl Strategy<Value = Objective> {
    let weighted = [
        (Term::Price, 1.0),
        (Term::MovedInstances, 0.7),
        (Term::Traffic, 0.01),
        (Term::Crowding, 0.3),
    ];
    prop_oneof![
        Just(Objective::default()),
        Just(Objective::cheapest()),
        Just(Objective::least_contention()),
        Just(Objective::weighted(weighted).expect("the weights are valid")),
    ]
}

prop_compose! {
    fn case()(
        items in proptest::collection::vec((0..3usize, 1..40u32, 1..4u64, proptest::option::of(0..3usize)), 1..6),
        managers in proptest::collection::vec((10..60u32, 2..8u64, 1..4u32, 1..4u32), 3),
        rates in proptest::collection::vec(0..100u32, 2),
        at_most in proptest::option::of(1..3u32),
        apart in any::<bool>(),
        label in proptest::option::of(0..3usize),
        objective in objective(),
    ) -> Case {
        let mut demands = Vec::new();
        let mut current = Vec::new();
        for (index, &(operator, cpu, memory, place)) in items.iter().enumerate() {
            let instance = Instance { job: 0, operator, subtask: index as u32 };
            demands.push(Demand {
                instance,
                cpu_cores: f64::from(cpu) / 10.0,
                memory_bytes: memory,
                network_bytes: 0,
                sharing_group: u32::from(operator == 2),
                state_bytes: memory * 10,
            });
            if let Some(task_manager) = place {
                current.push(Assignment { instance, task_manager });
            }
        }
        let managers = managers.iter().enumerate().map(|(n, &(cpu, memory, slots, price))| {
            TaskManager::new(format!("tm-{n}"), f64::from(cpu) / 10.0, memory, slots).with_price(price.into())
                .with_label("index", n.to_string())
        });
        let mut constraints = Vec::new();
        constraints.extend(at_most.map(|instances| Constraint::AtMost { job: 0, operator: 0, instances }));
        if apart {
            constraints.push(Constraint::Apart { one: (0, 0), other: (0, 1) });
        }
        constraints.extend(label.map(|n| Constraint::Label {
            job: 0,
            operator: Some(1),
            key: "index".into(),
            value: n.to_string(),
        }));
        Case {
            demands,
            cluster: Cluster::new(managers.collect()).expect("ids are unique"),
            traffic: vec![
                Traffic::new(0, 0, 1, Partitioning::Hash, rates[0].into(), 1.0),
                Traffic::new(0, 1, 2, Partitioning::Forward, rates[1].into(), 1.0),
            ],
            access: vec![StateAccess { job: 0, operator: 1, bytes_per_second: 5.0 }],
            constraints,
            current: Placement::new(current).expect("instances are unique"),
            objective,
        }
    }
}

/// The levels of the objective.
fn levels(objective: &Objective, schedule: &Schedule) -> Vec<f64> {
    let measures = &schedule.measures;
    let value = |term: Term| match term {
        Term::Unplaced => measures.unplaced,
        Term::Price => measures.price,
        Term::Overload => measures.overload,
        Term::ForwardTraffic => measures.forward_traffic,
        Term::Traffic => measures.traffic,
        Term::MovedInstances => measures.moved_instances,
        Term::MovedState => measures.moved_state,
        Term::Crowding => measures.crowding,
        Term::Contention => measures.contention.largest(),
        other => panic!("no value for {other:?}"),
    };
    objective
        .levels()
        .iter()
        .map(|level| level.iter().map(|&(term, weight)| weight * value(term)).sum())
        .collect()
}

/// Whether the first level in which they differ by more than rounding is smaller in `one`.
fn is_less(one: &[f64], other: &[f64]) -> bool {
    let differing = one.iter().zip(other).find(|(a, b)| (*a - *b).abs() > 1e-6);
    differing.is_some_and(|(a, b)| a < b)
}

/// Tries every placement by telling a scheduler that everything runs there already.
fn best_of_all(case: &Case) -> Vec<f64> {
    let managers = case.cluster.task_managers().len();
    let keep = Objective::lexicographic([vec![(Term::MovedInstances, 1.0)]]).expect("the weight is valid");
    let mut best: Option<Vec<f64>> = None;
    for code in 0..(managers + 1).pow(case.demands.len() as u32) {
        let mut rest = code;
        let mut assignments = Vec::new();
        for demand in &case.demands {
            let place = rest % (managers + 1);
            rest /= managers + 1;
            if place < managers {
                assignments.push(Assignment {
                    instance: demand.instance,
                    task_manager: place,
                });
            }
        }
        let there = Placement::new(assignments).expect("instances are unique");
        let Some(schedule) = pinned(case, &there, &keep) else {
            continue;
        };
        let levels = levels(&case.objective, &schedule);
        if best.as_ref().is_none_or(|best| is_less(&levels, best)) {
            best = Some(levels);
        }
    }
    best.expect("placing nothing is always possible")
}

/// The schedule with exactly these instances there; `None` if that breaks a rule.
fn pinned(case: &Case, there: &Placement, keep: &Objective) -> Option<Schedule> {
    let demands: Vec<Demand> = case
        .demands
        .iter()
        .filter(|d| there.task_manager(d.instance).is_some())
        .copied()
        .collect();
    let request = Request::new(&demands, &case.cluster)
        .with_constraints(&case.constraints)
        .with_current(there)
        .with_objective(keep);
    let kept = FirstFitDecreasing.schedule(&request).ok()?;
    if &kept.placement != there {
        return None;
    }
    // Measures as seen from the case itself: no step is left to change anything.
    Some(streamline_sched::evaluate(&case.request(), there).expect("the placement is valid"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn branch_and_bound_finds_the_best_of_all_placements(case in case()) {
        let exact = BranchAndBound::default().schedule(&case.request()).unwrap();
        let (ours, best) = (levels(&case.objective, &exact), best_of_all(&case));
        prop_assert!(!is_less(&best, &ours) && !is_less(&ours, &best), "{:?} against {:?}", ours, best);
    }

    #[test]
    fn no_scheduler_beats_the_exact_search_and_local_search_beats_the_simple_rules(case in case()) {
        let request = case.request();
        let exact = levels(&case.objective, &BranchAndBound::default().schedule(&request).unwrap());
        let local = levels(&case.objective, &LocalSearch::default().with_steps(20_000).schedule(&request).unwrap());
        prop_assert!(!is_less(&local, &exact));
        for simple in [&FirstFitDecreasing as &dyn Scheduler, &BestFitDecreasing::default()] {
            let simple = levels(&case.objective, &simple.schedule(&request).unwrap());
            prop_assert!(!is_less(&simple, &exact) && !is_less(&simple, &local), "{:?} {:?}", simple, local);
        }
    }

    #[test]
    fn nothing_is_below_the_lower_bounds(mut case in case()) {
        case.constraints.clear();
        case.objective = Objective::cheapest();
        let exact = BranchAndBound::default().schedule(&case.request()).unwrap();
        if exact.is_complete() {
            let bounds = LowerBounds::of(&case.request()).unwrap();
            prop_assert!(bounds.task_managers <= exact.task_managers_used());
            prop_assert!(bounds.price <= exact.measures.price + 1e-9);
        }
    }

    #[test]
    fn first_fit_decreasing_stays_within_its_proven_ratio(sizes in proptest::collection::vec(1..=20u32, 1..9)) {
        let demands: Vec<Demand> = sizes
            .iter()
            .enumerate()
            .map(|(operator, &size)| Demand {
                instance: Instance { job: 0, operator, subtask: 0 },
                cpu_cores: f64::from(size),
                memory_bytes: 0,
                network_bytes: 0,
                sharing_group: 0,
                state_bytes: 0,
            })
            .collect();
        let cluster = Cluster::uniform(sizes.len(), 20.0, 1, 1).unwrap();
        let request = Request::new(&demands, &cluster);
        let best = BranchAndBound::default().schedule(&request).unwrap().task_managers_used();
        let first_fit = FirstFitDecreasing.schedule(&request).unwrap().task_managers_used();
        prop_assert!(9 * first_fit <= 11 * best + 6);
    }
}
