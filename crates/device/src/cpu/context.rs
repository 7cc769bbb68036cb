//! A context of the cpu device.
//!
//! It checks what it is given, waits where order asks for it, and leaves the doing to
//! the queue, the buffers and the module.

use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;
use std::rc::Rc;
use std::sync::Arc;

use cranelift_codegen::isa::OwnedTargetIsa;

use super::buffer::{Allocated, Pooled};
use super::code::Call;
use super::host;
use super::memory::Mapping;
use super::module::CpuModule;
use super::object::ParameterKind;
use super::pinned::Pinned;
use super::queue::Queue;
use super::shared::Shared;
use crate::extents::{self, Given};
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
    /// A context with `workers` threads.
    pub fn new(isa: OwnedTargetIsa, cache: Cache, workers: usize) -> Result<CpuContext> {
        let queue = queue(workers)?;
        Ok(CpuContext {
            shared: Rc::new(Shared::new(queue, isa, cache)),
        })
    }
}

/// A queue, with its threads started.
fn queue(workers: usize) -> Result<Queue> {
    Queue::new(workers).map_err(|error| {
        let why = format!("{error}; see `ulimit -u` and `ulimit -v`");
        Error::failed(format!("starting {workers} worker threads"), why)
    })
}

/// A further queue with a thread of its own. The traits give no way to queue on it:
/// what is measured of it is what making it costs.
struct Stream {
    _queue: Queue,
}

impl Handle for Stream {}

/// An event of the kernel's own, which other threads or processes could wait for.
struct Event {
    _file: File,
}

impl Handle for Event {}

impl Context for CpuContext {
    fn stream(&self) -> Result<Box<dyn Handle>> {
        Ok(Box::new(Stream { _queue: queue(1)? }))
    }

    fn event(&self) -> Result<Box<dyn Handle>> {
        // SAFETY: eventfd takes two numbers and touches no memory of ours.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if descriptor < 0 {
            let why = format!("{}; see `ulimit -n`", io::Error::last_os_error());
            return Err(Error::failed("eventfd", why));
        }
        // SAFETY: the descriptor was just opened, and nobody else knows it.
        let file = unsafe { File::from_raw_fd(descriptor) };
        Ok(Box::new(Event { _file: file }))
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        let mapping = self.shared.map(bytes)?;
        Ok(Box::new(Allocated::new(&self.shared, mapping, bytes)))
    }

    fn allocate_pooled(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        // More than this cannot even be rounded up to a whole block.
        if isize::try_from(bytes).is_err() {
            return Err(Error::OutOfMemory {
                requested: bytes,
                detail: "no process can address that much".to_owned(),
            });
        }
        let mut pool = self.shared.pool.borrow_mut();
        let taken = pool.take(bytes);
        let block = match taken {
            Some(block) => Some(block),
            None => {
                let segment = Pool::<Mapping>::rounded(bytes);
                pool.add(self.shared.map(segment)?, segment);
                pool.take(bytes)
            }
        };
        let found = block.and_then(|block| Some((block, pool.storage(block)?.address())));
        let (block, start) = found.ok_or_else(|| {
            Error::failed("taking from the pool", "a new segment does not hold it")
        })?;
        let address = start + block.offset as u64;
        drop(pool);
        Ok(Box::new(Pooled::new(&self.shared, block, address, bytes)))
    }

    fn trim_pool(&self) -> Result<()> {
        // Work that is queued may still use blocks that were given back.
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
        // the source; no work is queued that could touch it; and no slice of it exists.
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
        // SAFETY: `locate` found live buffers of ours at both addresses, the target at least
        // as long as the source; no work is queued that could touch them, and no slice of
        // them exists. They may be one and the same, which this copy allows.
        unsafe { from.copy_to(to, bytes) };
        Ok(())
    }

    fn download(&self, target: &mut [u8], source: &dyn Buffer) -> Result<()> {
        let (address, held) = self.shared.locate(source, format_args!("downloading"))?;
        if target.len() > held {
            let why = format!("a buffer of {held} bytes has no {} bytes", target.len());
            return Err(Error::failed("downloading", why));
        }
        self.shared.queue.wait();
        let source = std::ptr::with_exposed_provenance::<u8>(address as usize);
        // SAFETY: as in `upload`; the buffer's pages were zeroed by the kernel, so all
        // of it is initialized.
        unsafe { source.copy_to_nonoverlapping(target.as_mut_ptr(), target.len()) };
        Ok(())
    }

    /// `from` makes no difference: the source is the only form that fits every processor.
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
                "it takes {} arguments, and {} were given",
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
        extents::check(*known, threads, &given)?;
        // SAFETY: the symbol is the code's own, and there is a slot of the right kind for
        // each parameter. Every address is that of a live buffer of this context, which
        // waits for the queue before its memory goes; uploads and downloads wait too. Each
        // is as large as the kernel's sizes say (checked just above).
        let call = unsafe { Call::new(Arc::clone(&code), symbol, slots.into_boxed_slice()) };
        self.shared.queue.submit(Arc::new(call), threads);
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        self.shared.queue.wait();
        Ok(())
    }

    /// On this device memory in use is this process's own resident memory: kernels,
    /// buffers and the program share it.
    fn memory(&self) -> Result<Memory> {
        let used = host::resident_memory().ok_or_else(|| {
            Error::failed("reading /proc/self/statm", "it holds no resident memory")
        })?;
        Ok(Memory {
            used,
            total: host::total_memory(),
        })
    }
}
