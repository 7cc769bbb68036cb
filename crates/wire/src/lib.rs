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
//! supported machines. This crate has no dependencies and no code beyond layouts and
//! [`base_name`], so that the recorder stays small.

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

/// The name of a function without its version and without the suffix of per-thread default
/// streams, by which the recorder and the analysis identify it: `cuMemAlloc` for
/// `cuMemAlloc_v2_ptsz`.
pub fn base_name(name: &[u8]) -> &[u8] {
    let name = name
        .strip_suffix(b"_ptsz")
        .or_else(|| name.strip_suffix(b"_ptds"))
        .unwrap_or(name);
    // nvJitLink has the version of the toolkit in its names: __nvJitLinkComplete_12_4.
    if let Some(own) = name.strip_prefix(b"__nvJitLink") {
        let letters = own
            .iter()
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        return name.get(2..11 + letters).unwrap_or(name);
    }
    let digits = name
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (rest, _) = name.split_at(name.len() - digits);
    rest.strip_suffix(b"_v")
        .filter(|_| digits > 0)
        .unwrap_or(name)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_name_has_no_version_and_stream_suffix() {
        for (name, expected) in [
            ("cuMemAlloc_v2", "cuMemAlloc"),
            ("cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync"),
            ("cuMemcpy_ptds", "cuMemcpy"),
            ("cuInit", "cuInit"),
            ("cuCtxCreate_v4", "cuCtxCreate"),
            ("cublasCreate_v2", "cublasCreate"),
            ("__nvJitLinkComplete_12_4", "nvJitLinkComplete"),
            ("__nvJitLink", "nvJitLink"),
            ("cuFuture_v12", "cuFuture"),
            ("cuMemcpyAsync_v3_ptsz", "cuMemcpyAsync"),
            ("cudnn_very_v", "cudnn_very_v"),
            ("cuMemcpy2D", "cuMemcpy2D"),
            ("_v2", ""),
            ("", ""),
        ] {
            assert_eq!(base_name(name.as_bytes()), expected.as_bytes(), "{name}");
        }
    }
}
