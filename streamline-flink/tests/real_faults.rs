//! Clusters that lose machines, and endpoints that are not what they should be.
#![allow(clippy::unwrap_used, reason = "tests")]

mod real;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use real::{client, expected, program, rescale, results, start, until, until_running};
use streamline_core::JobStatus;
use streamline_flink::local::Version;
use streamline_flink::rest::Authentication;
use streamline_flink::{FlinkClient, FlinkError, RestClient, RestOptions};

#[test]
fn twenty_rescales_five_of_them_with_a_killed_task_manager_lose_and_double_nothing() {
    let mut cluster = start(Version::V2_3, |options| options);
    let client = client(&cluster, |options| options.with_catch_up(Duration::ZERO));
    let folder = cluster.folder().join("counted");
    // As long as the rescales take, and then some.
    let records = 13_000;
    let program = program(
        &cluster,
        &[
            ("schedule", "0:800"),
            ("records", &records.to_string()),
            ("parse-selectivity", "1.5"),
            ("result", folder.to_str().unwrap()),
        ],
    );
    let job = client.submit(&program, 1).unwrap();
    let mut rescaled = 0;
    for round in 0..20 {
        let wanted = [("parse", 1 + round % 3), ("count", 1 + (round + 1) % 4)];
        if round % 4 == 2 {
            let doomed = (*cluster.task_managers().first().unwrap()).to_owned();
            std::thread::scope(|scope| {
                let change = scope.spawn(|| rescale(&client, &job, &wanted));
                std::thread::sleep(Duration::from_millis(500));
                assert!(cluster.kill_task_manager(&doomed));
                cluster.add_task_manager().unwrap();
                // It may come through or be undone; what counts is that the job runs on.
                rescaled += u32::from(change.join().unwrap().is_ok());
            });
        } else {
            rescale(&client, &job, &wanted).unwrap();
            rescaled += 1;
        }
    }
    assert!(rescaled >= 15, "{rescaled}");
    let deadline = Instant::now() + Duration::from_secs(300);
    while client
        .observe(&job)
        .is_ok_and(|seen| seen.status != JobStatus::Ended)
    {
        assert!(Instant::now() < deadline, "it does not end");
        std::thread::sleep(Duration::from_secs(1));
    }
    assert_eq!(results(&folder), expected(8, records, 1.5, 64));
}

#[test]
fn a_job_outlives_its_job_manager_and_is_seen_again() {
    let mut cluster = start(Version::V2_3, |options| options.with_high_availability());
    let client = client(&cluster, |options| options.with_retries(1));
    let job = client.submit(&program(&cluster, &[]), 1).unwrap();
    until_running(&client, &job);
    cluster.kill_job_manager();
    let seen = client.observe(&job);
    assert!(matches!(&seen, Err(error) if error.is_transient()), "{seen:?}");
    cluster.start_job_manager().unwrap();
    assert!(
        until_running(&client, &job)
            .operators
            .iter()
            .all(|operator| operator.input_rate.is_none_or(|rate| rate >= 0.0))
    );
    rescale(&client, &job, &[("count", 2)]).unwrap();
}

#[test]
fn without_high_availability_a_job_is_lost_with_its_job_manager_and_then_unknown() {
    let mut cluster = start(Version::V2_3, |options| options);
    let client = client(&cluster, |options| options.with_retries(1));
    let job = client.submit(&program(&cluster, &[]), 1).unwrap();
    until_running(&client, &job);
    cluster.kill_job_manager();
    cluster.start_job_manager().unwrap();
    let seen = until(
        &client,
        &job,
        |seen| !matches!(seen, Err(error) if error.is_transient()),
    );
    assert!(matches!(seen, Err(FlinkError::UnknownJob { .. })), "{seen:?}");
}

/// Answers up to eight connections as told, on a port of its own.
fn endpoint(answer: impl Fn(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().take(8).flatten() {
            answer(stream);
        }
    });
    url
}

fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

fn impatient(url: &str) -> RestClient {
    let options = RestOptions::new(url)
        .with_timeout(Duration::from_secs(1))
        .with_retries(0);
    RestClient::connect(options).unwrap()
}

#[test]
fn an_endpoint_that_hangs_is_given_up_in_time() {
    let url = endpoint(|stream| {
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(5));
            drop(stream);
        });
    });
    let begun = Instant::now();
    let seen = impatient(&url).jobs();
    assert!(matches!(seen, Err(FlinkError::Unreachable { .. })), "{seen:?}");
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
}

#[test]
fn garbage_is_an_error_and_never_believed() {
    for body in [
        "",
        "<html>it works</html>",
        "{\"jobs\": 7}",
        "[]",
        "{\"jobs\": [{\"jid\": null}]}",
        "\u{0}\u{1}",
    ] {
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let url = endpoint(move |mut stream| {
            read_head(&mut stream);
            let _ = stream.write_all(answer.as_bytes());
        });
        let seen = impatient(&url).jobs();
        assert!(
            matches!(seen, Err(FlinkError::Malformed { .. })),
            "{body}: {seen:?}"
        );
    }
    let url = endpoint(|mut stream| {
        read_head(&mut stream);
        let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n");
    });
    assert!(impatient(&url).jobs().is_err());
}

#[test]
fn an_answer_that_is_too_long_is_not_read() {
    let url = endpoint(|mut stream| {
        read_head(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"jobs\": [");
        for _ in 0..1_000 {
            if stream.write_all(&[b' '; 1_024]).is_err() {
                return;
            }
        }
    });
    let options = RestOptions::new(&url).with_answer_bytes(10_000).with_retries(0);
    let seen = RestClient::connect(options).unwrap().jobs();
    assert!(matches!(seen, Err(FlinkError::Malformed { .. })), "{seen:?}");
}

/// A gate before a cluster that lets in who shows this.
fn gate(cluster: &str, shown: &'static str) -> String {
    let behind = cluster.trim_start_matches("http://").to_owned();
    endpoint(move |mut stream| {
        let head = read_head(&mut stream);
        let authorised = head.lines().any(|line| {
            let header = line.split_once(": ");
            header.is_some_and(|(name, value)| name.eq_ignore_ascii_case("authorization") && value == shown)
        });
        if !authorised {
            let _ = stream
                .write_all(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            return;
        }
        let head = head.replacen("\r\n", "\r\nConnection: close\r\n", 1);
        let mut cluster = TcpStream::connect(&behind).unwrap();
        cluster.write_all(head.as_bytes()).unwrap();
        let _ = std::io::copy(&mut cluster, &mut stream);
    })
}

#[test]
fn without_the_right_token_or_password_nobody_gets_in_and_the_secret_is_not_told() {
    let cluster = start(Version::V2_3, |options| {
        options.with_setting("web.submit.enable", "false")
    });
    let bearer = |secret: &str| Authentication::Bearer(secret.to_owned().into());
    let basic = |secret: &str| Authentication::Basic {
        user: "ali".into(),
        password: secret.to_owned().into(),
    };
    // The second is "ali:sesame" in Base64.
    for (shown, right, wrong) in [
        ("Bearer sesame", bearer("sesame"), bearer("open-barley")),
        ("Basic YWxpOnNlc2FtZQ==", basic("sesame"), basic("open-barley")),
    ] {
        let url = gate(cluster.url(), shown);
        let with = |authentication| {
            let options = RestOptions::new(&url).with_authentication(authentication);
            RestClient::connect(options.with_retries(0)).unwrap()
        };
        assert_eq!(with(right).jobs().unwrap(), []);
        let refused = with(wrong).jobs().unwrap_err();
        assert!(
            matches!(refused, FlinkError::Unauthorised { status: 401, .. }),
            "{refused:?}"
        );
        assert!(!format!("{refused} {refused:?}").contains("barley"));
    }
}

#[test]
fn behind_tls_a_cluster_is_trusted_by_its_certificate_and_only_by_it() {
    let cluster = start(Version::V2_3, |options| options.with_tls());
    let trusting = client(&cluster, |options| options);
    let job = trusting.submit(&program(&cluster, &[]), 1).unwrap();
    until_running(&trusting, &job);
    rescale(&trusting, &job, &[("count", 2)]).unwrap();
    let stranger = RestClient::connect(RestOptions::new(cluster.url()).with_retries(0)).unwrap();
    let refused = stranger.jobs().unwrap_err();
    assert!(matches!(refused, FlinkError::Unreachable { .. }), "{refused:?}");
    assert!(format!("{refused:?}").contains("UnknownIssuer"), "{refused:?}");
}
