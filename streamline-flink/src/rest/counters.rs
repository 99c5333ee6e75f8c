//! Counters of subtasks, and what passed between two looks at them.
//!
//! A cluster reads the counters of its TaskManagers only now and then (every 10 s unless told otherwise), so two looks a minute
//! apart may see counters that are 50 or 70 s apart. What a counter counts is therefore divided by the time that the *same*
//! subtask says has passed: busy, idle and backpressured time together grow by one second a second.

use super::answers::{Subtask, VertexDetails};

/// Looks closer together than this, in milliseconds of the counters' own time, give no rate.
const SHORTEST_MS: f64 = 500.0;

/// The counters of the subtasks of one vertex.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Counters {
    pub subtasks: Vec<SubtaskCounters>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SubtaskCounters {
    /// Attempt and start time: other ones mean that the counters began anew.
    pub life: (i64, i64),
    pub task_manager: Option<String>,
    /// Records and bytes, in and out.
    pub read: Option<f64>,
    pub written: Option<f64>,
    pub bytes_read: Option<f64>,
    pub bytes_written: Option<f64>,
    pub time: Time,
}

/// Milliseconds that a subtask spent. A source of the old kind does not know how busy it is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Time {
    pub busy: Option<f64>,
    pub idle: Option<f64>,
    pub backpressured: Option<f64>,
}

impl Time {
    /// The subtask's own clock.
    fn clock(self) -> Option<f64> {
        Some(self.busy? + self.idle? + self.backpressured?)
    }

    /// Milliseconds from an earlier look to this one: by the subtask's own clock, else by ours. `None` if it is too short.
    pub(super) fn since(self, before: Self, ours_ms: f64) -> Option<f64> {
        let passed = match (self.clock(), before.clock()) {
            (Some(now), Some(then)) => now - then,
            _ => ours_ms,
        };
        (passed >= SHORTEST_MS).then_some(passed)
    }
}

impl Counters {
    pub(super) fn of(details: VertexDetails) -> Self {
        let mut subtasks = details.subtasks;
        subtasks.sort_by_key(|subtask| subtask.subtask);
        Self {
            subtasks: subtasks.into_iter().map(SubtaskCounters::of).collect(),
        }
    }

    /// Whether these counters went on from the earlier ones, rather than beginning anew.
    pub(super) fn go_on_from(&self, before: &Self) -> bool {
        self.subtasks.len() == before.subtasks.len()
            && self.subtasks.iter().zip(&before.subtasks).all(|(now, then)| {
                let forth = |now: Option<f64>, then: Option<f64>| match (now, then) {
                    (Some(now), Some(then)) => now >= then,
                    _ => true,
                };
                now.life == then.life && forth(now.read, then.read) && forth(now.written, then.written)
            })
    }
}

impl SubtaskCounters {
    fn of(subtask: Subtask) -> Self {
        let metrics = subtask.metrics;
        let complete = |value: Option<f64>, complete: bool| value.filter(|_| complete);
        // Without a single complete counter, the times are not read yet either, and 0 is no measurement.
        let any = metrics.read_records_complete || metrics.write_records_complete;
        Self {
            life: (subtask.attempt, subtask.start_time),
            task_manager: subtask
                .task_manager
                .filter(|id| !id.is_empty() && id != "(unassigned)"),
            read: complete(metrics.read_records, metrics.read_records_complete),
            written: complete(metrics.write_records, metrics.write_records_complete),
            bytes_read: complete(metrics.read_bytes, metrics.read_bytes_complete),
            bytes_written: complete(metrics.write_bytes, metrics.write_bytes_complete),
            time: Time {
                busy: complete(metrics.accumulated_busy_time, any),
                idle: complete(metrics.accumulated_idle_time, any),
                backpressured: complete(metrics.accumulated_backpressured_time, any),
            },
        }
    }
}

/// What a vertex did between two looks: rates per second of all subtasks together, and shares of the time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Passed {
    pub read: Option<f64>,
    pub written: Option<f64>,
    pub bytes_read: Option<f64>,
    pub bytes_written: Option<f64>,
    pub busy: Option<f64>,
    pub busiest: Option<f64>,
    pub backpressured: Option<f64>,
    /// Busy share of each subtask, and where it runs.
    pub by_subtask: Vec<(Option<String>, Option<f64>)>,
}

impl Passed {
    /// What passed from `before` to `now`, whose counters must go on from those; `ours_ms` is what our clock says.
    pub(super) fn between(before: &Counters, now: &Counters, ours_ms: f64) -> Self {
        let pairs = || before.subtasks.iter().zip(&now.subtasks);
        let rate = |counter: fn(&SubtaskCounters) -> Option<f64>| {
            pairs()
                .map(|(then, now)| {
                    let passed = now.time.since(then.time, ours_ms)?;
                    Some((counter(now)? - counter(then)?) / passed * 1e3)
                })
                .sum::<Option<f64>>()
        };
        let share = |part: fn(Time) -> Option<f64>| -> Vec<Option<f64>> {
            pairs()
                .map(|(then, now)| {
                    let passed = now.time.since(then.time, ours_ms)?;
                    Some(((part(now.time)? - part(then.time)?) / passed).clamp(0.0, 1.0))
                })
                .collect()
        };
        let busy = share(|time| time.busy);
        let backpressured = share(|time| time.backpressured);
        Self {
            read: rate(|counters| counters.read),
            written: rate(|counters| counters.written),
            bytes_read: rate(|counters| counters.bytes_read),
            bytes_written: rate(|counters| counters.bytes_written),
            busy: mean(&busy),
            busiest: busy
                .iter()
                .copied()
                .collect::<Option<Vec<f64>>>()
                .and_then(|shares| shares.into_iter().reduce(f64::max)),
            backpressured: mean(&backpressured),
            by_subtask: now
                .subtasks
                .iter()
                .map(|subtask| subtask.task_manager.clone())
                .zip(busy)
                .collect(),
        }
    }
}

/// The mean of values that are all known.
pub(super) fn mean(values: &[Option<f64>]) -> Option<f64> {
    let sum = values.iter().copied().sum::<Option<f64>>()?;
    (!values.is_empty()).then(|| sum / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counters(read: f64, busy: f64, idle: f64) -> Counters {
        Counters {
            subtasks: vec![SubtaskCounters {
                life: (0, 1),
                read: Some(read),
                time: Time {
                    busy: Some(busy),
                    idle: Some(idle),
                    backpressured: Some(0.0),
                },
                ..SubtaskCounters::default()
            }],
        }
    }

    #[test]
    fn rates_are_by_the_clock_of_the_counters_and_not_by_ours() {
        // Ours says 60 s, but what was seen spans 50 s.
        let passed = Passed::between(&counters(0.0, 0.0, 0.0), &counters(5e4, 1e4, 4e4), 6e4);
        assert_eq!((passed.read, passed.busy), (Some(1e3), Some(0.2)));
    }

    #[test]
    fn counters_that_stand_still_say_nothing() {
        let passed = Passed::between(&counters(7.0, 9.0, 9.0), &counters(7.0, 9.0, 9.0), 6e4);
        assert_eq!((passed.read, passed.busy), (None, None));
    }

    #[test]
    fn a_source_that_does_not_know_how_busy_it_is_is_timed_by_our_clock() {
        let mut before = counters(0.0, 0.0, 0.0);
        let mut now = counters(6e3, 0.0, 1e9);
        before.subtasks[0].time.busy = None;
        now.subtasks[0].time.busy = None;
        let passed = Passed::between(&before, &now, 6e4);
        assert_eq!((passed.read, passed.busy), (Some(100.0), None));
    }

    #[test]
    fn counters_of_another_life_do_not_go_on() {
        let before = counters(10.0, 0.0, 0.0);
        assert!(counters(10.0, 1.0, 1.0).go_on_from(&before));
        assert!(!counters(9.0, 1.0, 1.0).go_on_from(&before));
        let mut reborn = counters(11.0, 1.0, 1.0);
        reborn.subtasks[0].life = (1, 1);
        assert!(!reborn.go_on_from(&before));
        assert!(!Counters::default().go_on_from(&before));
    }

    #[test]
    fn what_is_not_complete_is_unknown() {
        let json = r#"{"subtasks":[{"subtask":0,"attempt":0,"start-time":5,"metrics":{
            "read-records":0,"read-records-complete":false,"write-records":0,"write-records-complete":false,
            "accumulated-busy-time":"NaN","accumulated-idle-time":0,"accumulated-backpressured-time":0}}]}"#;
        let counters = Counters::of(serde_json::from_str(json).unwrap());
        assert_eq!(counters.subtasks[0].read, None);
        assert_eq!(counters.subtasks[0].time, Time::default());
    }

    proptest! {
        #[test]
        fn shares_and_rates_make_sense_whatever_is_counted(
            a in prop::array::uniform4(0.0..1e9f64), b in prop::array::uniform4(0.0..1e9f64), ours in -1.0..1e6f64,
        ) {
            let (before, now) = (counters(a[0], a[1], a[2]), counters(a[0] + b[0], b[1], b[2]));
            let passed = Passed::between(&before, &now, ours);
            prop_assert!(passed.read.is_none_or(|rate| rate.is_finite() && rate >= 0.0));
            prop_assert!(passed.busy.is_none_or(|busy| (0.0..=1.0).contains(&busy)));
        }
    }
}
