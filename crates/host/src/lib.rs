//! The machine that preheat runs on: its description and memory, clocks, interrupts, and
//! files that are written safely.
//!
//! Every other crate that needs one of these uses it from here, except the shim, which
//! depends on libc alone. Calls of the system go through rustix; only signal handlers, which
//! rustix does not have, use libc.

pub mod clock;
pub mod files;
pub mod interrupt;
mod machine;
pub mod memory;

pub use files::{Scratch, trusted};
pub use machine::{machine, now_rfc3339};

/// The effective user of this process.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}
