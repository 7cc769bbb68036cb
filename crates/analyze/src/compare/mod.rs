//! Compares two measurements: what changed, how significant it is, and why.
//!
//! [`compare_runs`] compares two recorded runs, [`compare_labs`] two lab results; the
//! result is a [`CompareReport`], the document `preheat.compare/1`.
//!
//! The flow of a comparison: `starts` (which of them count, and their values) → `measure`
//! (each quantity separately) → `judge` (all together: verdicts) → `causes` with `items`
//! and `imports` (what explains the change) → `headline`, `notes`.

mod alike;
mod causes;
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
mod settings;
mod starts;
mod words;

pub use lab::compare_labs;
pub use runs::{RunInput, compare_runs};
pub use settings::{DEFAULT_GATE, Settings};

pub(crate) use preheat_model::compare::{
    COMPARE_SCHEMA, CauseChange, Change, CompareKind, CompareReport, Compared, Estimate, Floors,
    Headline, ItemChange, Level, QuantityChange, SIGNIFICANT, SeriesKey, Side, Unit, Verdict,
};
