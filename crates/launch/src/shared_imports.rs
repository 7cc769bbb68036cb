//! Modules that an optional import loads, but that would be loaded without it too.
//!
//! The recorder sees only the first import of a module. Later requests are found in the
//! sources: the import statements that run when a module is loaded.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::fs;

use preheat_model::run::trace::{Process, What};

use crate::optional::{installed_as, is_optional};

/// Directories of Python's own modules.
const STANDARD: &str = "/lib/python3.";

/// The requests for modules that would be made without the optional imports.
#[derive(Default)]
pub(crate) struct Others {
    /// Modules that the optional imports load and that other modules import too.
    pub(crate) shared: BTreeSet<String>,
    /// Optional imports that another module cannot do without.
    pub(crate) required: BTreeSet<String>,
}

/// Follows the import statements of all modules outside the optional imports, and of the
/// program's `own` sources.
pub(crate) fn others(process: &Process, optional: &BTreeSet<String>, own: &[String]) -> Others {
    let within = within(process, optional);
    let files = module_files(process);
    let mut found = Others::default();
    let mut visited: HashSet<String> = HashSet::new();
    let mut pending: VecDeque<String> = (process.imports.iter())
        .filter(|import| !import.failed)
        .map(|import| import.name.clone())
        .filter(|name| !within.contains(name.as_str()) && blocked(name, optional).is_none())
        .collect();
    let mut follow = |source: &str, package: &str, pending: &mut VecDeque<String>| {
        for (target, line) in imported(source, package) {
            for part in prefixes(&target) {
                if let Some(blocked) = blocked(part, optional) {
                    if !is_optional(source, line) {
                        found.required.insert(blocked.clone());
                    }
                    break;
                }
                if within.contains(part) && found.shared.insert(part.to_owned()) {
                    pending.push_back(part.to_owned());
                }
            }
        }
    };
    for source in own {
        follow(source, "", &mut pending);
    }
    while let Some(module) = pending.pop_front() {
        let Some(file) = files.get(module.as_str()) else {
            continue;
        };
        if !visited.insert(module.clone()) {
            continue;
        }
        if let Ok(source) = fs::read_to_string(file) {
            let package = match file.ends_with("/__init__.py") {
                true => module.as_str(),
                false => module.rsplit_once('.').map_or("", |(package, _)| package),
            };
            follow(&source, package, &mut pending);
        }
    }
    found
}

/// The modules that were loaded during optional imports, these included.
fn within<'a>(process: &'a Process, optional: &BTreeSet<String>) -> HashSet<&'a str> {
    let mut found = HashSet::new();
    for thread in &process.threads {
        // Spans are in the order of their begin.
        let mut end = 0;
        for span in thread.spans.iter().filter(|span| span.what == What::Import) {
            let Some(import) = process.imports.get(span.detail as usize) else {
                continue;
            };
            if optional.contains(&import.name) {
                end = end.max(span.end);
            }
            if span.begin < end && span.end <= end {
                found.insert(import.name.as_str());
            }
        }
    }
    found
}

/// The optional import that a module is or belongs to.
fn blocked<'a>(module: &str, optional: &'a BTreeSet<String>) -> Option<&'a String> {
    optional.iter().find(|name| {
        let rest = module.strip_prefix(name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// The source files of installed and standard modules, by module.
fn module_files(process: &Process) -> HashMap<String, &str> {
    let files = process.files.iter().filter_map(|file| {
        let path = installed_as(file).or_else(|| {
            let at = file.find(STANDARD)? + STANDARD.len();
            file[at..].split_once('/').map(|(_, rest)| rest)
        })?;
        let path = path.strip_suffix(".py")?;
        let path = path.strip_suffix("/__init__").unwrap_or(path);
        Some((path.replace('/', "."), file.as_str()))
    });
    files.collect()
}

/// `a`, `a.b` and `a.b.c` for `a.b.c`.
fn prefixes(module: &str) -> impl Iterator<Item = &str> {
    let dots = module.match_indices('.').map(|(at, _)| at);
    dots.chain([module.len()]).map(|end| &module[..end])
}

/// The modules that the statements outside functions import, with the line of each. A name
/// that is imported from a package may be a module of it.
fn imported(source: &str, package: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    // The quotes of an open string, and the indentation of an open block to skip.
    let mut quotes: Option<&str> = None;
    let mut skipped: Option<usize> = None;
    let mut lines = source.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let inside = quotes.is_some();
        quotes = open_quotes(line, quotes);
        let statement = line.trim();
        if inside || statement.is_empty() || statement.starts_with('#') {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        // The line that closes a list of parameters is indented like its function.
        if skipped.is_some_and(|block| indent > block || statement.starts_with(')')) {
            continue;
        }
        skipped = runs_later(statement).then_some(indent);
        if !statement.starts_with("import ") && !statement.starts_with("from ") {
            continue;
        }
        let mut statement = without_comment(statement).to_owned();
        while statement.ends_with('\\') || (statement.contains('(') && !statement.contains(')')) {
            let Some((_, next)) = lines.next() else { break };
            statement.truncate(statement.trim_end_matches('\\').len());
            statement.push(' ');
            statement.push_str(without_comment(next));
        }
        let modules = of_statement(&statement, package);
        found.extend(modules.into_iter().map(|module| (module, at + 1)));
    }
    found
}

/// The quotes that are open at the end of a line.
fn open_quotes<'a>(line: &str, mut open: Option<&'a str>) -> Option<&'a str> {
    let mut rest = line;
    loop {
        let next = match open {
            Some(quotes) => rest.find(quotes).map(|at| (at, quotes)),
            None => (["\"\"\"", "'''"].into_iter())
                .filter_map(|quotes| rest.find(quotes).map(|at| (at, quotes)))
                .min(),
        };
        let Some((at, quotes)) = next else {
            return open;
        };
        open = if open.is_some() { None } else { Some(quotes) };
        rest = &rest[at + quotes.len()..];
    }
}

/// Returns whether a block does not run while its module is loaded.
fn runs_later(statement: &str) -> bool {
    let is_condition = statement.starts_with("if ");
    statement.starts_with("def ")
        || statement.starts_with("async def ")
        || (is_condition && statement.contains("TYPE_CHECKING") && !statement.contains("not "))
        || (is_condition && statement.contains("__name__"))
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or(line).trim()
}

/// The modules of one statement, which is a single line.
fn of_statement(statement: &str, package: &str) -> Vec<String> {
    let name = |part: &str| {
        let part = part.trim_matches(|c: char| c.is_whitespace() || "();".contains(c));
        part.split_whitespace().next().unwrap_or("").to_owned()
    };
    if let Some(modules) = statement.strip_prefix("import ") {
        return modules.split(',').map(name).collect();
    }
    let Some((from, names)) =
        (statement.strip_prefix("from ")).and_then(|statement| statement.split_once(" import"))
    else {
        return Vec::new();
    };
    let from = from.trim();
    let relative = from.trim_start_matches('.');
    let base = match from.len() - relative.len() {
        0 => relative.to_owned(),
        level => {
            let mut parts: Vec<&str> = package.split('.').collect();
            parts.truncate(parts.len().saturating_sub(level - 1));
            parts.extend((!relative.is_empty()).then_some(relative));
            parts.join(".")
        }
    };
    let names = names.split(',').map(name).filter(|name| name != "*");
    let mut found: Vec<String> = names.map(|name| format!("{base}.{name}")).collect();
    found.push(base);
    found
}

#[cfg(test)]
mod tests {
    use preheat_model::run::trace::{Import, Span, Thread};

    use super::*;

    #[test]
    fn statements_that_run_on_loading_are_found() {
        let source = "\
'''import quoted
import quoted_too'''
import a.b as c, d  # a comment
from e import (f,  # one
    g)
from . import h
from ..i import j
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
        let found = imported(source, "p.q");
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "a.b", "d", "e.f", "e.g", "e", "p.q.h", "p.q", "p.i.j", "p.i", "k", "last"
            ]
        );
        assert_eq!(found.last(), Some(&("last".to_owned(), 21)));
        assert_eq!(prefixes("a.b.c").collect::<Vec<_>>(), ["a", "a.b", "a.b.c"]);
    }

    /// `library` imports `optional`, which loads `common` and `alone`; `other` imports `common`.
    fn process(directory: &std::path::Path, library: &str) -> Process {
        let packages = directory.join("site-packages");
        fs::create_dir(&packages).expect("it is created");
        let sources = [
            ("library", library),
            ("optional", "import common, alone\n"),
            ("common", "import deeper\n"),
            ("deeper", ""),
            ("alone", ""),
            ("other", "import common\n"),
        ];
        let mut process = Process::default();
        let mut thread = Thread::default();
        let spans = [(0, 90), (10, 60), (20, 40), (25, 30), (45, 50), (70, 80)];
        for (at, ((name, source), (begin, end))) in sources.iter().zip(spans).enumerate() {
            let path = packages.join(format!("{name}.py"));
            fs::write(&path, source).expect("it is written");
            process.files.push(path.to_string_lossy().into_owned());
            process.imports.push(Import {
                name: (*name).to_owned(),
                ..Import::default()
            });
            thread.spans.push(Span {
                begin,
                end,
                what: What::Import,
                detail: at as u32,
                symbol: 0,
                depth: 0,
            });
        }
        process.threads.push(thread);
        process
    }

    #[test]
    fn modules_that_others_import_are_shared() {
        let name = format!("preheat-shared-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir(&directory).expect("it is created");
        let guarded = "try:\n    import optional\nexcept ImportError:\n    pass\nimport other\n";
        let process = process(&directory, guarded);
        let optional = BTreeSet::from(["optional".to_owned()]);
        let found = others(&process, &optional, &[]);
        assert_eq!(Vec::from_iter(found.shared), ["common", "deeper"]);
        assert!(found.required.is_empty());
        // The program itself needs it.
        let found = others(&process, &optional, &["import optional\n".to_owned()]);
        assert_eq!(found.required, optional);
        fs::remove_dir_all(&directory).expect("it is removed");
    }
}
