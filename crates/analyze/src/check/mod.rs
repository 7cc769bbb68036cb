//! Checks a recorded program against its budget.
//!
//! - [`Budget`] contains upper limits on [`Quantity`]s, from a small TOML text
//!   ([`Budget::read`]) and from flags ([`limit`]).
//! - [`measured`] computes the quantities of a [`RunReport`](crate::run::RunReport), with
//!   intervals.
//! - [`check`] compares the two: [`CheckReport`], with a verdict on every line.
//! - [`draft`] creates a budget that a recording meets, with headroom.
//!
//! Acting on a verdict (exit codes, files, annotations) is the caller's job.

mod budget;
mod draft;
mod judge;
mod measure;
mod near;
mod place;
mod quantity;
mod read;
mod reason;
mod report;
mod value;

pub use budget::{Budget, Limit, limit};
pub use draft::{DEFAULT_HEADROOM, Draft, DraftLine, draft, headroom};
pub use judge::check;
pub use measure::{Measured, measured};
pub use place::{Misplaced, Place};
pub use quantity::{Quantity, Unit};
pub use report::{CHECK_SCHEMA, CheckReport, CheckSettings, Line, LineKind, Part, Value, Verdict};
