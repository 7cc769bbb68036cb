//! Python imports: source that is compiled in every start, whose bytecode can be kept, and
//! imports that a library can do without.

use preheat_model::RemedyId;

use super::super::items::{Reasons, importer, reasons};
use super::super::trace::Import;
use super::super::{Cause, Temperature};
use super::{RemedyInput, Suggestion, remedy};
use crate::units;

/// The time to read bytecode, relative to compiling the source: 0.03 to 0.08 of the CPU
/// time of `import torch` with CPython 3.11 and PyTorch 1.13 and 2.8.
const READ_SHARE: f64 = 0.05;

/// Smaller savings are not reported, in seconds.
const MIN_SECONDS: f64 = 0.05;

/// Bytecode that outlives the start. The first evidence that applies is reported.
pub(super) fn kept_bytecode(case: &RemedyInput) -> Option<Suggestion> {
    by_ladder(case)
        .or_else(|| in_every_start(case))
        .or_else(|| by_first_start(case))
}

fn suggestion(what: String, saving: f64, assumption: &str) -> Suggestion {
    remedy(
        RemedyId::KeptBytecode,
        "Keep Python bytecode",
        what,
        saving,
        assumption,
        &[Cause::BytecodeCompilation],
    )
}

/// Instructions.
fn keep(case: &RemedyInput) -> String {
    let drop = match case.environment("PYTHONDONTWRITEBYTECODE") {
        Some(value) if !value.is_empty() => " and unset PYTHONDONTWRITEBYTECODE",
        _ => "",
    };
    format!(
        "In a Dockerfile, after the packages are installed: `RUN python -m compileall -q \
         --invalidation-mode checked-hash $(python -c 'import site; \
         print(*site.getsitepackages())')`{drop}. Without changing the image: `preheat start \
         --measure` tries a cache directory for it."
    )
}

/// The modules compiled until the first iteration, with the reasons.
fn compiled(case: &RemedyInput) -> (u64, Reasons) {
    let until = case.examined.time_to_first.unwrap_or(u64::MAX);
    let mut all = Reasons::default();
    for reasons in reasons(case.start.facts, until).values() {
        all.merge(reasons);
    }
    (all.missing + all.stale + all.unreadable, all)
}

/// Evidence from starts without bytecode.
fn by_ladder(case: &RemedyInput) -> Option<Suggestion> {
    let without = super::at_temperature(case, Temperature::Bytecode)?;
    let with = super::at_temperature(case, Temperature::Process)?;
    let compiled = super::seconds(without, Cause::BytecodeCompilation)
        - super::seconds(with, Cause::BytecodeCompilation);
    let saving = super::difference(without, with);
    if compiled < MIN_SECONDS || compiled <= saving / 2.0 {
        return None;
    }
    let suggestion = suggestion(
        format!(
            "{} Saving with bytecode, {}.",
            keep(case),
            super::base(without, with)
        ),
        saving,
        "starts without this find no bytecode, as at temperature `bytecode`",
    );
    Some(Suggestion {
        base: Some(without.time_to_first.value),
        ..suggestion
    })
}

/// Bytecode is missing and not written either.
fn in_every_start(case: &RemedyInput) -> Option<Suggestion> {
    let seconds = case.seconds(Cause::BytecodeCompilation);
    let (modules, why) = compiled(case);
    let because = if why.turned_off > 0 {
        match case.environment("PYTHONDONTWRITEBYTECODE") {
            Some(value) if !value.is_empty() => {
                format!("PYTHONDONTWRITEBYTECODE={value} prevents Python from writing it")
            }
            _ => "`-B` or `sys.dont_write_bytecode` prevents Python from writing it".to_owned(),
        }
    } else if why.not_writable > 0 {
        "the directories of the modules are not writable".to_owned()
    } else {
        return None;
    };
    if seconds < MIN_SECONDS {
        return None;
    }
    Some(suggestion(
        format!(
            "Every start compiles {modules} modules from source, which takes {}: they have no \
             usable bytecode, and {because}. {}",
            units::duration(seconds),
            keep(case)
        ),
        seconds * (1.0 - READ_SHARE),
        "reading bytecode takes 5 % of compiling",
    ))
}

/// The first start found no bytecode and wrote it, as the first start in a new container
/// would.
fn by_first_start(case: &RemedyInput) -> Option<Suggestion> {
    let now = case.seconds(Cause::BytecodeCompilation);
    let first = case
        .report
        .starts
        .first()
        .filter(|start| start.first_start)?;
    let parts = first.causes.iter();
    let compiled: f64 = parts
        .filter(|part| part.cause == Cause::BytecodeCompilation)
        .map(|part| part.seconds)
        .sum();
    (compiled > 2.0 * now && compiled - now > MIN_SECONDS).then(|| {
        let suggestion = suggestion(
            format!(
                "The first start spent {} compiling Python modules and wrote their bytecode; the first \
                 start in a new container does this again. {}",
                units::duration(compiled),
                keep(case)
            ),
            (compiled - now) * (1.0 - READ_SHARE),
            "starts without this find no bytecode, like the first one",
        );
        Suggestion {
            base: first.time_to_first,
            ..suggestion
        }
    })
}

/// An import must take at least this share of the time to first.
const WORTH_AVOIDING: f64 = 0.1;
/// And at least this many seconds.
const MIN_SAVING: f64 = 0.1;
/// The share of a recorded import that a plain one takes: see the calibration in
/// docs/results/README.md.
const PLAIN_SHARE: f64 = 0.92;
/// The number of imports to name.
const MAX_NAMES: usize = 3;

/// An import with the modules that only it loads.
struct Avoidable<'a> {
    /// Its seconds until the first result.
    time: f64,
    /// Its seconds on a processor. On a busy machine they are a small part of the time.
    cpu: f64,
    import: &'a Import,
}

impl Avoidable<'_> {
    fn add(&mut self, time: f64, cpu: f64) {
        self.time += time;
        self.cpu += cpu;
    }
}

/// Large imports that a library can do without.
pub(super) fn avoidable(case: &RemedyInput) -> Option<Suggestion> {
    let (place, _) = case.examined.thread?;
    let process = case.start.facts[place].process;
    let tree = &case.trees[place];
    let until = case.examined.time_to_first?;
    let optional = &case.manifest.optional_imports;
    // For each import the avoidable one that it belongs to, as an index into `found`.
    let mut of: Vec<Option<usize>> = vec![None; process.imports.len()];
    let mut found: Vec<Avoidable> = Vec::new();
    for at in &tree.order {
        let index = *at as usize;
        let import = &process.imports[index];
        let parent = tree.parents[index].map(|parent| parent as usize);
        of[index] = parent.and_then(|parent| of[parent]);
        let (begin, end) = tree.spans[index];
        let seconds = |nanoseconds: u64| nanoseconds as f64 * 1e-9 * case.scale * PLAIN_SHARE;
        let time = seconds(end.min(until).saturating_sub(begin));
        let cpu = seconds(import.usage.cpu);
        match of[index] {
            None if is_avoidable(import, optional) => {
                of[index] = Some(found.len());
                found.push(Avoidable { time, cpu, import });
            }
            // Something else loads it then: only what is nested in it and not shared is saved.
            Some(avoidable) => {
                let is_shared = |at: usize| {
                    case.manifest
                        .shared_imports
                        .contains(&process.imports[at].name)
                };
                match (is_shared(index), parent.is_some_and(is_shared)) {
                    (true, false) => found[avoidable].add(-time, -cpu),
                    (false, true) => found[avoidable].add(time, cpu),
                    _ => {}
                }
            }
            None => {}
        }
    }
    let least = MIN_SAVING.max(WORTH_AVOIDING * until as f64 * 1e-9 * case.scale);
    found.retain(|avoidable| avoidable.time >= least);
    found.sort_by(|a, b| b.time.total_cmp(&a.time));
    let names: Vec<&str> = found
        .iter()
        .map(|avoidable| avoidable.import.name.as_str())
        .collect();
    let sentences: Vec<String> = (found.iter().take(MAX_NAMES))
        .map(|Avoidable { time, cpu, import }| {
            let (time, cpu) = (units::duration(*time), units::duration(cpu.max(0.0)));
            let (name, by) = (&import.name, importer(import));
            format!("{name} ({time}, {cpu} of CPU time) is imported by {by}")
        })
        .collect();
    let title = format!("Avoid importing {}", names.first()?);
    Some(remedy(
        RemedyId::AvoidableImports,
        &title,
        format!(
            "{}. The library works without it: it handles a failed import, or checks whether the \
             package is installed, and the program's own files do not mention it. Remove the package \
             from the environment (`pip uninstall`) if nothing else needs it.",
            sentences.join("; ")
        ),
        found.iter().map(|avoidable| avoidable.time).sum(),
        "the library does not need it for the first result",
        &[
            Cause::PythonImports,
            Cause::BytecodeCompilation,
            Cause::LibraryLoading,
        ],
    ))
}

/// Returns true if a library imported an installed package that it can do without.
fn is_avoidable(import: &Import, optional: &[String]) -> bool {
    !matches!(import.importer.as_str(), "" | "__main__")
        && !is_standard(&import.name)
        && optional.contains(&import.name)
}

// The modules of Python's standard library, which cannot be removed.

/// Returns true if a module belongs to the standard library, including top-level modules
/// with a leading underscore.
pub(super) fn is_standard(module: &str) -> bool {
    let package = module.split('.').next().unwrap_or(module);
    package.starts_with('_') || NAMES.binary_search(&package).is_ok()
}

/// Its packages and modules in all supported versions, sorted.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "abc", "aifc", "annotationlib", "antigravity", "argparse", "array", "ast", "asynchat",
    "asyncio", "asyncore", "atexit", "audioop", "base64", "bdb", "binascii", "bisect",
    "builtins", "bz2", "cProfile", "calendar", "cgi", "cgitb", "chunk", "cmath", "cmd",
    "code", "codecs", "codeop", "collections", "colorsys", "compileall", "compression",
    "concurrent", "configparser", "contextlib", "contextvars", "copy", "copyreg", "crypt",
    "csv", "ctypes", "curses", "dataclasses", "datetime", "dbm", "decimal", "difflib",
    "dis", "distutils", "doctest", "email", "encodings", "ensurepip", "enum", "errno",
    "faulthandler", "fcntl", "filecmp", "fileinput", "fnmatch", "fractions", "ftplib",
    "functools", "gc", "genericpath", "getopt", "getpass", "gettext", "glob", "graphlib",
    "grp", "gzip", "hashlib", "heapq", "hmac", "html", "http", "idlelib", "imaplib",
    "imghdr", "imp", "importlib", "inspect", "io", "ipaddress", "itertools", "json",
    "keyword", "lib2to3", "linecache", "locale", "logging", "lzma", "mailbox", "mailcap",
    "marshal", "math", "mimetypes", "mmap", "modulefinder", "msilib", "msvcrt",
    "multiprocessing", "netrc", "nis", "nntplib", "nt", "ntpath", "nturl2path", "numbers",
    "opcode", "operator", "optparse", "os", "ossaudiodev", "pathlib", "pdb", "pickle",
    "pickletools", "pipes", "pkgutil", "platform", "plistlib", "poplib", "posix",
    "posixpath", "pprint", "profile", "pstats", "pty", "pwd", "py_compile", "pyclbr",
    "pydoc", "pydoc_data", "pyexpat", "queue", "quopri", "random", "re", "readline",
    "reprlib", "resource", "rlcompleter", "runpy", "sched", "secrets", "select",
    "selectors", "shelve", "shlex", "shutil", "signal", "site", "smtpd", "smtplib",
    "sndhdr", "socket", "socketserver", "spwd", "sqlite3", "sre_compile", "sre_constants",
    "sre_parse", "ssl", "stat", "statistics", "string", "stringprep", "struct",
    "subprocess", "sunau", "symtable", "sys", "sysconfig", "syslog", "tabnanny", "tarfile",
    "telnetlib", "tempfile", "termios", "textwrap", "this", "threading", "time", "timeit",
    "tkinter", "token", "tokenize", "tomllib", "trace", "traceback", "tracemalloc", "tty",
    "turtle", "turtledemo", "types", "typing", "unicodedata", "unittest", "urllib", "uu",
    "uuid", "venv", "warnings", "wave", "weakref", "webbrowser", "winreg", "winsound",
    "wsgiref", "xdrlib", "xml", "xmlrpc", "zipapp", "zipfile", "zipimport", "zlib",
    "zoneinfo",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_optional_imports_are_avoidable() {
        let import = |name: &str, importer: &str| Import {
            name: name.to_owned(),
            importer: importer.to_owned(),
            ..Import::default()
        };
        let optional = ["pandas".to_owned(), "sqlite3".to_owned()];
        assert!(is_avoidable(&import("pandas", "seaborn.core"), &optional));
        assert!(!is_avoidable(&import("pandas", "__main__"), &optional));
        assert!(!is_avoidable(
            &import("torch._dynamo", "torch._compile"),
            &optional
        ));
        assert!(!is_avoidable(&import("sqlite3", "nltk"), &optional));
    }

    #[test]
    fn the_standard_library_is_known() {
        assert!(NAMES.is_sorted());
        for name in [
            "json",
            "json.decoder",
            "asyncio.events",
            "_ctypes",
            "unittest.mock",
        ] {
            assert!(is_standard(name), "{name}");
        }
        for name in ["torch", "sympy", "numpy", "jsonschema", "torch._dynamo", ""] {
            assert!(!is_standard(name), "{name}");
        }
    }
}
