//! Device memory: ranges of this process's memory that kernels work on.

use std::rc::Rc;

use super::memory::Mapping;
use super::shared::Shared;
use crate::Buffer;
use crate::pool::Block;

/// A separate mapping, straight from the kernel.
///
/// Dropping it waits for all queued work that may use it, as cudaFree does, and then unmaps
/// it.
pub(crate) struct Allocated {
    context: Rc<Shared>,
    mapping: Mapping,
    bytes: usize,
}

impl Allocated {
    /// Wraps `mapping`; the caller requested `bytes` of it.
    pub fn new(context: &Rc<Shared>, mapping: Mapping, bytes: usize) -> Allocated {
        context.register(mapping.address(), bytes);
        Allocated {
            context: Rc::clone(context),
            mapping,
            bytes,
        }
    }
}

impl Buffer for Allocated {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn raw(&self) -> u64 {
        self.mapping.address()
    }
}

impl Drop for Allocated {
    fn drop(&mut self) {
        self.context.queue.wait();
        self.context.unregister(self.raw());
    }
}

/// Part of a segment of the context's pool.
///
/// Dropping it returns the block immediately, without waiting: work of its next user is
/// queued behind any work that still uses it. Memory goes back to the kernel only when the
/// pool is trimmed, which waits.
pub(crate) struct Pooled {
    context: Rc<Shared>,
    block: Block,
    address: u64,
    bytes: usize,
}

impl Pooled {
    /// Wraps the block at `address`; the caller requested `bytes` of it.
    pub fn new(context: &Rc<Shared>, block: Block, address: u64, bytes: usize) -> Pooled {
        context.register(address, bytes);
        Pooled {
            context: Rc::clone(context),
            block,
            address,
            bytes,
        }
    }
}

impl Buffer for Pooled {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn raw(&self) -> u64 {
        self.address
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        self.context.unregister(self.address);
        self.context.pool.borrow_mut().give_back(self.block);
    }
}
