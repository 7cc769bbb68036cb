//! The cold-start experiments.
//!
//! The flow, top to bottom: a [`Plan`] lists the experiments and their subjects; the
//! schedule arranges their starts in random order; each start is a fresh process ([`Job`]),
//! either this program itself ([`child_main`], native experiments) or a Python that runs
//! one of the framework scripts; results come back line by line, so that a start that
//! crashes keeps what it measured before; together they form
//! [`preheat_model::lab::Measured`].
//!
//! This crate measures; judging the results is `analyze`'s job.

mod devices;
mod experiments;
mod frameworks;
mod native;
mod plan;
mod process;
mod recorder;
mod run;

pub use devices::{FoundDevice, PROBE_ARGUMENT, probe_device, probe_main};
pub use frameworks::{Framework, PythonFound, find_bytecode, find_python};
pub use plan::{DeviceChoice, FrameworkChoice, Plan, PlanError, Request};
pub use process::{CHILD_ARGUMENT, child_main};
pub use recorder::timed;
pub use run::{Progress, run};
