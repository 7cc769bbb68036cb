//! Budgets: quantities and their units, as text and as numbers, and the verdicts on them.

mod draft;
mod limited;
mod near;
mod position;
mod report;
pub mod value;

pub use crate::units::Unit;
pub use draft::{Draft, DraftLine, Measured};
pub use limited::{Limited, UnknownCause};
pub use near::{did_you_mean, nearest};
pub use position::{Misplaced, Place};
pub use report::{CHECK_SCHEMA, CheckReport, CheckSettings, Line, LineKind, Part, Value, Verdict};
pub use value::InvalidValue;
