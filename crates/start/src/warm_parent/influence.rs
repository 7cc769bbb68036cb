//! Code in the program's source files that may influence an import: functions that change
//! state which imports depend on, and assignments to attributes of modules.
//!
//! The warm parent parses the files and decides what it imports (`before.py`). If a file has
//! changed since, the client compares only the lines that could affect this decision.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use crate::identity::name;

/// Names of functions and attributes that can influence imports. Environment variables are
/// handled by name elsewhere; `load_dotenv` sets some that no file mentions.
pub(crate) const INFLUENCES: [&str; 46] = [
    "simplefilter",
    "filterwarnings",
    "resetwarnings",
    "catch_warnings",
    "showwarning",
    "captureWarnings",
    "basicConfig",
    "dictConfig",
    "fileConfig",
    "setLevel",
    "addHandler",
    "setLoggerClass",
    "setLogRecordFactory",
    "load_dotenv",
    "read_dotenv",
    "read_env",
    "putenv",
    "unsetenv",
    "chdir",
    "fchdir",
    "setlocale",
    "tzset",
    "meta_path",
    "path_hooks",
    "path_importer_cache",
    "addsitedir",
    "setrecursionlimit",
    "set_start_method",
    "set_int_max_str_digits",
    "setdlopenflags",
    "settrace",
    "setprofile",
    "addaudithook",
    // They measure imports.
    "cProfile",
    "tracemalloc",
    // Exit functions, including those of modules, are called in reverse order.
    "atexit",
    "monkey",
    "reload",
    // Settings of the standard library and of PyTorch that modules read when they are imported.
    "setdefaulttimeout",
    "setcontext",
    "setrlimit",
    "sched_setaffinity",
    "set_default_dtype",
    "set_default_device",
    "set_default_tensor_type",
    "register_error",
];

/// Names of functions that begin like this change a setting, also if their result is used
/// (`before.py` has the same).
const CHANGING: [&[u8]; 8] = [
    b"set_",
    b"register",
    b"install",
    b"enable",
    b"disable",
    b"configure",
    b"patch",
    b"add_hook",
];

/// Names of functions that change no setting of a library on which a later import could depend.
/// A call of any other function whose result is not used is assumed to change one.
pub(crate) const HARMLESS: [&str; 84] = [
    // They end the program, or run it.
    "exit",
    "_exit",
    "abort",
    "run",
    "main",
    "run_until_complete",
    "freeze_support",
    "fire",
    "Fire",
    // They wait.
    "sleep",
    "join",
    "wait",
    "result",
    "synchronize",
    "barrier",
    "acquire",
    "release",
    // They print, log or draw.
    "print",
    "pprint",
    "echo",
    "secho",
    "write",
    "writelines",
    "flush",
    "log",
    "debug",
    "info",
    "warn",
    "warning",
    "error",
    "exception",
    "critical",
    "print_exc",
    "print_exception",
    "print_stack",
    "plot",
    "scatter",
    "hist",
    "bar",
    "imshow",
    "figure",
    "subplot",
    "subplots_adjust",
    "title",
    "xlabel",
    "ylabel",
    "legend",
    "grid",
    "tight_layout",
    "savefig",
    "show",
    "close",
    // They change files and processes.
    "makedirs",
    "mkdir",
    "remove",
    "unlink",
    "rmdir",
    "rmtree",
    "rename",
    "replace",
    "copy",
    "copy2",
    "copyfile",
    "copytree",
    "move",
    "open",
    "dump",
    "save",
    "savez",
    "savetxt",
    "call",
    "check_call",
    "check_output",
    "Popen",
    "kill",
    // They draw or seed random numbers; a module that draws some is not imported ahead.
    "seed",
    "manual_seed",
    "manual_seed_all",
    "shuffle",
    // They compute.
    "no_grad",
    "inference_mode",
    "collect",
    "empty_cache",
    "suppress",
];

/// The code of a file that imports could depend on.
#[derive(Debug)]
pub(crate) struct Skeleton {
    /// A hash of everything up to its last import, and of later lines that may influence imports.
    hash: String,
    /// All of it.
    text: Vec<u8>,
}

impl Skeleton {
    /// Returns true if it is equal to what a parent has stored: the hash, the names by which its
    /// libraries change where modules are searched for, and the uses of these names, each on a line.
    pub(crate) fn is_unchanged_since(&self, stored: &str) -> bool {
        let mut parts = stored.split('\n');
        let mut next = || parts.next().unwrap_or_default();
        let (hash, names, uses) = (next(), next(), next());
        hash == self.hash && (names.is_empty() || uses == self.uses(names))
    }

    /// The hash, for the plan of a parent.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.hash.as_bytes()
    }

    /// The lines that contain one of these names, without punctuation. The format equals the one
    /// in `python/redirects.py`.
    fn uses(&self, names: &str) -> String {
        let names: HashSet<&[u8]> = words(names.as_bytes()).collect();
        let lines = self.text.split(|&byte| byte == b'\n');
        let used = lines.filter(|line| words(line).any(|word| names.contains(word)));
        let shown = used.map(|line| words(line).collect::<Vec<_>>().join(&b' '));
        String::from_utf8_lossy(&shown.collect::<Vec<_>>().join(&b';')).into_owned()
    }
}

/// The skeleton of a file.
pub(crate) fn skeleton(path: &Path) -> Skeleton {
    let text = fs::read(path).unwrap_or_default();
    let hash = hash(&text);
    Skeleton { hash, text }
}

fn hash(text: &[u8]) -> String {
    if text.contains(&0) {
        return name(text); // Compiled code.
    }
    let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    let imported: HashSet<&[u8]> = lines
        .iter()
        .map(|line| line.trim_ascii())
        .filter(|line| is_import(line))
        .flat_map(words)
        .collect();
    let last = lines
        .iter()
        .rposition(|line| is_import(line))
        .map_or(0, |at| at + 1);
    let (before, after) = lines.split_at(last);
    // A name of a path is no longer one if it is bound again.
    let paths: HashSet<&[u8]> = before.iter().flat_map(|line| bound(line)).collect();
    let after = after.iter().filter(|line| {
        is_import(line.trim_ascii())
            || may_influence(line)
            || has_effect(line, &imported)
            || words(line).any(|word| paths.contains(word))
    });
    let all: Vec<&[u8]> = before
        .iter()
        .chain(after)
        .map(|line| line.trim_ascii_end())
        .collect();
    name(&all.join(&b'\n'))
}

fn is_import(line: &[u8]) -> bool {
    line.starts_with(b"import ") || line.starts_with(b"from ")
}

/// The names to which a line assigns something.
fn bound(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| byte == b';').filter_map(|part| {
        let at = part.iter().position(|&byte| byte == b'=')?;
        let mut names = words(&part[..at]);
        names.next().filter(|_| names.next().is_none())
    })
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    line.split(move |byte| !is_part(byte))
        .filter(|word| !word.is_empty())
}

/// Returns true for lines that may begin a call for its effect, of a function that is not
/// harmless, or give another name to something imported.
fn has_effect(line: &[u8], imported: &HashSet<&[u8]>) -> bool {
    let mut parts = line.split(|byte| b";:".contains(byte));
    parts.any(|part| {
        let first = ["async", "await", "with"].map(str::as_bytes);
        let mut found = words(part).skip_while(|word| first.contains(word));
        let is_imported = found.next().is_some_and(|word| imported.contains(word));
        match part.iter().position(|&byte| byte == b'(') {
            Some(at) => {
                let called = words(&part[..at]).last().unwrap_or_default();
                let is_changing =
                    words(part).any(|word| CHANGING.iter().any(|it| word.starts_with(it)));
                let is_harmless = HARMLESS.iter().any(|known| known.as_bytes() == called);
                is_changing || is_imported && !is_harmless
            }
            None => part.contains(&b'=') && words(part).any(|word| imported.contains(word)),
        }
    })
}

fn may_influence(line: &[u8]) -> bool {
    let mut words = words(line);
    let known = [
        "sys",
        "environ",
        "environb",
        "use",
        "del",
        "exec",
        "eval",
        "import_module",
        "__import__",
        "run_path",
        "run_module",
        "spec_from_file_location",
        "__del__",
        "setattr",
        "getattr",
        "delattr",
        "vars",
        // The functions that `before.py` searches for: they may write what imports read.
        "open",
        "write_text",
        "write_bytes",
        "touch",
        "makedirs",
        "mkdir",
        "unlink",
        "rmtree",
        "rename",
        "copy",
        "copy2",
        "copyfile",
        "copytree",
        "move",
        "symlink",
        "symlink_to",
        "dump",
        "save",
        "extractall",
        "urlretrieve",
        "subprocess",
        "system",
        "popen",
        "Popen",
        "check_call",
        "check_output",
        "call",
        "chmod",
        "create_subprocess_exec",
        "create_subprocess_shell",
        "dbm",
        "FileHandler",
        "fork",
        "getoutput",
        "getstatusoutput",
        "hardlink_to",
        "link",
        "mkfifo",
        "posix_spawn",
        "posix_spawnp",
        "remove",
        "renames",
        "replace",
        "rmdir",
        "RotatingFileHandler",
        "run",
        "save_pretrained",
        "savetxt",
        "savez",
        "savez_compressed",
        "set_key",
        "shelve",
        "spawnl",
        "spawnlp",
        "spawnv",
        "spawnvp",
        "TimedRotatingFileHandler",
        "connect",
        "File",
        "to_csv",
        "to_excel",
        "to_feather",
        "to_json",
        "to_parquet",
        "to_pickle",
        "tofile",
        "truncate",
        "unpack_archive",
        "unset_key",
        "utime",
        "ZipFile",
        // The end of the program is shortened unless one of these is mentioned.
        "get_objects",
        "get_referrers",
        "get_freeze_count",
        "__cxa_atexit",
        "on_exit",
        "at_quick_exit",
    ];
    let names = |word: &[u8]| {
        let mut all = INFLUENCES.iter().chain(&known);
        all.any(|known| known.as_bytes() == word)
    };
    words.any(names) || changes_part(line)
}

/// Returns true for assignments to an attribute or element, except attributes of `self`.
fn changes_part(line: &[u8]) -> bool {
    let Some(at) = line.iter().position(|&byte| byte == b'=') else {
        return false;
    };
    let target = line[..at].trim_ascii();
    let has_part = target.iter().any(|byte| b".[".contains(byte));
    has_part && !target.starts_with(b"self.") && !target.contains(&b'(')
}

#[cfg(test)]
mod tests {
    use preheat_host::Scratch;

    use super::*;

    #[test]
    fn only_lines_that_imports_could_depend_on_count() {
        let scratch = Scratch::new("skeleton").expect("a directory for the test");
        let path = scratch.path().join("main.py");
        let of = |text: &str| {
            fs::write(&path, text).expect("it is written");
            skeleton(&path).hash
        };
        let before = of("X = 1\nimport torch\n\ndef f(self):\n    self.y = g(1)\n    print(2)\n");
        let same = "X = 1\nimport torch\n\n\ndef f(self):\n    self.y = g(3)\n    print(4)\n";
        assert_eq!(of(same), before);
        for text in [
            "X = 2\nimport torch\n\ndef f(self):\n    self.y = g(1)\n    print(2)\n",
            "X = 1\nimport torch\n\ndef f(self):\n    torch.y = g(1)\n    print(2)\n",
            "X = 1\nimport torch\n\ndef f(self):\n    import numpy\n",
            "X = 1\nimport torch\n\ndef f(self):\n    warnings.simplefilter('error')\n",
        ] {
            assert_ne!(of(text), before, "{text}");
        }
        let writes = |before: &str, after: &str| {
            of(&format!(
                "{before}\nimport torch\n\ndef f():\n    {after}\n    import reads\n"
            ))
        };
        let to_name = writes("LOG = 'a.log'", "open(LOG, 'w').close()");
        for (before, after) in [
            ("LOG = 'settings'", "open(LOG, 'w').close()"),
            ("LOG = 'a.log'", "open('settings', 'w').close()"),
            (
                "LOG = 'a.log'",
                "LOG = 'settings'\n    open(LOG, 'w').close()",
            ),
        ] {
            assert_ne!(writes(before, after), to_name, "{before} {after}");
        }
    }

    #[test]
    fn added_uses_of_a_name_count() {
        let of = |text: &str| Skeleton {
            hash: hash(text.as_bytes()),
            text: text.as_bytes().to_vec(),
        };
        let program = "import lib\nx = 1\ny = lib.load('a')\n";
        let stored = format!("{}\nload set_up\ny lib load a", hash(program.as_bytes()));
        let is_unchanged = |text: &str| of(text).is_unchanged_since(&stored);
        assert!(is_unchanged(program));
        assert!(is_unchanged(&program.replace("x = 1", "x = 2")));
        for changed in [
            program.replace("x = 1", "x = lib.set_up()"),
            program.replace("'a'", "'b'"),
        ] {
            assert!(!is_unchanged(&changed), "{changed}");
        }
        // A parent that could not search its libraries.
        assert!(of(program).is_unchanged_since(&hash(program.as_bytes())));
    }
}
