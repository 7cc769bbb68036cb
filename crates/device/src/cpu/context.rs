//! Contexts of the cpu device.
//!
//! A context validates its arguments and waits where ordering requires it; the queue, the
//! buffers and the module do the work.

use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;

use cranelift_codegen::isa::OwnedTargetIsa;
use rustix::event::{EventfdFlags, eventfd};

use super::memory::{Mapping, Pinned};
use super::module::{Call, CpuModule};
use super::object::ParameterKind;
use super::queue::Queue;
use super::shared::{Allocated, Pooled, Shared};
use crate::kernels::{self, Given};
use crate::pool::Pool;
use crate::{
    Argument, Buffer, Cache, Context, Error, From, Handle, HostBuffer, Kernel, KernelName, Memory,
    Module, Result, Stage,
};

/// A context of the cpu device.
pub(crate) struct CpuContext {
    shared: Rc<Shared>,
}

impl CpuContext {
    /// Creates a context with `workers` threads.
    pub fn new(isa: OwnedTargetIsa, cache: Cache, workers: usize) -> Result<CpuContext> {
        let queue = queue(workers)?;
        Ok(CpuContext {
            shared: Rc::new(Shared::new(queue, isa, cache)),
        })
    }
}

/// Creates a queue and starts its threads.
fn queue(workers: usize) -> Result<Queue> {
    Queue::new(workers).map_err(|error| {
        let why = format!("{error}; see `ulimit -u` and `ulimit -v`");
        Error::failed(format!("starting {workers} worker threads"), why)
    })
}

/// Another queue, with one thread. The traits offer no way to submit work to it: only the
/// cost of creating it is measured.
struct Stream {
    _queue: Queue,
}

impl Handle for Stream {}

/// A kernel event (eventfd), which other threads or processes could wait for.
struct Event {
    _event: OwnedFd,
}

impl Handle for Event {}

impl Context for CpuContext {
    fn stream(&self) -> Result<Box<dyn Handle>> {
        Ok(Box::new(Stream { _queue: queue(1)? }))
    }

    fn event(&self) -> Result<Box<dyn Handle>> {
        let event = eventfd(0, EventfdFlags::CLOEXEC)
            .map_err(|why| Error::failed("eventfd", format!("{why}; see `ulimit -n`")))?;
        Ok(Box::new(Event { _event: event }))
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        let mapping = self.shared.map(bytes)?;
        Ok(Box::new(Allocated::new(&self.shared, mapping, bytes)))
    }

    fn allocate_pooled(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        // Larger sizes cannot even be rounded up to a whole block.
        if isize::try_from(bytes).is_err() {
            return Err(Error::OutOfMemory {
                requested: bytes,
                detail: "this exceeds the address space".to_owned(),
            });
        }
        let mut pool = self.shared.pool.borrow_mut();
        let free = pool.take(bytes);
        let block = match free {
            Some(block) => Some(block),
            None => {
                let segment = Pool::<Mapping>::rounded(bytes);
                pool.add(self.shared.map(segment)?, segment);
                pool.take(bytes)
            }
        };
        let found = block.and_then(|block| Some((block, pool.storage(block)?.address())));
        let (block, start) = found.ok_or_else(|| {
            Error::failed("allocating from the pool", "it does not fit a new segment")
        })?;
        let address = start + block.offset as u64;
        drop(pool);
        Ok(Box::new(Pooled::new(&self.shared, block, address, bytes)))
    }

    fn trim_pool(&self) -> Result<()> {
        // Queued work may still use blocks that were returned to the pool.
        self.shared.queue.wait();
        drop(self.shared.pool.borrow_mut().trim());
        Ok(())
    }

    fn pin(&self, bytes: usize) -> Result<Box<dyn HostBuffer>> {
        self.shared.check_available(bytes)?;
        Ok(Box::new(Pinned::new(bytes)?))
    }

    fn upload(&self, target: &dyn Buffer, source: &[u8]) -> Result<()> {
        let (address, room) = self.shared.locate(target, format_args!("uploading"))?;
        if source.len() > room {
            let why = format!("{} bytes do not fit a buffer of {room}", source.len());
            return Err(Error::failed("uploading", why));
        }
        self.shared.queue.wait();
        let target = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
        // SAFETY: `locate` found a live buffer of ours at this address, at least as long as
        // the source; no queued work can touch it; and no slice of it exists.
        unsafe { target.copy_from_nonoverlapping(source.as_ptr(), source.len()) };
        Ok(())
    }

    fn copy(&self, target: &dyn Buffer, source: &dyn Buffer) -> Result<()> {
        let (from, bytes) = self.shared.locate(source, format_args!("copying"))?;
        let (to, room) = self.shared.locate(target, format_args!("copying"))?;
        if bytes > room {
            let why = format!("{bytes} bytes do not fit a buffer of {room}");
            return Err(Error::failed("copying", why));
        }
        self.shared.queue.wait();
        let from = std::ptr::with_exposed_provenance::<u8>(from as usize);
        let to = std::ptr::with_exposed_provenance_mut::<u8>(to as usize);
        // SAFETY: `locate` found live buffers of ours at both addresses, the target at
        // least as long as the source; no queued work can touch them, and no slice of them
        // exists. They may be the same buffer, which this copy allows.
        unsafe { from.copy_to(to, bytes) };
        Ok(())
    }

    fn download(&self, target: &mut [u8], source: &dyn Buffer) -> Result<()> {
        let (address, held) = self.shared.locate(source, format_args!("downloading"))?;
        if target.len() > held {
            let why = format!(
                "a buffer of {held} bytes is shorter than {} bytes",
                target.len()
            );
            return Err(Error::failed("downloading", why));
        }
        self.shared.queue.wait();
        let source = std::ptr::with_exposed_provenance::<u8>(address as usize);
        // SAFETY: as in `upload`; the kernel zeroed the buffer's pages, so all of it is
        // initialized.
        unsafe { source.copy_to_nonoverlapping(target.as_mut_ptr(), target.len()) };
        Ok(())
    }

    /// Ignores `from`: source code is the only form that suits every processor.
    fn compile(&self, _from: From) -> Result<(Box<dyn Module>, Vec<Stage>)> {
        let (module, stages) = CpuModule::compile(&self.shared)?;
        Ok((Box::new(module), stages))
    }

    fn launch(
        &self,
        kernel: &dyn Kernel,
        threads: usize,
        arguments: &[Argument<'_>],
    ) -> Result<()> {
        let name = kernel.name().as_str();
        let failed = |why: String| Error::failed(format!("launching {name}"), why);
        let address = kernel.raw();
        let code = self
            .shared
            .code_at(address)
            .ok_or_else(|| failed("it was not compiled in this context".to_owned()))?;
        let symbol = code
            .symbols()
            .iter()
            .find(|symbol| code.address(symbol) == address)
            .ok_or_else(|| failed("its code has no kernel at this address".to_owned()))?;
        let parameters = &symbol.parameters;
        if arguments.len() != parameters.len() {
            return Err(failed(format!(
                "expected {} arguments, got {}",
                parameters.len(),
                arguments.len()
            )));
        }
        let mut slots = Vec::with_capacity(arguments.len());
        let mut given = Vec::with_capacity(arguments.len());
        for (index, (argument, parameter)) in arguments.iter().zip(parameters).enumerate() {
            let (kind, slot, extent) = match argument {
                Argument::Buffer(buffer) => {
                    let call = format_args!("launching {name}");
                    let (address, bytes) = self.shared.locate(*buffer, call)?;
                    (ParameterKind::Pointer, address, Given::Buffer(bytes))
                }
                Argument::F32(value) => (
                    ParameterKind::Float,
                    u64::from(value.to_bits()),
                    Given::Float,
                ),
                Argument::I32(value) => (
                    ParameterKind::Int,
                    u64::from(value.cast_unsigned()),
                    Given::Int(*value),
                ),
            };
            given.push(extent);
            if kind != *parameter {
                return Err(failed(format!(
                    "argument {} must be {}, not {}",
                    index + 1,
                    parameter.describe(),
                    kind.describe()
                )));
            }
            slots.push(slot);
        }
        let known = KernelName::ALL
            .iter()
            .find(|known| known.as_str() == symbol.name)
            .ok_or_else(|| failed("its code has an unknown name".to_owned()))?;
        kernels::check(*known, threads, &given)?;
        // SAFETY: the symbol belongs to the code, and every parameter has a slot of the
        // right type. Every address is that of a live buffer of this context, which waits
        // for the queue before it is unmapped; uploads and downloads wait too. Each buffer
        // is as large as the kernel's sizes require (checked above).
        let call = unsafe { Call::new(Arc::clone(&code), symbol, slots.into_boxed_slice()) };
        self.shared.queue.submit(Arc::new(call), threads);
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        self.shared.queue.wait();
        Ok(())
    }

    /// On this device, memory in use is the resident memory of this process: kernels,
    /// buffers and the program share it.
    fn memory(&self) -> Result<Memory> {
        let used = preheat_host::resident_memory().ok_or_else(|| {
            Error::failed(
                "reading /proc/self/statm",
                "it does not contain the resident memory",
            )
        })?;
        Ok(Memory {
            used,
            total: preheat_host::total_memory().unwrap_or(0),
        })
    }
}
