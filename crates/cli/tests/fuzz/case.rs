//! One program in a directory: started plainly and with `preheat start` after each change.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::change::Change;
use super::program::Program;
use crate::files::{Files, files, restore};
use crate::warm::{Observed, Warm};

/// Part of the message for a warm start whose first lines ran in the parent.
pub const AHEAD: &str = "its first lines run ahead";

/// Part of the `-v` message of a learning start.
const LEARNS: &str = "there is no warm parent yet";

/// The program's directory, below that of the parents.
const WORK: &str = "work";

/// Files that the program may read, by name.
const FILES: &[(&str, &str)] = &[
    ("read.txt", "a text"),
    ("config.txt", "staging"),
    ("unread.txt", "x"),
    (
        "fuzz_own.py",
        "import os\nVALUE = os.environ.get('FUZZ_A')\n",
    ),
    ("vendored/fuzz_vendored.py", "VALUE = 'vendored'\n"),
    (
        "vendored/yaml.py",
        "def safe_load(text): return 'vendored'\n",
    ),
    ("plugins/one.txt", ""),
    ("home/.fuzzrc", "initial"),
    ("elsewhere/read.txt", "elsewhere"),
    ("elsewhere/config.txt", "elsewhere"),
    ("elsewhere/plugins/two.txt", ""),
    (
        "elsewhere/vendored/fuzz_vendored.py",
        "VALUE = 'elsewhere'\n",
    ),
];

/// A program that was started once, and has a warm parent where it can have one.
pub struct Case<'a> {
    warm: &'a Warm,
    program: &'a Program,
    installed: Vec<(PathBuf, String)>,
    work: PathBuf,
    base: Files,
    /// Random values that a start has had.
    seen: BTreeSet<String>,
    /// The reason why there is no warm parent.
    pub refusal: Option<String>,
}

/// The outcome of one change.
pub struct Outcome {
    /// The way of starting, as preheat reports it.
    pub how: String,
    /// The differences from the plain start; empty if there are none.
    pub difference: String,
}

impl<'a> Case<'a> {
    /// Writes the program, installs its modules and has a warm parent made.
    pub fn new(warm: &'a Warm, packages: &Path, program: &'a Program) -> Case<'a> {
        let work = warm.directory.join(WORK);
        let _ = fs::remove_dir_all(&work);
        // Knowledge about a program is stored by its path.
        let (name, text) = (format!("{}.py", program.prefix), program.text());
        let script = (&name[..], &text[..]);
        for (name, text) in FILES.iter().copied().chain([script]) {
            let path = work.join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
            fs::write(path, text).expect("it is written");
        }
        let modules = program
            .modules()
            .map(|(name, text)| (packages.join(name), text));
        let installed: Vec<_> = modules.collect();
        for (path, text) in &installed {
            fs::write(path, text).expect("it is written");
        }
        let base = files(&work);
        let mut case = Case {
            warm,
            program,
            installed,
            work,
            base,
            seen: BTreeSet::new(),
            refusal: None,
        };
        let nothing = Change::of("nothing");
        case.run(nothing, true);
        let mut prepare = case.command(nothing, &["--prepare", "--patience", "120"]);
        let said = prepare.output().expect("it starts");
        if !said.status.success() {
            case.refusal = Some(String::from_utf8_lossy(&said.stderr).into_owned());
        }
        case
    }

    /// Starts the program after a change, plainly and with `preheat start`.
    pub fn after(&mut self, change: &Change) -> Outcome {
        let paths: Vec<_> = self
            .installed
            .iter()
            .map(|(path, _)| path.clone())
            .collect();
        change.make(&self.work, &paths);
        let before = files(&self.work);
        // The first start may compile modules, and compiling moves the garbage collection.
        self.run(change, false);
        restore(&self.work, &before);
        let (plain, left, _) = self.run(change, false);
        restore(&self.work, &before);
        // Two that share a value have it from their parent.
        let starts = if change.name == "nothing" { 2 } else { 1 };
        let mut outcome = Outcome {
            how: String::new(),
            difference: String::new(),
        };
        for _ in 0..starts {
            let (mut started, made, repeated) = self.run(change, true);
            restore(&self.work, &before);
            let closed = change.name == "closes_error";
            let (how, rest) = started.err.split_once('\n').unwrap_or((&started.err, ""));
            outcome.how = if closed {
                "unknown".into()
            } else {
                how.to_owned()
            };
            started.err = if closed {
                String::new()
            } else {
                rest.to_owned()
            };
            // The garbage collector of first lines that ran ahead, and of a learning start, is only
            // about where a plain start would have it, and suspended generators do not keep
            // imports from being ahead.
            let is_undefined = [AHEAD, LEARNS].iter().any(|how| outcome.how.contains(how))
                || self.program.has("f_generator");
            let differs = |name: &str, plain: &str, started: &str| {
                let is_same = plain == started
                    || is_undefined
                        && self.without_finalizers(plain.into())
                            == self.without_finalizers(started.into());
                match is_same {
                    true => String::new(),
                    false => {
                        format!("{name}, plain:\n{plain}\n{name}, started by preheat:\n{started}\n")
                    }
                }
            };
            outcome.difference += &differs("out", &plain.out, &started.out);
            outcome.difference += &differs("err", &plain.err, &started.err);
            outcome.difference += &differs(
                "status",
                &plain.status.to_string(),
                &started.status.to_string(),
            );
            outcome.difference += &differs("files", &format!("{left:#?}"), &format!("{made:#?}"));
            if let Some(value) = repeated {
                outcome.difference += &format!("a random value was there before: {value}\n");
            }
        }
        restore(&self.work, &self.base);
        change.undo(&self.installed);
        outcome
    }

    /// Runs a start: its observations, the files that it leaves, and a random value that an
    /// earlier start had too.
    fn run(&mut self, change: &Change, by_preheat: bool) -> (Observed, Files, Option<String>) {
        let before = files(&self.work);
        let mut command = match by_preheat {
            true => self.command(change, &["-v", "--patience", "60"]),
            false => self.in_surroundings(change, &[]),
        };
        let mut observed = Observed::of(command.output().expect("it starts"));
        let mut left = files(&self.work);
        left.retain(|path, is| before.get(path) != Some(is));
        let mut repeated = None;
        for (_, text) in left.values_mut() {
            *text = self.without_random(text, &mut repeated);
        }
        observed.out = self.without_random(&observed.out, &mut repeated);
        (observed, left, repeated)
    }

    /// The text without the lines that finalizers print, and the number of times each was printed.
    fn without_finalizers(&self, mut text: String) -> (String, Vec<usize>) {
        let mut counts = Vec::new();
        for line in self.program.finalizers() {
            // Texts of files are shown with escapes.
            for line in [line.escape_debug().to_string(), line] {
                counts.push(text.matches(&line).count());
                text = text.replace(&line, "");
            }
        }
        (text, counts)
    }

    /// Removes random values from a text.
    fn without_random(&mut self, text: &str, repeated: &mut Option<String>) -> String {
        let mut parts = text.split("RANDOM:");
        let mut without = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(char::is_whitespace).unwrap_or(part.len());
            let (value, rest) = part.split_at(end);
            if !self.seen.insert(value.to_owned()) {
                *repeated = Some(value.to_owned());
            }
            without = without + "RANDOM" + rest;
        }
        without
    }

    fn command(&self, change: &Change, flags: &[&str]) -> Command {
        let start = [env!("CARGO_BIN_EXE_preheat"), "start"];
        self.in_surroundings(change, &[&start[..], flags, &["--"]].concat())
    }

    fn in_surroundings(&self, change: &Change, before: &[&str]) -> Command {
        let python = self.warm.directory.join("venv/bin/python");
        let script = self.work.join(format!("{}.py", self.program.prefix));
        let (python, script) = (python.display().to_string(), script.display().to_string());
        let mut command = change.command(before, &python, &script);
        command.current_dir(&self.work);
        for (name, value) in self.warm.surroundings() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .env("HOME", self.work.join("home"))
            .env("FUZZ_A", "a")
            .env("PYTHONHASHSEED", "0")
            .env_remove("LD_PRELOAD");
        change.environment(&mut command);
        command
    }

    /// The program and the change, for debugging.
    pub fn shown(&self) -> String {
        let modules = self.installed.iter().map(|(path, text)| {
            let name = path.file_name().unwrap_or_default().display();
            format!("# {name}\n{text}")
        });
        self.program.text() + &modules.collect::<String>()
    }
}

impl Drop for Case<'_> {
    fn drop(&mut self) {
        let _ = self.warm.preheat(&["--stop", "all"]).output();
        for (path, _) in &self.installed {
            let _ = fs::remove_file(path);
        }
    }
}
