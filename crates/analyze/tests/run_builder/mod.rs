//! Builds recordings of programs with planted costs, to check the analysis against them.
//! Times are in milliseconds.

#![allow(dead_code, unused_imports)]

use preheat_model::run::trace::{
    Allocation, AllocatorSample, Bytecode, BytecodeWrite, Copied, DeviceMemory, DeviceModule,
    Function, Import, Load, NoBytecode, Process, ProcessSample, Span, SpanKind, StartTrace, Symbol,
    Thread, ThreadSample, Usage,
};

pub fn ns(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

mod recorded;

pub use recorded::*;

/// The interval between samples of threads.
const EVERY: f64 = 5.0;

/// A process under construction.
pub struct Program {
    pub process: Process,
}

impl Program {
    /// A process that began after 2 ms; its main thread is thread 0.
    pub fn new(pid: u32) -> Program {
        let process = Process {
            pid,
            parent: 1,
            program: "/usr/bin/program".to_owned(),
            began: ns(2.0),
            main: Some(ns(3.0)),
            texts: vec![String::new()],
            threads: vec![Thread {
                id: pid,
                name: "program".to_owned(),
                ..Thread::default()
            }],
            ..Process::default()
        };
        Program { process }
    }

    /// Python, ready after 10 ms.
    pub fn python(pid: u32) -> Program {
        let mut program = Program::new(pid);
        program.process.program = "/usr/bin/python3.11".to_owned();
        program.process.python_began = Some(ns(9.0));
        program.process.python_ready = Some(ns(10.0));
        program
    }

    /// Another thread.
    pub fn thread(&mut self, name: &str) -> usize {
        let threads = &mut self.process.threads;
        threads.push(Thread {
            id: self.process.pid + threads.len() as u32,
            name: name.to_owned(),
            ..Thread::default()
        });
        threads.len() - 1
    }

    pub fn symbol(&mut self, name: &str) -> u16 {
        let symbols = &mut self.process.symbols;
        let at = symbols.iter().position(|symbol| symbol.name == name);
        at.unwrap_or_else(|| {
            symbols.push(Symbol {
                name: name.to_owned(),
                library: "libcuda.so.1".to_owned(),
            });
            symbols.len() - 1
        }) as u16
    }

    pub fn text(&mut self, text: &str) -> u32 {
        let texts = &mut self.process.texts;
        let at = texts.iter().position(|other| other == text);
        at.unwrap_or_else(|| {
            texts.push(text.to_owned());
            texts.len() - 1
        }) as u32
    }

    pub fn span(
        &mut self,
        thread: usize,
        (begin, end): (f64, f64),
        what: SpanKind,
        symbol: u16,
        detail: u32,
    ) {
        self.process.threads[thread].spans.push(Span {
            begin: ns(begin),
            end: ns(end),
            detail,
            symbol,
            what,
            depth: 0,
        });
    }

    pub fn call_on(&mut self, thread: usize, name: &str, at: (f64, f64)) {
        let symbol = self.symbol(name);
        self.span(thread, at, SpanKind::Call, symbol, 0);
    }

    pub fn call(&mut self, name: &str, at: (f64, f64)) {
        self.call_on(0, name, at);
    }

    pub fn heavy(&mut self, name: &str, at: (f64, f64), cpu: f64) {
        let symbol = self.symbol(name);
        let detail = self.process.usages.len() as u32;
        self.process.usages.push(usage(cpu));
        self.span(0, at, SpanKind::Heavy, symbol, detail);
    }

    pub fn import(&mut self, name: &str, (importer, main): (&str, &str), at: (f64, f64), cpu: f64) {
        let detail = self.process.imports.len() as u32;
        self.process.imports.push(Import {
            name: name.to_owned(),
            importer: importer.to_owned(),
            function: "<module>".to_owned(),
            line: 7,
            main: main.to_owned(),
            failed: false,
            usage: usage(cpu),
        });
        self.span(0, at, SpanKind::Import, 0, detail);
    }

    /// A module compiled from source in every start.
    pub fn bytecode(&mut self, path: &str, at: (f64, f64)) {
        let detail = self.process.bytecode.len() as u32;
        self.process.bytecode.push(Bytecode {
            path: path.to_owned(),
            why: NoBytecode::Missing,
            write: BytecodeWrite::TurnedOff,
            usage: usage(at.1 - at.0),
        });
        self.span(0, at, SpanKind::Bytecode, 0, detail);
    }

    pub fn load(&mut self, path: &str, at: (f64, f64), cpu: f64) {
        let detail = self.process.loads.len() as u32;
        self.process.loads.push(Load {
            path: path.to_owned(),
            failed: false,
            usage: usage(cpu),
        });
        self.span(0, at, SpanKind::Load, 0, detail);
    }

    pub fn module(&mut self, bytes: u64, machine_code: &[u16], ptx: &[u16], at: (f64, f64)) {
        let symbol = self.symbol("cuLibraryLoadData");
        let detail = self.process.modules.len() as u32;
        self.process.modules.push(DeviceModule {
            bytes,
            machine_code: machine_code.to_vec(),
            ptx: ptx.to_vec(),
            handle: u64::from(detail) + 1,
            usage: usage(at.1 - at.0),
        });
        self.span(0, at, SpanKind::Module, symbol, detail);
    }

    pub fn function(&mut self, name: &str) -> u32 {
        let functions = &mut self.process.functions;
        let at = functions.iter().position(|function| function.name == name);
        at.unwrap_or_else(|| {
            functions.push(Function {
                name: name.to_owned(),
            });
            functions.len() - 1
        }) as u32
    }

    pub fn launch_on(&mut self, thread: usize, kernel: &str, at: (f64, f64)) {
        let symbol = self.symbol("cuLaunchKernel");
        let detail = self.function(kernel);
        self.span(thread, at, SpanKind::Launch, symbol, detail);
    }

    pub fn launch(&mut self, kernel: &str, at: (f64, f64)) {
        self.launch_on(0, kernel, at);
    }

    pub fn allocate(&mut self, name: &str, bytes: u64, pointer: u64, at: (f64, f64)) {
        let symbol = self.symbol(name);
        let detail = self.process.allocations.len() as u32;
        self.process.allocations.push(Allocation {
            bytes,
            pointer,
            status: 0,
        });
        self.span(0, at, SpanKind::Allocate, symbol, detail);
    }

    pub fn free(&mut self, name: &str, pointer: u64, at: (f64, f64)) {
        let symbol = self.symbol(name);
        let detail = self.process.frees.len() as u32;
        self.process.frees.push(pointer);
        self.span(0, at, SpanKind::Free, symbol, detail);
    }

    pub fn copy(
        &mut self,
        name: &str,
        bytes: u64,
        (source, destination): (u64, u64),
        at: (f64, f64),
    ) {
        let symbol = self.symbol(name);
        let detail = self.process.copies.len() as u32;
        self.process.copies.push(Copied {
            bytes,
            destination,
            source,
        });
        self.span(0, at, SpanKind::Copy, symbol, detail);
    }

    /// A step, model call or range with a name.
    pub fn frame(&mut self, what: SpanKind, name: &str, at: (f64, f64)) {
        let detail = self.text(name);
        self.span(0, at, what, 0, detail);
    }

    pub fn device_memory(&mut self, time: f64, used: u64, after: &str) {
        let after = self.symbol(after);
        self.process.memory.push(DeviceMemory {
            time: ns(time),
            used,
            total: 1 << 37,
            after,
            device: 0,
        });
    }

    pub fn allocator(&mut self, time: f64, used: u64, reserved: u64, peak: u64) {
        self.process.allocator.push(AllocatorSample {
            time: ns(time),
            used,
            reserved,
            peak_used: peak,
            peak_reserved: reserved,
        });
    }

    pub fn resident(&mut self, time: f64, resident: u64) {
        self.process.samples.push(ProcessSample {
            time: ns(time),
            resident,
            ..ProcessSample::default()
        });
    }

    /// Samples a thread every 5 ms until `end`; it is on a processor in these intervals.
    pub fn busy(&mut self, thread: usize, intervals: &[(f64, f64)], end: f64) {
        let on = |until: f64| -> f64 {
            let parts = intervals.iter();
            parts
                .map(|(from, to)| (until.min(*to) - from).max(0.0))
                .sum()
        };
        let mut time = EVERY;
        while time <= end {
            self.process.threads[thread].samples.push(ThreadSample {
                time: ns(time),
                cpu: ns(on(time)),
                waited: 0,
                ..ThreadSample::default()
            });
            time += EVERY;
        }
    }

    /// Sorts the spans and sets their depths.
    fn done(mut self, end: f64) -> Process {
        self.process.ended = ns(end);
        for thread in &mut self.process.threads {
            order(&mut thread.spans);
        }
        self.process
    }

    /// The start of this program alone, ending at `end`.
    pub fn alone(self, end: f64) -> StartTrace {
        start(vec![self.done(end)], end)
    }

    pub fn beside(self, others: Vec<Process>, end: f64) -> StartTrace {
        let mut processes = vec![self.done(end)];
        processes.extend(others);
        start(processes, end)
    }

    pub fn started(self, made: f64, began: f64, end: f64) -> Process {
        let mut process = self.done(end);
        (process.made, process.began) = (ns(made), ns(began));
        process
    }
}

pub fn order(spans: &mut [Span]) {
    spans.sort_by_key(|span| (span.begin, std::cmp::Reverse(span.end)));
    let mut open: Vec<u64> = Vec::new();
    for span in spans {
        while open.pop_if(|end| *end <= span.begin).is_some() {}
        span.depth = open.len().min(255) as u8;
        open.push(span.end);
    }
}

fn usage(cpu: f64) -> Usage {
    Usage {
        cpu: ns(cpu),
        ..Usage::default()
    }
}
