//! Changes between the start for which a warm parent was created and the next one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A change; the files that it makes are those of a scratch directory.
pub struct Change {
    /// The name in the table of known differences.
    pub name: &'static str,
    how: How,
}

enum How {
    Nothing,
    Set(&'static str, &'static str),
    Unset(&'static str),
    /// A file of the program's directory and its new text; none to remove it.
    File(&'static str, Option<&'static str>),
    /// Something to add to an installed module.
    Module(&'static str),
    Arguments(&'static [&'static str]),
    /// Shell commands that run before the program.
    Shell(&'static str),
    /// An option of `unshare`, and a command of a shell inside; nothing where that is forbidden.
    Namespace(&'static str, &'static str),
    Options(&'static [&'static str]),
}

const fn change(name: &'static str, how: How) -> Change {
    Change { name, how }
}

pub const CHANGES: &[Change] = &[
    change("nothing", How::Nothing),
    change("sets_a", How::Set("FUZZ_A", "changed")),
    change("unsets_a", How::Unset("FUZZ_A")),
    change("sets_b", How::Set("FUZZ_B", "changed")),
    change("sets_other", How::Set("FUZZ_OTHER", "new")),
    change("sets_time_zone", How::Set("TZ", "America/New_York")),
    change("sets_language", How::Set("LC_ALL", "C")),
    change("sets_warnings", How::Set("PYTHONWARNINGS", "error")),
    change("sets_unbuffered", How::Set("PYTHONUNBUFFERED", "1")),
    change("sets_path", How::Set("PYTHONPATH", "vendored")),
    change(
        "edits_read_file",
        How::File("read.txt", Some("another text")),
    ),
    change("deletes_read_file", How::File("read.txt", None)),
    change("edits_config", How::File("config.txt", Some("production"))),
    change("deletes_config", How::File("config.txt", None)),
    change("creates_absent", How::File("absent.txt", Some("here"))),
    change(
        "creates_absent_module",
        How::File("fuzz_absent.py", Some("VALUE = 'here'\n")),
    ),
    change("adds_plugin", How::File("plugins/another.txt", Some(""))),
    change("edits_home", How::File("home/.fuzzrc", Some("edited"))),
    change("edits_unread_file", How::File("unread.txt", Some("edited"))),
    change(
        "edits_own_module",
        How::File("fuzz_own.py", Some("VALUE = 'edited'\n")),
    ),
    change(
        "edits_vendored",
        How::File("vendored/fuzz_vendored.py", Some("VALUE = 'edited'\n")),
    ),
    change(
        "hides_module",
        How::File("json.py", Some("def dumps(value): return 'hidden'\n")),
    ),
    change("edits_installed", How::Module("print('edited')\n")),
    change("adds_argument", How::Arguments(&["--number", "7"])),
    change("adds_debug", How::Arguments(&["--debug"])),
    change("strange_arguments", How::Arguments(&["", "ü", "-c", "--"])),
    change("goes_elsewhere", How::Shell("cd elsewhere")),
    change("limits_files", How::Shell("ulimit -n 300")),
    change("masks", How::Shell("umask 077")),
    change("ignores_signals", How::Shell("trap '' INT USR1")),
    change("closes_input", How::Shell("exec <&-")),
    change("reads_file", How::Shell("exec <read.txt")),
    change("writes_to_file", How::Shell("exec >printed.txt")),
    change("closes_error", How::Shell("exec 2>&-")),
    change("limits_stack", How::Shell("ulimit -s 4096")),
    change("limits_memory", How::Shell("ulimit -v 16000000")),
    change(
        "limits_processors",
        How::Shell("taskset -pc 0 $$ >/dev/null 2>&1"),
    ),
    change(
        "other_host",
        How::Namespace("-u", "hostname fuzz && exec \"$@\""),
    ),
    change("other_network", How::Namespace("-n", "exec \"$@\"")),
    change("other_mounts", How::Namespace("-m", "exec \"$@\"")),
    change("lowers_priority", How::Shell("renice -n 5 $$ >/dev/null")),
    change("warns_as_error", How::Options(&["-W", "error"])),
    change("optimizes", How::Options(&["-O"])),
];

impl Change {
    pub fn of(name: &str) -> &'static Change {
        let found = CHANGES.iter().find(|change| change.name == name);
        found.expect("it is in the table")
    }

    /// Changes files: in the program's directory and in the installed modules.
    pub fn make(&self, directory: &Path, modules: &[PathBuf]) {
        match &self.how {
            How::File(name, Some(text)) => {
                fs::write(directory.join(name), text).expect("it is written");
            }
            How::File(name, None) => fs::remove_file(directory.join(name)).expect("it goes"),
            How::Module(text) => {
                for path in modules {
                    let before = fs::read_to_string(path).expect("it exists");
                    fs::write(path, before + text).expect("it is written");
                }
            }
            _ => {}
        }
    }

    /// Put back what installed modules were; the rest is the directory's own.
    pub fn undo(&self, modules: &[(PathBuf, String)]) {
        if let How::Module(_) = self.how {
            for (path, text) in modules {
                fs::write(path, text).expect("it is written");
            }
        }
    }

    /// The command with what comes before the program, its options and its arguments.
    pub fn command(&self, before: &[&str], python: &str, script: &str) -> Command {
        let mut command = Command::new("sh");
        let first = match self.how {
            How::Shell(text) => text.to_owned(),
            How::Namespace(option, text) => {
                let inside = format!("unshare {option} sh -c '{text}' sh");
                format!("{inside} true 2>/dev/null && exec {inside} \"$@\"")
            }
            _ => ":".to_owned(),
        };
        command.args(["-c", &format!("{first}\nexec \"$@\""), "sh"]);
        command.args(before).arg(python);
        if let How::Options(options) = self.how {
            command.args(options);
        }
        command.arg(script);
        if let How::Arguments(arguments) = self.how {
            command.args(arguments);
        }
        command.stdin(Stdio::null());
        command
    }

    /// Sets or removes variables of the environment, after everything else.
    pub fn environment(&self, command: &mut Command) {
        match self.how {
            How::Set(name, value) => drop(command.env(name, value)),
            How::Unset(name) => drop(command.env_remove(name)),
            _ => {}
        }
    }
}
