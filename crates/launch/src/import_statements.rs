//! The import statements in Python source, and whether a failing one is handled.
//!
//! Written by hand: only logical lines, strings and indentation matter here, in files of any
//! version of Python. rustpython-parser is large and no longer maintained, and ruff's parser is
//! not published as a crate.

/// One import statement.
#[derive(Debug, PartialEq, Eq)]
pub struct ImportStatement {
    /// Its line, from 1.
    pub line: usize,
    /// True if it runs when its module is loaded. One in a string runs later, if at all.
    pub runs_on_load: bool,
    /// The modules that it may load, as they are written: relative names begin with a period.
    /// Names that are imported from a package are included, since they may be modules of it.
    pub modules: Vec<String>,
}

/// All import statements of a text, including those in functions and in strings.
pub fn import_statements(source: &str) -> Vec<ImportStatement> {
    let mut found = Vec::new();
    collect(source, 1, true, &mut found);
    found
}

/// Adds the statements of a text that begins on line `first`.
fn collect(source: &str, first: usize, runs_on_load: bool, found: &mut Vec<ImportStatement>) {
    // Most strings, and many files, have no import.
    if !source.contains("import") {
        return;
    }
    // The indentation of the innermost block that does not run when the module is loaded.
    let mut skipped: Option<usize> = None;
    for line in logical_lines(source, first) {
        for (number, string) in &line.strings {
            collect(string, *number, false, found);
        }
        let code = line.code.trim();
        if code.is_empty() {
            continue;
        }
        if skipped.is_none_or(|block| line.indent <= block) {
            skipped = runs_later(code).then_some(line.indent);
        }
        for statement in code.split([';', ':']) {
            if let Some(modules) = modules_of(statement.trim()) {
                found.push(ImportStatement {
                    line: line.number,
                    runs_on_load: runs_on_load && skipped.is_none(),
                    modules,
                });
            }
        }
    }
}

/// One or more lines that form a statement, or several.
#[derive(Default)]
struct LogicalLine<'a> {
    /// The number of its first line.
    number: usize,
    indent: usize,
    /// The text without comments, and with empty strings.
    code: String,
    /// The content of its strings, with the number of the line where each begins.
    strings: Vec<(usize, &'a str)>,
}

/// Joins the lines that continue in brackets, in strings or after a backslash.
fn logical_lines(source: &str, first: usize) -> Vec<LogicalLine<'_>> {
    let mut lines = Vec::new();
    let mut number = first;
    let mut depth = 0_usize;
    let begin = |number: usize, at: usize| LogicalLine {
        number,
        indent: indent_of(source[at..].lines().next().unwrap_or("")),
        ..LogicalLine::default()
    };
    let mut line = begin(number, 0);
    let mut at = 0;
    while let Some(next) = source[at..].chars().next() {
        let rest = &source[at..];
        at += next.len_utf8();
        match next {
            '#' => at += rest.find('\n').unwrap_or(rest.len()) - 1,
            '\\' => {
                // A line break follows in valid code.
                let skipped = rest
                    .find('\n')
                    .filter(|end| rest[1..*end].trim().is_empty());
                if let Some(end) = skipped {
                    at += end;
                    number += 1;
                }
                line.code.push(' ');
            }
            '\n' => {
                number += 1;
                if depth == 0 {
                    lines.push(std::mem::replace(&mut line, begin(number, at)));
                } else {
                    line.code.push(' ');
                }
            }
            '"' | '\'' => {
                let (content, length) = string_at(rest);
                line.code.push_str("''");
                line.strings.push((number, content));
                number += content.matches('\n').count();
                at += length - 1;
            }
            _ => {
                match next {
                    '(' | '[' | '{' => depth += 1,
                    ')' | ']' | '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                line.code.push(next);
            }
        }
    }
    lines.push(line);
    lines
}

/// The content of the string that a text begins with, and its length with the quotes.
fn string_at(text: &str) -> (&str, usize) {
    let quote = &text[..1];
    let triple = quote.repeat(3);
    let quotes = if text.starts_with(&triple) {
        &triple
    } else {
        quote
    };
    let begin = quotes.len();
    let mut escaped = false;
    for (at, next) in text[begin..].char_indices().map(|(at, c)| (at + begin, c)) {
        let ends = !escaped && text[at..].starts_with(quotes);
        if ends {
            return (&text[begin..at], at + quotes.len());
        }
        // A string that is not closed ends with its line.
        if next == '\n' && !escaped && quotes.len() == 1 {
            return (&text[begin..at], at);
        }
        escaped = next == '\\' && !escaped;
    }
    (&text[begin..], text.len())
}

/// Returns whether a block does not run while its module is loaded.
fn runs_later(statement: &str) -> bool {
    let is_condition = statement.starts_with("if ");
    statement.starts_with("def ")
        || statement.starts_with("async def ")
        || (is_condition && statement.contains("TYPE_CHECKING") && !statement.contains("not "))
        || (is_condition && statement.contains("__name__"))
}

/// The modules of an import statement; none of another statement.
fn modules_of(statement: &str) -> Option<Vec<String>> {
    let names = |text: &str| -> Vec<String> {
        let parts = text.split([',', '(', ')']);
        let first = parts.filter_map(|part| part.split_whitespace().next());
        first
            .filter(|&name| name != "*")
            .map(str::to_owned)
            .collect()
    };
    let (word, rest) = statement.split_at(statement.find([' ', '\t', '.'])?);
    match word {
        "import" => Some(names(rest)),
        "from" => {
            let (from, imported) = rest.match_indices("import").find_map(|(at, word)| {
                let (from, imported) = (&rest[..at], &rest[at + word.len()..]);
                let is_word =
                    from.ends_with([' ', '\t', '.']) && imported.starts_with([' ', '\t', '(', '*']);
                is_word.then_some((from, imported))
            })?;
            let from: String = from.split_whitespace().collect();
            let dot = if from.ends_with('.') { "" } else { "." };
            let names = names(imported).into_iter();
            let mut modules: Vec<String> = names.map(|name| format!("{from}{dot}{name}")).collect();
            modules.push(from);
            Some(modules)
        }
        _ => None,
    }
}

/// Returns whether the statement on this line may fail, or only runs if the package is
/// installed: it is in a `try` that catches the error, or below a condition that checks.
pub(crate) fn is_optional(source: &str, line: usize) -> bool {
    let lines: Vec<&str> = source.lines().collect();
    let Some(statement) = line.checked_sub(1).and_then(|at| lines.get(at)) else {
        return false;
    };
    // The statement may be on the line of its block.
    let mut indent = indent_of(statement) + 1;
    for (at, text) in lines[..line].iter().enumerate().rev() {
        let head = text.trim();
        if head.is_empty() || head.starts_with('#') || indent_of(text) >= indent {
            continue;
        }
        indent = indent_of(text);
        if head.starts_with("try:") && catches(&lines[at + 1..], indent) {
            return true;
        }
        if (head.starts_with("if ") || head.starts_with("elif ")) && checks(head) {
            return true;
        }
        // Blocks around a function do not apply to its calls.
        if head.starts_with("def ") || head.starts_with("async def ") {
            return false;
        }
    }
    false
}

/// Returns whether a condition checks that a package is installed: `find_spec(…)`,
/// `is_torch_available()`, `have_pandas`, `HAS_NUMBA`, `PANDAS_INSTALLED`.
fn checks(condition: &str) -> bool {
    let condition = condition.to_lowercase();
    let words = ["available", "find_spec", "installed", "have_", "has_"];
    words.iter().any(|word| condition.contains(word))
}

/// Returns whether the `try` before these lines, with this indentation, catches a failed
/// import and continues without it.
fn catches(lines: &[&str], indent: usize) -> bool {
    for (at, text) in lines.iter().enumerate() {
        let head = text.trim();
        if head.is_empty() || head.starts_with('#') || indent_of(text) > indent {
            continue;
        }
        if indent_of(text) < indent || !head.starts_with("except") {
            return false;
        }
        let caught = ["ImportError", "ModuleNotFoundError", "Exception"];
        if head.starts_with("except:") || caught.iter().any(|name| head.contains(name)) {
            return continues(&lines[at + 1..], indent);
        }
    }
    false
}

/// Returns whether the handler on these lines continues. One that always raises an error,
/// often with a better message, or that exits, needs the package.
fn continues(lines: &[&str], indent: usize) -> bool {
    let mut body = lines
        .iter()
        .filter(|text| !text.trim().is_empty())
        .take_while(|text| indent_of(text) > indent)
        .peekable();
    let level = body.peek().map_or(0, |text| indent_of(text));
    !body.any(|text| {
        let ends = ["raise", "sys.exit(", "exit("];
        indent_of(text) == level && ends.iter().any(|word| text.trim().starts_with(word))
    })
}

fn indent_of(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(source: &str) -> Vec<String> {
        let statements = import_statements(source).into_iter();
        statements.flat_map(|statement| statement.modules).collect()
    }

    #[test]
    fn all_forms_of_imports_are_found() {
        assert_eq!(modules("import a, b.c as d # x\n"), ["a", "b.c"]);
        assert_eq!(modules("if x: import a; import b"), ["a", "b"]);
        assert_eq!(
            modules("from importlib import c\n"),
            ["importlib.c", "importlib"]
        );
        assert_eq!(
            modules("from a.b import (\n    c,  # (one\n    d as e,\n)\n"),
            ["a.b.c", "a.b.d", "a.b"]
        );
        assert_eq!(modules("    from . import a\r\n"), [".a", "."]);
        assert_eq!(modules("from ..a import \\\n    b\n"), ["..a.b", "..a"]);
        assert_eq!(
            modules("from .a import(b)\nfrom.c import*"),
            [".a.b", ".a", ".c"]
        );
        assert!(modules("value = important(from_here)\nimport_module('x')\n").is_empty());
        assert!(modules("from here\nimport").is_empty());
    }

    #[test]
    fn statements_that_run_on_loading_are_known() {
        let source = "\
'''import quoted
import quoted_too'''
import a.b as c, d  # a 'comment
from e import (f,  # one
    g)
from . import h
from ..i import j
text = \"x: import escaped \\\" ; import in_text\"
try:
    import k
except ImportError:
    pass
if TYPE_CHECKING:
    import typed
def later(
    parameter,
) -> int:
    '''
import within
    '''
    import lazily
import last
";
        let found = import_statements(source);
        let (on_load, later): (Vec<_>, Vec<_>) = found.iter().partition(|it| it.runs_on_load);
        let names = |of: &[&ImportStatement]| -> Vec<String> {
            of.iter().flat_map(|it| it.modules.clone()).collect()
        };
        assert_eq!(
            names(&on_load),
            [
                "a.b", "d", "e.f", "e.g", "e", ".h", ".", "..i.j", "..i", "k", "last"
            ]
        );
        assert_eq!(
            names(&later),
            [
                "quoted",
                "quoted_too",
                "in_text",
                "escaped",
                "typed",
                "within",
                "lazily"
            ]
        );
        assert_eq!(found.last().map(|it| it.line), Some(22));
        let within = later.iter().find(|it| it.modules == ["within"]);
        assert_eq!(within.map(|it| it.line), Some(19));
    }

    #[test]
    fn guarded_imports_are_optional() {
        let source = "\
import needed
try:
    import caught
except ImportError:
    caught = None
if is_torchvision_available():
    from torchvision import transforms
if have_pandas:
    import conditional
def later():
    import lazily
    try:
        import within

        x = 1
    except (ValueError, ModuleNotFoundError) as why:
        pass
try:
    import strict
except ValueError:
    pass
try:
    import required
except ImportError:
    message = \"x\"

    raise ImportError(message)
try:
    import usually
except ImportError:
    if wanted:
        raise
    usually = None
";
        let lines: Vec<&str> = source.lines().collect();
        let optional = |word: &str| {
            let at = lines
                .iter()
                .position(|line| line.contains(word))
                .expect("a line");
            is_optional(source, at + 1)
        };
        for word in [
            "import caught",
            "from torchvision",
            "import conditional",
            "import within",
            "import usually",
        ] {
            assert!(optional(word), "{word}");
        }
        for word in [
            "import needed",
            "import lazily",
            "import strict",
            "import required",
        ] {
            assert!(!optional(word), "{word}");
        }
        assert!(!is_optional(source, 0) && !is_optional(source, 99));
        let one_line = "try: import a\nexcept ImportError: a = None\nimport b\n";
        assert!(is_optional(one_line, 1) && !is_optional(one_line, 3));
    }
}
