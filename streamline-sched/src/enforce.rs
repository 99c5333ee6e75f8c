use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use streamline_core::{Cluster, TaskManager};

use crate::packing::{BinKind, PackingProblem, Piece};
use crate::{Demand, FirstFitDecreasing, Request, Schedule, ScheduleError, Scheduler};

/// What of a schedule a stock Flink cluster can be told, what it will make of it, and which TaskManagers to add or let go.
///
/// # Examples
///
/// ```
/// use streamline_core::TaskManager;
/// use streamline_sched::{Aspect, Enforcement, FirstFitDecreasing, FlinkPlan, Scheduler, Synthetic};
///
/// // Far too few TaskManagers.
/// let synthetic = Synthetic::new(120, 2, 1)?;
/// let request = synthetic.request();
/// let schedule = FirstFitDecreasing.schedule(&request)?;
/// assert!(!schedule.is_complete());
/// let plan = FlinkPlan::new(&request, &schedule, &[TaskManager::new("large", 16.0, 64 << 30, 32)])?;
/// assert!(plan.add[0].count > 0);
/// let placement = plan.aspects.iter().find(|clause| clause.aspect == Aspect::Placement).expect("always there");
/// assert_eq!(placement.enforcement, Enforcement::Ignored);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FlinkPlan {
    /// The slot-sharing groups to set, by group number.
    pub groups: Vec<SlotSharingGroup>,
    /// What to add so that everything finds room, by size. Empty if everything does, and where [`FlinkPlan::short`] says
    /// that no offer helps.
    pub add: Vec<Addition>,
    /// How many instances fit on no offered TaskManager even alone.
    pub short: usize,
    /// TaskManagers that the schedule leaves empty and on which nothing runs now.
    pub release: Vec<usize>,
    /// TaskManagers that the schedule leaves empty but on which something runs now: take no new slots, release when empty.
    pub drain: Vec<usize>,
    /// What stock Flink honours.
    pub aspects: Vec<Clause>,
}

/// A slot-sharing group with the resources of one slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SlotSharingGroup {
    /// Its number in the demands.
    pub group: u32,
    /// Its operators: job and operator.
    pub operators: Vec<(usize, usize)>,
    /// Slots that it takes.
    pub slots: u32,
    /// What a slot has to hold: one instance, the most demanding, of each operator.
    pub profile: ResourceProfile,
    /// Slots of which the schedule puts all instances on one TaskManager. The rest it tears apart, which Flink never does:
    /// subtasks of one index share a slot.
    pub slots_together: u32,
}

/// The resources of one slot, for fine-grained resource management.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceProfile {
    /// CPU cores.
    pub cpu_cores: f64,
    /// Memory in bytes, network buffers not included.
    pub memory_bytes: u64,
    /// Memory for network buffers in bytes.
    pub network_bytes: u64,
}

/// So many TaskManagers of one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Addition {
    /// The offer; its id names the size.
    pub size: TaskManager,
    /// How many.
    pub count: u32,
}

/// Something that a schedule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Aspect {
    /// Which operators share slots.
    SlotSharing,
    /// How much of each resource a slot has.
    ResourceProfiles,
    /// How many TaskManagers there are.
    TaskManagerCount,
    /// TaskManagers of different sizes side by side.
    TaskManagerSizes,
    /// Which TaskManager runs an instance.
    Placement,
    /// Instances that stay where they are.
    Staying,
    /// Instances spread over TaskManagers.
    Spreading,
    /// Constraints between operators or on labels.
    Constraints,
}

/// What stock Flink makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Enforcement {
    /// It does as told.
    Honoured,
    /// It does, or does in part, under a condition.
    Conditional,
    /// It decides for itself.
    Ignored,
}

/// What stock Flink makes of one aspect, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Clause {
    /// The aspect.
    pub aspect: Aspect,
    /// What happens to it.
    pub enforcement: Enforcement,
    /// The setting or rule behind it.
    pub note: String,
}

impl FlinkPlan {
    /// Translates a schedule. `offers` are the sizes of TaskManagers that can be added.
    ///
    /// # Errors
    /// [`ScheduleError`] if the request makes no sense.
    pub fn new(
        request: &Request<'_>,
        schedule: &Schedule,
        offers: &[TaskManager],
    ) -> Result<Self, ScheduleError> {
        let groups = groups(request.demands, schedule);
        let (add, short) = additions(request, schedule, offers)?;
        let running: BTreeSet<usize> = request
            .current
            .map_or(&[][..], |current| current.assignments())
            .iter()
            .map(|assignment| assignment.task_manager)
            .collect();
        let empty = (0..schedule.usage.len()).filter(|&manager| schedule.usage[manager].slots == 0);
        let (drain, release) = empty.partition(|manager| running.contains(manager));
        Ok(Self {
            aspects: clauses(request, schedule, &groups),
            groups,
            add,
            short,
            release,
            drain,
        })
    }
}

fn groups(demands: &[Demand], schedule: &Schedule) -> Vec<SlotSharingGroup> {
    let mut by_group = BTreeMap::<u32, BTreeMap<(usize, usize), Vec<&Demand>>>::new();
    for demand in demands {
        let operators = by_group.entry(demand.sharing_group).or_default();
        operators
            .entry((demand.instance.job, demand.instance.operator))
            .or_default()
            .push(demand);
    }
    let translate = |(group, operators): (u32, BTreeMap<(usize, usize), Vec<&Demand>>)| {
        let mut profile = ResourceProfile::default();
        let mut slots = BTreeMap::<u32, BTreeSet<Option<usize>>>::new();
        for instances in operators.values() {
            profile.cpu_cores += instances
                .iter()
                .map(|demand| demand.cpu_cores)
                .fold(0.0, f64::max);
            let memory = instances
                .iter()
                .map(|demand| demand.memory_bytes)
                .max()
                .unwrap_or(0);
            profile.memory_bytes = profile.memory_bytes.saturating_add(memory);
            let network = instances
                .iter()
                .map(|demand| demand.network_bytes)
                .max()
                .unwrap_or(0);
            profile.network_bytes = profile.network_bytes.saturating_add(network);
            for demand in instances {
                let place = schedule.placement.task_manager(demand.instance);
                slots.entry(demand.instance.subtask).or_default().insert(place);
            }
        }
        let together = slots
            .values()
            .filter(|places| places.len() == 1 && !places.contains(&None))
            .count();
        SlotSharingGroup {
            group,
            slots: operators
                .values()
                .map(|instances| instances.len() as u32)
                .max()
                .unwrap_or(0),
            operators: operators.into_keys().collect(),
            profile,
            slots_together: together as u32,
        }
    };
    by_group.into_iter().map(translate).collect()
}

/// The most different demands and instances that are sized exactly.
const EXACT: (usize, usize) = (30, 300);

/// What to add for the instances without room, and how many of them no offer can hold.
fn additions(
    request: &Request<'_>,
    schedule: &Schedule,
    offers: &[TaskManager],
) -> Result<(Vec<Addition>, usize), ScheduleError> {
    let unplaced: BTreeSet<_> = schedule
        .unplaced
        .iter()
        .filter(|unplaced| unplaced.lacking != crate::Resource::Cap)
        .map(|unplaced| unplaced.instance)
        .collect();
    let usable = 1.0 - request.headroom;
    let holds = |offer: &TaskManager, demand: &Demand| {
        offer.slots > 0
            && demand.cpu_cores <= offer.cpu_cores * usable
            && demand.memory_bytes as f64 <= offer.memory_bytes as f64 * usable
            && demand.network_bytes as f64 <= offer.network_bytes as f64 * usable
    };
    let missing: Vec<Demand> = request
        .demands
        .iter()
        .filter(|demand| unplaced.contains(&demand.instance))
        .copied()
        .collect();
    let (possible, impossible): (Vec<Demand>, Vec<Demand>) = missing
        .into_iter()
        .partition(|demand| offers.iter().any(|offer| holds(offer, demand)));
    if possible.is_empty() {
        return Ok((Vec::new(), impossible.len()));
    }
    let mut best: Option<(f64, Vec<u32>)> = None;
    let mut candidates: Vec<Vec<u32>> = Vec::new();
    for (index, offer) in offers.iter().enumerate() {
        if possible.iter().all(|demand| holds(offer, demand)) {
            let mut counts = vec![0; offers.len()];
            counts[index] = 1;
            candidates.push(counts);
        }
    }
    candidates.extend(exact_mix(&possible, offers, usable));
    // The largest of every offer that something needs, in case no single one holds all.
    candidates.push(
        offers
            .iter()
            .map(|offer| u32::from(possible.iter().any(|demand| holds(offer, demand))))
            .collect(),
    );
    for counts in candidates {
        if let Some(enough) = grow(request, &possible, offers, counts)? {
            let price: f64 = offers
                .iter()
                .zip(&enough)
                .map(|(offer, &count)| offer.price * f64::from(count))
                .sum();
            if best.as_ref().is_none_or(|(least, _)| price < *least) {
                best = Some((price, enough));
            }
        }
    }
    let counts = best.map(|(_, counts)| counts).unwrap_or_default();
    let add = offers.iter().zip(counts).filter(|&(_, count)| count > 0);
    let add = add.map(|(size, count)| Addition {
        size: size.clone(),
        count,
    });
    Ok((add.collect(), impossible.len()))
}

/// The cheapest mix by resources alone; `None` if the instances are too many or too different for that.
fn exact_mix(demands: &[Demand], offers: &[TaskManager], usable: f64) -> Option<Vec<u32>> {
    let size = |demand: &Demand| {
        vec![
            crate::model::units(demand.cpu_cores) / 1_000_000 + 1,
            demand.memory_bytes.div_ceil(1 << 20),
            demand.network_bytes.div_ceil(1 << 20),
        ]
    };
    let mut counts = BTreeMap::<Vec<u64>, u32>::new();
    for demand in demands {
        *counts.entry(size(demand)).or_default() += 1;
    }
    if counts.len() > EXACT.0 || demands.len() > EXACT.1 {
        return None;
    }
    let kinds = offers.iter().map(|offer| BinKind {
        capacity: vec![
            (offer.cpu_cores * usable * 1_000.0) as u64,
            (offer.memory_bytes as f64 * usable) as u64 >> 20,
            (offer.network_bytes as f64 * usable) as u64 >> 20,
        ],
        price: offer.price,
        available: None,
    });
    let pieces = counts.into_iter().map(|(size, count)| Piece {
        choices: vec![size],
        count,
    });
    let packing = PackingProblem::new(kinds.collect(), pieces.collect())
        .ok()?
        .solve();
    let mut counts = vec![0; offers.len()];
    for bin in &packing.bins {
        counts[bin.kind] += 1;
    }
    Some(counts)
}

/// Multiplies a mix until everything fits, then takes away what is not needed; `None` if it never fits.
fn grow(
    request: &Request<'_>,
    demands: &[Demand],
    offers: &[TaskManager],
    mix: Vec<u32>,
) -> Result<Option<Vec<u32>>, ScheduleError> {
    let schedule_on = |counts: &[u32]| -> Result<Option<Vec<u32>>, ScheduleError> {
        let mut managers = Vec::new();
        let mut offer_of = Vec::new();
        for (index, (offer, &count)) in offers.iter().zip(counts).enumerate() {
            for n in 0..count {
                let mut manager = offer.clone();
                manager.id = format!("{index}-{n}");
                managers.push(manager);
                offer_of.push(index);
            }
        }
        let cluster = Cluster::new(managers)?;
        let mut alone = Request::new(demands, &cluster).with_headroom(request.headroom);
        alone.constraints = request.constraints;
        let schedule = FirstFitDecreasing.schedule(&alone)?;
        if !schedule.is_complete() {
            return Ok(None);
        }
        let mut used = vec![0; offers.len()];
        for (usage, &offer) in schedule.usage.iter().zip(&offer_of) {
            used[offer] += u32::from(usage.slots > 0);
        }
        Ok(Some(used))
    };
    let mut factor = 1u32;
    while (factor as usize) < 2 * demands.len().max(1) {
        let counts: Vec<u32> = mix.iter().map(|&count| count.saturating_mul(factor)).collect();
        if let Some(used) = schedule_on(&counts)? {
            return Ok(Some(used));
        }
        factor *= 2;
    }
    let most = u32::try_from(demands.len()).unwrap_or(u32::MAX);
    let counts: Vec<u32> = mix
        .iter()
        .map(|&count| if count > 0 { most } else { 0 })
        .collect();
    schedule_on(&counts)
}

fn clauses(request: &Request<'_>, schedule: &Schedule, groups: &[SlotSharingGroup]) -> Vec<Clause> {
    let slots: u32 = groups.iter().map(|group| group.slots).sum();
    let together: u32 = groups.iter().map(|group| group.slots_together).sum();
    let used =
        |manager: &(usize, &TaskManager)| schedule.usage.get(manager.0).is_some_and(|usage| usage.slots > 0);
    let mut sizes: Vec<(f64, u64, u32)> = Vec::new();
    for (_, manager) in request.cluster.task_managers().iter().enumerate().filter(used) {
        let size = (manager.cpu_cores, manager.memory_bytes, manager.slots);
        if !sizes
            .iter()
            .any(|other| other.0.total_cmp(&size.0).is_eq() && (other.1, other.2) == (size.1, size.2))
        {
            sizes.push(size);
        }
    }
    let clause = |aspect, enforcement, note: String| Clause {
        aspect,
        enforcement,
        note,
    };
    vec![
        clause(
            Aspect::SlotSharing,
            Enforcement::Honoured,
            format!("{} slot-sharing groups, set in the job; {slots} slots in all", groups.len()),
        ),
        clause(
            Aspect::ResourceProfiles,
            Enforcement::Conditional,
            "needs a profile on every group (and cluster.fine-grained-resource-management.enabled before Flink 1.18); network \
             memory is not part of a profile that a user can set"
                .into(),
        ),
        clause(
            Aspect::TaskManagerCount,
            Enforcement::Conditional,
            "on Kubernetes and YARN Flink starts as many as the slots need and stops idle ones after \
             resourcemanager.taskmanager-timeout; a standalone cluster is sized from outside"
                .into(),
        ),
        clause(
            Aspect::TaskManagerSizes,
            if sizes.len() > 1 { Enforcement::Ignored } else { Enforcement::Honoured },
            format!(
                "one deployment has one size (taskmanager.memory.*, kubernetes.taskmanager.cpu.amount, \
                 taskmanager.numberOfTaskSlots); the schedule uses {}",
                sizes.len()
            ),
        ),
        clause(
            Aspect::Placement,
            Enforcement::Ignored,
            format!(
                "Flink matches slots by itself and keeps subtasks of one index in one slot; {together} of {slots} slots are \
                 on one TaskManager in the schedule"
            ),
        ),
        clause(
            Aspect::Staying,
            Enforcement::Conditional,
            format!(
                "with execution.state-recovery.from-local (state.backend.local-recovery before Flink 1.20) Flink prefers the \
                 slots that hold the state; the schedule moves {} instances",
                schedule.moved
            ),
        ),
        clause(
            Aspect::Spreading,
            Enforcement::Conditional,
            "taskmanager.load-balance.mode: SLOTS (cluster.evenly-spread-out-slots before Flink 1.20) spreads slots over \
             TaskManagers, without regard to operators; without it Flink fills one after the other"
                .into(),
        ),
        clause(
            Aspect::Constraints,
            if request.constraints.is_empty() { Enforcement::Honoured } else { Enforcement::Ignored },
            format!("{} constraints; Flink knows none between operators or on labels", request.constraints.len()),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use streamline_core::{Assignment, Instance, Placement};

    use super::*;

    fn demand(operator: usize, subtask: u32) -> Demand {
        Demand {
            instance: Instance {
                job: 0,
                operator,
                subtask,
            },
            cpu_cores: 1.0,
            memory_bytes: 1 << 30,
            network_bytes: 1 << 20,
            sharing_group: 0,
            state_bytes: 0,
        }
    }

    #[test]
    fn what_does_not_fit_is_bought_at_the_lowest_price() {
        let cluster = Cluster::uniform(1, 2.0, 8 << 30, 8).unwrap();
        let demands: Vec<Demand> = (0..9).map(|operator| demand(operator, 0)).collect();
        let request = Request::new(&demands, &cluster);
        let schedule = FirstFitDecreasing.schedule(&request).unwrap();
        let offers = [
            TaskManager::new("small", 2.0, 8 << 30, 8).with_price(3.0),
            TaskManager::new("large", 4.0, 16 << 30, 8).with_price(5.0),
        ];
        let plan = FlinkPlan::new(&request, &schedule, &offers).unwrap();
        // Seven are left: two large ones for 10 against four small ones for 12.
        let bought: Vec<(&str, u32)> = plan.add.iter().map(|a| (a.size.id.as_str(), a.count)).collect();
        assert_eq!(bought, [("large", 2)]);
        assert_eq!(plan.short, 0);
    }

    #[test]
    fn what_no_offer_holds_is_counted_as_short() {
        let cluster = Cluster::uniform(1, 0.5, 8 << 30, 8).unwrap();
        let demands = [demand(0, 0)];
        let request = Request::new(&demands, &cluster);
        let schedule = FirstFitDecreasing.schedule(&request).unwrap();
        let plan = FlinkPlan::new(&request, &schedule, &[TaskManager::new("tiny", 0.5, 1 << 30, 1)]).unwrap();
        assert_eq!((plan.add.len(), plan.short), (0, 1));
    }

    #[test]
    fn empty_task_managers_are_released_and_those_that_still_run_something_drained() {
        let cluster = Cluster::uniform(3, 4.0, 8 << 30, 8).unwrap();
        let demands = [demand(0, 0), demand(1, 0)];
        let assignments = [(0, 0), (1, 1)].map(|(operator, task_manager)| Assignment {
            instance: demand(operator, 0).instance,
            task_manager,
        });
        let current = Placement::new(assignments.to_vec()).unwrap();
        let objective = crate::Objective::cheapest();
        let request = Request::new(&demands, &cluster)
            .with_current(&current)
            .with_objective(&objective);
        let schedule = crate::LocalSearch::default().schedule(&request).unwrap();
        let plan = FlinkPlan::new(&request, &schedule, &[]).unwrap();
        assert_eq!(schedule.task_managers_used(), 1);
        assert_eq!((plan.drain.len(), plan.release.as_slice()), (1, &[2][..]));
        assert_eq!((plan.groups[0].slots, plan.groups[0].slots_together), (1, 1));
        approx::assert_relative_eq!(plan.groups[0].profile.cpu_cores, 2.0);
    }
}
