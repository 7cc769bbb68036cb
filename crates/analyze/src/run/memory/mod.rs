//! Where memory went: the context, kernels, tensors, workspaces.
//!
//! The device only says how much is in use. What grew between two looks and was not
//! allocated by the program belongs to the call that the later look follows.

mod live;

pub(super) use live::{Live, Step};

use super::examine::Examined;
use super::facts::Facts;
use super::iterations::Seen;
use super::trace::{AllocatorSample, DeviceMemory, Process};
use super::{Cause, DeviceBytes, MemoryReport, Recording};
use crate::run::calls::{Meaning, meaning};

/// A framework speaks of its allocator shortly after an iteration has ended.
const SHORTLY: u64 = 5_000_000;

/// Where the memory of the shown start went. The resident peak is that of the largest
/// process of the start, whichever it is: the kernel tells no sum of several.
pub(super) fn report(
    recording: &Recording,
    shown: usize,
    start: &Seen,
    examined: &Examined,
) -> MemoryReport {
    let info = recording.manifest.starts.get(shown);
    let samples = start.trace.processes.iter().flat_map(|p| &p.samples);
    let seen_peak = samples.map(|sample| sample.resident).max().unwrap_or(0);
    let mut report = MemoryReport {
        resident_peak: info.map_or(0, |info| info.peak_resident).max(seen_peak),
        ..MemoryReport::default()
    };
    let Some((process, _)) = examined.thread else {
        return report;
    };
    let facts = &start.facts[process];
    let until = examined.time_to_first.unwrap_or(start.trace.end);
    let samples = facts.process.samples.iter();
    let before = samples.take_while(|sample| sample.time <= until);
    report.resident_first = before.last().map(|sample| sample.resident);
    let live = Live::of(facts);
    report.pinned = live.at(until).pinned;
    report.device = device(facts, &live, examined, until);
    report
}

/// The most that was in use on the device, from the start to the last iteration that is
/// steady.
pub(super) fn peak_device(start: &Seen, examined: &Examined) -> Option<u64> {
    let (process, _) = examined.thread?;
    let facts = &start.facts[process];
    let until = examined.time_to_first.unwrap_or(start.trace.end);
    let bytes = device(facts, &Live::of(facts), examined, until)?;
    Some(bytes.first_peak.max(bytes.steady_peak.unwrap_or(0)))
}

/// The device memory that a cause took.
pub(super) fn of_cause(report: &MemoryReport, cause: Cause) -> Option<u64> {
    let device = report.device.as_ref()?;
    let bytes = match cause {
        Cause::ContextCreation => device.context,
        Cause::KernelLoading => device.kernels,
        Cause::LibrarySetUp => device.workspaces,
        Cause::DeviceAllocation => device.used + device.reserved,
        _ => 0,
    };
    (bytes > 0).then_some(bytes)
}

/// Looks at one device: the one that was looked at most often.
pub(super) fn looks(process: &Process) -> impl Iterator<Item = &DeviceMemory> {
    let device = devices(process).first().map(|(device, _)| *device);
    let all = process.memory.iter();
    all.filter(move |look| Some(look.device) == device)
}

/// The devices that were looked at and how often, the most often first.
fn devices(process: &Process) -> Vec<(u32, usize)> {
    let mut devices: Vec<(u32, usize)> = Vec::new();
    for look in &process.memory {
        match devices
            .iter_mut()
            .find(|(device, _)| *device == look.device)
        {
            Some((_, count)) => *count += 1,
            None => devices.push((look.device, 1)),
        }
    }
    devices.sort_by_key(|(device, count)| (std::cmp::Reverse(*count), *device));
    devices
}

/// What is to be said where a process uses several devices.
pub(super) fn note(start: &Seen, examined: &Examined) -> Option<String> {
    let (process, _) = examined.thread?;
    let devices = devices(start.facts[process].process);
    let (device, _) = devices.first().filter(|_| devices.len() > 1)?;
    Some(format!(
        "The program uses {} devices: device memory is that of device {device}. Which device an \
         allocation is on is not recorded, so that memory is divided no further than into the \
         context and the rest.",
        devices.len()
    ))
}

fn device(facts: &Facts, live: &Live, examined: &Examined, until: u64) -> Option<DeviceBytes> {
    match devices(facts.process).len() {
        0 if live.steps.is_empty() => None,
        0 | 1 => Some(of_one(facts, live, examined, until)),
        _ => Some(of_several(facts.process, examined, until)),
    }
}

/// With several devices only the looks at one of them can be told apart: allocations may
/// be on any.
fn of_several(process: &Process, examined: &Examined, until: u64) -> DeviceBytes {
    let nothing = Live { steps: Vec::new() };
    let mut looks = looks(process).take_while(|look| look.time <= until);
    let first = looks.next().map_or(0, |look| look.used);
    let total = looks.last().map_or(first, |look| look.used);
    DeviceBytes {
        total,
        context: first.min(total),
        other: total.saturating_sub(first),
        first_peak: peak(process, &nothing, 0, until),
        steady_peak: steady(examined).map(|(from, to)| peak(process, &nothing, from, to)),
        ..DeviceBytes::default()
    }
}

fn of_one(facts: &Facts, live: &Live, examined: &Examined, until: u64) -> DeviceBytes {
    let process = facts.process;
    let mut grown = Grown::default();
    let mut before: Option<(u64, u64)> = None;
    for look in looks(process).take_while(|look| look.time <= until) {
        let allocated = live.at(look.time).device();
        let (used_before, allocated_before) = before.unwrap_or((0, 0));
        let grew = look.used as i64 - used_before as i64;
        let own = allocated as i64 - allocated_before as i64;
        let after = match before {
            None => Cause::ContextCreation,
            Some(_) => cause_of(process, look.after),
        };
        grown.add(after, grew - own);
        before = Some((look.used, allocated));
    }
    let at_end = live.at(until);
    let sampled = before.map_or(0, |(used, allocated)| {
        (used + at_end.device()).saturating_sub(allocated)
    });
    let positive = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
    let mut bytes = DeviceBytes {
        context: positive(grown.context),
        kernels: positive(grown.kernels),
        used: at_end.program,
        workspaces: positive(grown.workspaces) + at_end.libraries,
        ..DeviceBytes::default()
    };
    if let Some(said) = said(&process.allocator, until) {
        bytes.used = said.used;
        bytes.reserved = said.reserved.saturating_sub(said.used);
        bytes.workspaces += at_end.program.saturating_sub(said.reserved);
    }
    let parts = bytes.context + bytes.kernels + bytes.used + bytes.reserved + bytes.workspaces;
    bytes.total = sampled.max(parts);
    bytes.other = bytes.total - parts;
    bytes.first_peak = peak(process, live, 0, until).max(bytes.total);
    bytes.steady_peak = steady(examined).map(|(from, to)| peak(process, live, from, to));
    bytes
}

/// What the framework said of its allocator at the end of the first iteration.
fn said(samples: &[AllocatorSample], until: u64) -> Option<&AllocatorSample> {
    let until = until.saturating_add(SHORTLY);
    let mut before = samples.iter().take_while(|sample| sample.time <= until);
    let first = before.next()?;
    Some(before.last().unwrap_or(first))
}

/// From the first steady iteration to the end of the last.
fn steady(examined: &Examined) -> Option<(u64, u64)> {
    let from = examined.summary.as_ref()?.steady_start?.max(1);
    let from = examined.iterations.get(from)?.0;
    Some((from, examined.iterations.last()?.1))
}

#[derive(Default)]
struct Grown {
    context: i64,
    kernels: i64,
    workspaces: i64,
}

impl Grown {
    fn add(&mut self, after: Cause, bytes: i64) {
        match after {
            Cause::DriverInit | Cause::ContextCreation => self.context += bytes,
            Cause::KernelLoading | Cause::KernelCompilation => self.kernels += bytes,
            Cause::LibrarySetUp | Cause::CollectiveSetUp => self.workspaces += bytes,
            _ => {}
        }
    }
}

/// What a call that was followed by a look is about. A launch is only followed by one if
/// it was the first of its kernel.
fn cause_of(process: &Process, symbol: u16) -> Cause {
    let name = process.symbols.get(usize::from(symbol));
    let name = name.map_or("", |symbol| symbol.name.as_str());
    match meaning(name) {
        Meaning::Is(cause) => cause,
        _ if name.contains("Launch") || name.contains("NDRange") => Cause::KernelLoading,
        _ => Cause::Unexplained,
    }
}

/// The most that was in use in a stretch of time: between two looks at the device, what
/// the program allocated since the last.
fn peak(process: &Process, live: &Live, from: u64, to: u64) -> u64 {
    let mut peak = 0;
    let mut base = 0i64;
    let mut looks = looks(process).peekable();
    let mut step = 0;
    loop {
        let look = looks.peek().map_or(u64::MAX, |look| look.time);
        let change = live.steps.get(step).map_or(u64::MAX, |step| step.time);
        let time = look.min(change);
        let now = base + live.before(step).device() as i64;
        // What is in use when the stretch begins counts too.
        if time > from {
            peak = peak.max(u64::try_from(now).unwrap_or(0));
        }
        if time > to || time == u64::MAX {
            return peak;
        }
        if change <= look {
            step += 1;
        } else if let Some(look) = looks.next() {
            base = look.used as i64 - live.before(step).device() as i64;
        }
    }
}
