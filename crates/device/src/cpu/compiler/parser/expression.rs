//! Parses expressions, with C operator precedence.

use super::super::SourceError;
use super::super::ast::{Expression, ExpressionKind, Operator};
use super::super::lexer::{Keyword, Token, TokenKind};
use super::Parser;

/// Limits the operators in one statement, also to bound the stack: `a + b + c` needs no
/// brackets, but its tree is as deep as the expression is long.
const MAX_OPERATORS: usize = 256;

impl<'s> Parser<'s> {
    pub(super) fn index(&mut self) -> Result<Option<Expression<'s>>, SourceError> {
        if !self.accept_symbol("[") {
            return Ok(None);
        }
        let index = self.expression()?;
        self.symbol("]")?;
        Ok(Some(index))
    }

    pub(super) fn expression(&mut self) -> Result<Expression<'s>, SourceError> {
        self.nested(|parser| parser.operation(1))
    }

    /// Parses operands joined by operators of at least precedence `least`. All operators
    /// are left-associative.
    fn operation(&mut self, least: u8) -> Result<Expression<'s>, SourceError> {
        let mut left = self.operand()?;
        loop {
            let Token { kind, at } = self.peek();
            let TokenKind::Symbol(symbol) = kind else {
                return Ok(left);
            };
            let Some((operator, binding)) =
                Operator::from_symbol(symbol).filter(|&(_, binding)| binding >= least)
            else {
                return Ok(left);
            };
            self.operators += 1;
            if self.operators > MAX_OPERATORS {
                let why = format!("this statement has more than {MAX_OPERATORS} operators");
                return Err(SourceError::new(at, why));
            }
            self.advance();
            let right = self.operation(binding + 1)?;
            left = Expression {
                kind: ExpressionKind::Binary(operator, Box::new(left), Box::new(right)),
                at,
            };
        }
    }

    fn operand(&mut self) -> Result<Expression<'s>, SourceError> {
        let Token { kind, at } = self.peek();
        let kind = match kind {
            TokenKind::Int(value) => ExpressionKind::Int(value),
            TokenKind::Float(value) => ExpressionKind::Float(value),
            TokenKind::Keyword(Keyword::GlobalId) => ExpressionKind::GlobalId,
            TokenKind::Name(name) => {
                self.advance();
                let kind = match self.index()? {
                    Some(index) => ExpressionKind::Element(name, Box::new(index)),
                    None => ExpressionKind::Variable(name),
                };
                return Ok(Expression { kind, at });
            }
            TokenKind::Symbol("-") => {
                self.advance();
                let operand = self.nested(Self::operand)?;
                let kind = ExpressionKind::Negate(Box::new(operand));
                return Ok(Expression { kind, at });
            }
            TokenKind::Symbol("(") => {
                self.advance();
                let inner = self.expression()?;
                self.symbol(")")?;
                return Ok(inner);
            }
            _ => return Err(self.unexpected("a value")),
        };
        self.advance();
        Ok(Expression { kind, at })
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::cpu::compiler::ast::Statement;

    /// Formats the expression fully parenthesised.
    fn show(expression: &Expression<'_>) -> String {
        match &expression.kind {
            ExpressionKind::Int(value) => value.to_string(),
            ExpressionKind::Float(value) => format!("{value:?}f"),
            ExpressionKind::GlobalId => "GLOBAL_ID".to_owned(),
            ExpressionKind::Variable(name) => (*name).to_owned(),
            ExpressionKind::Element(name, index) => format!("{name}[{}]", show(index)),
            ExpressionKind::Negate(operand) => format!("-{}", show(operand)),
            ExpressionKind::Binary(operator, left, right) => {
                format!("({operator:?} {} {})", show(left), show(right))
            }
        }
    }

    #[test]
    fn operators_bind_as_in_c() {
        for (source, shown) in [
            ("a - b - c", "(Subtract (Subtract a b) c)"),
            ("a + b * c", "(Add a (Multiply b c))"),
            ("a / b % c", "(Remainder (Divide a b) c)"),
            ("(a + b) * -c", "(Multiply (Add a b) -c)"),
            ("a < b + 1 == 0", "(Equal (Less a (Add b 1)) 0)"),
            (
                "x[i * 2] >= 0.5f",
                "(GreaterOrEqual x[(Multiply i 2)] 0.5f)",
            ),
        ] {
            let source = format!("KERNEL void k(int n) {{ int v = {source}; }}");
            let kernels = parse(&source).expect("it is well formed");
            let Statement::Declare { value, .. } = &kernels[0].body[0] else {
                panic!("it is a declaration");
            };
            assert_eq!(show(value), shown);
        }
    }
}
