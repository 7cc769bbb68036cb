//! A recorded program against its budget.
//!
//! - [`Budget`] is what it may take at most: limits of [`Quantity`]s, from a small TOML text
//!   ([`Budget::read`]) and from flags ([`limit`]).
//! - [`measured`] is what the starts of a [`RunReport`](crate::run::RunReport) took, with
//!   intervals.
//! - [`check`] holds one against the other: [`CheckReport`], with a verdict on every line.
//! - [`draft`] is the budget that a recording keeps, with head-room.
//!
//! What becomes of a verdict (exit codes, files, annotations) is not decided here.

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
