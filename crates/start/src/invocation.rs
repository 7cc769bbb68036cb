//! Parses a command: the Python that it starts, its options, and the program that runs.
//!
//! This reads a command line as the kernel (a script's first line), `env` and CPython
//! would, and finds reasons why a command cannot be started warm. It starts nothing.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use preheat_launch::{LaunchError, program};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::reason::Reason;

/// The longest program that is accepted from standard input, in bytes.
const MAX_INPUT: usize = 1 << 20;

/// A command that runs a program with Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invocation {
    /// The path of the interpreter, as it would be executed.
    pub interpreter: PathBuf,
    /// The whole command line of Python.
    pub words: Vec<OsString>,
    /// The number of words before the arguments of the program.
    pub leading: usize,
    /// The program.
    pub main: Main,
    /// The name that the kernel would give the process.
    pub name: OsString,
}

/// The program that a Python runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Main {
    /// A file, or a directory or archive with a `__main__.py`.
    Script(PathBuf),
    /// `-m`.
    Module(OsString),
    /// `-c`.
    Code(OsString),
    /// The rest of a file that is open as standard input.
    Input(Vec<u8>),
}

/// Finds the program of the command, as `execvp` does.
pub(crate) fn find(command: &[OsString]) -> Result<program::Program, LaunchError> {
    let name = command
        .first()
        .ok_or_else(|| LaunchError::Usage("no command to start".into()))?;
    program::find(name)
}

/// Parses `command`, whose program is at `path`.
pub(crate) fn read(command: &[OsString], path: &Path) -> Result<Invocation, Reason> {
    let (interpreter, words) = match first_line(path) {
        None => (path.to_owned(), command.to_vec()),
        Some(line) => through_script(command, path, &line)?,
    };
    if !is_python(&interpreter) {
        return Err(no_python(path, &interpreter));
    }
    let (leading, main) = main(&words, standard_input)?;
    if let Main::Script(script) = &main
        && is_stream(script)
    {
        return Err(Reason::ReadOnce(script.clone()));
    }
    Ok(Invocation {
        interpreter,
        words,
        leading,
        main,
        name: path.file_name().unwrap_or_default().to_owned(),
    })
}

/// The reason why `path`, run by `interpreter`, is not Python. Version managers put shell
/// scripts named `python` into PATH.
fn no_python(path: &Path, interpreter: &Path) -> Reason {
    let shell = interpreter.to_owned();
    match is_python(path) {
        true => Reason::ShellScript {
            path: path.to_owned(),
            shell,
        },
        false => Reason::NotPython(shell),
    }
}

/// The first line of a script after its `#!`.
fn first_line(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)
        .ok()?
        .take(256)
        .read_to_end(&mut head)
        .ok()?;
    let line = head
        .strip_prefix(b"#!")?
        .split(|&byte| byte == b'\n')
        .next()?;
    Some(line.trim_ascii().to_vec())
}

/// The interpreter and the command line of a script. The kernel passes the rest of the first
/// line to the interpreter as one word, and `env` searches for that word in PATH.
fn through_script(
    command: &[OsString],
    path: &Path,
    line: &[u8],
) -> Result<(PathBuf, Vec<OsString>), Reason> {
    let is_blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
    let (first, rest) = match line.iter().position(is_blank) {
        Some(at) => (&line[..at], line[at..].trim_ascii()),
        None => (line, &b""[..]),
    };
    let first = PathBuf::from(OsStr::from_bytes(first));
    let mut words = Vec::new();
    let interpreter = if first.file_name() == Some(OsStr::new("env")) {
        let plain = !rest.is_empty() && !rest.iter().any(|byte| is_blank(byte) || *byte == b'=');
        if !plain || rest.starts_with(b"-") {
            return Err(Reason::EnvOptions);
        }
        let name = OsStr::from_bytes(rest);
        words.push(name.to_owned());
        program::find(name)?.path
    } else {
        words.push(first.clone().into_os_string());
        if !rest.is_empty() {
            words.push(OsStr::from_bytes(rest).to_owned());
        }
        first
    };
    if first_line(&interpreter).is_some() {
        return Err(Reason::NestedScript(interpreter));
    }
    words.push(path.as_os_str().to_owned());
    words.extend(command.iter().skip(1).cloned());
    Ok((interpreter, words))
}

/// Returns true for files named like Python. Later, the Python itself checks whether it can
/// be forked.
fn is_python(path: &Path) -> bool {
    let file = fs::canonicalize(path).unwrap_or_default();
    let name = file.file_name().unwrap_or_default().as_bytes();
    name.strip_prefix(b"python").is_some_and(|rest| {
        rest.iter()
            .all(|byte| byte.is_ascii_digit() || *byte == b'.')
    })
}

/// Parses options as CPython does, into the number of words before the program's arguments
/// and the program.
fn main(
    words: &[OsString],
    input: impl FnOnce() -> Result<Vec<u8>, Reason>,
) -> Result<(usize, Main), Reason> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let bytes = word.as_bytes();
        if bytes == b"-" {
            break;
        }
        if let Some(long) = bytes.strip_prefix(b"--") {
            match long {
                b"check-hash-based-pycs" => at += 2,
                b"" => return Err(Reason::OptionsEnd),
                _ => return Err(Reason::RunsNothing(word.display().to_string())),
            }
            continue;
        }
        let Some(letters) = bytes.strip_prefix(b"-") else {
            return Ok((at + 1, Main::Script(word.into())));
        };
        at += 1;
        for (index, letter) in letters.iter().enumerate() {
            let rest = &letters[index + 1..];
            match letter {
                b'c' | b'm' | b'W' | b'X' => {
                    let value = if rest.is_empty() {
                        at += 1;
                        words.get(at - 1).cloned().ok_or(Reason::IncompleteOption)?
                    } else {
                        OsString::from_vec(rest.to_vec())
                    };
                    match letter {
                        b'c' => return Ok((at, Main::Code(value))),
                        b'm' => return Ok((at, Main::Module(value))),
                        _ => break,
                    }
                }
                b'b' | b'B' | b'd' | b'O' | b'P' | b'q' | b'R' | b's' | b'u' | b'x' => {}
                b'E' | b'I' => return Err(Reason::Isolated),
                b'S' => return Err(Reason::NoSite),
                b'i' => return Err(Reason::Interactive),
                b'v' => return Err(Reason::Verbose),
                other => {
                    return Err(Reason::RunsNothing(format!("-{}", char::from(*other))));
                }
            }
        }
    }
    Ok(((at + 1).min(words.len()), Main::Input(input()?)))
}

/// Returns true for scripts that can be read only once (pipes, devices) or that differ
/// between processes (`/dev/stdin`, `/dev/fd/63`), also through symlinks.
fn is_stream(script: &Path) -> bool {
    const MAX_LINKS: usize = 40;
    if fs::metadata(script).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return true;
    }
    let mut at = script.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(path) = std::path::absolute(&at) else {
            return true;
        };
        let directory = path.parent().and_then(|path| fs::canonicalize(path).ok());
        let path = match (directory, path.file_name()) {
            (Some(directory), Some(name)) => directory.join(name),
            _ => path,
        };
        if path.starts_with("/dev") || path.starts_with("/proc") {
            return true;
        }
        match fs::read_link(&path) {
            Ok(link) => at = path.parent().unwrap_or(Path::new("/")).join(link),
            Err(_) => return false,
        }
    }
    true
}

/// Reads a program from standard input without consuming it, if that is a file. Closing a
/// duplicate of the descriptor would release the locks that this process holds on the file.
fn standard_input() -> Result<Vec<u8>, Reason> {
    let failed = |why: Errno| Reason::InputUnreadable(io::Error::from(why).into());
    let input = io::stdin();
    let stat = rustix::fs::fstat(&input).map_err(failed)?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(Reason::InputNotFile);
    }
    // Read by offset, so that the position stays unchanged for the program.
    let from = rustix::fs::tell(&input).map_err(failed)?;
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let length = usize::try_from(size.saturating_sub(from)).unwrap_or(usize::MAX);
    if length > MAX_INPUT {
        return Err(Reason::InputTooLong);
    }
    let mut content = vec![0; length];
    let mut read = 0;
    while read < length {
        match rustix::io::pread(&input, &mut content[read..], from + read as u64) {
            Ok(0) => return Err(failed(Errno::IO)),
            Ok(more) => read += more,
            Err(Errno::INTR) => {}
            Err(why) => return Err(failed(why)),
        }
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<(usize, Main), Reason> {
        let words: Vec<_> = line.split(' ').map(OsString::from).collect();
        main(&words, || Err(Reason::InputNotFile))
    }

    #[test]
    fn a_file_as_standard_input_is_a_program() {
        for (line, leading) in [("python", 1), ("python -u", 2), ("python -u - a b", 3)] {
            let words: Vec<_> = line.split(' ').map(OsString::from).collect();
            let read = main(&words, || Ok(b"pass".into()));
            assert_eq!(read, Ok((leading, Main::Input(b"pass".into()))), "{line}");
        }
    }

    #[test]
    fn streams_are_recognized() {
        for stream in ["/dev/stdin", "/dev/fd/63", "/proc/self/fd/0", "/dev/null"] {
            assert!(is_stream(Path::new(stream)), "{stream}");
        }
        for file in ["/bin/sh", "/tmp", "/nowhere/x.py", "x.py"] {
            assert!(!is_stream(Path::new(file)), "{file}");
        }
    }

    #[test]
    fn options_are_read_as_python_reads_them() {
        let script = |name: &str| Main::Script(name.into());
        assert_eq!(of("python x.py -c a"), Ok((2, script("x.py"))));
        assert_eq!(of("python -u -W error x.py"), Ok((5, script("x.py"))));
        assert_eq!(of("python -uOWerror -Xutf8 x.py"), Ok((4, script("x.py"))));
        assert_eq!(of("python -um a.b c"), Ok((3, Main::Module("a.b".into()))));
        assert_eq!(of("python -ma.b c"), Ok((2, Main::Module("a.b".into()))));
        assert_eq!(
            of("python -B -c pass x"),
            Ok((4, Main::Code("pass".into())))
        );
    }

    #[test]
    fn commands_that_cannot_be_warm_give_a_reason() {
        for line in [
            "python",
            "python -",
            "python -i x.py",
            "python -I x.py",
            "python -V",
            "python -m",
            "python --version",
            "python -ES x.py",
            "python -v x.py",
            "python -- x.py",
        ] {
            assert!(of(line).is_err(), "{line}");
        }
    }

    #[test]
    fn other_and_missing_programs_are_not_python() {
        assert!(!is_python(Path::new("/bin/sh")));
        assert!(!is_python(Path::new("/nowhere/python3")));
    }

    #[test]
    fn a_first_line_is_read_as_the_kernel_and_env_do() {
        let read = |line: &str| {
            through_script(&["x".into(), "1".into()], Path::new("./x"), line.as_bytes())
        };
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let (path, given) = read("/bin/sh -e  -u").expect("it is valid");
        assert_eq!(path, Path::new("/bin/sh"));
        assert_eq!(given, words(&["/bin/sh", "-e  -u", "./x", "1"]));
        let (_, given) = read("/usr/bin/env sh").expect("it is valid");
        assert_eq!(given, words(&["sh", "./x", "1"]));
        assert!(read("/usr/bin/env -S sh -e").is_err());
        assert!(read("/usr/bin/env A=1 sh").is_err());
    }
}
