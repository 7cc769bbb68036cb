//! The closed list of causes: where time and memory go.

use serde::{Deserialize, Serialize};

/// The cause of a use of time or memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Cause {
    /// From `exec` to the first code of the program.
    #[serde(rename = "process start")]
    ProcessStart,
    /// Libraries mapped, relocated and initialized.
    #[serde(rename = "library loading")]
    LibraryLoading,
    /// Python modules found, read and run.
    #[serde(rename = "Python imports")]
    PythonImports,
    /// Python source compiled because no usable bytecode exists.
    #[serde(rename = "bytecode compilation")]
    BytecodeCompilation,
    /// Driver initialization.
    #[serde(rename = "driver init")]
    DriverInit,
    /// Creating a context on the device.
    #[serde(rename = "context creation")]
    ContextCreation,
    /// Machine code loaded to the device, mostly at the first use of a kernel.
    #[serde(rename = "kernel loading")]
    KernelLoading,
    /// Kernels compiled on this machine.
    #[serde(rename = "kernel compilation")]
    KernelCompilation,
    /// Handles, workspaces and autotuning of cuBLAS, cuDNN and similar libraries.
    #[serde(rename = "library set-up")]
    LibrarySetUp,
    /// Memory allocated on the device.
    #[serde(rename = "device allocation")]
    DeviceAllocation,
    /// Page-locked memory allocated on the host.
    #[serde(rename = "pinned allocation")]
    PinnedAllocation,
    /// Copies to the device.
    #[serde(rename = "host-to-device copy")]
    HostToDevice,
    /// Copies from the device.
    #[serde(rename = "device-to-host copy")]
    DeviceToHost,
    /// Communicators set up between devices.
    #[serde(rename = "collective set-up")]
    CollectiveSetUp,
    /// Graphs captured and instantiated.
    #[serde(rename = "graph capture")]
    GraphCapture,
    /// A parked GPU restored behind the running program.
    #[serde(rename = "GPU restore")]
    GpuRestore,
    /// The host waits for the device.
    #[serde(rename = "waiting for the device")]
    WaitingForDevice,
    /// Work that a steady iteration does too.
    #[serde(rename = "steady work")]
    SteadyWork,
    /// The program computes on the CPU.
    #[serde(rename = "program's own CPU time")]
    OwnCpu,
    /// The program waits for a disk, a timer or another process.
    #[serde(rename = "idle")]
    Idle,
    /// Time that nothing accounts for.
    #[serde(rename = "unexplained")]
    Unexplained,
}

impl Cause {
    /// All causes, in the order in which a program meets them.
    pub const ALL: [Cause; 21] = [
        Cause::ProcessStart,
        Cause::LibraryLoading,
        Cause::PythonImports,
        Cause::BytecodeCompilation,
        Cause::DriverInit,
        Cause::ContextCreation,
        Cause::KernelLoading,
        Cause::KernelCompilation,
        Cause::LibrarySetUp,
        Cause::DeviceAllocation,
        Cause::PinnedAllocation,
        Cause::HostToDevice,
        Cause::DeviceToHost,
        Cause::CollectiveSetUp,
        Cause::GraphCapture,
        Cause::GpuRestore,
        Cause::WaitingForDevice,
        Cause::SteadyWork,
        Cause::OwnCpu,
        Cause::Idle,
        Cause::Unexplained,
    ];

    /// The index in [`Cause::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// The name, as used in all documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Cause::ProcessStart => "process start",
            Cause::LibraryLoading => "library loading",
            Cause::PythonImports => "Python imports",
            Cause::BytecodeCompilation => "bytecode compilation",
            Cause::DriverInit => "driver init",
            Cause::ContextCreation => "context creation",
            Cause::KernelLoading => "kernel loading",
            Cause::KernelCompilation => "kernel compilation",
            Cause::LibrarySetUp => "library set-up",
            Cause::DeviceAllocation => "device allocation",
            Cause::PinnedAllocation => "pinned allocation",
            Cause::HostToDevice => "host-to-device copy",
            Cause::DeviceToHost => "device-to-host copy",
            Cause::CollectiveSetUp => "collective set-up",
            Cause::GraphCapture => "graph capture",
            Cause::GpuRestore => "GPU restore",
            Cause::WaitingForDevice => "waiting for the device",
            Cause::SteadyWork => "steady work",
            Cause::OwnCpu => "program's own CPU time",
            Cause::Idle => "idle",
            Cause::Unexplained => "unexplained",
        }
    }

    /// A name of one or two words, for charts.
    pub fn short(self) -> &'static str {
        match self {
            Cause::ProcessStart => "start",
            Cause::LibraryLoading => "libraries",
            Cause::PythonImports => "imports",
            Cause::BytecodeCompilation => "bytecode",
            Cause::DriverInit => "driver",
            Cause::ContextCreation => "context",
            Cause::KernelLoading => "kernels",
            Cause::KernelCompilation => "compilation",
            Cause::LibrarySetUp => "set-up",
            Cause::DeviceAllocation => "allocation",
            Cause::PinnedAllocation => "pinning",
            Cause::HostToDevice => "to device",
            Cause::DeviceToHost => "from device",
            Cause::CollectiveSetUp => "collectives",
            Cause::GraphCapture => "graphs",
            Cause::GpuRestore => "restore",
            Cause::WaitingForDevice => "waiting",
            Cause::SteadyWork => "steady",
            Cause::OwnCpu => "own CPU",
            Cause::Idle => "idle",
            Cause::Unexplained => "unexplained",
        }
    }

    /// A one-line explanation.
    pub fn explanation(self) -> &'static str {
        match self {
            Cause::ProcessStart => {
                "From exec to the program's first code: the kernel, the dynamic loader, the interpreter."
            }
            Cause::LibraryLoading => {
                "Shared libraries mapped, relocated and initialized; from a cold disk this is mostly waiting."
            }
            Cause::PythonImports => {
                "Modules found, read and run. Shared libraries that they load are counted separately."
            }
            Cause::BytecodeCompilation => {
                "Imported modules compiled from source, because Python has no usable bytecode (.pyc) for them."
            }
            Cause::DriverInit => {
                "The driver is initialized in this process: cuInit, platform and device discovery."
            }
            Cause::ContextCreation => {
                "A context is created on the device, with page tables, code and memory."
            }
            Cause::KernelLoading => {
                "Machine code is loaded to the device, mostly at the first use of a kernel."
            }
            Cause::KernelCompilation => {
                "Kernels are compiled at run time: by the driver, NVRTC, Triton, XLA or an OpenCL driver."
            }
            Cause::LibrarySetUp => {
                "cuBLAS, cuDNN and similar libraries create handles and workspaces, or benchmark algorithms."
            }
            Cause::DeviceAllocation => "Memory is allocated on the device.",
            Cause::PinnedAllocation => "Host memory is page-locked for transfers.",
            Cause::HostToDevice => "Data is copied to the device.",
            Cause::DeviceToHost => {
                "Data is copied back, after waiting for the kernels that compute it."
            }
            Cause::CollectiveSetUp => "Processes discover and connect to each other (NCCL).",
            Cause::GraphCapture => "Work is captured as a graph and prepared for replay.",
            Cause::GpuRestore => {
                "The program waits until the GPU of a parked standby is restored (preheat start --standby)."
            }
            Cause::WaitingForDevice => "The host waits until the device is done.",
            Cause::SteadyWork => {
                "Work that a steady iteration does too; not part of the cold start."
            }
            Cause::OwnCpu => "The program computes on the CPU, outside all other causes.",
            Cause::Idle => "The program waits for a disk, a lock, a timer or another process.",
            Cause::Unexplained => "Nothing in the recording accounts for this time.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_and_names_match_the_list() {
        for (place, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause.index(), place);
            let written = serde_json::to_string(&cause).unwrap();
            assert_eq!(written, format!("\"{}\"", cause.as_str()));
        }
    }
}
