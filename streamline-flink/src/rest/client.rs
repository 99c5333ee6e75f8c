use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;
use streamline_core::{Cluster, JobConfig, JobId, JobStatus, Observation, TaskManager};

use super::answers::{JobsOverview, TaskManagerDetails, TaskManagerSummary, TaskManagers};
use super::change::{Changes, Ledger, Running};
use super::http::Http;
use super::observe::{self, Base, Settings, has_ended};
use super::wait::{self, Wait};
use super::{Program, RestOptions, cancel, capabilities, lock, look, now_ms, path, submit};
use crate::{Applied, Capabilities, Change, FlinkClient, FlinkError};

/// Flink's default size of a network buffer.
const SEGMENT_BYTES: u32 = 32 << 10;
/// How long a cluster takes to read the counters of its TaskManagers, and for how long they are good.
const READING: Duration = Duration::from_millis(300);
const FRESH: Duration = Duration::from_secs(1);

/// A real Flink cluster, over its REST API.
///
/// A job that was restarted to change it has another id on the cluster; here it keeps the one that it had when it was first
/// seen, so that whoever remembers things by it need not know. With a journal, that outlives the client.
///
/// Rates are counted from one look to the next: call [`FlinkClient::observe`] in steps of several seconds at least, for the
/// cluster itself reads its counters only every 10 s unless `metrics.fetcher.update-interval` says otherwise.
///
/// # Examples
///
/// ```no_run
/// use streamline_flink::{FlinkClient, RestClient, RestOptions};
///
/// let client = RestClient::connect(RestOptions::new("http://127.0.0.1:8081").with_journal("/var/lib/streamline"))?;
/// for job in client.jobs()? {
///     let seen = client.observe(&job)?;
///     println!("{}: {:?}, {:.0} records wait", seen.name, seen.status, seen.backlog());
/// }
/// # Ok::<(), streamline_flink::FlinkError>(())
/// ```
pub struct RestClient {
    http: Http,
    options: RestOptions,
    settings: Mutex<Option<Settings>>,
    looks: Mutex<HashMap<JobId, Base>>,
    counters_read: Mutex<Option<Instant>>,
    /// For each job the weights of its subtasks on each TaskManager, for sharing out the cpu.
    weights: Mutex<HashMap<JobId, HashMap<String, f64>>>,
    ledger: Mutex<Ledger>,
    /// Held while a job is changed: one change at a time.
    changing: Mutex<()>,
}

impl fmt::Debug for RestClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestClient")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl RestClient {
    /// A client of the cluster, which need not be up yet.
    ///
    /// Changes that the journal says were interrupted are not touched by this; see [`Self::recover`].
    ///
    /// # Errors
    /// [`FlinkError::Options`] if the options make no sense, [`FlinkError::Journal`] if the journal cannot be opened, is damaged,
    /// or is in use by another client.
    pub fn connect(options: RestOptions) -> Result<Self, FlinkError> {
        Ok(Self {
            http: Http::new(&options)?,
            ledger: Mutex::new(Ledger::open(&options)?),
            options,
            settings: Mutex::new(None),
            looks: Mutex::new(HashMap::new()),
            counters_read: Mutex::new(None),
            weights: Mutex::new(HashMap::new()),
            changing: Mutex::new(()),
        })
    }

    /// Finishes or undoes every change that was interrupted when an earlier client ended, and gives for each job what came of it.
    ///
    /// Call it after [`Self::connect`]. A change of a job that was interrupted is also finished or undone before that job is
    /// changed again.
    pub fn recover(&self) -> Vec<(JobId, Result<(), FlinkError>)> {
        let _one = lock(&self.changing);
        let changes = self.changes();
        let interrupted = changes.interrupted();
        interrupted
            .into_iter()
            .map(|job| {
                let outcome = changes.recover(&job);
                (job, outcome)
            })
            .collect()
    }

    /// Starts a job anew, with this parallelism where the program sets none, and waits until it runs.
    ///
    /// # Errors
    /// [`FlinkError::Refused`] if the job ended before it ran, [`FlinkError::Options`] if the jar cannot be read, or another
    /// [`FlinkError`]. A job that did not come to run in the time of [`RestOptions::patience`] is cancelled.
    pub fn submit(&self, program: &Program, parallelism: u32) -> Result<JobId, FlinkError> {
        let jar = submit::upload(&self.http, &program.jar)?;
        let id = submit::run(
            &self.http,
            &jar,
            &submit::Run {
                job_id: None,
                entry_class: program.entry_class.as_deref(),
                program_args_list: program.arguments_for(&[]),
                parallelism,
                savepoint_path: None,
                allow_non_restored_state: false,
                flink_configuration: program.settings.clone(),
            },
        )?;
        let deadline = Instant::now() + self.options.patience;
        let reason = match wait::until_it_runs(&self.http, &id, &BTreeMap::new(), deadline)? {
            Wait::Runs { .. } => return Ok(JobId::new(id)),
            Wait::Ended { state } => format!("the job ended as {}", state.to_lowercase()),
            Wait::TimedOut { doing } => {
                cancel::cancel(&self.http, &id, self.options.patience)?;
                format!("the job did not come to run: {doing}")
            }
        };
        Err(FlinkError::Refused { reason })
    }

    /// Ends a job, without a savepoint, and waits until it has ended. One that has ended already stays so.
    ///
    /// # Errors
    /// [`FlinkError::UnknownJob`], or another [`FlinkError`] if the cluster cannot be asked.
    pub fn cancel(&self, job: &JobId) -> Result<(), FlinkError> {
        let running = self.running(job)?;
        cancel::cancel(&self.http, &running.id, self.options.patience)
    }

    fn changes(&self) -> Changes<'_> {
        Changes {
            http: &self.http,
            options: &self.options,
            ledger: &self.ledger,
        }
    }

    /// How a job runs on the cluster; an id that could not be one is unknown without asking.
    fn running(&self, job: &JobId) -> Result<Running, FlinkError> {
        let running = lock(&self.ledger).running(job);
        let is_id = running.id.len() == 32 && running.id.bytes().all(|digit| digit.is_ascii_hexdigit());
        if is_id { Ok(running) } else { Err(unknown(job)) }
    }

    /// What is the same for all jobs of the cluster, asked for once.
    fn settings(&self) -> Result<Settings, FlinkError> {
        let mut known = lock(&self.settings);
        if let Some(settings) = *known {
            return Ok(settings);
        }
        let set = capabilities::settings(&self.http)?;
        let timeout = capabilities::setting(
            &set,
            &["execution.buffer-timeout.interval", "execution.buffer-timeout"],
        )
        .and_then(capabilities::duration)
        .and_then(|timeout| u32::try_from(timeout.as_millis()).ok());
        let segment = capabilities::setting(&set, &["taskmanager.memory.segment-size"])
            .and_then(capabilities::bytes)
            .and_then(|bytes| u32::try_from(bytes).ok())
            .filter(|&bytes| bytes > 0);
        // What the TaskManagers really have comes before what the JobManager was told.
        let managers: TaskManagers = self.http.get("/taskmanagers")?;
        let real = match managers.taskmanagers.first() {
            Some(manager) => self.segment_bytes(&manager.id)?,
            None => None,
        };
        let settings = Settings {
            segment_bytes: real.or(segment).unwrap_or(SEGMENT_BYTES),
            buffer_timeout_ms: timeout.unwrap_or(JobConfig::DEFAULT_BUFFER_TIMEOUT_MS),
        };
        if real.is_some() {
            *known = Some(settings);
        }
        Ok(settings)
    }

    fn segment_bytes(&self, manager: &str) -> Result<Option<u32>, FlinkError> {
        let details: TaskManagerDetails = self
            .http
            .get(&format!("/taskmanagers/{}", path::segment(manager)))?;
        let metrics = details.metrics;
        Ok(
            match (
                metrics.netty_shuffle_memory_total,
                metrics.netty_shuffle_memory_segments_total,
            ) {
                (Some(bytes), Some(segments)) if bytes > 0 && segments > 0 => {
                    u32::try_from(bytes / segments).ok()
                }
                _ => None,
            },
        )
    }

    /// Has the cluster read the counters of its TaskManagers anew.
    ///
    /// It does so only when somebody asks for them, and answers with those of the time before.
    fn have_counters_read(&self, running: &Running) {
        let mut last = lock(&self.counters_read);
        if last.is_none_or(|last| last.elapsed() >= FRESH) {
            let asked = self
                .http
                .get::<IgnoredAny>(&format!("/jobs/{}/metrics?get=uptime", running.id));
            // Where it cannot be asked, the look itself will say so.
            if asked.is_ok() {
                std::thread::sleep(READING);
                *last = Some(Instant::now());
            }
        }
    }

    /// The weights of all other jobs on each TaskManager.
    fn others(&self, job: &JobId) -> HashMap<String, f64> {
        let mut sums = HashMap::new();
        for (other, weights) in &*lock(&self.weights) {
            if other != job {
                for (manager, weight) in weights {
                    *sums.entry(manager.clone()).or_insert(0.0) += weight;
                }
            }
        }
        sums
    }
}

impl FlinkClient for RestClient {
    fn capabilities(&self) -> Result<Capabilities, FlinkError> {
        capabilities::discover(&self.http)
    }

    fn jobs(&self) -> Result<Vec<JobId>, FlinkError> {
        let overview: JobsOverview = self.http.get("/jobs/overview")?;
        let ledger = lock(&self.ledger);
        let mut jobs: Vec<JobId> = overview
            .jobs
            .iter()
            .filter(|job| !has_ended(&job.state))
            .map(|job| ledger.first_id(&job.jid))
            .collect();
        drop(ledger);
        jobs.sort_unstable();
        lock(&self.looks).retain(|job, _| jobs.binary_search(job).is_ok());
        lock(&self.weights).retain(|job, _| jobs.binary_search(job).is_ok());
        Ok(jobs)
    }

    fn cluster(&self) -> Result<Cluster, FlinkError> {
        let managers: TaskManagers = self.http.get("/taskmanagers")?;
        Ok(Cluster::new(
            managers.taskmanagers.iter().map(task_manager).collect(),
        )?)
    }

    fn observe(&self, job: &JobId) -> Result<Observation, FlinkError> {
        let running = self.running(job)?;
        self.have_counters_read(&running);
        let look = match look::look(&self.http, &running.id, self.options.connections) {
            Err(FlinkError::NotFound { .. }) => return Err(unknown(job)),
            look => look?,
        };
        let mut settings = self.settings()?;
        if let Some(timeout) = running.buffer_timeout_ms {
            settings.buffer_timeout_ms = timeout;
        }
        if look.details.vertices.is_empty() {
            return Err(FlinkError::Conflict {
                job: job.clone(),
                status: "not yet planned",
            });
        }
        let before = lock(&self.looks).remove(job);
        let others = self.others(job);
        let seen = observe::compare(job, now_ms(), &look, before, settings, &others)?;
        if let Some(base) = seen.base {
            lock(&self.looks).insert(job.clone(), base);
        }
        lock(&self.weights).insert(job.clone(), seen.weights);
        Ok(seen.observation)
    }

    fn apply(&self, job: &JobId, change: &Change) -> Result<Applied, FlinkError> {
        let _one = lock(&self.changing);
        self.running(job)?;
        self.changes().recover(job)?;
        let seen = self.observe(job)?;
        change.config.check(&seen.graph)?;
        if seen.status != JobStatus::Running {
            return Err(FlinkError::Conflict {
                job: job.clone(),
                status: if seen.status == JobStatus::Ended {
                    "ended"
                } else {
                    "restarting"
                },
            });
        }
        if change.placement.is_some() {
            return Err(FlinkError::Refused {
                reason: "Flink does not let instances be placed".into(),
            });
        }
        let segments = |config: &JobConfig| -> Vec<u32> {
            config
                .operators
                .iter()
                .map(|operator| operator.segment_bytes)
                .collect()
        };
        if segments(&change.config) != segments(&seen.config) {
            return Err(FlinkError::Refused {
                reason: "the size of network buffers belongs to the TaskManagers".into(),
            });
        }
        if change.config == seen.config {
            return Ok(Applied::new(true, Duration::ZERO));
        }
        let in_place = self.capabilities()?.in_place_rescale;
        self.changes().change(&seen, &change.config, in_place)
    }
}

fn unknown(job: &JobId) -> FlinkError {
    FlinkError::UnknownJob { job: job.clone() }
}

fn task_manager(summary: &TaskManagerSummary) -> TaskManager {
    let known = |cores: Option<f64>| cores.filter(|&cores| cores > 0.0);
    let cores = known(summary.total_resource.cpu_cores)
        .or(known(summary.hardware.cpu_cores))
        .unwrap_or(0.0);
    let memory = summary.memory_configuration.total_process_memory;
    let manager = TaskManager::new(
        &summary.id,
        cores,
        memory.unwrap_or(summary.hardware.physical_memory),
        summary.slots_number,
    );
    match summary.memory_configuration.network_memory {
        Some(bytes) => manager.with_network_bytes(bytes),
        None => manager,
    }
}
