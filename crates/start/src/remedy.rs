//! The remedies, by name, and those that a measurement chose for a program.
//!
//! Each remedy is one file with the same four parts: applies, apply, verify, undo.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use preheat_model::RemedyId;

use crate::standby::Form;

/// A way to make a start faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Remedy {
    /// Fork each start from a process that has already imported the program's modules.
    WarmParent,
    /// Fork it ahead with the GPU ready, without device memory while it waits.
    StandbyParked,
    /// The same, with its context in device memory.
    StandbyHot,
    /// Initialize the driver and its context while the program imports.
    OverlappedInit,
    /// Read ahead the files that the program reads.
    Prefetch,
    /// Keep compiled code in one cache directory.
    KeptCaches,
    /// Keep the bytecode of Python modules in the cache directory.
    KeptBytecode,
    /// Load kernels at their first use, overriding the environment.
    LazyLoading,
    /// Load machine code with several driver threads.
    LoaderThreads,
    /// Make a framework allocate device memory on demand.
    Allocator,
}

impl Remedy {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Remedy; 10] = [
        Remedy::WarmParent,
        Remedy::StandbyParked,
        Remedy::StandbyHot,
        Remedy::OverlappedInit,
        Remedy::Prefetch,
        Remedy::KeptCaches,
        Remedy::KeptBytecode,
        Remedy::LazyLoading,
        Remedy::LoaderThreads,
        Remedy::Allocator,
    ];

    /// The machine-readable name, equal to that of the prediction of `preheat run`.
    pub fn id(self) -> &'static str {
        self.remedy_id().as_str()
    }

    /// The remedy as documents have it.
    pub fn remedy_id(self) -> RemedyId {
        match self {
            Remedy::WarmParent => RemedyId::WarmParent,
            Remedy::StandbyParked => RemedyId::StandbyParked,
            Remedy::StandbyHot => RemedyId::StandbyHot,
            Remedy::OverlappedInit => RemedyId::OverlappedInit,
            Remedy::Prefetch => RemedyId::Prefetch,
            Remedy::KeptCaches => RemedyId::KeptCaches,
            Remedy::KeptBytecode => RemedyId::KeptBytecode,
            Remedy::LazyLoading => RemedyId::LazyLoading,
            Remedy::LoaderThreads => RemedyId::LoaderThreads,
            Remedy::Allocator => RemedyId::Allocator,
        }
    }

    /// The remedy with this id, if `preheat start` applies it.
    pub fn of(id: RemedyId) -> Option<Remedy> {
        (Remedy::ALL.into_iter()).find(|remedy| remedy.remedy_id() == id)
    }

    /// The standby that it stands for.
    pub fn form(self) -> Option<Form> {
        match self {
            Remedy::StandbyParked => Some(Form::Parked),
            Remedy::StandbyHot => Some(Form::Hot),
            _ => None,
        }
    }

    /// The human-readable name.
    pub fn title(self) -> String {
        self.id().replace('-', " ")
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.id())
    }
}

/// The error for a remedy that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown remedy `{0}`; expected one of {names}", names = Remedy::ALL.map(Remedy::id).join(", "))]
pub struct UnknownRemedy(String);

impl FromStr for Remedy {
    type Err = UnknownRemedy;

    fn from_str(text: &str) -> Result<Remedy, UnknownRemedy> {
        let known = Remedy::ALL.into_iter().find(|remedy| remedy.id() == text);
        known.ok_or_else(|| UnknownRemedy(text.to_owned()))
    }
}

/// A set of remedies.
pub type Remedies = BTreeSet<Remedy>;

/// The form of the standbys among the remedies; hot if both are.
pub fn form(remedies: &Remedies) -> Option<Form> {
    remedies.iter().rev().find_map(|remedy| remedy.form())
}

/// Adds remedies that others need: a standby is a child of the warm parent.
pub fn with_needed(mut remedies: Remedies) -> Remedies {
    if form(&remedies).is_some() {
        remedies.insert(Remedy::WarmParent);
    }
    remedies
}

// The remedies chosen for a program by a measurement on this machine, stored with the
// other knowledge about the program.

/// The remedies for a program that was not measured: a warm parent, which is used only if
/// it is running and matches the start.
pub(crate) fn unmeasured() -> Remedies {
    Remedies::from([Remedy::WarmParent])
}

/// Reads the decision for the program with this name.
pub(crate) fn read_decision(directory: &Path, name: &str) -> Option<Remedies> {
    let text = fs::read_to_string(file_of(directory, name)).ok()?;
    // Skip remedies that this version does not know.
    Some(text.lines().filter_map(|line| line.parse().ok()).collect())
}

/// Writes the decision for the program with this name.
pub(crate) fn write_decision(directory: &Path, name: &str, remedies: &Remedies) -> io::Result<()> {
    let text: String = remedies
        .iter()
        .map(|remedy| format!("{remedy}\n"))
        .collect();
    preheat_host::files::put(&file_of(directory, name), text.as_bytes())
}

fn file_of(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.decision"))
}

#[cfg(test)]
mod tests {
    use preheat_host::Scratch;

    use super::*;

    #[test]
    fn remedies_are_parsed_by_id() {
        for remedy in Remedy::ALL {
            assert_eq!(remedy.id().parse(), Ok(remedy));
        }
        let why = "warmth"
            .parse::<Remedy>()
            .expect_err("it is unknown")
            .to_string();
        assert!(why.contains("warm-parent"), "{why}");
    }

    #[test]
    fn a_standby_needs_a_warm_parent() {
        let none = Remedies::from([Remedy::Prefetch]);
        assert_eq!((form(&none), with_needed(none.clone())), (None, none));
        let hot = with_needed(Remedies::from([Remedy::StandbyHot]));
        assert!(hot.contains(&Remedy::WarmParent));
        let both = Remedies::from([Remedy::StandbyHot, Remedy::StandbyParked]);
        assert_eq!(form(&both), Some(Form::Hot));
    }

    #[test]
    fn a_decision_is_read_as_it_was_written() {
        let scratch = Scratch::new("decision").expect("a directory for the test");
        let at = scratch.path().to_owned();
        assert_eq!(read_decision(&at, "x"), None);
        let kept = Remedies::from([Remedy::Prefetch, Remedy::WarmParent]);
        write_decision(&at, "x", &kept).expect("the file is writable");
        assert_eq!(read_decision(&at, "x"), Some(kept));
        write_decision(&at, "x", &Remedies::new()).expect("the file is writable");
        assert_eq!(read_decision(&at, "x"), Some(Remedies::new()));
        drop(scratch);
        assert_eq!(read_decision(&at, "x"), None);
    }
}
