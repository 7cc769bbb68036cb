//! Joins the processes of a start with the launcher's samples.
//!
//! Only this module knows which process is the command itself, which program replaced
//! another, and when each ended.

use std::collections::{BTreeMap, HashMap};

use preheat_model::run::StartInfo;
use preheat_model::run::trace::{Process, StartTrace, Thread, UNKNOWN_CHILD};

use crate::decoder::LauncherSamples;
use crate::layout::Header;
use crate::process::Decoded;

/// Assembles a start from its process files.
pub(crate) fn join(
    info: &StartInfo,
    mut processes: Vec<Decoded>,
    launcher: Option<Decoded>,
    problems: Vec<String>,
) -> StartTrace {
    processes.sort_by_key(|decoded| decoded.process.began);
    let mut samples = launcher
        .map(|launcher| launcher.samples)
        .unwrap_or_default();
    let mut lines = samples.lines.clone();
    lines.sort_unstable();
    let mut line_begins = samples.line_begins.clone();
    line_begins.sort_unstable();
    let same_pid = by_pid(&processes);
    let end = info.end.saturating_sub(info.exec);
    let names = std::mem::take(&mut samples.names);
    let silent = assign_samples(&mut processes, &same_pid, samples);
    let silent = sampled_only(silent, info, end);
    for programs in same_pid.values() {
        // The program that ran before in the same process, and when it ended.
        let mut before: Option<(Header, u64)> = None;
        for (place, index) in programs.iter().enumerate() {
            let next = programs
                .get(place + 1)
                .and_then(|index| processes.get(*index));
            let next_began = next.map(|next| next.process.began);
            let Some(decoded) = processes.get_mut(*index) else {
                continue;
            };
            let root = decoded.header.pid == info.pid;
            decoded.process.made = made(decoded, info, root, before);
            let ended = match next_began {
                Some(next) => last_seen(decoded).min(next).max(decoded.last_known()),
                None if root => end.max(decoded.last_known()),
                None => last_seen(decoded),
            };
            decoded.close(ended);
            before = Some((decoded.header, ended));
        }
    }
    let mut processes: Vec<Process> = (processes.into_iter())
        .map(|decoded| decoded.process)
        .chain(silent)
        .collect();
    processes.sort_by_key(|process| process.began);
    name_threads(&mut processes, names);
    StartTrace {
        // A manifest that was written too early lacks the end.
        end: if info.end > info.exec {
            end
        } else {
            processes
                .iter()
                .map(|process| process.ended)
                .max()
                .unwrap_or(0)
        },
        pid: info.pid,
        processes,
        lines,
        line_begins,
        problems,
        ..StartTrace::default()
    }
}

/// The processes with each pid, ordered by `began`.
fn by_pid(processes: &[Decoded]) -> HashMap<u32, Vec<usize>> {
    let mut indices: HashMap<u32, Vec<usize>> = HashMap::new();
    for (index, decoded) in processes.iter().enumerate() {
        indices.entry(decoded.header.pid).or_default().push(index);
    }
    indices
}

/// Assigns the launcher's samples to the program that ran in that process at that time.
/// Returns those of processes without a file.
fn assign_samples(
    processes: &mut [Decoded],
    same_pid: &HashMap<u32, Vec<usize>>,
    samples: LauncherSamples,
) -> LauncherSamples {
    let mut silent = LauncherSamples::default();
    let alive = |processes: &[Decoded], pid: u32, time: u64| -> Option<usize> {
        let programs = same_pid.get(&pid)?;
        let later = programs.partition_point(|index| {
            processes
                .get(*index)
                .is_some_and(|decoded| decoded.process.began <= time)
        });
        // Before its recorder started, the process already ran its first program.
        programs.get(later.saturating_sub(1)).copied()
    };
    for (pid, sample) in samples.processes {
        let index = alive(processes, pid, sample.time);
        match index.and_then(|index| processes.get_mut(index)) {
            Some(decoded) => decoded.process.samples.push(sample),
            None => silent.processes.push((pid, sample)),
        }
    }
    let mut threads: HashMap<(usize, u32), usize> = HashMap::new();
    for (index, decoded) in processes.iter().enumerate() {
        for (place, thread) in decoded.process.threads.iter().enumerate() {
            threads.insert((index, thread.id), place);
        }
    }
    for (pid, id, sample) in samples.threads {
        let Some(index) = alive(processes, pid, sample.time) else {
            silent.threads.push((pid, id, sample));
            continue;
        };
        let Some(decoded) = processes.get_mut(index) else {
            continue;
        };
        let list = &mut decoded.process.threads;
        let place = *threads.entry((index, id)).or_insert_with(|| {
            list.push(Thread {
                id,
                ..Thread::default()
            });
            list.len() - 1
        });
        if let Some(thread) = list.get_mut(place) {
            thread.samples.push(sample);
        }
    }
    silent
}

/// Gives threads the last names that the launcher saw, and a process that recorded nothing that of
/// its main thread. A thread without a name has that of the thread that created it: this is not a
/// name.
fn name_threads(processes: &mut [Process], names: Vec<(u32, u32, String)>) {
    let names: HashMap<(u32, u32), String> = (names.into_iter())
        .map(|(process, thread, name)| ((process, thread), name))
        .collect();
    for process in processes {
        let main = process.pid;
        let of_main = names.get(&(main, main));
        if let Some(name) = of_main.filter(|_| process.program == UNKNOWN_CHILD) {
            process.program.clone_from(name);
        }
        for thread in &mut process.threads {
            if let Some(name) = names.get(&(main, thread.id)) {
                thread.name.clone_from(name);
            }
            if thread.id != main && of_main == Some(&thread.name) {
                thread.name.clear();
            }
        }
    }
}

/// Processes known only from the launcher's samples: forked ones that record nothing,
/// statically linked ones, and those of another user.
fn sampled_only(samples: LauncherSamples, info: &StartInfo, end: u64) -> Vec<Process> {
    let mut found: BTreeMap<u32, (Process, BTreeMap<u32, Thread>)> = BTreeMap::new();
    for (pid, sample) in samples.processes {
        let (process, _) = found.entry(pid).or_default();
        process.samples.push(sample);
    }
    for (pid, id, sample) in samples.threads {
        let (_, threads) = found.entry(pid).or_default();
        threads.entry(id).or_default().samples.push(sample);
    }
    let found = found.into_iter().map(|(pid, (mut process, threads))| {
        process.samples.sort_by_key(|sample| sample.time);
        let times = process.samples.iter().map(|sample| sample.time);
        let (mut first, mut last) = times.fold((u64::MAX, 0), |(first, last), time| {
            (first.min(time), last.max(time))
        });
        for (id, mut thread) in threads {
            thread.id = id;
            thread.samples.sort_by_key(|sample| sample.time);
            for sample in &thread.samples {
                // A thread is at least as old as the time it has been busy.
                let busy = sample.cpu.saturating_add(sample.waited);
                first = first.min(sample.time.saturating_sub(busy));
                last = last.max(sample.time);
            }
            process.threads.push(thread);
        }
        let root = pid == info.pid;
        process.pid = pid;
        process.parent = if root { 0 } else { info.pid };
        process.program = UNKNOWN_CHILD.to_owned();
        process.made = if root { 0 } else { first };
        process.began = process.made;
        process.ended = if root { end.max(last) } else { last };
        process
    });
    found.collect()
}

/// The time of the last record or sample of a process. After an orderly exit, samples do
/// not count.
fn last_seen(decoded: &Decoded) -> u64 {
    let known = decoded.last_known();
    if decoded.exited.is_some() {
        return known;
    }
    let samples = decoded.process.samples.iter().map(|sample| sample.time);
    let threads = decoded.process.threads.iter();
    let threads = threads.flat_map(|thread| thread.samples.iter().map(|sample| sample.time));
    samples.chain(threads).fold(known, u64::max)
}

/// The time at which the kernel created the process, since `exec`.
///
/// A program that replaced another in the same process begins at the last record of that
/// one: the kernel knows when the process was created, not when the program was.
fn made(decoded: &Decoded, info: &StartInfo, root: bool, before: Option<(Header, u64)>) -> u64 {
    let header = &decoded.header;
    let began = decoded.process.began;
    if let Some((previous, ended)) = before
        && previous.started_ticks == header.started_ticks
    {
        return ended.min(began);
    }
    if root {
        return 0;
    }
    let (ticks, rate) = (
        u128::from(header.started_ticks),
        u128::from(header.ticks_per_second),
    );
    if ticks == 0 || rate == 0 {
        return began;
    }
    let since_boot = u64::try_from(ticks * 1_000_000_000 / rate).unwrap_or(u64::MAX);
    let monotonic = since_boot.saturating_sub(header.boot_offset);
    monotonic.saturating_sub(info.exec).min(began)
}
