//! The names of series and variants: the words that experiments, the framework
//! scripts, claims and renderers share.

/// Bringing the device up: library, driver, device, context.
pub const INITIALIZE: &str = "initialize the device";
/// Creating a context.
pub const CREATE_CONTEXT: &str = "create context";
/// Creating a second one in the same process.
pub const SECOND_CONTEXT: &str = "create a second context";
/// Creating a stream.
pub const CREATE_STREAM: &str = "create stream";
/// Creating an event.
pub const CREATE_EVENT: &str = "create event";

/// Importing the framework.
pub const IMPORT: &str = "import";
/// Building the model.
pub const BUILD_MODEL: &str = "build the model";
/// Building the optimizer.
pub const BUILD_OPTIMIZER: &str = "build the optimizer";

/// 4 MiB in a fresh process: the first includes bringing the device up.
pub const FROM_NOTHING: &str = "allocate 4 MiB, from nothing";
/// 4 MiB when the context is there.
pub const CONTEXT_READY: &str = "allocate 4 MiB, context ready";
/// 4 MiB after freeing as much.
pub const FREE_AND_AGAIN: &str = "free 4 MiB, allocate again";
/// 4 MiB from the pool.
pub const FROM_POOL: &str = "allocate 4 MiB from the pool";
/// 4 MiB from the pool just after it was trimmed.
pub const AFTER_TRIM: &str = "allocate 4 MiB after trimming the pool";
/// The allocation sweep.
pub const ALLOCATE: &str = "allocate";

/// The transfer sweeps.
pub const PIN: &str = "pin host memory";
/// Host to device from pageable memory.
pub const H2D_PAGEABLE: &str = "host to device, pageable";
/// Host to device from pinned memory.
pub const H2D_PINNED: &str = "host to device, pinned";
/// Device to host into pageable memory.
pub const D2H_PAGEABLE: &str = "device to host, pageable";
/// Device to host into pinned memory.
pub const D2H_PINNED: &str = "device to host, pinned";

/// Allocations of the prealloc experiment.
pub const ALLOCATE_4_MIB: &str = "allocate 4 MiB";
/// The big block that comes before them.
pub const BIG_BLOCK: &str = "allocate 1 GiB";

/// One training iteration.
pub const ITERATION: &str = "iteration";
/// A forward pass whose graph is recorded.
pub const FORWARD_RECORDING: &str = "forward, recording the graph";
/// A forward pass whose graph is not recorded.
pub const FORWARD_PLAIN: &str = "forward, not recording";
/// How often the framework traced the program's function.
pub const RECORDINGS: &str = "graph recordings";

/// An inference on input that is sent each time.
pub const FRESH_INPUT: &str = "inference, fresh input";
/// An inference on input that stays on the device.
pub const RESIDENT_INPUT: &str = "inference, resident input";
/// Device memory in use.
pub const DEVICE_MEMORY: &str = "device memory";
/// The process's resident memory.
pub const HOST_MEMORY: &str = "host memory";
/// The part of the first inference that is compilation and loading of kernels.
pub const FIRST_KERNELS: &str = "first inference: compile and load kernels";
/// The part of the first inference that is allocation.
pub const FIRST_ALLOCATE: &str = "first inference: allocate";
/// The part of the first inference that is copies.
pub const FIRST_COPY: &str = "first inference: copy";
/// The part of the first inference that is launches and arithmetic.
pub const FIRST_COMPUTE: &str = "first inference: compute";
/// The launches and arithmetic of every inference.
pub const COMPUTE: &str = "compute";

/// The stages of a device that are compilation: a program that brings its machine code
/// along does without them.
pub const COMPILATION: [&str; 5] = [
    "load compiler library",
    "source to intermediate",
    "optimise",
    "intermediate to machine code",
    "read compile cache",
];
/// The first launch of the kernel, to its result.
pub const FIRST_LAUNCH: &str = "first launch";
/// A launch to its result.
pub const LAUNCH: &str = "launch";
/// The same, the first from the source: compile, load, launch.
pub const LAUNCH_FROM_SOURCE: &str = "launch, from source";
/// A launch that outlasts its own cost, timed to its result.
pub const LONG_LAUNCH: &str = "long launch, synchronized";
/// The same, timed without waiting for it.
pub const LONG_LAUNCH_NAIVE: &str = "long launch, not synchronized";

/// The variant of alloc and transfer that goes through all sizes; it takes seconds, so
/// it has processes of its own and fewer of them.
pub const SWEEP: &str = "sweep";
/// Variants of prealloc.
pub const AFTER_NOTHING: &str = "after nothing";
/// A big block is held meanwhile.
pub const AFTER_HELD: &str = "1 GiB held";
/// A big block was released to the pool.
pub const AFTER_RELEASED: &str = "1 GiB released";
/// Variants of train-no-optimizer.
pub const NO_OPTIMIZER: &str = "no optimizer";
/// Only the forward pass.
pub const FORWARD_ONLY: &str = "forward only";
/// Variants of infer.
pub const MLP: &str = "mlp";
/// A small conv net.
pub const CONV: &str = "conv";
/// The MLP with a larger model and batch.
pub const MLP_LARGE: &str = "mlp, large";
/// Variants of launch.
pub const CACHE_EMPTY: &str = "cache empty";
/// The compile cache was filled by an earlier process.
pub const CACHE_FILLED: &str = "cache filled";
