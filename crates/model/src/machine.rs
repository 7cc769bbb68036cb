//! The description of a machine.

use serde::{Deserialize, Serialize};

/// The machine properties that matter to a cold start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The operating system's name.
    pub os: String,
    /// The kernel release.
    pub kernel: String,
    /// The processor name.
    pub cpu: String,
    /// The cores that this process may use.
    pub cores: usize,
    /// Memory in bytes.
    pub memory: u64,
}
