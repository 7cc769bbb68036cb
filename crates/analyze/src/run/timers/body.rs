//! The normalized source text of a region, for comparison with other regions.
//!
//! A program that does something twice without a loop repeats its text: `first = model(x)`,
//! later `second = model(x)`. Texts are compared without comments, white space, string
//! contents, the names and types of assigned variables, and digits at the end of names.
//! Variables that the program makes in the same way are the same: `a = load(1)`, `b = load(1)`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use regex_lite::{Captures, Regex};

use super::statements::expression;

/// Extensions of files in which two slashes begin a comment.
const WITH_SLASHES: [&str; 9] = ["c", "cc", "cpp", "cu", "cuh", "cxx", "h", "hh", "hpp"];

/// Names that a statement assigns to, after their type in C and C++: `auto`, `char*`,
/// `std::vector<float>`. In Python, no word precedes an assigned name.
static TARGETS: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"(?m)(^|[;{])([ \t]*)((?:[A-Za-z_][\w:]*(?:<[^=;(){}\n]*>)?(?:[ \t]*[*&]+[ \t]*|[ \t]+))*)(NAME(?:\s*,\s*NAME)*)(\s*(?::[^=\n]+)?=[^=])",
    )
});
/// A variable of C++ that a statement declares: `Timer timer;`, `Timer timer("first");`.
static DECLARED: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"(?m)(?:^|[;{}])[ \t]*(?:const[ \t]+)?([A-Za-z_][\w:]*)(?:<[^=;(){}\n]*>)?(?:[ \t]*[*&]+[ \t]*|[ \t]+)([A-Za-z_]\w*)[ \t]*(?:[({][^;\n]*[)}])?[ \t]*;",
    )
});
/// `times.append(time())`, `times.push_back(now())`.
static APPENDED: LazyLock<Regex> = LazyLock::new(|| {
    expression(r"(?m)(^|;)([ \t]*)NAME\.(?:append|push_back|emplace_back)[ \t]*\(([\w.:]+\(\))\)")
});
/// `times = [time()]`.
static LISTED: LazyLock<Regex> = LazyLock::new(|| expression(r"=[ \t]*\[([\w.:]+\(\))\]"));
/// Words of C++ and Python that are not the type of a variable.
const NOT_TYPES: [&str; 22] = [
    "and",
    "assert",
    "await",
    "case",
    "co_return",
    "co_yield",
    "del",
    "delete",
    "else",
    "from",
    "global",
    "goto",
    "import",
    "lambda",
    "new",
    "nonlocal",
    "not",
    "or",
    "raise",
    "return",
    "throw",
    "yield",
];
static WORD: LazyLock<Regex> = LazyLock::new(|| expression(r"[A-Za-z_]\w*"));

/// The normalized text between two lines (counted from 1). It includes both lines, and the
/// block or brackets that the last one opens.
pub fn body(file: &str, source: &str, from: u32, to: u32) -> Option<String> {
    let lines: Vec<&str> = source.lines().collect();
    let (from, to) = (
        (from as usize).checked_sub(1)?,
        (to as usize).checked_sub(1)?,
    );
    if from > to || to >= lines.len() {
        return None;
    }
    let slashes = has_slashes(file);
    let mut end = to;
    let text = loop {
        let text = without_strings(&lines[from..=end].join("\n"), slashes);
        let open: i32 = (text.chars())
            .map(|c| i32::from("([{".contains(c)) - i32::from(")]}".contains(c)))
            .sum();
        // In C, a brace may close a block opened before.
        if open <= 0 || end + 1 == lines.len() || end - to == MAX_OPEN_LINES {
            break text;
        }
        end += 1;
    };
    let block = match from == to && text.trim_end().ends_with(':') {
        true => block(&lines[end + 1..], indentation(lines[from])),
        false => 0,
    };
    let text = match block {
        0 => text,
        count => without_strings(&lines[from..=end + count].join("\n"), slashes),
    };
    Some(normalized(&with_values(&text, source, slashes)))
}

/// Returns true for the source of a language in which two slashes begin a comment.
pub(super) fn has_slashes(file: &str) -> bool {
    let extension = Path::new(file).extension().and_then(|name| name.to_str());
    extension.is_some_and(|name| WITH_SLASHES.contains(&name))
}

/// A variable that a line makes with a call: `a = load(1)`.
static MADE: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"(?m)^[ \t]*(?:[A-Za-z_][\w:]*(?:<[^=;(){}\n]*>)?(?:[ \t]*[*&]+[ \t]*|[ \t]+))*([A-Za-z_]\w*)[ \t]*=[ \t]*([^=\n][^\n]*\))[ \t]*;?[ \t]*$",
    )
});

/// Replaces variables that were assigned only once, with the same text as another one, by
/// that text.
fn with_values(text: &str, source: &str, slashes: bool) -> String {
    /// Longer sources are not searched.
    const MAX_SOURCE: usize = 256 << 10;
    if source.len() > MAX_SOURCE {
        return text.to_owned();
    }
    let names = |text: &str| -> Vec<String> {
        let targets = TARGETS.captures_iter(text).filter_map(|found| {
            let names = found.get(4)?.as_str().split(',');
            Some(names.map(|name| name.trim().to_owned()).collect::<Vec<_>>())
        });
        targets.flatten().collect()
    };
    let plain = without_strings(source, slashes);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in names(&plain) {
        *counts.entry(name).or_default() += 1;
    }
    let assigned_here = names(text);
    let is_input = |name: &str| {
        counts.get(name) == Some(&1) && !assigned_here.iter().any(|assigned| assigned == name)
    };
    let values: BTreeMap<&str, &str> = (MADE.captures_iter(&plain))
        .filter_map(|found| Some((found.get(1)?.as_str(), found.get(2)?.as_str())))
        .filter(|(name, _)| counts.get(*name) == Some(&1))
        .collect();
    let is_shared = |value: &str| values.values().filter(|other| **other == value).count() > 1;
    WORD.replace_all(text, |found: &Captures| {
        let (name, at) = found
            .get(0)
            .map_or(("", 0), |name| (name.as_str(), name.start()));
        let is_attribute = text[..at].ends_with(['.', '>']);
        let value = values.get(name).filter(|_| is_input(name) && !is_attribute);
        match value.filter(|value| is_shared(value)) {
            Some(value) => format!("({value})"),
            None => name.to_owned(),
        }
    })
    .into_owned()
}

/// The maximum number of lines for which brackets may stay open.
const MAX_OPEN_LINES: usize = 100;

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The number of lines in the block of a line with this indentation.
fn block(lines: &[&str], indentation_of_head: usize) -> usize {
    let inside = |line: &&&str| line.trim().is_empty() || indentation(line) > indentation_of_head;
    lines.iter().take_while(inside).count()
}

/// Removes comments and the contents of strings.
pub(super) fn without_strings(text: &str, slashes: bool) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let comment = match slashes {
            true => rest.starts_with("//"),
            false => c == '#',
        };
        if comment {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            continue;
        }
        let quote = ["\"\"\"", "'''", "\"", "'"];
        if let Some(quote) = quote.into_iter().find(|quote| rest.starts_with(quote)) {
            kept.push('"');
            rest = after_string(&rest[quote.len()..], quote);
            continue;
        }
        kept.push(c);
        rest = &rest[c.len_utf8()..];
    }
    kept
}

/// Returns the text after a string literal that ends with this quote.
fn after_string<'a>(text: &'a str, quote: &str) -> &'a str {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' if quote.len() == 1 => return &text[at..],
            _ if text[at..].starts_with(quote) => return &text[at + quote.len()..],
            _ => {}
        }
    }
    ""
}

pub(super) fn normalized(text: &str) -> String {
    // A list holds a reading as a variable does.
    let text = APPENDED.replace_all(text, "${1}${2}_ = $3");
    let text = &*LISTED.replace_all(&text, "= $1");
    let declared = (DECLARED.captures_iter(text))
        .filter(|found| (found.get(1)).is_none_or(|first| !NOT_TYPES.contains(&first.as_str())))
        .filter_map(|found| found.get(2));
    let assigned: BTreeSet<&str> = (TARGETS.captures_iter(text))
        .filter_map(|found| found.get(4))
        .chain(declared)
        .flat_map(|names| names.as_str().split(','))
        .map(str::trim)
        .collect();
    // A variable that is assigned again has no type.
    let untyped = TARGETS.replace_all(text, "$1$2$4$5");
    let renamed = WORD.replace_all(&untyped, |found: &Captures| {
        let name = found.get(0).map_or("", |name| name.as_str());
        match assigned.contains(name) {
            true => "_".to_owned(),
            false => name
                .trim_end_matches(|c: char| c.is_ascii_digit())
                .to_owned(),
        }
    });
    renamed.chars().filter(|c| !c.is_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(source: &str, one: (u32, u32), other: (u32, u32)) -> bool {
        let of = |lines: (u32, u32)| body("a.py", source, lines.0, lines.1).unwrap();
        of(one) == of(other)
    }

    #[test]
    fn names_of_results_and_strings_do_not_matter() {
        let source = "start = time()\nfirst = randn(1024)  # cold\nprint(f'first: {time() - start}')\n\
                      start = time()\nsecond = randn(1024)\nprint(f\"second: {time() - start}\")\n";
        assert!(alike(source, (1, 3), (4, 6)));
        let source = "t0 = time()\ny1 = model(x1)\nt1 = time()\n\
                      t2 = time()\ny2 = model(x2)\nt3 = time()\n";
        assert!(alike(source, (1, 3), (4, 6)));
        let source = "a_begin = time()\nf()\nprint(time() - a_begin)\n\
                      b_begin = time()\nf()\nprint(time() - b_begin)\n";
        assert!(alike(source, (1, 3), (4, 6)));
    }

    #[test]
    fn names_of_results_do_not_matter_in_any_statement_of_a_line() {
        let source = "s = time(); first = f(x); print(time() - s)\n\
                      t = time(); second = f(x); print(time() - t)\n\
                      t = time(); second = g(x); print(time() - t)\n";
        assert!(alike(source, (1, 1), (2, 2)));
        assert!(!alike(source, (1, 1), (3, 3)));
    }

    #[test]
    fn other_calls_and_other_numbers_matter() {
        let source = "s = time()\ncopied = x.to(device)\nprint(time() - s)\n\
                      s = time()\nmade = randn(device)\nprint(time() - s)\n";
        assert!(!alike(source, (1, 3), (4, 6)));
        assert!(!alike("load()\npredict()\n", (1, 1), (2, 2)));
        assert!(!alike("step(10)\nstep(1000)\n", (1, 1), (2, 2)));
        assert!(!alike("bench(f)\nbench(g)\n", (1, 1), (2, 2)));
        assert!(alike("step(x)\nstep(x)\n", (1, 1), (2, 2)));
    }

    #[test]
    fn a_block_and_open_brackets_belong_to_their_line() {
        let source = "with Timer('a'):\n    model(x)\n\n    more()\nwith Timer('b'):\n    model(x)\n    more()\nend()\n";
        assert!(alike(source, (1, 1), (5, 5)));
        let source = "with Timer('a'):\n    model(x)\nwith Timer('b'):\n    load(x)\n";
        assert!(!alike(source, (1, 1), (3, 3)));
        let source = "y = step(\n    x,\n    1)\nz = step(x, 1)\ny = step(\n    x)\n";
        assert!(alike(source, (1, 1), (4, 4)));
        assert!(!alike(source, (1, 1), (5, 5)));
    }

    #[test]
    fn comments_are_those_of_the_language() {
        assert_eq!(body("a.py", "x = a // b  # half", 1, 1).unwrap(), "_=a//b");
        assert_eq!(
            body("a.cu", "auto x = f(a); // half", 1, 1).unwrap(),
            "_=f(a);"
        );
        assert_eq!(
            body("a.py", "f('''a\nb''', \"\\\"\")", 1, 1).unwrap(),
            "f(\",\")"
        );
    }

    #[test]
    fn inputs_that_are_made_in_the_same_way_do_not_matter() {
        let source = "a = load(9)\nm = multiply(a)\nb = load(9)  # again\nm = multiply(b)\n";
        assert!(alike(source, (2, 2), (4, 4)));
        let source = "a = load(9)\nm = multiply(a)\nb = load(10)\nm = multiply(b)\n";
        assert!(!alike(source, (2, 2), (4, 4)));
        // One of them is assigned again.
        let source = "a = load(9)\nf(a)\nb = load(9)\nb = g(b)\nf(b)\n";
        assert!(!alike(source, (2, 2), (5, 5)));
        // Attributes with the names of such variables.
        let source = "a = load(9)\nb = load(9)\nx.a(1)\nx.b(1)\n";
        assert!(!alike(source, (3, 3), (4, 4)));
    }

    #[test]
    fn a_list_holds_a_reading_as_a_variable_does() {
        let source = "t = [time()]\nf(x)\nt.append(time())\nf(x)\nt.append(time())\ng(x)\n\
                      t.append(time())\n";
        assert!(alike(source, (1, 3), (3, 5)));
        assert!(!alike(source, (1, 3), (5, 7)));
        assert!(!alike("t.append(f(1))\nt.append(f(2))\n", (1, 1), (2, 2)));
    }

    #[test]
    fn declarations_of_cpp_are_assignments() {
        let alike = |first: &str, second: &str| {
            let of = |text: &str| body("a.cpp", text, 1, text.lines().count() as u32).unwrap();
            of(first) == of(second)
        };
        let again = "t0 = C::now();\ntouch(n);\nt1 = C::now();";
        for declared in [
            "auto t0 = C::now();\ntouch(n);\nauto t1 = C::now();",
            "const auto begin = C::now();\ntouch(n);\nconst auto end = C::now();",
            "std::chrono::time_point<C> t0 = C::now();\ntouch(n);\nC::time_point t1 = C::now();",
            "unsigned long long t0 = C::now();\ntouch(n);\nstruct point *t1 = C::now();",
        ] {
            assert!(alike(declared, again), "{declared}");
        }
        assert!(alike("char* a = touch(n);", "char *b = touch(n);"));
        assert!(alike("torch::Tensor a = f(x);", "torch::Tensor b = f(x);"));
        assert!(alike(
            "std::vector<float> a = f(x);",
            "std::map<int, char> b = f(x);"
        ));
        assert!(alike(
            "Timer one;\nf(x);\nprint(one.elapsed());",
            "Timer two;\nf(x);\nprint(two.elapsed());"
        ));
        assert!(alike("Timer one(\"a\"); f(x);", "Timer two(\"b\"); f(x);"));
        assert!(!alike("Timer one;\nf(x);", "Timer two;\ng(x);"));
        assert!(!alike("char* a = touch(n);", "char* a = other(n);"));
        assert!(!alike("return a;", "return b;"));
        assert!(!alike("throw f(x);", "throw g(x);"));
    }

    #[test]
    fn lines_that_do_not_exist_have_none() {
        for (from, to) in [(0, 1), (2, 1), (1, 9)] {
            assert_eq!(body("a.py", "x\ny\n", from, to), None);
        }
    }
}
