//! Where time and memory go: a closed list.

use serde::{Deserialize, Serialize};

/// Where time or memory went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Cause {
    /// From `exec` to the program's own first code.
    #[serde(rename = "process start")]
    ProcessStart,
    /// Libraries mapped, relocated and initialized.
    #[serde(rename = "library loading")]
    LibraryLoading,
    /// Python modules found, read and run.
    #[serde(rename = "Python imports")]
    PythonImports,
    /// Python source compiled for want of bytecode.
    #[serde(rename = "bytecode compilation")]
    BytecodeCompilation,
    /// The driver's own initialization.
    #[serde(rename = "driver init")]
    DriverInit,
    /// A context on the device.
    #[serde(rename = "context creation")]
    ContextCreation,
    /// Machine code brought to the device, with a kernel's first use.
    #[serde(rename = "kernel loading")]
    KernelLoading,
    /// Kernels compiled on this machine.
    #[serde(rename = "kernel compilation")]
    KernelCompilation,
    /// Handles, workspaces and autotuning of cuBLAS, cuDNN and their kin.
    #[serde(rename = "library set-up")]
    LibrarySetUp,
    /// Memory on the device.
    #[serde(rename = "device allocation")]
    DeviceAllocation,
    /// Page-locked memory on the host.
    #[serde(rename = "pinned allocation")]
    PinnedAllocation,
    /// Copies to the device.
    #[serde(rename = "host-to-device copy")]
    HostToDevice,
    /// Copies from the device.
    #[serde(rename = "device-to-host copy")]
    DeviceToHost,
    /// Communicators between devices.
    #[serde(rename = "collective set-up")]
    CollectiveSetUp,
    /// Graphs captured and instantiated.
    #[serde(rename = "graph capture")]
    GraphCapture,
    /// The host waits for the device.
    #[serde(rename = "waiting for the device")]
    WaitingForDevice,
    /// What a steady iteration takes anyway.
    #[serde(rename = "steady work")]
    SteadyWork,
    /// The program itself computes.
    #[serde(rename = "program's own CPU time")]
    OwnCpu,
    /// It waits: for disks, for time to pass, for others.
    #[serde(rename = "idle")]
    Idle,
    /// What nothing accounts for.
    #[serde(rename = "unexplained")]
    Unexplained,
}

impl Cause {
    /// All of them, in the order of a program's life.
    pub const ALL: [Cause; 20] = [
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
        Cause::WaitingForDevice,
        Cause::SteadyWork,
        Cause::OwnCpu,
        Cause::Idle,
        Cause::Unexplained,
    ];

    /// Its place in [`Cause::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Its name, the same everywhere.
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
            Cause::WaitingForDevice => "waiting for the device",
            Cause::SteadyWork => "steady work",
            Cause::OwnCpu => "program's own CPU time",
            Cause::Idle => "idle",
            Cause::Unexplained => "unexplained",
        }
    }

    /// What it means, in one line for a person.
    pub fn explanation(self) -> &'static str {
        match self {
            Cause::ProcessStart => {
                "From exec to the program's first code: the kernel, the dynamic loader, the interpreter's own start."
            }
            Cause::LibraryLoading => {
                "Shared libraries mapped, relocated and initialized; from a cold disk this is mostly waiting."
            }
            Cause::PythonImports => {
                "Modules found, read and run. What they load from shared libraries is counted there."
            }
            Cause::BytecodeCompilation => {
                "Imported modules compiled from source, because Python has no bytecode (.pyc) for them that it can use."
            }
            Cause::DriverInit => {
                "The driver starts in this process: cuInit, finding platforms and devices."
            }
            Cause::ContextCreation => {
                "A context on the device: its page tables, its code, its memory."
            }
            Cause::KernelLoading => {
                "Machine code is brought to the device, most of it when a kernel is used for the first time."
            }
            Cause::KernelCompilation => {
                "Kernels are compiled here and now: by the driver, NVRTC, Triton, XLA or an OpenCL driver."
            }
            Cause::LibrarySetUp => {
                "cuBLAS, cuDNN and their kin make handles and workspaces, or try algorithms."
            }
            Cause::DeviceAllocation => "Memory is taken from the device.",
            Cause::PinnedAllocation => "Host memory is locked for transfers, page by page.",
            Cause::HostToDevice => "Data goes to the device.",
            Cause::DeviceToHost => "Data comes back, which also waits for what computes it.",
            Cause::CollectiveSetUp => "Processes find each other and connect (NCCL).",
            Cause::GraphCapture => "Work is captured as a graph and made ready to be replayed.",
            Cause::WaitingForDevice => "The host waits until the device is done.",
            Cause::SteadyWork => "What a steady iteration takes too: this is no cold start.",
            Cause::OwnCpu => {
                "The program computes on the CPU, outside everything that is told apart here."
            }
            Cause::Idle => {
                "The program waits: for a disk, a lock, another process, or time to pass."
            }
            Cause::Unexplained => "Nothing that was recorded accounts for this.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_at_its_place_and_named_alike() {
        for (place, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause.index(), place);
            let written = serde_json::to_string(&cause).unwrap();
            assert_eq!(written, format!("\"{}\"", cause.as_str()));
        }
    }
}
