//! Lowers a kernel's syntax tree to Cranelift IR: scopes and statements.
//!
//! A kernel becomes one function over a *range* of indices:
//!
//! ```text
//! extern "C" fn kernel(arguments: *const u64, begin: i64, end: i64)
//! ```
//!
//! with one eight-byte slot per argument (an address, or a `float` or `int` in the low
//! half). The loop over the indices is part of the machine code, so a launch costs one call
//! per chunk, not one per index.

mod expression;

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    self, AbiParam, Block, Function, InstBuilder, MemFlagsData, Signature, UserFuncName, types,
};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};

use super::SourceError;
use super::ast::{Expression, Kernel, Statement, Type};
use super::lexer::Position;

/// The size of an argument's slot.
const SLOT: usize = 8;

/// Lowers the kernel to a function.
pub(crate) fn lower(kernel: &Kernel<'_>, isa: &dyn TargetIsa) -> Result<Function, SourceError> {
    let mut signature = Signature::new(isa.default_call_conv());
    signature.params = [isa.pointer_type(), types::I64, types::I64]
        .map(AbiParam::new)
        .to_vec();
    let mut function = Function::with_name_signature(UserFuncName::default(), signature);
    let mut memory = FunctionBuilderContext::new();
    let mut lowering = Lowering::new(&mut function, &mut memory, isa.pointer_type());
    lowering.kernel(kernel)?;
    lowering.builder.finalize(isa.frontend_config());
    Ok(function)
}

/// A declared variable.
#[derive(Clone, Copy)]
struct Named {
    ty: Type,
    variable: Variable,
}

struct Lowering<'f, 's> {
    builder: FunctionBuilder<'f>,
    pointer: ir::Type,
    /// The index as an `int`.
    global_id: Option<ir::Value>,
    /// The innermost scope is the last one.
    scopes: Vec<HashMap<&'s str, Named>>,
}

impl<'f, 's> Lowering<'f, 's> {
    fn new(
        function: &'f mut Function,
        memory: &'f mut FunctionBuilderContext,
        pointer: ir::Type,
    ) -> Self {
        Lowering {
            builder: FunctionBuilder::new(function, memory),
            pointer,
            global_id: None,
            scopes: vec![HashMap::new()],
        }
    }

    /// Emits the loop over the indices around the kernel's body.
    fn kernel(&mut self, kernel: &Kernel<'s>) -> Result<(), SourceError> {
        let entry = self.builder.create_block();
        self.builder.append_block_params_for_function_params(entry);
        self.builder.switch_to_block(entry);
        self.builder.seal_block(entry);
        let [slots, begin, end] = match *self.builder.block_params(entry) {
            [slots, begin, end] => [slots, begin, end],
            _ => unreachable!("the signature has three parameters"),
        };
        // Nothing writes to the slots while the kernel runs.
        let flags = MemFlagsData::trusted().with_readonly();
        let mut arguments = Vec::with_capacity(kernel.parameters.len());
        for (index, parameter) in kernel.parameters.iter().enumerate() {
            let ty = self.machine_type(parameter.ty);
            let offset = i32::try_from(index * SLOT).map_err(|_| {
                SourceError::new(parameter.at, "this kernel has too many parameters")
            })?;
            arguments.push(self.builder.ins().load(ty, flags, slots, offset));
        }
        let index = self.builder.declare_var(types::I64);
        self.builder.def_var(index, begin);

        let [head, body, done] = [(); 3].map(|()| self.builder.create_block());
        self.builder.ins().jump(head, &[]);
        self.builder.switch_to_block(head);
        let current = self.builder.use_var(index);
        let more = self.builder.ins().icmp(IntCC::SignedLessThan, current, end);
        self.builder.ins().brif(more, body, &[], done, &[]);

        self.open(body);
        self.global_id = Some(self.builder.ins().ireduce(types::I32, current));
        // Each index gets its own copy of the parameters, since a body may assign to them.
        for (parameter, value) in kernel.parameters.iter().zip(arguments) {
            let variable = self.declare(parameter.name, parameter.ty, parameter.at)?;
            self.builder.def_var(variable, value);
        }
        self.statements(&kernel.body)?;
        let next = self.builder.ins().iadd_imm_s(current, 1);
        self.builder.def_var(index, next);
        self.builder.ins().jump(head, &[]);
        self.builder.seal_block(head);

        self.open(done);
        self.builder.ins().return_(&[]);
        Ok(())
    }

    /// Continues in a block whose predecessors are all complete.
    fn open(&mut self, block: Block) {
        self.builder.switch_to_block(block);
        self.builder.seal_block(block);
    }

    fn machine_type(&self, ty: Type) -> ir::Type {
        match ty {
            Type::Int => types::I32,
            Type::Float => types::F32,
            Type::Pointer { .. } => self.pointer,
        }
    }

    /// Declares a name in the innermost scope.
    fn declare(&mut self, name: &'s str, ty: Type, at: Position) -> Result<Variable, SourceError> {
        let machine_type = self.machine_type(ty);
        let variable = self.builder.declare_var(machine_type);
        let scope = self.scopes.last_mut();
        match scope.and_then(|scope| scope.insert(name, Named { ty, variable })) {
            None => Ok(variable),
            Some(_) => Err(SourceError::new(
                at,
                format!("`{name}` is already declared in this block"),
            )),
        }
    }

    /// Resolves `name` in the current scopes.
    fn look_up(&self, name: &str, at: Position) -> Result<Named, SourceError> {
        let found = self.scopes.iter().rev().find_map(|scope| scope.get(name));
        found
            .copied()
            .ok_or_else(|| SourceError::new(at, format!("`{name}` is not declared")))
    }

    fn scoped(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<(), SourceError>,
    ) -> Result<(), SourceError> {
        self.scopes.push(HashMap::new());
        let result = inner(self);
        self.scopes.pop();
        result
    }

    fn block(&mut self, statements: &[Statement<'s>]) -> Result<(), SourceError> {
        self.scoped(|lowering| lowering.statements(statements))
    }

    fn statements(&mut self, statements: &[Statement<'s>]) -> Result<(), SourceError> {
        statements
            .iter()
            .try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement<'s>) -> Result<(), SourceError> {
        match statement {
            Statement::Declare {
                name,
                ty,
                value,
                at,
            } => {
                let value = self.converted(value, *ty)?;
                let variable = self.declare(name, *ty, *at)?;
                self.builder.def_var(variable, value);
                Ok(())
            }
            Statement::Assign {
                name,
                index: None,
                value,
                at,
            } => {
                let Named { ty, variable } = self.look_up(name, *at)?;
                if let Type::Pointer { .. } = ty {
                    let why = format!("`{name}` is a pointer; only its elements can be assigned");
                    return Err(SourceError::new(*at, why));
                }
                let value = self.converted(value, ty)?;
                self.builder.def_var(variable, value);
                Ok(())
            }
            Statement::Assign {
                name,
                index: Some(index),
                value,
                at,
            } => {
                let (address, writable) = self.element(name, index, *at)?;
                if !writable {
                    let why = format!("the elements of `{name}` are const");
                    return Err(SourceError::new(*at, why));
                }
                let value = self.converted(value, Type::Float)?;
                let flags = MemFlagsData::trusted();
                self.builder.ins().store(flags, value, address, 0);
                Ok(())
            }
            Statement::If {
                condition,
                then,
                otherwise,
            } => self.if_statement(condition, then, otherwise),
            Statement::For {
                first,
                condition,
                step,
                body,
            } => self.scoped(|lowering| lowering.for_statement(first, condition, step, body)),
            Statement::Block(statements) => self.block(statements),
        }
    }

    fn if_statement(
        &mut self,
        condition: &Expression<'s>,
        then: &[Statement<'s>],
        otherwise: &[Statement<'s>],
    ) -> Result<(), SourceError> {
        let [yes, no, after] = [(); 3].map(|()| self.builder.create_block());
        let condition = self.condition(condition)?;
        self.builder.ins().brif(condition, yes, &[], no, &[]);
        for (block, statements) in [(yes, then), (no, otherwise)] {
            self.open(block);
            self.block(statements)?;
            self.builder.ins().jump(after, &[]);
        }
        self.open(after);
        Ok(())
    }

    fn for_statement(
        &mut self,
        first: &Statement<'s>,
        condition: &Expression<'s>,
        step: &Statement<'s>,
        statements: &[Statement<'s>],
    ) -> Result<(), SourceError> {
        self.statement(first)?;
        let [head, body, after] = [(); 3].map(|()| self.builder.create_block());
        self.builder.ins().jump(head, &[]);
        self.builder.switch_to_block(head);
        let condition = self.condition(condition)?;
        self.builder.ins().brif(condition, body, &[], after, &[]);
        self.open(body);
        self.block(statements)?;
        self.statement(step)?;
        self.builder.ins().jump(head, &[]);
        self.builder.seal_block(head);
        self.open(after);
        Ok(())
    }
}
