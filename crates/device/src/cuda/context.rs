//! The CUDA implementation of [`crate::Context`].

use std::ffi::{c_uint, c_void};
use std::ptr;
use std::rc::Rc;

use super::compile;
use super::driver::{self, Code, Opaque};
use super::memory::{DeviceBuffer, PinnedBuffer};
use super::scope::Scope;
use crate::{
    Argument, Buffer, Context, Error, From, Handle, HostBuffer, Kernel, Memory, Module, Result,
    Stage,
};

/// Threads per block: a multiple of every warp size, within every device's limits.
const BLOCK: usize = 128;
/// The maximum number of arguments of one launch.
const ARGUMENTS: usize = 16;

/// A context, and whether the driver's compile cache is in use.
pub(super) struct CudaContext {
    scope: Rc<Scope>,
    cached: bool,
}

impl CudaContext {
    pub fn new(scope: Rc<Scope>, cached: bool) -> CudaContext {
        CudaContext { scope, cached }
    }
}

impl Context for CudaContext {
    fn stream(&self) -> Result<Box<dyn Handle>> {
        let cu = self.scope.enter()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the context is current; the driver writes one handle.
        let code = unsafe { (cu.stream_create)(&raw mut raw, driver::STREAM_NON_BLOCKING) };
        self.scope.driver().check("cuStreamCreate", code)?;
        Ok(Box::new(Owned {
            scope: Rc::clone(&self.scope),
            raw,
            destroy: cu.stream_destroy,
        }))
    }

    fn event(&self) -> Result<Box<dyn Handle>> {
        let cu = self.scope.enter()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the context is current; the driver writes one handle.
        let code = unsafe { (cu.event_create)(&raw mut raw, 0) };
        self.scope.driver().check("cuEventCreate", code)?;
        Ok(Box::new(Owned {
            scope: Rc::clone(&self.scope),
            raw,
            destroy: cu.event_destroy,
        }))
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        Ok(Box::new(DeviceBuffer::new(&self.scope, bytes)?))
    }

    fn allocate_pooled(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        Ok(Box::new(DeviceBuffer::pooled(&self.scope, bytes)?))
    }

    /// Synchronizes first: the pool cannot release memory that queued work still uses.
    fn trim_pool(&self) -> Result<()> {
        let pool = self.scope.pool()?;
        self.scope.synchronize()?;
        // SAFETY: the pool belongs to the device and lives as long as the process.
        let code = unsafe { (pool.trim)(pool.raw, 0) };
        self.scope.driver().check("cuMemPoolTrimTo", code)
    }

    fn pin(&self, bytes: usize) -> Result<Box<dyn HostBuffer>> {
        Ok(Box::new(PinnedBuffer::new(&self.scope, bytes)?))
    }

    /// Uses the same call for pageable and pinned memory: the driver stages the former.
    fn upload(&self, target: &dyn Buffer, source: &[u8]) -> Result<()> {
        self.scope.ledger.check_copy(target, source.len())?;
        if source.is_empty() {
            return Ok(());
        }
        let cu = self.scope.enter()?;
        let from: *const c_void = source.as_ptr().cast();
        // SAFETY: the buffer is live and large enough (checked above); the source stays
        // readable until the wait below ends.
        let code =
            unsafe { (cu.memcpy_htod_async)(target.raw(), from, source.len(), self.scope.queue()) };
        self.scope.driver().check("cuMemcpyHtoDAsync", code)?;
        self.scope.synchronize()
    }

    fn download(&self, target: &mut [u8], source: &dyn Buffer) -> Result<()> {
        self.scope.ledger.check_copy(source, target.len())?;
        if target.is_empty() {
            return Ok(());
        }
        let cu = self.scope.enter()?;
        let to: *mut c_void = target.as_mut_ptr().cast();
        // SAFETY: the buffer is live and large enough (checked above); the target stays
        // writable and exclusively ours until the wait below ends.
        let code =
            unsafe { (cu.memcpy_dtoh_async)(to, source.raw(), target.len(), self.scope.queue()) };
        self.scope.driver().check("cuMemcpyDtoHAsync", code)?;
        self.scope.synchronize()
    }

    fn copy(&self, target: &dyn Buffer, source: &dyn Buffer) -> Result<()> {
        let bytes = source.bytes();
        self.scope.ledger.check_copy(source, bytes)?;
        self.scope.ledger.check_copy(target, bytes)?;
        if bytes == 0 || target.raw() == source.raw() {
            return Ok(());
        }
        let cu = self.scope.enter()?;
        // SAFETY: both buffers are live, distinct and large enough (checked above), and the
        // wait below keeps them alive until the copy is complete.
        let code = unsafe {
            (cu.memcpy_dtod_async)(target.raw(), source.raw(), bytes, self.scope.queue())
        };
        self.scope.driver().check("cuMemcpyDtoDAsync", code)?;
        self.scope.synchronize()
    }

    fn compile(&self, from: From) -> Result<(Box<dyn Module>, Vec<Stage>)> {
        compile::compile(&self.scope, from, self.cached)
    }

    fn launch(
        &self,
        kernel: &dyn Kernel,
        threads: usize,
        arguments: &[Argument<'_>],
    ) -> Result<()> {
        self.scope.ledger.check_launch(kernel, threads, arguments)?;
        if threads == 0 {
            return Ok(());
        }
        let blocks = blocks(threads, self.scope.target().max_blocks)?;
        let mut slots = slots(arguments)?;
        let mut pointers = slots
            .each_mut()
            .map(|slot| ptr::from_mut(slot).cast::<c_void>());
        let cu = self.scope.enter()?;
        let function = kernel.raw() as Opaque;
        // SAFETY: the function belongs to this context and accepts exactly these arguments
        // (checked above), each behind its pointer; they are copied before the call
        // returns.
        let code = unsafe {
            (cu.launch_kernel)(
                function,
                blocks,
                1,
                1,
                BLOCK as c_uint,
                1,
                1,
                0,
                self.scope.queue(),
                pointers.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        self.scope.driver().check("cuLaunchKernel", code)
    }

    fn synchronize(&self) -> Result<()> {
        self.scope.synchronize()
    }

    /// Memory in use on the whole device, including other processes and the context itself.
    fn memory(&self) -> Result<Memory> {
        let cu = self.scope.enter()?;
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: the context is current; the driver writes two sizes.
        let code = unsafe { (cu.mem_get_info)(&raw mut free, &raw mut total) };
        self.scope.driver().check("cuMemGetInfo", code)?;
        Ok(Memory {
            used: total.saturating_sub(free) as u64,
            total: total as u64,
        })
    }
}

/// The number of blocks for that many threads.
fn blocks(threads: usize, most: usize) -> Result<c_uint> {
    let blocks = threads.div_ceil(BLOCK);
    match c_uint::try_from(blocks) {
        Ok(fits) if blocks <= most => Ok(fits),
        _ => Err(Error::unsupported(
            format!("a launch over {threads} threads"),
            format!("this device allows at most {most} blocks of {BLOCK} threads"),
        )),
    }
}

/// Stores each argument at the start of eight bytes: an address fills them, a float or an
/// int uses the first four, since CUDA hosts are little-endian.
fn slots(arguments: &[Argument<'_>]) -> Result<[u64; ARGUMENTS]> {
    let mut slots = [0; ARGUMENTS];
    if arguments.len() > ARGUMENTS {
        return Err(Error::unsupported(
            format!("a launch with {} arguments", arguments.len()),
            format!("at most {ARGUMENTS} are supported"),
        ));
    }
    for (slot, argument) in slots.iter_mut().zip(arguments) {
        *slot = match argument {
            Argument::Buffer(buffer) => buffer.raw(),
            Argument::F32(value) => u64::from(value.to_bits()),
            Argument::I32(value) => u64::from(value.cast_unsigned()),
        };
    }
    Ok(slots)
}

/// A stream or an event.
struct Owned {
    scope: Rc<Scope>,
    raw: Opaque,
    destroy: unsafe extern "C" fn(Opaque) -> Code,
}

impl Handle for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        if self.scope.enter().is_ok() {
            // SAFETY: the handle is ours, this function destroys handles of its type, and
            // it is not used again.
            unsafe { (self.destroy)(self.raw) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_rounded_up_to_blocks_within_the_devices_limit() {
        assert_eq!(blocks(1, 10).ok(), Some(1));
        assert_eq!(blocks(128, 10).ok(), Some(1));
        assert_eq!(blocks(129, 10).ok(), Some(2));
        let error = blocks(1281, 10).expect_err("eleven blocks");
        assert!(error.to_string().contains("10 blocks"), "{error}");
        assert!(blocks(usize::MAX, usize::MAX).is_err());
    }

    #[test]
    fn arguments_begin_their_slots() {
        let slots = slots(&[Argument::F32(1.5), Argument::I32(-2)]).expect("they fit");
        assert_eq!(slots[0].to_ne_bytes()[..4], 1.5f32.to_ne_bytes());
        assert_eq!(slots[1].to_ne_bytes()[..4], (-2i32).to_ne_bytes());
        assert!(super::slots(&[Argument::I32(0); ARGUMENTS + 1]).is_err());
    }
}
