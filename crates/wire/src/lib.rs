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

/// The environment variables with which the launcher configures the recorder.
pub mod variables {
    /// The directory for process files. Without it nothing is recorded, until a forked child
    /// begins to.
    pub const DIRECTORY: &str = "PREHEAT_DIRECTORY";

    /// The maximum size of a process file in bytes.
    pub const LIMIT: &str = "PREHEAT_LIMIT";

    /// The recorder's path, with which Python finds it.
    pub const SHIM: &str = "PREHEAT_SHIM";

    /// The directory of our `sitecustomize`, which removes it from `sys.path` again.
    pub const PYTHON: &str = "PREHEAT_PYTHON";

    /// The requested iteration rule: `auto`, `python`, `nvtx`, `nvtx:NAME`,
    /// `call:MODULE:FUNCTION`, `kernels`, `timers`, `lines:REGEX`. The last three need complete
    /// detail, so nothing is left out for them; unset means `auto`.
    pub const ITERATIONS: &str = "PREHEAT_ITERATIONS";

    /// Comma-separated options: `synchronize` (wait for the device at the end of each iteration
    /// detected in Python), `no-python-iterations` (do not hook the frameworks).
    pub const OPTIONS: &str = "PREHEAT_OPTIONS";

    /// Makes a program initialize the driver ahead of time, in a separate thread. Lines: the
    /// device ordinal, the recorder's path as it begins `LD_PRELOAD`, the driver library, and
    /// the intended program's file. Any other program passes it on.
    pub const AHEAD: &str = "PREHEAT_AHEAD";

    /// Makes the Python that a command eventually executes run `preheat start` again. Lines: the
    /// first process of the chain, the recorder's path as in `LD_PRELOAD`, the client, and the
    /// client's arguments. Intermediate programs pass it on, and Python removes it.
    pub const CHAIN: &str = "PREHEAT_CHAIN";
}
