//! OpenCL devices through an ICD loader, loaded at run time.
//!
//! In layers, as for CUDA: `sys` declares the functions as `CL/cl.h` does, `driver`
//! converts their error codes, `scope` owns a context, its queue and its memory;
//! compilation and the [`crate::Context`] trait build on these. Requires OpenCL 1.2.

mod compile;
mod context;
mod driver;
mod memory;
mod query;
mod scope;
mod sys;
#[cfg(test)]
mod tests;

use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use context::ClContext;
use driver::{Driver, unavailable};
use query::Target;
use scope::Scope;

use crate::{
    Cache, Context, Device, Error, Info, Kind, Options, Result, Stage, StageName, Stopwatch, dynlib,
};

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
        let platforms = query::platforms(&driver)?;
        watch.lap(StageName::InitializeDriver);
        let (target, info) = query::best_device(&driver, &platforms)?;
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
