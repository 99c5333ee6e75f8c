//! Watches the jobs of a cluster: `cargo run -p streamline-flink --example watch -- http://127.0.0.1:8081 5`, for five looks.

#![allow(clippy::print_stdout, reason = "an example speaks to its reader")]

use std::time::Duration;

use streamline_flink::{FlinkClient, FlinkError, RestClient, RestOptions};

fn main() -> Result<(), FlinkError> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().unwrap_or_else(|| "http://127.0.0.1:8081".into());
    let looks = arguments.next().and_then(|looks| looks.parse().ok()).unwrap_or(3);
    let client = RestClient::connect(RestOptions::new(url))?;
    println!("{:#?}", client.capabilities()?);
    let cluster = client.cluster()?;
    println!("{} task slots, {} cores", cluster.slots(), cluster.cpu_cores());
    for look in 0..looks {
        if look > 0 {
            std::thread::sleep(Duration::from_secs(10));
        }
        for job in client.jobs()? {
            let seen = client.observe(&job)?;
            let known = |value: Option<f64>| value.map_or("?".into(), |value| format!("{value:.3}"));
            let estimated = if seen.latency_estimated {
                " (estimated)"
            } else {
                ""
            };
            println!(
                "{} {:?}: latency {}{estimated} ms",
                seen.name,
                seen.status,
                known(seen.latency_ms)
            );
            for (source, metrics) in seen.graph.sources().zip(&seen.sources) {
                let name = &seen.graph.operators()[source].name;
                println!(
                    "  {name}: {} records/s arrive, {} wait",
                    known(metrics.arrival_rate),
                    known(metrics.backlog)
                );
            }
            let operators = seen.graph.operators().iter().zip(&seen.config.operators);
            for ((operator, config), metrics) in operators.zip(&seen.operators) {
                println!(
                    "  {} ×{}: {} records/s, busy {}, true rate {}, {} cores, {} ms, {:?} bytes of state",
                    operator.name,
                    config.parallelism,
                    known(metrics.input_rate),
                    known(metrics.busy),
                    known(metrics.true_processing_rate()),
                    known(metrics.cpu_cores),
                    known(metrics.latency_ms),
                    metrics.state_bytes,
                );
            }
            for (edge, metrics) in seen.graph.edges().iter().zip(&seen.edges) {
                println!(
                    "  {} → {}: selectivity {}",
                    edge.from,
                    edge.to,
                    known(metrics.selectivity)
                );
            }
        }
    }
    Ok(())
}
