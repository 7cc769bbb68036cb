//! Analyses the measurements of `preheat lab`.
//!
//! The data flow: [`Measured`] (raw, from the `lab` crate) → [`analyze`] → [`LabReport`]
//! (shown by every renderer and stored as JSON).

mod analysis;
mod claims;
mod data;
mod notable;

pub use analysis::analyze;
pub use claims::CLAIMS;
pub(crate) use preheat_model::lab::{
    Basis, Claim, Evidence, Experiment, ExperimentId, Failure, FirstStart, Floor, LabReport,
    MAX_STARTS, Measured, Outcome, SCHEMA, Sample, SampleKind, Series, Settings, Skipped, Subject,
    Unit, Verdict, names, starts_that_decide,
};
