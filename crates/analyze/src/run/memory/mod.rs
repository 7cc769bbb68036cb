//! Memory usage: the context, kernels, tensors, workspaces.
//!
//! The device reports only its total usage. Growth between two samples that the program did
//! not allocate belongs to the call before the later sample.

mod allocated;
mod host;

pub(super) use allocated::{Live, Ranges, Step};

use super::examine::Examined;
use super::facts::Facts;
use super::iterations::StartData;
use super::trace::{AllocatorSample, DeviceMemory, Process, ProcessSample};
use super::{Cause, DeviceBytes, MemoryReport, Recording};
use crate::run::driver_calls::{Meaning, meaning};

/// The time within which a framework reports on its allocator after an iteration.
const REPORT_DELAY: u64 = 5_000_000;

/// The time within which a process is sampled again, however slowly that is done.
const SAMPLE_DELAY: u64 = 250_000_000;

/// The memory usage of the shown start. The resident peak is that of the largest process of
/// the start, because the kernel does not report a sum.
pub(super) fn report(
    recording: &Recording,
    shown: usize,
    start: &StartData,
    examined: &Examined,
) -> MemoryReport {
    let info = recording.manifest.starts.get(shown);
    let samples = start.trace.processes.iter().flat_map(|p| &p.samples);
    let sampled_peak = samples.map(|sample| sample.resident).max().unwrap_or(0);
    let mut report = MemoryReport {
        resident_peak: info.map_or(0, |info| info.peak_resident).max(sampled_peak),
        ..MemoryReport::default()
    };
    let Some((process, _)) = examined.thread else {
        return report;
    };
    let facts = &start.facts[process];
    let until = examined.time_to_first.unwrap_or(start.trace.end);
    report.resident_first = examined
        .time_to_first
        .and_then(|first| resident_after(&facts.process.samples, first));
    let live = Live::of(facts);
    report.pinned = live.at(until).pinned;
    report.device = device(facts, &live, examined, until);
    report.host = host::report(start, examined, until, report.resident_peak);
    report
}

/// The resident size in the first sample after a time. An earlier sample may lack what was
/// just allocated; a process that has ended has no resident memory.
fn resident_after(samples: &[ProcessSample], time: u64) -> Option<u64> {
    let next = samples.iter().find(|sample| sample.time >= time)?;
    let is_close = next.time - time <= SAMPLE_DELAY;
    (is_close && next.resident > 0).then_some(next.resident)
}

/// The peak device memory in use until the end of the last steady iteration.
pub(super) fn peak_device(start: &StartData, examined: &Examined) -> Option<u64> {
    let (process, _) = examined.thread?;
    let facts = &start.facts[process];
    let until = examined.time_to_first.unwrap_or(start.trace.end);
    let bytes = device(facts, &Live::of(facts), examined, until)?;
    Some(bytes.first_peak.max(bytes.steady_peak.unwrap_or(0)))
}

/// The device memory attributed to a cause.
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

/// Samples of one device: the one sampled most often.
pub(super) fn device_samples(process: &Process) -> impl Iterator<Item = &DeviceMemory> {
    let device = devices(process).first().map(|(device, _)| *device);
    let all = process.memory.iter();
    all.filter(move |sample| Some(sample.device) == device)
}

/// The sampled devices and their number of samples, most samples first.
fn devices(process: &Process) -> Vec<(u32, usize)> {
    let mut devices: Vec<(u32, usize)> = Vec::new();
    for sample in &process.memory {
        match devices
            .iter_mut()
            .find(|(device, _)| *device == sample.device)
        {
            Some((_, count)) => *count += 1,
            None => devices.push((sample.device, 1)),
        }
    }
    devices.sort_by_key(|(device, count)| (std::cmp::Reverse(*count), *device));
    devices
}

/// A note for processes that use several devices.
pub(super) fn note(start: &StartData, examined: &Examined) -> Option<String> {
    let (process, _) = examined.thread?;
    let devices = devices(start.facts[process].process);
    let (device, _) = devices.first().filter(|_| devices.len() > 1)?;
    Some(format!(
        "The program uses {} devices: device memory is that of device {device}. preheat does not \
         record which device an allocation is on, so device memory is only split into context and \
         other.",
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

/// With several devices, only the samples of one of them are used: allocations may be on
/// any device.
fn of_several(process: &Process, examined: &Examined, until: u64) -> DeviceBytes {
    let nothing = Live { steps: Vec::new() };
    let mut device_samples = device_samples(process).take_while(|sample| sample.time <= until);
    let first = device_samples.next().map_or(0, |sample| sample.used);
    let total = device_samples.last().map_or(first, |sample| sample.used);
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
    for sample in device_samples(process).take_while(|sample| sample.time <= until) {
        let allocated = live.at(sample.time).device();
        let (used_before, allocated_before) = before.unwrap_or((0, 0));
        let grew = sample.used as i64 - used_before as i64;
        let own = allocated as i64 - allocated_before as i64;
        let after = match before {
            None => Cause::ContextCreation,
            Some(_) => cause_of(process, sample.after),
        };
        grown.add(after, grew - own);
        before = Some((sample.used, allocated));
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
    if let Some(allocator_sample) = allocator_sample(&process.allocator, until) {
        bytes.used = allocator_sample.used;
        bytes.reserved = allocator_sample
            .reserved
            .saturating_sub(allocator_sample.used);
        bytes.workspaces += at_end.program.saturating_sub(allocator_sample.reserved);
    }
    let parts = bytes.context + bytes.kernels + bytes.used + bytes.reserved + bytes.workspaces;
    bytes.total = sampled.max(parts);
    bytes.other = bytes.total - parts;
    bytes.first_peak = peak(process, live, 0, until).max(bytes.total);
    bytes.steady_peak = steady(examined).map(|(from, to)| peak(process, live, from, to));
    bytes
}

/// The sample of the framework's allocator at the end of the first iteration.
fn allocator_sample(samples: &[AllocatorSample], until: u64) -> Option<&AllocatorSample> {
    let until = until.saturating_add(REPORT_DELAY);
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

/// The cause of a call that was followed by a sample. A launch is followed by one only if
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

/// The peak usage in an interval. Between two samples of the device, allocations by the
/// program are added to the earlier one.
fn peak(process: &Process, live: &Live, from: u64, to: u64) -> u64 {
    let mut peak = 0;
    let mut base = 0i64;
    let mut device_samples = device_samples(process).peekable();
    let mut step = 0;
    loop {
        let sample = device_samples.peek().map_or(u64::MAX, |sample| sample.time);
        let change = live.steps.get(step).map_or(u64::MAX, |step| step.time);
        let time = sample.min(change);
        let now = base + live.before(step).device() as i64;
        // The usage at the beginning of the interval counts too.
        if time > from {
            peak = peak.max(u64::try_from(now).unwrap_or(0));
        }
        if time > to || time == u64::MAX {
            return peak;
        }
        if change <= sample {
            step += 1;
        } else if let Some(sample) = device_samples.next() {
            base = sample.used as i64 - live.before(step).device() as i64;
        }
    }
}
