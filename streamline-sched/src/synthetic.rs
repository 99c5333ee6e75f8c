use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use streamline_core::{Cluster, CoreError, Instance, Partitioning, TaskManager};

use crate::{Demand, Request, Traffic};

/// Jobs and a cluster made up by seed, to measure schedulers on.
///
/// Jobs are chains of 5 to 15 operators with 2 to 16 instances each. An instance takes 0.1 to 2 cores, 0.25 to 4 GiB of
/// memory and 2 to 64 MiB of network memory. A third of the edges are forward. One TaskManager in two has 8 cores and
/// 32 GiB, one in four has twice that for 1.9 times the price, and one in four has 8 cores and 64 GiB for 1.3 times.
///
/// # Examples
///
/// ```
/// use streamline_sched::{FirstFitDecreasing, Scheduler, Synthetic};
///
/// let synthetic = Synthetic::new(200, 30, 1)?;
/// assert_eq!(synthetic.demands.len(), 200);
/// assert!(FirstFitDecreasing.schedule(&synthetic.request())?.is_complete());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Synthetic {
    /// What the instances need, sorted by instance.
    pub demands: Vec<Demand>,
    /// What flows between operators.
    pub traffic: Vec<Traffic>,
    /// The TaskManagers.
    pub cluster: Cluster,
}

impl Synthetic {
    /// As many instances and TaskManagers as asked for.
    ///
    /// # Errors
    /// [`CoreError`] never, as the numbers are valid.
    pub fn new(instances: usize, task_managers: usize, seed: u64) -> Result<Self, CoreError> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut demands = Vec::with_capacity(instances);
        let mut traffic = Vec::new();
        let mut job = 0;
        while demands.len() < instances {
            let operators = rng.random_range(5..=15);
            let records_per_second = 10f64.powf(rng.random_range(3.0..5.0));
            let mut parallelism = 0;
            for operator in 0..operators {
                let forward = operator > 0 && rng.random_range(0..3) == 0;
                if !forward {
                    parallelism = rng.random_range(2..=16);
                }
                if operator > 0 {
                    let partitioning = if forward {
                        Partitioning::Forward
                    } else {
                        Partitioning::Hash
                    };
                    let bytes = rng.random_range(50.0..500.0);
                    traffic.push(Traffic::new(
                        job,
                        operator - 1,
                        operator,
                        partitioning,
                        records_per_second,
                        bytes,
                    ));
                }
                let cpu_cores = 10f64.powf(rng.random_range(-1.0..0.3));
                let memory_bytes =
                    (0.25 * 16f64.powf(rng.random_range(0.0..1.0)) * f64::from(1u32 << 30)) as u64;
                let network_bytes = rng.random_range(2..=64u64) << 20;
                for subtask in 0..parallelism {
                    if demands.len() == instances {
                        break;
                    }
                    demands.push(Demand {
                        instance: Instance {
                            job,
                            operator,
                            subtask,
                        },
                        cpu_cores,
                        memory_bytes,
                        network_bytes,
                        sharing_group: job as u32,
                        state_bytes: memory_bytes / 2,
                    });
                }
            }
            job += 1;
        }
        let managers = (0..task_managers).map(|n| {
            let (cores, gib, price) =
                [(8.0, 32, 1.0), (16.0, 64, 1.9), (8.0, 32, 1.0), (8.0, 64, 1.3)][n % 4];
            TaskManager::new(format!("tm-{}", n + 1), cores, gib << 30, cores as u32 * 2)
                .with_network_bytes((cores as u64) << 28)
                .with_price(price)
        });
        Ok(Self {
            demands,
            traffic,
            cluster: Cluster::new(managers.collect())?,
        })
    }

    /// A request to place everything anew, with the traffic.
    #[must_use]
    pub fn request(&self) -> Request<'_> {
        Request::new(&self.demands, &self.cluster).with_traffic(&self.traffic)
    }

    /// How many jobs there are.
    #[must_use]
    pub fn jobs(&self) -> usize {
        self.demands.last().map_or(0, |demand| demand.instance.job + 1)
    }
}
