use streamline_core::{Cluster, JobConfig, Observation, propagate};
use streamline_flink::Capabilities;

use crate::candidates::{Candidates, Capacities};
use crate::outlook::Outlook;
use crate::{Error, Memory, Tuner};

impl Tuner {
    /// The smallest configuration with which a job carries fixed source rates at the target utilisation.
    ///
    /// This is what a careful engineer would set once, given the peak: the yardstick for a job that is tuned. It rests on
    /// the same measured capacities as a plan. Where no parallelism suffices, an operator gets the one with the highest
    /// capacity.
    ///
    /// # Errors
    /// [`Error::Observation`] if the observation makes no sense, [`Error::Propagate`] if the rates do not fit the sources
    /// or a selectivity is unknown, or [`Error::Estimate`].
    pub fn size_for(
        &self,
        seen: &Observation,
        source_rates: &[f64],
        cluster: &Cluster,
        capabilities: &Capabilities,
        memory: &Memory,
    ) -> Result<JobConfig, Error> {
        seen.check().map_err(|source| Error::Observation {
            job: seen.job.clone(),
            source,
        })?;
        let remembered = memory.job(&seen.job);
        let selectivities: Vec<f64> = (0..seen.edges.len())
            .map(|edge| {
                let known = remembered.and_then(|memory| memory.selectivity(edge));
                known.or(seen.edges[edge].selectivity).unwrap_or(f64::NAN)
            })
            .collect();
        let flow =
            propagate(&seen.graph, source_rates, &selectivities).map_err(|source| Error::Propagate {
                job: seen.job.clone(),
                source,
            })?;
        let catch_up = vec![0.0; flow.operators.len()];
        let outlook = Outlook {
            sources: Vec::new(),
            now: catch_up.clone(),
            steps: vec![flow.operators],
            catch_up,
            selectivities,
        };
        let capacities = Capacities::learn(seen, remembered)?;
        let setting = self.setting(cluster, capabilities, 1.0);
        let candidates = Candidates::new(seen, &outlook, &capacities, &setting)?;
        Ok(candidates.config(&candidates.smallest(1.0)))
    }
}
