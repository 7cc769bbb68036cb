//! Remedies that were tried: what each saved, what was predicted, and which are kept.
//!
//! Some starts of a program were plain, others had one remedy or several, and all of them
//! took turns ([`Variant`]). What a remedy saves is measured against plain starts that were
//! as cold. It is kept only where it is clear that it pays ([`decide`]).

mod decide;
mod report;

pub use decide::try_out;
pub use report::{Kept, NotTried, TRIED_SCHEMA, Tried, TriedReport, TriedVariant};

use crate::run::{RunReport, Temperature};

/// Starts of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Variant<'a> {
    /// The remedies that they had, by their ids; none for plain ones.
    pub remedies: &'a [&'a str],
    /// How cold the plain starts are that they are to be compared with; of plain ones, how
    /// cold they are.
    pub against: Temperature,
    /// Where the recording lies.
    pub recording: &'a str,
    /// What was recorded.
    pub report: &'a RunReport,
}
