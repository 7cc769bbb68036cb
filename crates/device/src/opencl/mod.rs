//! OpenCL devices through an ICD loader, loaded at run time.
//!
//! In layers, as for CUDA: `driver` declares the functions as `CL/cl.h` does and
//! converts their error codes, `scope` owns a context, its queue and its memory;
//! compilation and the [`crate::Context`] trait build on these. The best device is selected by
//! its properties. Requires OpenCL 1.2.

mod compile;
mod context;
mod driver;
mod memory;
mod scope;
#[cfg(test)]
mod tests;

use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use crate::{
    Cache, Context, Device, Error, Info, Kind, Options, Result, Stage, StageName, Stopwatch, dynlib,
};
use context::ClContext;
use driver::{Bits, Driver, Opaque, check, unavailable};
use scope::Scope;

/// PoCL may return a device that another thread is still setting up (seen with 3.1: its
/// name is null), so only one thread at a time enumerates devices.
static ENUMERATION: Mutex<()> = Mutex::new(());

/// This machine's best OpenCL device.
pub struct OpenCl {
    /// If true, the implementation caches compiled code (see [`compile`]).
    cached: bool,
    ready: Option<Ready>,
}

struct Ready {
    driver: Rc<Driver>,
    target: Target,
    info: Info,
}

impl OpenCl {
    /// Returns the device unless no ICD loader is installed. Nothing is loaded yet: that is
    /// part of [`Device::initialize`] and timed there.
    pub fn find(options: &Options) -> Result<OpenCl> {
        if !dynlib::is_present(driver::NAMES) {
            return Err(unavailable("libOpenCL.so.1 is not installed"));
        }
        Ok(OpenCl {
            cached: options.cache != Cache::Off,
            ready: None,
        })
    }

    fn ready(&self) -> Result<&Ready> {
        self.ready
            .as_ref()
            .ok_or_else(|| Error::failed("using the opencl device", "it is not initialized yet"))
    }
}

impl Device for OpenCl {
    fn kind(&self) -> Kind {
        Kind::OpenCl
    }

    fn initialize(&mut self) -> Result<Vec<Stage>> {
        if self.ready.is_some() {
            return Ok(Vec::new());
        }
        let _guard = ENUMERATION.lock().unwrap_or_else(PoisonError::into_inner);
        let mut watch = Stopwatch::new();
        let driver = Driver::load()?;
        watch.lap(StageName::LoadLibrary);
        let platforms = platforms(&driver)?;
        watch.lap(StageName::InitializeDriver);
        let (target, info) = best_device(&driver, &platforms)?;
        watch.lap(StageName::QueryDevice);
        self.ready = Some(Ready {
            driver: Rc::new(driver),
            target,
            info,
        });
        Ok(watch.stages())
    }

    fn info(&self) -> Result<Info> {
        Ok(self.ready()?.info.clone())
    }

    fn context(&self) -> Result<Box<dyn Context>> {
        let ready = self.ready()?;
        let scope = Scope::new(&ready.driver, ready.target)?;
        Ok(Box::new(ClContext::new(Rc::new(scope), self.cached)))
    }
}

/// The device properties that a context needs.
#[derive(Clone, Copy, Debug)]
struct Target {
    /// The loader's handle.
    pub device: Opaque,
    /// True if it computes in main memory.
    pub is_cpu: bool,
    /// Its memory in bytes.
    pub memory: u64,
    /// The maximum size of one buffer in bytes.
    pub largest: u64,
    /// The maximum number of threads in one work group.
    pub group: usize,
}

/// All platforms; querying them makes the loader load the vendor drivers.
fn platforms(driver: &Driver) -> Result<Vec<Opaque>> {
    let mut count = 0;
    // SAFETY: without a buffer for handles, it only writes their number.
    let code = unsafe { (driver.cl.get_platforms)(0, ptr::null_mut(), &raw mut count) };
    if code == driver::PLATFORM_NOT_FOUND || (code == driver::SUCCESS && count == 0) {
        return Err(unavailable("no OpenCL platform is installed"));
    }
    check("clGetPlatformIDs", code)?;
    let mut list = vec![ptr::null_mut(); count as usize];
    // SAFETY: the buffer holds that many handles.
    let code = unsafe { (driver.cl.get_platforms)(count, list.as_mut_ptr(), &raw mut count) };
    check("clGetPlatformIDs", code)?;
    Ok(list)
}

/// The best device: a GPU before an accelerator before a CPU; the first one of its type.
fn best_device(driver: &Driver, platforms: &[Opaque]) -> Result<(Target, Info)> {
    let mut found: Vec<(Bits, Opaque, Opaque)> = Vec::new();
    for &platform in platforms {
        for device in devices(driver, platform)? {
            if version(&text(driver, device, driver::DEVICE_VERSION)?) >= (1, 2) {
                let kind = number::<Bits>(driver, device, driver::DEVICE_TYPE)?;
                found.push((kind, platform, device));
            }
        }
    }
    let best = found.into_iter().min_by_key(|&(kind, ..)| rank(kind));
    let (kind, platform, device) = best.ok_or_else(|| {
        unavailable("the installed OpenCL platforms have no device with OpenCL 1.2")
    })?;
    let target = Target {
        device,
        is_cpu: kind & driver::DEVICE_TYPE_CPU != 0,
        memory: number(driver, device, driver::DEVICE_GLOBAL_MEM_SIZE)?,
        largest: number(driver, device, driver::DEVICE_MAX_MEM_ALLOC_SIZE)?,
        group: number(driver, device, driver::DEVICE_MAX_WORK_GROUP_SIZE)?,
    };
    let units: u32 = number(driver, device, driver::DEVICE_MAX_COMPUTE_UNITS)?;
    let platform = platform_name(driver, platform)?;
    let version = text(driver, device, driver::DRIVER_VERSION)?;
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let info = Info {
        name: text(driver, device, driver::DEVICE_NAME)?,
        driver: format!("{platform} {version}"),
        memory: target.memory,
        is_gpu: kind & driver::DEVICE_TYPE_GPU != 0,
        facts: vec![
            fact("platform", platform),
            fact("version", text(driver, device, driver::DEVICE_VERSION)?),
            fact("compute units", units.to_string()),
            fact("largest buffer in bytes", target.largest.to_string()),
        ],
    };
    Ok((target, info))
}

fn rank(kind: Bits) -> u8 {
    if kind & driver::DEVICE_TYPE_GPU != 0 {
        0
    } else if kind & driver::DEVICE_TYPE_ACCELERATOR != 0 {
        1
    } else {
        2
    }
}

fn devices(driver: &Driver, platform: Opaque) -> Result<Vec<Opaque>> {
    let (get, all) = (driver.cl.get_devices, driver::DEVICE_TYPE_ALL);
    let mut count = 0;
    // SAFETY: the platform is valid; without a buffer for handles, it writes their number.
    let code = unsafe { get(platform, all, 0, ptr::null_mut(), &raw mut count) };
    if code == driver::DEVICE_NOT_FOUND {
        return Ok(Vec::new());
    }
    check("clGetDeviceIDs", code)?;
    let mut list = vec![ptr::null_mut(); count as usize];
    // SAFETY: the buffer holds that many handles.
    let code = unsafe { get(platform, all, count, list.as_mut_ptr(), &raw mut count) };
    check("clGetDeviceIDs", code)?;
    Ok(list)
}

/// Queries a device property that is one number of type `N`.
fn number<N: Copy + Default>(driver: &Driver, device: Opaque, what: u32) -> Result<N> {
    let mut value = N::default();
    let target: *mut c_void = (&raw mut value).cast();
    let get = driver.cl.get_device_info;
    // SAFETY: at most size_of::<N>() bytes are written, and every bit pattern is a valid
    // number: the callers use u32, u64 and usize.
    let code = unsafe { get(device, what, size_of::<N>(), target, ptr::null_mut()) };
    check("clGetDeviceInfo", code)?;
    Ok(value)
}

fn text(driver: &Driver, device: Opaque, what: u32) -> Result<String> {
    ask("clGetDeviceInfo", |size, value, bytes| {
        // SAFETY: the device is valid, and `ask` passes a buffer and its size.
        unsafe { (driver.cl.get_device_info)(device, what, size, value, bytes) }
    })
}

fn platform_name(driver: &Driver, platform: Opaque) -> Result<String> {
    ask("clGetPlatformInfo", |size, value, bytes| {
        let what = driver::PLATFORM_NAME;
        // SAFETY: the platform is valid, and `ask` passes a buffer and its size.
        unsafe { (driver.cl.get_platform_info)(platform, what, size, value, bytes) }
    })
}

/// Reads a text from a function that first reports its size and then writes it.
fn ask(
    call: &str,
    function: impl Fn(usize, *mut c_void, *mut usize) -> driver::Code,
) -> Result<String> {
    let mut bytes = 0;
    check(call, function(0, ptr::null_mut(), &raw mut bytes))?;
    let mut buffer = vec![0u8; bytes];
    check(
        call,
        function(bytes, buffer.as_mut_ptr().cast(), ptr::null_mut()),
    )?;
    let text = String::from_utf8_lossy(&buffer);
    Ok(text.trim_end_matches('\0').trim().to_owned())
}

/// The version numbers in a text like `OpenCL 1.2 CUDA`.
fn version(text: &str) -> (u32, u32) {
    let mut numbers = text
        .trim_start_matches("OpenCL ")
        .split(|c: char| !c.is_ascii_digit())
        .map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
