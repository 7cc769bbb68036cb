//! The comparison of two measurements.

mod report;

pub use crate::units::Unit;
pub use report::{
    COMPARE_SCHEMA, CauseChange, Change, CompareKind, CompareReport, Estimate, Floors, Headline,
    ItemChange, Level, Quantity, SIGNIFICANT, SeriesKey, Side, Verdict,
};
