//! The environment variables by which the launcher speaks to the recorder.

/// The directory that process files are made in. Without it nothing is recorded, until a
/// forked child begins to.
pub const DIRECTORY: &str = "PREHEAT_DIRECTORY";

/// The most bytes of a process file.
pub const LIMIT: &str = "PREHEAT_LIMIT";

/// The recorder's own path, by which Python finds it.
pub const SHIM: &str = "PREHEAT_SHIM";

/// The directory of our `sitecustomize`, which it takes from `sys.path` again.
pub const PYTHON: &str = "PREHEAT_PYTHON";

/// What an iteration is, as the launcher was asked: `auto`, `python`, `nvtx`, `nvtx:NAME`,
/// `kernels`, `timers`, `lines:REGEX`. For the last three, which only all detail can tell,
/// nothing is left out; without it, as for `auto`.
pub const ITERATIONS: &str = "PREHEAT_ITERATIONS";

/// Words with a comma between: `synchronize` (wait for the device at the end of each
/// iteration that Python sees), `no-python-iterations` (leave the frameworks alone).
pub const OPTIONS: &str = "PREHEAT_OPTIONS";

/// Has a program initialize the driver ahead, in a thread of its own. Lines: the device's
/// ordinal, the recorder's own path as `LD_PRELOAD` begins with it, the driver's library,
/// the file of the program that is meant. Whoever is another program passes it on.
pub const AHEAD: &str = "PREHEAT_AHEAD";

/// Has the Python that a command becomes execute `preheat start` again. Lines: the process
/// that the chain began as, the recorder's own path as `LD_PRELOAD` names it, the client, and
/// the client's words. Programs on the way pass it on, and a Python removes it.
pub const CHAIN: &str = "PREHEAT_CHAIN";
