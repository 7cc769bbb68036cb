//! Lowers expressions to Cranelift IR: types, conversions, arithmetic.
//!
//! As in C, an `int` is converted to `float` where the two meet; the other direction is
//! rejected, since it would silently drop the fraction. Integer arithmetic wraps, and
//! integer division by zero yields some number instead of a trap: GPUs do the same, and a
//! trap would end the process.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};

use super::super::SourceError;
use super::super::ast::{Expression, ExpressionKind, Operator, Type};
use super::super::lexer::Position;
use super::Lowering;

/// A value with its type.
#[derive(Clone, Copy)]
enum Typed {
    Int(Value),
    Float(Value),
}

impl<'s> Lowering<'_, 's> {
    /// Lowers the expression to a value of type `ty`.
    pub(super) fn converted(
        &mut self,
        expression: &Expression<'s>,
        ty: Type,
    ) -> Result<Value, SourceError> {
        match (self.expression(expression)?, ty) {
            (Typed::Int(value), Type::Int) | (Typed::Float(value), Type::Float) => Ok(value),
            (typed @ Typed::Int(_), Type::Float) => Ok(self.float(typed)),
            (Typed::Float(_), Type::Int) => Err(SourceError::new(
                expression.at,
                "a float is not converted to an int implicitly",
            )),
            (_, Type::Pointer { .. }) => Err(SourceError::new(
                expression.at,
                "a pointer cannot be assigned",
            )),
        }
    }

    /// Lowers the expression to a branch condition.
    pub(super) fn condition(&mut self, expression: &Expression<'s>) -> Result<Value, SourceError> {
        match self.expression(expression)? {
            Typed::Int(value) => Ok(value),
            Typed::Float(_) => Err(SourceError::new(
                expression.at,
                "a condition must be an int or a comparison",
            )),
        }
    }

    /// The address of `name[index]`, and whether it can be assigned.
    pub(super) fn element(
        &mut self,
        name: &'s str,
        index: &Expression<'s>,
        at: Position,
    ) -> Result<(Value, bool), SourceError> {
        let named = self.look_up(name, at)?;
        let writable = match named.ty {
            Type::Pointer { writable } => writable,
            Type::Int => return Err(no_elements(name, "an int", at)),
            Type::Float => return Err(no_elements(name, "a float", at)),
        };
        let Typed::Int(index_value) = self.expression(index)? else {
            return Err(SourceError::new(index.at, "an index must be an int"));
        };
        let base = self.builder.use_var(named.variable);
        let pointer = self.pointer;
        let wide = self.builder.ins().sextend(pointer, index_value);
        let size = i64::from(types::F32.bytes());
        let offset = self.builder.ins().imul_imm_s(wide, size);
        Ok((self.builder.ins().iadd(base, offset), writable))
    }

    fn expression(&mut self, expression: &Expression<'s>) -> Result<Typed, SourceError> {
        let at = expression.at;
        Ok(match &expression.kind {
            ExpressionKind::Int(value) => {
                Typed::Int(self.builder.ins().iconst(types::I32, i64::from(*value)))
            }
            ExpressionKind::Float(value) => Typed::Float(self.builder.ins().f32const(*value)),
            ExpressionKind::GlobalId => Typed::Int(self.global_id.ok_or_else(|| {
                SourceError::new(at, "GLOBAL_ID has a value only in a kernel's body")
            })?),
            ExpressionKind::Variable(name) => {
                let named = self.look_up(name, at)?;
                let value = self.builder.use_var(named.variable);
                match named.ty {
                    Type::Int => Typed::Int(value),
                    Type::Float => Typed::Float(value),
                    Type::Pointer { .. } => {
                        let why = format!("`{name}` is a pointer; only its elements have values");
                        return Err(SourceError::new(at, why));
                    }
                }
            }
            ExpressionKind::Element(name, index) => {
                let (address, _) = self.element(name, index, at)?;
                let flags = MemFlagsData::trusted();
                Typed::Float(self.builder.ins().load(types::F32, flags, address, 0))
            }
            ExpressionKind::Negate(operand) => match self.expression(operand)? {
                Typed::Int(value) => Typed::Int(self.builder.ins().ineg(value)),
                Typed::Float(value) => Typed::Float(self.builder.ins().fneg(value)),
            },
            ExpressionKind::Binary(operator, left, right) => {
                let (left, right) = (self.expression(left)?, self.expression(right)?);
                match (left, right) {
                    (Typed::Int(left), Typed::Int(right)) => {
                        Typed::Int(self.int_operation(*operator, left, right))
                    }
                    (left, right) => {
                        let (left, right) = (self.float(left), self.float(right));
                        self.float_operation(*operator, left, right, at)?
                    }
                }
            }
        })
    }

    fn float(&mut self, typed: Typed) -> Value {
        match typed {
            Typed::Int(value) => self.builder.ins().fcvt_from_sint(types::F32, value),
            Typed::Float(value) => value,
        }
    }

    fn int_operation(&mut self, operator: Operator, left: Value, right: Value) -> Value {
        let comparison = match operator {
            Operator::Add => return self.builder.ins().iadd(left, right),
            Operator::Subtract => return self.builder.ins().isub(left, right),
            Operator::Multiply => return self.builder.ins().imul(left, right),
            Operator::Divide | Operator::Remainder => {
                return self.division(operator, left, right);
            }
            Operator::Equal => IntCC::Equal,
            Operator::NotEqual => IntCC::NotEqual,
            Operator::Less => IntCC::SignedLessThan,
            Operator::LessOrEqual => IntCC::SignedLessThanOrEqual,
            Operator::Greater => IntCC::SignedGreaterThan,
            Operator::GreaterOrEqual => IntCC::SignedGreaterThanOrEqual,
        };
        let truth = self.builder.ins().icmp(comparison, left, right);
        self.builder.ins().uextend(types::I32, truth)
    }

    /// A division that never traps: in 64 bits, the smallest `int` divided by -1 does not
    /// overflow, and a zero divisor is replaced by one.
    fn division(&mut self, operator: Operator, left: Value, right: Value) -> Value {
        let one = self.builder.ins().iconst(types::I32, 1);
        let divisor = self.builder.ins().select(right, right, one);
        let left = self.builder.ins().sextend(types::I64, left);
        let divisor = self.builder.ins().sextend(types::I64, divisor);
        let wide = match operator {
            Operator::Remainder => self.builder.ins().srem(left, divisor),
            _ => self.builder.ins().sdiv(left, divisor),
        };
        self.builder.ins().ireduce(types::I32, wide)
    }

    fn float_operation(
        &mut self,
        operator: Operator,
        left: Value,
        right: Value,
        at: Position,
    ) -> Result<Typed, SourceError> {
        let comparison = match operator {
            Operator::Add => return Ok(Typed::Float(self.builder.ins().fadd(left, right))),
            Operator::Subtract => return Ok(Typed::Float(self.builder.ins().fsub(left, right))),
            Operator::Multiply => return Ok(Typed::Float(self.builder.ins().fmul(left, right))),
            Operator::Divide => return Ok(Typed::Float(self.builder.ins().fdiv(left, right))),
            Operator::Remainder => return Err(SourceError::new(at, "`%` is for ints only")),
            Operator::Equal => FloatCC::Equal,
            Operator::NotEqual => FloatCC::NotEqual,
            Operator::Less => FloatCC::LessThan,
            Operator::LessOrEqual => FloatCC::LessThanOrEqual,
            Operator::Greater => FloatCC::GreaterThan,
            Operator::GreaterOrEqual => FloatCC::GreaterThanOrEqual,
        };
        let truth = self.builder.ins().fcmp(comparison, left, right);
        Ok(Typed::Int(self.builder.ins().uextend(types::I32, truth)))
    }
}

fn no_elements(name: &str, what: &str, at: Position) -> SourceError {
    SourceError::new(at, format!("`{name}` is {what} and has no elements"))
}
