//! NVIDIA GPUs through the CUDA driver, loaded at run time.
//!
//! In layers: `driver` declares the functions as `cuda.h` does and converts their error
//! codes, `scope` owns a context and its queue; memory, compilation and the
//! [`crate::Context`] trait build on these. None of it is needed at build time. Only the
//! first device is used, as frameworks do by default (CUDA_VISIBLE_DEVICES selects it); its
//! properties are available without a context.

mod compile;
mod context;
mod driver;
mod memory;
mod nvrtc;
mod scope;

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int};
use std::fs;
use std::rc::{Rc, Weak};

use crate::{
    Cache, Context, Device, Error, Info, Kind, Options, Result, Stage, StageName, Stopwatch, dynlib,
};
use context::CudaContext;
use driver::{Driver, RawDevice, unavailable};
use nvrtc::Nvrtc;
use scope::Scope;

/// This machine's first CUDA device.
pub struct Cuda {
    /// If true, the driver caches compiled code (see [`crate::Context::compile`]).
    cached: bool,
    ready: Option<Ready>,
}

struct Ready {
    driver: Rc<Driver>,
    target: Target,
    info: Info,
    /// The primary context, while it is alive.
    primary: RefCell<Weak<Scope>>,
}

impl Cuda {
    /// Returns the device unless the driver library is missing. Nothing is loaded yet: that
    /// is part of [`Device::initialize`] and timed there.
    pub fn find(options: &Options) -> Result<Cuda> {
        if !dynlib::is_present(driver::NAMES) {
            return Err(unavailable(
                "libcuda.so.1 is not installed",
                "install the NVIDIA driver, or in a container pass the GPU through (--gpus all)",
            ));
        }
        Ok(Cuda {
            cached: options.cache != Cache::Off,
            ready: None,
        })
    }

    fn ready(&self) -> Result<&Ready> {
        self.ready
            .as_ref()
            .ok_or_else(|| Error::failed("using the cuda device", "it is not initialized yet"))
    }
}

impl Device for Cuda {
    fn kind(&self) -> Kind {
        Kind::Cuda
    }

    fn initialize(&mut self) -> Result<Vec<Stage>> {
        if self.ready.is_some() {
            return Ok(Vec::new());
        }
        let mut watch = Stopwatch::new();
        let driver = Driver::load()?;
        watch.lap(StageName::LoadLibrary);
        driver.initialize()?;
        watch.lap(StageName::InitializeDriver);
        let (target, info) = first_device(&driver)?;
        watch.lap(StageName::QueryDevice);
        self.ready = Some(Ready {
            driver: Rc::new(driver),
            target,
            info,
            primary: RefCell::default(),
        });
        Ok(watch.stages())
    }

    fn info(&self) -> Result<Info> {
        Ok(self.ready()?.info.clone())
    }

    /// The first context is the primary one, which all libraries in a process share and
    /// every framework uses; one created while it is alive is a separate context.
    fn context(&self) -> Result<Box<dyn Context>> {
        let ready = self.ready()?;
        let is_first = ready.primary.borrow().upgrade().is_none();
        let scope = Rc::new(if is_first {
            Scope::primary(&ready.driver, ready.target)?
        } else {
            Scope::fresh(&ready.driver, ready.target)?
        });
        if is_first {
            *ready.primary.borrow_mut() = Rc::downgrade(&scope);
        }
        Ok(Box::new(CudaContext::new(scope, self.cached)))
    }
}

/// The version of NVRTC, the compiler from CUDA C to PTX, that is used on this machine, or
/// why there is none. Without it, kernels are compiled from the PTX embedded in this
/// program.
pub fn nvrtc() -> Result<String> {
    let (major, minor) = Nvrtc::find(|_| true)?.version();
    Ok(format!("NVRTC {major}.{minor}"))
}

/// Regenerates the embedded PTX with this machine's NVRTC; only for `examples/make_ptx.rs`.
#[doc(hidden)]
pub fn make_ptx() -> Result<String> {
    compile::make()
}

/// The device properties that a context needs.
#[derive(Clone, Copy, Debug)]
struct Target {
    /// The driver's ordinal.
    pub device: RawDevice,
    /// The compute capability as one number: 90 is 9.0.
    pub capability: i32,
    /// The newest CUDA version that the driver supports: 13000 is 13.0.
    pub cuda: i32,
    /// The maximum number of blocks in one launch.
    pub max_blocks: usize,
    /// True if the device supports `cuMemAllocAsync`.
    pub has_pools: bool,
}

/// Queries the first device.
fn first_device(driver: &Driver) -> Result<(Target, Info)> {
    let cu = &driver.cu;
    let mut device: RawDevice = 0;
    // SAFETY: the driver is initialized; it writes one integer.
    let code = unsafe { (cu.device_get)(&raw mut device, 0) };
    if code != driver::SUCCESS {
        return Err(driver.no_device("cuDeviceGet", code));
    }
    let mut memory = 0usize;
    // SAFETY: the device is valid; the driver writes one size_t.
    let code = unsafe { (cu.device_total_mem)(&raw mut memory, device) };
    driver.check("cuDeviceTotalMem", code)?;
    let mut cuda: c_int = 0;
    // SAFETY: the driver writes one integer.
    let code = unsafe { (cu.driver_get_version)(&raw mut cuda) };
    driver.check("cuDriverGetVersion", code)?;

    let major = attribute(driver, device, driver::ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(driver, device, driver::ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    let multiprocessors = attribute(driver, device, driver::ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    let max_blocks = attribute(driver, device, driver::ATTRIBUTE_MAX_GRID_DIM_X)?;
    // Drivers before 11.2 do not know this attribute and have no pools.
    let pools = attribute(driver, device, driver::ATTRIBUTE_MEMORY_POOLS_SUPPORTED).unwrap_or(0);
    let name = text("cuDeviceGetName", driver, device, cu.device_get_name)?;
    let pci = text(
        "cuDeviceGetPCIBusId",
        driver,
        device,
        cu.device_get_pci_bus_id,
    )?;

    let target = Target {
        device,
        capability: 10 * major + minor,
        cuda,
        max_blocks: usize::try_from(max_blocks).unwrap_or(0),
        has_pools: pools != 0,
    };
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let info = Info {
        name,
        driver: describe_driver(kernel_driver().as_deref(), cuda),
        memory: memory as u64,
        is_gpu: true,
        facts: vec![
            fact("compute capability", format!("{major}.{minor}")),
            fact("multiprocessors", multiprocessors.to_string()),
            fact("PCI address", pci),
        ],
    };
    Ok((target, info))
}

fn attribute(driver: &Driver, device: RawDevice, which: c_int) -> Result<c_int> {
    let mut value: c_int = 0;
    // SAFETY: the device is valid; the driver writes one integer, or rejects an attribute
    // that it does not know.
    let code = unsafe { (driver.cu.device_get_attribute)(&raw mut value, which, device) };
    driver.check("cuDeviceGetAttribute", code)?;
    Ok(value)
}

/// The type of `cuDeviceGetName` and `cuDeviceGetPCIBusId`.
type TextOf = unsafe extern "C" fn(*mut c_char, c_int, RawDevice) -> driver::Code;

fn text(call: &str, driver: &Driver, device: RawDevice, function: TextOf) -> Result<String> {
    const SIZE: usize = 256;
    let mut buffer = [0u8; SIZE];
    // SAFETY: the driver writes at most that many characters, including the NUL.
    let code = unsafe { function(buffer.as_mut_ptr().cast(), SIZE as c_int, device) };
    driver.check(call, code)?;
    Ok(CStr::from_bytes_until_nul(&buffer)
        .map(|text| text.to_string_lossy().into_owned())
        .unwrap_or_default())
}

/// The kernel driver's version, where available (not on WSL).
fn kernel_driver() -> Option<String> {
    version_in(&fs::read_to_string("/proc/driver/nvidia/version").ok()?)
}

/// The first word of the first line that consists of numbers joined by dots.
fn version_in(text: &str) -> Option<String> {
    text.lines()
        .next()?
        .split_whitespace()
        .find(|word| {
            word.contains('.')
                && word
                    .split('.')
                    .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
        })
        .map(str::to_owned)
}

fn describe_driver(kernel: Option<&str>, cuda: i32) -> String {
    let cuda = format!("CUDA {}.{}", cuda / 1000, cuda % 1000 / 10);
    match kernel {
        Some(kernel) => format!("{kernel}, {cuda}"),
        None => cuda,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_succeeds_or_explains_why_not() {
        match Cuda::find(&Options::default()) {
            Ok(mut found) => {
                assert!(found.info().is_err(), "not initialized yet");
                assert!(found.context().is_err(), "not initialized yet");
                if let Err(error) = found.initialize() {
                    assert!(matches!(error, Error::Unavailable { .. }), "{error}");
                }
            }
            Err(Error::Unavailable {
                kind,
                because,
                hint,
            }) => {
                assert_eq!(kind, Kind::Cuda);
                assert!(!because.is_empty() && !hint.is_empty());
            }
            Err(other) => panic!("not a reason for absence: {other}"),
        }
    }

    #[test]
    fn the_kernel_driver_version_is_found_in_both_formats() {
        let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82.01  Wed Oct 27 2021\nGCC version:  gcc 9.3.0";
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (x@y)";
        assert_eq!(version_in(closed).as_deref(), Some("470.82.01"));
        assert_eq!(version_in(open).as_deref(), Some("580.159.04"));
        assert_eq!(version_in(""), None);
    }

    #[test]
    fn the_driver_description_includes_the_kernel_version_if_known() {
        assert_eq!(
            describe_driver(Some("580.159.04"), 13000),
            "580.159.04, CUDA 13.0"
        );
        assert_eq!(describe_driver(None, 12080), "CUDA 12.8");
    }
}
