//! A small compiler from the kernels' subset of C to machine code for this processor.
//!
//! It exists because compiling source to an intermediate form is a stage that `preheat lab`
//! measures on every device. Stored Cranelift IR would leave that stage out on this one.
//!
//! The three steps are separate functions, so that each can be timed as a stage: [`build`]
//! translates the source to Cranelift IR, [`optimise`] optimises the IR, and [`emit`]
//! generates machine code. The result is an [`Object`] of bytes and symbols, which can be
//! cached; the module makes it executable.

mod ast;
mod lexer;
mod lower;
mod parser;

use std::fmt;

use cranelift_codegen::Context;
use cranelift_codegen::isa::TargetIsa;

pub(crate) use self::lexer::Position;
use super::object::{Object, ParameterKind, Symbol};
use crate::{Error, Result};

/// An error in the source, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceError {
    pub at: Position,
    pub what: String,
}

impl SourceError {
    fn new(at: Position, what: impl Into<String>) -> SourceError {
        SourceError {
            at,
            what: what.into(),
        }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.at.line, self.at.column, self.what)
    }
}

/// One kernel as Cranelift IR.
pub(crate) struct Unit {
    name: String,
    parameters: Vec<ParameterKind>,
    context: Context,
}

/// Translates source to IR.
pub(crate) fn build(source: &str, isa: &dyn TargetIsa) -> Result<Vec<Unit>> {
    lower_all(source, isa)
        .map_err(|error| Error::failed("compiling the kernel source", error.to_string()))
}

fn lower_all(source: &str, isa: &dyn TargetIsa) -> Result<Vec<Unit>, SourceError> {
    let mut units: Vec<Unit> = Vec::new();
    for kernel in parser::parse(source)? {
        if units.iter().any(|unit| unit.name == kernel.name) {
            let why = format!("kernel `{}` is already defined", kernel.name);
            return Err(SourceError::new(kernel.at, why));
        }
        units.push(Unit {
            name: kernel.name.to_owned(),
            parameters: kernel.parameters.iter().map(|p| p.ty.into()).collect(),
            context: Context::for_function(lower::lower(&kernel, isa)?),
        });
    }
    Ok(units)
}

/// Optimises the IR in place.
pub(crate) fn optimise(units: &mut [Unit], isa: &dyn TargetIsa) -> Result<()> {
    for unit in units {
        unit.context
            .optimize(isa, &mut Default::default())
            .map_err(|error| {
                Error::failed(
                    format!("optimising the kernel {}", unit.name),
                    error.to_string(),
                )
            })?;
    }
    Ok(())
}

/// Generates machine code from the optimised IR.
///
/// `Context::compile` would optimise again; this calls the step after that.
pub(crate) fn emit(units: &[Unit], isa: &dyn TargetIsa) -> Result<Object> {
    let mut object = Object::default();
    // The register allocator's memory is reused for all kernels.
    let mut registers = Default::default();
    for unit in units {
        let failed =
            |why: String| Error::failed(format!("generating machine code for {}", unit.name), why);
        let function = &unit.context.func;
        let compiled = isa
            .compile_function(
                function,
                &unit.context.domtree,
                &mut registers,
                false,
                &mut Default::default(),
            )
            .map_err(|error| failed(error.to_string()))?
            .apply_params(&function.params);
        if !compiled.buffer.relocs().is_empty() {
            let why = "the code has relocations, which are not supported";
            return Err(failed(why.to_owned()));
        }
        object.align(compiled.buffer.alignment as usize);
        object.symbols.push(Symbol {
            name: unit.name.clone(),
            parameters: unit.parameters.clone(),
            offset: object.code.len(),
        });
        object.code.extend_from_slice(compiled.code_buffer());
    }
    Ok(object)
}

impl From<ast::Type> for ParameterKind {
    fn from(ty: ast::Type) -> ParameterKind {
        match ty {
            ast::Type::Int => ParameterKind::Int,
            ast::Type::Float => ParameterKind::Float,
            ast::Type::Pointer { .. } => ParameterKind::Pointer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::processor::target;

    /// Compiles `body` in a kernel `k(GLOBAL float *y, GLOBAL const float *x, float a, int
    /// n)` and returns the error.
    fn error_of(body: &str) -> String {
        let source = format!(
            "KERNEL void k(GLOBAL float *y, GLOBAL const float *x, float a, int n) {{\n{body}\n}}"
        );
        let isa = target().expect("this processor is supported");
        match build(&source, &*isa) {
            Ok(_) => panic!("{body} was accepted"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn invalid_programs_are_rejected_with_line_and_column() {
        for (body, expected) in [
            ("y[0] = b;", "2:8: `b` is not declared"),
            ("b = 1;", "2:1: `b` is not declared"),
            ("x[0] = a;", "2:1: the elements of `x` are const"),
            ("a[0] = a;", "2:1: `a` is a float and has no elements"),
            (
                "n = a;",
                "2:5: a float is not converted to an int implicitly",
            ),
            (
                "int i = 0.5f;",
                "2:9: a float is not converted to an int implicitly",
            ),
            (
                "y = a;",
                "2:1: `y` is a pointer; only its elements can be assigned",
            ),
            (
                "a = y;",
                "2:5: `y` is a pointer; only its elements have values",
            ),
            ("a = y[a];", "2:7: an index must be an int"),
            ("a = a % 2;", "2:7: `%` is for ints"),
            (
                "if (a) { n = 1; }",
                "2:5: a condition must be an int or a comparison",
            ),
            ("int n = 1;", "2:5: `n` is already declared"),
            ("{ int i = 1; } n = i;", "2:20: `i` is not declared"),
        ] {
            let error = error_of(body);
            assert!(error.contains(expected), "{body}: {error}");
        }
    }

    #[test]
    fn a_kernel_is_defined_once() {
        let isa = target().expect("this processor is supported");
        let twice = "KERNEL void k(int n) {}\nKERNEL void k(int n) {}";
        let error = build(twice, &*isa).err().map(|error| error.to_string());
        assert_eq!(
            error.as_deref(),
            Some("compiling the kernel source failed: 2:13: kernel `k` is already defined")
        );
    }

    #[test]
    fn code_is_aligned_and_named() {
        let isa = target().expect("this processor is supported");
        let mut units = build(crate::KERNEL_SOURCE, &*isa).expect("the source is right");
        optimise(&mut units, &*isa).expect("it can be optimised");
        let object = emit(&units, &*isa).expect("it has machine code");
        assert_eq!(object.symbols.len(), crate::KernelName::ALL.len());
        for symbol in &object.symbols {
            assert_eq!(symbol.offset % 16, 0, "{}", symbol.name);
            assert!(symbol.offset < object.code.len());
        }
    }
}
