//! Placement of operator instances on TaskManagers: packing that beats the heuristics, moves little, and scales.
//!
//! A [`Request`] says what the instances need ([`Demand`]), which TaskManagers there are, where things run now, what flows
//! between operators ([`Traffic`]), what must be obeyed ([`Constraint`]), who comes first ([`JobShare`]) and what is wanted
//! ([`Objective`]). A [`Scheduler`] answers with a [`Schedule`]: a placement that never gives a TaskManager more than it has,
//! its [`Measures`], and, where not everything fits, exactly what is missing and which job got less and why.
//!
//! ```
//! use streamline_sched::{LocalSearch, LowerBounds, Scheduler, Synthetic};
//!
//! // 300 instances of made-up jobs and 40 TaskManagers of three sizes.
//! let synthetic = Synthetic::new(300, 40, 1)?;
//! let request = synthetic.request().with_headroom(0.1);
//! let schedule = LocalSearch::default().with_steps(200_000).schedule(&request)?;
//! assert!(schedule.is_complete());
//! let gap = LowerBounds::of(&request)?.gap(&schedule);
//! assert!(gap < 0.1, "at most 10 % above what any placement costs");
//! println!("{}", schedule.text(&synthetic.cluster, |i| format!("{}/{}/{}", i.job, i.operator, i.subtask)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which scheduler
//!
//! | scheduler | for | time for 10,000 instances on 1,000 TaskManagers |
//! |---|---|---|
//! | [`FirstFitDecreasing`], [`BestFitDecreasing`] | a placement at once | some 20 ms |
//! | [`Spread`] | surviving the loss of a TaskManager | some 200 ms |
//! | [`LocalSearch`] | price, traffic, moves, contention, by any [`Objective`] | some 300 ms, adjustable |
//! | [`BranchAndBound`] | the proven best for a dozen instances | – |
//! | [`IncrementalPlacement`] | one job changes and the rest stays | in proportion to the job |
//!
//! [`PackingProblem`] answers the other question, which TaskManagers to rent: bins of several kinds and prices, any number of
//! resources, with a proven bound. [`FlinkPlan`] says what of a schedule stock Flink will honour, and what to add, release and
//! drain. [`evaluate`] measures a placement that came from elsewhere. The feature `plot` adds `picture`, an SVG.
//!
//! # A scheduler of one's own
//!
//! [`Scheduler`] is object-safe and has two methods. The easiest way to keep its promises is to decide on a placement and let
//! [`evaluate`] check and measure it. This one deals the instances out to the racks in turn:
//!
//! ```
//! use streamline_core::{Assignment, Cluster, Instance, Placement, TaskManager};
//! use streamline_sched::{Demand, Request, Schedule, ScheduleError, Scheduler, evaluate};
//!
//! struct RackByRack;
//!
//! impl Scheduler for RackByRack {
//!     fn name(&self) -> &str {
//!         "rack by rack"
//!     }
//!
//!     fn schedule(&self, request: &Request<'_>) -> Result<Schedule, ScheduleError> {
//!         let managers = request.cluster.task_managers();
//!         let mut racks: Vec<_> = managers.iter().map(|manager| manager.labels.get("rack")).collect();
//!         racks.sort();
//!         racks.dedup();
//!         let mut placement = Placement::default();
//!         for (turn, demand) in request.demands.iter().enumerate() {
//!             // The first TaskManager of the rack whose turn it is that takes one more, or else any.
//!             let rack = racks.get(turn % racks.len().max(1)).copied().flatten();
//!             let mut order: Vec<usize> = (0..managers.len()).collect();
//!             order.sort_by_key(|&manager| managers[manager].labels.get("rack") != rack);
//!             for task_manager in order {
//!                 let mut assignments = placement.assignments().to_vec();
//!                 assignments.push(Assignment { instance: demand.instance, task_manager });
//!                 let tried = Placement::new(assignments)?;
//!                 match evaluate(request, &tried) {
//!                     Ok(_) => {
//!                         placement = tried;
//!                         break;
//!                     }
//!                     Err(ScheduleError::Overfilled { .. }) => {}
//!                     Err(error) => return Err(error),
//!                 }
//!             }
//!         }
//!         evaluate(request, &placement)
//!     }
//! }
//!
//! let manager = |n: u32| TaskManager::new(format!("tm-{n}"), 4.0, 8 << 30, 4).with_label("rack", (n % 2).to_string());
//! let cluster = Cluster::new((0..4).map(manager).collect())?;
//! let demands: Vec<Demand> = (0..6)
//!     .map(|subtask| Demand {
//!         instance: Instance { job: 0, operator: 0, subtask },
//!         cpu_cores: 1.0,
//!         memory_bytes: 1 << 30,
//!         network_bytes: 0,
//!         sharing_group: 0,
//!         state_bytes: 0,
//!     })
//!     .collect();
//! let scheduler: Box<dyn Scheduler> = Box::new(RackByRack);
//! let schedule = scheduler.schedule(&Request::new(&demands, &cluster))?;
//! assert!(schedule.is_complete());
//! assert_eq!([schedule.placement.on(0).count(), schedule.placement.on(1).count()], [3, 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bounds;
#[cfg(feature = "conformance")]
pub mod conformance;
mod constraint;
mod decreasing;
mod enforce;
mod error;
mod evaluate;
mod exact;
mod fairness;
mod incremental;
mod local_search;
mod objective;
mod packing;
#[cfg(feature = "plot")]
mod picture;
mod request;
mod scheduler;
mod spread;
mod synthetic;
mod text;

mod columns;
mod construct;
mod contention;
mod deal;
mod even_out;
mod finish;
mod free_room;
mod load;
mod model;
mod partition;
mod ruin;
mod rules;
mod search;
mod simplex;
mod state;

pub use bounds::{LowerBounds, ResourceBound};
pub use constraint::Constraint;
pub use decreasing::{BestFitDecreasing, FirstFitDecreasing, FitRule};
pub use enforce::{Addition, Aspect, Clause, Enforcement, FlinkPlan, ResourceProfile, SlotSharingGroup};
pub use error::ScheduleError;
pub use evaluate::evaluate;
pub use exact::BranchAndBound;
pub use fairness::{JobOutcome, JobShare, Reason};
pub use incremental::{Change, IncrementalPlacement};
pub use local_search::LocalSearch;
pub use objective::{Contention, Measures, Objective, Term};
pub use packing::{BinKind, FilledBin, Packing, PackingError, PackingProblem, Piece};
#[cfg(feature = "plot")]
pub use picture::picture;
pub use request::{Demand, Request, StateAccess, Traffic};
pub use scheduler::{Resource, Schedule, Scheduler, Unplaced, Usage};
pub use spread::Spread;
pub use synthetic::Synthetic;
pub use text::ScheduleText;
