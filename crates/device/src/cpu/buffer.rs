//! Device memory: ranges of this process's own memory that kernels work on.

use std::rc::Rc;

use super::memory::Mapping;
use super::shared::Shared;
use crate::Buffer;
use crate::pool::Block;

/// Memory of its own, straight from the kernel.
///
/// Dropping it waits for all queued work, which may use it (cudaFree does the
/// same), and gives it back to the kernel then.
pub(crate) struct Allocated {
    context: Rc<Shared>,
    mapping: Mapping,
    bytes: usize,
}

impl Allocated {
    /// All of `mapping`, of which `bytes` were asked for.
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

/// A part of a segment of the context's pool.
///
/// Dropping it gives it back at once, without waiting: its next user's work is
/// queued behind whatever still uses it, and only trimming the pool, which waits,
/// gives memory back to the kernel.
pub(crate) struct Pooled {
    context: Rc<Shared>,
    block: Block,
    address: u64,
    bytes: usize,
}

impl Pooled {
    /// The block at `address`, of which `bytes` were asked for.
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
