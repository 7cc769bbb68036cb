//! Memory by mapping: the document `preheat.memory/1` beside the process files of a start.
//!
//! `preheat-launch` writes it, `preheat-trace` reads it. docs/recording.md describes it.

use serde::{Deserialize, Serialize};

/// The schema that this version writes.
pub const MAPPED_SCHEMA: &str = "preheat.memory/1";

/// The name of the file in a start's directory.
pub const MAPPED_FILE: &str = "launcher.memory";

/// The mappings that were sampled in one start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mapped {
    /// Always [`MAPPED_SCHEMA`].
    pub schema: String,
    /// Files and kinds of memory, each once.
    pub names: Vec<MappedName>,
    /// The samples, in order of time.
    pub samples: Vec<MappedSample>,
}

/// A mapped file, or memory without a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappedName {
    /// The path of a file. `[heap]`, `[stack]`, `[thread stack]`, `[generated code]`,
    /// `[recorder]`, or `[anonymous]` for other memory without a file.
    pub name: String,
    /// True if code of it is mapped: a library or an executable.
    pub code: bool,
}

/// The memory of one process at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappedSample {
    /// The time: in the file since boot, after reading since `exec`, in nanoseconds.
    pub time: u64,
    /// The process.
    pub process: u32,
    /// Its memory by name.
    pub bytes: Vec<MappedBytes>,
}

/// The memory of a process under one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Quadruple", into = "Quadruple")]
pub struct MappedBytes {
    /// The index of the name.
    pub name: u32,
    /// Resident bytes, each page divided by the number of processes that share it.
    pub proportional: u64,
    /// Resident bytes.
    pub resident: u64,
    /// The part of them that is not, or no longer, part of a file.
    pub anonymous: u64,
}

/// The fields of [`MappedBytes`] in the file, in order.
type Quadruple = (u32, u64, u64, u64);

impl From<Quadruple> for MappedBytes {
    fn from((name, proportional, resident, anonymous): Quadruple) -> MappedBytes {
        MappedBytes {
            name,
            proportional,
            resident,
            anonymous,
        }
    }
}

impl From<MappedBytes> for Quadruple {
    fn from(bytes: MappedBytes) -> Quadruple {
        (
            bytes.name,
            bytes.proportional,
            bytes.resident,
            bytes.anonymous,
        )
    }
}

impl Mapped {
    /// Returns true if every name exists and no part is larger than its whole.
    pub fn is_valid(&self) -> bool {
        let mut all = self.samples.iter().flat_map(|sample| &sample.bytes);
        all.all(|bytes| {
            (bytes.name as usize) < self.names.len()
                && bytes.anonymous <= bytes.resident
                && bytes.proportional <= bytes.resident
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_found() {
        let with = |bytes: Quadruple| Mapped {
            names: vec![MappedName::default()],
            samples: vec![MappedSample {
                bytes: vec![bytes.into()],
                ..MappedSample::default()
            }],
            ..Mapped::default()
        };
        assert!(with((0, 4, 8, 8)).is_valid());
        assert!(!with((1, 4, 8, 8)).is_valid());
        assert!(!with((0, 9, 8, 8)).is_valid());
        assert!(!with((0, 4, 8, 9)).is_valid());
    }
}
