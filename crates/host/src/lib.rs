//! The machine that preheat runs on: its description and memory, clocks, interrupts, and
//! files that are written safely.
//!
//! Every other crate that needs one of these uses it from here, except the shim, which
//! depends on libc alone. Calls of the system go through rustix; signal handlers and
//! `malloc_trim`, which rustix does not have, use libc.

pub mod clock;
pub mod files;
pub mod interrupt;
mod machine;

pub use files::{Scratch, trusted};
pub use machine::{
    available_memory, lock_limit, machine, now_rfc3339, page_size, release_free_memory,
    resident_memory, total_memory,
};

/// The effective user of this process.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}
