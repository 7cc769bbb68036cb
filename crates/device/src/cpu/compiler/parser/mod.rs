//! A recursive-descent parser: kernels and statements.
//!
//! The grammar is the subset of C that the kernels need. A `for` must have all three parts,
//! an assignment is a statement and not an expression, and a body is always in braces, so
//! there is only one way to write each construct.

mod expression;

use super::SourceError;
use super::ast::{Kernel, Parameter, Statement, Type};
use super::lexer::{Keyword, Position, Token, TokenKind, tokens};

/// Limits the nesting of brackets and blocks, so that no source can exhaust the stack.
const MAX_DEPTH: usize = 64;

/// Parses all kernels in `source`.
pub(crate) fn parse(source: &str) -> Result<Vec<Kernel<'_>>, SourceError> {
    let mut parser = Parser {
        tokens: tokens(source)?,
        next: 0,
        depth: 0,
        operators: 0,
    };
    let mut kernels = Vec::new();
    while parser.peek().kind != TokenKind::End {
        kernels.push(parser.kernel()?);
    }
    Ok(kernels)
}

struct Parser<'s> {
    /// Never empty: the last token is the end marker.
    tokens: Vec<Token<'s>>,
    next: usize,
    depth: usize,
    /// Number of operators in the current statement.
    operators: usize,
}

impl<'s> Parser<'s> {
    fn peek(&self) -> Token<'s> {
        self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn advance(&mut self) -> Token<'s> {
        let token = self.peek();
        self.next += 1;
        token
    }

    /// Advances if `kind` is next.
    fn accept(&mut self, kind: TokenKind<'static>) -> bool {
        let accepted = self.peek().kind == kind;
        self.next += usize::from(accepted);
        accepted
    }

    fn accept_symbol(&mut self, symbol: &'static str) -> bool {
        self.accept(TokenKind::Symbol(symbol))
    }

    fn expect(&mut self, kind: TokenKind<'static>) -> Result<(), SourceError> {
        if self.accept(kind) {
            return Ok(());
        }
        Err(self.unexpected(&kind.to_string()))
    }

    fn symbol(&mut self, symbol: &'static str) -> Result<(), SourceError> {
        self.expect(TokenKind::Symbol(symbol))
    }

    fn unexpected(&self, wanted: &str) -> SourceError {
        let found = self.peek();
        SourceError::new(found.at, format!("expected {wanted}, found {}", found.kind))
    }

    fn name(&mut self, what: &str) -> Result<(&'s str, Position), SourceError> {
        let TokenKind::Name(name) = self.peek().kind else {
            return Err(self.unexpected(what));
        };
        Ok((name, self.advance().at))
    }

    /// Runs `inner` one nesting level deeper.
    fn nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        if self.depth == MAX_DEPTH {
            let why = format!("this is nested more than {MAX_DEPTH} levels deep");
            return Err(SourceError::new(self.peek().at, why));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn kernel(&mut self) -> Result<Kernel<'s>, SourceError> {
        self.expect(TokenKind::Keyword(Keyword::Kernel))?;
        self.expect(TokenKind::Keyword(Keyword::Void))?;
        let (name, at) = self.name("the name of a kernel")?;
        self.symbol("(")?;
        let mut parameters = vec![self.parameter()?];
        while self.accept_symbol(",") {
            parameters.push(self.parameter()?);
        }
        self.symbol(")")?;
        Ok(Kernel {
            name,
            parameters,
            body: self.block()?,
            at,
        })
    }

    fn parameter(&mut self) -> Result<Parameter<'s>, SourceError> {
        let ty = if self.accept(TokenKind::Keyword(Keyword::Global)) {
            let writable = !self.accept(TokenKind::Keyword(Keyword::Const));
            self.expect(TokenKind::Keyword(Keyword::Float))?;
            self.symbol("*")?;
            Type::Pointer { writable }
        } else {
            self.scalar_type()
                .ok_or_else(|| self.unexpected("`GLOBAL float *`, `float` or `int`"))?
        };
        let (name, at) = self.name("the name of a parameter")?;
        Ok(Parameter { name, ty, at })
    }

    fn scalar_type(&mut self) -> Option<Type> {
        let ty = match self.peek().kind {
            TokenKind::Keyword(Keyword::Int) => Type::Int,
            TokenKind::Keyword(Keyword::Float) => Type::Float,
            _ => return None,
        };
        self.advance();
        Some(ty)
    }

    fn block(&mut self) -> Result<Vec<Statement<'s>>, SourceError> {
        self.nested(|parser| {
            parser.symbol("{")?;
            let mut statements = Vec::new();
            while !parser.accept_symbol("}") {
                statements.push(parser.statement()?);
            }
            Ok(statements)
        })
    }

    fn statement(&mut self) -> Result<Statement<'s>, SourceError> {
        self.operators = 0;
        match self.peek().kind {
            TokenKind::Keyword(Keyword::If) => self.if_statement(),
            TokenKind::Keyword(Keyword::For) => self.for_statement(),
            TokenKind::Symbol("{") => self.block().map(Statement::Block),
            TokenKind::Keyword(Keyword::Int | Keyword::Float) => {
                let statement = self.declaration()?;
                self.symbol(";")?;
                Ok(statement)
            }
            TokenKind::Name(_) => {
                let statement = self.assignment()?;
                self.symbol(";")?;
                Ok(statement)
            }
            _ => Err(self.unexpected("a statement")),
        }
    }

    fn if_statement(&mut self) -> Result<Statement<'s>, SourceError> {
        self.advance();
        self.symbol("(")?;
        let condition = self.expression()?;
        self.symbol(")")?;
        let then = self.block()?;
        let otherwise = if !self.accept(TokenKind::Keyword(Keyword::Else)) {
            Vec::new()
        } else if self.peek().kind == TokenKind::Keyword(Keyword::If) {
            vec![self.nested(Self::if_statement)?]
        } else {
            self.block()?
        };
        Ok(Statement::If {
            condition,
            then,
            otherwise,
        })
    }

    fn for_statement(&mut self) -> Result<Statement<'s>, SourceError> {
        self.advance();
        self.symbol("(")?;
        let first = match self.peek().kind {
            TokenKind::Keyword(_) => self.declaration()?,
            _ => self.assignment()?,
        };
        self.symbol(";")?;
        let condition = self.expression()?;
        self.symbol(";")?;
        let step = self.assignment()?;
        self.symbol(")")?;
        Ok(Statement::For {
            first: Box::new(first),
            condition,
            step: Box::new(step),
            body: self.block()?,
        })
    }

    fn declaration(&mut self) -> Result<Statement<'s>, SourceError> {
        let ty = self
            .scalar_type()
            .ok_or_else(|| self.unexpected("`int` or `float`"))?;
        let (name, at) = self.name("the name of a variable")?;
        self.symbol("=")?;
        let value = self.expression()?;
        Ok(Statement::Declare {
            name,
            ty,
            value,
            at,
        })
    }

    fn assignment(&mut self) -> Result<Statement<'s>, SourceError> {
        let (name, at) = self.name("an assignment")?;
        let index = self.index()?;
        self.symbol("=")?;
        let value = self.expression()?;
        Ok(Statement::Assign {
            name,
            index,
            value,
            at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_errors_are_reported_at_their_position() {
        for (source, at, what) in [
            ("void k() {}", (1, 1), "expected `KERNEL`"),
            (
                "KERNEL void k() {}",
                (1, 15),
                "`GLOBAL float *`, `float` or `int`",
            ),
            (
                "KERNEL void k(GLOBAL int *x) {}",
                (1, 22),
                "expected `float`",
            ),
            (
                "KERNEL void k(int n) {\n n++;\n}",
                (2, 3),
                "expected `=`, found `+`",
            ),
            (
                "KERNEL void k(int n) { n = n",
                (1, 29),
                "found the end of the source",
            ),
            ("KERNEL void k(int n) { int i; }", (1, 29), "expected `=`"),
            (
                "KERNEL void k(int n) { n = * 2; }",
                (1, 28),
                "expected a value",
            ),
            (
                "KERNEL void k(int n) { if (n) n = 1; }",
                (1, 31),
                "expected `{`",
            ),
            (
                "KERNEL void k(int n) { for (;;) {} }",
                (1, 29),
                "expected an assignment",
            ),
            ("KERNEL void k(int n) { return; }", (1, 30), "expected `=`"),
        ] {
            let error = parse(source).expect_err("it is wrong");
            assert_eq!((error.at.line, error.at.column), at, "{source}");
            assert!(error.what.contains(what), "{source}: {}", error.what);
        }
    }

    #[test]
    fn deep_nesting_does_not_exhaust_the_stack() {
        for (open, close) in [("(", ")"), ("-", ""), ("x[", "]")] {
            let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
            let source = format!("KERNEL void k(int n) {{ n = {deep}; }}");
            let error = parse(&source).expect_err("it is too deep");
            assert!(error.what.contains("nested"), "{}", error.what);
        }
        let blocks = format!("KERNEL void k(int n) {}", "{".repeat(100_000));
        assert!(parse(&blocks).is_err());
        let long = format!("KERNEL void k(int n) {{ n = n{}; }}", "+n".repeat(100_000));
        assert!(parse(&long).is_err());
    }
}
