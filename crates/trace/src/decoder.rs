//! Decodes records into spans and tables.
//!
//! Each record that this version knows becomes one entry of a
//! [`Process`](preheat_model::run::trace::Process) or of the launcher's samples; other
//! records are ignored. Definitions have been read before.

use std::collections::HashSet;
use std::mem::offset_of;

use preheat_model::run::trace::{
    Allocation, AllocatorSample, Bytecode, BytecodeWrite, Clock, Copied, DeviceMemory,
    DeviceModule, Elapsed, Import, Load, NoBytecode, Process, ProcessSample, Reading, Span,
    SpanKind, ThreadSample,
};
use preheat_wire as wire;
use preheat_wire::{Event, Iteration, Kind, Record, SLOT_BYTES, Shape, Slot};

use crate::definitions::{Functions, SYMBOLS};
use crate::nest::OPEN;
use crate::slots::{fields, further, owned, text, u16_at, u32_at, u64_at, usage};

/// The longest possible recording of a program: a year.
const MAX_DURATION_NS: u64 = 365 * 24 * 3600 * 1_000_000_000;

/// The samples that the launcher recorded; in the file of a process, the CPU times that
/// threads, by index, have read themselves.
#[derive(Debug, Default)]
pub(crate) struct LauncherSamples {
    /// Process, thread and sample.
    pub(crate) threads: Vec<(u32, u32, ThreadSample)>,
    /// Process and sample.
    pub(crate) processes: Vec<(u32, ProcessSample)>,
    /// The times of lines that matched.
    pub(crate) lines: Vec<u64>,
    /// The times of lines that matched as the beginning of an iteration.
    pub(crate) line_begins: Vec<u64>,
    /// Process, thread and name, in order of time.
    pub(crate) names: Vec<(u32, u32, String)>,
}

/// Malformed records: their number, and the offset of the first.
#[derive(Debug, Default)]
pub(crate) struct Malformed {
    pub(crate) count: u64,
    pub(crate) first: u64,
}

impl Malformed {
    #[cold]
    fn add(&mut self, offset: u64) {
        if self.count == 0 {
            self.first = offset;
        }
        self.count += 1;
    }
}

/// Decodes the records of one file.
pub(crate) struct Decoder {
    pub(crate) process: Process,
    pub(crate) functions: Functions,
    pub(crate) samples: LauncherSamples,
    /// The latest time of any record, since `exec`.
    pub(crate) last: u64,
    /// The time of an orderly exit.
    pub(crate) exited: Option<u64>,
    /// The index of the thread whose records come next.
    pub(crate) thread: u32,
    pub(crate) empty: Malformed,
    pub(crate) impossible: Malformed,
    shapes: Box<[Option<Shape>; SYMBOLS]>,
    files: HashSet<String>,
    exec: u64,
    earliest: u64,
    latest: u64,
}

impl Decoder {
    /// A decoder for a process that began at `began` in a start that began at `exec`.
    pub(crate) fn new(
        process: Process,
        shapes: Box<[Option<Shape>; SYMBOLS]>,
        began: u64,
        exec: u64,
    ) -> Decoder {
        Decoder {
            last: process.began,
            process,
            functions: Functions::new(),
            samples: LauncherSamples::default(),
            exited: None,
            thread: 0,
            empty: Malformed::default(),
            impossible: Malformed::default(),
            shapes,
            files: HashSet::new(),
            exec,
            earliest: exec.min(began),
            latest: began.saturating_add(MAX_DURATION_NS),
        }
    }

    /// Decodes one record of the thread that owns `spans`.
    #[inline]
    pub(crate) fn decode(
        &mut self,
        spans: &mut Vec<Span>,
        record: &Record,
        more: &[Slot],
        offset: u64,
    ) {
        let Some(kind) = Kind::from_u8(record.kind) else {
            if record.kind == 0 {
                self.empty.add(offset);
            }
            return;
        };
        // The times of these do not matter.
        match kind {
            Kind::Text | Kind::Symbol => return,
            Kind::Event => return self.event(record, more, offset),
            _ => {}
        }
        let Some((begin, end)) = self.times(record) else {
            return self.impossible.add(offset);
        };
        let mut symbol = record.symbol;
        let (what, detail) = match kind {
            Kind::Call => self.call(record, more),
            Kind::Import => (SpanKind::Import, self.import(record, more)),
            Kind::Load => (SpanKind::Load, self.load(record, more)),
            Kind::Bytecode => match self.bytecode(record, more) {
                Some(detail) => (SpanKind::Bytecode, detail),
                None => return,
            },
            Kind::Iteration => match self.iteration(record) {
                Some(found) => found,
                None => return,
            },
            Kind::Range => {
                let domain = u64::try_from(record.status).map_or(0, |number| self.text(number));
                symbol = u16::try_from(domain).unwrap_or(0);
                (SpanKind::Range, self.text(record.value))
            }
            _ => return self.sample(kind, record, more, (begin, end)),
        };
        spans.push(Span {
            begin,
            end,
            detail,
            symbol,
            what,
            depth: 0,
        });
    }

    /// Begin and end since `exec`; `None` if they are impossible.
    #[inline(always)]
    fn times(&mut self, record: &Record) -> Option<(u64, u64)> {
        let (begin, end) = (record.begin, record.end);
        if begin < self.earliest || begin > self.latest || end > self.latest {
            return None;
        }
        let since = begin.saturating_sub(self.exec);
        if end == 0 {
            self.last = self.last.max(since);
            return Some((since, OPEN));
        }
        if end < begin {
            return None;
        }
        let until = end.saturating_sub(self.exec);
        self.last = self.last.max(until);
        Some((since, until))
    }

    /// The type of a call, and the index of its details.
    #[inline(always)]
    fn call(&mut self, record: &Record, more: &[Slot]) -> (SpanKind, u32) {
        let shape = self.shapes[usize::from(record.symbol)];
        match shape {
            None | Some(Shape::Plain) => (SpanKind::Call, 0),
            Some(Shape::Launch) => (SpanKind::Launch, self.functions.index(record.value)),
            Some(shape) => self.detailed_call(shape, record, more),
        }
    }

    fn detailed_call(&mut self, shape: Shape, record: &Record, more: &[Slot]) -> (SpanKind, u32) {
        let process = &mut self.process;
        let slot = further(more, 0);
        match shape {
            Shape::Plain => (SpanKind::Call, 0),
            Shape::Launch => (SpanKind::Launch, self.functions.index(record.value)),
            Shape::Heavy => (SpanKind::Heavy, push(&mut process.usages, usage(more))),
            Shape::Free => (SpanKind::Free, push(&mut process.frees, record.value)),
            Shape::Allocate => {
                let allocation = Allocation {
                    bytes: record.value,
                    pointer: u64_at(&slot, offset_of!(wire::Allocation, pointer)),
                    status: record.status,
                };
                (
                    SpanKind::Allocate,
                    push(&mut process.allocations, allocation),
                )
            }
            Shape::Copy => {
                let copied = Copied {
                    bytes: record.value,
                    destination: u64_at(&slot, offset_of!(wire::Copied, destination)),
                    source: u64_at(&slot, offset_of!(wire::Copied, source)),
                };
                (SpanKind::Copy, push(&mut process.copies, copied))
            }
            Shape::Module => (
                SpanKind::Module,
                push(&mut process.modules, module(record, more)),
            ),
            // A lookup that failed or has not returned has no handle.
            Shape::Lookup | Shape::Alias if record.status != 0 || record.value == 0 => {
                (SpanKind::Lookup, self.functions.index(0))
            }
            Shape::Lookup => {
                let name = text(more, 0);
                (SpanKind::Lookup, self.functions.named(record.value, name))
            }
            Shape::Alias => {
                let kernel = u64_at(&slot, offset_of!(wire::Allocation, pointer));
                (SpanKind::Lookup, self.functions.alias(record.value, kernel))
            }
        }
    }

    fn import(&mut self, record: &Record, more: &[Slot]) -> u32 {
        let mut fields = fields(text(more, 1));
        let import = Import {
            name: fields.next().unwrap_or_default(),
            importer: fields.next().unwrap_or_default(),
            function: fields.next().unwrap_or_default(),
            main: fields.next().unwrap_or_default(),
            line: u32::try_from(record.value).unwrap_or(0),
            failed: record.status != 0,
            usage: usage(more),
        };
        push(&mut self.process.imports, import)
    }

    fn load(&mut self, record: &Record, more: &[Slot]) -> u32 {
        let load = Load {
            path: owned(text(more, 1)),
            failed: record.status != 0,
            usage: usage(more),
        };
        push(&mut self.process.loads, load)
    }

    fn bytecode(&mut self, record: &Record, more: &[Slot]) -> Option<u32> {
        let why = match wire::NoBytecode::from_u16(record.symbol)? {
            wire::NoBytecode::Missing => NoBytecode::Missing,
            wire::NoBytecode::Stale => NoBytecode::Stale,
            wire::NoBytecode::Unreadable => NoBytecode::Unreadable,
        };
        let write = match wire::BytecodeWrite::from_i32(record.status)? {
            wire::BytecodeWrite::Writes => BytecodeWrite::Writes,
            wire::BytecodeWrite::TurnedOff => BytecodeWrite::TurnedOff,
            wire::BytecodeWrite::NotWritable => BytecodeWrite::NotWritable,
        };
        let made = Bytecode {
            path: owned(text(more, 1)),
            why,
            write,
            usage: usage(more),
        };
        Some(push(&mut self.process.bytecode, made))
    }

    fn iteration(&self, record: &Record) -> Option<(SpanKind, u32)> {
        let which = Iteration::from_u16(record.symbol)?;
        Some((SpanKind::Iteration(which), self.text(record.value)))
    }

    /// The number of a text, or 0 (the empty text) if it is undefined.
    fn text(&self, number: u64) -> u32 {
        let known = number < self.process.texts.len() as u64;
        if known {
            u32::try_from(number).unwrap_or(0)
        } else {
            0
        }
    }

    /// Decodes records that are not spans of a thread: samples, and intervals of the whole
    /// process.
    #[cold]
    fn sample(&mut self, kind: Kind, record: &Record, more: &[Slot], (time, end): (u64, u64)) {
        let slot = further(more, 0);
        let sampled = |at| u64_at(&slot, at);
        match kind {
            Kind::Memory => {
                let total = u64_at(&slot, offset_of!(wire::DeviceMemory, total));
                let after = u32_at(&slot, offset_of!(wire::DeviceMemory, after));
                self.process.memory.push(DeviceMemory {
                    time,
                    used: total.saturating_sub(record.value),
                    total,
                    after: u16::try_from(after).unwrap_or(0),
                    device: u32_at(&slot, offset_of!(wire::DeviceMemory, device)),
                });
            }
            Kind::Allocator => self.process.allocator.push(AllocatorSample {
                time,
                used: sampled(offset_of!(wire::Allocator, used)),
                reserved: sampled(offset_of!(wire::Allocator, reserved)),
                peak_used: sampled(offset_of!(wire::Allocator, peak_used)),
                peak_reserved: sampled(offset_of!(wire::Allocator, peak_reserved)),
            }),
            Kind::Thread => {
                let process = u32_at(&slot, offset_of!(wire::Sampled, process));
                let sample = ThreadSample {
                    waited_for_own: 0,
                    time,
                    cpu: record.value,
                    waited: sampled(offset_of!(wire::Sampled, waited_or_read)),
                };
                let thread = match more.is_empty() {
                    true => self.thread,
                    false => record.status.cast_unsigned(),
                };
                self.samples.threads.push((process, thread, sample));
            }
            Kind::Process => {
                let sample = ProcessSample {
                    time,
                    resident: record.value,
                    file_backed: sampled(offset_of!(wire::Sampled, file_backed)),
                    read: sampled(offset_of!(wire::Sampled, waited_or_read)),
                    major_faults: sampled(offset_of!(wire::Sampled, major_faults)),
                };
                self.samples
                    .processes
                    .push((record.status.cast_unsigned(), sample));
            }
            Kind::Line => self.samples.lines.push(time),
            Kind::LineBegin => self.samples.line_begins.push(time),
            Kind::ThreadName => {
                let process = u32::try_from(record.value).unwrap_or(0);
                let name = fields(text(more, 0)).next().unwrap_or_default();
                let thread = record.status.cast_unsigned();
                self.samples.names.push((process, thread, name));
            }
            Kind::Sparse => self.process.sparse.push((time, end)),
            Kind::Clock => {
                if let Some(clock) = wire::Clock::from_u16(record.symbol) {
                    let place = self.text(u64::from(record.status.cast_unsigned()));
                    self.process.readings.push(Reading {
                        time,
                        thread: self.thread,
                        place,
                        clock: clock_of(clock),
                        value: record.value,
                    });
                }
            }
            Kind::Elapsed => self.process.elapsed.push(Elapsed {
                time,
                thread: self.thread,
                from: sampled(offset_of!(wire::Elapsed, from)),
                to: sampled(offset_of!(wire::Elapsed, to)),
                nanoseconds: record.value,
            }),
            _ => {}
        }
    }

    #[cold]
    fn event(&mut self, record: &Record, more: &[Slot], offset: u64) {
        let Some(event) = Event::from_u16(record.symbol) else {
            return;
        };
        match event {
            Event::Main => {
                if let Some(time) = self.moment(record, offset) {
                    self.process.main.get_or_insert(time);
                }
            }
            Event::PythonBegan => {
                if let Some(time) = self.moment(record, offset) {
                    self.process.python_began.get_or_insert(time);
                }
            }
            Event::PythonReady => {
                if let Some(time) = self.moment(record, offset) {
                    self.process.python_ready.get_or_insert(time);
                }
            }
            // The last one counts.
            Event::Exit => self.exited = self.moment(record, offset).or(self.exited),
            Event::Forked => {}
            Event::File | Event::Library => self.file(&owned(text(more, 0))),
            Event::Arguments => self.process.arguments = fields(text(more, 0)).collect(),
            Event::Program => self.process.program = owned(text(more, 0)),
            Event::Note => self.process.notes.push(owned(text(more, 0))),
            Event::Mark => {
                if let Some(time) = self.moment(record, offset) {
                    self.process.marks.push((time, owned(text(more, 0))));
                }
            }
        }
    }

    /// The time of an event; an impossible one is counted.
    fn moment(&mut self, record: &Record, offset: u64) -> Option<u64> {
        let time = self.times(record).map(|(time, _)| time);
        if time.is_none() {
            self.impossible.add(offset);
        }
        time
    }

    fn file(&mut self, path: &str) {
        if !path.is_empty() && !self.files.contains(path) {
            self.files.insert(path.to_owned());
            self.process.files.push(path.to_owned());
        }
    }
}

fn clock_of(clock: wire::Clock) -> Clock {
    match clock {
        wire::Clock::Time => Clock::Time,
        wire::Clock::PerfCounter => Clock::PerfCounter,
        wire::Clock::Monotonic => Clock::Monotonic,
        wire::Clock::ProcessTime => Clock::ProcessTime,
        wire::Clock::ThreadTime => Clock::ThreadTime,
        wire::Clock::CudaEvent => Clock::CudaEvent,
        wire::Clock::ChronoSystem => Clock::ChronoSystem,
        wire::Clock::ChronoSteady => Clock::ChronoSteady,
        wire::Clock::ClockGettime => Clock::ClockGettime,
        wire::Clock::ClockGettimeCpu => Clock::ClockGettimeCpu,
        wire::Clock::GetTimeOfDay => Clock::GetTimeOfDay,
        wire::Clock::CClock => Clock::CClock,
    }
}

/// The code that a call loaded.
fn module(record: &Record, more: &[Slot]) -> DeviceModule {
    let image = further(more, 1);
    let architectures = |from: usize, to: usize| {
        let slots = (from..to).step_by(size_of::<u16>());
        let known = slots.map(|at| u16_at(&image, at));
        known.take_while(|number| *number != 0).collect()
    };
    let (codes, ptx) = (
        offset_of!(wire::Image, machine_code),
        offset_of!(wire::Image, ptx),
    );
    DeviceModule {
        bytes: u64_at(&image, offset_of!(wire::Image, bytes)),
        machine_code: architectures(codes, ptx),
        ptx: architectures(ptx, SLOT_BYTES),
        handle: record.value,
        usage: usage(more),
    }
}

/// Appends to a table and returns the index.
fn push<T>(table: &mut Vec<T>, item: T) -> u32 {
    let index = u32::try_from(table.len()).unwrap_or(u32::MAX);
    table.push(item);
    index
}
