//! Converts the imports in a recording to the format in which a program records them.
//!
//! A recording lists the names of modules and the files that were read, but not the file of
//! each module; files are matched by name. It does not list the variables that the program
//! changed; as always, all variables that the program mentions count as set by it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use preheat_host::files;

use super::learned::put;
use super::make::ParentRequest;
use crate::invocation::Main;
use crate::reason::Reason;

/// Names of directories with installed modules.
const INSTALLED: [&str; 3] = ["site-packages", "dist-packages", "lib-dynload"];

/// Modules that differ between processes.
const PROCESS: [&str; 4] = ["__main__", "__mp_main__", "sitecustomize", "usercustomize"];

/// Stores the modules that the program imports, which were read from some of these files.
pub(crate) fn learn_from(
    parent_request: &ParentRequest<'_>,
    names: &[String],
    files: &[PathBuf],
) -> Result<(), Reason> {
    if names.is_empty() {
        return Err(Reason::NoImports);
    }
    let bytes = records(names, files, &parent_request.invocation.main);
    let written = files::replace(&parent_request.learned(), &bytes, files::Readers::User);
    written.map_err(|why| Reason::ImportsUnstored(why.into()))
}

fn records(names: &[String], files: &[PathBuf], main: &Main) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (sources, roots) = (Sources::of(files), roots(files));
    let mut known = HashSet::new();
    let modules = names.iter().filter(|name| !PROCESS.contains(&&name[..]));
    for name in modules.filter(|name| known.insert(*name)) {
        // Built-in modules have no file.
        let origin = sources.origin(name, &roots);
        let origin = origin.map_or(&b"built-in"[..], |path| path.as_os_str().as_bytes());
        put(&mut bytes, [b"module", name.as_bytes(), origin, b""]);
    }
    for root in &roots {
        put(&mut bytes, [b"root", root.as_os_str().as_bytes(), b"", b""]);
    }
    if let Main::Module(name) = main {
        let name = name.to_string_lossy();
        let main = [format!("{name}.__main__"), name.into_owned()];
        if let Some(path) = main.iter().find_map(|name| sources.origin(name, &roots)) {
            put(&mut bytes, [b"main", path.as_os_str().as_bytes(), b"", b""]);
        }
    }
    bytes
}

/// The directories of installed modules that files were read from.
fn roots(files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut directories = HashSet::new();
    let mut found = BTreeSet::new();
    for directory in files.iter().filter(|path| path.is_absolute()) {
        for directory in directory.ancestors().skip(1) {
            if !directories.insert(directory) {
                break;
            }
            let name = directory.file_name().unwrap_or_default();
            if INSTALLED.iter().any(|known| name == *known) || is_standard_library(directory) {
                found.insert(directory.to_owned());
            }
        }
    }
    found
}

/// Returns true for the directory of the standard library. Packages may have some of these
/// modules, but not all.
fn is_standard_library(directory: &Path) -> bool {
    let mut known = ["os.py", "site.py", "encodings/__init__.py"].iter();
    known.all(|name| directory.join(name).exists())
}

/// Files that may be modules, by path without the suffix.
struct Sources<'a>(HashMap<PathBuf, &'a Path>);

impl<'a> Sources<'a> {
    fn of(files: &'a [PathBuf]) -> Sources<'a> {
        let module = |path: &'a PathBuf| {
            let (directory, file) = (path.parent()?, path.file_name()?.as_bytes());
            let is_module = file.ends_with(b".py") || file.ends_with(b".so");
            let stem = file.split(|&byte| byte == b'.').next()?;
            let path_of_module = directory.join(OsStr::from_bytes(stem));
            (is_module && path.is_absolute()).then_some((path_of_module, path.as_path()))
        };
        Sources(files.iter().filter_map(module).collect())
    }

    /// The file of a module: an installed one, or one whose path ends with its name.
    fn origin(&self, name: &str, roots: &BTreeSet<PathBuf>) -> Option<&'a Path> {
        let path = PathBuf::from(name.replace('.', "/"));
        let package = path.join("__init__");
        let both = [&path, &package];
        let installed = roots
            .iter()
            .flat_map(|root| both.map(|end| self.0.get(&root.join(end))));
        // Modules of the program are elsewhere: an installed file whose path ends the same
        // way belongs to another module.
        let is_own = |path: &Path| !roots.iter().any(|root| path.starts_with(root));
        let own = || {
            self.0
                .iter()
                .find(|(path, _)| is_own(path) && both.iter().any(|end| path.ends_with(end)))
        };
        let found = installed.flatten().next();
        found.or_else(|| own().map(|(_, file)| file)).copied()
    }
}

#[cfg(test)]
mod tests {
    use preheat_host::Scratch;

    use super::*;

    #[test]
    fn modules_are_matched_with_files_by_name() {
        let files: Vec<PathBuf> = [
            "/home/me/train.py",
            "/home/me/parts/__init__.py",
            "/home/me/parts/json.py",
            "/lib/python3/site-packages/numpy/__init__.py",
            "/lib/python3/site-packages/numpy/__pycache__/__init__.cpython-311.pyc",
            "/lib/python3/site-packages/numpy/core/_multi.cpython-311-x86_64-linux-gnu.so",
            "/lib/python3/site-packages/numpy/like/traceback.py",
            "/lib/python3/lib-dynload/_json.so",
            "relative.py",
            "/etc/passwd",
        ]
        .iter()
        .map(PathBuf::from)
        .collect();
        let names = [
            "numpy.core._multi",
            "numpy",
            "_json",
            "math",
            "traceback",
            "parts.json",
            "numpy",
            "sitecustomize",
        ];
        let names = names.map(String::from);
        let main = Main::Module("parts.json".into());
        let text = String::from_utf8(records(&names, &files, &main)).expect("it is text");
        let fields: Vec<&str> = text.split_terminator('\0').collect();
        let records: Vec<_> = fields.chunks_exact(4).map(|r| (r[0], r[1], r[2])).collect();
        let numpy = "/lib/python3/site-packages/numpy";
        assert_eq!(
            records,
            [
                (
                    "module",
                    "numpy.core._multi",
                    &*format!("{numpy}/core/_multi.cpython-311-x86_64-linux-gnu.so")
                ),
                ("module", "numpy", &*format!("{numpy}/__init__.py")),
                ("module", "_json", "/lib/python3/lib-dynload/_json.so"),
                ("module", "math", "built-in"),
                // Not the file in numpy, which is another module.
                ("module", "traceback", "built-in"),
                ("module", "parts.json", "/home/me/parts/json.py"),
                ("root", "/lib/python3/lib-dynload", ""),
                ("root", "/lib/python3/site-packages", ""),
                ("main", "/home/me/parts/json.py", ""),
            ]
        );
    }

    #[test]
    fn a_package_with_an_os_module_is_not_the_standard_library() {
        let scratch = Scratch::new("library").expect("a directory for the test");
        let at = scratch.path();
        std::fs::create_dir_all(at.join("encodings")).expect("a directory for the test");
        std::fs::write(at.join("os.py"), "").expect("it is written");
        assert!(roots(&[at.join("traceback.py")]).is_empty());
        for name in ["site.py", "encodings/__init__.py"] {
            std::fs::write(at.join(name), "").expect("it is written");
        }
        assert_eq!(
            roots(&[at.join("traceback.py")]),
            BTreeSet::from([at.to_owned()])
        );
    }
}
