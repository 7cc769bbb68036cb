//! The text of statements in Python and C++: patterns of clock readings and differences, names,
//! and blocks.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex_lite::{Captures, Regex};

use super::body::without_strings;

/// A variable or a field of one: `start`, `self.start`, `timer->begin`.
const NAME: &str = r"[A-Za-z_]\w*(?:(?:\.|->)[A-Za-z_]\w*|\[[^\[\]]*\])*";

/// `start = …`, `auto start = …`, `start: float = …`.
pub(super) static ASSIGNED: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^\s*(?:(?:[\w<>,*& ]|::)+[ *&])?(NAME)\s*(?::[^=]+)?=([^=].*)$"));
/// `start, count = time.time(), 0`.
pub(super) static UNPACKED: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^\s*\(?(NAME(?:\s*,\s*NAME)+)\)?\s*=([^=].*)$"));
/// `(start := time.time())`.
pub(super) static NAMED: LazyLock<Regex> = LazyLock::new(|| expression(r"(NAME)\s*:="));
/// `clock_gettime(CLOCK_MONOTONIC, &start)`, `gettimeofday(&start, NULL)`.
pub(super) static FILLED: LazyLock<Regex> =
    LazyLock::new(|| expression(r"(?:clock_gettime|gettimeofday)\s*\(.*&\s*(NAME)"));
/// `time.time() - start`, `time.time() * 1000 - start`.
pub(super) static READING_DIFFERENCE: LazyLock<Regex> =
    LazyLock::new(|| expression(r"\)\s*(?:[*/]\s*[\w.]+\s*)?-\s*(NAME)(?:\s*\(|\b)?"));
/// `end - start`, including fields of C structs.
pub(super) static DIFFERENCE: LazyLock<Regex> =
    LazyLock::new(|| expression(r"(NAME)\s*-\s*(NAME)"));
/// `SECONDS(end) - SECONDS(start)`, `(b) - (a)`.
static WRAPPED_DIFFERENCE: LazyLock<Regex> =
    LazyLock::new(|| expression(r"\(\s*&?\s*(NAME)\s*\)\s*-\s*\w*\(\s*&?\s*(NAME)\s*\)"));
/// `last = now`.
pub(super) static COPIED: LazyLock<Regex> = LazyLock::new(|| {
    expression(r"^\s*(?:(?:[\w<>,*& ]|::)+[ *&])?(NAME)\s*=\s*(NAME)\s*;?\s*(?:#.*|//.*)?$")
});
/// `times.append(time.time())`, `events.append((start, time.time()))`.
pub(super) static COLLECTED: LazyLock<Regex> =
    LazyLock::new(|| expression(r"(NAME)\.(?:append|push_back|emplace_back)\s*\((.*)$"));
/// `report(start, time.time())`.
pub(super) static PASSED: LazyLock<Regex> = LazyLock::new(|| expression(r"^\s*(NAME)\s*\((.*)$"));
/// `for start, end in zip(starts, ends)`.
pub(super) static ZIPPED: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"\b([A-Za-z_]\w*)\s*,\s*([A-Za-z_]\w*)\s+in\s+zip\s*\(\s*(NAME)\s*,\s*(NAME)\s*[,)]",
    )
});
/// `return time.time()`, `now = lambda: time.time()`.
pub(super) static RETURNED: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^\s*(?:return\b|\w+\s*=\s*lambda\b[^:]*:)"));
/// `"start": time.time()` in a dictionary.
pub(super) static KEYED: LazyLock<Regex> =
    LazyLock::new(|| expression(r#"["']([A-Za-z_]\w*)["']\s*:\s*[\w.]+\(\)"#));
/// Python statements that may be followed by another one on their line, after a colon.
static HEADER: LazyLock<Regex> = LazyLock::new(|| {
    expression(r"^\s*(?:async\s+)?(?:def|class|if|elif|else|for|while|with|try|finally)\b")
});
/// The first line of a Python function.
static FUNCTION: LazyLock<Regex> = LazyLock::new(|| expression(r"^\s*(?:async\s+)?def\b"));
/// The first line of a C++ function.
static CPP_FUNCTION: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^\s*[\w:<>,*&~\[\] ]+\(.*\)[\w\s]*\{?"));
/// Statements that look like the first line of a C++ function.
static CONTROL: LazyLock<Regex> = LazyLock::new(|| {
    expression(r"^\s*\}?\s*(?:if|else|elif|switch|with|try|except|catch|finally|case|match)\b")
});
/// `while`, `if`, and the end of a `do` loop.
static CONDITION: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^\s*\}?\s*(?:else\s+)?(?:while|if|elif)\b"));
static LOOP: LazyLock<Regex> = LazyLock::new(|| expression(r"^\s*(?:async\s+)?(?:for|while|do)\b"));
/// `std::vector<time_point> times`, without a value.
pub(super) static VECTOR: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^\s*[\w:]+<.*>\s+(NAME)\s*$"));
/// `Timer() : begin(steady_clock::now()) {}`, `time_point begin(steady_clock::now())`.
pub(super) static INITIALIZED: LazyLock<Regex> =
    LazyLock::new(|| expression(r"[:,\s](NAME)\s*[({]\s*[\w:.]+\(\)\s*[)}]"));
/// A C++ class without an explicit constructor: the compiler names its first line.
pub(super) static CLASS: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^\s*(?:template\s*<.*>\s*)?(?:class|struct)\s+\w+[^;()]*\{"));
/// `t += time.time()`, after `t = -time.time()`.
pub(super) static ADDED: LazyLock<Regex> = LazyLock::new(|| expression(r"^\s*(NAME)\s*\+="));
/// `times["start"]`, `times[i]`.
static INDEXED: LazyLock<Regex> = LazyLock::new(|| expression(r"\b([A-Za-z_]\w*)\[([^\[\]\n]*)\]"));
static ANY_NAME: LazyLock<Regex> = LazyLock::new(|| expression(r"(NAME)"));

/// A regular expression in which `NAME` stands for a variable or field.
pub(super) fn expression(pattern: &str) -> Regex {
    // The patterns are constants, and a test compiles all of them.
    #[expect(clippy::unwrap_used, reason = "a constant")]
    Regex::new(&pattern.replace("NAME", NAME)).unwrap()
}

/// Returns true for a condition on the time that has passed, such as the deadline of a loop:
/// `while time.time() - start < 5:`.
pub(super) fn is_deadline(text: &str) -> bool {
    let compared = |names: Captures| {
        let rest = names.get(0).and_then(|found| text.get(found.end()..));
        let rest = rest.unwrap_or_default().trim_start_matches([' ', ')']);
        // `<<` writes to a stream.
        ["<", ">"].iter().any(|sign| rest.starts_with(sign))
            && !["<<", ">>"].iter().any(|sign| rest.starts_with(sign))
    };
    CONDITION.is_match(text) && READING_DIFFERENCE.captures_iter(text).all(compared)
}

/// The differences of two variables in a text: the later and the earlier one.
pub(super) fn differences(text: &str) -> Vec<(String, String)> {
    let all = DIFFERENCE
        .captures_iter(text)
        .chain(WRAPPED_DIFFERENCE.captures_iter(text));
    all.map(|names| (variable(&names, 1), variable(&names, 2)))
        .collect()
}

/// Joins statements that span several lines (open brackets) into their first line; the other
/// lines become empty.
pub(super) fn joined<'a>(texts: &[&'a str], slashes: bool) -> Vec<Cow<'a, str>> {
    /// A bracket is not open for more lines.
    const MAX_OPEN_LINES: usize = 16;
    let mut whole: Vec<Cow<str>> = texts.iter().map(|text| Cow::Borrowed(*text)).collect();
    let mut at = 0;
    while at < texts.len() {
        let mut depth = open(texts[at], slashes);
        let mut end = at + 1;
        while depth.is_some_and(|depth| depth > 0) && end < texts.len().min(at + MAX_OPEN_LINES) {
            // The last line may end a statement of C.
            let text = texts[end].trim_end().trim_end_matches(';');
            depth = depth.zip(open(text, slashes)).map(|(all, one)| all + one);
            end += 1;
        }
        if depth == Some(0) && end > at + 1 {
            let rest = texts[at + 1..end].iter().map(|text| text.trim());
            let parts: Vec<&str> = [texts[at]].into_iter().chain(rest).collect();
            whole[at] = Cow::Owned(parts.join(" "));
            whole[at + 1..end].fill(Cow::Borrowed(""));
            at = end;
        } else {
            at += 1;
        }
    }
    whole
}

/// The number of brackets that a line leaves open; none if it contains a block, or more than one
/// statement.
fn open(text: &str, slashes: bool) -> Option<i32> {
    if slashes && text.trim_start().starts_with('#') {
        return None;
    }
    let mut depth = 0;
    for c in without_strings(text, slashes).chars() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ';' | '{' | '}' => return None,
            _ => {}
        }
    }
    Some(depth)
}

/// The statement that a line belongs to.
pub(super) fn statement_at<'a>(whole: &'a [Cow<str>], line: u32) -> &'a str {
    let mut before = whole.iter().take(line as usize).rev();
    before.find(|text| !text.is_empty()).map_or("", |text| text)
}

/// Writes `times["start"]` as `times.start`, if all keys of `times` are constants: then they
/// are known, as the fields of an object are.
pub(super) fn with_fields(source: &str) -> Cow<'_, str> {
    let key = |found: &Captures| {
        let index = found.get(2).map_or("", |index| index.as_str()).trim();
        let inner = |quote| index.strip_prefix(quote)?.strip_suffix(quote);
        let key = inner('"').or_else(|| inner('\''))?;
        let is_name = |(at, c): (usize, char)| {
            c == '_' || c.is_alphanumeric() && (at, c.is_numeric()) != (0, true)
        };
        (!key.is_empty() && key.chars().enumerate().all(is_name)).then(|| key.to_owned())
    };
    let name = |found: &Captures| found.get(1).map_or("", |name| name.as_str()).to_owned();
    let computed: BTreeSet<String> = (INDEXED.captures_iter(source))
        .filter(|found| key(found).is_none())
        .map(|found| name(&found))
        .collect();
    INDEXED.replace_all(source, |found: &Captures| match key(found) {
        Some(key) if !computed.contains(&name(found)) => format!("{}.{key}", name(found)),
        _ => found.get(0).map_or("", |all| all.as_str()).to_owned(),
    })
}

/// The statements of a line.
pub(super) fn statements(text: &str) -> Vec<&str> {
    // In C and C++, braces and semicolons both separate statements.
    let braces = text.contains(';');
    let mut statements = Vec::new();
    let mut quote = None;
    let mut depth = 0;
    let mut begin = 0;
    let mut in_header = HEADER.is_match(text);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) => {
                if c == open {
                    quote = None;
                }
                continue;
            }
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            _ => {}
        }
        let separates = match c {
            ';' => true,
            '{' | '}' => braces,
            ':' => in_header && !text[at..].starts_with(":="),
            _ => false,
        };
        if separates && depth <= 0 {
            in_header &= c != ':';
            statements.push(&text[begin..at]);
            begin = at + c.len_utf8();
        }
    }
    statements.push(&text[begin..]);
    statements.retain(|statement| !statement.trim().is_empty());
    statements
}

/// Returns true if one of several statements on a line may read a clock.
pub(super) fn may_read(statement: &str) -> bool {
    statement.contains("()") || FILLED.is_match(statement)
}

/// Splits at commas outside of brackets.
pub(super) fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let split = text.split(|c: char| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    split.map(str::trim).collect()
}

/// A captured name in the form used for variables.
pub(super) fn variable(names: &Captures, at: usize) -> String {
    plain(names.get(at).map_or("", |found| found.as_str()))
}

/// A name in the form used for variables.
pub(super) fn variable_of(name: &str) -> String {
    plain(name)
}

/// A name without the time field of a C struct, and without indices, since the element is
/// unknown.
pub(super) fn plain(name: &str) -> String {
    let ends = ["tv_sec", "tv_nsec", "tv_usec"];
    let field = ends.iter().find_map(|end| name.strip_suffix(end));
    let object = field.and_then(|name| name.strip_suffix('.').or(name.strip_suffix("->")));
    // The element that a stack of readings returns.
    let name = object.or(name.strip_suffix(".pop")).unwrap_or(name);
    let mut plain = String::new();
    let mut depth = 0;
    for c in name.chars() {
        depth -= i32::from(c == ']');
        if depth == 0 {
            plain.push(c);
        }
        depth += i32::from(c == '[');
    }
    plain
}

pub(super) fn indentation(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// The blocks around a line.
pub(super) struct Blocks {
    /// The line of its function; 0 outside of all functions.
    pub function: u32,
    /// The lines of the loops around it in that function, the innermost first.
    pub loops: Vec<u32>,
}

/// Finds the blocks around a line by indentation.
pub(super) fn blocks(texts: &[&str], line: u32) -> Blocks {
    let mut loops = Vec::new();
    let mut inner = usize::MAX;
    for at in (1..=line).rev() {
        let text = texts.get(at as usize - 1).copied().unwrap_or_default();
        if text.trim().is_empty() || indentation(text) >= inner {
            continue;
        }
        inner = indentation(text);
        match text.trim() {
            // The line before begins the block.
            "{" => inner += 1,
            _ if LOOP.is_match(text) => loops.push(at),
            _ if FUNCTION.is_match(text) || CPP_FUNCTION.is_match(text) => {
                let is_control = CONTROL.is_match(text);
                if !is_control {
                    return Blocks {
                        function: at,
                        loops,
                    };
                }
            }
            _ => {}
        }
    }
    Blocks { function: 0, loops }
}

/// Returns true if no function begins or ends between two lines.
pub(super) fn is_in_same_function(texts: &[&str], from: u32, to: u32) -> bool {
    let text = |line: u32| texts.get(line as usize - 1).copied().unwrap_or_default();
    let inner = indentation(text(from)).min(indentation(text(to)));
    let ends = |text: &str| {
        let is_outer = indentation(text) < inner;
        is_outer && (text.trim_start().starts_with('}') || FUNCTION.is_match(text))
    };
    !(from + 1..to).any(|line| ends(text(line)))
}

/// Returns true if a statement uses a variable, or a field of it, and not in a difference.
pub(super) fn passes_on(statement: &str, variable: &str) -> bool {
    let is_it = |names: &Captures, at| self::variable(names, at) == variable;
    ANY_NAME
        .captures_iter(statement)
        .any(|names| is_it(&names, 1))
        && !(DIFFERENCE.captures_iter(statement)).any(|names| is_it(&names, 1) || is_it(&names, 2))
}

/// The names among the arguments.
pub(super) fn arguments(names: &Captures) -> Vec<String> {
    let text = names.get(2).map_or("", |arguments| arguments.as_str());
    let names = ANY_NAME.captures_iter(text);
    names.map(|names| variable(&names, 1)).collect()
}
