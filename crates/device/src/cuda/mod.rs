//! NVIDIA GPUs through the CUDA driver, loaded at run time.
//!
//! In layers: `sys` declares the functions as `cuda.h` does, `driver` converts their error
//! codes, `scope` owns a context and its queue; memory, compilation and the
//! [`crate::Context`] trait build on these. None of it is needed at build time. Only the
//! first device is used, as frameworks do by default (CUDA_VISIBLE_DEVICES selects it).

mod compile;
mod context;
mod driver;
mod memory;
mod nvrtc;
mod query;
mod scope;
pub(crate) mod sys;

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use crate::{
    Cache, Context, Device, Error, Info, Kind, Options, Result, Stage, StageName, Stopwatch, dynlib,
};
use context::CudaContext;
use driver::{Driver, unavailable};
use nvrtc::Nvrtc;
use query::Target;
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
        let (target, info) = query::first_device(&driver)?;
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
}
