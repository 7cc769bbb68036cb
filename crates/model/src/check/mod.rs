//! Budgets: quantities and their units, as text and as numbers, and the verdicts on them.

mod limited;
mod report;
pub mod value;

pub use crate::units::Unit;
pub use limited::{Limited, UnknownCause, did_you_mean, nearest};
pub use report::{
    CHECK_SCHEMA, CheckReport, CheckSettings, Draft, DraftLine, Line, LineKind, Measured,
    Misplaced, Part, Place, Value, Verdict,
};
pub use value::InvalidValue;
