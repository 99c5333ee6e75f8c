use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use streamline_core::Cluster;
use tempfile::TempDir;

use super::process::{LOG4J, Process, log};
use super::tls::Tls;
use super::{Distribution, LocalClusterOptions, last_lines, local};
use crate::{FlinkClient, FlinkError, RestClient, RestOptions};

/// How long a cluster may take to start. On two cores it takes about 10 s.
const PATIENCE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(200);

const JOB_MANAGER: (&str, &str) = (
    "jobmanager",
    "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint",
);
const TASK_MANAGER: &str = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner";
const ZOOKEEPER: &str = "org.apache.flink.runtime.zookeeper.FlinkZooKeeperQuorumPeer";

/// A Flink session cluster on this machine. It ends when this is dropped.
#[derive(Debug)]
pub struct LocalCluster {
    options: LocalClusterOptions,
    distribution: Distribution,
    // Before the folder, so that nothing writes there any more when it goes.
    task_managers: Vec<(String, Process)>,
    job_manager: Option<Process>,
    _zookeeper: Option<Process>,
    started: u32,
    url: String,
    tls: Option<Tls>,
    folder: TempDir,
}

impl LocalCluster {
    /// Starts a cluster and waits until its TaskManagers have come.
    ///
    /// # Errors
    /// [`FlinkError::Local`] if Flink cannot be fetched, or does not start within 90 s; the end of its log is in the error.
    pub fn start(options: LocalClusterOptions) -> Result<Self, FlinkError> {
        let distribution = Distribution::fetch(options.version)?;
        let folder = tempfile::Builder::new()
            .prefix("streamline-flink-")
            .tempdir()
            .map_err(|error| local("temporary folder", error))?;
        fs::write(folder.path().join(LOG4J.0), LOG4J.1).map_err(writing)?;
        let [rest, rpc, zookeeper] = free_ports()?;
        let tls = options.tls.then(|| Tls::make(folder.path())).transpose()?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let mut cluster = Self {
            url: format!("{scheme}://127.0.0.1:{rest}"),
            tls,
            _zookeeper: options
                .high_availability
                .then(|| start_zookeeper(&distribution, folder.path(), zookeeper))
                .transpose()?,
            task_managers: Vec::new(),
            job_manager: None,
            started: 0,
            distribution,
            folder,
            options,
        };
        cluster.configure(rest, rpc, zookeeper)?;
        // All at once: a TaskManager tries again until there is a JobManager.
        cluster.launch_job_manager()?;
        for _ in 0..cluster.options.task_managers {
            cluster.launch_task_manager()?;
        }
        let wanted = cluster.task_managers.len();
        cluster.until(|seen| seen.is_some_and(|seen| seen.task_managers().len() == wanted))?;
        Ok(cluster)
    }

    /// Where its REST API is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What a client needs to talk to it.
    #[must_use]
    pub fn rest_options(&self) -> RestOptions {
        let options = RestOptions::new(&self.url);
        match &self.tls {
            Some(tls) => options.with_root_certificates(tls.certificate.clone()),
            None => options,
        }
    }

    /// Its temporary folder, with configuration, logs, checkpoints and savepoints.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The Flink that it runs.
    #[must_use]
    pub fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// The ids of the TaskManagers that were started and not killed.
    #[must_use]
    pub fn task_managers(&self) -> Vec<&str> {
        self.task_managers.iter().map(|(id, _)| id.as_str()).collect()
    }

    /// Starts one more TaskManager, waits until it has come, and gives its id.
    ///
    /// # Errors
    /// [`FlinkError::Local`] if it does not come.
    pub fn add_task_manager(&mut self) -> Result<String, FlinkError> {
        let id = self.launch_task_manager()?;
        self.until(|seen| {
            seen.is_some_and(|seen| seen.task_managers().iter().any(|manager| manager.id == id))
        })?;
        Ok(id)
    }

    /// Kills a TaskManager, as a machine that goes down does. `false` if there is none of this id.
    pub fn kill_task_manager(&mut self, id: &str) -> bool {
        let before = self.task_managers.len();
        self.task_managers.retain(|(other, _)| other != id);
        self.task_managers.len() < before
    }

    /// Kills the JobManager, as a machine that goes down does.
    pub fn kill_job_manager(&mut self) {
        self.job_manager = None;
    }

    /// Starts the JobManager, in the place of one that was killed, and waits until it answers.
    ///
    /// # Errors
    /// [`FlinkError::Local`] if it does not.
    pub fn start_job_manager(&mut self) -> Result<(), FlinkError> {
        self.launch_job_manager()?;
        self.until(|seen| seen.is_some())
    }

    fn launch_job_manager(&mut self) -> Result<(), FlinkError> {
        self.job_manager = Some(Process::start(
            &self.distribution.class_path(),
            &["-Xmx400m"],
            JOB_MANAGER.1,
            &["-c".into(), self.folder.path().display().to_string()],
            self.folder.path(),
            JOB_MANAGER.0,
        )?);
        Ok(())
    }

    fn launch_task_manager(&mut self) -> Result<String, FlinkError> {
        let id = format!("tm{}", self.started);
        self.started += 1;
        let mut arguments = vec!["-c".to_owned(), self.folder.path().display().to_string()];
        // Without Flink's start scripts all sizes have to be given.
        for (key, value) in [
            ("resource-id", id.as_str()),
            ("numberOfTaskSlots", &self.options.slots.to_string()),
            ("cpu.cores", &format!("{}.0", self.options.slots)),
            ("memory.task.heap.size", "256m"),
            ("memory.task.off-heap.size", "0"),
            ("memory.network.min", "64m"),
            ("memory.network.max", "64m"),
            ("memory.managed.size", "128m"),
            ("memory.framework.heap.size", "128m"),
            ("memory.framework.off-heap.size", "128m"),
            ("memory.jvm-metaspace.size", "256m"),
            ("memory.jvm-overhead.min", "128m"),
            ("memory.jvm-overhead.max", "128m"),
        ] {
            arguments.extend(["-D".to_owned(), format!("taskmanager.{key}={value}")]);
        }
        let process = Process::start(
            &self.distribution.class_path(),
            &["-Xmx384m", "-XX:MaxDirectMemorySize=400m"],
            TASK_MANAGER,
            &arguments,
            self.folder.path(),
            &id,
        )?;
        self.task_managers.push((id.clone(), process));
        Ok(id)
    }

    /// Writes Flink's configuration.
    fn configure(&self, rest: u16, rpc: u16, zookeeper: u16) -> Result<(), FlinkError> {
        let folder = self.folder.path();
        let file = |name: &str| format!("file://{}", folder.join(name).display());
        let mut settings = self.options.settings.clone();
        let mut default = |key: &str, value: String| {
            settings.entry(key.to_owned()).or_insert(value);
        };
        for key in [
            "rest.address",
            "rest.bind-address",
            "taskmanager.host",
            "taskmanager.bind-host",
            "jobmanager.rpc.address",
            "jobmanager.bind-host",
        ] {
            default(key, "127.0.0.1".into());
        }
        for &(key, value) in self.options.version.waits() {
            default(&format!("jobmanager.adaptive-scheduler.{key}"), value.into());
        }
        for (key, value) in [
            ("rest.port", rest.to_string()),
            ("rest.bind-port", rest.to_string()),
            ("jobmanager.rpc.port", rpc.to_string()),
            ("jobmanager.memory.process.size", "1g".into()),
            ("jobmanager.scheduler", "adaptive".into()),
            ("execution.checkpointing.dir", file("checkpoints")),
            ("execution.checkpointing.savepoint-dir", file("savepoints")),
            // What 1.20 still calls them.
            ("state.checkpoints.dir", file("checkpoints")),
            ("state.savepoints.dir", file("savepoints")),
            ("io.tmp.dirs", folder.join("tmp").display().to_string()),
            ("web.upload.dir", folder.join("tmp").display().to_string()),
            ("metrics.fetcher.update-interval", "1000".into()),
            ("metrics.latency.interval", "500".into()),
            ("heartbeat.interval", "1000".into()),
            ("heartbeat.timeout", "10000".into()),
            ("cluster.registration.error-delay", "300".into()),
            ("restart-strategy.type", "fixed-delay".into()),
            ("restart-strategy.fixed-delay.attempts", "100".into()),
            ("restart-strategy.fixed-delay.delay", "200 ms".into()),
        ] {
            default(key, value);
        }
        for (key, value) in self.tls.iter().flat_map(Tls::settings) {
            default(key, value);
        }
        if self.options.high_availability {
            default("high-availability.type", "zookeeper".into());
            default("high-availability.storageDir", file("ha"));
            default(
                "high-availability.zookeeper.quorum",
                format!("127.0.0.1:{zookeeper}"),
            );
        }
        let mut yaml = String::new();
        for (key, value) in &settings {
            let value = value.replace('\'', "''");
            // Writing to a string cannot fail.
            let _ = writeln!(yaml, "{key}: '{value}'");
        }
        fs::create_dir_all(folder.join("tmp")).map_err(writing)?;
        fs::write(folder.join("config.yaml"), yaml).map_err(writing)
    }

    /// Waits until the cluster looks as it should.
    fn until(&mut self, is_so: impl Fn(Option<&Cluster>) -> bool) -> Result<(), FlinkError> {
        let client = RestClient::connect(self.rest_options().with_retries(0))?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            if is_so(client.cluster().ok().as_ref()) {
                return Ok(());
            }
            let all = self
                .task_managers
                .iter_mut()
                .map(|(id, process)| (id.as_str(), process));
            let all = all.chain(
                self.job_manager
                    .iter_mut()
                    .map(|process| (JOB_MANAGER.0, process)),
            );
            let mut ended = None;
            for (name, process) in all {
                if !process.is_alive() {
                    ended = Some(name.to_owned());
                }
            }
            if ended.is_some() || Instant::now() >= deadline {
                let name = ended.unwrap_or_else(|| JOB_MANAGER.0.to_owned());
                let said = fs::read_to_string(log(self.folder.path(), &name)).unwrap_or_default();
                return Err(local(
                    format!("starting Flink {}", self.options.version),
                    format!("{name} says: {}", last_lines(&said)),
                ));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

fn start_zookeeper(distribution: &Distribution, folder: &Path, port: u16) -> Result<Process, FlinkError> {
    let configuration = folder.join("zoo.cfg");
    let data = folder.join("zookeeper");
    let text = format!(
        "tickTime=2000\ninitLimit=10\nsyncLimit=5\nclientPort={port}\nclientPortAddress=127.0.0.1\n\
         dataDir={}\nadmin.enableServer=false\n",
        data.display()
    );
    fs::create_dir_all(&data).map_err(writing)?;
    fs::write(&configuration, text).map_err(writing)?;
    Process::start(
        &distribution.class_path(),
        &["-Xmx64m"],
        ZOOKEEPER,
        &[
            "--zkConfigFile".into(),
            configuration.display().to_string(),
            "--peerId".into(),
            "1".into(),
        ],
        folder,
        "zookeeper",
    )
}

/// What kept a file from being written that the cluster needs.
fn writing(error: std::io::Error) -> FlinkError {
    local("the cluster's folder", error)
}

/// Ports that nobody listens on.
fn free_ports() -> Result<[u16; 3], FlinkError> {
    let port = |error| local("a free port", error);
    // All held until all are known, so that they differ.
    let held = [
        TcpListener::bind("127.0.0.1:0").map_err(port)?,
        TcpListener::bind("127.0.0.1:0").map_err(port)?,
        TcpListener::bind("127.0.0.1:0").map_err(port)?,
    ];
    let mut ports = [0; 3];
    for (free, listener) in ports.iter_mut().zip(&held) {
        *free = listener.local_addr().map_err(port)?.port();
    }
    Ok(ports)
}
