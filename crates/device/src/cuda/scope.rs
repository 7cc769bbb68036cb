//! A driver context and its queue, shared by everything created in it.
//!
//! Driver functions work on the calling thread's *current* context. A [`Scope`] is only
//! held by `Rc`, so it stays on the thread that created it, and that thread remembers which
//! context it last made current.

use std::cell::{Cell, OnceCell};
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;

use super::Target;
use super::driver::{self, Code, DevicePointer, Driver, Functions, Opaque};
use crate::handles::Ledger;
use crate::{Error, Result};

thread_local! {
    /// The context that this thread last made current; null if unknown.
    static CURRENT: Cell<Opaque> = const { Cell::new(ptr::null_mut()) };
}

/// A context. Everything created in it keeps it alive, so it is destroyed last.
pub(super) struct Scope {
    context: RawContext,
    queue: Opaque,
    pool: OnceCell<Pool>,
    /// The live buffers and kernels of the context.
    pub ledger: Ledger,
}

impl Scope {
    /// Retains the device's primary context.
    pub fn primary(driver: &Rc<Driver>, target: Target) -> Result<Scope> {
        let mut raw = ptr::null_mut();
        // SAFETY: the device is valid; the driver writes one handle.
        let code = unsafe { (driver.cu.primary_ctx_retain)(&raw mut raw, target.device) };
        driver.check("cuDevicePrimaryCtxRetain", code)?;
        Scope::around(RawContext {
            driver: Rc::clone(driver),
            target,
            raw,
            is_primary: true,
        })
    }

    /// Creates a separate context.
    pub fn fresh(driver: &Rc<Driver>, target: Target) -> Result<Scope> {
        let mut raw = ptr::null_mut();
        // SAFETY: the device is valid; the driver writes one handle.
        let code = unsafe { (driver.cu.ctx_create)(&raw mut raw, 0, target.device) };
        driver.check("cuCtxCreate", code)?;
        let context = RawContext {
            driver: Rc::clone(driver),
            target,
            raw,
            is_primary: false,
        };
        let mut popped = ptr::null_mut();
        // Creating the context pushed it onto this thread's stack; popping it restores the
        // one that CURRENT refers to.
        // SAFETY: there is a context to pop; the driver writes its handle.
        let code = unsafe { (driver.cu.ctx_pop_current)(&raw mut popped) };
        driver.check("cuCtxPopCurrent", code)?;
        Scope::around(context)
    }

    fn around(context: RawContext) -> Result<Scope> {
        context.enter()?;
        let mut queue = ptr::null_mut();
        let cu = &context.driver.cu;
        // SAFETY: the context is current; the driver writes one handle.
        let code = unsafe { (cu.stream_create)(&raw mut queue, driver::STREAM_NON_BLOCKING) };
        context.driver.check("cuStreamCreate", code)?;
        Ok(Scope {
            context,
            queue,
            pool: OnceCell::new(),
            ledger: Ledger::default(),
        })
    }

    /// Makes the context current and returns the functions to call in it.
    pub fn enter(&self) -> Result<&Functions> {
        self.context.enter()?;
        Ok(&self.context.driver.cu)
    }

    /// The driver, for checking its error codes.
    pub fn driver(&self) -> &Driver {
        &self.context.driver
    }

    pub fn target(&self) -> Target {
        self.context.target
    }

    pub fn queue(&self) -> Opaque {
        self.queue
    }

    /// Waits for the queue.
    pub fn synchronize(&self) -> Result<()> {
        let cu = self.enter()?;
        // SAFETY: the queue lives as long as self.
        let code = unsafe { (cu.stream_synchronize)(self.queue) };
        self.driver().check("cuStreamSynchronize", code)
    }

    /// The device's memory pool, configured on first use to keep freed memory.
    ///
    /// This is the *default* pool, which the frameworks' asynchronous allocators use too;
    /// all contexts of the process share it.
    pub fn pool(&self) -> Result<Pool> {
        if let Some(pool) = self.pool.get() {
            return Ok(*pool);
        }
        let cu = self.enter()?;
        let (Some(get), Some(set), Some(allocate), Some(free), Some(trim), true) = (
            cu.device_get_default_mem_pool,
            cu.mem_pool_set_attribute,
            cu.mem_alloc_async,
            cu.mem_free_async,
            cu.mem_pool_trim_to,
            self.target().has_pools,
        ) else {
            return Err(Error::unsupported(
                "pooled allocation",
                "this driver or device has no memory pools (CUDA 11.2 or later)",
            ));
        };
        let mut raw = ptr::null_mut();
        // SAFETY: the device is valid; the driver writes one handle.
        let code = unsafe { get(&raw mut raw, self.target().device) };
        self.driver().check("cuDeviceGetDefaultMemPool", code)?;
        let mut keep_all = u64::MAX;
        let value: *mut c_void = (&raw mut keep_all).cast();
        // SAFETY: the pool is valid, and this attribute is read as a 64-bit integer.
        let code = unsafe { set(raw, driver::POOL_RELEASE_THRESHOLD, value) };
        self.driver().check("cuMemPoolSetAttribute", code)?;
        Ok(*self.pool.get_or_init(|| Pool {
            raw,
            allocate,
            free,
            trim,
        }))
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        // A failure here cannot be handled, and the context is destroyed next anyway.
        if self.context.enter().is_err() {
            return;
        }
        let _ = self.synchronize();
        if let Some(pool) = self.pool.get() {
            // SAFETY: the pool belongs to the device and is never destroyed; memory in use
            // elsewhere is not affected.
            unsafe { (pool.trim)(pool.raw, 0) };
        }
        // SAFETY: the queue is ours, idle, and not used again.
        unsafe { (self.context.driver.cu.stream_destroy)(self.queue) };
    }
}

/// The device's memory pool and its functions, all of which exist.
#[derive(Clone, Copy)]
pub(super) struct Pool {
    pub raw: Opaque,
    pub allocate: unsafe extern "C" fn(*mut DevicePointer, usize, Opaque) -> Code,
    pub free: unsafe extern "C" fn(DevicePointer, Opaque) -> Code,
    pub trim: unsafe extern "C" fn(Opaque, usize) -> Code,
}

/// The bare context.
struct RawContext {
    driver: Rc<Driver>,
    target: Target,
    raw: Opaque,
    is_primary: bool,
}

impl RawContext {
    fn enter(&self) -> Result<()> {
        if CURRENT.get() == self.raw {
            return Ok(());
        }
        // SAFETY: the context lives as long as self.
        let code = unsafe { (self.driver.cu.ctx_set_current)(self.raw) };
        self.driver.check("cuCtxSetCurrent", code)?;
        CURRENT.set(self.raw);
        Ok(())
    }
}

impl Drop for RawContext {
    fn drop(&mut self) {
        let cu = &self.driver.cu;
        if CURRENT.get() == self.raw {
            // A later context may get the same address and must not be mistaken for
            // current.
            CURRENT.set(ptr::null_mut());
            // SAFETY: null unsets this thread's current context.
            unsafe { (cu.ctx_set_current)(ptr::null_mut()) };
        }
        // SAFETY: the context is ours, nothing created in it is left, and it is not used
        // again; a primary context is only released, since it belongs to the process.
        unsafe {
            if self.is_primary {
                (cu.primary_ctx_release)(self.target.device);
            } else {
                (cu.ctx_destroy)(self.raw);
            }
        }
    }
}
