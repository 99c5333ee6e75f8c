//! Runs one search or one building block and prints what it took as JSON: `moo-peers run ours ZDT1 100 250 7`.

mod blocks;
mod moors_peer;
mod optirustic_peer;
mod ours;

use std::fmt::Write;

/// What a search took and found.
pub struct Found {
    pub seconds: f64,
    pub front: Vec<Vec<f64>>,
}

/// The seconds that all threads of this process have run: for work on one thread the time it takes on a quiet machine.
pub fn cpu_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let nanoseconds = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e9
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["run", peer, problem, population, generations, seed] => {
            let number = |text: &str| text.parse::<usize>().expect("a number");
            let (population, generations, seed): (usize, usize, usize) =
                (number(population), number(generations), number(seed));
            let found = match *peer {
                "ours" => ours::run(problem, population, generations as u64, seed as u64),
                "moors" => moors_peer::run(problem, population, generations as u64, seed as u64),
                "optirustic" => optirustic_peer::run(problem, population, generations as u64, seed as u64),
                _ => panic!("no peer {peer} in this build"),
            };
            println!("{}", json(&found));
        }
        ["threads", micros] => blocks::threads(micros.parse().expect("microseconds")),
        ["block", kind, file, objectives, threads, repeats] => {
            let number = |text: &str| text.parse().expect("a number");
            blocks::time(kind, file, number(objectives), number(threads), number(repeats));
        }
        _ => panic!(
            "usage: moo-peers run PEER PROBLEM POPULATION GENERATIONS SEED | threads MICROSECONDS | \
             block ranks|hypervolume FILE OBJECTIVES THREADS REPEATS"
        ),
    }
}

fn json(found: &Found) -> String {
    let mut text = format!("{{\"seconds\": {}, \"front\": [", found.seconds);
    for (i, point) in found.front.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}{point:?}");
    }
    text + "]}"
}
