//! The devices that cold start is measured on.
//!
//! [`Device`] is the entry point: the embedded CPU device, CUDA, OpenCL, and *unavailable,
//! because …* implement the same trait, so callers never need to know at compile time which
//! devices a machine has. A device creates [`Context`]s; a context creates buffers, kernels
//! and streams, each freed on drop.
//!
//! This crate implements the individual steps; timing whole experiments is the job of
//! `lab`. Only where one call consists of several named steps (initialization, compilation)
//! does it time them, as [`Stage`]s.

#![warn(missing_docs)]

pub mod cpu;
pub mod cuda;
mod dynlib;
mod error;
mod handles;
mod kernels;
pub mod opencl;
mod pool;
mod stage;

use std::path::PathBuf;

pub use error::{Error, Result};
pub use kernels::{KernelName, SOURCE as KERNEL_SOURCE};
pub use stage::{Stage, StageName, Stopwatch};

/// The kinds of device that a user can select.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The embedded device: always available.
    Cpu,
    /// The NVIDIA driver, loaded at run time.
    Cuda,
    /// An OpenCL loader, loaded at run time.
    OpenCl,
}

impl Kind {
    /// All kinds, in the order that `doctor` lists them.
    pub const ALL: [Kind; 3] = [Kind::Cuda, Kind::OpenCl, Kind::Cpu];

    /// The name on the command line and in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Kind::Cpu => "cpu",
            Kind::Cuda => "cuda",
            Kind::OpenCl => "opencl",
        }
    }

    /// Parses an [`Kind::id`].
    pub fn from_id(id: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.id() == id)
    }
}

/// Options for opening a device.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The cache for compiled kernels.
    pub cache: Cache,
}

/// The cache for compiled kernels.
///
/// Environment variables control the caches of CUDA and OpenCL; the driver reads them once,
/// at its first use, so `lab` sets them for the processes that it starts (see
/// [`Cache::environment`]). The CPU device uses this value directly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cache {
    /// Always compile.
    #[default]
    Off,
    /// Cache machine code in this directory.
    Directory(PathBuf),
}

impl Cache {
    /// The environment variables that make a device's process use this cache. NVIDIA
    /// OpenCL uses the CUDA driver's cache and PoCL a separate one, so OpenCL gets both
    /// sets.
    pub fn environment(&self, kind: Kind) -> Vec<(String, String)> {
        let (off, directory) = match self {
            Cache::Off => (true, None),
            Cache::Directory(path) => (false, Some(path.to_string_lossy().into_owned())),
        };
        let switch = |on: bool| if on { "1" } else { "0" };
        let cuda = [
            ("CUDA_CACHE_DISABLE", Some(switch(off).to_owned())),
            ("CUDA_CACHE_PATH", directory.clone()),
        ];
        let pocl = [
            ("POCL_KERNEL_CACHE", Some(switch(!off).to_owned())),
            ("POCL_CACHE_DIR", directory),
        ];
        let variables: Vec<_> = match kind {
            Kind::Cpu => vec![],
            Kind::Cuda => cuda.into(),
            Kind::OpenCl => cuda.into_iter().chain(pocl).collect(),
        };
        variables
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    }
}

/// Properties of an initialized device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// The device name, as its driver reports it.
    pub name: String,
    /// Driver or implementation with its version, human-readable.
    pub driver: String,
    /// Its memory in bytes.
    pub memory: u64,
    /// True for a GPU (`auto` prefers one).
    pub is_gpu: bool,
    /// Further details for `doctor` and the report, as (name, value).
    pub facts: Vec<(String, String)>,
}

/// Memory usage of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes in use on the device, by all processes.
    pub used: u64,
    /// The device's total memory in bytes.
    pub total: u64,
}

/// A device, or the reason why there is none.
pub trait Device {
    /// The kind of the device, available or not.
    fn kind(&self) -> Kind;

    /// Loads the driver, initializes it and queries the device, each as a stage. A second
    /// call does nothing and returns no stages.
    fn initialize(&mut self) -> Result<Vec<Stage>>;

    /// The device's properties; requires [`Device::initialize`].
    fn info(&self) -> Result<Info>;

    /// Creates a context; requires [`Device::initialize`]. A second one can be created
    /// while the first is alive.
    fn context(&self) -> Result<Box<dyn Context>>;
}

/// A context of a device, for everything that needs one.
///
/// Work is queued in order on the context's queue; [`Context::synchronize`] waits for all
/// of it. Objects created by a context must not be used after it is dropped: each
/// implementation keeps alive what it needs.
pub trait Context {
    /// Creates another queue, destroyed on drop.
    fn stream(&self) -> Result<Box<dyn Handle>>;

    /// Creates an event, destroyed on drop.
    fn event(&self) -> Result<Box<dyn Handle>>;

    /// Allocates memory straight from the driver, freed on drop.
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>>;

    /// Allocates memory from the context's pool, returned to the pool on drop.
    fn allocate_pooled(&self, bytes: usize) -> Result<Box<dyn Buffer>>;

    /// Returns the pool's unused memory to the driver.
    fn trim_pool(&self) -> Result<()>;

    /// Allocates page-locked host memory, unlocked and freed on drop.
    fn pin(&self, bytes: usize) -> Result<Box<dyn HostBuffer>>;

    /// Copies host memory to the device; returns when `source` can be modified again.
    fn upload(&self, target: &dyn Buffer, source: &[u8]) -> Result<()>;

    /// Copies device memory to host memory and waits for completion.
    fn download(&self, target: &mut [u8], source: &dyn Buffer) -> Result<()>;

    /// Copies all of `source` to the start of another buffer of this context and waits for
    /// completion.
    fn copy(&self, target: &dyn Buffer, source: &dyn Buffer) -> Result<()>;

    /// Compiles all kernels of [`KERNEL_SOURCE`] to loaded machine code, each step as a
    /// stage. The set of stages depends on the device.
    fn compile(&self, from: From) -> Result<(Box<dyn Module>, Vec<Stage>)>;

    /// Queues one kernel over `threads` indices. Buffers smaller than the other arguments
    /// require are an error.
    fn launch(&self, kernel: &dyn Kernel, threads: usize, arguments: &[Argument<'_>])
    -> Result<()>;

    /// Waits for all queued work.
    fn synchronize(&self) -> Result<()>;

    /// Memory in use.
    fn memory(&self) -> Result<Memory>;
}

/// The input of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The kernel source, where a compiler for it is available at run time; otherwise the
    /// same as [`From::Shipped`].
    Source,
    /// The most compiled form that is embedded in this program (PTX for CUDA; the source
    /// where nothing else is portable).
    Shipped,
}

/// A driver object that is destroyed on drop.
pub trait Handle {}

/// Device memory.
pub trait Buffer {
    /// The size in bytes.
    fn bytes(&self) -> usize;
    /// The implementation's handle (an address or a `cl_mem`).
    fn raw(&self) -> u64;
}

/// Page-locked host memory.
pub trait HostBuffer {
    /// The memory, to read.
    fn as_slice(&self) -> &[u8];
    /// The memory, to write.
    fn as_mut_slice(&mut self) -> &mut [u8];
}

/// Loaded machine code.
pub trait Module {
    /// Looks up a kernel by name.
    fn kernel(&self, name: KernelName) -> Result<Box<dyn Kernel>>;
}

/// A kernel that can be launched.
pub trait Kernel {
    /// The implementation's handle.
    fn raw(&self) -> u64;
    /// The name of the kernel.
    fn name(&self) -> KernelName;
}

/// One argument of a launch, in the order of the kernel's parameters.
#[derive(Clone, Copy)]
pub enum Argument<'a> {
    /// A pointer to device memory.
    Buffer(&'a dyn Buffer),
    /// A `float`.
    F32(f32),
    /// An `int`.
    I32(i32),
}

/// Opens the device of this kind; returns an [`Unavailable`] if there is none.
///
/// Nothing is loaded or initialized yet; only a missing library is detected.
pub fn open(kind: Kind, options: &Options) -> Box<dyn Device> {
    let opened = match kind {
        Kind::Cpu => Ok(Box::new(cpu::Cpu::new(options)) as Box<dyn Device>),
        Kind::Cuda => cuda::Cuda::find(options).map(|found| Box::new(found) as Box<dyn Device>),
        Kind::OpenCl => {
            opencl::OpenCl::find(options).map(|found| Box::new(found) as Box<dyn Device>)
        }
    };
    opened.unwrap_or_else(|why| Box::new(Unavailable::new(kind, why)))
}

/// A device that answers every request with the reason for its absence.
#[derive(Debug)]
pub struct Unavailable {
    kind: Kind,
    why: Error,
}

impl Unavailable {
    /// Creates the placeholder for `kind`, unavailable because of `why`.
    pub fn new(kind: Kind, why: Error) -> Unavailable {
        Unavailable { kind, why }
    }
}

impl Device for Unavailable {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn initialize(&mut self) -> Result<Vec<Stage>> {
        Err(self.why.clone())
    }

    fn info(&self) -> Result<Info> {
        Err(self.why.clone())
    }

    fn context(&self) -> Result<Box<dyn Context>> {
        Err(self.why.clone())
    }
}
