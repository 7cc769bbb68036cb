//! Device memory, pooled device memory, and page-locked host memory.

use std::ptr;
use std::rc::Rc;

use super::driver::{self, check, check_allocation};
use super::scope::{Scope, Segment};
use crate::pool::{Block, Pool};
use crate::{Buffer, Error, HostBuffer, Result};

/// Device memory.
pub(super) struct DeviceBuffer {
    scope: Rc<Scope>,
    segment: Segment,
    /// The requested size; an empty buffer allocates one byte.
    bytes: usize,
}

impl DeviceBuffer {
    /// Allocates from the driver.
    pub fn new(scope: &Rc<Scope>, bytes: usize) -> Result<DeviceBuffer> {
        let segment = scope.allocate(bytes)?;
        scope.ledger.add_buffer(segment.raw as u64, bytes);
        Ok(DeviceBuffer {
            scope: Rc::clone(scope),
            segment,
            bytes,
        })
    }
}

impl Buffer for DeviceBuffer {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn raw(&self) -> u64 {
        self.segment.raw as u64
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        self.scope.ledger.remove_buffer(self.raw());
        self.scope.give_back(self.segment);
    }
}

/// Part of a segment of the pool.
pub(super) struct PooledBuffer {
    scope: Rc<Scope>,
    /// The sub-buffer.
    part: Segment,
    block: Block,
    bytes: usize,
}

impl PooledBuffer {
    /// Allocates from the pool, which adds a segment if necessary.
    pub fn new(scope: &Rc<Scope>, bytes: usize) -> Result<PooledBuffer> {
        let free = scope.pool.borrow_mut().take(bytes);
        let block = match free {
            Some(block) => block,
            None => new_segment(scope, bytes)?,
        };
        let part = sub_buffer(scope, block);
        if part.is_err() {
            scope.pool.borrow_mut().give_back(block);
        }
        let part = part?;
        scope.ledger.add_buffer(part.raw as u64, bytes);
        Ok(PooledBuffer {
            scope: Rc::clone(scope),
            part,
            block,
            bytes,
        })
    }
}

fn new_segment(scope: &Scope, bytes: usize) -> Result<Block> {
    let segment = scope.allocate(Pool::<Segment>::rounded(bytes))?;
    let mut pool = scope.pool.borrow_mut();
    pool.add(segment, segment.bytes);
    pool.take(bytes)
        .ok_or_else(|| Error::failed("allocating from the pool", "it does not fit a new segment"))
}

fn sub_buffer(scope: &Scope, block: Block) -> Result<Segment> {
    let pool = scope.pool.borrow();
    let whole = pool
        .storage(block)
        .ok_or_else(|| Error::failed("allocating from the pool", "the block has no segment"))?;
    let region = driver::Region {
        origin: block.offset,
        size: block.bytes,
    };
    let mut code = driver::SUCCESS;
    // SAFETY: the segment lives as long as the pool holds it, and the region lies within it
    // and is read before the call returns; the code is written.
    let raw = unsafe {
        (scope.cl().create_sub_buffer)(
            whole.raw,
            driver::MEM_READ_WRITE,
            driver::BUFFER_CREATE_TYPE_REGION,
            (&raw const region).cast(),
            &raw mut code,
        )
    };
    check_allocation("clCreateSubBuffer", code, block.bytes)?;
    Ok(Segment {
        raw,
        bytes: block.bytes,
    })
}

impl Buffer for PooledBuffer {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn raw(&self) -> u64 {
        self.part.raw as u64
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        self.scope.ledger.remove_buffer(self.raw());
        self.scope.release(self.part);
        // Work queued on the block finishes before any work of its next owner, since there
        // is one in-order queue.
        self.scope.pool.borrow_mut().give_back(self.block);
    }
}

/// Host memory that the driver can access directly: a buffer that it allocates there,
/// mapped. For a device that computes in main memory, this is ordinary memory.
pub(super) struct PinnedBuffer {
    scope: Rc<Scope>,
    segment: Segment,
    mapped: *mut u8,
    bytes: usize,
}

impl PinnedBuffer {
    /// Allocates and maps host memory.
    pub fn new(scope: &Rc<Scope>, bytes: usize) -> Result<PinnedBuffer> {
        let segment = scope.create(bytes, driver::MEM_ALLOC_HOST_PTR)?;
        let mut code = driver::SUCCESS;
        // SAFETY: queue and buffer are alive, and the range is the whole buffer; the call
        // blocks until it is mapped, and the code is written.
        let mapped = unsafe {
            (scope.cl().map_buffer)(
                scope.queue,
                segment.raw,
                driver::TRUE,
                driver::MAP_READ | driver::MAP_WRITE,
                0,
                segment.bytes,
                0,
                ptr::null(),
                ptr::null_mut(),
                &raw mut code,
            )
        };
        let answer = check_allocation("clEnqueueMapBuffer", code, bytes);
        if answer.is_err() {
            scope.release(segment);
        }
        answer?;
        Ok(PinnedBuffer {
            scope: Rc::clone(scope),
            segment,
            mapped: mapped.cast(),
            bytes,
        })
    }
}

impl HostBuffer for PinnedBuffer {
    fn as_slice(&self) -> &[u8] {
        // SAFETY: the driver mapped at least that many readable bytes there, and they stay
        // mapped until self is dropped.
        unsafe { std::slice::from_raw_parts(self.mapped, self.bytes) }
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above; mapped for writing too, and self is borrowed mutably. The
        // buffer cannot be passed to a kernel, since its handle is private.
        unsafe { std::slice::from_raw_parts_mut(self.mapped, self.bytes) }
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        // SAFETY: the buffer was mapped at this address, and no slice of it is left.
        let code = unsafe {
            (self.scope.cl().unmap_memory)(
                self.scope.queue,
                self.segment.raw,
                self.mapped.cast(),
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        let _ = check("clEnqueueUnmapMemObject", code).and_then(|()| self.scope.finish());
        self.scope.release(self.segment);
    }
}
