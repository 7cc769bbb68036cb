//! The names of series and variants, shared by experiments, framework scripts, claims and
//! renderers.

/// Initializing the device: library, driver, device, context.
pub const INITIALIZE: &str = "initialize the device";
/// Creating a context.
pub const CREATE_CONTEXT: &str = "create context";
/// Creating a second context in the same process.
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
/// Moving model and input to the device, before any timer.
pub const MOVE_MODEL: &str = "move the model to the device";

/// 4 MiB in a fresh process: the first includes device initialization.
pub const FROM_NOTHING: &str = "allocate 4 MiB, from nothing";
/// 4 MiB when the context exists.
pub const CONTEXT_READY: &str = "allocate 4 MiB, context ready";
/// 4 MiB after freeing as much.
pub const FREE_AND_AGAIN: &str = "free 4 MiB, allocate again";
/// 4 MiB from the pool.
pub const FROM_POOL: &str = "allocate 4 MiB from the pool";
/// 4 MiB from the pool just after trimming it.
pub const AFTER_TRIM: &str = "allocate 4 MiB after trimming the pool";
/// PyTorch `randn` in a fresh process: the first includes device initialization.
pub const RANDN_FROM_NOTHING: &str = "randn 4 MiB, from nothing";
/// The same with a context: the first loads the kernel that fills the memory.
pub const RANDN_CONTEXT_READY: &str = "randn 4 MiB, context ready";
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

/// Device to device.
pub const D2D: &str = "device to device";
/// A tensor in pinned memory, allocated on the device and copied there.
pub const MOVE_PINNED: &str = "move 4 MiB from pinned memory";

/// Allocations of the prealloc experiment.
pub const ALLOCATE_4_MIB: &str = "allocate 4 MiB";
/// The large block that precedes them.
pub const BIG_BLOCK: &str = "allocate 1 GiB";

/// One training iteration.
pub const ITERATION: &str = "iteration";
/// A forward pass whose graph is recorded.
pub const FORWARD_RECORDING: &str = "forward, recording the graph";
/// A forward pass whose graph is not recorded.
pub const FORWARD_PLAIN: &str = "forward, not recording";
/// A forward pass and its backward pass.
pub const FORWARD_BACKWARD: &str = "forward and backward";
/// The number of times the framework traced the program's function.
pub const RECORDINGS: &str = "graph recordings";

/// An inference on input that is uploaded each time.
pub const FRESH_INPUT: &str = "inference, fresh input";
/// An inference on input that stays on the device.
pub const RESIDENT_INPUT: &str = "inference, resident input";
/// An inference with weights that are new to the device, in a process that has already run
/// others.
pub const NEW_WEIGHTS: &str = "inference, new weights";
/// Device memory in use.
pub const DEVICE_MEMORY: &str = "device memory";
/// The device memory used by the framework's arrays.
pub const ARRAY_MEMORY: &str = "device memory, arrays";
/// The process's resident memory.
pub const HOST_MEMORY: &str = "host memory";
/// Compiling and loading kernels in the first inference.
pub const FIRST_KERNELS: &str = "first inference: compile and load kernels";
/// Allocation in the first inference.
pub const FIRST_ALLOCATE: &str = "first inference: allocate";
/// Copies in the first inference.
pub const FIRST_COPY: &str = "first inference: copy";
/// Launches and arithmetic in the first inference.
pub const FIRST_COMPUTE: &str = "first inference: compute";
/// In a framework: device initialization in the first inference.
pub const FIRST_INITIALIZE: &str = "first inference: initialize the device";
/// In a framework: building the model, where that initializes the device.
pub const FIRST_BUILD: &str = "first inference: build the model";
/// In a framework: moving model and input.
pub const FIRST_MOVE: &str = "first inference: allocate and copy";
/// In PyTorch: the forward pass, with the kernels and libraries that it loads.
pub const FIRST_FORWARD: &str = "first inference: forward";
/// In a framework that compiles: tracing, compiling and running.
pub const FIRST_TRACE: &str = "first inference: trace, compile and run";
/// The launches and arithmetic of every inference.
pub const COMPUTE: &str = "compute";

/// Loading the library of a separate compiler.
pub const LOAD_COMPILER: &str = "load compiler library";
/// Translating source to an intermediate form.
pub const SOURCE_TO_INTERMEDIATE: &str = "source to intermediate";
/// Translating the intermediate form to machine code.
pub const INTERMEDIATE_TO_MACHINE_CODE: &str = "intermediate to machine code";

/// The device stages that are compilation: a program with precompiled code does not have
/// them.
pub const COMPILATION: [&str; 5] = [
    LOAD_COMPILER,
    SOURCE_TO_INTERMEDIATE,
    "optimise",
    INTERMEDIATE_TO_MACHINE_CODE,
    "read compile cache",
];
/// The first launch of the kernel, until its result.
pub const FIRST_LAUNCH: &str = "first launch";
/// A launch, until its result.
pub const LAUNCH: &str = "launch";
/// The same; the first includes compiling and loading the source.
pub const LAUNCH_FROM_SOURCE: &str = "launch, from source";
/// A launch that takes much longer than queueing it, timed until its result.
pub const LONG_LAUNCH: &str = "long launch, synchronized";
/// The same, timed without waiting for it.
pub const LONG_LAUNCH_NAIVE: &str = "long launch, not synchronized";

/// The variant of alloc and transfer that covers all sizes; it takes seconds, so it has
/// separate processes, and fewer of them.
pub const SWEEP: &str = "sweep";
/// The variant of alloc that fills the memory.
pub const RANDN: &str = "randn";
/// The variant of transfer that compares a copy with an allocation.
pub const PINNED_OR_RANDN: &str = "pinned copy or randn";
/// Variants of prealloc.
pub const AFTER_NOTHING: &str = "after nothing";
/// A large block is held meanwhile.
pub const AFTER_HELD: &str = "1 GiB held";
/// A large block was released to the pool.
pub const AFTER_RELEASED: &str = "1 GiB released";
/// Variants of training: the first iteration initializes the device and moves the model.
pub const MODEL_FROM_NOTHING: &str = "from nothing";
/// Model and input are on the device before the timer starts.
pub const MODEL_ON_DEVICE: &str = "model on the device";
/// The same, 0.2 s after the device was initialized.
pub const MODEL_AFTER_PAUSE: &str = "model on the device, 0.2 s pause";
/// Variants of train-no-optimizer; this one begins from nothing.
pub const NO_OPTIMIZER: &str = "no optimizer";
/// The same with model and input on the device.
pub const NO_OPTIMIZER_ON_DEVICE: &str = "no optimizer, model on the device";
/// Only the forward pass.
pub const FORWARD_ONLY: &str = "forward only";
/// Variants of infer.
pub const MLP: &str = "mlp";
/// A small conv net.
pub const CONV: &str = "conv";
/// The MLP with a larger model and batch.
pub const MLP_LARGE: &str = "mlp, large";
/// A small U-Net: its activations are far larger than its weights.
pub const UNET: &str = "unet";
/// The MLP, with model and input on the device.
pub const MLP_ON_DEVICE: &str = "mlp, model on the device";
/// The larger MLP, with model and input on the device.
pub const MLP_LARGE_ON_DEVICE: &str = "mlp, large, model on the device";
/// The U-Net, with model and input on the device.
pub const UNET_ON_DEVICE: &str = "unet, model on the device";
/// Variants of launch.
pub const CACHE_EMPTY: &str = "cache empty";
/// An earlier process filled the compile cache.
pub const CACHE_FILLED: &str = "cache filled";
