use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::Program;

/// How a client proves who it is. Secrets never show in `Debug`.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Authentication {
    /// Not at all.
    #[default]
    None,
    /// `Authorization: Bearer …`.
    Bearer(SecretString),
    /// `Authorization: Basic …`.
    Basic {
        /// The user.
        user: String,
        /// The password.
        password: SecretString,
    },
}

/// Where a Flink cluster is, and how it is to be talked to.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use streamline_flink::rest::{Authentication, RestOptions};
///
/// let options = RestOptions::new("https://flink.example.org/clusters/blue")
///     .with_authentication(Authentication::Bearer("s3cret".to_owned().into()))
///     .with_header("X-Team", "payments")
///     .with_timeout(Duration::from_secs(5));
/// assert!(!format!("{options:?}").contains("s3cret"));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct RestOptions {
    /// Where the REST API is, with the base path if it has one: `http://127.0.0.1:8081`.
    pub url: String,
    /// How the client proves who it is.
    pub authentication: Authentication,
    /// Headers to send with every request, in order. Their values never show in `Debug`, for they may be secrets.
    pub headers: Vec<(String, SecretString)>,
    /// Certificates (PEM) to trust instead of the usual authorities, for a cluster with an authority of its own.
    pub root_certificates: Option<Vec<u8>>,
    /// How long one request may take. Default: 10 s.
    pub timeout: Duration,
    /// How often a request that is safe to repeat is repeated when the cluster cannot be reached or is overloaded. Default: 3.
    pub retries: usize,
    /// The largest answer that is read, in bytes. Default: 64 MiB.
    pub answer_bytes: u64,
    /// How many requests run at the same time. Default: 8.
    pub connections: usize,
    /// How long a change may take until the job runs as wanted, before it is undone. Default: 5 min.
    pub patience: Duration,
    /// How long it is watched, after a change, whether a job works off what piled up. Default: 30 s.
    pub catch_up: Duration,
    /// The folder in which changes are journalled, so that one that was interrupted is finished or undone when a client is made
    /// anew. Without one, a change that is interrupted stays as it is.
    pub journal: Option<PathBuf>,
    /// Where savepoints go; the cluster's own setting if none.
    pub savepoints: Option<String>,
    /// How to start a job again, by its name; needed where a change needs a restart.
    pub programs: Vec<(String, Program)>,
}

impl RestOptions {
    /// The defaults, for the cluster at this address.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            authentication: Authentication::None,
            headers: Vec::new(),
            root_certificates: None,
            timeout: Duration::from_secs(10),
            retries: 3,
            answer_bytes: 64 << 20,
            connections: 8,
            patience: Duration::from_secs(300),
            catch_up: Duration::from_secs(30),
            journal: None,
            savepoints: None,
            programs: Vec::new(),
        }
    }

    /// Sets how the client proves who it is.
    #[must_use]
    pub fn with_authentication(mut self, authentication: Authentication) -> Self {
        self.authentication = authentication;
        self
    }

    /// Adds a header to every request.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into().into()));
        self
    }

    /// Trusts these certificates (PEM) instead of the usual authorities.
    #[must_use]
    pub fn with_root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root_certificates = Some(pem.into());
        self
    }

    /// Sets how long one request may take.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how often a request that is safe to repeat is repeated.
    #[must_use]
    pub fn with_retries(mut self, retries: usize) -> Self {
        self.retries = retries;
        self
    }

    /// Sets the largest answer that is read, in bytes.
    #[must_use]
    pub fn with_answer_bytes(mut self, bytes: u64) -> Self {
        self.answer_bytes = bytes;
        self
    }

    /// Sets how many requests run at the same time.
    #[must_use]
    pub fn with_connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// Sets how long a change may take before it is undone.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets how long it is watched, after a change, whether a job works off what piled up.
    #[must_use]
    pub fn with_catch_up(mut self, catch_up: Duration) -> Self {
        self.catch_up = catch_up;
        self
    }

    /// Journals changes in this folder.
    #[must_use]
    pub fn with_journal(mut self, folder: impl Into<PathBuf>) -> Self {
        self.journal = Some(folder.into());
        self
    }

    /// Sets where savepoints go.
    #[must_use]
    pub fn with_savepoints(mut self, folder: impl Into<String>) -> Self {
        self.savepoints = Some(folder.into());
        self
    }

    /// Says how to start the job of this name again.
    #[must_use]
    pub fn with_program(mut self, job_name: impl Into<String>, program: Program) -> Self {
        self.programs.push((job_name.into(), program));
        self
    }
}

impl fmt::Debug for RestOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestOptions")
            .field("url", &super::http::without_password(&self.url))
            .field("authentication", &self.authentication)
            .field(
                "headers",
                &self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            )
            .field(
                "root_certificates",
                &self.root_certificates.as_ref().map(Vec::len),
            )
            .field("timeout", &self.timeout)
            .field("retries", &self.retries)
            .field("answer_bytes", &self.answer_bytes)
            .field("connections", &self.connections)
            .field("patience", &self.patience)
            .field("catch_up", &self.catch_up)
            .field("journal", &self.journal)
            .field("savepoints", &self.savepoints)
            .field("programs", &self.programs)
            .finish()
    }
}
