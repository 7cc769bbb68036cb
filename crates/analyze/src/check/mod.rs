//! Checks a recorded program against its budget.
//!
//! - [`Budget`] contains upper limits on [`Limited`] quantities, from a small TOML text
//!   ([`Budget::read`]) and from flags ([`limit`]).
//! - [`measured`] computes the quantities of a [`RunReport`](crate::run::RunReport), with
//!   intervals.
//! - [`check`] compares the two: [`CheckReport`], with a verdict on every line.
//! - [`draft`] creates a budget that a recording meets, with headroom.
//!
//! Acting on a verdict (exit codes, files, annotations) is the caller's job.

mod budget;
mod draft;
mod error;
mod judge;
mod measure;
mod read;

pub use budget::{Budget, Limit, limit};
pub use draft::{DEFAULT_HEADROOM, InvalidHeadroom, draft, headroom};
pub use error::{DraftError, NotMeasured, TooFewStarts};
pub use judge::check;
pub use measure::measured;
pub(crate) use preheat_model::check::{
    CHECK_SCHEMA, CheckReport, CheckSettings, Draft, DraftLine, InvalidValue, Limited, Line,
    LineKind, Measured, Misplaced, Part, Place, Unit, Value, Verdict, did_you_mean, nearest, value,
};
