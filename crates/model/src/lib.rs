//! The types that the crates share: what was recorded and measured, and the documents that
//! follow from it.
//!
//! Nothing here measures, analyses or renders. Methods only look up, parse and format the
//! values of a type.
//!
//! - [`run`]: recordings ([`run::Recording`], [`run::Manifest`]), causes ([`run::Cause`]) and
//!   the document `preheat.run` ([`run::RunReport`]).
//! - [`lab`]: the measurements of the experiments ([`lab::Measured`]) and their results
//!   ([`lab::LabReport`]).
//! - [`compare`], [`check`], [`measurement`]: the documents about comparisons, budgets and measured
//!   remedies.
//! - [`Document`]: any of them, as `report`, `compare` and `check` read them.
//! - [`doctor`]: the document about a machine ([`doctor::DoctorReport`]).
//! - [`classify`]: iteration times of other tools ([`classify::Times`]) and their classes.
//! - [`stats`]: estimates, classes, and the random numbers that all crates share.
//! - [`units`]: numbers with units, as text. [`time`]: times of documents.

#![forbid(unsafe_code)]

pub mod check;
pub mod classify;
pub mod compare;
pub mod doctor;
mod document;
pub mod lab;
pub mod measurement;
mod quantity;
mod remedy;
pub mod run;
pub mod stats;
pub mod time;
pub mod units;

use serde::{Deserialize, Serialize};

pub use document::{Document, DocumentError};
pub use quantity::Quantity;
pub use remedy::RemedyId;

/// The machine properties that matter to a cold start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The operating system's name.
    pub os: String,
    /// The kernel release.
    pub kernel: String,
    /// The processor name.
    pub cpu: String,
    /// The cores that this process may use.
    pub cores: usize,
    /// Memory in bytes.
    pub memory: u64,
}
