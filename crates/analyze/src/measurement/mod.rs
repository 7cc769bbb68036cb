//! Measured remedies: what each saved, what was predicted, and which are kept.
//!
//! Some starts of a program were plain, others had one or more remedies, and all of them
//! were interleaved ([`Configuration`]). The saving of a remedy is measured against plain starts
//! at the same temperature. A remedy is kept only if its saving is significant
//! ([`decide`]).

mod decide;

pub use decide::decide;
pub(crate) use preheat_model::measurement::{
    ConfigurationResult, Decision, MEASUREMENT_SCHEMA, MeasurementReport, RemedyResult,
    SkippedRemedy,
};

use preheat_model::RemedyId;

use crate::run::{RunReport, Temperature};

/// The starts of one configuration.
#[derive(Clone, Copy, Debug)]
pub struct Configuration<'a> {
    /// Their remedies; empty for plain starts.
    pub remedies: &'a [RemedyId],
    /// The temperature of the plain starts they are compared with; for plain starts, their
    /// own.
    pub against: Temperature,
    /// The path of the recording.
    pub recording: &'a str,
    /// The report on the recording.
    pub report: &'a RunReport,
}
