//! Samples a tree of processes, and writes only changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use preheat_host::clock;
use preheat_model::run::{MAPPED_FILE, STACKS_FILE};
use preheat_wire::Sampled;

use super::file::Writer;
use super::mapped::{Mapper, Schedule};
use super::proc::{self, Source};
use super::{Executed, Summary, Unrecorded};
use crate::stacks::Collector;

/// The maximum number of threads sampled per process.
const THREADS: usize = 64;
/// The maximum number of processes sampled.
const PROCESSES: usize = 64;
/// The maximum number of open files: the limit of a process is often 1024.
const MAX_OPEN_FILES: usize = 400;

/// The command's process and its descendants, and other processes that record into the same
/// directory: they existed before and do work for the command.
pub(super) struct Tree {
    root: u32,
    directory: PathBuf,
    processes: BTreeMap<u32, Process>,
    /// True if `schedstat` is available; otherwise clock ticks are used.
    precise: bool,
    /// Nanoseconds per tick, bytes per page.
    tick: u64,
    page: u64,
    peak_resident: u64,
    left_out: bool,
    unrecorded: Unrecorded,
    mapper: Mapper,
    stacks: Collector,
    /// The time of the next sample of stacks, and the threads that have run since they were.
    stacks_at: u64,
    ran: BTreeSet<(u32, u32)>,
}

struct Process {
    statm: Source,
    io: Source,
    stat: Source,
    threads: BTreeMap<u32, Thread>,
    last: Last<(u64, Sampled)>,
    mapped: Schedule,
    executed: Executed,
    /// True if its program has just proved to last.
    lasts: bool,
    now: (u64, Sampled),
}

struct Thread {
    source: Source,
    /// The last name that was written, and how often it was discovered.
    name: String,
    discovered: u32,
    last: Last<(u64, u64)>,
}

/// The last written value, so that only changes are written.
struct Last<T> {
    value: Option<T>,
    /// The last time at which it was still unchanged.
    unchanged: Option<u64>,
}

impl<T: Copy + PartialEq> Last<T> {
    const NEW: Last<T> = Last {
        value: None,
        unchanged: None,
    };

    /// The records to write for this value: none if it is unchanged. Otherwise the value,
    /// preceded by the old one at the last time it was sampled: a reader interpolates
    /// between two records.
    fn next(&mut self, time: u64, value: T) -> [Option<(u64, T)>; 2] {
        if self.value == Some(value) {
            self.unchanged = Some(time);
            return [None, None];
        }
        let old = self.value.replace(value);
        let before = self.unchanged.take().and_then(|time| Some((time, old?)));
        [before, Some((time, value))]
    }

    /// The final record, which shows how long the value stayed unchanged.
    fn rest(&mut self) -> Option<(u64, T)> {
        self.unchanged.take().zip(self.value)
    }
}

impl Tree {
    pub(super) fn new(root: u32, directory: PathBuf, stacks: Collector) -> Tree {
        let mapper = Mapper::begin(&directory);
        let mut tree = Tree {
            root,
            directory,
            processes: BTreeMap::new(),
            precise: proc::schedstat_counts(),
            tick: 1_000_000_000 / u64::from(proc::ticks_per_second()),
            page: preheat_host::page_size() as u64,
            peak_resident: 0,
            left_out: false,
            unrecorded: Unrecorded::default(),
            mapper,
            stacks,
            stacks_at: 0,
            ran: BTreeSet::new(),
        };
        tree.add(root);
        tree
    }

    /// Samples the known threads of the root. With `wide`, also discovers new threads and
    /// descendants, and samples all processes and their disk reads.
    pub(super) fn sample(&mut self, wide: bool, writer: &mut Writer) {
        if wide {
            self.discover(writer);
        }
        let mut gone = Vec::new();
        for (&pid, process) in &mut self.processes {
            if wide || pid == self.root {
                let there = process.sample(pid, wide, self.page, writer);
                let ran = &mut self.ran;
                process.sample_threads(pid, self.precise, self.tick, writer, ran);
                self.peak_resident = self.peak_resident.max(process.now.0);
                if std::mem::take(&mut process.lasts) {
                    self.unrecorded.inspect(pid);
                }
                if !there && pid != self.root {
                    gone.push(pid);
                } else {
                    self.mapper.sample(pid, process.now.0, &mut process.mapped);
                }
            }
        }
        for pid in gone {
            if let Some(mut process) = self.processes.remove(&pid) {
                process.end(pid, writer);
            }
        }
        if clock::now() >= self.stacks_at {
            self.sample_stacks();
        }
        writer.flush();
    }

    /// Samples the stacks of the threads that have run, and then not until that cost less
    /// than a hundredth of one processor.
    fn sample_stacks(&mut self) {
        let before = clock::own_cpu();
        let ran: Vec<(u32, u32)> = std::mem::take(&mut self.ran).into_iter().collect();
        self.stacks.sample(clock::now(), &ran);
        let cost = clock::own_cpu().saturating_sub(before);
        self.stacks_at = clock::now().saturating_add(cost.saturating_mul(100));
    }

    /// Takes the last sample.
    pub(super) fn end(mut self, writer: &mut Writer) -> Summary {
        self.sample(true, writer);
        self.sample_stacks();
        for (&pid, process) in &mut self.processes {
            process.end(pid, writer);
        }
        writer.flush();
        self.summary()
    }

    fn summary(mut self) -> Summary {
        let mut notes: Vec<String> = self.stacks.note().into_iter().collect();
        if let Err(why) = self.stacks.finish(&self.directory.join(STACKS_FILE)) {
            notes.push(format!("Sampled functions could not be written: {why}."));
        }
        if let Err(why) = self.mapper.finish(&self.directory.join(MAPPED_FILE)) {
            notes.push(format!("Host memory by mapping is not known: {why}."));
        }
        if !self.precise {
            notes.push("This kernel does not report the CPU time of threads in nanoseconds: it was sampled in clock ticks, and the time spent waiting for a processor is unknown.".to_owned());
        }
        if self.left_out {
            notes.push(format!(
                "Only the first {PROCESSES} processes, and {THREADS} threads of each, were sampled from outside."
            ));
        }
        Summary {
            peak_resident: self.peak_resident,
            unrecorded: self.unrecorded.all(),
            notes,
        }
    }

    /// Finds new threads and descendants.
    fn discover(&mut self, writer: &mut Writer) {
        let mut kept = self.kept();
        let mut pending = vec![self.root];
        pending.extend(recording_in(&self.directory));
        let mut visited = BTreeSet::new();
        while let Some(pid) = pending.pop() {
            if !visited.insert(pid) {
                continue;
            }
            if visited.len() > PROCESSES {
                self.left_out = true;
                break;
            }
            self.add(pid);
            let Some(process) = self.processes.get_mut(&pid) else {
                continue;
            };
            let threads = proc::numbers(&format!("/proc/{pid}/task"), THREADS + 1);
            self.left_out |= threads.len() > THREADS;
            process.threads.retain(|tid, _| threads.contains(tid));
            for &tid in threads.iter().take(THREADS) {
                let thread = process.threads.entry(tid).or_insert_with(|| {
                    let file = if self.precise { "schedstat" } else { "stat" };
                    let path = format!("/proc/{pid}/task/{tid}/{file}");
                    kept += 1;
                    Thread {
                        source: Source::new(path, kept < MAX_OPEN_FILES),
                        name: String::new(),
                        discovered: 0,
                        last: Last::NEW,
                    }
                });
                thread.discovered = thread.discovered.saturating_add(1);
                // A thread gets its name after it was created, usually at once.
                if thread.discovered.is_power_of_two()
                    && let Some(name) = proc::thread_name(pid, tid)
                    && name != thread.name
                {
                    writer.thread_name(clock::now(), (pid, tid), &name);
                    thread.name = name;
                }
                pending.extend(proc::children(pid, tid));
            }
        }
    }

    fn add(&mut self, pid: u32) {
        if self.processes.contains_key(&pid) {
            return;
        }
        let keep = self.kept() + 3 < MAX_OPEN_FILES;
        let file = |name| Source::new(format!("/proc/{pid}/{name}"), keep);
        let process = Process {
            statm: file("statm"),
            io: file("io"),
            stat: file("stat"),
            threads: BTreeMap::new(),
            last: Last::NEW,
            mapped: Schedule::default(),
            executed: Executed::default(),
            lasts: false,
            now: (
                0,
                Sampled {
                    process: pid,
                    ..Sampled::default()
                },
            ),
        };
        self.processes.insert(pid, process);
    }

    fn kept(&self) -> usize {
        let of = |process: &Process| {
            let threads = process.threads.values();
            3 + threads.filter(|thread| thread.source.is_kept()).count()
        };
        self.processes.values().map(of).sum()
    }
}

/// The processes that have a process file in a directory.
fn recording_in(directory: &Path) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let name = entry.file_name();
        let (process, rest) = name.to_str()?.split_once('-')?;
        rest.ends_with(".process").then(|| process.parse().ok())?
    })
}

impl Process {
    /// Samples the process; false if it no longer exists.
    fn sample(&mut self, pid: u32, wide: bool, page: u64, writer: &mut Writer) -> bool {
        let mut buffer = [0; 1024];
        let time = clock::now();
        let Some((pages, file_backed)) =
            self.statm.read(&mut buffer).and_then(proc::resident_pages)
        else {
            return false;
        };
        // 0 if the process has ended. The last value would be older than the sample.
        self.now.0 = pages * page;
        self.now.1.file_backed = file_backed * page;
        if wide {
            if let Some(read) = self.io.read(&mut buffer).and_then(proc::read_bytes) {
                self.now.1.waited_or_read = read;
            }
            if let Some(stat) = self.stat.read(&mut buffer).and_then(proc::stat) {
                self.now.1.major_faults = stat.major_faults;
                self.now.1.state = stat.state;
                self.lasts = self.executed.lasts(stat.code);
            }
        }
        debug_assert_eq!(self.now.1.process, pid);
        for (time, (resident, sampled)) in self.last.next(time, self.now).into_iter().flatten() {
            writer.process(time, resident, sampled);
        }
        true
    }

    /// Writes how long the last values lasted.
    fn end(&mut self, pid: u32, writer: &mut Writer) {
        if let Some((time, (resident, sampled))) = self.last.rest() {
            writer.process(time, resident, sampled);
        }
        for (&tid, thread) in &mut self.threads {
            if let Some((time, values)) = thread.last.rest() {
                write_thread(writer, pid, tid, time, values);
            }
        }
    }

    fn sample_threads(
        &mut self,
        pid: u32,
        precise: bool,
        tick: u64,
        writer: &mut Writer,
        ran: &mut BTreeSet<(u32, u32)>,
    ) {
        let mut buffer = [0; 1024];
        self.threads.retain(|&tid, thread| {
            let time = clock::now();
            let text = thread.source.read(&mut buffer);
            let values = match precise {
                true => text.and_then(proc::schedstat),
                false => text.and_then(proc::stat).map(|stat| (stat.ticks * tick, 0)),
            };
            let Some(values) = values else {
                return false;
            };
            if thread.last.value.is_none_or(|last| last.0 != values.0) {
                ran.insert((pid, tid));
            }
            for (time, values) in thread.last.next(time, values).into_iter().flatten() {
                write_thread(writer, pid, tid, time, values);
            }
            true
        });
    }
}

fn write_thread(writer: &mut Writer, pid: u32, tid: u32, time: u64, (cpu, waited): (u64, u64)) {
    let sampled = Sampled {
        process: pid,
        waited_or_read: waited,
        ..Sampled::default()
    };
    writer.thread(time, tid, cpu, sampled);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_are_written_with_their_begin() {
        let mut last = Last::NEW;
        assert_eq!(last.next(10, 1), [None, Some((10, 1))]);
        assert_eq!(last.next(20, 2), [None, Some((20, 2))]);
        assert_eq!(last.next(30, 2), [None, None]);
        assert_eq!(last.next(40, 2), [None, None]);
        assert_eq!(last.next(50, 3), [Some((40, 2)), Some((50, 3))]);
        assert_eq!(last.next(60, 4), [None, Some((60, 4))]);
        assert_eq!(last.rest(), None);
        assert_eq!(last.next(70, 4), [None, None]);
        assert_eq!(last.rest(), Some((70, 4)));
    }
}
