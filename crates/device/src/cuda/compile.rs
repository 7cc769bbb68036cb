//! Compiles and loads kernels.
//!
//! NVRTC compiles the source to PTX where it is installed; otherwise compilation starts
//! from the PTX embedded in this program. The driver compiles PTX to machine code in one of
//! two ways:
//!
//! - *Without a cache*, its JIT linker produces a cubin, which is then loaded: compiling
//!   and loading are separate stages.
//! - *With a cache*, the PTX is passed to `cuModuleLoadData`, because the driver's compute
//!   cache is documented for that call. The driver then compiles (or reads its cache) and
//!   loads in one step: the stage is named after the compilation, and `Load` covers only
//!   the remainder.
//!
//! Current drivers load functions lazily; `cuFuncLoad`, where available, loads them right
//! away, so that no launch pays for it.

use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::rc::Rc;

use twox_hash::XxHash64;

use super::driver::{self, Opaque};
use super::nvrtc::{self, Nvrtc};
use super::scope::Scope;
use crate::{
    Error, From, KERNEL_SOURCE, Kernel, KernelName, Module, Result, Stage, StageName, Stopwatch,
};

/// Compiles and loads all kernels.
pub(super) fn compile(
    scope: &Rc<Scope>,
    from: From,
    cached: bool,
) -> Result<(Box<dyn Module>, Vec<Stage>)> {
    let mut watch = Stopwatch::new();
    let compiled = match from {
        From::Source => from_source(scope, &mut watch)?,
        From::Shipped => None,
    };
    let ptx: &[u8] = compiled.as_deref().unwrap_or(EMBEDDED.as_bytes());
    let module = if cached {
        let module = LoadedModule::load(scope, ptx);
        watch.lap(StageName::IntermediateToMachineCode);
        // Unlike cuModuleLoadData, the linker reports what is wrong with the PTX.
        module.or_else(|error| link(scope, ptx).and(Err(error)))?
    } else {
        let cubin = link(scope, ptx)?;
        watch.lap(StageName::IntermediateToMachineCode);
        LoadedModule::load(scope, &cubin)?
    };
    let module = module.with_functions()?;
    watch.lap(StageName::Load);
    Ok((Box::new(module), watch.stages()))
}

/// Compiles the source to PTX; `None` if no NVRTC suits this driver and device.
fn from_source(scope: &Scope, watch: &mut Stopwatch) -> Result<Option<Vec<u8>>> {
    let target = scope.target();
    let Ok(nvrtc) = Nvrtc::find(|nvrtc| nvrtc.fits(target.cuda, target.capability)) else {
        *watch = Stopwatch::new();
        return Ok(None);
    };
    watch.lap(StageName::LoadCompiler);
    let architecture = nvrtc::architecture(&nvrtc.supported(), target.capability);
    let ptx = nvrtc.to_ptx(&program(), architecture.unwrap_or(target.capability))?;
    watch.lap(StageName::SourceToIntermediate);
    Ok(Some(ptx))
}

/// Compiles NUL-terminated PTX to a cubin.
fn link(scope: &Scope, ptx: &[u8]) -> Result<Vec<u8>> {
    const LOG: usize = 8192;
    let cu = scope.enter()?;
    let mut log = vec![0u8; LOG];
    let mut options: [c_int; 2] = [
        driver::JIT_ERROR_LOG_BUFFER,
        driver::JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    // This option expects the size itself in place of a pointer.
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), LOG as *mut c_void];
    let mut state = ptr::null_mut();
    // SAFETY: there are two options with one value each; the log and the arrays outlive the
    // linker, which is destroyed below.
    let code =
        unsafe { (cu.link_create)(2, options.as_mut_ptr(), values.as_mut_ptr(), &raw mut state) };
    scope.driver().check("cuLinkCreate", code)?;

    let image: *mut c_void = ptx.as_ptr().cast_mut().cast();
    let (mut cubin, mut bytes) = (ptr::null_mut(), 0usize);
    // SAFETY: the linker only reads the PTX, whose size it receives, and then writes the
    // address and size of a cubin that it owns.
    let (call, code) = unsafe {
        let code = (cu.link_add_data)(
            state,
            driver::JIT_INPUT_PTX,
            image,
            ptx.len(),
            c"preheat.ptx".as_ptr(),
            0,
            ptr::null_mut(),
            ptr::null_mut(),
        );
        if code == driver::SUCCESS {
            let code = (cu.link_complete)(state, &raw mut cubin, &raw mut bytes);
            ("cuLinkComplete", code)
        } else {
            ("cuLinkAddData", code)
        }
    };
    let answer = scope.driver().check(call, code);
    let copy = match answer {
        // SAFETY: linking succeeded, so this many bytes are valid until the linker is
        // destroyed.
        Ok(()) => Ok(unsafe { std::slice::from_raw_parts(cubin.cast::<u8>(), bytes) }.to_vec()),
        Err(error) => Err(with_log(error, &log)),
    };
    // SAFETY: the linker is ours and not used again; its cubin has been copied.
    unsafe { (cu.link_destroy)(state) };
    copy
}

/// Appends the compiler's log to the error.
fn with_log(error: Error, log: &[u8]) -> Error {
    let end = log.iter().position(|&b| b == 0).unwrap_or(log.len());
    let log = String::from_utf8_lossy(&log[..end]);
    match error {
        Error::Failed { call, answer } if !log.trim().is_empty() => Error::Failed {
            call,
            answer: format!("{answer}: {}", log.trim()),
        },
        other => other,
    }
}

/// A loaded module, unloaded once it and its kernels are dropped.
struct LoadedModule {
    scope: Rc<Scope>,
    raw: Opaque,
    functions: Vec<(KernelName, Opaque)>,
}

impl LoadedModule {
    /// Loads a cubin, or NUL-terminated PTX.
    fn load(scope: &Rc<Scope>, image: &[u8]) -> Result<LoadedModule> {
        let cu = scope.enter()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the context is current; the image is a cubin, which has its size in its
        // header, or ends with NUL.
        let code = unsafe { (cu.module_load_data)(&raw mut raw, image.as_ptr().cast()) };
        scope.driver().check("cuModuleLoadData", code)?;
        Ok(LoadedModule {
            scope: Rc::clone(scope),
            raw,
            functions: Vec::new(),
        })
    }

    /// Looks up and loads all kernels.
    fn with_functions(mut self) -> Result<Rc<LoadedModule>> {
        for &name in KernelName::ALL {
            let cu = self.scope.enter()?;
            let symbol = CString::new(name.as_str()).unwrap_or_default();
            let mut function = ptr::null_mut();
            // SAFETY: the module is loaded, the name ends with NUL; the driver writes
            // one handle.
            let code =
                unsafe { (cu.module_get_function)(&raw mut function, self.raw, symbol.as_ptr()) };
            self.scope.driver().check("cuModuleGetFunction", code)?;
            if let Some(load) = cu.func_load {
                // SAFETY: the function is of a loaded module.
                let code = unsafe { load(function) };
                self.scope.driver().check("cuFuncLoad", code)?;
            }
            self.scope.ledger.add_kernel(function as u64, name);
            self.functions.push((name, function));
        }
        Ok(Rc::new(self))
    }
}

impl Module for Rc<LoadedModule> {
    fn kernel(&self, name: KernelName) -> Result<Box<dyn Kernel>> {
        let found = self.functions.iter().find(|(known, _)| *known == name);
        let &(name, function) = found.ok_or_else(|| {
            Error::failed("looking up a kernel", format!("the module has no {name:?}"))
        })?;
        Ok(Box::new(LoadedKernel {
            _module: Rc::clone(self),
            function,
            name,
        }))
    }
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        for &(_, function) in &self.functions {
            self.scope.ledger.remove_kernel(function as u64);
        }
        // Code must not be unloaded while a kernel runs.
        let _ = self.scope.synchronize();
        if let Ok(cu) = self.scope.enter() {
            // SAFETY: the module is ours, and none of its kernels is left.
            unsafe { (cu.module_unload)(self.raw) };
        }
    }
}

/// A kernel; keeps its module loaded.
struct LoadedKernel {
    _module: Rc<LoadedModule>,
    function: Opaque,
    name: KernelName,
}

impl Kernel for LoadedKernel {
    fn raw(&self) -> u64 {
        self.function as u64
    }

    fn name(&self) -> KernelName {
        self.name
    }
}

// The kernels as CUDA C, and their embedded PTX.
//
// The PTX targets an old architecture, since drivers compile PTX for newer devices; a
// driver must be at least as new as the NVRTC that generated it. Its first line has a
// fingerprint of its source, so that a test detects stale PTX.

/// The embedded PTX, NUL-terminated.
pub(super) const EMBEDDED: &str = concat!(include_str!("../../kernels/preheat.ptx"), "\0");

/// Maxwell, the oldest architecture that NVRTC 11 supports without warnings.
const ARCHITECTURE: i32 = 52;

/// Defines the macros of the common source for CUDA C.
const PRELUDE: &str = "\
#define KERNEL extern \"C\" __global__
#define GLOBAL
#define GLOBAL_ID ((int)(blockIdx.x * blockDim.x + threadIdx.x))
";

/// All kernels as CUDA C.
pub(super) fn program() -> String {
    [PRELUDE, KERNEL_SOURCE].concat()
}

/// Generates the PTX to embed, with this machine's NVRTC.
pub(super) fn make() -> Result<String> {
    let nvrtc = Nvrtc::find(|nvrtc| nvrtc.supported().contains(&ARCHITECTURE))?;
    let (major, minor) = nvrtc.version();
    let ptx = nvrtc.to_ptx(&program(), ARCHITECTURE)?;
    let ptx = String::from_utf8_lossy(&ptx);
    let code = ptx
        .trim_end_matches('\0')
        .lines()
        // Comments name the compiler build; nothing machine-specific should remain.
        .filter(|line| !line.starts_with("//") && !line.trim().is_empty())
        .fold(String::new(), |all, line| all + line + "\n");
    let head = format!("{}, by NVRTC {major}.{minor}", head());
    Ok(format!("{head}\n{code}"))
}

/// The beginning of the first line.
fn head() -> String {
    format!(
        "// Made from preheat.c {:016x}",
        XxHash64::oneshot(0, program().as_bytes())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KernelName;

    #[test]
    fn the_compilers_log_is_part_of_the_error() {
        let error = Error::failed("cuLinkComplete", "CUDA_ERROR_INVALID_PTX");
        let message = with_log(error.clone(), b"ptxas fatal: no\n\0rest").to_string();
        assert_eq!(
            message,
            "cuLinkComplete failed: CUDA_ERROR_INVALID_PTX: ptxas fatal: no"
        );
        assert_eq!(with_log(error.clone(), b"\0\0"), error);
    }

    #[test]
    fn the_embedded_ptx_matches_the_source() {
        assert!(
            EMBEDDED.starts_with(&head()),
            "kernels/preheat.ptx is stale: see kernels/README.md for how to regenerate it"
        );
    }

    #[test]
    fn the_embedded_ptx_has_every_kernel_and_no_local_paths() {
        for name in KernelName::ALL {
            let entry = format!(".visible .entry {}(", name.as_str());
            assert!(EMBEDDED.contains(&entry), "{entry}");
        }
        assert!(EMBEDDED.contains(&format!(".target sm_{ARCHITECTURE}")));
        assert!(!EMBEDDED.contains(".file") && !EMBEDDED.contains("/home"));
    }
}
