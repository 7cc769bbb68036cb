//! Compares two measurements: what changed, how significant it is, and why.
//!
//! [`compare_runs`] compares two recorded runs, [`compare_labs`] two lab results; the
//! result is a [`CompareReport`], the document `preheat.compare/2`.
//!
//! The flow of a comparison: `starts` (which of them count, and their values) → `measure`
//! (each quantity separately) → `judge` (all together: verdicts) → `items` and
//! `imports` (what explains the change) → `headline`, `notes`.

mod counted_starts;
mod first_line;
mod headline;
mod imports;
mod items;
mod judge;
mod lab;
mod measure;
mod notes;
mod regions;
mod runs;

pub use judge::{DEFAULT_GATE, Settings};
pub use lab::compare_labs;
pub(crate) use preheat_model::compare::{
    COMPARE_SCHEMA, CauseChange, Change, CompareKind, CompareReport, Compared, Floors, Headline,
    ItemChange, Level, QuantityChange, SIGNIFICANT, SeriesKey, Side, Unit, Verdict,
};
pub use runs::{RunInput, compare_runs};
