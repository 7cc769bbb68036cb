//! What a cold start is measured on.
//!
//! [`Device`] is the one door: the embedded CPU device, CUDA, OpenCL, and
//! *unavailable, because …* are values of the same trait, so callers never ask
//! at compile time what this machine has. A device gives [`Context`]s; a context
//! gives buffers, kernels and streams, each freed when it is dropped.
//!
//! This room knows how to *do* each step and nothing about timing a whole
//! experiment: that is `lab`. Only where one call here is made of several named
//! steps (initialisation, compilation) does it time them itself, as [`Stage`]s.

#![warn(missing_docs)]

pub mod cpu;
pub mod cuda;
mod dynlib;
mod error;
mod extents;
mod kernels;
mod ledger;
pub mod opencl;
mod pool;
mod stage;
mod unavailable;

use std::path::PathBuf;

pub use error::{Error, Result};
pub use kernels::{KernelName, SOURCE as KERNEL_SOURCE};
pub use stage::{Stage, StageName, Stopwatch};
pub use unavailable::Unavailable;

/// The kinds of device that a user can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The embedded device: always there.
    Cpu,
    /// NVIDIA's driver, found at run time.
    Cuda,
    /// An OpenCL loader, found at run time.
    OpenCl,
}

impl Kind {
    /// All kinds, in the order in which `doctor` lists them.
    pub const ALL: [Kind; 3] = [Kind::Cuda, Kind::OpenCl, Kind::Cpu];

    /// The word for it on the command line and in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Kind::Cpu => "cpu",
            Kind::Cuda => "cuda",
            Kind::OpenCl => "opencl",
        }
    }

    /// The kind that `id` names.
    pub fn from_id(id: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.id() == id)
    }
}

/// How a device is to be opened.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What becomes of compiled kernels between processes.
    pub cache: Cache,
}

/// What becomes of compiled kernels between processes.
///
/// CUDA's and OpenCL's own caches are steered by environment variables that the
/// driver reads once, at its first use: `lab` sets them for the process that it
/// starts (see [`Cache::environment`]). The CPU device reads this value itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cache {
    /// Compile every time.
    #[default]
    Off,
    /// Keep machine code in this directory, and take it from there.
    Directory(PathBuf),
}

impl Cache {
    /// The environment in which a process of this device keeps to this cache. NVIDIA's
    /// OpenCL uses the cache of its CUDA driver, PoCL one of its own: OpenCL gets both.
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

/// What is known of a device once it is initialized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// The device's own name, as its driver tells it.
    pub name: String,
    /// Driver or implementation with its version, for people.
    pub driver: String,
    /// Its memory in bytes.
    pub memory: u64,
    /// Whether it is a GPU (`auto` prefers one).
    pub is_gpu: bool,
    /// Further facts for `doctor` and the report, as (name, value).
    pub facts: Vec<(String, String)>,
}

/// Bytes in use and in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes in use on the device, by whomever.
    pub used: u64,
    /// Bytes that the device has.
    pub total: u64,
}

/// A device, or the reason why there is none.
pub trait Device {
    /// Which kind of device this is, present or not.
    fn kind(&self) -> Kind;

    /// Load the driver, initialize it, look at the device: each a stage.
    /// A second call does nothing and returns no stages.
    fn initialize(&mut self) -> Result<Vec<Stage>>;

    /// What the device is; needs [`Device::initialize`].
    fn info(&self) -> Result<Info>;

    /// A new context; needs [`Device::initialize`]. A second one may be made
    /// while the first lives.
    fn context(&self) -> Result<Box<dyn Context>>;
}

/// A context of a device: everything that needs one.
///
/// Work is queued in order on the context's own queue; [`Context::synchronize`]
/// waits for all of it. What a context gave must not be used after the context
/// is dropped: each implementation keeps what it needs alive.
pub trait Context {
    /// A further queue; dropped, it is destroyed.
    fn stream(&self) -> Result<Box<dyn Handle>>;

    /// An event; dropped, it is destroyed.
    fn event(&self) -> Result<Box<dyn Handle>>;

    /// Memory straight from the driver, given back when dropped.
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>>;

    /// Memory from the context's pool, given back to the pool when dropped.
    fn allocate_pooled(&self, bytes: usize) -> Result<Box<dyn Buffer>>;

    /// Give what the pool holds unused back to the driver.
    fn trim_pool(&self) -> Result<()>;

    /// Page-locked host memory, unlocked and freed when dropped.
    fn pin(&self, bytes: usize) -> Result<Box<dyn HostBuffer>>;

    /// Copy from host memory to the device and wait until `source` may be changed.
    fn upload(&self, target: &dyn Buffer, source: &[u8]) -> Result<()>;

    /// Copy from the device to host memory and wait for it.
    fn download(&self, target: &mut [u8], source: &dyn Buffer) -> Result<()>;

    /// Copy the whole of `source` to the start of another buffer of this context and wait
    /// for it.
    fn copy(&self, target: &dyn Buffer, source: &dyn Buffer) -> Result<()>;

    /// Compile all kernels of [`KERNEL_SOURCE`]: source to loaded machine code,
    /// each step a stage. Which stages there are is the device's to say.
    fn compile(&self, from: From) -> Result<(Box<dyn Module>, Vec<Stage>)>;

    /// Queue one kernel over `threads` indices. Buffers that are smaller than the other
    /// arguments say are an error.
    fn launch(&self, kernel: &dyn Kernel, threads: usize, arguments: &[Argument<'_>])
    -> Result<()>;

    /// Wait for all queued work.
    fn synchronize(&self) -> Result<()>;

    /// Memory in use.
    fn memory(&self) -> Result<Memory>;
}

/// What a compilation begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The kernel source, where the device has a compiler for it at run time;
    /// otherwise as [`From::Shipped`].
    Source,
    /// The furthest form that travels inside this program (PTX for CUDA; the
    /// source where nothing else is portable).
    Shipped,
}

/// Something of the driver's that is destroyed when dropped.
pub trait Handle {}

/// Device memory.
pub trait Buffer {
    /// Its size.
    fn bytes(&self) -> usize;
    /// The implementation's own handle (an address or a `cl_mem`).
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
    /// The kernel of that name.
    fn kernel(&self, name: KernelName) -> Result<Box<dyn Kernel>>;
}

/// A kernel that can be launched.
pub trait Kernel {
    /// The implementation's own handle.
    fn raw(&self) -> u64;
    /// Which kernel it is.
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

/// The device of that kind; an [`Unavailable`] one if it is not here.
///
/// Nothing is loaded or initialized yet, except that a missing library is found out.
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
