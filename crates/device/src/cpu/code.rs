//! Machine code in memory, ready to be called, and its use as a launch.
//!
//! Memory is written first and made executable then: it is never both, so that no
//! stray write can change what is executed.
//!
//! # What is trusted
//!
//! A kernel calculates addresses from its arguments and checks none of them, as on a
//! GPU. That it stays within its buffers rests on two things: the source is our own,
//! embedded in this program (or machine code that this user's cache holds for it), and
//! a launch holds the buffers against the sizes that are passed with them
//! ([`crate::extents`]).

use std::io;
use std::mem::transmute;
use std::sync::Arc;

use super::memory::Mapping;
use super::object::{Object, Symbol};
use super::queue::Work;
use crate::{Error, Result};

/// What a kernel is compiled to: the slots of its arguments and a range of indices.
type Entry = unsafe extern "C" fn(arguments: *const u64, begin: i64, end: i64);

/// A loaded object.
#[derive(Debug)]
pub(crate) struct Code {
    mapping: Mapping,
    symbols: Vec<Symbol>,
}

impl Code {
    /// Copy an object's code to memory of its own and make it executable.
    pub fn load(object: &Object) -> Result<Code> {
        let code = &object.code;
        let mapping = Mapping::new(code.len())?;
        let start = mapping.start().as_ptr();
        // SAFETY: the mapping is new, at least `code.len()` bytes long, and can be
        // written; it cannot overlap a vector.
        unsafe { start.copy_from_nonoverlapping(code.as_ptr(), code.len()) };
        // SAFETY: exactly this range is mapped and ours; nothing will write to it again.
        let answer = unsafe {
            libc::mprotect(
                start.cast(),
                mapping.bytes(),
                libc::PROT_READ | libc::PROT_EXEC,
            )
        };
        if answer != 0 {
            let why = format!(
                "{}; a security policy may forbid code that is made at run time",
                io::Error::last_os_error()
            );
            return Err(Error::failed("making machine code executable", why));
        }
        make_visible(&mapping);
        Ok(Code {
            mapping,
            symbols: object.symbols.clone(),
        })
    }

    /// The kernel of that name.
    pub fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.symbols.iter().find(|symbol| symbol.name == name)
    }

    /// All kernels.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// Where the kernel's first instruction is.
    pub fn address(&self, symbol: &Symbol) -> u64 {
        self.mapping.address() + symbol.offset as u64
    }
}

/// One launch: a kernel and the arguments that it was given.
pub(crate) struct Call {
    entry: Entry,
    arguments: Box<[u64]>,
    /// Keeps the machine code in memory until the launch is complete.
    _code: Arc<Code>,
}

impl Call {
    /// A call of the kernel `symbol` of `code`.
    ///
    /// # Safety
    ///
    /// `symbol` is one of `code`'s own; `arguments` has a slot for each of its
    /// parameters, of its kind; and for as long as the call is queued every address
    /// among them is that of a buffer that is large enough for what the kernel does
    /// with it and that nothing else touches.
    pub unsafe fn new(code: Arc<Code>, symbol: &Symbol, arguments: Box<[u64]>) -> Call {
        let address = code.mapping.start().as_ptr().wrapping_add(symbol.offset);
        // SAFETY: at a symbol's offset lies a function of this type: the compiler made
        // it so, or made it so when it filled the cache.
        let entry = unsafe { transmute::<*mut u8, Entry>(address) };
        Call {
            entry,
            arguments,
            _code: code,
        }
    }
}

impl Work for Call {
    fn run(&self, begin: usize, end: usize) {
        synchronize_instructions();
        // SAFETY: whoever made the call answers for code and arguments (see `new`);
        // the range lies within the launch, whose size fits an i32.
        unsafe { (self.entry)(self.arguments.as_ptr(), begin as i64, end as i64) };
    }
}

/// Let instruction fetches see what was written as data.
#[cfg(target_arch = "aarch64")]
fn make_visible(mapping: &Mapping) {
    use std::arch::asm;

    let start = mapping.start().as_ptr() as usize;
    let end = start + mapping.bytes();
    let sizes: u64;
    // SAFETY: reads a register that Linux lets every process read.
    unsafe { asm!("mrs {}, ctr_el0", out(reg) sizes, options(nomem, nostack)) };
    // The sizes of cache lines, as powers of two of four-byte words.
    let data_line = 4 << ((sizes >> 16) & 0xf);
    let instruction_line = 4 << (sizes & 0xf);
    for line in (start & !(data_line - 1)..end).step_by(data_line) {
        // SAFETY: writes back a cache line of memory that is mapped.
        unsafe { asm!("dc cvau, {}", in(reg) line, options(nostack)) };
    }
    // SAFETY: a barrier: the lines are written back before instructions are refetched.
    unsafe { asm!("dsb ish", options(nostack)) };
    for line in (start & !(instruction_line - 1)..end).step_by(instruction_line) {
        // SAFETY: forgets a line of the instruction cache, of memory that is mapped.
        unsafe { asm!("ic ivau, {}", in(reg) line, options(nostack)) };
    }
    // SAFETY: barriers, as above.
    unsafe { asm!("dsb ish", "isb", options(nostack)) };
}

/// On x86-64 instruction fetches see every write; no other processor comes here.
#[cfg(not(target_arch = "aarch64"))]
fn make_visible(_: &Mapping) {}

/// Let this thread refetch instructions that another thread wrote.
fn synchronize_instructions() {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a barrier that changes no memory and no register.
    unsafe {
        std::arch::asm!("isb", options(nostack))
    };
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn loaded_code_cannot_be_written() {
        let object = Object {
            symbols: vec![],
            code: vec![0; 100],
        };
        let code = Code::load(&object).expect("code can be loaded");
        let maps = fs::read_to_string("/proc/self/maps").expect("Linux tells");
        let start = format!("{:x}-", code.mapping.address());
        let line = maps.lines().find(|line| line.starts_with(&start));
        assert!(
            line.is_some_and(|line| line.contains(" r-xp ")),
            "{start} in {maps}"
        );
    }
}
