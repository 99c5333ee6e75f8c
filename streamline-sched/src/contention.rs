//! Loads by kind, and how far the busiest TaskManager is from an even share.

use std::collections::HashMap;

use streamline_core::Partitioning;

use crate::Request;
use crate::load::Load;
use crate::model::{DenseOperator, Item};
use crate::objective::Contention;

/// Kinds of load: cpu, state access, network.
const KINDS: usize = 3;
/// The power in the smooth stand-in for the largest share.
pub(crate) const SHARPNESS: i32 = 16;

/// What an operator's instances send to those of another.
#[derive(Debug, Clone, Copy)]
struct Stream {
    from: u32,
    to: u32,
    forward: bool,
    bytes_per_sender: f64,
    receivers: f64,
}

impl Stream {
    /// The bytes per second that a TaskManager sends to others.
    fn sent(&self, load: &Load) -> f64 {
        let senders = f64::from(load.count(self.from));
        if senders <= 0.0 {
            return 0.0;
        }
        let receivers = f64::from(load.count(self.to));
        self.bytes_per_sender
            * if self.forward {
                (senders - receivers).max(0.0)
            } else {
                senders * (1.0 - receivers / self.receivers)
            }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct ContentionModel {
    state_access: Vec<f64>,
    cpu: Vec<f64>,
    streams: Vec<Stream>,
    /// Streams that begin or end at an operator.
    touching: Vec<Vec<u32>>,
    /// The even share and the worst that can be, per kind.
    even: [f64; KINDS],
    worst: [f64; KINDS],
    /// What counts as 1 in the search, per kind.
    limits: [f64; KINDS],
}

impl ContentionModel {
    pub(crate) fn new(
        items: &[Item],
        operators: &[DenseOperator],
        known: &HashMap<(usize, usize), u32>,
        request: &Request<'_>,
    ) -> Self {
        let mut state_access = vec![0.0; operators.len()];
        for access in request.state_access {
            if let Some(&operator) = known.get(&(access.job, access.operator)) {
                state_access[operator as usize] += access.bytes_per_second;
            }
        }
        let mut touching = vec![Vec::new(); operators.len()];
        let mut streams = Vec::new();
        let mut sent = vec![0.0; operators.len()];
        for edge in request.traffic {
            let ends = (known.get(&(edge.job, edge.from)), known.get(&(edge.job, edge.to)));
            let (Some(&from), Some(&to)) = ends else { continue };
            if from == to {
                continue;
            }
            touching[from as usize].push(streams.len() as u32);
            touching[to as usize].push(streams.len() as u32);
            let bytes_per_sender = edge.bytes_per_second / operators[from as usize].items.len() as f64;
            sent[from as usize] += bytes_per_sender;
            streams.push(Stream {
                from,
                to,
                forward: edge.partitioning == Partitioning::Forward,
                bytes_per_sender,
                receivers: operators[to as usize].items.len() as f64,
            });
        }
        let limits = request.contention_limits;
        let cpu: Vec<f64> = items.iter().map(|item| item.demand.cpu_cores).collect();
        let managers = request.cluster.task_managers();
        let most_slots = managers.iter().map(|manager| manager.slots).max().unwrap_or(0) as usize;
        let (mut even, mut worst) = ([0.0; KINDS], [0.0; KINDS]);
        let per_item = |rates: &[f64]| {
            items
                .iter()
                .map(|item| rates[item.operator as usize])
                .collect::<Vec<f64>>()
        };
        for (kind, mut loads) in [cpu.clone(), per_item(&state_access), per_item(&sent)]
            .into_iter()
            .enumerate()
        {
            if kind < 2 {
                even[kind] = loads.iter().sum::<f64>() / managers.len().max(1) as f64;
            }
            loads.sort_by(|a, b| b.total_cmp(a));
            worst[kind] = loads.iter().take(most_slots).sum();
        }
        Self {
            state_access,
            cpu,
            streams,
            touching,
            even,
            worst,
            limits: [limits.cpu, limits.state_access, limits.network],
        }
    }

    /// The part of a TaskManager's network load that an operator takes part in.
    fn network_with(&self, operator: u32, load: &Load) -> f64 {
        self.touching[operator as usize]
            .iter()
            .map(|&stream| self.streams[stream as usize].sent(load))
            .sum()
    }

    /// The largest share of a TaskManager that no further instance can lower: what is there of cpu and state access, and
    /// what flows between operators that are placed in full.
    pub(crate) fn least(&self, load: &Load, items: &[Item], complete: &[bool]) -> f64 {
        let (mut cpu, mut state_access, mut network) = (0.0, 0.0, 0.0);
        for &item in &load.items {
            cpu += self.cpu[item as usize];
            state_access += self.state_access[items[item as usize].operator as usize];
        }
        for stream in &self.streams {
            if complete[stream.from as usize] && complete[stream.to as usize] {
                network += stream.sent(load);
            }
        }
        let shares = [
            self.share(0, cpu),
            self.share(1, state_access),
            self.share(2, network),
        ];
        shares.into_iter().fold(0.0, f64::max)
    }

    fn against_limit(&self, kind: usize, load: f64) -> f64 {
        self.share(kind, load) / self.limits[kind]
    }

    fn share(&self, kind: usize, load: f64) -> f64 {
        let range = self.worst[kind] - self.even[kind];
        if range <= 0.0 {
            return 0.0;
        }
        ((load - self.even[kind]) / range).max(0.0)
    }
}

/// An item comes to a TaskManager (`sign` 1) or leaves it (−1).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub(crate) item: usize,
    pub(crate) operator: u32,
    pub(crate) manager: usize,
    pub(crate) sign: f64,
}

/// The loads of every TaskManager, kept up to date.
#[derive(Debug, Clone)]
pub(crate) struct Loads {
    per_manager: Vec<[f64; KINDS]>,
}

impl Loads {
    pub(crate) fn new(managers: usize) -> Self {
        Self {
            per_manager: vec![[0.0; KINDS]; managers],
        }
    }

    /// Notes that an item comes or goes; `change` does it to the TaskManager's load.
    pub(crate) fn note(
        &mut self,
        model: &ContentionModel,
        event: Event,
        load: &mut Load,
        change: impl FnOnce(&mut Load),
    ) {
        let Event {
            item,
            operator,
            manager,
            sign,
        } = event;
        let before = model.network_with(operator, load);
        change(load);
        let after = model.network_with(operator, load);
        let loads = &mut self.per_manager[manager];
        loads[0] += sign * model.cpu[item];
        loads[1] += sign * model.state_access[operator as usize];
        loads[2] += after - before;
    }

    pub(crate) fn contention(&self, model: &ContentionModel) -> Contention {
        let largest = |kind: usize| {
            let loads = self.per_manager.iter().map(|loads| loads[kind]);
            model.share(kind, loads.fold(0.0, f64::max))
        };
        Contention {
            cpu: largest(0),
            state_access: largest(1),
            network: largest(2),
        }
    }

    /// The largest share against its limit.
    pub(crate) fn largest(&self, model: &ContentionModel) -> f64 {
        let per_manager = self.per_manager.iter();
        let largest = per_manager.map(|loads| {
            (0..KINDS)
                .map(|k| model.against_limit(k, loads[k]))
                .fold(0.0, f64::max)
        });
        largest.fold(0.0, f64::max)
    }

    /// What a TaskManager adds to a smooth stand-in for the largest share: the sum of high powers of its shares.
    pub(crate) fn pressure(&self, model: &ContentionModel, manager: usize) -> f64 {
        let loads = &self.per_manager[manager];
        (0..KINDS)
            .map(|kind| model.share(kind, loads[kind]).powi(SHARPNESS))
            .sum()
    }
}

/// The loads of a placement, whatever the request's objective.
pub(crate) fn loads_of(model: &ContentionModel, loads: &[Load], items: &[Item]) -> Loads {
    let mut all = Loads::new(loads.len());
    for (manager, load) in loads.iter().enumerate() {
        let mut empty = Load::default();
        for &item in &load.items {
            let Item {
                size,
                operator,
                demand,
                ..
            } = &items[item as usize];
            let group = demand.sharing_group;
            let event = Event {
                item: item as usize,
                operator: *operator,
                manager,
                sign: 1.0,
            };
            all.note(model, event, &mut empty, |load| {
                load.add(item, size, *operator, group)
            });
        }
    }
    all
}
