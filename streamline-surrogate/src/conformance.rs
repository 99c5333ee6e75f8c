//! What every [`PerformanceSurrogate`] must do, as a check that any implementation can run in its tests.

use streamline_core::OperatorKind;

use crate::{PerformanceSurrogate, Prediction, Query, SurrogateError};

/// A rule that a surrogate broke.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule}: {detail}")]
pub struct Violation {
    /// The rule.
    pub rule: &'static str,
    /// Where and how it was broken.
    pub detail: String,
}

/// Checks a surrogate against the rules of its trait, on a few thousand queries from idle to flooded and from tiny to
/// huge.
///
/// Its answers are finite and not negative, throughput is at most the input rate, uncertainties are not negative, an
/// answer does not depend on the batch around its query, buffers of the wrong length and senseless queries are refused
/// (the latter by their place), and an empty batch is answered.
///
/// # Errors
/// The first [`Violation`].
///
/// # Examples
///
/// ```
/// use streamline_surrogate::{Analytic, conformance};
///
/// conformance::check(&Analytic::default())?;
/// # Ok::<(), conformance::Violation>(())
/// ```
pub fn check(surrogate: &dyn PerformanceSurrogate) -> Result<(), Violation> {
    let queries = queries();
    let answers = ask(surrogate, &queries)?;
    for (index, (query, answer)) in queries.iter().zip(&answers).enumerate() {
        check_bounds(query, answer).map_err(|detail| Violation {
            rule: "answers are finite, not negative, and process no more than arrives",
            detail: format!("query {index}, {query:?}: {detail}"),
        })?;
    }
    const EVERY: usize = 97;
    for (index, (query, answer)) in queries.iter().zip(&answers).enumerate().step_by(EVERY) {
        let alone = ask(surrogate, std::slice::from_ref(query))?;
        if alone.first() != Some(answer) {
            return Err(Violation {
                rule: "an answer does not depend on its batch",
                detail: format!("query {index}: {answer:?} in a batch, {alone:?} alone"),
            });
        }
    }
    ask(surrogate, &[])?;
    check_lengths(surrogate, &queries)?;
    check_refusals(surrogate, &queries)
}

fn ask(surrogate: &dyn PerformanceSurrogate, queries: &[Query]) -> Result<Vec<Prediction>, Violation> {
    let mut out = vec![Prediction::ZERO; queries.len()];
    surrogate.predict(queries, &mut out).map_err(|error| Violation {
        rule: "sound queries are answered",
        detail: format!("a batch of {}: {error}", queries.len()),
    })?;
    Ok(out)
}

fn check_bounds(query: &Query, answer: &Prediction) -> Result<(), String> {
    let Prediction {
        estimate,
        uncertainty,
        ..
    } = answer;
    for (name, value) in [
        ("throughput", estimate.throughput),
        ("latency_ms", estimate.latency_ms),
        ("cpu_cores", estimate.cpu_cores),
        ("uncertainty of throughput", uncertainty.throughput),
        ("uncertainty of latency_ms", uncertainty.latency_ms),
        ("uncertainty of cpu_cores", uncertainty.cpu_cores),
    ] {
        if !(value.is_finite() && value >= 0.0) {
            return Err(format!("{name} is {value}"));
        }
    }
    if estimate.throughput > query.input_rate {
        return Err(format!(
            "throughput is {} at an input rate of {}",
            estimate.throughput, query.input_rate
        ));
    }
    Ok(())
}

fn check_lengths(surrogate: &dyn PerformanceSurrogate, queries: &[Query]) -> Result<(), Violation> {
    for room in [0, queries.len() - 1, queries.len() + 1] {
        match surrogate.predict(queries, &mut vec![Prediction::ZERO; room]) {
            Err(SurrogateError::WrongLength { .. }) => {}
            other => {
                return Err(Violation {
                    rule: "an output of another length than the batch is refused",
                    detail: format!("{} queries and room for {room} gave {other:?}", queries.len()),
                });
            }
        }
    }
    Ok(())
}

fn check_refusals(surrogate: &dyn PerformanceSurrogate, queries: &[Query]) -> Result<(), Violation> {
    let spoil: [fn(&mut Query); 8] = [
        |query| query.unit_rate = 0.0,
        |query| query.unit_rate = f64::NAN,
        |query| query.parallelism = 0,
        |query| query.segment_bytes = 0,
        |query| query.input_rate = -1.0,
        |query| query.selectivity = f64::INFINITY,
        |query| query.record_bytes = 0.0,
        |query| query.colocation_load = f64::NAN,
    ];
    let place = queries.len() / 2;
    for spoil in spoil {
        let mut batch = queries.to_vec();
        if let Some(query) = batch.get_mut(place) {
            spoil(query);
        }
        match surrogate.predict(&batch, &mut vec![Prediction::ZERO; batch.len()]) {
            Err(SurrogateError::InvalidQuery { index, .. }) if index == place => {}
            other => {
                return Err(Violation {
                    rule: "a senseless query is refused by its place in the batch",
                    detail: format!("{:?} at {place} gave {other:?}", batch.get(place)),
                });
            }
        }
    }
    Ok(())
}

/// Queries on a grid, from idle to flooded and from tiny to huge.
fn queries() -> Vec<Query> {
    let mut queries = Vec::new();
    for kind in OperatorKind::ALL {
        for unit_rate in [1e-3, 5_000.0, 1e9] {
            for parallelism in [1, 7, 64, 32_768] {
                for load in [0.0, 0.4, 0.999, 1.0, 30.0] {
                    for (segment_bytes, buffer_timeout_ms, selectivity, record_bytes, colocation_load) in [
                        (32 << 10, 100, 1.0, 100.0, 0.5),
                        (1, 0, 0.0, 1e6, 0.0),
                        (u32::MAX, u32::MAX, 1e5, 1.0, 1e3),
                    ] {
                        queries.push(Query {
                            kind,
                            unit_rate,
                            parallelism,
                            segment_bytes,
                            buffer_timeout_ms,
                            input_rate: (load * unit_rate * f64::from(parallelism)).min(1e12),
                            selectivity,
                            record_bytes,
                            colocation_load,
                        });
                    }
                }
            }
        }
    }
    queries
}

#[cfg(test)]
mod tests {
    use streamline_core::OperatorEstimate;

    use super::*;
    use crate::Analytic;

    /// A surrogate that makes one mistake.
    struct Wrong(fn(&[Query], &mut [Prediction]) -> Result<(), SurrogateError>);

    impl PerformanceSurrogate for Wrong {
        fn name(&self) -> &str {
            "wrong"
        }

        fn predict(&self, queries: &[Query], out: &mut [Prediction]) -> Result<(), SurrogateError> {
            (self.0)(queries, out)
        }
    }

    fn broken(predict: fn(&[Query], &mut [Prediction]) -> Result<(), SurrogateError>) -> &'static str {
        check(&Wrong(predict)).unwrap_err().rule
    }

    fn right(queries: &[Query], out: &mut [Prediction]) -> Result<(), SurrogateError> {
        Analytic::default().predict(queries, out)
    }

    #[test]
    fn our_own_surrogates_conform() {
        check(&Analytic::default()).unwrap();
        #[cfg(feature = "burn")]
        {
            let options = crate::MlpOptions {
                members: 2,
                epochs: 3,
                hidden: vec![8],
                ..crate::MlpOptions::default()
            };
            check(&crate::Mlp::fit(&crate::synthetic::world(200, 1), &options).unwrap()).unwrap();
        }
    }

    #[test]
    fn every_mistake_is_found() {
        assert!(
            broken(|queries, out| {
                right(queries, out)?;
                for out in out {
                    out.estimate.throughput += 1.0;
                }
                Ok(())
            })
            .starts_with("answers are finite")
        );
        assert!(
            broken(|queries, out| {
                right(queries, out)?;
                let many = queries.len() as f64;
                for out in out {
                    out.estimate = OperatorEstimate {
                        cpu_cores: many,
                        ..out.estimate
                    };
                }
                Ok(())
            })
            .starts_with("an answer does not depend")
        );
        assert!(
            broken(|queries, out| right(&queries[..queries.len().min(out.len())], out))
                .starts_with("an output of another length")
        );
        assert!(
            broken(|queries, out| {
                let sound: Vec<Query> = queries
                    .iter()
                    .copied()
                    .filter(|query| query.check(0).is_ok())
                    .collect();
                SurrogateError::check_lengths(queries.len(), out.len())?;
                right(&sound, &mut out[..sound.len()])
            })
            .starts_with("a senseless query")
        );
    }
}
