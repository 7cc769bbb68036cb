//! Two measurements of the same thing: what changed, how sure that is, and why.
//!
//! [`compare_runs`] takes two recorded runs, [`compare_labs`] two results of the lab;
//! [`CompareReport`] is what follows, the document `preheat.compare/1`.
//!
//! The way of a comparison: `starts` (which of them count, and their numbers) → `measure`
//! (each quantity by itself) → `judge` (all together: verdicts) → `causes` with `items` and
//! `imports` (what is behind the change) → `headline`, `notes`.

mod causes;
mod headline;
mod imports;
mod items;
mod judge;
mod lab;
mod measure;
mod notes;
mod regions;
mod report;
mod runs;
mod settings;
mod starts;
mod words;

pub use lab::compare_labs;
pub use report::{
    COMPARE_SCHEMA, CauseChange, Change, CompareKind, CompareReport, Estimate, Floors, Headline,
    ItemChange, Level, Quantity, SeriesKey, Side, Unit, Verdict,
};
pub use runs::{RunInput, compare_runs};
pub use settings::{DEFAULT_GATE, QUANTITIES, Settings};
