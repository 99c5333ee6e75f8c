//! What can be chosen for a job, and how each choice is expected to perform: the table that the search reads.

use std::ops::RangeInclusive;

use streamline_core::{
    Cluster, JobConfig, JobEstimate, Observation, OperatorConfig, OperatorEstimate, Partitioning,
};
use streamline_flink::{Capabilities, Scope};
use streamline_surrogate::{CapacityCurve, PerformanceSurrogate, Prediction, Query};

use crate::memory::JobMemory;
use crate::outlook::Outlook;
use crate::profile::balance;
use crate::{Error, TunerOptions};

/// What can be chosen for one job.
///
/// A choice is a list of genes, each an index into its levels: first the parallelism of each group of operators, then
/// the segment size of each scope.
#[derive(Debug)]
pub(crate) struct Candidates<'a> {
    pub(crate) seen: &'a Observation,
    groups: Vec<Group>,
    segments: Vec<Segment>,
    /// For each operator, the group that it belongs to, and the segment gene, if its segment size can be chosen.
    genes: Vec<(usize, Option<usize>)>,
    /// For each operator and each of its options, parallelism first.
    table: Vec<Vec<Cell>>,
    /// The rate of each operator that has to be carried.
    pub(crate) required: Vec<f64>,
    target_utilization: f64,
    subtask_cores: f64,
    /// The cores that a slot holds, used or not.
    slot_cores: f64,
}

/// Operators that must have the same parallelism, since forward edges join them.
#[derive(Debug)]
struct Group {
    operators: Vec<usize>,
    parallelism: Vec<u32>,
    /// The level of the running parallelism, if it lies outside the bounds: it can be judged but not chosen.
    outside: Option<usize>,
}

/// A segment size to choose.
#[derive(Debug)]
struct Segment {
    bytes: Vec<u32>,
}

/// How one operator is expected to perform with one of its options.
#[derive(Debug, Clone, Copy)]
struct Cell {
    estimate: OperatorEstimate,
    /// Records per second that it can process at most.
    capacity: f64,
}

/// How a job is expected to perform with one choice, and what it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Assessment {
    /// By how much operators exceed the utilisation they are sized for, as a sum of shares, and 1 for each group of
    /// operators outside its bounds; 0 if the job keeps up.
    pub(crate) shortfall: f64,
    pub(crate) latency_ms: f64,
    pub(crate) cpu_cores: f64,
    /// Cores that the job takes: those of its slots, or those that it uses where that is more, and a little for each
    /// subtask.
    pub(crate) cost: f64,
    pub(crate) slots: u64,
    pub(crate) network_bytes: u64,
}

/// What is known of how fast the operators of a job can be.
#[derive(Debug)]
pub(crate) struct Capacities {
    /// For each operator; `None` if it never was busy enough to tell.
    curves: Vec<Option<CapacityCurve>>,
}

impl Capacities {
    /// Fits a curve to what is remembered of each operator.
    pub(crate) fn learn(seen: &Observation, memory: Option<&JobMemory>) -> Result<Self, Error> {
        let mut curves = Vec::with_capacity(seen.operators.len());
        for operator in 0..seen.operators.len() {
            let points = memory.map_or_else(Vec::new, |memory| memory.capacities(operator));
            curves.push(if points.is_empty() {
                None
            } else {
                Some(CapacityCurve::fit(&points)?)
            });
        }
        Ok(Self { curves })
    }

    /// Records per second that an operator can process with this parallelism; unlimited where nothing is known.
    pub(crate) fn capacity(&self, seen: &Observation, operator: usize, parallelism: u32) -> f64 {
        match (&self.curves[operator], balance(seen, operator, parallelism)) {
            (Some(curve), Some(balance)) => curve.capacity(parallelism) * balance,
            (Some(_), None) => 0.0,
            (None, _) => f64::INFINITY,
        }
    }
}

/// What all jobs of a round have in common.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) capabilities: &'a Capabilities,
    pub(crate) surrogate: &'a dyn PerformanceSurrogate,
    pub(crate) options: &'a TunerOptions,
    /// Cores in use for each core of the cluster.
    pub(crate) colocation_load: f64,
}

impl<'a> Candidates<'a> {
    /// Lists what can be chosen and asks the surrogate for all of it in one batch.
    pub(crate) fn new(
        seen: &'a Observation,
        outlook: &Outlook,
        capacities: &Capacities,
        setting: &Setting<'_>,
    ) -> Result<Self, Error> {
        let Setting {
            cluster,
            capabilities,
            surrogate,
            options,
            ..
        } = *setting;
        // A load that is forecast to fall has not fallen yet.
        let peak = outlook.peak(options.horizon).into_iter();
        let required: Vec<f64> = peak.zip(&outlook.now).map(|(peak, &now)| peak.max(now)).collect();
        let groups = groups(seen, capacities, cluster.slots())?;
        let (segments, segment_genes) = segments(seen, capabilities.segment_size, &options.segment_bytes);
        let genes: Vec<(usize, Option<usize>)> = (0..seen.operators.len())
            .map(|operator| {
                let group = groups
                    .iter()
                    .position(|group| group.operators.contains(&operator))
                    .unwrap_or_default();
                (group, segment_genes[operator])
            })
            .collect();

        let mut queries = Vec::new();
        for (operator, &(group, segment)) in genes.iter().enumerate() {
            for &parallelism in &groups[group].parallelism {
                let current = [seen.config.operators[operator].segment_bytes];
                for &segment_bytes in segment.map_or(&current[..], |gene| &segments[gene].bytes) {
                    let config = OperatorConfig {
                        parallelism,
                        segment_bytes,
                    };
                    queries.push(query(
                        seen,
                        outlook,
                        capacities,
                        operator,
                        config,
                        required[operator],
                        setting,
                    ));
                }
            }
        }
        let mut answers = vec![Prediction::ZERO; queries.len()];
        surrogate.predict(&queries, &mut answers)?;

        let mut answers = queries.iter().zip(&answers);
        let mut table = Vec::with_capacity(genes.len());
        for (operator, &(group, segment)) in genes.iter().enumerate() {
            let options =
                groups[group].parallelism.len() * segment.map_or(1, |gene| segments[gene].bytes.len());
            let cells = answers.by_ref().take(options).map(|(query, answer)| Cell {
                estimate: answer.estimate,
                capacity: capacities.capacity(seen, operator, query.parallelism),
            });
            table.push(cells.collect());
        }
        Ok(Self {
            seen,
            groups,
            segments,
            genes,
            table,
            required,
            target_utilization: options.target_utilization,
            subtask_cores: options.subtask_cores,
            slot_cores: cluster.cpu_cores() / cluster.slots().max(1) as f64,
        })
    }

    /// For each gene, how many levels it has.
    pub(crate) fn levels(&self) -> impl Iterator<Item = usize> + '_ {
        let groups = self.groups.iter().map(|group| group.parallelism.len());
        groups.chain(self.segments.iter().map(|segment| segment.bytes.len()))
    }

    /// The configuration that a choice stands for.
    pub(crate) fn config(&self, choice: &[usize]) -> JobConfig {
        let operators = self
            .genes
            .iter()
            .enumerate()
            .map(|(operator, &(group, segment))| OperatorConfig {
                parallelism: self.groups[group].parallelism[choice[group]],
                segment_bytes: match segment {
                    Some(gene) => self.segments[gene].bytes[choice[self.groups.len() + gene]],
                    None => self.seen.config.operators[operator].segment_bytes,
                },
            });
        JobConfig {
            operators: operators.collect(),
            ..self.seen.config
        }
    }

    /// The choice that changes nothing.
    pub(crate) fn current(&self) -> Vec<usize> {
        let level = |levels: &[u32], value: u32| {
            levels
                .iter()
                .position(|&level| level == value)
                .unwrap_or_default()
        };
        let running = &self.seen.config.operators;
        let groups = self
            .groups
            .iter()
            .map(|group| level(&group.parallelism, running[group.operators[0]].parallelism));
        let segments = self.segments.iter().enumerate().map(|(gene, segment)| {
            let operator = self
                .genes
                .iter()
                .position(|&(_, of)| of == Some(gene))
                .unwrap_or_default();
            level(&segment.bytes, running[operator].segment_bytes)
        });
        groups.chain(segments).collect()
    }

    /// The choice with the fewest subtasks that carries `share` of what is required, segment sizes as they are.
    ///
    /// Where no option suffices it is the one with the highest capacity.
    pub(crate) fn smallest(&self, share: f64) -> Vec<usize> {
        let mut choice = self.current();
        for (gene, group) in self.groups.iter().enumerate() {
            let mut load = |level: usize| {
                choice[gene] = level;
                let used = |&operator: &usize| {
                    share * self.required[operator] / self.cell(operator, &choice).capacity
                };
                group.operators.iter().map(used).fold(0.0, f64::max)
            };
            let loads: Vec<f64> = (0..group.parallelism.len()).map(&mut load).collect();
            let admissible = || (0..loads.len()).filter(|&level| group.outside != Some(level));
            choice[gene] = admissible()
                .find(|&level| loads[level] <= self.target_utilization)
                .or_else(|| admissible().min_by(|&a, &b| loads[a].total_cmp(&loads[b])))
                .unwrap_or_default();
        }
        choice
    }

    /// What a choice takes and gives when `share` of what is required has to be carried.
    pub(crate) fn assess(&self, choice: &[usize], share: f64) -> Assessment {
        let outside = self
            .groups
            .iter()
            .zip(choice)
            .filter(|(group, level)| group.outside == Some(**level));
        let mut shortfall = outside.count() as f64;
        let mut cpu_cores = 0.0;
        let mut latencies = Vec::with_capacity(self.genes.len());
        for operator in 0..self.genes.len() {
            let cell = self.cell(operator, choice);
            let load = share * self.required[operator] / (self.target_utilization * cell.capacity);
            // An operator that can process nothing is infinitely short, unless nothing is wanted of it.
            shortfall += if load.is_nan() {
                0.0
            } else {
                (load - 1.0).clamp(0.0, 1e9)
            };
            cpu_cores += cell.estimate.cpu_cores * share;
            latencies.push(cell.estimate.latency_ms);
        }
        let config = self.config(choice);
        let graph = &self.seen.graph;
        let slots = config.slots(graph).unwrap_or(u64::MAX);
        Assessment {
            shortfall,
            latency_ms: graph.longest_path(&latencies).unwrap_or(f64::INFINITY),
            cpu_cores,
            cost: cpu_cores.max(self.slot_cores * slots as f64)
                + self.subtask_cores * config.subtasks() as f64,
            slots,
            network_bytes: config.network_bytes(graph).unwrap_or(u64::MAX),
        }
    }

    /// What is expected of each operator with a choice.
    pub(crate) fn estimate(&self, choice: &[usize]) -> Result<JobEstimate, Error> {
        let cells = (0..self.genes.len())
            .map(|operator| self.cell(operator, choice).estimate)
            .collect();
        JobEstimate::from_operators(&self.seen.graph, cells).map_err(|source| Error::Propagate {
            job: self.seen.job.clone(),
            source,
        })
    }

    fn cell(&self, operator: usize, choice: &[usize]) -> &Cell {
        let (group, segment) = self.genes[operator];
        let index = match segment {
            Some(gene) => choice[group] * self.segments[gene].bytes.len() + choice[self.groups.len() + gene],
            None => choice[group],
        };
        &self.table[operator][index]
    }
}

/// The question that asks how an operator would do with a configuration.
pub(crate) fn query(
    seen: &Observation,
    outlook: &Outlook,
    capacities: &Capacities,
    operator: usize,
    config: OperatorConfig,
    input_rate: f64,
    setting: &Setting<'_>,
) -> Query {
    let outputs = seen.graph.outputs(operator);
    let sizes = || {
        seen.graph
            .inputs(operator)
            .iter()
            .chain(outputs)
            .filter_map(|&edge| seen.edges[edge].record_bytes)
    };
    let unit_rate = match &capacities.curves[operator] {
        Some(curve) => curve.capacity(1),
        // Never seen busy: as if it had twice the room that its load needs.
        None => (2.0 * input_rate / f64::from(config.parallelism.max(1))).max(1.0),
    };
    Query {
        kind: seen.graph.operators()[operator].kind,
        unit_rate,
        parallelism: config.parallelism,
        segment_bytes: config.segment_bytes,
        buffer_timeout_ms: seen.config.buffer_timeout_ms,
        input_rate,
        selectivity: outputs.iter().map(|&edge| outlook.selectivities[edge]).sum(),
        record_bytes: sizes().next().unwrap_or(setting.options.record_bytes),
        colocation_load: setting.colocation_load,
    }
}

/// Joins operators along forward edges and lists what parallelism each group can have.
fn groups(seen: &Observation, capacities: &Capacities, max_slots: u64) -> Result<Vec<Group>, Error> {
    let graph = &seen.graph;
    let mut group_of: Vec<usize> = (0..graph.operators().len()).collect();
    for edge in graph
        .edges()
        .iter()
        .filter(|edge| edge.partitioning == Partitioning::Forward)
    {
        let (kept, merged) = (group_of[edge.from], group_of[edge.to]);
        for group in group_of.iter_mut().filter(|group| **group == merged) {
            *group = kept;
        }
    }
    let mut groups: Vec<Group> = Vec::new();
    for leader in 0..group_of.len() {
        let operators: Vec<usize> = (0..group_of.len())
            .filter(|&operator| group_of[operator] == leader)
            .collect();
        let Some(&first) = operators.first() else { continue };
        let running = seen.config.operators[first].parallelism;
        let mut parallelism = Vec::new();
        // An operator of unknown capacity keeps its parallelism, and so does its group.
        if operators
            .iter()
            .all(|&operator| capacities.curves[operator].is_some())
        {
            for (index, &operator) in operators.iter().enumerate() {
                let options = graph.operators()[operator]
                    .parallelism_options(graph.is_keyed(operator))
                    .map_err(|source| Error::Observation {
                        job: seen.job.clone(),
                        source,
                    })?;
                if index == 0 {
                    parallelism = options
                        .into_iter()
                        .filter(|&p| u64::from(p) <= max_slots)
                        .collect();
                } else {
                    parallelism.retain(|p| options.contains(p));
                }
            }
        }
        let outside = match parallelism.binary_search(&running) {
            Ok(_) => None,
            Err(place) => {
                parallelism.insert(place, running);
                let bounds = operators
                    .iter()
                    .map(|&operator| graph.operators()[operator].bounds());
                let within =
                    |bounds: Result<RangeInclusive<u32>, _>| bounds.is_ok_and(|b| b.contains(&running));
                (parallelism.len() > 1 && !bounds.into_iter().all(within)).then_some(place)
            }
        };
        groups.push(Group {
            operators,
            parallelism,
            outside,
        });
    }
    Ok(groups)
}

/// Lists the segment sizes that can be chosen, and which gene sets the size of each operator's output.
fn segments(seen: &Observation, scope: Scope, sizes: &[u32]) -> (Vec<Segment>, Vec<Option<usize>>) {
    let operators = seen.operators.len();
    let gene = |operator: usize| {
        let mut bytes = sizes.to_vec();
        bytes.push(seen.config.operators[operator].segment_bytes);
        bytes.sort_unstable();
        bytes.dedup();
        Segment { bytes }
    };
    match scope {
        Scope::Operator => {
            let mut segments = Vec::new();
            let genes = (0..operators)
                .map(|operator| {
                    // The size belongs to the buffers that an operator writes; a sink writes none.
                    if seen.graph.outputs(operator).is_empty() {
                        return None;
                    }
                    segments.push(gene(operator));
                    Some(segments.len() - 1)
                })
                .collect();
            (segments, genes)
        }
        Scope::Job => (vec![gene(0)], vec![Some(0); operators]),
        _ => (Vec::new(), vec![None; operators]),
    }
}
