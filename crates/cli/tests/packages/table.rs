//! The table of packages: for each a small program, the files beside it, and a change of its
//! configuration.

use super::configuration::CONFIGURATION;
use super::numbers::NUMBERS;
use super::tools::TOOLS;
use super::web::WEB;

/// A package from PyPI in a program.
pub struct Package {
    /// The name on PyPI.
    pub name: &'static str,
    /// The words after `python`.
    pub words: &'static [&'static str],
    /// Files in the program's directory, which contains its home directory as well.
    pub files: &'static [(&'static str, &'static str)],
    /// A variable that is set before the change.
    pub variable: Option<(&'static str, &'static str)>,
    pub change: Change,
    /// Part of the reason for a plain start, if it is never started warm.
    pub plain: &'static str,
}

/// A change of the configuration between two starts. It changes the output of the program.
pub enum Change {
    /// Sets a variable.
    Set(&'static str, &'static str),
    /// Writes a file.
    Write(&'static str, &'static str),
    /// Removes a file.
    Remove(&'static str),
    /// Appends arguments.
    Append(&'static [&'static str]),
}

impl Change {
    pub fn shown(&self) -> String {
        match self {
            Change::Set(name, value) => format!("{name}={value}"),
            Change::Write(name, _) => format!("{name} written"),
            Change::Remove(name) => format!("{name} removed"),
            Change::Append(words) => format!("argument {}", words.join(" ")),
        }
    }
}

/// A program in `program.py`.
pub const fn program(
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    change: Change,
) -> Package {
    module(name, &["program.py"], files, change)
}

/// A program with these words after `python`.
pub const fn module(
    name: &'static str,
    words: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
    change: Change,
) -> Package {
    Package {
        name,
        words,
        files,
        variable: None,
        change,
        plain: "",
    }
}

impl Package {
    /// The same, with a variable that is set before the change.
    pub const fn with(mut self, name: &'static str, value: &'static str) -> Package {
        self.variable = Some((name, value));
        self
    }

    /// The same, never started warm for this reason.
    pub const fn plain(mut self, reason: &'static str) -> Package {
        self.plain = reason;
        self
    }
}

/// The packages of `./test`, which its environment has.
pub const FEW: [&str; 10] = [
    "numpy",
    "scikit-learn",
    "matplotlib",
    "python-dotenv",
    "pydantic-settings",
    "rich",
    "PyYAML",
    "loguru",
    "fsspec",
    "setuptools",
];

pub fn all() -> impl Iterator<Item = &'static Package> {
    let parts = [CONFIGURATION, NUMBERS, TOOLS, WEB];
    parts.into_iter().flatten()
}
