//! What remedies look at, and what they may change.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::place::Places;
use crate::seen::Seen;
pub(crate) use crate::warm_parent::Environment;

/// A start, before anything of it is done.
pub(crate) struct Case<'a> {
    /// The program's file.
    pub program: &'a Path,
    /// The command: the program and its arguments.
    pub command: &'a [OsString],
    /// The user's environment.
    pub environment: &'a Environment,
    /// Where things are kept.
    pub places: &'a Places,
    /// What earlier, recorded starts of the same command have shown, if there were any.
    pub seen: Option<&'a Seen>,
}

impl Case<'_> {
    /// What the user has set a variable to.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let mut all = self.environment.iter();
        let found = all.find(|(known, _)| known == name.as_bytes());
        found.map(|(_, value)| OsStr::from_bytes(value))
    }
}

/// What is changed about a start; all else of it stays as it was given.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Variables to set, in place of the user's.
    pub variables: Vec<(&'static str, OsString)>,
    /// Where Python finds the bytecode of modules that have none.
    pub bytecode: Option<PathBuf>,
}

impl Changes {
    /// Sets a variable for the start.
    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.variables.push((name, value.into()));
    }

    /// Make them, in this process: what it becomes or starts then has them.
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

    /// A start to try remedies on.
    pub(crate) struct Sample {
        pub(crate) program: PathBuf,
        pub(crate) command: Vec<OsString>,
        environment: Vec<(Vec<u8>, Vec<u8>)>,
        places: Places,
        pub(crate) seen: Option<Seen>,
    }

    /// Of `python train.py` in an environment, by somebody with no directories.
    pub(crate) fn sample(environment: &[(&str, &str)], seen: Option<Seen>) -> Sample {
        let bytes = |text: &str| text.as_bytes().to_vec();
        Sample {
            program: "/nowhere/python".into(),
            command: vec!["python".into(), "train.py".into()],
            environment: environment
                .iter()
                .map(|(name, value)| (bytes(name), bytes(value)))
                .collect(),
            places: Places {
                run: "/nowhere/run".into(),
                kept: "/nowhere/kept".into(),
                python: "/nowhere/python".into(),
            },
            seen,
        }
    }

    impl Sample {
        pub(crate) fn case(&self) -> Case<'_> {
            Case {
                program: &self.program,
                command: &self.command,
                environment: &self.environment,
                places: &self.places,
                seen: self.seen.as_ref(),
            }
        }
    }

    #[test]
    fn a_variable_is_found_by_its_name() {
        let sample = sample(&[("A", "1"), ("AB", "2")], None);
        assert_eq!(sample.case().variable("AB"), Some(OsStr::new("2")));
        assert_eq!(sample.case().variable("B"), None);
    }
}
