//! Analyses the measurements of `preheat lab`.
//!
//! The data flow: [`Measured`] (raw, from the `lab` crate) → [`analyze`] → [`LabReport`]
//! (shown by every renderer and stored as JSON).

mod again;
mod analysis;
mod claims;
mod data;
mod experiment;
mod measured;
pub mod names;
mod notable;
mod report;

pub use analysis::analyze;
pub use claims::CLAIMS;
pub use experiment::ExperimentId;
pub use measured::{
    Machine, Measured, MeasuredDevice, MeasuredFramework, Outcome, Sample, SampleKind, Settings,
    Skipped, Start, Subject, Unit,
};
pub use report::{
    Basis, Claim, Evidence, Experiment, Failure, FirstStart, Floor, LabReport, MOST_STARTS, SCHEMA,
    Series, Verdict,
};
