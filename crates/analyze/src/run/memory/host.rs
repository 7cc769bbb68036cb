//! The use of resident host memory, at the first result and at its peak.
//!
//! There are two sources. The mappings of a process were sampled a few times: the memory of each
//! library and file, and the memory without a file. The size of the process was sampled every
//! few milliseconds: growth without a file is attributed to the item on the path at that time,
//! such as an import or a line of the program. The total is the size at the requested time.

mod growth;

use std::collections::{BTreeMap, BTreeSet};

use super::super::examine::{Examined, seconds};
use super::super::iterations::StartData;
use super::super::path::program_name;
use super::super::trace::{Process, ProcessSample, StartTrace};
use super::super::{HostBytes, HostItem, HostMemory, HostPart, HostProcess, HostUse, MappedSample};
use growth::Growth;
use growth::rounded;

/// The maximum number of items per part.
const MAX_ITEMS: usize = 20;
/// A peak exceeds the memory at the first result by at least one part in this many.
const GROWTH_DIVISOR: u64 = 100;

/// The item of a part, and its bytes.
pub(super) type Items = BTreeMap<(HostUse, String), f64>;

/// The use of host memory in the shown start; none if it was not sampled. A program that has
/// ended has no memory, so one without iterations is shown at its peak. `resident_peak` is the
/// largest size of a process as the kernel reports it: a short program grows between samples.
pub(super) fn report(
    start: &StartData,
    examined: &Examined,
    first: u64,
    resident_peak: u64,
) -> Option<HostMemory> {
    let at = |time, least| at(start, examined, time, least);
    let trace = start.trace;
    if examined.iterations.is_empty() {
        let first = at(peak(trace, 0)?, resident_peak)?;
        return Some(HostMemory { first, peak: None });
    }
    // Without a sample after the first iteration, the last one may be too small.
    let process = examined.thread.map(|thread| &trace.processes[thread.0]);
    let is_sampled = process.is_some_and(|process| {
        let after = process.samples.iter().filter(|sample| sample.time >= first);
        after.take(1).any(|sample| sample.resident > 0)
    });
    let at_first = at(first, if is_sampled { 0 } else { resident_peak })?;
    let peak = peak(trace, first).and_then(|time| at(time, 0));
    let least = at_first.total + at_first.total / GROWTH_DIVISOR;
    Some(HostMemory {
        peak: peak.filter(|peak| peak.total > least),
        first: at_first,
    })
}

/// The memory of all processes at a time, of which the largest has at least `least` bytes.
fn at(start: &StartData, examined: &Examined, time: u64, least: u64) -> Option<HostBytes> {
    let mut items = Items::new();
    let mut processes: Vec<(HostProcess, f64)> = Vec::new();
    let sizes: Vec<(usize, &Process, ProcessSample)> = (start.trace.processes.iter().enumerate())
        .filter_map(|(index, process)| Some((index, process, size(process, time)?)))
        .collect();
    let largest = sizes.iter().max_by_key(|(_, _, size)| size.resident);
    let largest = largest.map(|(index, _, size)| (*index, least.saturating_sub(size.resident)));
    let samples: Vec<Option<&MappedSample>> = (sizes.iter())
        .map(|(_, process, size)| nearest(start.trace, process, size))
        .collect();
    let shared = shared(samples.iter().copied().flatten());
    for ((index, process, size), sample) in sizes.into_iter().zip(samples) {
        let on_path = examined.thread.filter(|thread| thread.0 == index);
        let grown = match on_path {
            Some((_, thread)) => Growth::new(start, examined, process, thread).until(size.time),
            None => Items::from([((HostUse::Program, display_name(process)), 1.0)]),
        };
        let mut own = of_process(start.trace, sample, &shared, &size, grown);
        if let Some((_, missing)) = largest.filter(|(of, missing)| *of == index && *missing > 0) {
            let name = "memory that was not sampled".to_owned();
            own.insert((HostUse::Unexplained, name), missing as f64);
        }
        let sum: f64 = own.values().sum();
        for (key, bytes) in own {
            *items.entry(key).or_default() += bytes;
        }
        let process = HostProcess {
            process: process.pid,
            name: display_name(process),
            bytes: 0,
        };
        processes.push((process, sum));
    }
    let total: f64 = items.values().sum();
    if processes.is_empty() || total < 1.0 {
        return None;
    }
    let total = total.round() as u64;
    let whole = rounded(total, processes.iter().map(|(_, bytes)| *bytes));
    let mut processes: Vec<HostProcess> = (processes.into_iter().zip(whole))
        .map(|((process, _), bytes)| HostProcess { bytes, ..process })
        .collect();
    processes.sort_by_key(|process| (std::cmp::Reverse(process.bytes), process.process));
    Some(HostBytes {
        time: seconds(time),
        total,
        parts: parts(total, items),
        processes,
    })
}

/// The first size sampled from a time on, if the process existed then; otherwise the last one
/// before it. A process that has ended has no size, and recordings of earlier versions do not
/// distinguish the memory of files.
fn size(process: &Process, time: u64) -> Option<ProcessSample> {
    let from = process.samples.partition_point(|sample| sample.time < time);
    let exists = process.made <= time && time <= process.ended;
    let is_whole = |sample: &&ProcessSample| exists && sample.file_backed > 0;
    let next = process.samples[from..].first().filter(is_whole);
    let last = process.samples[..from].last().filter(is_whole);
    next.or(last).copied()
}

/// The names of mappings that several processes of a start have. Only their pages are divided
/// among the processes: other programs on the machine do not change what a start uses.
fn shared<'a>(samples: impl Iterator<Item = &'a MappedSample>) -> BTreeSet<u32> {
    let mut seen = BTreeSet::new();
    let mut shared = BTreeSet::new();
    for sample in samples {
        let names = sample.bytes.iter().filter(|bytes| bytes.resident > 0);
        let names: BTreeSet<u32> = names.map(|bytes| bytes.name).collect();
        shared.extend(names.intersection(&seen));
        seen.extend(names);
    }
    shared
}

/// The memory of a process by use, given a sample of its mappings. `grown` has the uses of
/// what has no file, as weights.
fn of_process(
    trace: &StartTrace,
    sample: Option<&MappedSample>,
    shared: &BTreeSet<u32>,
    size: &ProcessSample,
    mut grown: Items,
) -> Items {
    let mut items = Items::new();
    let mut add = |usage: HostUse, name: &str, bytes: f64| {
        if bytes > 0.0 {
            *items.entry((usage, name.to_owned())).or_default() += bytes;
        }
    };
    let file_backed = size.file_backed.min(size.resident) as f64;
    let anonymous = size.resident as f64 - file_backed;
    let Some(sample) = sample else {
        let why = "mapped files, which were not sampled";
        add(HostUse::Unexplained, why, file_backed);
        spread(&grown, anonymous, &mut add);
        return items;
    };
    let all = || sample.bytes.iter();
    let sum = |of: fn(&super::super::MappedBytes) -> u64| all().map(of).sum::<u64>() as f64;
    // The sizes at the wanted time, in terms of the sample.
    let scale = |now: f64, then: f64| if then > 0.0 { now / then } else { 0.0 };
    let files = scale(file_backed, sum(|bytes| bytes.resident - bytes.anonymous));
    let rest = scale(anonymous, sum(|bytes| bytes.anonymous));
    let mut without_file = 0.0;
    let mut relocated = 0.0;
    for bytes in all() {
        let Some(name) = trace.mapped.names.get(bytes.name as usize) else {
            continue;
        };
        let share = match shared.contains(&bytes.name) {
            true => scale(bytes.proportional as f64, bytes.resident as f64),
            false => 1.0,
        };
        let own = bytes.anonymous as f64 * share * rest;
        let file = (bytes.resident - bytes.anonymous) as f64 * share * files;
        match usage(&name.name, name.code) {
            Some(HostUse::Libraries) => {
                relocated += own;
                add(HostUse::Libraries, file_name(&name.name), own + file);
            }
            Some(usage) => add(usage, label(&name.name), own + file),
            None => without_file += own + file,
        }
    }
    // Pages that loading a library wrote are in its mappings.
    let while_loading = |usage: HostUse| usage == HostUse::Libraries;
    let loading: f64 = (grown.iter())
        .filter(|((usage, _), _)| while_loading(*usage))
        .map(|(_, bytes)| bytes)
        .sum();
    let kept = scale((loading - relocated).max(0.0), loading);
    for ((usage, _), bytes) in &mut grown {
        if while_loading(*usage) {
            *bytes *= kept;
        }
    }
    spread(&grown, without_file, &mut add);
    items
}

/// Distributes bytes by weights.
fn spread(weights: &Items, bytes: f64, add: &mut impl FnMut(HostUse, &str, f64)) {
    let sum: f64 = weights.values().sum();
    if sum <= 0.0 {
        return add(HostUse::Unexplained, "memory without a file", bytes);
    }
    for ((usage, name), weight) in weights {
        add(*usage, name, bytes * weight / sum);
    }
}

/// The sample of a process's mappings whose size is nearest to a given one.
fn nearest<'a>(
    trace: &'a StartTrace,
    process: &Process,
    size: &ProcessSample,
) -> Option<&'a MappedSample> {
    let of_it = trace.mapped.samples.iter().filter(|sample| {
        sample.process == process.pid && process.made <= sample.time && sample.time <= process.ended
    });
    of_it.min_by_key(|sample| {
        let resident: u64 = sample.bytes.iter().map(|bytes| bytes.resident).sum();
        resident.abs_diff(size.resident)
    })
}

/// The use of a mapping; none for memory whose use only its growth shows.
fn usage(name: &str, code: bool) -> Option<HostUse> {
    const SHARED: [&str; 4] = ["/dev/shm/", "/memfd:", "/SYSV", "/dev/zero"];
    Some(match name {
        "[heap]" | "[anonymous]" => return None,
        "[stack]" | "[thread stack]" => HostUse::Stacks,
        "[recorder]" => HostUse::Recorder,
        "[generated code]" => HostUse::Drivers,
        _ if code => HostUse::Libraries,
        _ if SHARED.iter().any(|prefix| name.starts_with(prefix)) => HostUse::Shared,
        _ if name.starts_with("/dev/") => HostUse::Drivers,
        _ if name.starts_with('/') => HostUse::Files,
        _ => HostUse::Unexplained,
    })
}

/// The display name of a mapping.
fn label(name: &str) -> &str {
    match name {
        "[stack]" => "main thread",
        "[thread stack]" => "other threads",
        "[generated code]" => "generated code",
        "[recorder]" => "recorder",
        _ => file_name(name),
    }
}

fn file_name(path: &str) -> &str {
    super::super::items::file_name(path)
}

fn display_name(process: &Process) -> String {
    match program_name(process) {
        "" => format!("process {}", process.pid),
        name => format!("{name} ({})", process.pid),
    }
}

/// The parts with their items, largest first, in whole bytes that add up.
fn parts(total: u64, items: Items) -> Vec<HostPart> {
    let whole = rounded(total, items.values().copied());
    let mut parts: BTreeMap<HostUse, HostPart> = BTreeMap::new();
    for (((usage, name), _), bytes) in items.into_iter().zip(whole) {
        let part = parts.entry(usage).or_insert(HostPart {
            usage,
            bytes: 0,
            items: Vec::new(),
            items_in_all: 0,
        });
        part.bytes += bytes;
        part.items.push(HostItem { name, bytes });
    }
    let mut parts: Vec<HostPart> = parts.into_values().collect();
    for part in &mut parts {
        part.items_in_all = part.items.len() as u64;
        // Equal ones by name, as they are in order.
        part.items.sort_by_key(|item| std::cmp::Reverse(item.bytes));
        part.items.truncate(MAX_ITEMS);
    }
    parts.retain(|part| part.bytes > 0);
    parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    parts
}

/// The time, from `after` on, at which the processes of a start were largest together.
fn peak(trace: &StartTrace, after: u64) -> Option<u64> {
    let mut sizes = vec![0; trace.processes.len()];
    let mut events: Vec<(u64, usize, u64)> = Vec::new();
    for (index, process) in trace.processes.iter().enumerate() {
        let until = process.ended;
        let samples = process.samples.iter().filter(|sample| sample.time <= until);
        events.extend(samples.map(|sample| (sample.time, index, sample.resident)));
        events.push((until.saturating_add(1), index, 0));
    }
    events.sort_unstable();
    let mut most: Option<(u64, u64)> = None;
    for (time, index, resident) in events {
        sizes[index] = resident;
        let sum = sizes.iter().sum();
        if time > after && most.is_none_or(|(_, most)| sum > most) {
            most = Some((time, sum));
        }
    }
    most.map(|(time, _)| time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use preheat_model::run::{Mapped, MappedName};

    fn sized(time: u64, resident: u64, file_backed: u64) -> ProcessSample {
        ProcessSample {
            time,
            resident,
            file_backed,
            ..ProcessSample::default()
        }
    }

    /// Two libraries, a heap, a stack and a device; half of the library is shared with another
    /// process.
    fn trace() -> StartTrace {
        let names = [
            ("/usr/lib/libtorch.so", true),
            ("[heap]", false),
            ("[stack]", false),
            ("/dev/nvidia0", false),
        ];
        StartTrace {
            mapped: Mapped {
                names: names
                    .map(|(name, code)| MappedName {
                        name: name.to_owned(),
                        code,
                    })
                    .to_vec(),
                samples: vec![MappedSample {
                    time: 10,
                    process: 7,
                    bytes: [(0, 300, 600, 100), (1, 1000, 1000, 1000), (2, 50, 50, 50)]
                        .map(Into::into)
                        .to_vec(),
                }],
                ..Mapped::default()
            },
            ..StartTrace::default()
        }
    }

    /// The memory of the process, which shares these mappings with another one.
    fn used(size: &ProcessSample, shared: &[u32], weights: Items) -> Items {
        let trace = trace();
        let shared = shared.iter().copied().collect();
        of_process(&trace, trace.mapped.samples.first(), &shared, size, weights)
    }

    fn grown(items: &[(HostUse, &str, f64)]) -> Items {
        let item = |&(usage, name, bytes): &(HostUse, &str, f64)| ((usage, name.to_owned()), bytes);
        items.iter().map(item).collect()
    }

    #[test]
    fn memory_without_a_file_is_divided_by_what_allocated_it() {
        let weights = grown(&[
            (HostUse::Libraries, "libtorch.so", 150.0),
            (HostUse::Modules, "torch", 300.0),
            (HostUse::Program, "train.py:3", 600.0),
        ]);
        let size = sized(20, 1650, 500);
        let items = used(&size, &[0], weights);
        // Half of the 100 bytes that loading wrote are in the library's mapping already.
        let expected = grown(&[
            (HostUse::Libraries, "libtorch.so", 300.0 + 100.0),
            (HostUse::Modules, "torch", 300.0),
            (HostUse::Program, "train.py:3", 600.0),
            (HostUse::Stacks, "main thread", 50.0),
        ]);
        assert_eq!(items, expected);
    }

    #[test]
    fn sizes_at_the_wanted_time_decide() {
        let weights = grown(&[(HostUse::Program, "train.py:3", 1.0)]);
        // Twice as much of files, and half of the rest, as in the sample.
        let size = sized(30, 1000 + 575, 1000);
        let items = used(&size, &[0], weights);
        let expected = grown(&[
            (HostUse::Libraries, "libtorch.so", 500.0 + 25.0),
            (HostUse::Program, "train.py:3", 500.0),
            (HostUse::Stacks, "main thread", 25.0),
        ]);
        assert_eq!(items, expected);
    }

    #[test]
    fn pages_are_divided_among_the_processes_of_the_start() {
        let trace = trace();
        let first = &trace.mapped.samples[0];
        let second = MappedSample {
            process: 8,
            bytes: [(0, 300, 600, 100), (1, 0, 0, 0)].map(Into::into).to_vec(),
            ..MappedSample::default()
        };
        assert_eq!(shared([first].into_iter()), BTreeSet::new());
        assert_eq!(shared([first, &second].into_iter()), BTreeSet::from([0]));

        // The library is shared with another program, which does not count.
        let weights = grown(&[(HostUse::Program, "train.py:3", 1.0)]);
        let items = used(&sized(20, 1650, 500), &[], weights);
        let library = (HostUse::Libraries, "libtorch.so".to_owned());
        assert_eq!(items[&library], 600.0);
    }

    #[test]
    fn memory_that_was_not_sampled_is_unexplained() {
        let none = BTreeSet::new();
        let items = of_process(&trace(), None, &none, &sized(20, 90, 40), Items::new());
        let expected = grown(&[
            (
                HostUse::Unexplained,
                "mapped files, which were not sampled",
                40.0,
            ),
            (HostUse::Unexplained, "memory without a file", 50.0),
        ]);
        assert_eq!(items, expected);
        let parts = parts(90, items);
        assert_eq!(
            (parts.len(), parts[0].bytes, parts[0].items_in_all),
            (1, 90, 2)
        );
    }

    #[test]
    fn the_peak_is_that_of_all_processes_together() {
        let with = |pid, ended, samples: &[(u64, u64)]| Process {
            pid,
            ended,
            samples: (samples.iter())
                .map(|(time, resident)| sized(*time, *resident, 1))
                .collect(),
            ..Process::default()
        };
        let trace = StartTrace {
            processes: vec![
                with(1, 100, &[(0, 10), (50, 30), (70, 35)]),
                with(2, 60, &[(20, 20), (55, 25)]),
            ],
            ..StartTrace::default()
        };
        assert_eq!(peak(&trace, 10), Some(55));
        assert_eq!(peak(&trace, 60), Some(70));
        assert_eq!(size(&trace.processes[1], 61), None);
        let old = with(3, 100, &[]);
        assert_eq!(size(&old, 50), None);
    }
}
