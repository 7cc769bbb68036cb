//! What to import ahead: of the modules that a program was seen to have, those that are
//! installed, in the order in which their imports ended.
//!
//! A program may set variables of the environment before it imports what reads them. So
//! whatever looks like the name of a variable in the program's own files, it is taken to
//! set; modules that ask for such a variable are not imported ahead.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use preheat_host::files;

use crate::invocation::{Main, Why};

/// What was learned of a program.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    modules: Vec<Module>,
    roots: Vec<Vec<u8>>,
    changed: BTreeSet<Vec<u8>>,
    varies: BTreeSet<Vec<u8>>,
    /// Files that had changed before a parent served two starts, and how often.
    changing: BTreeMap<PathBuf, usize>,
    main: Option<PathBuf>,
    /// What it had changed of what imports depend on, or had not.
    facts: Vec<(Vec<u8>, Vec<u8>)>,
}

#[derive(Debug)]
struct Module {
    name: Vec<u8>,
    origin: Vec<u8>,
    /// Came in by an ordinary import.
    ordinary: bool,
}

/// What a parent is to do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ahead {
    /// Names and files of modules, in order.
    pub modules: Vec<(Vec<u8>, Vec<u8>)>,
    /// Variables that the program speaks of, and so may set itself.
    pub sets: BTreeSet<Vec<u8>>,
    /// Variables that were changed while it ran, by itself or by what it has imported.
    pub changed: BTreeSet<Vec<u8>>,
    /// Variables that were others at each start.
    pub varies: BTreeSet<Vec<u8>>,
    /// Files that are others at each start.
    pub changing: BTreeSet<PathBuf>,
    /// The program's own files, which say what it sets.
    pub own: Vec<PathBuf>,
    /// Where what is installed lies.
    pub roots: Vec<Vec<u8>>,
    /// The file of a module that is run.
    pub main: Option<PathBuf>,
    /// What it had at its end of what imports depend on.
    pub facts: Vec<(Vec<u8>, Vec<u8>)>,
}

/// These change how other modules are imported or behave, and must come when they come.
const BENDERS: [&str; 8] = [
    "gevent",
    "eventlet",
    "_pytest",
    "pydevd",
    "debugpy",
    "coverage",
    "ddtrace",
    "typeguard",
];

/// Beginnings of variables that numerical libraries read when they are loaded, of which no
/// Python code tells.
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
    /// Where a program with this name tells it.
    pub(crate) fn file(kept: &Path, name: &str) -> PathBuf {
        kept.join(format!("{name}.modules"))
    }

    /// From the modules that a recording has, with their files: installed is what lies
    /// beside the standard library or where packages are put.
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

    /// What a program has left at its end.
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

    /// What a parent of this program is to import, or why there can be none.
    pub(crate) fn ahead(&self, main: &Main) -> Result<Ahead, Why> {
        let uses = |name: &&&str| self.modules.iter().any(|m| m.name == name.as_bytes());
        if let Some(name) = BENDERS.iter().find(uses) {
            return Err(format!(
                "it uses {name}, which must come before what it changes"
            ));
        }
        let own = self.own(main);
        let mut sets = BTreeSet::new();
        match main {
            Main::Code(code) => words(code.as_bytes(), &mut sets),
            Main::Input(content) => words(content, &mut sets),
            Main::Script(_) | Main::Module(_) => {}
        }
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
            roots: self.roots.clone(),
            main: self.main.clone(),
            facts: self.facts.clone(),
        })
    }

    /// What has changed once may have been edited; twice means that it changes always.
    fn changing(&self) -> BTreeSet<PathBuf> {
        let often = self.changing.iter().filter(|&(_, &times)| times > 1);
        often.map(|(path, _)| path.clone()).collect()
    }

    /// Whether a variable is known to be another at each start.
    pub(crate) fn varies(&self, name: &[u8]) -> bool {
        self.varies.contains(name)
    }

    fn is_installed(&self, origin: &[u8]) -> bool {
        matches!(origin, b"" | b"built-in" | b"frozen")
            || self.roots.iter().any(|root| origin.starts_with(root))
    }

    /// The program's own files.
    fn own(&self, main: &Main) -> Vec<PathBuf> {
        let script = match main {
            Main::Script(path) if path.is_dir() => Some(path.join("__main__.py")),
            Main::Script(path) => Some(path.clone()),
            _ => None,
        };
        let script = script.and_then(|path| std::path::absolute(path).ok());
        let modules = self.modules.iter().map(|module| &module.origin[..]);
        let mut own: Vec<PathBuf> = modules
            .filter(|origin| origin.starts_with(b"/") && !self.is_installed(origin))
            .map(|origin| OsStr::from_bytes(origin).into())
            .chain(self.main.clone())
            .chain(script)
            .collect();
        own.sort();
        own.dedup();
        own
    }
}

/// Add variables that are others at each start to what was learned.
pub(crate) fn note_varying(path: &Path, names: &BTreeSet<Vec<u8>>) -> io::Result<()> {
    let mut bytes = fs::read(path)?;
    for name in names {
        put(&mut bytes, [b"varies", name, b"", b""]);
    }
    files::replace(path, &bytes, files::Readers::User)
}

/// Add a file that had changed before a parent served two starts.
pub(crate) fn note_changing(path: &Path, changed: &Path) -> io::Result<()> {
    let mut bytes = fs::read(path)?;
    let name = changed.as_os_str().as_bytes();
    put(&mut bytes, [b"changing", name, b"", b""]);
    files::replace(path, &bytes, files::Readers::User)
}

/// Add a record.
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

/// The same in a file of the program's.
pub(crate) fn words_of(path: &Path) -> BTreeSet<Vec<u8>> {
    let mut found = BTreeSet::new();
    words(&fs::read(path).unwrap_or_default(), &mut found);
    found
}

/// Whatever looks like the name of a variable.
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
    fn installed_modules_come_in_order_and_the_programs_own_do_not() {
        let ahead = learned(&SOME).ahead(&code("")).expect("it can be");
        assert_eq!(names(&ahead), ["json", "numpy", "math"]);
        assert_eq!(ahead.own, [PathBuf::from("/home/mine.py")]);
    }

    #[test]
    fn a_recordings_modules_are_told_apart_by_where_they_lie() {
        let modules = [
            ("os", "/lib/python3/os.py"),
            ("json", "/lib/python3/json/__init__.py"),
            ("mine", "/home/mine.py"),
            ("numpy", "/venv/site-packages/numpy/__init__.py"),
            ("math", ""),
        ];
        let modules = modules.map(|(name, file)| (name.to_owned(), file.to_owned()));
        let ahead = Learned::of(&modules).ahead(&code("")).expect("it can be");
        assert_eq!(names(&ahead), ["os", "json", "numpy", "math"]);
        assert_eq!(ahead.own, [PathBuf::from("/home/mine.py")]);
    }

    #[test]
    fn variables_that_the_program_speaks_of_are_found() {
        let ahead = learned(&SOME).ahead(&code("os.environ['OMP_NUM_THREADS'] = '1'"));
        let ahead = ahead.expect("it can be");
        assert!(ahead.sets.contains(&b"OMP_NUM_THREADS"[..]));
    }

    #[test]
    fn what_bends_imports_is_left_alone() {
        let with = learned(&[["module", "gevent", "/lib/x", ""]]);
        assert!(
            with.ahead(&code(""))
                .expect_err("it cannot")
                .contains("gevent")
        );
    }

    #[test]
    fn nothing_in_the_file_can_break_us() {
        assert!(Learned::parse(b"").modules.is_empty());
        assert!(Learned::parse(b"module\0x").modules.is_empty());
        assert!(Learned::parse(b"\0\0\0\0\xff\0\0\0").modules.is_empty());
    }
}
