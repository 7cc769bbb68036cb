//! The environment variables with which the launcher configures the recorder.

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
/// `call:MODULE:FUNCTION`, `kernels`, `timers`, `lines:REGEX`. The last three need complete detail, so nothing is left out for
/// them; unset means `auto`.
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
