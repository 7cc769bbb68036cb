//! The embedded device: this machine's own processor.
//!
//! It is there on every machine, and it is no imitation: it has a compiler for the
//! kernel source (Cranelift makes the machine code), a queue that is asynchronous,
//! memory whose pages are really faulted in, page-locked memory, and a compile cache
//! on disk. So every experiment runs everywhere, and what it finds on this device is
//! true of this device.
//!
//! ```text
//! mod (device) → context ─┬─ queue      workers, launches in order
//!                         ├─ buffer     memory, available, pool; pinned
//!                         └─ module ─┬─ compiler   source → intermediate → object
//!                                    ├─ cache      object on disk
//!                                    └─ code       object in memory, ready to call
//! ```

mod available;
mod buffer;
mod cache;
mod code;
mod compiler;
mod context;
mod host;
mod memory;
mod module;
mod object;
mod pinned;
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
    /// The device of this machine. There is always one, so nothing can fail yet.
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

    /// A context with so many worker threads.
    fn context_with(&self, workers: usize) -> Result<CpuContext> {
        let isa = &self.initialized("making a context")?.isa;
        CpuContext::new(isa.clone(), self.cache.clone(), workers)
    }
}

impl Device for Cpu {
    fn kind(&self) -> Kind {
        Kind::Cpu
    }

    /// There is no library to load: the device is part of this program.
    fn initialize(&mut self) -> Result<Vec<Stage>> {
        if self.initialized.is_some() {
            return Ok(Vec::new());
        }
        let mut watch = Stopwatch::new();
        let isa = host::target()?;
        watch.lap(StageName::InitializeDriver);
        let info = host::info(&*isa);
        watch.lap(StageName::QueryDevice);
        self.initialized = Some(Initialized { isa, info });
        Ok(watch.stages())
    }

    fn info(&self) -> Result<Info> {
        let initialized = self.initialized("asking for the device's facts")?;
        Ok(initialized.info.clone())
    }

    /// One worker thread for each core.
    fn context(&self) -> Result<Box<dyn Context>> {
        Ok(Box::new(self.context_with(host::cores())?))
    }
}
