//! Clock readings that a source passes to functions.
//!
//! `elapsed(start)` subtracts its parameter from a new reading, and `show("cold", a, b)`
//! one of its parameters from another. Functions and macros with their parameters are found line by
//! line, with regular expressions, as in [`super::source`].

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use regex_lite::{Captures, Regex};

use super::statements::{differences, expression, indentation, variable_of};

/// `def report(label, began):`
static PYTHON: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^\s*(?:async\s+)?def\s+(\w+)\s*\((.*)\)\s*(?:->[^:]+)?:"));
/// `took = lambda a, b: …`
static LAMBDA: LazyLock<Regex> = LazyLock::new(|| expression(r"^\s*(\w+)\s*=\s*lambda\s+([^:]+):"));
/// `auto took = [](auto a, auto b) {`
static CPP_LAMBDA: LazyLock<Regex> =
    LazyLock::new(|| expression(r"\b(\w+)\s*=\s*\[[^\]]*\]\s*\(([^()]*)\)"));
/// `#define SECONDS(a, b) …`
static MACRO: LazyLock<Regex> = LazyLock::new(|| expression(r"^\s*#\s*define\s+(\w+)\(([^)]*)\)"));
/// `static double took(struct timespec a, struct timespec b) {`
static CPP: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"^\s*(?:[A-Za-z_][\w:<>,*&]*\s+)+[*&]*(?:\w+::)*(\w+)\s*\(([^()]*)\)\s*(?:const|noexcept|override|\s)*(?:\{.*)?$",
    )
});
/// First words of statements that call a function, which may look like the type that a function of
/// C++ returns.
const NOT_TYPES: [&str; 12] = [
    "return",
    "await",
    "yield",
    "assert",
    "raise",
    "else",
    "throw",
    "not",
    "del",
    "new",
    "co_await",
    "co_return",
];
/// Words before brackets that are not the name of a function.
const NOT_NAMES: [&str; 7] = ["if", "for", "while", "switch", "return", "catch", "sizeof"];
static CALL: LazyLock<Regex> = LazyLock::new(|| expression(r"\b(\w+)\s*\("));
static NAME_ONLY: LazyLock<Regex> = LazyLock::new(|| expression(r"^[&*]*\s*(NAME)$"));
static KEYWORD: LazyLock<Regex> = LazyLock::new(|| expression(r"^([A-Za-z_]\w*)\s*=\s*([^=].*)$"));

/// A function of the source.
struct Function {
    name: String,
    parameters: Vec<String>,
    lines: RangeInclusive<u32>,
}

/// A parameter of a function, and a variable passed as its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub name: String,
    pub argument: String,
    /// The lines of the function.
    pub lines: RangeInclusive<u32>,
}

/// The variables that the calls in a source pass.
#[derive(Debug, Default)]
pub(super) struct Passed {
    pub parameters: Vec<Parameter>,
    /// Variables whose difference a function calculates: the later and the earlier one.
    pub differences: Vec<(String, String)>,
    /// The variables passed together to a function that is not in the source.
    pub together: Vec<Vec<String>>,
}

/// Finds the variables that a source passes to functions. There is one text per line: the statement
/// that begins there, or none.
pub(super) fn passed<'a>(texts: &[impl AsRef<str> + 'a]) -> Passed {
    let functions = functions(texts);
    let mut found = Passed::default();
    for text in texts.iter().map(AsRef::as_ref) {
        for call in CALL.captures_iter(text) {
            let name = call.get(1).map_or("", |name| name.as_str());
            let end = call.get(0).map_or(0, |all| all.end());
            if is_definition(text, name) || NOT_NAMES.contains(&name) {
                continue;
            }
            let arguments = arguments(&text[end..]);
            match functions.iter().find(|function| function.name == name) {
                Some(function) => found.call(function, &arguments, texts),
                None => {
                    let names = arguments.iter().filter_map(|one| name_in(one)).collect();
                    found.together.push(names);
                }
            }
        }
    }
    found.together.retain(|names| names.len() > 1);
    found
}

impl Passed {
    fn call(&mut self, function: &Function, arguments: &[&str], texts: &[impl AsRef<str>]) {
        let mut values: Vec<Option<String>> = vec![None; function.parameters.len()];
        for (at, argument) in arguments.iter().enumerate() {
            let keyword = KEYWORD.captures(argument).and_then(|names| {
                let name = names.get(1)?.as_str();
                let at = function.parameters.iter().position(|one| one == name)?;
                Some((at, names.get(2)?.as_str()))
            });
            let (at, value) = keyword.unwrap_or((at, argument));
            if let Some(slot) = values.get_mut(at) {
                *slot = name_in(value);
            }
        }
        let value = |name: &str| {
            let at = function.parameters.iter().position(|one| one == name)?;
            values.get(at)?.clone()
        };
        for line in function.lines.clone() {
            let text = texts.get(line as usize - 1).map_or("", AsRef::as_ref);
            let both = differences(text).into_iter();
            let both = both.filter_map(|(later, earlier)| Some((value(&later)?, value(&earlier)?)));
            self.differences.extend(both);
        }
        let parameters = function.parameters.iter().filter_map(|name| {
            Some(Parameter {
                name: name.clone(),
                argument: value(name)?,
                lines: function.lines.clone(),
            })
        });
        self.parameters.extend(parameters);
    }
}

/// The functions of a source, with the lines that belong to them.
fn functions(texts: &[impl AsRef<str>]) -> Vec<Function> {
    let mut functions = Vec::new();
    for (at, text) in texts.iter().map(AsRef::as_ref).enumerate() {
        let line = at as u32 + 1;
        let block = || {
            if text.contains('{') && text.trim_end().ends_with('}') {
                return line;
            }
            let outer = indentation(text);
            let inside = |text: &&str| {
                let begins = text.trim_start().starts_with('{');
                text.trim().is_empty() || indentation(text) > outer || begins
            };
            let rest = texts.iter().skip(at + 1).map(AsRef::as_ref);
            line + rest.take_while(inside).count() as u32
        };
        let continued = || {
            let rest = texts.iter().skip(at).map(AsRef::as_ref);
            line + rest.take_while(|text: &&str| text.ends_with('\\')).count() as u32
        };
        for (definition, end) in [
            (&PYTHON, &block as &dyn Fn() -> u32),
            (&LAMBDA, &continued),
            (&CPP_LAMBDA, &block),
            (&MACRO, &continued),
            (&CPP, &block),
        ] {
            let Some(names) = definition.captures(text).filter(|_| !calls_only(text)) else {
                continue;
            };
            let name = names.get(1).map_or("", |name| name.as_str());
            if NOT_NAMES.contains(&name) {
                continue;
            }
            functions.push(Function {
                name: name.to_owned(),
                parameters: parameters(&names),
                lines: line..=end(),
            });
            break;
        }
    }
    functions
}

/// Returns true for `return elapsed(start)`.
fn calls_only(text: &str) -> bool {
    let first = text.split_whitespace().next();
    first.is_some_and(|word| NOT_TYPES.contains(&word))
}

/// Returns true if this text defines a function with this name.
fn is_definition(text: &str, name: &str) -> bool {
    !calls_only(text)
        && [&PYTHON, &MACRO, &CPP].iter().any(|definition| {
            let names = definition.captures(text);
            names.is_some_and(|names| names.get(1).is_some_and(|found| found.as_str() == name))
        })
}

/// The names of the parameters, without `self`.
fn parameters(names: &Captures) -> Vec<String> {
    let text = names.get(2).map_or("", |parameters| parameters.as_str());
    let is_object = |name: &String| name == "self" || name == "cls";
    let name = |parameter: &&str| {
        let plain = parameter.split(['=', ':', '[']).next().unwrap_or_default();
        // `std::chrono::time_point<Clock> begin` has colons in its type.
        let plain = match parameter.contains("::") {
            true => parameter.split('=').next().unwrap_or_default(),
            false => plain,
        };
        let mut words = plain.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.rfind(|word| !word.is_empty()).map(str::to_owned)
    };
    let all = separated(text);
    all.iter()
        .filter_map(name)
        .filter(|name| !is_object(name))
        .collect()
}

/// The arguments of a call, from the text after its opening bracket.
fn arguments(text: &str) -> Vec<&str> {
    separated(text).into_iter().map(str::trim).collect()
}

/// Splits at commas outside of brackets and strings, up to the first unmatched closing bracket.
fn separated(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut quote, mut begin) = (0, None, 0);
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') if depth == 0 => {
                end = at;
                break;
            }
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..end]);
    parts
}

/// The variable that an argument consists of.
fn name_in(argument: &str) -> Option<String> {
    let names = NAME_ONLY.captures(argument.trim())?;
    Some(variable_of(names.get(1)?.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: &str) -> Passed {
        passed(&source.lines().collect::<Vec<_>>())
    }

    fn parameters_of(source: &str) -> Vec<(String, String, u32, u32)> {
        let found = of(source).parameters.into_iter();
        found
            .map(|one| (one.name, one.argument, *one.lines.start(), *one.lines.end()))
            .collect()
    }

    fn one(name: &str, argument: &str, from: u32, to: u32) -> (String, String, u32, u32) {
        (name.to_owned(), argument.to_owned(), from, to)
    }

    #[test]
    fn arguments_have_their_parameters() {
        let source = "def report(label, began=None):\n    took = time() - began\n\n\
                      report(f'a, {b}', t0)\nreport(began=t1, label=2)\nreport(3, time())\n";
        let expected = [one("began", "t0", 1, 3), one("began", "t1", 1, 3)];
        assert_eq!(parameters_of(source), expected);
        let source = "class A:\n    def f(self, since: float, *rest) -> float:\n        pass\n\
                      a.f(self.t0)\n";
        assert_eq!(parameters_of(source), [one("since", "self.t0", 2, 3)]);
        let source = "static double took(const struct timespec *since)\n{\n  x();\n}\n\
                      int main(void)\n{\n  print(took(&t0));\n  return took(&t1);\n}\n";
        let expected = [one("since", "t0", 1, 3), one("since", "t1", 1, 3)];
        assert_eq!(parameters_of(source), expected);
        let source =
            "double took(std::chrono::time_point<Clock> since) { return 1; }\n  took(t);\n";
        assert_eq!(parameters_of(source), [one("since", "t", 1, 1)]);
    }

    #[test]
    fn statements_with_calls_are_not_definitions() {
        let source = "def lap(start):\n    return elapsed(start)\n\n\
                      def elapsed(since):\n    return time() - since\n\nprint(elapsed(t0))\n";
        let expected = [one("since", "start", 4, 6), one("since", "t0", 4, 6)];
        assert_eq!(parameters_of(source), expected);
        for statement in ["await show(s, e)", "return show(s, e)", "else show(s, e);"] {
            let source = format!("def show(a, b):\n    print(b - a)\n    {statement}\n");
            assert_eq!(
                of(&source).differences,
                [("e".to_owned(), "s".to_owned())],
                "{statement}"
            );
        }
    }

    #[test]
    fn functions_subtract_their_parameters() {
        for source in [
            "def show(name, a, b):\n    print(name, b - a)\nshow('x', s, e)\n",
            "took = lambda a, b: b - a\nprint(took(s, e))\n",
            "double took(timespec a, timespec b) {\n  return b.tv_sec - a.tv_sec;\n}\nf(took(s, e));\n",
            "double took(T *a, T *b) { return b->tv_nsec - a->tv_nsec; }\n  took(&s, &e);\n",
            "auto took = [](auto a, auto b) { return (b - a).count(); };\nf(took(s, e));\n",
            "#define TOOK(a, b) ((b) - (a))\nf(TOOK(s, e));\n",
        ] {
            let mut found = of(source).differences;
            found.dedup();
            assert_eq!(found, [("e".to_owned(), "s".to_owned())], "{source}");
        }
        assert_eq!(
            of("def f(a, b):\n    return a * b\nf(s, e)\n").differences,
            []
        );
    }

    #[test]
    fn other_functions_get_variables_together() {
        let together = of("timersub(&t2, &t1, &d);\nprint(x)\nif (a) b();\n").together;
        assert_eq!(together, [["t2", "t1", "d"]]);
    }

    #[test]
    fn anything_else_yields_nothing() {
        for source in ["", "def", "def f(", "f(((", "#define", "f(,)", "é(é)"] {
            let found = of(source);
            assert!(found.parameters.is_empty(), "{source}");
            assert!(
                found.differences.is_empty() && found.together.is_empty(),
                "{source}"
            );
        }
    }
}
