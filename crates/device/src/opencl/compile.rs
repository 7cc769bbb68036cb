//! Compiles the kernels.
//!
//! There are two ways:
//!
//! - *Without a cache*, the OpenCL steps are the stages: `clCompileProgram` produces an
//!   implementation-specific intermediate form, `clLinkProgram` a program for the device,
//!   and `clCreateKernel` the kernels.
//! - *With a cache*, `clBuildProgram` does the first two in one, and the stage is named
//!   after the second: only there does PoCL look up whole programs in its cache (PoCL 3.1:
//!   0.1 s instead of 1.6 s; `clLinkProgram` takes a second even with a full cache).
//!
//! How much each step does depends on the implementation. PoCL generates machine code only
//! when a kernel is first launched, and again for each work group size: there, the first
//! launch of each kernel includes the rest of the compilation. We leave it that way,
//! because that is the cold start of a program on PoCL.

use std::ffi::CString;
use std::ptr;
use std::rc::Rc;

use super::ask;
use super::driver::{self, Code, Opaque, check};
use super::scope::Scope;
use crate::{
    Error, KERNEL_SOURCE, Kernel, KernelName, Module, Result, Stage, StageName, Stopwatch,
};

/// Defines the macros of the common source for OpenCL C.
const PRELUDE: &str = "\
#define KERNEL __kernel
#define GLOBAL __global
#define GLOBAL_ID ((int)get_global_id(0))
";

/// Compiles all kernels. Only the source is portable, so it is the only input.
pub(super) fn compile(scope: &Rc<Scope>, cached: bool) -> Result<(Box<dyn Module>, Vec<Stage>)> {
    let mut watch = Stopwatch::new();
    let program = build(scope, KERNEL_SOURCE, cached, &mut watch)?;
    let mut module = BuiltModule {
        program,
        kernels: Vec::new(),
    };
    for &name in KernelName::ALL {
        let symbol = CString::new(name.as_str()).unwrap_or_default();
        let mut code = driver::SUCCESS;
        // SAFETY: the program is built, the name ends with NUL; the code is written.
        let kernel = unsafe {
            (scope.cl().create_kernel)(module.program.raw, symbol.as_ptr(), &raw mut code)
        };
        check("clCreateKernel", code)?;
        scope.ledger.add_kernel(kernel as u64, name);
        module.kernels.push((name, kernel));
    }
    watch.lap(StageName::Load);
    Ok((Box::new(Rc::new(module)), watch.stages()))
}

/// Builds a program that kernels can be created from.
pub(super) fn build(
    scope: &Rc<Scope>,
    source: &str,
    cached: bool,
    watch: &mut Stopwatch,
) -> Result<Program> {
    let program = Program::from_source(scope, source)?;
    let program = if cached {
        program.build()?;
        program
    } else {
        program.compile()?;
        watch.lap(StageName::SourceToIntermediate);
        program.link()?
    };
    watch.lap(StageName::IntermediateToMachineCode);
    Ok(program)
}

/// A program, released on drop.
pub(super) struct Program {
    scope: Rc<Scope>,
    raw: Opaque,
}

impl Program {
    fn around(scope: &Rc<Scope>, raw: Opaque) -> Program {
        Program {
            scope: Rc::clone(scope),
            raw,
        }
    }

    fn from_source(scope: &Rc<Scope>, source: &str) -> Result<Program> {
        let texts = [PRELUDE.as_ptr().cast(), source.as_ptr().cast()];
        let lengths = [PRELUDE.len(), source.len()];
        let mut code = driver::SUCCESS;
        // SAFETY: two texts and their lengths are given; the code is written.
        let raw = unsafe {
            (scope.cl().create_program)(
                scope.context,
                2,
                texts.as_ptr(),
                lengths.as_ptr(),
                &raw mut code,
            )
        };
        check("clCreateProgramWithSource", code)?;
        Ok(Program::around(scope, raw))
    }

    /// Compiles and links in one step.
    fn build(&self) -> Result<()> {
        let device = self.scope.target.device;
        // SAFETY: the program is alive, and the device belongs to its context; without a
        // callback the call blocks.
        let code = unsafe {
            (self.scope.cl().build_program)(
                self.raw,
                1,
                &raw const device,
                c"".as_ptr(),
                ptr::null(),
                ptr::null_mut(),
            )
        };
        self.check("clBuildProgram", code)
    }

    fn compile(&self) -> Result<()> {
        let device = self.scope.target.device;
        // SAFETY: as for `build`; there are no headers.
        let code = unsafe {
            (self.scope.cl().compile_program)(
                self.raw,
                1,
                &raw const device,
                c"".as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
                ptr::null(),
                ptr::null_mut(),
            )
        };
        self.check("clCompileProgram", code)
    }

    /// Links a compiled program for the device.
    fn link(&self) -> Result<Program> {
        let device = self.scope.target.device;
        let mut code = driver::SUCCESS;
        // SAFETY: one compiled program of this context is passed; without a callback the
        // call blocks; the code is written.
        let raw = unsafe {
            (self.scope.cl().link_program)(
                self.scope.context,
                1,
                &raw const device,
                c"".as_ptr(),
                1,
                &raw const self.raw,
                ptr::null(),
                ptr::null_mut(),
                &raw mut code,
            )
        };
        if raw.is_null() {
            check("clLinkProgram", code)?;
            return Err(Error::failed("clLinkProgram", "it returned no program"));
        }
        let linked = Program::around(&self.scope, raw);
        linked.check("clLinkProgram", code)?;
        Ok(linked)
    }

    /// Converts a failed call to an error that includes the compiler's log.
    fn check(&self, call: &str, code: Code) -> Result<()> {
        check(call, code).map_err(|error| match (error, self.log()) {
            (Error::Failed { call, answer }, log) if !log.is_empty() => {
                Error::failed(call, format!("{answer}: {log}"))
            }
            (error, _) => error,
        })
    }

    fn log(&self) -> String {
        let (what, device) = (driver::PROGRAM_BUILD_LOG, self.scope.target.device);
        let get = self.scope.cl().get_build_info;
        ask("clGetProgramBuildInfo", |room, value, bytes| {
            // SAFETY: program and device are valid; `ask` passes a buffer and its size.
            unsafe { get(self.raw, device, what, room, value, bytes) }
        })
        .unwrap_or_default()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program is ours and not used again.
        unsafe { (self.scope.cl().release_program)(self.raw) };
    }
}

/// All kernels of a program.
struct BuiltModule {
    program: Program,
    kernels: Vec<(KernelName, Opaque)>,
}

impl Module for Rc<BuiltModule> {
    fn kernel(&self, name: KernelName) -> Result<Box<dyn Kernel>> {
        let found = self.kernels.iter().find(|(known, _)| *known == name);
        let &(name, raw) = found.ok_or_else(|| {
            Error::failed("looking up a kernel", format!("the module has no {name:?}"))
        })?;
        Ok(Box::new(BuiltKernel {
            _module: Rc::clone(self),
            raw,
            name,
        }))
    }
}

impl Drop for BuiltModule {
    fn drop(&mut self) {
        let scope = &self.program.scope;
        for &(_, kernel) in &self.kernels {
            scope.ledger.remove_kernel(kernel as u64);
            // SAFETY: the kernel is ours; the driver keeps alive what queued work needs.
            unsafe { (scope.cl().release_kernel)(kernel) };
        }
    }
}

/// A kernel; keeps its module alive.
struct BuiltKernel {
    _module: Rc<BuiltModule>,
    raw: Opaque,
    name: KernelName,
}

impl Kernel for BuiltKernel {
    fn raw(&self) -> u64 {
        self.raw as u64
    }

    fn name(&self) -> KernelName {
        self.name
    }
}
