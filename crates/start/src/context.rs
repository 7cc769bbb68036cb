//! The input of remedies, and the changes that they may make to a start.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::directories::Directories;
use crate::observations::Observations;
pub(crate) use crate::warm_parent::Environment;

/// A start that has not begun yet.
pub(crate) struct StartContext<'a> {
    /// The program's file.
    pub program: &'a Path,
    /// The command: the program and its arguments.
    pub command: &'a [OsString],
    /// The user's environment.
    pub environment: &'a Environment,
    /// The state directories.
    pub directories: &'a Directories,
    /// The observations from earlier recorded starts of the same command.
    pub observations: Option<&'a Observations>,
}

impl StartContext<'_> {
    /// The value of a variable in the user's environment.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let mut all = self.environment.iter();
        let found = all.find(|(known, _)| known == name.as_bytes());
        found.map(|(_, value)| OsStr::from_bytes(value))
    }
}

/// The changes to a start; everything else about it stays unchanged.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Variables to set, overriding the user's.
    pub variables: Vec<(&'static str, OsString)>,
    /// The directory with the bytecode of modules that have none in `__pycache__`.
    pub bytecode: Option<PathBuf>,
}

impl Changes {
    /// Sets a variable for the start.
    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.variables.push((name, value.into()));
    }

    /// Applies the changes to this process, so that what it executes or starts inherits them.
    pub(crate) fn make(&self) {
        for (name, value) in &self.variables {
            // SAFETY: this process has one thread.
            unsafe { std::env::set_var(name, value) };
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A start to test remedies on.
    pub(crate) struct Sample {
        pub(crate) program: PathBuf,
        pub(crate) command: Vec<OsString>,
        environment: Vec<(Vec<u8>, Vec<u8>)>,
        directories: Directories,
        pub(crate) observations: Option<Observations>,
    }

    /// A start of `python train.py` in an environment, for a user without directories.
    pub(crate) fn sample(environment: &[(&str, &str)], observed: Option<Observations>) -> Sample {
        let bytes = |text: &str| text.as_bytes().to_vec();
        Sample {
            program: "/nowhere/python".into(),
            command: vec!["python".into(), "train.py".into()],
            environment: environment
                .iter()
                .map(|(name, value)| (bytes(name), bytes(value)))
                .collect(),
            directories: Directories {
                run: "/nowhere/run".into(),
                kept: "/nowhere/kept".into(),
                python: "/nowhere/python".into(),
            },
            observations: observed,
        }
    }

    impl Sample {
        pub(crate) fn context(&self) -> StartContext<'_> {
            StartContext {
                program: &self.program,
                command: &self.command,
                environment: &self.environment,
                directories: &self.directories,
                observations: self.observations.as_ref(),
            }
        }
    }

    #[test]
    fn a_variable_is_found_by_its_name() {
        let sample = sample(&[("A", "1"), ("AB", "2")], None);
        assert_eq!(sample.context().variable("AB"), Some(OsStr::new("2")));
        assert_eq!(sample.context().variable("B"), None);
    }
}
