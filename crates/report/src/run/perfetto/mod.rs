//! Exports a recording as a trace for ui.perfetto.dev, in the native Perfetto format.
//!
//! Perfetto also reads Chrome's JSON, but its protobuf format is a third of the size, keeps
//! exact nanoseconds, and supports counters and nested tracks. The trace is streamed, so that
//! memory does not grow with the recording.
//!
//! All starts are in one trace, each at its time relative to the first. A start has a track
//! with its causes and iterations below it; each of its processes has a track with threads
//! and counters.

mod packets;
mod spans;

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

use preheat_model::run::trace::{Process, Span, StartTrace, Thread};
use preheat_model::run::{Cause, Recording, SpanCauses, StartAnalysis, StartInfo};

use crate::html::command_line;
use packets::{Argument, Packets, Track};

/// Writes the recording as a trace. `analyses` has one entry per start, in the same order;
/// starts without an entry have no tracks of causes and iterations.
///
/// # Errors
/// Returns the errors of `out`.
pub fn run_perfetto(
    recording: &Recording,
    analyses: &[StartAnalysis],
    causes: SpanCauses,
    out: impl Write,
) -> io::Result<()> {
    let mut packets = Packets::new(BufWriter::with_capacity(1 << 18, out))?;
    let infos = &recording.manifest.starts;
    let zero = infos.iter().map(|info| info.exec).min().unwrap_or(0);
    let command = command_line(&recording.manifest.command);
    for (index, (info, trace)) in infos.iter().zip(&recording.starts).enumerate() {
        let mut start = Start {
            packets: &mut packets,
            causes,
            exec: info.exec - zero,
            prefix: match infos.len() {
                1 => String::new(),
                _ => format!("start {}: ", index + 1),
            },
        };
        let track = start.itself(index, info, trace.end, &command)?;
        if let Some(analysis) = analyses.get(index) {
            start.analysis(track, analysis)?;
        }
        start.processes(trace)?;
    }
    packets.finish()
}

/// The name of a span, as the trace shows it.
pub(crate) fn span_name<'a>(process: &'a Process, span: &Span) -> Cow<'a, str> {
    spans::shown(process, span, None).name
}

/// Writes one start.
struct Start<'a, W: Write> {
    packets: &'a mut Packets<W>,
    causes: SpanCauses,
    /// The begin, in nanoseconds after the beginning of the first start.
    exec: u64,
    /// The prefix that distinguishes its processes from those of other starts.
    prefix: String,
}

impl<W: Write> Start<'_, W> {
    /// Writes the slice of the start, from `exec` to its end.
    fn itself(
        &mut self,
        index: usize,
        info: &StartInfo,
        end: u64,
        command: &str,
    ) -> io::Result<Track> {
        let name = format!("start {} ({})", index + 1, info.temperature.as_str());
        let track = self.packets.track(None, &name, index as u64)?;
        let code = info.exit_code.to_string();
        let about = [Argument::Text("exit code", &code)];
        self.slice(track, (0, end), 0, command, "", &about)?;
        Ok(track)
    }

    /// Writes its causes and iterations, below it.
    fn analysis(&mut self, start: Track, analysis: &StartAnalysis) -> io::Result<()> {
        if !analysis.path.is_empty() {
            let track = self.packets.track(Some(start), "causes", 0)?;
            let mut last = 0;
            for part in &analysis.path {
                let cause = part.cause.as_str();
                let what = analysis.names.get(part.item as usize);
                let about = what.map(|what| Argument::Text("what", what));
                let between = (part.begin, part.end);
                last = self.slice(track, between, last, cause, cause, about.as_slice())?;
            }
        }
        if !analysis.iterations.is_empty() {
            let track = self.packets.track(Some(start), "iterations", 1)?;
            let mut last = 0;
            for (index, between) in analysis.iterations.iter().enumerate() {
                let name = match index {
                    0 => "first iteration",
                    _ => "iteration",
                };
                let about = [Argument::Number("index", index as u64)];
                last = self.slice(track, *between, last, name, "iteration", &about)?;
            }
        }
        Ok(())
    }

    /// Writes a slice that does not begin before the previous one ends; returns its end.
    fn slice(
        &mut self,
        track: Track,
        (begin, end): (u64, u64),
        last: u64,
        name: &str,
        category: &str,
        about: &[Argument],
    ) -> io::Result<u64> {
        let begin = begin.max(last);
        let end = end.max(begin);
        let time = self.exec.saturating_add(begin);
        self.packets.begin(track, time, name, category, about)?;
        self.packets.end(track, self.exec.saturating_add(end))?;
        Ok(end)
    }

    /// Writes the processes, their threads and their counters.
    fn processes(&mut self, trace: &StartTrace) -> io::Result<()> {
        // After `exec`, the new program has the same process and threads; the last program
        // names them.
        let mut tracks: HashMap<u32, Track> = HashMap::new();
        let mut threads: HashMap<(u32, u32), Track> = HashMap::new();
        for (at, process) in trace.processes.iter().enumerate() {
            let later = &trace.processes[at + 1..];
            let same = later.iter().filter(|other| other.pid == process.pid);
            let until = same.clone().map(|other| other.began).min();
            let until = until.unwrap_or(u64::MAX);
            let cause = (self.causes)(process);
            let track = match tracks.get(&process.pid) {
                Some(track) => *track,
                None => {
                    let named = same.clone().next_back().unwrap_or(process);
                    let name = format!("{}{}", self.prefix, title(named));
                    let track = self.packets.process(process.pid, &name, &named.arguments)?;
                    tracks.insert(process.pid, track);
                    track
                }
            };
            for thread in &process.threads {
                let key = (process.pid, thread.id);
                let of = match threads.get(&key) {
                    Some(of) => *of,
                    None => {
                        let id = thread.id;
                        let mut all = same.clone().flat_map(|other| &other.threads);
                        let named = all.rfind(|other| other.id == id);
                        let name = &named.unwrap_or(thread).name;
                        let of = self.packets.thread(track, process.pid, id, name)?;
                        threads.insert(key, of);
                        of
                    }
                };
                self.thread(of, process, thread, until, &cause)?;
            }
            self.without_detail(track, process, until)?;
            self.counters(track, process)?;
        }
        Ok(())
    }

    /// Writes the slices of a thread up to `until`. Slices always nest, even if the recording
    /// is inconsistent: a slice that would outlast its parent ends with it.
    fn thread(
        &mut self,
        track: Track,
        process: &Process,
        thread: &Thread,
        until: u64,
        cause: &impl Fn(&Span) -> Option<Cause>,
    ) -> io::Result<()> {
        let mut open: Vec<u64> = Vec::new();
        let mut last = 0;
        for span in &thread.spans {
            let begin = span.begin.max(last).min(until);
            while let Some(end) = open.pop_if(|end| *end <= begin) {
                self.packets.end(track, self.exec.saturating_add(end))?;
            }
            let around = open.last().copied().unwrap_or(until);
            let shown = spans::shown(process, span, cause(span));
            self.packets.begin(
                track,
                self.exec.saturating_add(begin),
                &shown.name,
                shown.category,
                &shown.arguments,
            )?;
            open.push(span.end.max(begin).min(around));
            last = begin;
        }
        while let Some(end) = open.pop() {
            self.packets.end(track, self.exec.saturating_add(end))?;
        }
        Ok(())
    }

    /// Marks the intervals in which frequent calls were not recorded.
    fn without_detail(&mut self, process: Track, of: &Process, until: u64) -> io::Result<()> {
        if of.sparse.is_empty() {
            return Ok(());
        }
        let track = (self.packets).track(Some(process), "detail", 0)?;
        let mut last = 0;
        for (begin, end) in &of.sparse {
            let between = (*begin.min(&until), *end.min(&until));
            last = self.slice(track, between, last, "without detail", "", &[])?;
        }
        Ok(())
    }

    /// Writes memory over time.
    fn counters(&mut self, track: Track, process: &Process) -> io::Result<()> {
        let mut devices: Vec<u32> = process.memory.iter().map(|at| at.device).collect();
        devices.sort_unstable();
        devices.dedup();
        for device in devices {
            let of = process.memory.iter().filter(|at| at.device == device);
            let name = format!("memory in use on device {device}");
            self.counter(track, &name, of.map(|at| (at.time, at.used)))?;
        }
        let allocator = || process.allocator.iter();
        self.counter(
            track,
            "in use by tensors",
            allocator().map(|at| (at.time, at.used)),
        )?;
        self.counter(
            track,
            "held by the framework's allocator",
            allocator().map(|at| (at.time, at.reserved)),
        )?;
        let resident = process.samples.iter().map(|at| (at.time, at.resident));
        self.counter(track, "resident memory", resident)
    }

    fn counter(
        &mut self,
        parent: Track,
        name: &str,
        values: impl Iterator<Item = (u64, u64)>,
    ) -> io::Result<()> {
        let mut values = values.peekable();
        if values.peek().is_none() {
            return Ok(());
        }
        let track = self.packets.counter(parent, name)?;
        for (time, value) in values {
            self.packets
                .count(track, self.exec.saturating_add(time), value)?;
        }
        Ok(())
    }
}

/// The display name of a process: the file name of its program and the arguments.
fn title(process: &Process) -> String {
    match process.arguments.as_slice() {
        [] => process.program.rsplit('/').next().unwrap_or("").to_owned(),
        arguments => command_line(arguments),
    }
}
