//! One package: its program is started plainly and by preheat, before and after the change of
//! its configuration.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::table::{Change, Package};
use crate::files::{Files, files, restore};
use crate::warm::{Observed, Warm};

/// The result for a package: a row of the table.
pub struct Row {
    pub name: &'static str,
    pub version: String,
    pub changed: String,
    /// The start messages of preheat: with the first configuration, right after the change, with the
    /// changed one later, and with the first one again.
    pub starts: Vec<String>,
    /// The differences between a plain start and one by preheat.
    pub differences: String,
    /// The differences between two plain starts before and after the change.
    pub is_visible: bool,
}

impl Row {
    pub fn is_warm(&self) -> bool {
        self.starts[0].starts_with("warm")
    }
}

struct Case<'a> {
    warm: &'a Warm,
    package: &'a Package,
    work: PathBuf,
    is_changed: bool,
}

/// Everything that a start leaves.
#[derive(PartialEq)]
struct Start {
    observed: Observed,
    files: Files,
}

/// Starts the program of a package in all ways.
pub fn row(warm: &Warm, package: &'static Package) -> Row {
    let work = warm.directory.join("work");
    let _ = fs::remove_dir_all(&work);
    fs::create_dir_all(work.join("home")).expect("a directory");
    for (name, text) in package.files {
        let path = work.join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
        fs::write(path, text).expect("it is written");
    }
    let mut case = Case {
        warm,
        package,
        work,
        is_changed: false,
    };
    let base = files(&case.work);
    // The first start may compile modules.
    case.plain();
    let first = case.plain();
    let mut row = Row {
        name: package.name,
        version: case.version(),
        changed: package.change.shown(),
        starts: Vec::new(),
        differences: String::new(),
        is_visible: false,
    };
    case.prepare();
    case.compare(&first, &mut row);
    case.change();
    let second = case.plain();
    row.is_visible = first != second;
    case.compare(&second, &mut row);
    case.prepare();
    case.compare(&second, &mut row);
    restore(&case.work, &base);
    case.forget_bytecode();
    case.is_changed = false;
    case.compare(&first, &mut row);
    let _ = warm.preheat(&["--stop", "all"]).output();
    row
}

impl Case<'_> {
    fn python(&self) -> String {
        self.warm.python.display().to_string()
    }

    /// The program with what comes before it, in its surroundings.
    fn command(&self, before: &[&str]) -> Command {
        let mut words: Vec<String> = before.iter().map(|word| (*word).to_owned()).collect();
        words.push(self.python());
        words.extend(self.package.words.iter().map(|word| (*word).to_owned()));
        if let (true, Change::Append(more)) = (self.is_changed, &self.package.change) {
            words.extend(more.iter().map(|word| (*word).to_owned()));
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = self.warm.plain(&words);
        command
            .current_dir(&self.work)
            .env("HOME", self.work.join("home"))
            .env("PYTHONHASHSEED", "0")
            .env("LC_ALL", "C.UTF-8")
            .env_remove("XDG_CONFIG_HOME");
        if let Some((name, value)) = self.package.variable {
            command.env(name, value);
        }
        if let (true, Change::Set(name, value)) = (self.is_changed, &self.package.change) {
            command.env(name, value);
        }
        command
    }

    fn start(&self, before: &[&str]) -> Start {
        let base = files(&self.work);
        let observed = Observed::of(self.command(before).output().expect("it starts"));
        let mut left = files(&self.work);
        left.retain(|path, is| base.get(path) != Some(is));
        restore(&self.work, &base);
        Start {
            observed,
            files: left,
        }
    }

    fn plain(&self) -> Start {
        self.start(&[])
    }

    /// Makes a start that records the imports, and waits for the parent.
    fn prepare(&self) {
        let start = [env!("CARGO_BIN_EXE_preheat"), "start"];
        self.start(&[&start[..], &["--patience", "60", "--"]].concat());
        self.start(&[&start[..], &["--prepare", "--patience", "600", "--"]].concat());
    }

    /// Starts the program by preheat, and adds the result to the row.
    fn compare(&self, plain: &Start, row: &mut Row) {
        let exe = env!("CARGO_BIN_EXE_preheat");
        let mut start = self.start(&[exe, "start", "-v", "--patience", "60", "--"]);
        let err = start.observed.err;
        let (how, rest) = err.split_once('\n').unwrap_or((&err, ""));
        start.observed.err = rest.to_owned();
        row.starts.push(way(how));
        let differs = [
            ("out", &plain.observed.out, &start.observed.out),
            ("err", &plain.observed.err, &start.observed.err),
            (
                "status",
                &plain.observed.status.to_string(),
                &start.observed.status.to_string(),
            ),
            (
                "files",
                &format!("{:#?}", plain.files),
                &format!("{:#?}", start.files),
            ),
        ];
        for (what, plain, start) in differs {
            if plain != start {
                row.differences += &format!("{how}\n{what}, plain:\n{plain}\n");
                row.differences += &format!("{what}, started by preheat:\n{start}\n");
            }
        }
    }

    fn change(&mut self) {
        self.is_changed = true;
        match self.package.change {
            Change::Write(name, text) => {
                fs::write(self.work.join(name), text).expect("it is written");
            }
            Change::Remove(name) => fs::remove_file(self.work.join(name)).expect("it goes"),
            Change::Set(..) | Change::Append(_) => {}
        }
        self.forget_bytecode();
    }

    /// Python takes bytecode to be current if the source has the same size, and was written in the
    /// same second.
    fn forget_bytecode(&self) {
        let _ = fs::remove_dir_all(self.work.join("__pycache__"));
    }

    fn version(&self) -> String {
        let ask = format!(
            "import importlib.metadata as m; print(m.version('{}'), end='')",
            self.package.name
        );
        let asked = self.warm.plain(&[&self.python(), "-c", &ask]).output();
        String::from_utf8_lossy(&asked.expect("it starts").stdout).into_owned()
    }
}

/// The way of a start in few words: "warm", "warm, first lines", or the reason for a plain one.
fn way(said: &str) -> String {
    if said.contains("its first lines run ahead") {
        return "warm, first lines".into();
    }
    if said.starts_with("preheat: started warm") {
        return "warm".into();
    }
    match said.strip_prefix("preheat: started plainly: ") {
        Some(reason) => format!("plain: {reason}"),
        None => format!("unknown: {said}"),
    }
}
