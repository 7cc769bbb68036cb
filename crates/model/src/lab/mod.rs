//! The experiments of `preheat lab`: raw measurements ([`Measured`]) and results
//! ([`LabReport`]).

mod experiment;
mod measured;
pub mod names;
mod report;

pub use experiment::ExperimentId;
pub use measured::{
    Measured, MeasuredDevice, MeasuredFramework, Outcome, Sample, SampleKind, Settings, Skipped,
    Start, Subject, Unit,
};
pub use report::{
    Basis, Claim, Evidence, Experiment, Failure, FirstStart, Floor, LabReport, MAX_STARTS, SCHEMA,
    SCHEMAS, Series, Verdict, starts_that_decide,
};
