//! Selects the modules to import ahead: the installed ones among those that the program
//! imported, in the order in which their imports ended.
//!
//! A program may set environment variables before it imports the modules that read them.
//! Every word in its source files that looks like the name of a variable is therefore
//! treated as one that it sets; modules that read such a variable are not imported ahead.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use preheat_host::files;

use crate::invocation::Main;
use crate::reason::Reason;
use crate::warm_parent::own::{self, Own};

/// Knowledge from earlier starts of a program.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    modules: Vec<Module>,
    roots: Vec<Vec<u8>>,
    changed: BTreeSet<Vec<u8>>,
    varies: BTreeSet<Vec<u8>>,
    /// Files that changed before a parent had served two starts, with the number of times.
    changing: BTreeMap<PathBuf, usize>,
    main: Option<PathBuf>,
    /// The state that imports depend on, as it was when the program exited.
    facts: Vec<(Vec<u8>, Vec<u8>)>,
}

#[derive(Debug)]
struct Module {
    name: Vec<u8>,
    origin: Vec<u8>,
    /// Imported by Python's own finders, not by an import hook.
    ordinary: bool,
}

/// The instructions for a parent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ahead {
    /// Names and files of modules, in order.
    pub modules: Vec<(Vec<u8>, Vec<u8>)>,
    /// Variables that the program mentions, and may therefore set.
    pub sets: BTreeSet<Vec<u8>>,
    /// Variables that the program or its modules changed while it ran.
    pub changed: BTreeSet<Vec<u8>>,
    /// Variables that differ at each start.
    pub varies: BTreeSet<Vec<u8>>,
    /// Files that differ at each start.
    pub changing: BTreeSet<PathBuf>,
    /// The program's source files.
    pub own: Vec<PathBuf>,
    /// Modules that these files import, if they exist, and that were not found.
    pub absent: BTreeSet<Vec<u8>>,
    /// The directories of installed modules.
    pub roots: Vec<Vec<u8>>,
    /// The file of the module that is run with `-m`.
    pub main: Option<PathBuf>,
    /// The state that imports depend on, as it was when the program exited.
    pub facts: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Modules that change how others are imported or behave: their position in the order of
/// imports matters. The one of coverage is loaded when it runs a program, rather than when a library
/// imports it.
const BENDERS: [&str; 7] = [
    "gevent",
    "eventlet",
    "pydevd",
    "debugpy",
    "coverage.cmdline",
    "ddtrace",
    "typeguard",
];

/// Variables with which coverage measures any Python process.
const COVERAGE: [&str; 2] = ["COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG"];

/// Prefixes of variables that numerical libraries read in native code when they are loaded.
pub(crate) const LIBRARIES: [&str; 13] = [
    "OMP_",
    "GOMP_",
    "KMP_",
    "MKL_",
    "OPENBLAS_",
    "GOTO_",
    "BLIS_",
    "ATEN_",
    "TF_",
    "XLA_",
    "JAX_",
    "MALLOC_",
    "TCMALLOC_",
];

impl Learned {
    /// The file into which the program with this name records its imports.
    pub(crate) fn file(kept: &Path, name: &str) -> PathBuf {
        kept.join(format!("{name}.modules"))
    }

    /// From the modules of a recording, with their files. Installed are those in the
    /// directory of the standard library or in a package directory.
    pub(crate) fn of(modules: &[(String, String)]) -> Learned {
        let mut learned = Learned::default();
        for (name, origin) in modules {
            let parent = Path::new(origin).parent().unwrap_or(Path::new(""));
            let packages = ["site-packages", "dist-packages"].map(OsStr::new);
            let mut above = parent.ancestors();
            let root = match name.as_str() {
                "os" => Some(parent),
                _ => above.find(|path| path.file_name().is_some_and(|is| packages.contains(&is))),
            };
            let root = root.map(|path| [path.as_os_str().as_bytes(), b"/"].concat());
            learned
                .roots
                .extend(root.filter(|root| !learned.roots.contains(root)));
            learned.modules.push(Module {
                name: name.clone().into(),
                origin: origin.clone().into(),
                ordinary: true,
            });
        }
        learned
    }

    /// Reads what a program recorded when it exited.
    pub(crate) fn read(path: &Path) -> Option<Learned> {
        Some(Learned::parse(&fs::read(path).ok()?))
    }

    fn parse(bytes: &[u8]) -> Learned {
        let mut learned = Learned::default();
        let fields: Vec<&[u8]> = bytes.split(|&byte| byte == 0).collect();
        for record in fields.chunks_exact(4) {
            let name = record[1].to_vec();
            match record[0] {
                b"module" => learned.modules.push(Module {
                    name,
                    origin: record[2].to_vec(),
                    ordinary: record[3].is_empty(),
                }),
                b"root" => learned.roots.push([&name[..], b"/"].concat()),
                b"changed" => drop(learned.changed.insert(name)),
                b"varies" => drop(learned.varies.insert(name)),
                b"changing" => {
                    let path = PathBuf::from(OsStr::from_bytes(&name));
                    *learned.changing.entry(path).or_default() += 1;
                }
                b"fact" => learned.facts.push((name, record[2].to_vec())),
                b"main" => learned.main = Some(OsStr::from_bytes(&name).into()),
                _ => {}
            }
        }
        learned
    }

    /// The instructions for a parent of this program, or the reason why there can be none.
    pub(crate) fn ahead(&self, main: &Main) -> Result<Ahead, Reason> {
        let uses = |name: &&&str| self.modules.iter().any(|m| m.name == name.as_bytes());
        if let Some(name) = BENDERS.iter().find(uses) {
            let package = name.split('.').next().unwrap_or(name);
            return Err(Reason::ChangesModules(package.to_owned()));
        }
        let Own { files, absent } = self.own(main);
        let own: Vec<PathBuf> = files.into_iter().collect();
        if self.is_measured(main, &own) {
            return Err(Reason::ChangesModules("coverage".to_owned()));
        }
        let mut sets = BTreeSet::new();
        words(text_of(main), &mut sets);
        for path in &own {
            sets.append(&mut words_of(path));
        }
        let modules: Vec<_> = self
            .modules
            .iter()
            .filter(|module| module.ordinary && self.is_installed(&module.origin))
            .map(|module| (module.name.clone(), module.origin.clone()))
            .collect();
        Ok(Ahead {
            modules,
            sets,
            changed: self.changed.clone(),
            varies: self.varies.clone(),
            changing: self.changing(),
            own,
            absent: self.not_installed(absent),
            roots: self.roots.clone(),
            main: self.main.clone(),
            facts: self.facts.clone(),
        })
    }

    /// Returns true if coverage was loaded and may have measured the program: by a variable, or
    /// because the program's own files mention it. Libraries such as Numba import coverage only to
    /// find out whether it is measuring.
    fn is_measured(&self, main: &Main, own: &[PathBuf]) -> bool {
        const NAME: &[u8] = b"coverage";
        let mentions = |text: &[u8]| text.windows(NAME.len()).any(|word| word == NAME);
        self.modules.iter().any(|module| module.name == NAME)
            && (COVERAGE.iter().any(|name| std::env::var_os(name).is_some())
                || mentions(text_of(main))
                || own
                    .iter()
                    .any(|path| fs::read(path).map_or(true, |text| mentions(&text))))
    }

    /// Files that changed at least twice: a file that changed once may have been edited.
    fn changing(&self) -> BTreeSet<PathBuf> {
        let often = self.changing.iter().filter(|&(_, &times)| times > 1);
        often.map(|(path, _)| path.clone()).collect()
    }

    /// Returns true for variables that are known to differ at each start.
    pub(crate) fn varies(&self, name: &[u8]) -> bool {
        self.varies.contains(name)
    }

    fn is_installed(&self, origin: &[u8]) -> bool {
        matches!(origin, b"" | b"built-in" | b"frozen")
            || self.roots.iter().any(|root| origin.starts_with(root))
    }

    /// The program's source files, and modules that they import and that do not exist.
    fn own(&self, main: &Main) -> Own {
        let script = match main {
            Main::Script(path) if path.is_dir() => Some(path.join("__main__.py")),
            Main::Script(path) => Some(path.clone()),
            _ => None,
        };
        let script = script.and_then(|path| std::path::absolute(path).ok());
        let modules = self.modules.iter().map(|module| &module.origin[..]);
        let observed: Vec<PathBuf> = modules
            .filter(|origin| origin.starts_with(b"/") && !self.is_installed(origin))
            .map(|origin| OsStr::from_bytes(origin).into())
            .chain(self.main.clone())
            .chain(script)
            .collect();
        let is_installed = |path: &Path| self.is_installed(path.as_os_str().as_bytes());
        own::reachable(
            observed,
            text_of(main),
            &self.directories(main),
            &is_installed,
        )
    }

    /// The directories in which the program's own modules are searched for: those on `sys.path`
    /// when it exited. A recording does not have them; then those that Python begins with.
    fn directories(&self, main: &Main) -> Vec<PathBuf> {
        let paths = self.facts.iter().filter(|(kind, _)| kind == b"sys.path");
        let mut paths: Vec<PathBuf> = paths
            .map(|(_, path)| OsStr::from_bytes(path).into())
            .collect();
        if paths.is_empty() {
            paths.push(match main {
                Main::Script(path) if path.is_dir() => path.clone(),
                Main::Script(path) => path.parent().map(Path::to_owned).unwrap_or_default(),
                _ => PathBuf::new(),
            });
            // An empty value has one empty path, but means none to Python.
            let more = std::env::var_os("PYTHONPATH").filter(|value| !value.is_empty());
            paths.extend(more.iter().flat_map(std::env::split_paths));
        }
        let is_own = |path: &PathBuf| {
            let path = [path.as_os_str().as_bytes(), b"/"].concat();
            !self.is_installed(&path)
        };
        let here = std::env::current_dir().unwrap_or_default();
        let own = paths.into_iter().filter(is_own);
        own.map(|path| here.join(path)).collect()
    }

    /// Without the modules that the program has found elsewhere.
    fn not_installed(&self, names: BTreeSet<String>) -> BTreeSet<Vec<u8>> {
        let known: BTreeSet<&[u8]> = self.modules.iter().map(|module| &module.name[..]).collect();
        let names = names.into_iter().map(String::into_bytes);
        names.filter(|name| !known.contains(&name[..])).collect()
    }
}

/// Records variables that differ at each start.
pub(crate) fn note_varying(path: &Path, names: &BTreeSet<Vec<u8>>) -> io::Result<()> {
    let mut bytes = fs::read(path)?;
    for name in names {
        put(&mut bytes, [b"varies", name, b"", b""]);
    }
    files::replace(path, &bytes, files::Readers::User)
}

/// Records a file that changed before a parent had served two starts.
pub(crate) fn note_changing(path: &Path, changed: &Path) -> io::Result<()> {
    let mut bytes = fs::read(path)?;
    let name = changed.as_os_str().as_bytes();
    put(&mut bytes, [b"changing", name, b"", b""]);
    files::replace(path, &bytes, files::Readers::User)
}

/// Appends a record.
pub(super) fn put(bytes: &mut Vec<u8>, record: [&[u8]; 4]) {
    for field in record {
        bytes.extend_from_slice(field);
        bytes.push(0);
    }
}

pub(crate) fn is_of_libraries(name: &[u8]) -> bool {
    LIBRARIES
        .iter()
        .any(|known| name.starts_with(known.as_bytes()))
}

/// The words in a file that look like names of variables.
pub(crate) fn words_of(path: &Path) -> BTreeSet<Vec<u8>> {
    let mut found = BTreeSet::new();
    words(&fs::read(path).unwrap_or_default(), &mut found);
    found
}

/// The text of a program that is not a file.
fn text_of(main: &Main) -> &[u8] {
    match main {
        Main::Code(code) => code.as_bytes(),
        Main::Input(content) => content,
        Main::Script(_) | Main::Module(_) => b"",
    }
}

/// Finds words that look like names of variables.
fn words(text: &[u8], found: &mut BTreeSet<Vec<u8>>) {
    let is_part = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    for word in text.split(|byte| !is_part(byte)) {
        if word.len() > 2 && word[0].is_ascii_uppercase() && !found.contains(word) {
            found.insert(word.to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(records: &[[&str; 4]]) -> Learned {
        let text: String = records.iter().flatten().flat_map(|f| [f, "\0"]).collect();
        Learned::parse(text.as_bytes())
    }

    fn code(text: &str) -> Main {
        Main::Code(text.into())
    }

    const SOME: [[&str; 4]; 6] = [
        ["module", "json", "/lib/python3/json/__init__.py", ""],
        ["module", "mine", "/home/mine.py", ""],
        [
            "module",
            "numpy",
            "/lib/python3/site-packages/numpy/__init__.py",
            "",
        ],
        [
            "module",
            "hooked",
            "/lib/python3/site-packages/hooked.py",
            "Rewriter",
        ],
        ["module", "math", "built-in", ""],
        ["root", "/lib/python3", "", ""],
    ];

    fn names(ahead: &Ahead) -> Vec<&str> {
        let text = |name| std::str::from_utf8(name).expect("it is text");
        ahead.modules.iter().map(|(name, _)| text(name)).collect()
    }

    #[test]
    fn only_installed_modules_are_imported_ahead_in_order() {
        let ahead = learned(&SOME)
            .ahead(&code(""))
            .expect("nothing prevents it");
        assert_eq!(names(&ahead), ["json", "numpy", "math"]);
        assert_eq!(ahead.own, [PathBuf::from("/home/mine.py")]);
    }

    #[test]
    fn modules_of_a_recording_are_classified_by_their_directories() {
        let modules = [
            ("os", "/lib/python3/os.py"),
            ("json", "/lib/python3/json/__init__.py"),
            ("mine", "/home/mine.py"),
            ("numpy", "/venv/site-packages/numpy/__init__.py"),
            ("math", ""),
        ];
        let modules = modules.map(|(name, file)| (name.to_owned(), file.to_owned()));
        let ahead = Learned::of(&modules)
            .ahead(&code(""))
            .expect("nothing prevents it");
        assert_eq!(names(&ahead), ["os", "json", "numpy", "math"]);
        assert_eq!(ahead.own, [PathBuf::from("/home/mine.py")]);
    }

    #[test]
    fn variables_that_the_program_mentions_are_found() {
        let ahead = learned(&SOME).ahead(&code("os.environ['OMP_NUM_THREADS'] = '1'"));
        let ahead = ahead.expect("nothing prevents it");
        assert!(ahead.sets.contains(&b"OMP_NUM_THREADS"[..]));
    }

    #[test]
    fn programs_with_modules_that_change_imports_are_refused() {
        let with = learned(&[["module", "gevent", "/lib/x", ""]]);
        assert!(
            with.ahead(&code(""))
                .expect_err("it cannot")
                .to_string()
                .contains("gevent")
        );
    }

    #[test]
    fn coverage_prevents_a_parent_only_where_it_measures_the_program() {
        let loaded = ["module", "coverage", "/lib/coverage/__init__.py", ""];
        let root = ["root", "/lib", "", ""];
        let with = learned(&[root, loaded]);
        assert!(with.ahead(&code("import numba")).is_ok());
        let why = with.ahead(&code("import coverage")).expect_err("it cannot");
        assert!(why.to_string().contains("coverage"), "{why}");
        let runs = ["module", "coverage.cmdline", "/lib/coverage/cmdline.py", ""];
        assert!(learned(&[root, loaded, runs]).ahead(&code("")).is_err());
    }

    #[test]
    fn malformed_files_are_ignored() {
        assert!(Learned::parse(b"").modules.is_empty());
        assert!(Learned::parse(b"module\0x").modules.is_empty());
        assert!(Learned::parse(b"\0\0\0\0\xff\0\0\0").modules.is_empty());
    }
}
