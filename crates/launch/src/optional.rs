//! Finds large imports that are optional for the library that imports them: it handles a
//! failed import, or checks first whether the package is installed.
//!
//! This is done once, on the machine of the recording: the sources are available there, and
//! a recording must give the same results on any machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use preheat_model::run::Recording;
use preheat_model::run::trace::{Import, Process, What};

use crate::manifest;
use crate::shared_imports::others;

/// Shorter imports are not searched for, in nanoseconds.
const LEAST: u64 = 50_000_000;

/// Directories of installed packages.
const INSTALLED: [&str; 2] = ["/site-packages/", "/dist-packages/"];

/// Completes the recording in this directory, in memory and on disk.
pub fn locate_optional_imports(recording: &mut Recording, directory: &Path) {
    let base = recording.manifest.directory.clone();
    let mut found = BTreeSet::new();
    let mut shared = BTreeSet::new();
    let processes = recording
        .starts
        .last()
        .map_or(&[][..], |start| &start.processes);
    for process in processes {
        let own = own_sources(process, Path::new(&base));
        let mut optional: BTreeSet<String> = large(process)
            .filter(|import| is_optional_import(process, import, &own))
            .map(|import| import.name.clone())
            .collect();
        if !optional.is_empty() {
            let others = others(process, &optional, &own);
            optional.retain(|name| !others.required.contains(name));
            shared.extend(others.shared);
        }
        found.extend(optional);
    }
    let found: Vec<String> = found.into_iter().collect();
    let shared: Vec<String> = shared.into_iter().collect();
    let manifest = &mut recording.manifest;
    if found != manifest.optional_imports || shared != manifest.shared_imports {
        manifest.optional_imports = found;
        manifest.shared_imports = shared;
        // Without it, reports on this recording have no advice on imports.
        let _ = manifest::save(&recording.manifest, directory);
    }
}

fn large(process: &Process) -> impl Iterator<Item = &Import> {
    let spans = process.threads.iter().flat_map(|thread| &thread.spans);
    let imports = spans
        .filter(|span| span.what == What::Import && span.end.saturating_sub(span.begin) >= LEAST);
    imports.filter_map(|span| process.imports.get(span.detail as usize))
}

/// Returns whether a library imports it and works without it, and the program does not
/// mention it.
fn is_optional_import(process: &Process, import: &Import, own: &[String]) -> bool {
    let package = top(&import.name);
    if import.failed || top(&import.importer) == package {
        return false;
    }
    let installed = |module: &str| {
        let mut files = process.files.iter();
        files.find(|file| installed_as(file).is_some_and(|rest| is_module(rest, module)))
    };
    let Some(asker) = installed(&import.importer) else {
        return false;
    };
    let is_installed = process.files.iter().any(|file| {
        installed_as(file)
            .is_some_and(|rest| rest.split('/').next() == Some(package) || is_module(rest, package))
    });
    let mentioned = own.iter().any(|source| mentions(source, package));
    is_installed
        && !mentioned
        && fs::read_to_string(asker).is_ok_and(|source| is_optional(&source, import.line as usize))
}

fn top(module: &str) -> &str {
    module.split('.').next().unwrap_or(module)
}

/// The path of an installed file, relative to the directory of packages.
pub(crate) fn installed_as(file: &str) -> Option<&str> {
    let found = INSTALLED
        .iter()
        .filter_map(|part| file.rfind(part).map(|at| at + part.len()));
    found.max().map(|at| &file[at..])
}

/// Returns whether a path relative to the directory of packages is that of a module.
fn is_module(path: &str, module: &str) -> bool {
    let path = path.strip_suffix(".py").unwrap_or(path);
    let path = path.strip_suffix("/__init__").unwrap_or(path);
    path.split('/').eq(module.split('.'))
}

/// The program's own sources, which are neither installed nor part of Python.
fn own_sources(process: &Process, base: &Path) -> Vec<String> {
    let is_own = |file: &&String| {
        file.ends_with(".py") && installed_as(file).is_none() && !file.contains("/lib/python3")
    };
    let files = process.files.iter().chain(&process.arguments);
    let mut sources: Vec<String> = files
        .filter(is_own)
        .filter_map(|file| fs::read_to_string(base.join(file)).ok())
        .collect();
    // The code passed with `-c`.
    sources.extend(process.arguments.iter().cloned());
    sources
}

/// Returns whether a text contains a word.
fn mentions(text: &str, word: &str) -> bool {
    let of_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(of_name) && !after.is_some_and(of_name)
    })
}

/// Returns whether the statement on this line may fail, or only runs if the package is
/// installed: it is in a `try` that catches the error, or below a condition that checks.
pub(crate) fn is_optional(source: &str, line: usize) -> bool {
    let lines: Vec<&str> = source.lines().collect();
    let Some(statement) = line.checked_sub(1).and_then(|at| lines.get(at)) else {
        return false;
    };
    let mut indent = indent_of(statement);
    for (at, text) in lines[..line - 1].iter().enumerate().rev() {
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
    }

    #[test]
    fn files_are_matched_by_module() {
        let file = "/usr/lib/python3/dist-packages/a/b/__init__.py";
        assert_eq!(installed_as(file), Some("a/b/__init__.py"));
        assert!(is_module("a/b/__init__.py", "a.b") && is_module("a/b.py", "a.b"));
        assert!(!is_module("a/b.py", "a") && !is_module("a/c.py", "a.b"));
        assert_eq!(installed_as("/home/me/a.py"), None);
        assert!(mentions("import torchvision.ops", "torchvision"));
        assert!(!mentions("torchvision_x = 1", "torchvision"));
    }
}
