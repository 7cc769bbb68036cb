//! An OpenCL context with its queue and its memory: what everything else lives in.
//!
//! OpenCL has no way to ask how much memory is in use, so the context counts what
//! it has taken: its buffers and the segments of its pool.

use std::cell::{Cell, RefCell};
use std::fs;
use std::ptr;
use std::rc::Rc;

use super::driver::{Driver, check, check_allocation, out_of_memory};
use super::query::Target;
use super::sys::{self, Functions, Opaque};
use crate::Result;
use crate::ledger::Ledger;
use crate::pool::Pool;

/// Requests from this size on are held against what the machine has left: reading
/// that takes no time beside filling so many bytes.
const LARGE: usize = 256 << 20;

/// A context, released last: everything made in it keeps it alive.
pub(super) struct Scope {
    driver: Rc<Driver>,
    /// The device.
    pub target: Target,
    /// The context's handle.
    pub context: Opaque,
    /// The context's own queue, in order.
    pub queue: Opaque,
    used: Cell<u64>,
    /// Memory that was given back and is kept.
    pub pool: RefCell<Pool<Segment>>,
    /// What the context has given out.
    pub ledger: Ledger,
}

/// A buffer of the driver's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub raw: Opaque,
    pub bytes: usize,
}

impl Scope {
    /// A new context on that device.
    pub fn new(driver: &Rc<Driver>, target: Target) -> Result<Scope> {
        let mut code = sys::SUCCESS;
        // SAFETY: one valid device is named; the code is written.
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

    /// The functions to call.
    pub fn cl(&self) -> &Functions {
        &self.driver.cl
    }

    /// A further queue.
    pub fn new_queue(&self) -> Result<Opaque> {
        new_queue(&self.driver, self.context, self.target.device)
    }

    /// Wait for the queue.
    pub fn finish(&self) -> Result<()> {
        // SAFETY: the queue lives as long as self.
        let code = unsafe { (self.cl().finish)(self.queue) };
        check("clFinish", code)
    }

    /// Bytes that this context has taken.
    pub fn used(&self) -> u64 {
        self.used.get()
    }

    /// Memory on the device, really there: implementations put off the allocation to
    /// the first use of a buffer, so it is filled once, and waited for.
    pub fn take(&self, bytes: usize) -> Result<Segment> {
        let segment = self.create(bytes, 0)?;
        let filled = self.fill(segment);
        if filled.is_err() {
            self.release(segment);
        }
        filled?;
        self.used.set(self.used.get() + segment.bytes as u64);
        Ok(segment)
    }

    /// The reverse of [`Scope::take`].
    pub fn give_back(&self, segment: Segment) {
        self.used.set(self.used.get() - segment.bytes as u64);
        self.release(segment);
    }

    /// A buffer, perhaps without memory behind it yet.
    pub fn create(&self, bytes: usize, flags: sys::Bits) -> Result<Segment> {
        let size = bytes.max(1);
        self.check_room(size)?;
        let mut code = sys::SUCCESS;
        // SAFETY: the context lives, no host memory is given; the code is written.
        let raw = unsafe {
            (self.cl().create_buffer)(
                self.context,
                sys::MEM_READ_WRITE | flags,
                size,
                ptr::null_mut(),
                &raw mut code,
            )
        };
        check_allocation("clCreateBuffer", code, bytes)?;
        Ok(Segment { raw, bytes: size })
    }

    /// Release a buffer; the driver waits for queued work that uses it.
    pub fn release(&self, segment: Segment) {
        // SAFETY: the buffer is of this context, and its owner does not use it again.
        unsafe { (self.cl().release_memory)(segment.raw) };
    }

    fn fill(&self, segment: Segment) -> Result<()> {
        let zeros = [0u8; 16];
        let size = segment.bytes;
        // The pattern must divide the size.
        let pattern = if size.is_multiple_of(16) { 16 } else { 1 };
        // SAFETY: queue and buffer live, the range is all of the buffer, and the
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

    /// A device that computes in the machine's own memory would rather be killed by
    /// the system than refuse, so its limits are looked at first.
    fn check_room(&self, bytes: usize) -> Result<()> {
        let Target {
            memory, largest, ..
        } = self.target;
        if bytes as u64 > largest {
            let detail = format!("one buffer on this device may have {largest} at most");
            return Err(out_of_memory(bytes, detail));
        }
        let left = memory.saturating_sub(self.used());
        if bytes as u64 > left {
            let detail = format!("{left} of the device's {memory} are left");
            return Err(out_of_memory(bytes, detail));
        }
        if self.target.is_cpu && bytes >= LARGE {
            let left = fs::read_to_string("/proc/meminfo")
                .ok()
                .and_then(|text| available(&text));
            if let Some(left) = left.filter(|&left| bytes as u64 > left) {
                let detail = format!("{left} of the machine's memory are available");
                return Err(out_of_memory(bytes, detail));
            }
        }
        Ok(())
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let _ = self.finish();
        // No block of the pool is left, as each would keep self alive.
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
    let mut code = sys::SUCCESS;
    // SAFETY: the device is of the context; no property means in order; the code is
    // written.
    let queue = unsafe { (driver.cl.create_queue)(context, device, 0, &raw mut code) };
    check("clCreateCommandQueue", code)?;
    Ok(queue)
}

/// The bytes that `/proc/meminfo` calls available.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_available_memory_is_read() {
        let text = "MemTotal:       24000000 kB\nMemAvailable:    1000 kB\n";
        assert_eq!(available(text), Some(1_024_000));
        assert_eq!(available("MemTotal: 1 kB"), None);
    }
}
