//! The program's own source files: those that it has imported, and those that they could import.
//!
//! A start may take another branch than the one that was learned from, and import a module of the
//! program's own that sets a variable, or changes warning filters, before it imports an installed
//! module. So the files are searched for import statements. A module that does not exist may be
//! created later; its name is kept.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use preheat_launch::import_statements;

/// The most files that are searched.
const MAX_FILES: usize = 2000;

/// The program's own source files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Own {
    /// Existing files.
    pub files: BTreeSet<PathBuf>,
    /// The top-level names of modules that no directory has.
    pub absent: BTreeSet<String>,
}

/// All own files that `files`, or a program with this text, could import from `directories`. The
/// main module may be an installed one (`python -m`), whose package is not the program's.
pub(crate) fn reachable(
    files: Vec<PathBuf>,
    text: &[u8],
    directories: &[PathBuf],
    is_installed: &dyn Fn(&Path) -> bool,
) -> Own {
    let mut own = Own::default();
    let mut search = Search {
        directories,
        existing: directories.iter().flat_map(|it| stems(it)).collect(),
        known: BTreeSet::new(),
        left: files,
        is_installed,
    };
    own.search(text, Path::new(""), &mut search);
    while let Some(path) = search.left.pop() {
        if !own.files.insert(path.clone()) || own.files.len() > MAX_FILES {
            continue;
        }
        let text = fs::read(&path).unwrap_or_default();
        own.search(&text, &path, &mut search);
    }
    own
}

/// A search that has begun.
struct Search<'a> {
    directories: &'a [PathBuf],
    /// Modules in these directories, including native ones.
    existing: BTreeSet<String>,
    /// Names that were searched for.
    known: BTreeSet<String>,
    /// Files that have not been read yet.
    left: Vec<PathBuf>,
    is_installed: &'a dyn Fn(&Path) -> bool,
}

impl Own {
    /// Adds the files of the modules that a text imports to those to search.
    fn search(&mut self, text: &[u8], path: &Path, search: &mut Search) {
        for name in imported(&String::from_utf8_lossy(text)) {
            let rest = name.trim_start_matches('.');
            let above = name.len() - rest.len();
            if above > 0 {
                if (search.is_installed)(path) {
                    continue;
                }
                // Relative to the package of the file.
                let package = path.ancestors().nth(above);
                let found = package.into_iter().flat_map(|it| modules(it, rest));
                search.left.extend(found);
                continue;
            }
            let top = rest.split('.').next().unwrap_or(rest);
            if !search.existing.contains(top) {
                self.absent.insert(top.to_owned());
            } else if search.known.insert(name.clone()) {
                let found = search.directories.iter().flat_map(|it| modules(it, rest));
                search.left.extend(found);
            }
        }
    }
}

/// The names of the files in a directory, up to the first period.
fn stems(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .map(|name| name.split('.').next().unwrap_or_default().to_owned())
        .collect()
}

/// The files that the import of a dotted name in a directory executes, as far as they exist.
fn modules(directory: &Path, name: &str) -> Vec<PathBuf> {
    let (mut found, mut at) = (Vec::new(), directory.to_owned());
    for part in name.split('.').filter(|part| !part.is_empty()) {
        let module = at.join(format!("{part}.py"));
        at.push(part);
        let candidates = [at.join("__init__.py"), module];
        found.extend(candidates.into_iter().filter(|path| path.is_file()));
    }
    found
}

/// The names in the import statements of a text; relative ones begin with a period. In a file that
/// imports modules by name, every word may be one.
fn imported(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    if text.contains("import_module") || text.contains("__import__") {
        let words = text.split(|c: char| !is_part(c) && c != '.');
        let is_name = |word: &&str| word.starts_with(|c: char| c.is_alphabetic() || c == '_');
        names.extend(words.filter(is_name).map(str::to_owned));
    }
    let statements = import_statements(text).into_iter();
    names.extend(statements.flat_map(|statement| statement.modules));
    names
}

#[cfg(test)]
mod tests {
    use preheat_host::Scratch;

    use super::*;

    #[test]
    fn names_of_modules_are_found() {
        let names = |text: &str| imported(text).into_iter().collect::<Vec<_>>();
        assert_eq!(names("def f():\n    from a import b\n"), ["a", "a.b"]);
        assert!(names("import_module('plugins.one')").contains(&"plugins.one".to_owned()));
    }

    #[test]
    fn files_that_could_be_imported_are_found() {
        let scratch = Scratch::new("own").expect("a directory for the test");
        let at = scratch.path().to_owned();
        fs::create_dir_all(at.join("package")).expect("a directory for the test");
        let write = |name: &str, text: &str| fs::write(at.join(name), text).expect("written");
        write("main.py", "import numpy, native, other, settings\n");
        write("other.py", "from package import part\n");
        write("package/__init__.py", "");
        write(
            "package/part.py",
            "from . import sibling\nfrom .. import other\n",
        );
        write("package/sibling.py", "");
        write("unrelated.py", "");
        write("native.cpython-311-x86_64-linux-gnu.so", "");
        let find = |main: &str, is_installed: &dyn Fn(&Path) -> bool| {
            let directories = std::slice::from_ref(&at);
            reachable(vec![at.join(main)], b"", directories, is_installed)
        };
        let own = find("main.py", &|_| false);
        let found: Vec<_> = own
            .files
            .iter()
            .map(|path| path.strip_prefix(&at))
            .collect();
        let all = [
            "main.py",
            "other.py",
            "package/__init__.py",
            "package/part.py",
            "package/sibling.py",
        ];
        assert_eq!(found, all.map(|name| Ok(Path::new(name))));
        assert_eq!(own.absent, ["numpy", "settings"].map(str::to_owned).into());
        let installed = find("package/part.py", &|path| {
            path.starts_with(at.join("package"))
        });
        assert_eq!(installed.files, [at.join("package/part.py")].into());
    }
}
