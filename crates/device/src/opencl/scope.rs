//! An OpenCL context with its queue and memory, shared by everything created in it.
//!
//! OpenCL cannot report how much memory is in use, so the context counts its own
//! allocations: its buffers and the segments of its pool.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::rc::Rc;

use super::Target;
use super::driver::{self, Driver, Functions, Opaque, check, check_allocation, out_of_memory};
use crate::Result;
use crate::handles::Ledger;
use crate::pool::Pool;

/// Requests of at least this size are checked against the machine's available memory:
/// reading that is negligible compared with filling so many bytes.
const CHECK_MEMORY_FROM: usize = 256 << 20;

/// A context. Everything created in it keeps it alive, so it is released last.
pub(super) struct Scope {
    driver: Rc<Driver>,
    pub target: Target,
    /// The context's handle.
    pub context: Opaque,
    /// The context's in-order queue.
    pub queue: Opaque,
    used: Cell<u64>,
    /// Freed memory that is kept for reuse.
    pub pool: RefCell<Pool<Segment>>,
    /// The live buffers and kernels of the context.
    pub ledger: Ledger,
}

/// A driver buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub raw: Opaque,
    pub bytes: usize,
}

impl Scope {
    /// Creates a context on that device.
    pub fn new(driver: &Rc<Driver>, target: Target) -> Result<Scope> {
        let mut code = driver::SUCCESS;
        // SAFETY: one valid device is passed; the code is written.
        let context = unsafe {
            (driver.cl.create_context)(
                ptr::null(),
                1,
                &raw const target.device,
                ptr::null(),
                ptr::null_mut(),
                &raw mut code,
            )
        };
        check("clCreateContext", code)?;
        let queue = new_queue(driver, context, target.device);
        if queue.is_err() {
            // SAFETY: the context is ours and not used again.
            unsafe { (driver.cl.release_context)(context) };
        }
        Ok(Scope {
            driver: Rc::clone(driver),
            target,
            context,
            queue: queue?,
            used: Cell::new(0),
            pool: RefCell::default(),
            ledger: Ledger::default(),
        })
    }

    pub fn cl(&self) -> &Functions {
        &self.driver.cl
    }

    /// Creates another queue.
    pub fn new_queue(&self) -> Result<Opaque> {
        new_queue(&self.driver, self.context, self.target.device)
    }

    /// Waits for the queue.
    pub fn finish(&self) -> Result<()> {
        // SAFETY: the queue lives as long as self.
        let code = unsafe { (self.cl().finish)(self.queue) };
        check("clFinish", code)
    }

    /// Bytes allocated by this context.
    pub fn used(&self) -> u64 {
        self.used.get()
    }

    /// Allocates device memory and makes sure that it exists: implementations defer the
    /// allocation to the first use of a buffer, so it is filled once, synchronously.
    pub fn allocate(&self, bytes: usize) -> Result<Segment> {
        let segment = self.create(bytes, 0)?;
        let filled = self.fill(segment);
        if filled.is_err() {
            self.release(segment);
        }
        filled?;
        self.used.set(self.used.get() + segment.bytes as u64);
        Ok(segment)
    }

    /// The inverse of [`Scope::allocate`].
    pub fn give_back(&self, segment: Segment) {
        self.used.set(self.used.get() - segment.bytes as u64);
        self.release(segment);
    }

    /// Creates a buffer, possibly without memory yet.
    pub fn create(&self, bytes: usize, flags: driver::Bits) -> Result<Segment> {
        let size = bytes.max(1);
        self.check_available(size)?;
        let mut code = driver::SUCCESS;
        // SAFETY: the context is alive, no host memory is passed; the code is written.
        let raw = unsafe {
            (self.cl().create_buffer)(
                self.context,
                driver::MEM_READ_WRITE | flags,
                size,
                ptr::null_mut(),
                &raw mut code,
            )
        };
        check_allocation("clCreateBuffer", code, bytes)?;
        Ok(Segment { raw, bytes: size })
    }

    /// Releases a buffer; the driver waits for queued work that uses it.
    pub fn release(&self, segment: Segment) {
        // SAFETY: the buffer belongs to this context, and its owner does not use it again.
        unsafe { (self.cl().release_memory)(segment.raw) };
    }

    fn fill(&self, segment: Segment) -> Result<()> {
        let zeros = [0u8; 16];
        let size = segment.bytes;
        // The pattern size must divide the buffer size.
        let pattern = if size.is_multiple_of(16) { 16 } else { 1 };
        // SAFETY: queue and buffer are alive, the range is the whole buffer, and the
        // pattern is copied before the call returns.
        let code = unsafe {
            (self.cl().fill_buffer)(
                self.queue,
                segment.raw,
                zeros.as_ptr().cast(),
                pattern,
                0,
                size,
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        check_allocation("clEnqueueFillBuffer", code, size)?;
        // SAFETY: the queue lives as long as self.
        let code = unsafe { (self.cl().finish)(self.queue) };
        check_allocation("clFinish", code, size)
    }

    /// A device that computes in main memory would get the process killed instead of
    /// returning an error, so its limits are checked first.
    fn check_available(&self, bytes: usize) -> Result<()> {
        let Target {
            memory, largest, ..
        } = self.target;
        if bytes as u64 > largest {
            let detail = format!("a buffer on this device can have at most {largest} bytes");
            return Err(out_of_memory(bytes, detail));
        }
        let left = memory.saturating_sub(self.used());
        if bytes as u64 > left {
            let detail = format!("{left} of the device's {memory} bytes are left");
            return Err(out_of_memory(bytes, detail));
        }
        if self.target.is_cpu && bytes >= CHECK_MEMORY_FROM {
            let left = preheat_host::available_memory();
            if let Some(left) = left.filter(|&left| bytes as u64 > left) {
                let detail = format!("{left} bytes of main memory are available");
                return Err(out_of_memory(bytes, detail));
            }
        }
        Ok(())
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let _ = self.finish();
        // The pool has no blocks left, since each would keep self alive.
        for segment in self.pool.take().trim() {
            self.release(segment);
        }
        // SAFETY: queue and context are ours, idle, and not used again.
        unsafe {
            (self.cl().release_queue)(self.queue);
            (self.cl().release_context)(self.context);
        }
    }
}

fn new_queue(driver: &Driver, context: Opaque, device: Opaque) -> Result<Opaque> {
    let mut code = driver::SUCCESS;
    // SAFETY: the device belongs to the context; without properties the queue is in-order;
    // the code is written.
    let queue = unsafe { (driver.cl.create_queue)(context, device, 0, &raw mut code) };
    check("clCreateCommandQueue", code)?;
    Ok(queue)
}
