//! Rules for the tracer: effects that are harmless, and inputs that are not.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::calls::Creates;
use crate::warm_parent::ledger::{Ledger, Question};
use crate::warm_parent::variables::Environment;

/// The rules for one program.
pub(crate) struct Rules<'a> {
    /// The descriptor through which the parent sends messages to the tracer.
    pub channel: RawFd,
    /// Standard streams of the start that are terminals.
    pub terminals: Vec<libc::c_int>,
    /// The directories of preheat.
    pub own: Vec<PathBuf>,
    /// The directories of installed modules; each ends with a slash.
    pub roots: &'a [Vec<u8>],
    /// Variables that the program may set.
    pub sets: &'a BTreeSet<Vec<u8>>,
    /// Variables that differ at each start.
    pub varies: &'a BTreeSet<Vec<u8>>,
    /// Files that differ at each start.
    pub changing: &'a BTreeSet<PathBuf>,
    /// The environment of the start.
    pub environment: &'a Environment,
}

/// Directories for temporary files that Python tries.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/usr/tmp"];

/// Devices that discard everything written to them.
const SINKS: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/full"];

impl Rules<'_> {
    /// Returns true for paths that may be written: compiled modules, which Python writes if
    /// it can, the file with which `tempfile` tests a directory and which it removes, and the
    /// semaphore with which joblib does the same.
    pub(super) fn is_harmless(&self, path: &Path) -> bool {
        let is_sink = SINKS.iter().any(|known| path == Path::new(known));
        let prefix = self
            .variable(b"PYTHONPYCACHEPREFIX")
            .filter(|it| !it.is_empty());
        let is_in_prefix = prefix.is_some_and(|it| path.starts_with(OsStr::from_bytes(it)));
        is_sink
            || is_in_prefix
            || is_compiled(path)
            || self.is_removed_probe(path)
            || is_probed_semaphore(path)
            || is_thread_name(path)
    }

    fn is_removed_probe(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().as_bytes();
        let directory = path.parent().unwrap_or(path);
        name.len() == 8 && is_by_chance(name) && self.is_for_temporary(directory)
    }

    /// Returns true for a new file or directory with a random name of `tempfile`, in a directory
    /// for temporary files.
    pub(super) fn is_scratch(&self, path: &Path, creates: Creates) -> bool {
        let directory = path.parent().unwrap_or(path);
        matches!(creates, Creates::File | Creates::Directory)
            && is_temporary(path)
            && self.is_for_temporary(directory)
    }

    /// Returns true for a file without a name in a directory for temporary files.
    pub(super) fn is_unnamed(&self, directory: &Path, creates: Creates) -> bool {
        creates == Creates::Unnamed && self.is_for_temporary(directory)
    }

    /// The directory for temporary files that this path is, or is in.
    pub(super) fn temporary_directory<'b>(&self, path: &'b Path) -> Option<&'b Path> {
        let directory = path.parent().filter(|it| self.is_for_temporary(it));
        directory.or(Some(path).filter(|it| self.is_for_temporary(it)))
    }

    fn is_for_temporary(&self, directory: &Path) -> bool {
        let named = ["TMPDIR", "TEMP", "TMP"]
            .iter()
            .filter_map(|it| self.variable(it.as_bytes()));
        let mut all = named
            .map(|value| Path::new(OsStr::from_bytes(value)))
            .chain(TEMPORARY.iter().map(Path::new));
        all.any(|known| known == directory)
    }

    fn variable(&self, name: &[u8]) -> Option<&[u8]> {
        let found = self.environment.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| &value[..])
    }

    pub(super) fn is_installed(&self, path: &Path) -> bool {
        let path = [path.as_os_str().as_bytes(), b"/"].concat();
        self.roots.iter().any(|root| path.starts_with(root))
    }

    /// Returns true for paths that a program may change before it imports a module. Packages and
    /// what belongs to the system are installed, not written by programs.
    pub(super) fn may_change(&self, path: &Path) -> bool {
        const SYSTEM: [&str; 22] = [
            "/proc",
            "/sys",
            "/dev",
            "/usr",
            "/lib",
            "/lib64",
            "/bin",
            "/sbin",
            "/etc/alternatives",
            "/etc/crypto-policies",
            "/etc/gai.conf",
            "/etc/group",
            "/etc/host.conf",
            "/etc/hosts",
            "/etc/ld.so.cache",
            "/etc/ld.so.preload",
            "/etc/localtime",
            "/etc/nsswitch.conf",
            "/etc/passwd",
            "/etc/pki",
            "/etc/resolv.conf",
            "/etc/ssl",
        ];
        !self.is_installed(path)
            && !self.is_own(path)
            && !SYSTEM.iter().any(|above| path.starts_with(above))
    }

    /// Returns true for paths of preheat, which are not inputs of the imports.
    pub(super) fn is_own(&self, path: &Path) -> bool {
        self.own.iter().any(|own| path.starts_with(own))
    }

    /// The reason to stop if one of these paths differs at each start.
    pub(super) fn varying(&self, asked: &[(PathBuf, Question)]) -> Option<String> {
        let mut paths = asked.iter().map(|(path, _)| path);
        let path = paths.find(|path| self.changing.contains(*path))?;
        Some(format!(
            "reads {}, which differs at each start",
            path.display()
        ))
    }

    /// The reason why a variable that native code reads will have another value in a start;
    /// `is_ahead` if the program has not reached the code that sets it.
    pub(super) fn varying_variable(&self, name: &[u8], is_ahead: bool) -> Option<String> {
        let shown = String::from_utf8_lossy(name);
        if is_ahead && self.sets.contains(name) {
            Some(format!("reads {shown}, which the program sets"))
        } else if self.varies.contains(name) {
            Some(format!("reads {shown}, which differs at each start"))
        } else {
            None
        }
    }

    pub(super) fn note_variable(&self, name: &[u8], ledger: &mut Ledger) {
        // preheat changes PYTHONPATH, and variables of Python always matter anyway.
        if !name.is_empty() && !name.starts_with(b"PYTHON") && !name.starts_with(b"PREHEAT_") {
            ledger.record_variable(name, self.variable(name));
        }
    }
}

/// Returns true for compiled modules and their directories.
fn is_compiled(path: &Path) -> bool {
    let is_cache = |part: &OsStr| part == "__pycache__";
    let is_in_cache = path.iter().any(is_cache);
    is_in_cache || path.extension().is_some_and(|ending| ending == "pyc")
}

/// Returns true for names of files and directories that `tempfile` creates: `tmp`, eight random
/// characters, and perhaps an ending.
fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let rest = name
        .strip_prefix(b"tmp")
        .and_then(|it| it.split_at_checked(8));
    rest.is_some_and(|(random, ending)| {
        is_by_chance(random) && (ending.is_empty() || ending.starts_with(b"."))
    })
}

/// Returns true for random names of `tempfile`.
fn is_by_chance(name: &[u8]) -> bool {
    name.iter()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// The beginning of the path of a semaphore.
const SEMAPHORES: &[u8] = b"/dev/shm/sem.";

/// Returns true for a semaphore that has no name yet: the C library creates it in a file with a
/// random name, maps that, and links it.
pub(super) fn is_unnamed_semaphore(path: &Path) -> bool {
    let name = path.as_os_str().as_bytes().strip_prefix(SEMAPHORES);
    name.is_some_and(|name| name.len() == 6 && name.iter().all(u8::is_ascii_alphanumeric))
}

/// Returns true for the semaphore that joblib creates and removes when it is imported, which has
/// the number of its process and a random word in its name; no other gets a name. One that stays
/// is found afterwards, since it is still mapped.
fn is_probed_semaphore(path: &Path) -> bool {
    let name = path.as_os_str().as_bytes().strip_prefix(SEMAPHORES);
    let rest = name.and_then(|name| name.strip_prefix(b"joblib-"));
    let mut parts = rest
        .into_iter()
        .flat_map(|rest| rest.splitn(2, |&byte| byte == b'-'));
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    parts.next().is_some_and(is_number)
        && parts
            .next()
            .is_some_and(|word| word.len() == 8 && is_by_chance(word))
}

/// The file that `ldconfig -p` prints.
pub(super) const LIBRARY_CACHE: &str = "/etc/ld.so.cache";

/// Returns true for programs that only print the content of a file: `ctypes.util.find_library`
/// asks one for the names of libraries.
pub(super) fn is_harmless_program(words: &[PathBuf]) -> bool {
    let known = ["/sbin/ldconfig", "/usr/sbin/ldconfig"].map(Path::new);
    matches!(words, [program, option] if known.contains(&program.as_path()) && option == Path::new("-p"))
}

/// Returns true for the file by which the C library names another thread of the process.
fn is_thread_name(path: &Path) -> bool {
    path.starts_with("/proc/self/task") && path.ends_with("comm")
}

/// Describes a write to a path, as a predicate of the module.
pub(super) fn writing(path: &Path, what: &str) -> String {
    let text = path.as_os_str().as_bytes();
    if text.starts_with(SEMAPHORES) {
        "creates a semaphore that all starts would share".into()
    } else if text.starts_with(b"/dev/shm/") {
        "creates memory that all starts would share".into()
    } else if text.starts_with(b"/dev/nvidia") {
        "opens the GPU".into()
    } else {
        format!("{what} {} when it is imported", path.display())
    }
}

pub(super) fn path(bytes: &[u8]) -> PathBuf {
    OsStr::from_bytes(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_effects_are_harmless() {
        let none = BTreeSet::new();
        let environment = [(b"TMPDIR".to_vec(), b"/scratch".to_vec())];
        let rules = Rules {
            channel: 6,
            terminals: Vec::new(),
            own: vec!["/run/preheat".into()],
            roots: &[b"/lib/python3/".to_vec()],
            sets: &BTreeSet::from([b"MODE".to_vec()]),
            varies: &none,
            changing: &BTreeSet::new(),
            environment: &environment,
        };
        for path in [
            "/dev/null",
            "/lib/x/__pycache__",
            "/lib/x/__pycache__/a.cpython-311.pyc.140111927575856",
            "/scratch/r098thtc",
            "/tmp/r098thtc",
            "/proc/self/task/1737/comm",
        ] {
            assert!(rules.is_harmless(Path::new(path)), "{path}");
        }
        for path in ["/tmp/report.txt", "/home/r098thtc", "/tmp/tmp9qqzvw1y"] {
            assert!(!rules.is_harmless(Path::new(path)), "{path}");
        }
        for (path, creates, is_scratch) in [
            ("/tmp/tmp9qqzvw1y", Creates::Directory, true),
            ("/scratch/tmp9qqzvw1y.so", Creates::File, true),
            ("/tmp/tmp9qqzvw1y", Creates::Nothing, false),
            ("/tmp/tmp9qqzvw1y", Creates::Unnamed, false),
            ("/tmp/tmp9qqzvw1y-lock", Creates::File, false),
            ("/tmp/tmp9qq", Creates::File, false),
            ("/tmp/a/tmp9qqzvw1y", Creates::File, false),
            ("/home/tmp9qqzvw1y", Creates::File, false),
        ] {
            assert_eq!(
                rules.is_scratch(Path::new(path), creates),
                is_scratch,
                "{path}"
            );
        }
        assert!(rules.is_unnamed(Path::new("/scratch"), Creates::Unnamed));
        assert!(!rules.is_unnamed(Path::new("/scratch"), Creates::File));
        let directory = |path| rules.temporary_directory(Path::new(path));
        assert_eq!(directory("/tmp/r098thtc"), Some(Path::new("/tmp")));
        assert_eq!(directory("/scratch"), Some(Path::new("/scratch")));
        assert_eq!(directory("/home/x"), None);
        assert!(rules.is_installed(Path::new("/lib/python3")));
        assert!(!rules.is_installed(Path::new("/lib/python3x")));
        assert!(rules.is_own(Path::new("/run/preheat/x")));
        assert!(rules.varying_variable(b"MODE", true).is_some());
        assert!(rules.varying_variable(b"MODE", false).is_none());
        assert!(rules.varying_variable(b"HOME", true).is_none());
    }

    #[test]
    fn only_semaphores_of_joblib_get_a_name() {
        for (path, is_tried) in [
            ("/dev/shm/sem.kd66Q2", false),
            ("/dev/shm/sem.joblib-12-x7_ab0cd", true),
            ("/dev/shm/sem.joblib-queue", false),
            ("/dev/shm/sem.joblib-12-x7_ab", false),
            ("/dev/shm/sem.mp-kd66Q2", false),
            ("/dev/shm/kd66Q2", false),
        ] {
            assert_eq!(is_probed_semaphore(Path::new(path)), is_tried, "{path}");
        }
    }
}
