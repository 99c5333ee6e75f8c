//! What a real cluster once answered, recorded on the way and given again.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use streamline_core::JobId;

/// The answers to each path, in the order in which they were given.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Recording {
    pub(crate) job: JobId,
    pub(crate) answers: BTreeMap<String, Vec<String>>,
}

/// Something that answers for a cluster, until it is dropped.
pub(crate) struct Endpoint {
    pub(crate) url: String,
    over: Arc<AtomicBool>,
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes it up.
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
    }
}

/// Answers each request with what `answer` gives for its path, or with 404.
pub(crate) fn endpoint(answer: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let over = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&over);
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            if ended.load(Ordering::Relaxed) {
                return;
            }
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || {
                let head = read_head(&mut stream);
                let path = head.split_whitespace().nth(1).unwrap_or_default();
                let (status, body) = match answer(path) {
                    Some(body) => ("200 OK", body),
                    None => ("404 Not Found", String::new()),
                };
                let head = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all((head + &body).as_bytes());
            });
        }
    });
    Endpoint { url, over }
}

/// Stands before a cluster and writes down what it answers.
pub(crate) fn recorder(cluster: &str, recording: Arc<Mutex<Recording>>) -> Endpoint {
    let behind = cluster.trim_start_matches("http://").to_owned();
    endpoint(move |path| {
        let mut cluster = TcpStream::connect(&behind).expect("the cluster");
        let request = format!("GET {path} HTTP/1.1\r\nHost: {behind}\r\nConnection: close\r\n\r\n");
        cluster.write_all(request.as_bytes()).expect("the cluster reads");
        let mut answer = String::new();
        cluster.read_to_string(&mut answer).expect("the cluster answers");
        let body = answer.split_once("\r\n\r\n").expect("a head").1.to_owned();
        let mut recording = recording.lock().expect("no other failed");
        recording
            .answers
            .entry(path.to_owned())
            .or_default()
            .push(body.clone());
        Some(body)
    })
}

/// Gives a recording again, each answer once and the last of a path for ever.
pub(crate) fn player(recording: Recording) -> Endpoint {
    let given = Mutex::new(BTreeMap::<String, usize>::new());
    endpoint(move |path| {
        let answers = recording.answers.get(path)?;
        let mut given = given.lock().expect("no other failed");
        let next = given.entry(path.to_owned()).or_default();
        let answer = answers.get(*next).or(answers.last())?;
        *next += 1;
        Some(answer.clone())
    })
}

fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}
