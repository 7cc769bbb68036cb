//! The comparison of two measurements.

mod report;

pub use crate::units::Unit;
pub use report::{
    COMPARE_SCHEMA, CauseChange, Change, CompareKind, CompareReport, Compared, Estimate, Floors,
    Headline, ItemChange, Level, QuantityChange, SIGNIFICANT, SeriesKey, Side, Verdict,
};
