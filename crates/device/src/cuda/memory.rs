//! Device memory, pooled device memory, and page-locked host memory.

use std::ptr;
use std::rc::Rc;

use super::driver::DevicePointer;
use super::scope::{Pool, Scope};
use crate::{Buffer, HostBuffer, Result};

/// Device memory. The driver rejects empty allocations, so an empty buffer allocates one
/// byte.
pub(super) struct DeviceBuffer {
    scope: Rc<Scope>,
    pointer: DevicePointer,
    bytes: usize,
    /// The pool it returns to; `None` if it came from the driver.
    pool: Option<Pool>,
}

impl DeviceBuffer {
    /// Allocates from the driver: `cuMemAlloc`.
    pub fn new(scope: &Rc<Scope>, bytes: usize) -> Result<DeviceBuffer> {
        let cu = scope.enter()?;
        let mut pointer = 0;
        // SAFETY: the context is current; the driver writes one address.
        let code = unsafe { (cu.mem_alloc)(&raw mut pointer, bytes.max(1)) };
        scope.driver().check_allocation("cuMemAlloc", code, bytes)?;
        Ok(DeviceBuffer::around(scope, pointer, bytes, None))
    }

    /// Allocates from the pool: `cuMemAllocAsync`, followed by a synchronization, since
    /// only then is the memory available and the time complete.
    pub fn pooled(scope: &Rc<Scope>, bytes: usize) -> Result<DeviceBuffer> {
        let pool = scope.pool()?;
        scope.enter()?;
        let mut pointer = 0;
        // SAFETY: the context is current and the queue alive; the driver writes one
        // address.
        let code = unsafe { (pool.allocate)(&raw mut pointer, bytes.max(1), scope.queue()) };
        scope
            .driver()
            .check_allocation("cuMemAllocAsync", code, bytes)?;
        let buffer = DeviceBuffer::around(scope, pointer, bytes, Some(pool));
        scope.synchronize()?;
        Ok(buffer)
    }

    fn around(
        scope: &Rc<Scope>,
        pointer: DevicePointer,
        bytes: usize,
        pool: Option<Pool>,
    ) -> DeviceBuffer {
        scope.ledger.add_buffer(pointer, bytes);
        DeviceBuffer {
            scope: Rc::clone(scope),
            pointer,
            bytes,
            pool,
        }
    }
}

impl Buffer for DeviceBuffer {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn raw(&self) -> u64 {
        self.pointer
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        self.scope.ledger.remove_buffer(self.pointer);
        let Ok(cu) = self.scope.enter() else {
            return;
        };
        // SAFETY: the memory is ours and not used again. cuMemFree waits for work that uses
        // it; cuMemFreeAsync is queued behind that work.
        unsafe {
            match self.pool {
                Some(pool) => (pool.free)(self.pointer, self.scope.queue()),
                None => (cu.mem_free)(self.pointer),
            };
        }
    }
}

/// Page-locked host memory: `cuMemHostAlloc`.
pub(super) struct PinnedBuffer {
    scope: Rc<Scope>,
    pointer: *mut u8,
    bytes: usize,
}

impl PinnedBuffer {
    /// Allocates and locks host memory.
    pub fn new(scope: &Rc<Scope>, bytes: usize) -> Result<PinnedBuffer> {
        let cu = scope.enter()?;
        let mut pointer = ptr::null_mut();
        // SAFETY: the context is current; the driver writes one address.
        let code = unsafe { (cu.mem_host_alloc)(&raw mut pointer, bytes.max(1), 0) };
        scope
            .driver()
            .check_allocation("cuMemHostAlloc", code, bytes)?;
        Ok(PinnedBuffer {
            scope: Rc::clone(scope),
            pointer: pointer.cast(),
            bytes,
        })
    }
}

impl HostBuffer for PinnedBuffer {
    fn as_slice(&self) -> &[u8] {
        // SAFETY: the driver mapped this many readable bytes of system memory for us alone,
        // and they stay mapped until self is dropped.
        unsafe { std::slice::from_raw_parts(self.pointer, self.bytes) }
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above; the memory is writable and self is borrowed mutably. Copies
        // wait before they return, so the device is not using it either.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.bytes) }
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        if let Ok(cu) = self.scope.enter() {
            // SAFETY: the memory is ours, and no copy from or to it is in progress.
            unsafe { (cu.mem_free_host)(self.pointer.cast()) };
        }
    }
}
