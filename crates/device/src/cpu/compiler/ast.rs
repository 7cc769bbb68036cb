//! The syntax tree, built by the parser and lowered to code.
//!
//! Names are unresolved and expressions untyped at this stage; the lowering settles both,
//! so every node that can be wrong carries its position.

use super::lexer::Position;

/// The types of parameters and variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Int,
    Float,
    /// A `GLOBAL float *`.
    Pointer {
        /// True if its elements can be assigned.
        writable: bool,
    },
}

/// `KERNEL void name(parameters) { body }`
#[derive(Debug, PartialEq)]
pub(crate) struct Kernel<'s> {
    pub name: &'s str,
    pub parameters: Vec<Parameter<'s>>,
    pub body: Vec<Statement<'s>>,
    pub at: Position,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Parameter<'s> {
    pub name: &'s str,
    pub ty: Type,
    pub at: Position,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Statement<'s> {
    /// `int i = value;`
    Declare {
        name: &'s str,
        ty: Type,
        value: Expression<'s>,
        at: Position,
    },
    /// `name = value;` or `name[index] = value;`
    Assign {
        name: &'s str,
        index: Option<Expression<'s>>,
        value: Expression<'s>,
        at: Position,
    },
    If {
        condition: Expression<'s>,
        then: Vec<Statement<'s>>,
        otherwise: Vec<Statement<'s>>,
    },
    For {
        first: Box<Statement<'s>>,
        condition: Expression<'s>,
        step: Box<Statement<'s>>,
        body: Vec<Statement<'s>>,
    },
    Block(Vec<Statement<'s>>),
}

/// An expression and its position (for an operation, that of the operator).
#[derive(Debug, PartialEq)]
pub(crate) struct Expression<'s> {
    pub kind: ExpressionKind<'s>,
    pub at: Position,
}

#[derive(Debug, PartialEq)]
pub(crate) enum ExpressionKind<'s> {
    Int(i32),
    Float(f32),
    GlobalId,
    Variable(&'s str),
    /// `name[index]`
    Element(&'s str, Box<Expression<'s>>),
    Negate(Box<Expression<'s>>),
    Binary(Operator, Box<Expression<'s>>, Box<Expression<'s>>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    /// The operator and its precedence, as in C.
    pub fn from_symbol(symbol: &str) -> Option<(Operator, u8)> {
        Some(match symbol {
            "==" => (Operator::Equal, 1),
            "!=" => (Operator::NotEqual, 1),
            "<" => (Operator::Less, 2),
            "<=" => (Operator::LessOrEqual, 2),
            ">" => (Operator::Greater, 2),
            ">=" => (Operator::GreaterOrEqual, 2),
            "+" => (Operator::Add, 3),
            "-" => (Operator::Subtract, 3),
            "*" => (Operator::Multiply, 4),
            "/" => (Operator::Divide, 4),
            "%" => (Operator::Remainder, 4),
            _ => return None,
        })
    }
}
