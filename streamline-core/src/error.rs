use crate::JobId;

/// Why a graph, configuration, series, cluster or placement was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CoreError {
    /// The graph has no operator at all.
    #[error("the job graph has no operators")]
    EmptyGraph,
    /// Two operators share an id.
    #[error("operators {first} and {second} both have the id `{id}`")]
    DuplicateOperator {
        /// The id.
        id: String,
        /// Index of the operator that has it first.
        first: usize,
        /// Index of the operator that repeats it.
        second: usize,
    },
    /// An edge names an operator that is not there.
    #[error("edge {edge} refers to operator {operator}, but the graph has {operators} operators")]
    DanglingEdge {
        /// Index of the edge.
        edge: usize,
        /// The operator index that it names.
        operator: usize,
        /// How many operators there are.
        operators: usize,
    },
    /// The edges close a cycle, so no order of processing exists.
    #[error("the job graph has a cycle through `{}`", operators.join("` → `"))]
    Cycle {
        /// Ids of the operators on one cycle, in order.
        operators: Vec<String>,
    },
    /// A source has inputs, or an operator without inputs is not a source.
    #[error("operator `{operator}` is {kind} but has {inputs} inputs")]
    SourceMismatch {
        /// Id of the operator.
        operator: String,
        /// The kind it claims, in words.
        kind: &'static str,
        /// How many edges lead into it.
        inputs: usize,
    },
    /// The bounds of an operator's parallelism leave no value to choose.
    #[error(
        "operator `{operator}` has no admissible parallelism: lower bound {lower}, upper bound {upper} (after max parallelism and partitions)"
    )]
    EmptyBounds {
        /// Id of the operator.
        operator: String,
        /// The lower bound.
        lower: u32,
        /// The upper bound that remains.
        upper: u32,
    },
    /// A parallelism lies outside the bounds of its operator.
    #[error("operator `{operator}`: parallelism {parallelism} is outside {lower}..={upper}")]
    ParallelismOutOfBounds {
        /// Id of the operator.
        operator: String,
        /// The parallelism that was asked for.
        parallelism: u32,
        /// The smallest that is allowed.
        lower: u32,
        /// The largest that is allowed.
        upper: u32,
    },
    /// A forward edge joins operators of different parallelism.
    #[error("forward edge {edge} joins parallelism {from} to parallelism {to}")]
    ForwardMismatch {
        /// Index of the edge.
        edge: usize,
        /// Parallelism of the upstream operator.
        from: u32,
        /// Parallelism of the downstream operator.
        to: u32,
    },
    /// A list has the wrong length.
    #[error("{what}: expected {expected} values, got {given}")]
    WrongLength {
        /// What the list holds.
        what: &'static str,
        /// The length that fits.
        expected: usize,
        /// The length that came.
        given: usize,
    },
    /// A number is NaN, infinite, negative or otherwise outside its range.
    #[error("{what} is {value}, expected {expected}")]
    InvalidNumber {
        /// Where the number stands, such as `source rate 2`.
        what: String,
        /// The number.
        value: f64,
        /// The range it should lie in, in words.
        expected: &'static str,
    },
    /// A time series needs a positive step.
    #[error("a time series needs a step of at least 1 ms")]
    ZeroStep,
    /// A time series would be longer than can be held.
    #[error(
        "samples from {first_ms} ms to {last_ms} ms at a step of {step_ms} ms need more than {limit} points"
    )]
    SeriesTooLong {
        /// Time of the first sample.
        first_ms: i64,
        /// Time of the last sample.
        last_ms: i64,
        /// The step that was asked for.
        step_ms: u64,
        /// The most points a series holds.
        limit: usize,
    },
    /// Two TaskManagers share an id.
    #[error("two TaskManagers have the id `{id}`")]
    DuplicateTaskManager {
        /// The id.
        id: String,
    },
    /// An instance was placed twice.
    #[error("instance {operator}/{subtask} of job {job} is placed twice")]
    DuplicateInstance {
        /// Index of the job.
        job: usize,
        /// Index of the operator.
        operator: usize,
        /// Index of the subtask.
        subtask: u32,
    },
    /// A job is not known here.
    #[error("no job `{job}`")]
    UnknownJob {
        /// The id that was asked for.
        job: JobId,
    },
}

/// Refuses what is not a finite number of at least zero, naming the place.
pub(crate) fn non_negative(value: f64, what: impl FnOnce() -> String) -> Result<f64, CoreError> {
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        Err(CoreError::InvalidNumber {
            what: what(),
            value,
            expected: "a finite number of at least 0",
        })
    }
}

/// Refuses a list of the wrong length.
pub(crate) fn same_length(what: &'static str, expected: usize, given: usize) -> Result<(), CoreError> {
    if expected == given {
        Ok(())
    } else {
        Err(CoreError::WrongLength {
            what,
            expected,
            given,
        })
    }
}
