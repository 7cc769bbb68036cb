//! The remedies, by name.
//!
//! Each has a file of its own, and in it the same four things: when it applies, how it is
//! applied, how it is verified, how it is undone.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// What can be done for a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Remedy {
    /// A process that has imported what the program imports forks each start.
    WarmParent,
    /// The driver and its context are initialized while the program imports.
    OverlappedInit,
    /// What the program reads is read ahead.
    Prefetch,
    /// Compiled code is kept in one place.
    KeptCaches,
    /// The bytecode of Python modules is kept beside it.
    KeptBytecode,
    /// Kernels are loaded at their first use, whatever the environment says.
    LazyLoading,
    /// The driver loads machine code with several threads.
    LoaderThreads,
    /// A framework takes device memory as it needs it.
    Allocator,
}

impl Remedy {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Remedy; 8] = [
        Remedy::WarmParent,
        Remedy::OverlappedInit,
        Remedy::Prefetch,
        Remedy::KeptCaches,
        Remedy::KeptBytecode,
        Remedy::LazyLoading,
        Remedy::LoaderThreads,
        Remedy::Allocator,
    ];

    /// Its name for programs; where `preheat run` predicts a saving, the same.
    pub fn id(self) -> &'static str {
        match self {
            Remedy::WarmParent => "warm-parent",
            Remedy::OverlappedInit => "overlapped-init",
            Remedy::Prefetch => "prefetch",
            Remedy::KeptCaches => "kept-caches",
            Remedy::KeptBytecode => "kept-bytecode",
            Remedy::LazyLoading => "lazy-loading",
            Remedy::LoaderThreads => "loader-threads",
            Remedy::Allocator => "allocator",
        }
    }

    /// Its name for people: the same in words.
    pub fn title(self) -> String {
        self.id().replace('-', " ")
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.id())
    }
}

impl FromStr for Remedy {
    type Err = String;

    fn from_str(text: &str) -> Result<Remedy, String> {
        let known = Remedy::ALL.into_iter().find(|remedy| remedy.id() == text);
        known.ok_or_else(|| {
            let names = Remedy::ALL.map(Remedy::id).join(", ");
            format!("`{text}` is no remedy; there are {names}")
        })
    }
}

/// Some remedies.
pub type Remedies = BTreeSet<Remedy>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_is_known_by_its_name() {
        for remedy in Remedy::ALL {
            assert_eq!(remedy.id().parse(), Ok(remedy));
        }
        let why = "warmth".parse::<Remedy>().expect_err("there is none");
        assert!(why.contains("warm-parent"), "{why}");
    }
}
