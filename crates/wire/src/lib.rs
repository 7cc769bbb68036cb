//! The layout of a recording's process files, shared by the recorder inside the
//! program and by the reader outside it. Nothing else is.
//!
//! A process file is a [`FileHeader`] in its first [`HEADER_BYTES`], then chunks one
//! after another. A chunk belongs to one thread: a [`ChunkHeader`], then slots of
//! [`SLOT_BYTES`]. A [`Record`] fills one slot and says how many further slots
//! belong to it. A record is written when what it tells of begins, and completed when
//! that ends: a program that is killed leaves all that it had begun.
//!
//! All times are nanoseconds of `CLOCK_MONOTONIC`; all numbers are little-endian as
//! the machines are that this runs on. This crate has no dependencies and no code
//! beyond layouts, so that the recorder stays small.

#![forbid(unsafe_code)]

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
