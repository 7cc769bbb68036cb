//! The state of a running parent: the file next to its socket, and the checks whether the
//! parent matches a start by this process.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::identity::stamp;
use crate::reason::Reason;
use crate::warm_parent::influence::skeleton;
use crate::warm_parent::learned;
use crate::warm_parent::ledger::{Changed, Inputs};
use crate::warm_parent::variables::{Environment, VariablesRead};

/// A running parent, as described by its file.
#[derive(Debug, Default)]
pub(crate) struct Parent {
    /// The file.
    pub path: PathBuf,
    /// The socket on which it listens.
    pub socket: PathBuf,
    /// The process ID.
    pub process: u32,
    /// The identity of the starts that it serves.
    pub identity: Vec<u8>,
    /// The session keyring of the start that created it.
    pub keyring: String,
    /// The program, human-readable.
    pub program: String,
    /// The working directory.
    pub working_directory: PathBuf,
    /// The time of the request to create it, in seconds since 1970.
    pub began: u64,
    /// Modules that are not imported ahead, with the reasons.
    left_out: Vec<(String, String)>,
    /// Variables that matter to it.
    pub asked: VariablesRead,
    /// The arguments that it was created with, if they matter.
    arguments: Option<Vec<Vec<u8>>>,
    /// Every input of its imports.
    inputs: Inputs,
    directories: Vec<PathBuf>,
    /// The program's source files, with stamps.
    own: Vec<(PathBuf, String)>,
    /// The same files, with hashes of the lines that imports could depend on.
    skeletons: Vec<(PathBuf, String)>,
    metadata: Vec<(PathBuf, String)>,
    learned: Option<(PathBuf, String)>,
    /// Names of the modules that were imported ahead.
    names: HashSet<Vec<u8>>,
    /// Names of modules that the program or an installed module imports if they exist, and that
    /// did not.
    absent: HashSet<Vec<u8>>,
    /// Files with one of these names that are what was imported.
    known: HashSet<PathBuf>,
    /// Its imports may have kept a standard stream, or that there was none.
    uses_streams: bool,
    /// Names of packages without `__init__` that were imported ahead.
    namespaces: HashSet<Vec<u8>>,
    /// The line of the program before which it has stopped, and what that line does.
    prefix: Option<(String, String)>,
}

/// The records of a state: three fields each, which end with a NUL.
fn records(bytes: &[u8]) -> impl Iterator<Item = [&[u8]; 3]> {
    let mut ends = memchr::memchr_iter(0, bytes);
    let mut begin = 0;
    std::iter::from_fn(move || {
        let mut record = [&bytes[..0]; 3];
        for field in &mut record {
            let end = ends.next()?;
            *field = &bytes[begin..end];
            begin = end + 1;
        }
        Some(record)
    })
}

/// All parents in a directory whose files begin with `prefix`.
pub(crate) fn parents(directory: &Path, prefix: &str) -> Vec<Parent> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .filter(|entry| {
            let name = entry.file_name();
            name.as_bytes().starts_with(prefix.as_bytes()) && name.as_bytes().ends_with(b".parent")
        })
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths.iter().filter_map(|path| Parent::read(path)).collect()
}

impl Parent {
    fn read(path: &Path) -> Option<Parent> {
        let mut parent = Parent::parse(&fs::read(path).ok()?)?;
        parent.path = path.to_owned();
        Some(parent)
    }

    fn parse(bytes: &[u8]) -> Option<Parent> {
        let mut parent = Parent::default();
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let path = |bytes| PathBuf::from(OsStr::from_bytes(bytes));
        for record in records(bytes) {
            if parent.inputs.read(record) {
                continue;
            }
            let [kind, name, value] = record;
            match kind {
                b"socket" => parent.socket = path(name),
                b"process" => parent.process = text(name).parse().ok()?,
                b"identity" => parent.identity = name.to_vec(),
                b"keyring" => parent.keyring = text(name),
                b"program" => parent.program = text(name),
                b"place" => parent.working_directory = path(name),
                b"began" => parent.began = text(name).parse().ok()?,
                b"left-out" => parent.left_out.push((text(name), text(value))),
                b"all-variables" => parent.asked.everything = true,
                b"beginning" => parent.asked.beginnings.push(name.to_vec()),
                b"ending" => parent.asked.endings.push(name.to_vec()),
                b"arguments" => parent.arguments = Some(Vec::new()),
                b"argument" => parent.arguments.get_or_insert_default().push(name.to_vec()),
                b"variable" => {
                    let value = value.strip_prefix(b"=").map(<[u8]>::to_vec);
                    parent.asked.variables.push((name.to_vec(), value));
                }
                b"environment" => {
                    let pair = (name.to_vec(), value.to_vec());
                    parent.asked.environment.push(pair);
                }
                b"streams" => parent.uses_streams = true,
                b"namespace" => {
                    parent.namespaces.insert(name.to_vec());
                    parent.known.insert(path(value));
                }
                b"learned" => parent.learned = Some((path(name), text(value))),
                b"own" => parent.own.push((path(name), text(value))),
                b"skeleton" => parent.skeletons.push((path(name), text(value))),
                b"metadata" => parent.metadata.push((path(name), text(value))),
                b"directory" => parent.directories.push(path(name)),
                b"name" => drop(parent.names.insert(name.to_vec())),
                b"absent" => drop(parent.absent.insert(name.to_vec())),
                b"known" => drop(parent.known.insert(path(name))),
                b"prefix" => parent.prefix = Some((text(name), text(value))),
                _ => {}
            }
        }
        (parent.process > 0).then_some(parent)
    }

    /// Checks that the parent was created with the same environment, arguments and
    /// terminals, as far as they matter.
    pub(crate) fn suits(
        &self,
        environment: &Environment,
        arguments: &[OsString],
        terminals: &[libc::c_int],
    ) -> Result<(), Reason> {
        let is_same = |then: &Vec<Vec<u8>>| arguments.iter().map(|a| a.as_bytes()).eq(then);
        if !self.arguments.as_ref().is_none_or(is_same) {
            return Err(Reason::ArgumentsChanged);
        }
        self.asked.suits(environment)?;
        self.inputs.check_streams(terminals)
    }

    /// Returns true if it has run lines of the program, which may rely on open streams.
    pub(crate) fn needs_streams(&self) -> bool {
        self.prefix.is_some() || self.uses_streams
    }

    /// A human-readable addition to "started warm": the lines that ran ahead, or the modules
    /// that the program's code keeps from being imported ahead.
    pub(crate) fn explain_limits(&self) -> String {
        if let Some((place, why)) = &self.prefix {
            return format!("; its first lines run ahead, up to {place}, which {why}");
        }
        let found = self
            .left_out
            .iter()
            .find(|(name, _)| name.starts_with(AFTER));
        found.map_or_else(String::new, |(name, why)| {
            format!("; {name}, which {why}, is not imported ahead")
        })
    }

    /// The modules and code that do not run ahead, with the reasons.
    pub(crate) fn not_ahead(&self) -> Vec<(String, String)> {
        let prefix = self.prefix.iter();
        let after = prefix.map(|(place, why)| (format!("the program after {place}"), why.clone()));
        after.chain(self.left_out.iter().cloned()).collect()
    }

    /// Returns true if more was learned about the program since the parent was created.
    pub(crate) fn is_outdated(&self) -> bool {
        let learned = self.learned.as_ref();
        learned.is_some_and(|(path, then)| stamp(path) != *then)
    }

    /// The input file that has changed, if any.
    pub(crate) fn changed(&self) -> Option<PathBuf> {
        match self.inputs.verify() {
            Err(Changed::Path { path, .. }) => Some(path),
            _ => None,
        }
    }

    /// Checks that everything it has loaded would be loaded unchanged now. Fails soon after
    /// `stopped` is set.
    pub(crate) fn check_inputs(&self, stopped: &AtomicBool) -> Result<(), Reason> {
        self.inputs.verify_unless(stopped)?;
        for (path, then) in &self.metadata {
            if metadata(path) != *then {
                return Err(Reason::MetadataChanged(path.clone()));
            }
        }
        Ok(())
    }

    /// Checks that no changed source file of the program mentions a variable that the imports
    /// have read: the program may now set it before it imports.
    pub(crate) fn check_variables_unset(&self) -> Result<(), Reason> {
        let changed = self.own.iter().filter(|(path, then)| stamp(path) != *then);
        let found = changed
            .flat_map(|(path, _)| learned::words_of(path))
            .find(|word| {
                learned::is_of_libraries(word) || self.asked.everything || self.asked.asks_for(word)
            });
        match found {
            Some(name) => {
                let name = String::from_utf8_lossy(&name).into_owned();
                Err(Reason::NowMentions(name))
            }
            None => Ok(()),
        }
    }

    /// Checks that the changed source files of the program have the same code before their
    /// imports.
    pub(crate) fn check_code_before_imports(&self) -> Result<(), Reason> {
        let changed = self.own.iter().filter(|(path, then)| stamp(path) != *then);
        for (path, _) in changed {
            let known = self.skeletons.iter().find(|(known, _)| known == path);
            if known.is_some_and(|(path, then)| !skeleton(path).is_unchanged_since(then)) {
                return Err(Reason::CodeChanged(path.clone()));
            }
        }
        Ok(())
    }

    /// Checks that no file in `first`, or in another directory that is searched before the
    /// installed packages, shadows a module that was imported ahead.
    pub(crate) fn check_not_shadowed(&self, first: &Path) -> Result<(), Reason> {
        let listed = self.directories.iter().map(PathBuf::as_path);
        let is_own = |path: &&Path| !is_installed(path) && !is_within_packages(path);
        let mut before = listed.filter(is_own).chain([first]);
        before.try_for_each(|path| self.check_not_shadowed_by(path))
    }

    fn check_not_shadowed_by(&self, directory: &Path) -> Result<(), Reason> {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let file = entry.file_name();
            let stem = file
                .as_bytes()
                .split(|&byte| byte == b'.')
                .next()
                .unwrap_or_default();
            let is_absent = self.absent.contains(stem);
            if !is_absent && !self.names.contains(stem) {
                continue;
            }
            let (path, ending) = (entry.path(), &file.as_bytes()[stem.len()..]);
            // A directory without `__init__` does not shadow an installed module, but it may be
            // another part of a package that has none either, or one that was absent.
            let is_part = ending.is_empty() && (is_absent || self.namespaces.contains(stem));
            if is_part && path.is_dir() && !self.known.contains(&path) {
                let was_absent = true;
                return Err(Changed::Path { path, was_absent }.into());
            }
            let module = match ending {
                b"" => fs::read_dir(&path)
                    .into_iter()
                    .flatten()
                    .flatten()
                    .find(|inner| {
                        let name = inner.file_name();
                        let ending = name.as_bytes().strip_prefix(b"__init__");
                        ending.is_some_and(is_of_modules) && inner.path().is_file()
                    }),
                _ => (is_of_modules(ending) && path.is_file()).then_some(entry),
            };
            if let Some(module) = module
                && !self.known.contains(&module.path())
            {
                let path = module.path();
                // It may be a module of the program, which the next parent will know.
                return Err(match self.prefix.is_some() || is_absent {
                    true => Changed::Path {
                        path,
                        was_absent: true,
                    }
                    .into(),
                    false => Reason::Shadows(path),
                });
            }
        }
        Ok(())
    }
}

/// A stamp of the metadata of the packages in a directory, such as entry points. The format
/// equals the one in `python/state.py`.
fn metadata(directory: &Path) -> String {
    const ENDINGS: [&[u8]; 3] = [b".egg-info", b".dist-info", b".egg-link"];
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<OsString> = entries
        .map(|entry| entry.file_name())
        .filter(|name| {
            ENDINGS
                .iter()
                .any(|ending| name.as_bytes().ends_with(ending))
        })
        .collect();
    names.sort();
    let shown = names.iter().map(|name| {
        let path = directory.join(name);
        format!(
            "{} {};",
            stamp(&path),
            stamp(&path.join("entry_points.txt"))
        )
    });
    shown.collect()
}

/// The prefix of the name for modules that are imported after a line of the program.
const AFTER: &str = "what is imported after ";

/// Returns true for the file suffixes of Python modules.
fn is_of_modules(ending: &[u8]) -> bool {
    let is_for_one_python = || ending.starts_with(b".cpython-") && ending.ends_with(b".so");
    matches!(ending, b".py" | b".pyc" | b".so" | b".abi3.so") || is_for_one_python()
}

/// Returns true for a directory inside an installed package, which the package has added to
/// `sys.path`, as setuptools does with its vendored packages.
fn is_within_packages(directory: &Path) -> bool {
    let packages = ["site-packages", "dist-packages"].map(OsStr::new);
    let mut above = directory.ancestors().filter_map(Path::file_name);
    above.any(|name| packages.contains(&name))
}

fn is_installed(directory: &Path) -> bool {
    let name = directory.file_name().unwrap_or_default();
    ["site-packages", "dist-packages", "lib-dynload"]
        .iter()
        .any(|known| name == *known)
        || directory.join("os.py").exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warm_parent::ledger::Question;

    fn parent(records: &[[&str; 3]]) -> Parent {
        let head = [["process", "7", ""]];
        let text: String = head
            .iter()
            .chain(records)
            .flatten()
            .flat_map(|f| [f, "\0"])
            .collect();
        Parent::parse(text.as_bytes()).expect("it is valid")
    }

    #[test]
    fn arguments_matter_if_imports_read_them() {
        let parent = parent(&[["arguments", "", ""], ["argument", "--tpu", ""]]);
        assert_eq!(parent.suits(&[], &["--tpu".into()], &[]), Ok(()));
        assert!(parent.suits(&[], &[], &[]).is_err());
        assert!(
            parent
                .suits(&[], &["--tpu".into(), "x".into()], &[])
                .is_err()
        );
    }

    #[test]
    fn records_of_variables_are_parsed() {
        let asked = parent(&[
            ["variable", "ASKED", "=a"],
            ["variable", "ABSENT", ""],
            ["beginning", "TQDM_", ""],
            ["ending", "_proxy", ""],
            ["environment", "ASKED", "a"],
        ])
        .asked;
        let a = || b"a".to_vec();
        assert_eq!(
            asked.variables,
            [(b"ASKED".into(), Some(a())), (b"ABSENT".into(), None)]
        );
        assert_eq!(asked.environment, [(b"ASKED".to_vec(), a())]);
        assert!(asked.asks_for(b"TQDM_X") && asked.asks_for(b"no_proxy") && !asked.everything);
        let asked = parent(&[["all-variables", "", ""]]).asked;
        assert!(asked.everything);
    }

    #[test]
    fn changed_files_and_hidden_modules_are_detected() {
        let at = std::env::temp_dir().join(format!("preheat-state-{}", std::process::id()));
        fs::create_dir_all(at.join("space")).expect("a directory for the test");
        let file = at.join("m.py");
        fs::write(&file, "1").expect("it is written");
        let shown = file.to_str().expect("it is text");
        let parent = parent(&[
            ["input", shown, &Question::File.answer(&file).text()],
            ["name", "yaml", ""],
            ["name", "space", ""],
        ]);
        assert_eq!(parent.check_inputs(&AtomicBool::new(false)), Ok(()));
        // A directory without `__init__`, and files that are not modules.
        fs::create_dir(at.join("yaml")).expect("a directory for the test");
        fs::create_dir(at.join("yaml.py")).expect("a directory for the test");
        let write = |name: &str| fs::write(at.join(name), "").expect("it is written");
        for name in [
            "yaml.txt",
            "yaml.json.py",
            "yaml.other.so",
            "yaml/__init__.txt",
        ] {
            write(name);
            assert_eq!(parent.check_not_shadowed(&at), Ok(()), "{name}");
        }
        for name in [
            "space.py",
            "yaml.pyc",
            "yaml.so",
            "yaml.abi3.so",
            "yaml.cpython-311-x86_64-linux-gnu.so",
            "yaml/__init__.py",
        ] {
            write(name);
            let why = parent.check_not_shadowed(&at).expect_err(name);
            assert!(!why.is_over(), "{why}");
            fs::remove_file(at.join(name)).expect("it goes");
            assert!(why.is_over(), "{why}");
        }
        fs::write(&file, "22").expect("it is written");
        let stale = parent
            .check_inputs(&AtomicBool::new(false))
            .expect_err("it is stale");
        assert!(stale.to_string().contains("m.py"), "{stale}");
        fs::remove_dir_all(&at).expect("it goes");
    }

    #[test]
    fn vendored_packages_are_not_part_of_the_program() {
        let of = |path: &str| is_within_packages(Path::new(path));
        assert!(of("/venv/lib/python3/site-packages/setuptools/_vendor"));
        assert!(!of("/home/me/vendored") && !of("/usr/lib/python3"));
    }

    #[test]
    fn an_invalid_state_is_rejected() {
        assert!(Parent::parse(b"").is_none());
        assert!(Parent::parse(b"process\0many\0\0").is_none());
    }
}
