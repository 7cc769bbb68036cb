//! Compiles, loads and looks up the kernels.

use std::rc::Rc;
use std::sync::Arc;

use super::cache::Entry;
use super::code::Code;
use super::compiler;
use super::shared::Shared;
use crate::{
    Cache, Error, KERNEL_SOURCE, Kernel, KernelName, Module, Result, Stage, StageName, Stopwatch,
};

/// The loaded kernels.
pub(crate) struct CpuModule {
    code: Arc<Code>,
}

impl CpuModule {
    /// Compiles [`KERNEL_SOURCE`], or reads its machine code from the cache, and loads it.
    ///
    /// The cache is written after the last stage: a process that finds the code there does
    /// not pay for writing it before its first launch.
    pub fn compile(context: &Rc<Shared>) -> Result<(CpuModule, Vec<Stage>)> {
        let isa = &*context.isa;
        let mut watch = Stopwatch::new();
        let entry = match &context.cache {
            Cache::Off => None,
            Cache::Directory(directory) => Some(Entry::new(directory, KERNEL_SOURCE, isa)),
        };
        let kept = entry.as_ref().and_then(Entry::read);
        let hit = kept.is_some();
        let object = match kept {
            Some(object) => {
                watch.lap(StageName::ReadCache);
                object
            }
            None => {
                let mut units = compiler::build(KERNEL_SOURCE, isa)?;
                watch.lap(StageName::SourceToIntermediate);
                compiler::optimise(&mut units, isa)?;
                watch.lap(StageName::Optimise);
                let object = compiler::emit(&units, isa)?;
                watch.lap(StageName::IntermediateToMachineCode);
                object
            }
        };
        let code = Arc::new(Code::load(&object)?);
        context.register_code(&code);
        watch.lap(StageName::Load);
        if let Some(entry) = entry.filter(|_| !hit) {
            // As with the drivers' caches, failing to write only means that the next
            // process compiles again.
            let _ = entry.write(&object);
        }
        Ok((CpuModule { code }, watch.stages()))
    }
}

impl Module for CpuModule {
    fn kernel(&self, name: KernelName) -> Result<Box<dyn Kernel>> {
        let symbol = self.code.symbol(name.as_str()).ok_or_else(|| {
            let what = format!("the loaded code has no kernel `{}`", name.as_str());
            Error::failed("looking up a kernel", what)
        })?;
        Ok(Box::new(CpuKernel {
            address: self.code.address(symbol),
            name,
            _code: Arc::clone(&self.code),
        }))
    }
}

/// A kernel. It keeps its machine code loaded even if the module is dropped.
struct CpuKernel {
    address: u64,
    name: KernelName,
    _code: Arc<Code>,
}

impl Kernel for CpuKernel {
    fn raw(&self) -> u64 {
        self.address
    }

    fn name(&self) -> KernelName {
        self.name
    }
}
