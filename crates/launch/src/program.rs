//! Inspects the program before it is started: finds it, and checks whether its loader will
//! load the recorder.
//!
//! Programs that cannot be recorded run anyway, with a note that gives the reason.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::getxattr_query;
use rustix::process::{getgid, getuid};

use crate::LaunchError;

mod elf;

use elf::{Elf, Loader};

/// The properties of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its path, found in the same way as by `execvp`.
    pub path: PathBuf,
    /// True if it is started with the recorder's variables.
    pub inject: bool,
    /// The reason that the program itself is not recorded. Its child processes may be.
    pub unrecorded: Option<String>,
    /// The file that the kernel executes: the interpreter of a script. Without symbolic links.
    pub executable: PathBuf,
}

/// Finds and inspects the program.
pub fn find(name: &OsStr) -> Result<Program, LaunchError> {
    let path = search(name, std::env::var_os("PATH"))?;
    let shown = Path::new(name).display().to_string();
    let mut program = inspect(&path, &shown, 0)?;
    if program.inject && preloads_sanitizer(std::env::var_os("LD_PRELOAD")) {
        program.inject = false;
        program.unrecorded = Some(format!("{shown} {SANITIZED}"));
    }
    let executable = fs::canonicalize(&program.executable);
    Ok(Program {
        path,
        executable: executable.unwrap_or(program.executable),
        ..program
    })
}

/// Searches in the same way as `execvp`: a name with a slash is a path; any other is the
/// first executable file of that name in `PATH`.
fn search(name: &OsStr, path: Option<OsString>) -> Result<PathBuf, LaunchError> {
    let shown = Path::new(name).display();
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return match executable(&path) {
            Executable::Yes => Ok(path),
            Executable::No => Err(LaunchError::CannotExecute(format!(
                "{shown} cannot be executed: it is not an executable file; run `chmod +x`, or put its interpreter in front"
            ))),
            Executable::Directory => Err(LaunchError::CannotExecute(format!(
                "{shown} cannot be executed: it is a directory"
            ))),
            Executable::Absent => Err(LaunchError::NotFound(format!("{shown} does not exist"))),
        };
    }
    let mut denied = None;
    let path = path.unwrap_or_else(|| "/bin:/usr/bin".into());
    for directory in std::env::split_paths(&path) {
        // An empty element means the current directory.
        let candidate = match directory.as_os_str().is_empty() {
            true => Path::new(".").join(name),
            false => directory.join(name),
        };
        match executable(&candidate) {
            Executable::Yes if !name.is_empty() => return Ok(candidate),
            Executable::No => denied = denied.or(Some(candidate)),
            _ => {}
        }
    }
    Err(match denied {
        Some(path) => LaunchError::CannotExecute(format!(
            "{} cannot be executed: it is not an executable file; run `chmod +x`",
            path.display()
        )),
        None => LaunchError::NotFound(format!(
            "`{shown}` was not found in PATH; check the spelling, and whether its environment is active"
        )),
    })
}

enum Executable {
    Yes,
    No,
    Directory,
    Absent,
}

fn executable(path: &Path) -> Executable {
    let Ok(metadata) = fs::metadata(path) else {
        return Executable::Absent;
    };
    if metadata.is_dir() {
        return Executable::Directory;
    }
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else {
        return Executable::Absent;
    };
    // Not by rustix, which asks `faccessat2` first: old containers refuse calls that they do not
    // know, and every program would seem to be forbidden.
    // SAFETY: the path ends with a NUL; faccessat reads it and nothing else.
    let may =
        unsafe { libc::faccessat(libc::AT_FDCWD, name.as_ptr(), libc::X_OK, libc::AT_EACCESS) };
    match metadata.is_file() && may == 0 {
        true => Executable::Yes,
        false => Executable::No,
    }
}

/// The maximum depth of nested interpreters, as in the kernel.
const MAX_INTERPRETERS: usize = 5;

/// Inspects the file at a path, or the interpreter that a script names.
fn inspect(path: &Path, shown: &str, depth: usize) -> Result<Program, LaunchError> {
    let inspected = |inject, unrecorded| Program {
        path: path.to_owned(),
        inject,
        unrecorded,
        executable: path.to_owned(),
    };
    // Programs may be executable but not readable: then only the loader can inspect them.
    let Ok(file) = File::open(path) else {
        return Ok(inspected(true, None));
    };
    let head = head(&file);
    if let Some(line) = head.strip_prefix(b"#!") {
        let Some(interpreter) = interpreter(line).filter(|_| depth < MAX_INTERPRETERS) else {
            return Ok(inspected(true, None));
        };
        if !interpreter.exists() {
            return Err(LaunchError::CannotExecute(format!(
                "{shown} cannot be executed: its first line refers to {}, which does not exist",
                interpreter.display()
            )));
        }
        // The kernel ignores privileges of a script, but not those of its interpreter.
        let name = format!("{shown}'s interpreter {}", interpreter.display());
        return inspect(&interpreter, &name, depth + 1);
    }
    if raises_privileges(path) {
        let why = format!(
            "{shown} raises its privileges (setuid, setgid or file capabilities), so the loader does not load the recorder"
        );
        return Ok(inspected(false, Some(why)));
    }
    Ok(match obstacle(&file, &head) {
        None => inspected(true, None),
        Some((inject, why)) => inspected(inject, Some(format!("{shown} {why}"))),
    })
}

/// The reason that a running program cannot be recorded, given its executable file.
pub(crate) fn unrecorded(file: &File) -> Option<&'static str> {
    obstacle(file, &head(file)).map(|(_, why)| why)
}

/// The beginning of a file.
fn head(file: &File) -> Vec<u8> {
    let mut head = Vec::new();
    let _ = file.take(4096).read_to_end(&mut head);
    head
}

/// The reason that the recorder cannot be loaded into a program, and whether to inject its
/// variables nevertheless.
fn obstacle(file: &File, head: &[u8]) -> Option<(bool, &'static str)> {
    match elf::read(file, head)? {
        Elf::Foreign => Some((false, "was built for another type of processor")),
        Elf::Native(Loader::None) => Some((
            // Its child processes may be dynamic: launchers are often static.
            true,
            "is statically linked, so the library of preheat cannot be loaded into it",
        )),
        Elf::Native(Loader::Musl) => Some((
            false,
            "is linked with musl, whose loader cannot load a library for glibc",
        )),
        Elf::Native(Loader::Sanitized) => Some((false, SANITIZED)),
        Elf::Native(Loader::Glibc) => None,
    }
}

const SANITIZED: &str =
    "runs with a sanitizer (ASan, TSan), whose runtime must be the first library";

/// Returns whether the user preloads a sanitizer.
fn preloads_sanitizer(preload: Option<OsString>) -> bool {
    let preload = preload.unwrap_or_default();
    let mut libraries = preload.as_bytes().split(|byte| b" :".contains(byte));
    libraries.any(elf::is_sanitizer)
}

/// The interpreter in the first line of a script.
fn interpreter(line: &[u8]) -> Option<PathBuf> {
    let line = line.split(|&byte| byte == b'\n').next()?;
    let mut words = line
        .split(|byte| b" \t".contains(byte))
        .filter(|word| !word.is_empty());
    words
        .next()
        .map(|word| PathBuf::from(OsStr::from_bytes(word)))
}

/// Returns whether the loader would run in secure-execution mode.
fn raises_privileges(path: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else {
        return false;
    };
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let by_user = metadata.mode() & libc::S_ISUID != 0 && metadata.uid() != user;
    // Without the group's execute bit, setgid used to mean mandatory locking.
    let group_bits = libc::S_ISGID | libc::S_IXGRP;
    let by_group = metadata.mode() & group_bits == group_bits && metadata.gid() != group;
    by_user || by_group || (user != 0 && has_capabilities(path))
}

fn has_capabilities(path: &Path) -> bool {
    getxattr_query(path, c"security.capability").is_ok_and(|size| size > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_path() {
        let found = search("sh".as_ref(), Some("/nowhere:/bin".into())).expect("sh exists");
        assert_eq!(found, Path::new("/bin/sh"));
        assert_eq!(
            search("sh".as_ref(), None).expect("the default path has sh"),
            found
        );
        let by_path = search("/bin/sh".as_ref(), Some("/nowhere".into()));
        assert_eq!(by_path.expect("by its path"), found);
    }

    #[test]
    fn missing_and_not_executable_have_different_codes() {
        let code = |name: &str| {
            let error = search(name.as_ref(), Some("/nowhere:/etc".into())).expect_err(name);
            error.exit_code()
        };
        assert_eq!(code("no-such-program"), 127);
        assert_eq!(code("/no/such/program"), 127);
        assert_eq!(code(""), 127);
        assert_eq!(code("/etc/passwd"), 126);
        assert_eq!(code("passwd"), 126);
        assert_eq!(code("/etc"), 126);
    }

    #[test]
    fn the_interpreter_of_a_script_is_parsed() {
        let of = |line: &str| interpreter(line.as_bytes());
        assert_eq!(of("/bin/sh\necho"), Some("/bin/sh".into()));
        assert_eq!(of(" \t/usr/bin/env python3\n"), Some("/usr/bin/env".into()));
        assert_eq!(of(" \n"), None);
    }

    #[test]
    fn a_preloaded_sanitizer_is_detected() {
        let is_sanitized = |preload: &str| preloads_sanitizer(Some(preload.into()));
        assert!(is_sanitized("/usr/lib/libasan.so.8") && is_sanitized("libm.so.6 libtsan.so.2"));
        assert!(
            !is_sanitized("")
                && !is_sanitized("/usr/lib/libm.so.6:libc.so.6")
                && !preloads_sanitizer(None)
        );
    }

    #[test]
    fn an_ordinary_program_is_recorded() {
        let found = find("sh".as_ref()).expect("sh exists");
        assert_eq!((found.inject, found.unrecorded), (true, None));
    }
}
