//! A small handmade recording: two starts of a shell that execs Python, which imports,
//! computes on a device and is killed in the second start.

use preheat_model::run::trace::{
    Allocation, AllocatorSample, Copied, DeviceMemory, DeviceModule, Function, Import, Iteration,
    Load, Process, ProcessSample, Span, SpanKind, StartTrace, Symbol, Thread, Usage,
};
use preheat_model::run::{Manifest, RECORDING_SCHEMA, Recording, StartInfo, Temperature};

/// The recording.
pub fn recording() -> Recording {
    let report = super::report();
    let start = |number: u64, exit_code| StartInfo {
        directory: format!("start-{number}"),
        temperature: Temperature::Process,
        exec: 5_000_000_000 + number * 1_000_000,
        end: 5_000_000_000 + number * 1_000_000 + 900_000,
        pid: 100 + number as u32,
        exit_code,
        peak_resident: 1 << 30,
        evicted: None,
        unrecorded: None,
    };
    Recording {
        manifest: Manifest {
            schema: RECORDING_SCHEMA.to_owned(),
            preheat: report.preheat,
            created: report.created,
            command: vec!["./train.sh".to_owned()],
            directory: report.directory,
            machine: report.machine,
            settings: report.settings,
            environment: vec![],
            starts: vec![start(0, 0), start(1, 137)],
            timers: Default::default(),
            started_plainly: None,
            optional_imports: Vec::new(),
            shared_imports: Vec::new(),
            notes: vec![],
        },
        starts: vec![trace(100), trace(101)],
    }
}

fn trace(pid: u32) -> StartTrace {
    StartTrace {
        end: 900_000,
        pid,
        processes: vec![shell(pid), python(pid)],
        ..StartTrace::default()
    }
}

/// Its only span never ended, and so seems to last beyond `exec`.
fn shell(pid: u32) -> Process {
    Process {
        pid,
        program: "/bin/sh".to_owned(),
        arguments: vec!["/bin/sh".to_owned(), "./train.sh".to_owned()],
        began: 1_000,
        ended: 900_000,
        loads: vec![Load {
            path: "/usr/lib/libnss_files.so.2".to_owned(),
            failed: true,
            usage: Usage::default(),
        }],
        threads: vec![Thread {
            id: pid,
            name: "sh".to_owned(),
            spans: vec![span(2_000, 900_000, SpanKind::Load, 0, 0, 0)],
            samples: vec![],
        }],
        ..Process::default()
    }
}

fn python(pid: u32) -> Process {
    let symbols = ["", "cuInit", "cuMemAlloc", "cuLaunchKernel", "cuMemcpyHtoD"];
    Process {
        pid,
        program: "/usr/bin/python3".to_owned(),
        arguments: ["python", "train.py", "--name", "a b"]
            .map(str::to_owned)
            .to_vec(),
        began: 50_000,
        ended: 900_000,
        symbols: symbols
            .iter()
            .map(|name| Symbol {
                name: (*name).to_owned(),
                library: "libcuda.so.1".to_owned(),
            })
            .collect(),
        texts: ["", "SGD", "epoch \u{1b}[31m\"1\"", "my domain"]
            .map(str::to_owned)
            .to_vec(),
        imports: vec![
            import("torch", "__main__", "train.py:1"),
            import("torch._C", "torch", "train.py:1"),
        ],
        usages: vec![Usage {
            cpu: 90_000,
            major_faults: 2,
            bytes_read: 8192,
        }],
        modules: vec![DeviceModule {
            bytes: 4096,
            ..DeviceModule::default()
        }],
        allocations: vec![Allocation {
            bytes: 2 << 20,
            pointer: 7 << 20,
            status: 0,
        }],
        copies: vec![Copied {
            bytes: 400,
            ..Copied::default()
        }],
        functions: vec![Function {
            name: "gemm".to_owned(),
        }],
        memory: [(210_000, 0, 500), (310_000, 0, 502), (320_000, 1, 400)]
            .map(|(time, device, mebibytes)| DeviceMemory {
                time,
                used: mebibytes << 20,
                total: 80 << 30,
                after: 1,
                device,
            })
            .to_vec(),
        allocator: vec![AllocatorSample {
            time: 400_000,
            used: 1 << 20,
            reserved: 2 << 20,
            ..AllocatorSample::default()
        }],
        samples: vec![ProcessSample {
            time: 100_000,
            resident: 300 << 20,
            ..ProcessSample::default()
        }],
        threads: vec![main_thread(pid), other_thread(pid + 1000)],
        ..Process::default()
    }
}

fn main_thread(pid: u32) -> Thread {
    Thread {
        id: pid,
        name: "python".to_owned(),
        spans: vec![
            span(60_000, 160_000, SpanKind::Import, 0, 0, 0),
            // Its end is after that of the enclosing import.
            span(70_000, 170_000, SpanKind::Import, 1, 0, 1),
            span(200_000, 290_000, SpanKind::Heavy, 0, 1, 0),
            span(300_000, 500_000, SpanKind::Range, 2, 3, 0),
            span(
                300_000,
                450_000,
                SpanKind::Iteration(Iteration::OptimizerStep),
                1,
                0,
                1,
            ),
            span(300_000, 310_000, SpanKind::Allocate, 0, 2, 2),
            span(310_000, 320_000, SpanKind::Copy, 0, 4, 2),
            span(320_000, 320_000, SpanKind::Launch, 0, 3, 2),
            // Details with invalid references.
            span(600_000, 610_000, SpanKind::Launch, 99, 3, 0),
            span(610_000, 620_000, SpanKind::Import, 99, 0, 0),
            span(620_000, 630_000, SpanKind::Module, 0, 99, 0),
            span(
                800_000,
                900_000,
                SpanKind::Iteration(Iteration::ModelCall),
                99,
                0,
                0,
            ),
        ],
        samples: vec![],
    }
}

fn other_thread(id: u32) -> Thread {
    Thread {
        id,
        name: String::new(),
        spans: vec![span(330_000, 340_000, SpanKind::Call, 0, 3, 0)],
        samples: vec![],
    }
}

fn import(name: &str, importer: &str, main: &str) -> Import {
    Import {
        name: name.to_owned(),
        importer: importer.to_owned(),
        function: "<module>".to_owned(),
        line: 1,
        main: main.to_owned(),
        ..Import::default()
    }
}

fn span(begin: u64, end: u64, what: SpanKind, detail: u32, symbol: u16, depth: u8) -> Span {
    Span {
        begin,
        end,
        detail,
        symbol,
        what,
        depth,
    }
}
