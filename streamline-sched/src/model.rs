//! The checked request in dense indices.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use streamline_core::{CoreError, Instance, Partitioning, TaskManager};

use crate::contention::ContentionModel;
use crate::load::DIMENSIONS;
use crate::objective::TERMS;
use crate::rules::Rules;
use crate::{Constraint, Demand, JobShare, Objective, Request, ScheduleError, Term};

/// CPU is counted in billionths of a core, so that sums do not depend on the order of adding.
pub(crate) const UNITS_PER_CORE: f64 = 1e9;
/// A TaskManager may be overfilled by a millionth of a core, so that thirds and tenths add up to the whole.
const CPU_TOLERANCE: u64 = 1_000;
/// An instance without room counts this many times as much as one that is served one rank later.
const WEIGHT_PER_RANK: f64 = 1_000.0;
const MOST_RANKS: i32 = 5;

/// One instance. Items are sorted by instance, so that the order of the demands does not matter.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) demand: Demand,
    pub(crate) size: [u64; DIMENSIONS],
    /// Index among [`Model::operators`].
    pub(crate) operator: u32,
    /// TaskManager where it runs now.
    pub(crate) current: Option<usize>,
    /// When it is served: rank 0 first.
    pub(crate) rank: u32,
    /// Its job's cap rules it out.
    pub(crate) capped: bool,
    /// The items at the other end of forward edges, and the bytes per second in between.
    pub(crate) partners: Vec<(u32, f64)>,
}

/// All instances of one operator.
#[derive(Debug, Clone)]
pub(crate) struct DenseOperator {
    pub(crate) job: usize,
    pub(crate) operator: usize,
    pub(crate) group: u32,
    pub(crate) items: Vec<u32>,
    pub(crate) at_most: u32,
    /// Operators that it never shares a TaskManager with, sorted.
    pub(crate) apart: Vec<u32>,
    /// Which TaskManagers it may run on; `None` for all.
    pub(crate) allowed: Option<Vec<bool>>,
    /// Operators at the other end of edges other than forward, and the bytes per second between one instance of each.
    pub(crate) neighbours: Vec<(u32, f64)>,
}

impl DenseOperator {
    pub(crate) fn is_free(&self) -> bool {
        self.at_most == u32::MAX && self.apart.is_empty() && self.allowed.is_none()
    }
}

/// A checked request.
#[derive(Debug)]
pub(crate) struct Model<'a> {
    pub(crate) task_managers: &'a [TaskManager],
    pub(crate) items: Vec<Item>,
    pub(crate) operators: Vec<DenseOperator>,
    /// What may be used of each TaskManager, headroom taken off.
    pub(crate) capacity: Vec<[u64; DIMENSIONS]>,
    /// What may be used before it counts as overload.
    pub(crate) target: Vec<[f64; DIMENSIONS]>,
    /// What the TaskManagers have.
    pub(crate) whole: Vec<[f64; DIMENSIONS]>,
    pub(crate) has_target: bool,
    /// Items in the order of serving: by rank, then decreasing cpu, memory, network memory, then by instance.
    pub(crate) order: Vec<usize>,
    pub(crate) ranks: u32,
    pub(crate) shares: BTreeMap<usize, JobShare>,
    pub(crate) objective: Cow<'a, Objective>,
    /// What is rounding in each term.
    pub(crate) tolerance: [f64; TERMS],
    pub(crate) contention: ContentionModel,
    pub(crate) has_current: bool,
    /// Bytes per second on edges, for those whose both ends have demands: forward, and all.
    pub(crate) total_traffic: [f64; 2],
}

impl<'a> Model<'a> {
    pub(crate) fn new(request: &Request<'a>) -> Result<Self, ScheduleError> {
        let task_managers = request.cluster.task_managers();
        check(request)?;
        let (mut items, mut operators) = items(request)?;
        let known: HashMap<(usize, usize), u32> = operators
            .iter()
            .enumerate()
            .map(|(index, o)| ((o.job, o.operator), index as u32))
            .collect();
        let shares: BTreeMap<usize, JobShare> =
            request.shares.iter().map(|share| (share.job, *share)).collect();
        let ranks = serve(&mut items, &operators, &shares);
        constrain(&mut operators, &known, request.constraints, task_managers);
        let total_traffic = connect(&mut items, &mut operators, &known, request);

        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by(|&a, &b| {
            let (one, other) = (&items[a], &items[b]);
            one.rank
                .cmp(&other.rank)
                .then(other.size.cmp(&one.size))
                .then(a.cmp(&b))
        });
        let objective = request
            .objective
            .map_or_else(|| Cow::Owned(Objective::default()), Cow::Borrowed);
        let contention = ContentionModel::new(&items, &operators, &known, request);
        let mut tolerance = [1e-9; TERMS];
        tolerance[Term::Price as usize] =
            1e-9 * task_managers.iter().map(|manager| manager.price).sum::<f64>();
        tolerance[Term::ForwardTraffic as usize] = 1e-9 * total_traffic[0];
        tolerance[Term::Traffic as usize] = 1e-9 * total_traffic[1];
        Ok(Self {
            task_managers,
            capacity: usable(task_managers, 1.0 - request.headroom),
            target: task_managers
                .iter()
                .map(|manager| whole(manager).map(|size| size * request.target))
                .collect(),
            whole: task_managers.iter().map(whole).collect(),
            has_target: request.target < 1.0,
            items,
            operators,
            order,
            ranks,
            shares,
            objective,
            tolerance,
            contention,
            has_current: request
                .current
                .is_some_and(|current| !current.assignments().is_empty()),
            total_traffic,
        })
    }

    /// How much an item without room counts.
    pub(crate) fn weight(&self, item: usize) -> f64 {
        let before_last = self.ranks.saturating_sub(1 + self.items[item].rank);
        WEIGHT_PER_RANK.powi(i32::try_from(before_last).map_or(MOST_RANKS, |ranks| ranks.min(MOST_RANKS)))
    }

    /// TaskManagers by what they cost for the share of the whole demand that they can take, cheapest first.
    pub(crate) fn cheapest_first(&self) -> Vec<usize> {
        let total = self.total();
        let cost: Vec<f64> = (0..self.task_managers.len())
            .map(|manager| {
                let shares = (0..DIMENSIONS)
                    .filter(|&d| total[d] > 0.0)
                    .map(|d| self.capacity[manager][d] as f64 / total[d]);
                let share = shares.fold(f64::INFINITY, f64::min);
                self.task_managers[manager].price / share.max(f64::MIN_POSITIVE)
            })
            .collect();
        let mut order: Vec<usize> = (0..cost.len()).collect();
        order.sort_by(|&a, &b| cost[a].total_cmp(&cost[b]).then(a.cmp(&b)));
        order
    }

    /// What all items need together.
    pub(crate) fn total(&self) -> [f64; DIMENSIONS] {
        let mut total = [0.0; DIMENSIONS];
        for item in &self.items {
            for d in 0..DIMENSIONS {
                total[d] += item.size[d] as f64;
            }
        }
        total
    }
}

pub(crate) fn units(cores: f64) -> u64 {
    (cores * UNITS_PER_CORE).round() as u64 // saturates
}

fn whole(manager: &TaskManager) -> [f64; DIMENSIONS] {
    [
        manager.cpu_cores * UNITS_PER_CORE,
        manager.memory_bytes as f64,
        manager.network_bytes as f64,
    ]
}

/// What may be used of each TaskManager if only a share of it may.
pub(crate) fn usable(task_managers: &[TaskManager], share: f64) -> Vec<[u64; DIMENSIONS]> {
    let part = |bytes: u64| {
        if share >= 1.0 {
            bytes
        } else {
            ((bytes as f64 * share).floor() as u64).min(bytes)
        }
    };
    task_managers
        .iter()
        .map(|manager| {
            [
                units(manager.cpu_cores * share).saturating_add(CPU_TOLERANCE),
                part(manager.memory_bytes),
                part(manager.network_bytes),
            ]
        })
        .collect()
}

fn check(request: &Request<'_>) -> Result<(), ScheduleError> {
    let task_managers = request.cluster.task_managers();
    let valid_headroom = (0.0..1.0).contains(&request.headroom);
    if !valid_headroom {
        return Err(ScheduleError::InvalidOption {
            name: "headroom",
            value: request.headroom,
            expected: "a share of at least 0 and below 1",
        });
    }
    let valid_target = request.target > 0.0 && request.target <= 1.0;
    if !valid_target {
        return Err(ScheduleError::InvalidOption {
            name: "target",
            value: request.target,
            expected: "a share above 0 and at most 1",
        });
    }
    let limits = request.contention_limits;
    for value in [limits.cpu, limits.state_access, limits.network] {
        if !(value.is_finite() && value > 0.0) {
            return Err(ScheduleError::InvalidOption {
                name: "contention_limits",
                value,
                expected: "a finite number above 0",
            });
        }
    }
    for (index, demand) in request.demands.iter().enumerate() {
        if !(demand.cpu_cores.is_finite() && demand.cpu_cores >= 0.0) {
            return Err(ScheduleError::InvalidDemand {
                index,
                value: demand.cpu_cores,
            });
        }
    }
    for share in request.shares {
        for (name, value) in [("floor_cores", share.floor_cores), ("cap_cores", share.cap_cores)] {
            if value.is_nan() || value < 0.0 {
                return Err(ScheduleError::InvalidShare {
                    name,
                    job: share.job,
                    value,
                });
            }
        }
    }
    let sent = request
        .traffic
        .iter()
        .map(|t| (t.job, t.from, t.bytes_per_second));
    let accessed = request
        .state_access
        .iter()
        .map(|a| (a.job, a.operator, a.bytes_per_second));
    for (job, operator, value) in sent.chain(accessed) {
        if !(value.is_finite() && value >= 0.0) {
            return Err(ScheduleError::InvalidRate { job, operator, value });
        }
    }
    if !request.demands.is_empty() && task_managers.iter().all(|manager| manager.slots == 0) {
        return Err(ScheduleError::NoSlots {
            instances: request.demands.len(),
            task_managers: task_managers.len(),
        });
    }
    let assignments = request.current.map_or(&[][..], |current| current.assignments());
    match assignments.iter().find(|a| a.task_manager >= task_managers.len()) {
        Some(assignment) => Err(ScheduleError::UnknownTaskManager {
            task_manager: assignment.task_manager,
            task_managers: task_managers.len(),
        }),
        None => Ok(()),
    }
}

fn items(request: &Request<'_>) -> Result<(Vec<Item>, Vec<DenseOperator>), ScheduleError> {
    let mut demands = request.demands.to_vec();
    demands.sort_unstable_by_key(|demand| demand.instance);
    if let Some(pair) = demands
        .windows(2)
        .find(|pair| pair[0].instance == pair[1].instance)
    {
        let Instance {
            job,
            operator,
            subtask,
        } = pair[0].instance;
        return Err(ScheduleError::Instances(CoreError::DuplicateInstance {
            job,
            operator,
            subtask,
        }));
    }
    let mut operators: Vec<DenseOperator> = Vec::new();
    let mut items = Vec::with_capacity(demands.len());
    for (index, demand) in demands.into_iter().enumerate() {
        let Instance { job, operator, .. } = demand.instance;
        match operators.last_mut() {
            Some(last) if (last.job, last.operator) == (job, operator) => {
                if last.group != demand.sharing_group {
                    return Err(ScheduleError::MixedSharingGroups {
                        job,
                        operator,
                        first: last.group,
                        second: demand.sharing_group,
                    });
                }
                last.items.push(index as u32);
            }
            _ => operators.push(DenseOperator {
                job,
                operator,
                group: demand.sharing_group,
                items: vec![index as u32],
                at_most: u32::MAX,
                apart: Vec::new(),
                allowed: None,
                neighbours: Vec::new(),
            }),
        }
        items.push(Item {
            demand,
            size: [units(demand.cpu_cores), demand.memory_bytes, demand.network_bytes],
            operator: operators.len() as u32 - 1,
            current: request
                .current
                .and_then(|current| current.task_manager(demand.instance)),
            rank: 0,
            capped: false,
            partners: Vec::new(),
        });
    }
    Ok((items, operators))
}

/// Sets ranks and caps; gives the number of ranks.
fn serve(items: &mut [Item], operators: &[DenseOperator], shares: &BTreeMap<usize, JobShare>) -> u32 {
    if shares.is_empty() {
        return 1;
    }
    let mut keys = vec![(true, 0i32); items.len()];
    for jobs in operators.chunk_by(|one, other| one.job == other.job) {
        let share = jobs.first().and_then(|operator| shares.get(&operator.job));
        let mut of_job: Vec<usize> = jobs
            .iter()
            .flat_map(|o| &o.items)
            .map(|&item| item as usize)
            .collect();
        of_job.sort_by_key(|&item| (items[item].demand.instance.subtask, item));
        let mut cores = 0.0;
        for item in of_job {
            cores += items[item].demand.cpu_cores;
            let (floor, cap, priority) = share.map_or((0.0, f64::INFINITY, 0), |s| {
                (s.floor_cores, s.cap_cores, s.priority)
            });
            keys[item] = (cores > floor + 1e-9, priority.saturating_neg());
            items[item].capped = cores > cap + 1e-9;
        }
    }
    let mut distinct = keys.clone();
    distinct.sort_unstable();
    distinct.dedup();
    for (item, key) in items.iter_mut().zip(&keys) {
        item.rank = distinct.partition_point(|other| other < key) as u32;
    }
    distinct.len().max(1) as u32
}

fn constrain(
    operators: &mut [DenseOperator],
    known: &HashMap<(usize, usize), u32>,
    constraints: &[Constraint],
    task_managers: &[TaskManager],
) {
    let rules = Rules::new(constraints);
    let mut of_job = HashMap::<usize, Vec<u32>>::new();
    for (index, operator) in (0..).zip(operators.iter()) {
        of_job.entry(operator.job).or_default().push(index);
    }
    for operator in operators {
        let key = (operator.job, operator.operator);
        let others = rules.apart(key).iter().filter_map(|other| known.get(other));
        let of_others = rules.jobs_apart(key.0).iter().filter_map(|job| of_job.get(job));
        operator.at_most = rules.at_most(key);
        operator.apart = others.chain(of_others.flatten()).copied().collect();
        operator.apart.sort_unstable();
        operator.apart.dedup();
        operator.allowed = rules.needs_labels(key).then(|| {
            task_managers
                .iter()
                .map(|manager| rules.allow(key, manager))
                .collect()
        });
    }
}

fn connect(
    items: &mut [Item],
    operators: &mut [DenseOperator],
    known: &HashMap<(usize, usize), u32>,
    request: &Request<'_>,
) -> [f64; 2] {
    let mut total = [0.0; 2];
    for edge in request.traffic {
        let (Some(&from), Some(&to)) = (known.get(&(edge.job, edge.from)), known.get(&(edge.job, edge.to)))
        else {
            continue;
        };
        if from == to || edge.bytes_per_second <= 0.0 {
            continue;
        }
        let senders = operators[from as usize].items.clone();
        let receivers = operators[to as usize].items.clone();
        total[1] += edge.bytes_per_second;
        if edge.partitioning == Partitioning::Forward {
            total[0] += edge.bytes_per_second;
            let rate = edge.bytes_per_second / senders.len() as f64;
            for &sender in &senders {
                let subtask = items[sender as usize].demand.instance.subtask;
                let partner =
                    receivers.binary_search_by_key(&subtask, |&r| items[r as usize].demand.instance.subtask);
                if let Ok(at) = partner {
                    items[sender as usize].partners.push((receivers[at], rate));
                    items[receivers[at] as usize].partners.push((sender, rate));
                }
            }
        } else {
            let rate = edge.bytes_per_second / (senders.len() as f64 * receivers.len() as f64);
            operators[from as usize].neighbours.push((to, rate));
            operators[to as usize].neighbours.push((from, rate));
        }
    }
    total
}
