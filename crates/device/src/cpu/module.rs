//! Compiles, loads and looks up the kernels.

use std::io;
use std::mem::transmute;
use std::rc::Rc;
use std::sync::Arc;

use super::cache::Entry;
use super::compiler;
use super::memory::Mapping;
use super::object::{Object, Symbol};
use super::queue::Work;
use super::shared::Shared;
use crate::{
    Cache, Error, KERNEL_SOURCE, Kernel, KernelName, Module, Result, Stage, StageName, Stopwatch,
};

/// The loaded kernels.
pub(crate) struct CpuModule {
    code: Arc<Code>,
}

impl CpuModule {
    /// Compiles [`KERNEL_SOURCE`], or reads its machine code from the cache, and loads it.
    ///
    /// The cache is written after the last stage: a process that finds the code there does
    /// not pay for writing it before its first launch.
    pub fn compile(context: &Rc<Shared>) -> Result<(CpuModule, Vec<Stage>)> {
        let isa = &*context.isa;
        let mut watch = Stopwatch::new();
        let entry = match &context.cache {
            Cache::Off => None,
            Cache::Directory(directory) => Some(Entry::new(directory, KERNEL_SOURCE, isa)),
        };
        let kept = entry.as_ref().and_then(Entry::read);
        let hit = kept.is_some();
        let object = match kept {
            Some(object) => {
                watch.lap(StageName::ReadCache);
                object
            }
            None => {
                let mut units = compiler::build(KERNEL_SOURCE, isa)?;
                watch.lap(StageName::SourceToIntermediate);
                compiler::optimise(&mut units, isa)?;
                watch.lap(StageName::Optimise);
                let object = compiler::emit(&units, isa)?;
                watch.lap(StageName::IntermediateToMachineCode);
                object
            }
        };
        let code = Arc::new(Code::load(&object)?);
        context.register_code(&code);
        watch.lap(StageName::Load);
        if let Some(entry) = entry.filter(|_| !hit) {
            // As with the drivers' caches, failing to write only means that the next
            // process compiles again.
            let _ = entry.write(&object);
        }
        Ok((CpuModule { code }, watch.stages()))
    }
}

impl Module for CpuModule {
    fn kernel(&self, name: KernelName) -> Result<Box<dyn Kernel>> {
        let symbol = self.code.symbol(name.as_str()).ok_or_else(|| {
            let what = format!("the loaded code has no kernel `{}`", name.as_str());
            Error::failed("looking up a kernel", what)
        })?;
        Ok(Box::new(CpuKernel {
            address: self.code.address(symbol),
            name,
            _code: Arc::clone(&self.code),
        }))
    }
}

/// A kernel. It keeps its machine code loaded even if the module is dropped.
struct CpuKernel {
    address: u64,
    name: KernelName,
    _code: Arc<Code>,
}

impl Kernel for CpuKernel {
    fn raw(&self) -> u64 {
        self.address
    }

    fn name(&self) -> KernelName {
        self.name
    }
}

// Executable machine code in memory, and launches that call it.
//
// Memory is first written and then made executable: it is never both, so that no stray
// write can change the code.
//
// Trust
//
// As on a GPU, a kernel computes addresses from its arguments without checking them. It
// stays within its buffers for two reasons: the source is embedded in this program (or is
// machine code that this user's cache holds for it), and a launch checks the buffers
// against the sizes that are passed with them ([`crate::kernels`]).

/// A compiled kernel; it receives its argument slots and a range of indices.
type CompiledKernel = unsafe extern "C" fn(arguments: *const u64, begin: i64, end: i64);

/// A loaded object.
#[derive(Debug)]
pub(crate) struct Code {
    mapping: Mapping,
    symbols: Vec<Symbol>,
}

impl Code {
    /// Copies an object's code to a new mapping and makes it executable.
    pub fn load(object: &Object) -> Result<Code> {
        let code = &object.code;
        let mapping = Mapping::new(code.len())?;
        let start = mapping.start().as_ptr();
        // SAFETY: the mapping is new, writable and at least `code.len()` bytes long; it
        // cannot overlap a vector.
        unsafe { start.copy_from_nonoverlapping(code.as_ptr(), code.len()) };
        // SAFETY: exactly this range is mapped and owned by us; nothing writes to it again.
        let answer = unsafe {
            libc::mprotect(
                start.cast(),
                mapping.bytes(),
                libc::PROT_READ | libc::PROT_EXEC,
            )
        };
        if answer != 0 {
            let why = format!(
                "{}; a security policy may forbid run-time code generation",
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

    /// Looks up a kernel by name.
    pub fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.symbols.iter().find(|symbol| symbol.name == name)
    }

    /// All kernels.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The address of the kernel's first instruction.
    pub fn address(&self, symbol: &Symbol) -> u64 {
        self.mapping.address() + symbol.offset as u64
    }
}

/// One launch: a kernel and its arguments.
pub(crate) struct Call {
    entry: CompiledKernel,
    arguments: Box<[u64]>,
    /// Keeps the machine code mapped until the launch completes.
    _code: Arc<Code>,
}

impl Call {
    /// Creates a call of the kernel `symbol` of `code`.
    ///
    /// # Safety
    ///
    /// `symbol` must belong to `code`, and `arguments` must have one slot per parameter, of
    /// the right type. As long as the call is queued, every address among them must be that
    /// of a buffer that is large enough for the kernel's accesses and that nothing else
    /// touches.
    pub unsafe fn new(code: Arc<Code>, symbol: &Symbol, arguments: Box<[u64]>) -> Call {
        let address = code.mapping.start().as_ptr().wrapping_add(symbol.offset);
        // SAFETY: a function of this type lies at the symbol's offset: the compiler
        // generated it, now or when it filled the cache.
        let entry = unsafe { transmute::<*mut u8, CompiledKernel>(address) };
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
        // SAFETY: the creator of the call guarantees code and arguments (see `new`); the
        // range lies within the launch, whose size fits an i32.
        unsafe { (self.entry)(self.arguments.as_ptr(), begin as i64, end as i64) };
    }
}

/// Makes data writes visible to instruction fetches.
#[cfg(target_arch = "aarch64")]
fn make_visible(mapping: &Mapping) {
    use std::arch::asm;

    let start = mapping.start().as_ptr() as usize;
    let end = start + mapping.bytes();
    let sizes: u64;
    // SAFETY: reads a register that Linux makes readable to every process.
    unsafe { asm!("mrs {}, ctr_el0", out(reg) sizes, options(nomem, nostack)) };
    // Cache line sizes, as powers of two of four-byte words.
    let data_line = 4 << ((sizes >> 16) & 0xf);
    let instruction_line = 4 << (sizes & 0xf);
    for line in (start & !(data_line - 1)..end).step_by(data_line) {
        // SAFETY: writes back a cache line of mapped memory.
        unsafe { asm!("dc cvau, {}", in(reg) line, options(nostack)) };
    }
    // SAFETY: a barrier; lines are written back before instructions are refetched.
    unsafe { asm!("dsb ish", options(nostack)) };
    for line in (start & !(instruction_line - 1)..end).step_by(instruction_line) {
        // SAFETY: invalidates an instruction cache line of mapped memory.
        unsafe { asm!("ic ivau, {}", in(reg) line, options(nostack)) };
    }
    // SAFETY: barriers, as above.
    unsafe { asm!("dsb ish", "isb", options(nostack)) };
}

/// x86-64 instruction fetches see every write; other architectures are not supported.
#[cfg(not(target_arch = "aarch64"))]
fn make_visible(_: &Mapping) {}

/// Makes this thread refetch instructions that another thread wrote.
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
        let maps = fs::read_to_string("/proc/self/maps").expect("Linux has it");
        let start = format!("{:x}-", code.mapping.address());
        let line = maps.lines().find(|line| line.starts_with(&start));
        assert!(
            line.is_some_and(|line| line.contains(" r-xp ")),
            "{start} in {maps}"
        );
    }
}
