//! The OpenCL implementation of [`crate::Context`].

use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;

use super::compile;
use super::driver::{self, Code, Opaque, check};
use super::memory::{DeviceBuffer, PinnedBuffer, PooledBuffer};
use super::scope::Scope;
use crate::{
    Argument, Buffer, Context, Error, From, Handle, HostBuffer, Kernel, Memory, Module, Result,
    Stage,
};

/// Threads per work group, where the device allows it. Always the same, since some
/// implementations recompile a kernel for each size.
const GROUP: usize = 64;

/// A context, and whether the implementation's compile cache is in use.
pub(super) struct ClContext {
    scope: Rc<Scope>,
    cached: bool,
}

impl ClContext {
    pub fn new(scope: Rc<Scope>, cached: bool) -> ClContext {
        ClContext { scope, cached }
    }

    fn own(&self, raw: Opaque, release: unsafe extern "C" fn(Opaque) -> Code) -> Box<dyn Handle> {
        Box::new(Owned {
            _scope: Rc::clone(&self.scope),
            raw,
            release,
        })
    }
}

impl Context for ClContext {
    fn stream(&self) -> Result<Box<dyn Handle>> {
        let queue = self.scope.new_queue()?;
        Ok(self.own(queue, self.scope.cl().release_queue))
    }

    fn event(&self) -> Result<Box<dyn Handle>> {
        let cl = self.scope.cl();
        let mut code = driver::SUCCESS;
        // SAFETY: the context is alive; the code is written.
        let event = unsafe { (cl.create_user_event)(self.scope.context, &raw mut code) };
        check("clCreateUserEvent", code)?;
        // The NVIDIA implementation hangs forever when a user event is released while still
        // pending.
        // SAFETY: the event was just created, and nothing has completed it yet.
        let completed = unsafe { (cl.set_user_event_status)(event, driver::COMPLETE) };
        let event = self.own(event, cl.release_event);
        check("clSetUserEventStatus", completed)?;
        Ok(event)
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        Ok(Box::new(DeviceBuffer::new(&self.scope, bytes)?))
    }

    fn allocate_pooled(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        Ok(Box::new(PooledBuffer::new(&self.scope, bytes)?))
    }

    fn trim_pool(&self) -> Result<()> {
        self.scope.finish()?;
        for segment in self.scope.pool.borrow_mut().trim() {
            self.scope.give_back(segment);
        }
        Ok(())
    }

    fn pin(&self, bytes: usize) -> Result<Box<dyn HostBuffer>> {
        Ok(Box::new(PinnedBuffer::new(&self.scope, bytes)?))
    }

    fn upload(&self, target: &dyn Buffer, source: &[u8]) -> Result<()> {
        self.scope.ledger.check_copy(target, source.len())?;
        if source.is_empty() {
            return Ok(());
        }
        // SAFETY: the buffer is live and large enough (checked above); the call blocks, so
        // the source stays readable throughout.
        let code = unsafe {
            (self.scope.cl().write_buffer)(
                self.scope.queue,
                target.raw() as Opaque,
                driver::TRUE,
                0,
                source.len(),
                source.as_ptr().cast(),
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        check("clEnqueueWriteBuffer", code)
    }

    fn download(&self, target: &mut [u8], source: &dyn Buffer) -> Result<()> {
        self.scope.ledger.check_copy(source, target.len())?;
        if target.is_empty() {
            return Ok(());
        }
        // SAFETY: the buffer is live and large enough (checked above); the call blocks, so
        // the target stays writable and exclusively ours throughout.
        let code = unsafe {
            (self.scope.cl().read_buffer)(
                self.scope.queue,
                source.raw() as Opaque,
                driver::TRUE,
                0,
                target.len(),
                target.as_mut_ptr().cast(),
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        check("clEnqueueReadBuffer", code)
    }

    fn copy(&self, target: &dyn Buffer, source: &dyn Buffer) -> Result<()> {
        let bytes = source.bytes();
        self.scope.ledger.check_copy(source, bytes)?;
        self.scope.ledger.check_copy(target, bytes)?;
        if bytes == 0 || target.raw() == source.raw() {
            return Ok(());
        }
        // SAFETY: both buffers are live, distinct and large enough (checked above), and the
        // wait below keeps them alive until the copy is complete.
        let code = unsafe {
            (self.scope.cl().copy_buffer)(
                self.scope.queue,
                source.raw() as Opaque,
                target.raw() as Opaque,
                0,
                0,
                bytes,
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        check("clEnqueueCopyBuffer", code)?;
        self.scope.finish()
    }

    fn compile(&self, _from: From) -> Result<(Box<dyn Module>, Vec<Stage>)> {
        compile::compile(&self.scope, self.cached)
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
        let raw = kernel.raw() as Opaque;
        for (index, argument) in arguments.iter().enumerate() {
            self.set_argument(raw, index, argument)?;
        }
        let local = GROUP.min(self.scope.target.group.max(1));
        let Some(global) = threads.checked_next_multiple_of(local) else {
            return Err(Error::unsupported(
                format!("a launch over {threads} threads"),
                "they cannot be rounded up to whole groups",
            ));
        };
        // SAFETY: the kernel belongs to this context and all its arguments are set and
        // valid (checked above); there is one dimension, with both sizes given.
        let code = unsafe {
            (self.scope.cl().enqueue_kernel)(
                self.scope.queue,
                raw,
                1,
                ptr::null(),
                &raw const global,
                &raw const local,
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        check("clEnqueueNDRangeKernel", code)
    }

    fn synchronize(&self) -> Result<()> {
        self.scope.finish()
    }

    /// Memory allocated by this context; OpenCL does not report the usage of others.
    fn memory(&self) -> Result<Memory> {
        Ok(Memory {
            used: self.scope.used(),
            total: self.scope.target.memory,
        })
    }
}

impl ClContext {
    fn set_argument(&self, kernel: Opaque, index: usize, argument: &Argument<'_>) -> Result<()> {
        let set = |bytes: usize, value: *const c_void| {
            // SAFETY: the kernel belongs to this context, and the value has that many
            // bytes, which are copied before the call returns.
            unsafe { (self.scope.cl().set_kernel_arg)(kernel, index as u32, bytes, value) }
        };
        let code = match argument {
            Argument::Buffer(buffer) => {
                let raw = buffer.raw() as Opaque;
                set(size_of::<Opaque>(), (&raw const raw).cast())
            }
            Argument::F32(value) => set(size_of::<f32>(), ptr::from_ref(value).cast()),
            Argument::I32(value) => set(size_of::<i32>(), ptr::from_ref(value).cast()),
        };
        check("clSetKernelArg", code)
    }
}

/// A queue or an event.
struct Owned {
    _scope: Rc<Scope>,
    raw: Opaque,
    release: unsafe extern "C" fn(Opaque) -> Code,
}

impl Handle for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, this function releases handles of its type, and it is
        // not used again.
        unsafe { (self.release)(self.raw) };
    }
}
