//! From raw times to findings.
//!
//! Everything here is pure: no I/O, no clock, and randomness only from a seed, so
//! that the same measurements always give the same findings, on any machine.
//!
//! - [`stats`] knows series of numbers: where warm-up ends, which class a series
//!   has, ratios with their intervals.
//! - [`run`] knows recorded programs: causes ([`run::Cause`]), what follows from a
//!   recording ([`run::RunReport`]), remedies.
//! - [`check`] knows budgets: the limits of a recorded program, and whether it keeps them.
//! - [`compare`] knows two of them: what changed, how sure that is, and why
//!   ([`compare::CompareReport`]).
//! - [`tried`] knows remedies that were tried on one, what they saved, and which are kept.
//! - [`classify`] knows iteration times from elsewhere, and what follows from them.
//! - [`lab`] knows the experiments: what was measured ([`lab::Measured`]), and what
//!   follows from it ([`lab::LabReport`], with a verdict on every claim).

#![forbid(unsafe_code)]

pub mod check;
pub mod classify;
pub mod compare;
pub mod lab;
pub mod run;
pub mod stats;
pub mod tried;
pub mod units;
