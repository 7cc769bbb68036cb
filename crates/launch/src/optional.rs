//! Finds large imports that are optional for the library that imports them: it handles a
//! failed import, or checks first whether the package is installed.
//!
//! This is done once, on the machine of the recording: the sources are available there, and
//! a recording must give the same results on any machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use preheat_model::run::Recording;
use preheat_model::run::trace::{Import, Process, SpanKind};

use crate::import_statements::is_optional;
use crate::recording;
use crate::shared_imports::others;

/// Shorter imports are not searched for, in nanoseconds.
const MIN_IMPORT_NS: u64 = 50_000_000;

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
        let _ = recording::save(&recording.manifest, directory);
    }
}

fn large(process: &Process) -> impl Iterator<Item = &Import> {
    let spans = process.threads.iter().flat_map(|thread| &thread.spans);
    let imports = spans.filter(|span| {
        span.what == SpanKind::Import && span.end.saturating_sub(span.begin) >= MIN_IMPORT_NS
    });
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

/// The package that a module belongs to.
pub(crate) fn top(module: &str) -> &str {
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

#[cfg(test)]
mod tests {
    use super::*;

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
