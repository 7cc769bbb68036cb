//! Turns raw times into findings.
//!
//! Everything here is pure: no I/O, no clock, and randomness only from a seed, so that the
//! same measurements always give the same findings, on any machine.
//!
//! - [`stats`]: series of numbers; where warm-up ends, the class of a series, ratios with
//!   their intervals.
//! - [`run`]: recorded programs; causes ([`run::Cause`]), findings ([`run::RunReport`]),
//!   remedies.
//! - [`check`]: budgets; the limits of a recorded program, and whether it meets them.
//! - [`compare`]: two measurements; what changed, how significant it is, and why
//!   ([`compare::CompareReport`]).
//! - [`measurement`]: measured remedies; what they saved, and which are kept.
//! - [`classify`]: iteration times from other tools.
//! - [`lab`]: the experiments; the measurements ([`lab::Measured`]) and the findings
//!   ([`lab::LabReport`], with a verdict on every claim).

#![forbid(unsafe_code)]

pub mod check;
pub mod classify;
pub mod compare;
pub mod lab;
pub mod measurement;
pub mod run;
pub mod stats;

use preheat_model::units;
