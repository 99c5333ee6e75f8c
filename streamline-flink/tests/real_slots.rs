//! What a stock cluster makes of a schedule, against what the schedule's translation says that it makes of it.
#![allow(clippy::unwrap_used, reason = "tests")]

mod real;

use std::collections::{BTreeMap, BTreeSet};

use real::{client, program, start, until};
use streamline_core::{Cluster, Instance, JobStatus, Observation};
use streamline_flink::FlinkClient;
use streamline_flink::local::{LocalCluster, Version};
use streamline_sched::{Demand, FlinkPlan, LocalSearch, Request, Scheduler};

/// The slot-sharing group of each operator, numbered.
fn groups(seen: &Observation) -> Vec<u32> {
    let names: Vec<&str> = seen
        .graph
        .operators()
        .iter()
        .map(|operator| operator.slot_sharing_group.as_str())
        .collect();
    names
        .iter()
        .map(|name| names.iter().position(|other| other == name).unwrap() as u32)
        .collect()
}

fn plan(seen: &Observation, cluster: &Cluster) -> FlinkPlan {
    let groups = groups(seen);
    let demands: Vec<Demand> = seen
        .config
        .operators
        .iter()
        .enumerate()
        .flat_map(|(operator, config)| {
            let sharing_group = groups[operator];
            (0..config.parallelism).map(move |subtask| Demand {
                instance: Instance {
                    job: 0,
                    operator,
                    subtask,
                },
                cpu_cores: 0.1,
                memory_bytes: 0,
                network_bytes: 0,
                sharing_group,
                state_bytes: 0,
            })
        })
        .collect();
    let request = Request::new(&demands, cluster);
    let schedule = LocalSearch::default().schedule(&request).unwrap();
    assert!(schedule.is_complete());
    FlinkPlan::new(&request, &schedule, &[]).unwrap()
}

/// The TaskManagers of each slot, if there is a slot of each group for each subtask index.
fn slots(seen: &Observation) -> BTreeMap<(u32, usize), BTreeSet<&str>> {
    let mut slots = BTreeMap::<_, BTreeSet<&str>>::new();
    for (metrics, group) in seen.operators.iter().zip(groups(seen)) {
        for (subtask, place) in metrics.locations.iter().enumerate() {
            slots
                .entry((group, subtask))
                .or_default()
                .insert(place.as_deref().unwrap());
        }
    }
    slots
}

/// Slots that the cluster has and those that are free, by its own count.
fn slots_of(cluster: &LocalCluster) -> (u64, u64) {
    let mut answer = ureq::get(format!("{}/overview", cluster.url())).call().unwrap();
    let overview: serde_json::Value =
        serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
    let number = |key: &str| overview[key].as_u64().unwrap();
    (number("slots-total"), number("slots-available"))
}

fn sharing_and_spreading_are_as_the_plan_says(version: Version) {
    let cluster = start(version, |options| {
        options.with_setting("taskmanager.load-balance.mode", "SLOTS")
    });
    let client = client(&cluster, |options| options);
    let wide = [
        ("parallelism", "source=1,parse=3,count=2,sink=2"),
        ("groups", "count=late"),
    ];
    let job = client.submit(&program(&cluster, &wide), 1).unwrap();
    let seen = until(&client, &job, |seen| {
        let is_placed = |seen: &Observation| {
            let mut places = seen.operators.iter().flat_map(|operator| &operator.locations);
            seen.status == JobStatus::Running && places.all(Option::is_some)
        };
        seen.as_ref().is_ok_and(is_placed)
    })
    .unwrap();
    let plan = plan(&seen, &client.cluster().unwrap());
    let slots = slots(&seen);
    // Slot-sharing groups are honoured: they take as many slots as the plan says.
    for group in &plan.groups {
        let taken = slots.keys().filter(|(of, _)| *of == group.group).count();
        assert_eq!(taken, group.slots as usize, "{group:?}");
    }
    let (all, free) = slots_of(&cluster);
    assert_eq!(all - free, slots.len() as u64);
    // Placement is ignored: whatever the schedule tears apart, subtasks of one index share a slot.
    assert!(slots.values().all(|places| places.len() == 1), "{slots:?}");
    // Spreading is conditional, and the condition is met: the five slots are on two TaskManagers as evenly as they can be.
    let mut counts = BTreeMap::<&str, usize>::new();
    for place in slots.values().flatten() {
        *counts.entry(place).or_default() += 1;
    }
    let mut counts: Vec<usize> = counts.into_values().collect();
    counts.sort_unstable();
    assert_eq!(counts, [2, 3]);
    client.cancel(&job).unwrap();
}

#[test]
fn sharing_and_spreading_are_as_the_plan_says_on_2_3() {
    sharing_and_spreading_are_as_the_plan_says(Version::V2_3);
}

#[test]
fn sharing_and_spreading_are_as_the_plan_says_on_1_20() {
    sharing_and_spreading_are_as_the_plan_says(Version::V1_20);
}
