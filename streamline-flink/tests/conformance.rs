//! The simulated cluster keeps the promises of `FlinkClient`, and whoever does not is caught.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use streamline_core::{Cluster, JobId, Observation, Partitioning};
use streamline_flink::{
    Applied, Capabilities, Change, FlinkClient, FlinkError, Model, SimulatedCluster, conformance,
};
use support::{chain, config, roomy, running, seconds};

#[test]
fn the_simulated_cluster_keeps_the_promises() {
    // With room for a change, without any, above its capacity, and with another job beside it.
    for (cluster, rate) in [
        (roomy(2), 1e3),
        (Cluster::uniform(1, 2.0, 8 << 30, 4).unwrap(), 1e3),
        (roomy(1), 1e5),
    ] {
        let (cluster, id) = running(
            Model::default(),
            cluster,
            chain(&[1e5, 1e4], Partitioning::Hash, &[1, 2], rate),
        );
        cluster
            .submit(chain(&[1e5, 1e4], Partitioning::Hash, &[1; 2], 1e3))
            .unwrap();
        conformance::check(&cluster, &id, &mut |time| cluster.advance(time)).unwrap();
        assert_eq!(cluster.observe(&id).unwrap().config, config(&[1, 2]));
    }
}

#[test]
fn a_job_that_is_down_is_waited_for() {
    let (cluster, id) = running(
        Model::default(),
        roomy(1),
        chain(&[1e5, 1e4], Partitioning::Hash, &[1, 2], 1e3),
    );
    cluster.fail_job(&id).unwrap();
    conformance::check(&cluster, &id, &mut |time| cluster.advance(time)).unwrap();
}

/// What a client does wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    MakesUpUnknownJobs,
    AcceptsAnything,
    ChangesWhatItRefuses,
    ForgetsChanges,
    SeesNonsense,
    ListsNothing,
}

/// A simulated cluster whose client does one thing wrong.
struct Faulty {
    inner: SimulatedCluster,
    job: JobId,
    fault: Fault,
}

impl FlinkClient for Faulty {
    fn capabilities(&self) -> Result<Capabilities, FlinkError> {
        self.inner.capabilities()
    }

    fn jobs(&self) -> Result<Vec<JobId>, FlinkError> {
        if self.fault == Fault::ListsNothing {
            return Ok(Vec::new());
        }
        self.inner.jobs()
    }

    fn cluster(&self) -> Result<Cluster, FlinkError> {
        self.inner.cluster()
    }

    fn observe(&self, job: &JobId) -> Result<Observation, FlinkError> {
        let of = if self.fault == Fault::MakesUpUnknownJobs {
            &self.job
        } else {
            job
        };
        let mut seen = self.inner.observe(of)?;
        seen.job = job.clone();
        if self.fault == Fault::SeesNonsense {
            seen.operators[0].busy = Some(f64::NAN);
        }
        Ok(seen)
    }

    fn apply(&self, job: &JobId, change: &Change) -> Result<Applied, FlinkError> {
        let known = *job == self.job;
        match self.fault {
            Fault::AcceptsAnything if known => Ok(Applied::new(true, seconds(0))),
            Fault::ForgetsChanges
                if known
                    && change.config.check(&self.inner.observe(job)?.graph).is_ok()
                    && change.placement.is_none() =>
            {
                Ok(Applied::new(true, seconds(0)))
            }
            Fault::ChangesWhatItRefuses if known => self.inner.apply(job, change).inspect_err(|_| {
                let _ = self.inner.apply(job, &Change::new(config(&[1, 3])));
            }),
            _ => self.inner.apply(job, change),
        }
    }
}

#[test]
fn who_breaks_a_promise_is_caught_with_that_promise() {
    for (fault, promise) in [
        (Fault::MakesUpUnknownJobs, "a job that does not exist is unknown"),
        (Fault::AcceptsAnything, "a change that makes no sense is refused"),
        (
            Fault::ChangesWhatItRefuses,
            "a refused change leaves the job as it was",
        ),
        (Fault::ForgetsChanges, "what was applied is what runs"),
        (Fault::SeesNonsense, "what is seen makes sense"),
        (Fault::ListsNothing, "a job that runs is listed"),
    ] {
        assert_eq!(caught(fault).promise, promise, "{fault:?}");
    }
}

fn caught(fault: Fault) -> conformance::Broken {
    let job = chain(&[1e5, 1e4], Partitioning::Hash, &[1, 2], 1e3);
    let (inner, job) = running(Model::default(), roomy(1), job);
    let client = Faulty {
        inner,
        job: job.clone(),
        fault,
    };
    conformance::check(&client, &job, &mut |time| client.inner.advance(time)).unwrap_err()
}
