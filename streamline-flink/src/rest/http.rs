//! HTTP, TLS and JSON: requests go out, answers and errors come back typed. Nothing here knows what they mean.

use std::path::Path;
use std::time::Duration;

use backon::{BlockingRetryable, ExponentialBuilder};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use secrecy::ExposeSecret;
use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::{HeaderName, HeaderValue, Method, Request, StatusCode};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::multipart::{Form, Part};
use ureq::{Agent, AsSendBody, RequestExt};

use super::{Authentication, RestOptions};
use crate::FlinkError;

/// The first wait before a request is repeated; each further one is about twice as long, with jitter.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// The upload of a jar and the run of its main method may take that many times as long as another request.
const SLOW_FACTOR: u32 = 12;

/// A cluster's REST API.
pub(super) struct Http {
    agent: Agent,
    base: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    timeout: Duration,
    retries: usize,
    answer_bytes: u64,
}

impl Http {
    pub(super) fn new(options: &RestOptions) -> Result<Self, FlinkError> {
        let base = options.url.trim_end_matches('/').to_owned();
        let invalid = |reason: String| FlinkError::Options { reason };
        let uri: ureq::http::Uri = base
            .parse()
            .map_err(|error| invalid(format!("url `{}`: {error}", without_password(&base))))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none_or(str::is_empty) {
            return Err(invalid(format!(
                "url `{}`: expected http://host or https://host",
                without_password(&base)
            )));
        }
        if options.timeout.is_zero() {
            return Err(invalid("timeout is 0".into()));
        }
        let mut tls = TlsConfig::builder();
        if let Some(pem) = &options.root_certificates {
            tls = tls.root_certs(roots(pem)?);
        }
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(options.timeout))
            .max_idle_connections_per_host(options.connections.max(1))
            .max_idle_connections(options.connections.max(1))
            .tls_config(tls.build())
            .user_agent(concat!("streamline/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Ok(Self {
            agent,
            headers: headers(options)?,
            base,
            timeout: options.timeout,
            retries: options.retries,
            answer_bytes: options.answer_bytes,
        })
    }

    /// Reads what is at a path. Repeated when that may help.
    pub(super) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, FlinkError> {
        self.repeated(|| self.send(Method::GET, path, None, (), self.timeout))
    }

    /// Puts a value to a path. Repeated when that may help, for putting it twice is as good as once.
    pub(super) fn put<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, FlinkError> {
        self.repeated(|| self.send_json(Method::PUT, path, body, self.timeout))
    }

    /// Posts a value to a path, once.
    pub(super) fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, FlinkError> {
        self.send_json(Method::POST, path, body, self.timeout)
    }

    /// Asks for a job to be cancelled. Repeated when that may help.
    pub(super) fn patch<T: DeserializeOwned>(&self, path: &str) -> Result<T, FlinkError> {
        self.repeated(|| self.send(Method::PATCH, path, None, (), self.timeout))
    }

    /// Uploads a jar, once.
    pub(super) fn upload<T: DeserializeOwned>(&self, path: &str, jar: &Path) -> Result<T, FlinkError> {
        let unreadable = |source: &dyn std::fmt::Display| FlinkError::Options {
            reason: format!("jar `{}`: {source}", jar.display()),
        };
        let part = Part::file(jar)
            .map_err(|error| unreadable(&error))?
            .mime_str("application/java-archive")
            .map_err(|error| unreadable(&error))?;
        let form = Form::new().part("jarfile", part);
        let content_type = format!("multipart/form-data; boundary={}", form.boundary());
        let timeout = self.timeout.saturating_mul(SLOW_FACTOR);
        self.send(Method::POST, path, Some(&content_type), form, timeout)
    }

    /// Posts a value to a path, once, for an answer that takes its time: the cluster runs the program's main method for it.
    pub(super) fn post_slowly<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, FlinkError> {
        self.send_json(Method::POST, path, body, self.timeout.saturating_mul(SLOW_FACTOR))
    }

    fn send_json<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
        timeout: Duration,
    ) -> Result<T, FlinkError> {
        let json = serde_json::to_vec(body).map_err(|error| FlinkError::Options {
            reason: format!("a request that cannot be written as JSON: {error}"),
        })?;
        self.send(method, path, Some("application/json"), json.as_slice(), timeout)
    }

    fn repeated<T>(&self, request: impl FnMut() -> Result<T, FlinkError>) -> Result<T, FlinkError> {
        let waits = ExponentialBuilder::default()
            .with_min_delay(FIRST_WAIT)
            .with_max_delay(LONGEST_WAIT)
            .with_max_times(self.retries)
            .with_jitter();
        request
            .retry(waits)
            .when(FlinkError::is_transient)
            .notify(|error, wait| tracing::debug!(%error, ?wait, "repeating the request"))
            .call()
    }

    fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        content_type: Option<&str>,
        body: impl AsSendBody,
        timeout: Duration,
    ) -> Result<T, FlinkError> {
        let endpoint = || format!("{method} {path}");
        let mut request = Request::builder()
            .method(method.clone())
            .uri(format!("{}{path}", self.base));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if let Some(content_type) = content_type {
            request = request.header("content-type", content_type);
        }
        let failed = |error: ureq::Error| match error {
            ureq::Error::Protocol(_) | ureq::Error::Http(_) => FlinkError::Malformed {
                endpoint: endpoint(),
                reason: error.to_string(),
            },
            error => FlinkError::Unreachable {
                endpoint: endpoint(),
                source: Box::new(error),
            },
        };
        let request = request.body(body).map_err(|error| failed(error.into()))?;
        let mut answer = request
            .with_agent(&self.agent)
            .configure()
            .timeout_global(Some(timeout))
            .run()
            .map_err(failed)?;
        let status = answer.status();
        let bytes = match answer
            .body_mut()
            .with_config()
            .limit(self.answer_bytes)
            .read_to_vec()
        {
            Ok(bytes) => bytes,
            Err(ureq::Error::BodyExceedsLimit(limit)) => {
                return Err(FlinkError::Malformed {
                    endpoint: endpoint(),
                    reason: format!("an answer of more than {limit} bytes"),
                });
            }
            Err(error) => return Err(failed(error)),
        };
        if !status.is_success() {
            return Err(refusal(endpoint(), status, &bytes));
        }
        // Some endpoints answer success with nothing at all.
        let json: &[u8] = if bytes.is_empty() { b"null" } else { &bytes };
        serde_json::from_slice(json).map_err(|error| FlinkError::Malformed {
            endpoint: endpoint(),
            reason: error.to_string(),
        })
    }
}

/// What an answer that is no success says, by its status and the first line of Flink's error.
fn refusal(endpoint: String, status: StatusCode, body: &[u8]) -> FlinkError {
    let text = String::from_utf8_lossy(body);
    let whole = serde_json::from_str::<super::answers::Errors>(&text)
        .map_or_else(|_| text.to_string(), |answer| answer.errors.join("\n"));
    tracing::debug!(%endpoint, %status, error = %whole, "the cluster answered with an error");
    let message = first_line(&whole);
    let unsupported = message.contains("UnsupportedOperationException")
        || message.starts_with("Unable to load requested file")
        || message.starts_with("Not found:");
    // The status of a job that is not there fails with 500, in 2.3 at least.
    let unknown = message.contains("Could not find Flink job");
    match status.as_u16() {
        _ if unknown => FlinkError::NotFound { endpoint, message },
        _ if unsupported => FlinkError::Unsupported { endpoint, message },
        401 | 403 | 407 => FlinkError::Unauthorised {
            endpoint,
            status: status.as_u16(),
        },
        404 => FlinkError::NotFound { endpoint, message },
        409 => FlinkError::Busy { endpoint, message },
        405 | 501 => FlinkError::Unsupported { endpoint, message },
        400..=428 => FlinkError::Refused { reason: message },
        status => FlinkError::Server {
            endpoint,
            status,
            message,
        },
    }
}

/// The first line of an error that Flink gives with its whole stack, without the package of the exception, at most 300
/// characters.
pub(super) fn first_line(error: &str) -> String {
    const LONGEST: usize = 300;
    let line = error
        .lines()
        .map(|line| {
            line.trim()
                .trim_start_matches("<Exception on server side:")
                .trim()
        })
        .find(|line| !line.is_empty() && *line != "Internal server error.")
        .unwrap_or("no reason given");
    let line = line
        .split_once(": ")
        .filter(|(class, _)| class.contains('.') && !class.contains(' '))
        .map_or(line.to_owned(), |(class, rest)| {
            let name = class.rsplit('.').next().unwrap_or(class);
            if name == "UnsupportedOperationException" {
                format!("{name}: {rest}")
            } else {
                rest.to_owned()
            }
        });
    line.chars().take(LONGEST).collect()
}

/// The address without what stands before an `@`, for messages.
pub(super) fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        _ => url.to_owned(),
    }
}

fn headers(options: &RestOptions) -> Result<Vec<(HeaderName, HeaderValue)>, FlinkError> {
    let mut headers = Vec::with_capacity(options.headers.len() + 1);
    let mut add = |name: &str, value: &str| -> Result<(), FlinkError> {
        let header = name
            .parse::<HeaderName>()
            .ok()
            .zip(HeaderValue::from_str(value).ok());
        let (name, mut value) = header.ok_or_else(|| FlinkError::Options {
            reason: format!("header `{name}`: its name or value is not valid in HTTP"),
        })?;
        value.set_sensitive(true);
        headers.push((name, value));
        Ok(())
    };
    for (name, value) in &options.headers {
        add(name, value.expose_secret())?;
    }
    match &options.authentication {
        Authentication::None => {}
        Authentication::Bearer(token) => add("authorization", &format!("Bearer {}", token.expose_secret()))?,
        Authentication::Basic { user, password } => {
            let pair = BASE64_STANDARD.encode(format!("{user}:{}", password.expose_secret()));
            add("authorization", &format!("Basic {pair}"))?;
        }
    }
    Ok(headers)
}

fn roots(pem: &[u8]) -> Result<RootCerts, FlinkError> {
    let certificates: Vec<_> = parse_pem(pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() {
        return Err(FlinkError::Options {
            reason: "root certificates: no certificate in the PEM text".into(),
        });
    }
    Ok(RootCerts::from(certificates))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_error_with_its_stack_the_first_line_is_shown() {
        let body = br#"{"errors":["org.apache.flink.runtime.rest.NotFoundException: Job ff not found\n\tat org.apache"]}"#;
        let error = refusal("GET /jobs/ff".into(), StatusCode::NOT_FOUND, body);
        assert_eq!(error.to_string(), "GET /jobs/ff: not found: Job ff not found");
    }

    #[test]
    fn what_a_scheduler_cannot_do_is_unsupported_though_flink_calls_it_an_internal_error() {
        let body = br#"{"errors":["Internal server error.","<Exception on server side:\njava.lang.UnsupportedOperationException: no\n\tat a.b.c\n>"]}"#;
        let error = refusal("PUT /x".into(), StatusCode::INTERNAL_SERVER_ERROR, body);
        assert!(matches!(error, FlinkError::Unsupported { .. }), "{error:?}");
    }

    #[test]
    fn a_job_that_is_not_there_is_not_found_whatever_the_status() {
        let body =
            br#"{"errors":["Could not find Flink job (aa)","<Exception on server side:\norg.apache.X: x>"]}"#;
        let error = refusal("GET /x".into(), StatusCode::INTERNAL_SERVER_ERROR, body);
        assert!(matches!(error, FlinkError::NotFound { .. }), "{error:?}");
    }

    #[test]
    fn an_error_that_is_no_json_is_cut() {
        let error = refusal(
            "GET /x".into(),
            StatusCode::BAD_GATEWAY,
            "ä".repeat(10_000).as_bytes(),
        );
        let FlinkError::Server {
            message, status: 502, ..
        } = error
        else {
            panic!("{error:?}");
        };
        assert_eq!(message.chars().count(), 300);
    }

    #[test]
    fn addresses_that_make_no_sense_are_refused_without_showing_their_password() {
        for url in ["", "flink:8081", "ftp://u:geheim@flink", "http://", "http://a b"] {
            let error = Http::new(&RestOptions::new(url)).err().expect(url).to_string();
            assert!(!error.contains("geheim"), "{error}");
        }
    }

    #[test]
    fn headers_and_certificates_that_make_no_sense_are_refused() {
        let options = RestOptions::new("http://x").with_header("a b", "c");
        assert!(matches!(Http::new(&options), Err(FlinkError::Options { .. })));
        let options = RestOptions::new("http://x").with_header("a", "line\nbreak");
        assert!(matches!(Http::new(&options), Err(FlinkError::Options { .. })));
        let options = RestOptions::new("https://x").with_root_certificates("nothing");
        assert!(matches!(Http::new(&options), Err(FlinkError::Options { .. })));
    }
}
