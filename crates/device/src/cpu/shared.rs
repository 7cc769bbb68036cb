//! State shared by a context and everything it created: the queue, the pool, and a registry
//! of live buffers.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, Weak};

use cranelift_codegen::isa::OwnedTargetIsa;

use super::memory::Mapping;
use super::module::Code;
use super::processor::available_memory;
use super::queue::Queue;
use crate::pool::{Block, Pool};
use crate::{Buffer, Cache, Error, Result};

/// Memory reserved for the rest of the machine.
const MARGIN: u64 = 64 << 20;

/// The amount that may be allocated before available memory is read again. Reading it takes
/// tens of microseconds, most of the cost of a small allocation; half of the margin cannot
/// exhaust the margin.
const UNCHECKED: u64 = MARGIN / 2;

/// State shared by a context and everything it created.
///
/// Fields are dropped in this order: once the queue is gone, no work is left that could use
/// the pool's memory.
pub(crate) struct Shared {
    pub queue: Queue,
    pub pool: RefCell<Pool<Mapping>>,
    pub isa: OwnedTargetIsa,
    pub cache: Cache,
    /// The live buffers of this context as (address, bytes). Callers may pass any buffer,
    /// but only ours may be read, written, or passed to a kernel: another context's buffer
    /// could be freed while our queue uses it.
    live: RefCell<BTreeMap<u64, usize>>,
    /// The address of each kernel of this context, and the code it belongs to.
    kernels: RefCell<BTreeMap<u64, Weak<Code>>>,
    /// Bytes allocated since available memory was last read.
    unchecked: Cell<u64>,
}

impl Shared {
    /// Creates the state with no live buffers.
    pub fn new(queue: Queue, isa: OwnedTargetIsa, cache: Cache) -> Shared {
        Shared {
            queue,
            pool: RefCell::default(),
            isa,
            cache,
            live: RefCell::default(),
            kernels: RefCell::default(),
            unchecked: Cell::new(0),
        }
    }

    /// Registers a buffer of this context.
    pub fn register(&self, address: u64, bytes: usize) {
        self.live.borrow_mut().insert(address, bytes);
    }

    /// Removes a buffer of this context.
    pub fn unregister(&self, address: u64) {
        self.live.borrow_mut().remove(&address);
    }

    /// Registers loaded code, and drops the entries of unloaded code.
    pub fn register_code(&self, code: &Arc<Code>) {
        let mut kernels = self.kernels.borrow_mut();
        kernels.retain(|_, code| code.strong_count() > 0);
        kernels.extend(
            code.symbols()
                .iter()
                .map(|symbol| (code.address(symbol), Arc::downgrade(code))),
        );
    }

    /// The code of this context that has a kernel at `address`.
    pub fn code_at(&self, address: u64) -> Option<Arc<Code>> {
        self.kernels.borrow().get(&address)?.upgrade()
    }

    /// The buffer's address and size, if it belongs to this context.
    ///
    /// The size comes from our registry and not from the buffer, which may be a foreign
    /// implementation of the trait.
    pub fn locate(&self, buffer: &dyn Buffer, call: fmt::Arguments<'_>) -> Result<(u64, usize)> {
        let address = buffer.raw();
        let found = self.live.borrow().get(&address).copied();
        found.map(|bytes| (address, bytes)).ok_or_else(|| {
            let why = "the buffer was not allocated in this context; allocate it here";
            Error::failed(call.to_string(), why)
        })
    }

    /// Returns an error if `bytes` are not available, where using them would get the
    /// process killed.
    pub fn check_available(&self, bytes: usize) -> Result<()> {
        let wanted = self.unchecked.get().saturating_add(bytes as u64);
        if wanted <= UNCHECKED {
            self.unchecked.set(wanted);
            return Ok(());
        }
        self.unchecked.set(0);
        match available_memory() {
            Some(available) if available.saturating_sub(MARGIN) < bytes as u64 => {
                Err(Error::OutOfMemory {
                    requested: bytes,
                    detail: format!(
                        "{available} bytes are available to this process, and {MARGIN} of them \
                         are reserved for the rest of the machine; request less, or close other \
                         programs"
                    ),
                })
            }
            _ => Ok(()),
        }
    }

    /// Maps pages and backs them with memory.
    pub fn map(&self, bytes: usize) -> Result<Mapping> {
        self.check_available(bytes)?;
        let mut mapping = Mapping::new(bytes)?;
        mapping.touch();
        Ok(mapping)
    }
}

// Device memory: ranges of this process's memory that kernels work on.

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
