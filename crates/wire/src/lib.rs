//! The layout of a recording's process files: everything that the recorder inside the
//! program and the reader outside it share.
//!
//! A process file is a [`FileHeader`] in its first [`HEADER_BYTES`], followed by chunks. A
//! chunk belongs to one thread: a [`ChunkHeader`], then slots of [`SLOT_BYTES`]. A
//! [`Record`] fills one slot and contains the number of further slots that belong to it. A
//! record is written when its event begins and completed when it ends, so a killed program
//! leaves everything that it had begun.
//!
//! All times are nanoseconds of `CLOCK_MONOTONIC`; all numbers are little-endian, like the
//! supported machines. This crate has no dependencies and no code beyond layouts, so that
//! the recorder stays small.

#![forbid(unsafe_code)]

// Every other crate needs this one, so it is compiled first.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
compile_error!(
    "preheat needs Linux with glibc: the recorder is loaded by its dynamic loader (docs/install.md)"
);

mod file;
mod record;
mod slots;
pub mod variables;

pub use file::{
    CHUNK_MAGIC, ChunkHeader, ChunkKind, FileHeader, HEADER_BYTES, MAGIC, MAJOR, MINOR, State,
    Total,
};
pub use record::{
    BytecodeWrite, Clock, Event, Iteration, Kind, NoBytecode, Record, SLOT_BYTES, Shape, Slot,
};
pub use slots::{
    Allocation, Allocator, Copied, DeviceMemory, Elapsed, Image, Sampled, Usage, text_slots,
};
