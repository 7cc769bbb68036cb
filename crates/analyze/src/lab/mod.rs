//! What `preheat lab` measured, and what follows from it.
//!
//! The path of the data: [`Measured`] (raw, from the `lab` room) → [`analyze`] →
//! [`LabReport`] (what every renderer shows and what the JSON document holds).

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
