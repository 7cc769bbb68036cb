//! The remedies, by id: those that `preheat run` predicts and those that `preheat start`
//! applies.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A change that removes part of the cold start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemedyId {
    /// Fork each start from a process that has imported the modules.
    WarmParent,
    /// Fork it ahead with the GPU ready, without device memory while it waits.
    StandbyParked,
    /// The same, with its context in device memory.
    StandbyHot,
    /// Initialize the driver while the program imports.
    OverlappedInit,
    /// Read ahead the files that the program reads.
    Prefetch,
    /// Keep compiled code.
    KeptCaches,
    /// Keep the bytecode of Python modules.
    KeptBytecode,
    /// Load kernels at their first use.
    LazyLoading,
    /// Load machine code with several driver threads.
    LoaderThreads,
    /// Allocate device memory differently.
    Allocator,
    /// Leave out packages that libraries import without need.
    #[serde(alias = "avoidable-import")] // Its name in older documents.
    AvoidableImports,
    /// Build machine code for this GPU.
    MachineCodeMissing,
    /// Disable autotuning.
    Autotuning,
    /// Copy from page-locked memory.
    PinnedBuffers,
    /// Warm up before the real work.
    WarmUp,
}

impl RemedyId {
    /// All of them.
    pub const ALL: [RemedyId; 15] = [
        RemedyId::WarmParent,
        RemedyId::StandbyParked,
        RemedyId::StandbyHot,
        RemedyId::OverlappedInit,
        RemedyId::Prefetch,
        RemedyId::KeptCaches,
        RemedyId::KeptBytecode,
        RemedyId::LazyLoading,
        RemedyId::LoaderThreads,
        RemedyId::Allocator,
        RemedyId::AvoidableImports,
        RemedyId::MachineCodeMissing,
        RemedyId::Autotuning,
        RemedyId::PinnedBuffers,
        RemedyId::WarmUp,
    ];

    /// Returns true for both forms of standby.
    pub fn is_standby(self) -> bool {
        matches!(self, RemedyId::StandbyParked | RemedyId::StandbyHot)
    }

    /// The name in documents and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            RemedyId::WarmParent => "warm-parent",
            RemedyId::StandbyParked => "standby-parked",
            RemedyId::StandbyHot => "standby-hot",
            RemedyId::OverlappedInit => "overlapped-init",
            RemedyId::Prefetch => "prefetch",
            RemedyId::KeptCaches => "kept-caches",
            RemedyId::KeptBytecode => "kept-bytecode",
            RemedyId::LazyLoading => "lazy-loading",
            RemedyId::LoaderThreads => "loader-threads",
            RemedyId::Allocator => "allocator",
            RemedyId::AvoidableImports => "avoidable-imports",
            RemedyId::MachineCodeMissing => "machine-code-missing",
            RemedyId::Autotuning => "autotuning",
            RemedyId::PinnedBuffers => "pinned-buffers",
            RemedyId::WarmUp => "warm-up",
        }
    }
}

impl fmt::Display for RemedyId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_in_documents() {
        for remedy in RemedyId::ALL {
            assert_eq!(serde_json::to_value(remedy).unwrap(), remedy.as_str());
        }
    }
}
