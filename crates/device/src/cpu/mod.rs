//! The embedded device: this machine's processor.
//!
//! It is available on every machine, and it is not a simulation: it has a compiler for the
//! kernel source (Cranelift generates the machine code), an asynchronous queue, memory
//! whose pages are actually faulted in, page-locked memory, and an on-disk compile cache.
//! Every experiment therefore runs everywhere, and its results on this device are real.
//!
//! ```text
//! mod (device) → context ─┬─ queue      workers, launches in order
//!                         ├─ shared     live buffers; memory, pool
//!                         └─ module ─┬─ compiler   source → intermediate → object
//!                            │       └─ cache      object on disk
//!                            └─ object in memory, ready to call
//! ```

mod cache;
mod compiler;
mod context;
mod memory;
mod module;
mod object;
mod processor;
mod queue;
mod shared;
#[cfg(test)]
mod tests;

use cranelift_codegen::isa::OwnedTargetIsa;

use self::context::CpuContext;
use crate::{
    Cache, Context, Device, Error, Info, Kind, Options, Result, Stage, StageName, Stopwatch,
};

/// The embedded device.
pub struct Cpu {
    cache: Cache,
    initialized: Option<Initialized>,
}

struct Initialized {
    isa: OwnedTargetIsa,
    info: Info,
}

impl Cpu {
    /// Creates the device. Every machine has one, so this cannot fail.
    pub fn new(options: &Options) -> Cpu {
        Cpu {
            cache: options.cache.clone(),
            initialized: None,
        }
    }

    fn initialized(&self, call: &str) -> Result<&Initialized> {
        self.initialized
            .as_ref()
            .ok_or_else(|| Error::failed(call, "the cpu device is not initialized yet"))
    }

    /// Creates a context with this many worker threads.
    fn context_with(&self, workers: usize) -> Result<CpuContext> {
        let isa = &self.initialized("creating a context")?.isa;
        CpuContext::new(isa.clone(), self.cache.clone(), workers)
    }
}

impl Device for Cpu {
    fn kind(&self) -> Kind {
        Kind::Cpu
    }

    /// Loads no library: the device is part of this program.
    fn initialize(&mut self) -> Result<Vec<Stage>> {
        if self.initialized.is_some() {
            return Ok(Vec::new());
        }
        let mut watch = Stopwatch::new();
        let isa = processor::target()?;
        watch.lap(StageName::InitializeDriver);
        let info = processor::info(&*isa);
        watch.lap(StageName::QueryDevice);
        self.initialized = Some(Initialized { isa, info });
        Ok(watch.stages())
    }

    fn info(&self) -> Result<Info> {
        let initialized = self.initialized("querying the device")?;
        Ok(initialized.info.clone())
    }

    /// Starts one worker thread per core.
    fn context(&self) -> Result<Box<dyn Context>> {
        Ok(Box::new(self.context_with(processor::cores())?))
    }
}
