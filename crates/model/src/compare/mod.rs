//! The comparison of two measurements.

mod report;

pub use report::{
    COMPARE_SCHEMA, CauseChange, Change, CompareKind, CompareReport, Estimate, Floors, Headline,
    ItemChange, Level, Quantity, SIGNIFICANT, SeriesKey, Side, Unit, Verdict,
};
