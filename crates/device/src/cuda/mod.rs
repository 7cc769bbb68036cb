//! NVIDIA GPUs through the CUDA driver, found at run time.
//!
//! In layers: `sys` has the functions as `cuda.h` declares them, `driver` turns
//! their answers into errors, `scope` owns a context and its queue, and above
//! them stand memory, compilation and the [`crate::Context`] trait. Nothing here
//! is needed to build, and only the first device is used, as frameworks do by
//! default (CUDA_VISIBLE_DEVICES says which one that is).

mod compile;
mod context;
mod driver;
mod memory;
mod nvrtc;
mod ptx;
mod query;
mod scope;
pub(crate) mod sys;

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use context::CudaContext;
use driver::{Driver, unavailable};
use nvrtc::Nvrtc;
use query::Target;
use scope::Scope;

use crate::{
    Cache, Context, Device, Error, Info, Kind, Options, Result, Stage, StageName, Stopwatch, dynlib,
};

/// The first CUDA device of this machine.
pub struct Cuda {
    /// Whether the driver is to keep what it compiles (see [`crate::Context::compile`]).
    cached: bool,
    ready: Option<Ready>,
}

struct Ready {
    driver: Rc<Driver>,
    target: Target,
    info: Info,
    /// The primary context while it lives.
    primary: RefCell<Weak<Scope>>,
}

impl Cuda {
    /// The device, unless its driver's library is not on this machine. Nothing is
    /// loaded yet: that is a step of [`Device::initialize`] and timed there.
    pub fn find(options: &Options) -> Result<Cuda> {
        if !dynlib::is_present(driver::NAMES) {
            return Err(unavailable(
                "libcuda.so.1 is not on this machine",
                "install NVIDIA's driver, or in a container pass the GPU through (--gpus all)",
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
            .ok_or_else(|| Error::failed("the use of the cuda device", "it is not initialized yet"))
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

    /// The first context is the primary one, which libraries in a process share and
    /// every framework uses; one that is made while it lives is a fresh context.
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

/// Which NVRTC, the compiler from CUDA C to PTX, is used on this machine; otherwise
/// why there is none. Kernels are then compiled from the PTX inside this program.
pub fn nvrtc() -> Result<String> {
    let (major, minor) = Nvrtc::find(|_| true)?.version();
    Ok(format!("NVRTC {major}.{minor}"))
}

/// The PTX that travels inside this program, made anew with the NVRTC of this
/// machine; for `examples/make_ptx.rs` alone.
#[doc(hidden)]
pub fn make_ptx() -> Result<String> {
    ptx::make()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finding_answers_in_sentences_wherever_it_runs() {
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
