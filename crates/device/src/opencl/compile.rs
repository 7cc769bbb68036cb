//! From kernels to something that can be launched.
//!
//! There are two ways:
//!
//! - *Without a cache* OpenCL's own steps are the stages: `clCompileProgram` makes an
//!   intermediate form of the implementation's, `clLinkProgram` a program for the
//!   device, and `clCreateKernel` the kernels.
//! - *With a cache* `clBuildProgram` does the first two in one, and the stage is called
//!   after the second: only there does PoCL look for a whole program in its cache
//!   (3.1: 0.1 s for 1.6 s; `clLinkProgram` takes its second however full that is).
//!
//! How far a step goes is the implementation's choice. PoCL makes machine code only
//! when a kernel is first launched, anew for each size of a work group: there the
//! first launch of each kernel has the rest of the compilation in it. It is left so,
//! because that is the cold start that a program on PoCL has.

use std::ffi::CString;
use std::ptr;
use std::rc::Rc;

use super::driver::check;
use super::query::ask;
use super::scope::Scope;
use super::sys::{self, Code, Opaque};
use crate::{
    Error, KERNEL_SOURCE, Kernel, KernelName, Module, Result, Stage, StageName, Stopwatch,
};

/// What the words of the common source mean in OpenCL C.
const PRELUDE: &str = "\
#define KERNEL __kernel
#define GLOBAL __global
#define GLOBAL_ID ((int)get_global_id(0))
";

/// Compile all kernels. There is no portable form but the source, so what the
/// compilation begins with makes no difference.
pub(super) fn compile(scope: &Rc<Scope>, cached: bool) -> Result<(Box<dyn Module>, Vec<Stage>)> {
    let mut watch = Stopwatch::new();
    let program = build(scope, KERNEL_SOURCE, cached, &mut watch)?;
    let mut module = BuiltModule {
        program,
        kernels: Vec::new(),
    };
    for &name in KernelName::ALL {
        let symbol = CString::new(name.as_str()).unwrap_or_default();
        let mut code = sys::SUCCESS;
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

/// Source to a program that kernels can be taken from.
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

/// A program, released when dropped.
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
        let mut code = sys::SUCCESS;
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

    /// Compile and link in one.
    fn build(&self) -> Result<()> {
        let device = self.scope.target.device;
        // SAFETY: the program lives, the device is of its context; without a callback
        // the call waits.
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

    /// A compiled program to one for the device.
    fn link(&self) -> Result<Program> {
        let device = self.scope.target.device;
        let mut code = sys::SUCCESS;
        // SAFETY: one compiled program of this context is given; without a callback the
        // call waits; the code is written.
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
            return Err(Error::failed("clLinkProgram", "it gave no program"));
        }
        let linked = Program::around(&self.scope, raw);
        linked.check("clLinkProgram", code)?;
        Ok(linked)
    }

    /// Success, or an error that has the compiler's log in it.
    fn check(&self, call: &str, code: Code) -> Result<()> {
        check(call, code).map_err(|error| match (error, self.log()) {
            (Error::Failed { call, answer }, log) if !log.is_empty() => {
                Error::failed(call, format!("{answer}: {log}"))
            }
            (error, _) => error,
        })
    }

    fn log(&self) -> String {
        let (what, device) = (sys::PROGRAM_BUILD_LOG, self.scope.target.device);
        let get = self.scope.cl().get_build_info;
        ask("clGetProgramBuildInfo", |room, value, bytes| {
            // SAFETY: program and device are valid; `ask` gives room and its size.
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
            Error::failed("the search for a kernel", format!("there is no {name:?}"))
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
            // SAFETY: the kernel is ours; the driver keeps what queued work needs.
            unsafe { (scope.cl().release_kernel)(kernel) };
        }
    }
}

/// A kernel, which keeps its module alive.
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
