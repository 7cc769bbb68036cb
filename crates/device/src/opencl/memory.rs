//! Memory: on the device, from the context's pool, and page-locked on the host.

use std::ptr;
use std::rc::Rc;

use super::driver::{check, check_allocation};
use super::scope::{Scope, Segment};
use super::sys;
use crate::pool::{Block, Pool};
use crate::{Buffer, Error, HostBuffer, Result};

/// Memory on the device.
pub(super) struct DeviceBuffer {
    scope: Rc<Scope>,
    segment: Segment,
    /// What was asked for; an empty buffer has one byte behind it.
    bytes: usize,
}

impl DeviceBuffer {
    /// From the driver.
    pub fn new(scope: &Rc<Scope>, bytes: usize) -> Result<DeviceBuffer> {
        let segment = scope.take(bytes)?;
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

/// A part of a segment of the pool.
pub(super) struct PooledBuffer {
    scope: Rc<Scope>,
    /// The sub-buffer.
    part: Segment,
    block: Block,
    bytes: usize,
}

impl PooledBuffer {
    /// From the pool, which takes a new segment if it has no room.
    pub fn new(scope: &Rc<Scope>, bytes: usize) -> Result<PooledBuffer> {
        let kept = scope.pool.borrow_mut().take(bytes);
        let block = match kept {
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
    let segment = scope.take(Pool::<Segment>::rounded(bytes))?;
    let mut pool = scope.pool.borrow_mut();
    pool.add(segment, segment.bytes);
    pool.take(bytes)
        .ok_or_else(|| Error::failed("the pool", "a new segment had no room"))
}

fn sub_buffer(scope: &Scope, block: Block) -> Result<Segment> {
    let pool = scope.pool.borrow();
    let whole = pool
        .storage(block)
        .ok_or_else(|| Error::failed("the pool", "a block has no segment"))?;
    let region = sys::Region {
        origin: block.offset,
        size: block.bytes,
    };
    let mut code = sys::SUCCESS;
    // SAFETY: the segment lives as long as the pool holds it, the region lies within
    // it and is read before the call returns; the code is written.
    let raw = unsafe {
        (scope.cl().create_sub_buffer)(
            whole.raw,
            sys::MEM_READ_WRITE,
            sys::BUFFER_CREATE_TYPE_REGION,
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
        // Work that is queued on the block is done before work of its next owner, as
        // there is one queue and it is in order.
        self.scope.pool.borrow_mut().give_back(self.block);
    }
}

/// Host memory that the driver can reach directly: a buffer that it places there,
/// mapped. On a device that computes in the machine's memory that is any memory.
pub(super) struct PinnedBuffer {
    scope: Rc<Scope>,
    segment: Segment,
    mapped: *mut u8,
    bytes: usize,
}

impl PinnedBuffer {
    /// Allocate and map.
    pub fn new(scope: &Rc<Scope>, bytes: usize) -> Result<PinnedBuffer> {
        let segment = scope.create(bytes, sys::MEM_ALLOC_HOST_PTR)?;
        let mut code = sys::SUCCESS;
        // SAFETY: queue and buffer live, the range is all of the buffer; the call
        // waits until it is mapped, and the code is written.
        let mapped = unsafe {
            (scope.cl().map_buffer)(
                scope.queue,
                segment.raw,
                sys::TRUE,
                sys::MAP_READ | sys::MAP_WRITE,
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
        // SAFETY: the driver mapped at least that many readable bytes there, and they
        // stay mapped until self is dropped.
        unsafe { std::slice::from_raw_parts(self.mapped, self.bytes) }
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above; mapped for writing too, and self is borrowed mutably. No
        // kernel can be given this buffer, as its handle is not shown.
        unsafe { std::slice::from_raw_parts_mut(self.mapped, self.bytes) }
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        // SAFETY: this is where the buffer was mapped, and no slice of it is left.
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
