//! Two measurements of the same thing: what changed, how sure that is, and why.
//!
//! [`CompareReport`] is what follows, the document `preheat.compare/1`.

mod report;

pub use report::{
    COMPARE_SCHEMA, CauseChange, Change, CompareKind, CompareReport, Estimate, Floors, Headline,
    ItemChange, Level, Quantity, SeriesKey, Side, Unit, Verdict,
};
