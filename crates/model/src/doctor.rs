//! The document `preheat.doctor/1`: the findings about a machine. It is documented in
//! docs/doctor-json.md and docs/schema/preheat.doctor-1.schema.json; change all three together.

use serde::{Deserialize, Serialize};

use crate::Machine;
use crate::lab::MeasuredDevice;

/// The schema of [`DoctorReport`].
pub const DOCTOR_SCHEMA: &str = "preheat.doctor/1";

/// Devices, drivers and frameworks, and what to install.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DoctorReport {
    /// [`DOCTOR_SCHEMA`].
    pub schema: String,
    /// The version of preheat.
    pub preheat: String,
    /// The machine.
    pub machine: Machine,
    /// All kinds of devices.
    pub devices: Vec<DeviceFinding>,
    /// The device that `--device auto` selects.
    pub auto: String,
    /// The CUDA compiler library.
    pub nvrtc: Finding,
    /// The Python that was searched for frameworks, if there is one.
    pub python: Option<PythonFinding>,
    /// All frameworks.
    pub frameworks: Vec<FrameworkFinding>,
    /// Changes that would help.
    pub advice: Vec<String>,
}

/// A device, or the reason why it is missing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceFinding {
    /// The id of the device: `cuda`, `opencl` or `cpu`.
    pub kind: String,
    /// The device.
    pub device: Option<MeasuredDevice>,
    /// True if it is a GPU.
    pub is_gpu: bool,
    /// The reason why it is missing.
    pub missing: Option<String>,
}

/// A component: its version, or the reason why it is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The version.
    pub version: Option<String>,
    /// The reason why it is missing.
    pub missing: Option<String>,
}

/// A Python.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonFinding {
    /// Its path.
    pub path: String,
    /// Its version.
    pub version: String,
    /// The bytecode of its packages; `None` if unknown.
    pub bytecode: Option<BytecodeFound>,
}

/// A framework.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameworkFinding {
    /// Its id.
    pub name: String,
    /// Its version, if it is installed.
    pub version: Option<String>,
    /// The command that installs it.
    pub install: String,
}

/// The bytecode files of the installed modules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BytecodeFound {
    /// The number of modules checked.
    pub modules: u64,
    /// The number of modules without a `.pyc` file.
    pub missing: u64,
    /// True if Python may write bytecode: `sys.dont_write_bytecode` is not set.
    pub writes: bool,
    /// True if this user can write to the package directory.
    pub writable: bool,
    /// The package directory.
    pub packages: String,
}

impl BytecodeFound {
    /// Returns true if a start would compile many modules.
    pub fn is_missing(&self) -> bool {
        self.missing > 0 && self.missing * 10 >= self.modules
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_all_modules_is_worth_mentioning() {
        let found = |modules, missing| BytecodeFound {
            modules,
            missing,
            writes: true,
            writable: true,
            packages: String::new(),
        };
        assert!(found(100, 10).is_missing());
        assert!(!found(100, 9).is_missing());
        assert!(!found(0, 0).is_missing());
    }
}
