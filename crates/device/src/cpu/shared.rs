//! What a context and everything that it gave have in common: the queue, the pool,
//! and a record of what is live.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use cranelift_codegen::isa::OwnedTargetIsa;

use super::available::available_memory;
use super::code::Code;
use super::memory::Mapping;
use super::queue::Queue;
use crate::pool::Pool;
use crate::{Buffer, Cache, Error, Result};

/// What is left to the rest of the machine when memory is taken.
const MARGIN: u64 = 64 << 20;

/// How much may be taken without looking again how much there is. Looking takes tens
/// of microseconds, which would be most of what a small allocation takes; half of the
/// margin cannot use up the margin.
const UNCHECKED: u64 = MARGIN / 2;

/// What a context shares with everything that it gave.
///
/// The fields are dropped in this order: when the queue is gone no work is left that
/// could use the pool's memory.
pub(crate) struct Shared {
    pub queue: Queue,
    pub pool: RefCell<Pool<Mapping>>,
    pub isa: OwnedTargetIsa,
    pub cache: Cache,
    /// The buffers of this context as (address, bytes). Callers hand in buffers of
    /// any kind, and only ours may be read, written, or given to a kernel: another
    /// context's could vanish while our queue uses it.
    live: RefCell<BTreeMap<u64, usize>>,
    /// Where this context's kernels begin, and the code that they belong to.
    kernels: RefCell<BTreeMap<u64, Weak<Code>>>,
    /// Bytes taken since available memory was last looked at.
    unchecked: Cell<u64>,
}

impl Shared {
    /// Nothing is live yet.
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

    /// A buffer of this context exists.
    pub fn register(&self, address: u64, bytes: usize) {
        self.live.borrow_mut().insert(address, bytes);
    }

    /// It does not any more.
    pub fn unregister(&self, address: u64) {
        self.live.borrow_mut().remove(&address);
    }

    /// Code of this context is loaded. Entries of code that is gone are dropped.
    pub fn register_code(&self, code: &Arc<Code>) {
        let mut kernels = self.kernels.borrow_mut();
        kernels.retain(|_, code| code.strong_count() > 0);
        kernels.extend(
            code.symbols()
                .iter()
                .map(|symbol| (code.address(symbol), Arc::downgrade(code))),
        );
    }

    /// The code of this context with a kernel at that address.
    pub fn code_at(&self, address: u64) -> Option<Arc<Code>> {
        self.kernels.borrow().get(&address)?.upgrade()
    }

    /// The buffer's address and size, if it is of this context.
    ///
    /// The address is returned with the size that was found for it, and nothing else
    /// is asked of the buffer: it may be anybody's implementation.
    pub fn locate(&self, buffer: &dyn Buffer, call: fmt::Arguments<'_>) -> Result<(u64, usize)> {
        let address = buffer.raw();
        let found = self.live.borrow().get(&address).copied();
        found.map(|bytes| (address, bytes)).ok_or_else(|| {
            let why = "the buffer was not allocated in this context; allocate it here";
            Error::failed(call.to_string(), why)
        })
    }

    /// An error instead of the end of the process when `bytes` are not there.
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
                         are kept for the rest of the machine; ask for less, or close other \
                         programs"
                    ),
                })
            }
            _ => Ok(()),
        }
    }

    /// Pages that are really there.
    pub fn map(&self, bytes: usize) -> Result<Mapping> {
        self.check_available(bytes)?;
        let mut mapping = Mapping::new(bytes)?;
        mapping.touch();
        Ok(mapping)
    }
}
