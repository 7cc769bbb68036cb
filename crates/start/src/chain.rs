//! Commands that turn into Python through a chain of `exec`: version manager shims, `env`,
//! `nice`, `uv run`, shell scripts.
//!
//! The Python at the end of such a chain is not known in advance. The command is therefore
//! executed with the shim preloaded, which recognizes the Python before its first line runs
//! and executes this program again (`crates/shim/src/chain.rs`), in the same process, with
//! everything that the chain has set. From there on it is a start like any other: warm, or
//! plain by executing that Python once more.
//!
//! This applies to shells and launchers only. The shim is never preloaded into others.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use preheat_launch::program::Program;
use preheat_launch::{LaunchError, program};
use preheat_wire::variables::{CHAIN, DIRECTORY};

use crate::Request;
use crate::reason::Reason;

/// Programs that become another one, or run it as their only child.
const LAUNCHERS: [&str; 28] = [
    "ash", "asdf", "bash", "chrt", "dash", "direnv", "env", "fish", "ionice", "ksh", "ksh93",
    "mise", "mksh", "nice", "nohup", "numactl", "prlimit", "runuser", "setarch", "setpriv",
    "setsid", "sh", "stdbuf", "taskset", "timeout", "uv", "uvx", "zsh",
];

/// The deepest nesting of scripts that name scripts as interpreters, as in the kernel.
const MAX_INTERPRETERS: usize = 5;

/// The variables for starting a command that may turn into Python; an error is the reason
/// why it cannot be followed.
pub(crate) fn variables(request: &Request<'_>) -> Result<Vec<(&'static str, OsString)>, Reason> {
    if std::env::var_os(DIRECTORY).is_some() {
        return Err(Reason::Recorded);
    }
    let shim = preheat_launch::kept_recorder()?;
    let client = std::env::current_exe().map_err(|why| Reason::Proc(why.into()))?;
    let mut lines = vec![
        std::process::id().to_string().into(),
        shim.clone().into_os_string(),
        client.into_os_string(),
        "start".into(),
    ];
    lines.extend(request.chain_options.iter().cloned());
    if lines.iter().any(|line| line.as_bytes().contains(&b'\n')) {
        return Err(Reason::LineBreak);
    }
    let mut set = vec![(CHAIN, lines.join(OsStr::new("\n")))];
    set.extend(crate::overlapped_init::preload(
        shim.as_os_str(),
        std::env::var_os("LD_PRELOAD"),
    ));
    Ok(set)
}

/// Returns true for programs that may turn into Python: shells, launchers, and their scripts.
pub(crate) fn may_become_python(program: &Program) -> bool {
    program.inject && leads_on(&program.path, 0)
}

fn leads_on(path: &Path, depth: usize) -> bool {
    match interpreter(path) {
        Some(interpreter) => depth < MAX_INTERPRETERS && leads_on(&interpreter, depth + 1),
        None => {
            let file = fs::canonicalize(path).unwrap_or_default();
            let name = file.file_name().unwrap_or_default();
            LAUNCHERS.iter().any(|known| name == *known)
        }
    }
}

/// The interpreter that a script names.
fn interpreter(path: &Path) -> Option<PathBuf> {
    let mut head = Vec::new();
    let file = File::open(path).ok()?;
    file.take(256).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?;
    let line = line.split(|&byte| byte == b'\n').next()?.trim_ascii();
    let first = line.split(|byte| b" \t".contains(byte)).next()?;
    Some(OsStr::from_bytes(first).into())
}

/// The program and the command line of the Python at the end of a chain: `executed` is the
/// path that the kernel used, and `words` are its arguments.
pub(crate) fn resumed(
    executed: &Path,
    words: &[OsString],
) -> Result<(Program, Vec<OsString>), LaunchError> {
    // A name without a slash would be searched for in PATH.
    let executed = match executed.as_os_str().as_bytes().contains(&b'/') {
        true => executed.to_owned(),
        false => Path::new(".").join(executed),
    };
    let program = program::find(executed.as_os_str())?;
    Ok((program, given(&executed, words)))
}

/// Removes the interpreter and the option that the kernel put before a script's path.
fn given(executed: &Path, words: &[OsString]) -> Vec<OsString> {
    if interpreter(executed).is_none() {
        return words.to_vec();
    }
    let at = words
        .iter()
        .skip(1)
        .take(2)
        .position(|word| word == executed);
    words[at.map_or(0, |at| at + 1)..].to_vec()
}

#[cfg(test)]
mod tests {
    use preheat_host::Scratch;

    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn shells_launchers_and_their_scripts_may_become_python() {
        for path in ["/bin/sh", "/usr/bin/env", "/usr/bin/nohup"] {
            assert!(leads_on(Path::new(path), 0), "{path}");
        }
        for path in ["/bin/ls", "/nowhere/env", "/etc/passwd"] {
            assert!(!leads_on(Path::new(path), 0), "{path}");
        }
        let scratch = Scratch::new("chain").expect("a directory for the test");
        let script = scratch.path().join("script");
        fs::write(&script, "#! /usr/bin/env -S python -u\n").expect("the file is writable");
        assert_eq!(interpreter(&script), Some("/usr/bin/env".into()));
        assert!(leads_on(&script, 0));
        let path = script.to_str().expect("the path is UTF-8");
        let line = words(&format!("python -u {path} a {path}"));
        assert_eq!(given(&script, &line), words(&format!("{path} a {path}")));
        fs::remove_file(&script).expect("the file can be removed");
        assert_eq!(given(&script, &words("python -u a")), words("python -u a"));
    }
}
