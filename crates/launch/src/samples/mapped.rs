//! Samples which mappings hold the memory of the command: libraries, files, heaps.
//!
//! The kernel walks all pages of a process for this, which takes tens of milliseconds for
//! a large one. So a separate thread does it, only after the memory of a process has
//! changed, if possible once it no longer changes, and within a limit on CPU time.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use preheat_host::clock;
use preheat_model::run::{MAPPED_SCHEMA, Mapped, MappedBytes, MappedName, MappedSample};

/// CPU time that may be used at once, and beyond it the part of the time that has passed.
const CREDIT: u64 = 40_000_000;
const TIME_DIVISOR: u64 = 200;
/// The CPU time for a KiB of resident memory until it is measured, in nanoseconds.
const PER_KIB: u64 = 60;
/// Memory is stable after so many nanoseconds without a change of one part in a hundred.
const STABLE: u64 = 30_000_000;
/// More samples are not kept.
const MAX_SAMPLES: usize = 1000;

/// The schedule by which the mappings of a process are sampled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Schedule {
    /// The resident size at the last sample.
    sampled: u64,
    /// A size, and since when the process has had about that.
    level: u64,
    since: u64,
}

impl Schedule {
    /// Returns true if a sample is due, with this resident size.
    fn is_due(&mut self, now: u64, resident: u64) -> bool {
        if resident.abs_diff(self.level) > self.level / 100 {
            (self.level, self.since) = (resident, now);
        }
        let change = resident.abs_diff(self.sampled);
        let is_stable = now.saturating_sub(self.since) >= STABLE;
        change > 0 && (change / 3 > self.sampled || is_stable && change > self.sampled / 20)
    }
}

/// Samples mappings in a thread until it is finished.
pub(super) struct Mapper {
    /// None if the thread could not be started.
    thread: Option<(SyncSender<u32>, JoinHandle<Table>)>,
    began: u64,
    used: Arc<AtomicU64>,
    per_kib: Arc<AtomicU64>,
}

impl Mapper {
    /// Begins. Files in `directory` are those of the recorder.
    pub(super) fn begin(directory: &Path) -> Mapper {
        let used = Arc::new(AtomicU64::new(0));
        let per_kib = Arc::new(AtomicU64::new(PER_KIB));
        // A request waits while another is served; more are refused.
        let (sender, requests) = sync_channel(1);
        let table = Table::new(directory);
        let counters = (Arc::clone(&used), Arc::clone(&per_kib));
        let thread = std::thread::Builder::new()
            .name("mappings".into())
            .spawn(move || serve(table, &requests, &counters));
        Mapper {
            thread: thread.ok().map(|thread| (sender, thread)),
            began: clock::now(),
            used,
            per_kib,
        }
    }

    /// Samples a process with this resident size if that is due.
    pub(super) fn sample(&self, pid: u32, resident: u64, schedule: &mut Schedule) {
        let now = clock::now();
        if !schedule.is_due(now, resident) {
            return;
        }
        let expected = self.per_kib.load(Ordering::Relaxed) * (resident >> 10);
        let allowed = CREDIT + now.saturating_sub(self.began) / TIME_DIVISOR;
        let used = self.used.load(Ordering::Relaxed);
        if used.saturating_add(expected) > allowed {
            return;
        }
        if let Some((sender, _)) = &self.thread
            && sender.try_send(pid).is_ok()
        {
            self.used.fetch_add(expected, Ordering::Relaxed);
            schedule.sampled = resident;
        }
    }

    /// Writes the samples to a file, if there are any.
    pub(super) fn finish(self, path: &Path) -> io::Result<()> {
        let Some((sender, thread)) = self.thread else {
            return Err(io::Error::other("its thread could not be started"));
        };
        drop(sender);
        let table = thread.join().unwrap_or_default();
        if table.mapped.samples.is_empty() {
            // Other users' processes cannot be read.
            return match table.refused {
                Some(why) => Err(why),
                None => Ok(()),
            };
        }
        let mut file = BufWriter::new(File::create_new(path)?);
        serde_json::to_writer(&mut file, &table.mapped)?;
        file.flush()
    }
}

fn serve(
    mut table: Table,
    requests: &Receiver<u32>,
    (used, per_kib): &(Arc<AtomicU64>, Arc<AtomicU64>),
) -> Table {
    let mut own = 0;
    while let Ok(pid) = requests.recv() {
        let before = clock::own_cpu();
        let resident = table.sample(pid);
        let cost = clock::own_cpu().saturating_sub(before);
        own += cost;
        used.store(own, Ordering::Relaxed);
        if resident > 4 << 20 {
            per_kib.store((cost / (resident >> 10)).max(1), Ordering::Relaxed);
        }
    }
    table
}

/// The samples, with each name once.
#[derive(Default)]
struct Table {
    directory: PathBuf,
    mapped: Mapped,
    names: HashMap<String, u32>,
    refused: Option<io::Error>,
}

impl Table {
    fn new(directory: &Path) -> Table {
        Table {
            directory: directory.to_owned(),
            mapped: Mapped {
                schema: MAPPED_SCHEMA.to_owned(),
                ..Mapped::default()
            },
            ..Table::default()
        }
    }

    /// Samples a process and returns its resident size.
    fn sample(&mut self, pid: u32) -> u64 {
        if self.mapped.samples.len() >= MAX_SAMPLES {
            return 0;
        }
        let text = match fs::read_to_string(format!("/proc/{pid}/smaps")) {
            Ok(text) => text,
            Err(why) => {
                if why.kind() == io::ErrorKind::PermissionDenied {
                    self.refused = Some(why);
                }
                return 0;
            }
        };
        let time = clock::now();
        let mut sums: HashMap<u32, MappedBytes> = HashMap::new();
        for mapping in parse(&text) {
            let name = self.name(mapping.name, mapping.code);
            let sum = sums.entry(name).or_insert(MappedBytes {
                name,
                ..MappedBytes::default()
            });
            sum.proportional += mapping.proportional;
            sum.resident += mapping.resident;
            sum.anonymous += mapping.anonymous;
        }
        let mut bytes: Vec<MappedBytes> =
            sums.into_values().filter(|sum| sum.resident > 0).collect();
        bytes.sort_by_key(|sum| sum.name);
        let resident = bytes.iter().map(|sum| sum.resident).sum();
        // A process that has ended has no memory.
        if resident > 0 {
            self.mapped.samples.push(MappedSample {
                time,
                process: pid,
                bytes,
            });
        }
        resident
    }

    fn name(&mut self, name: &str, code: bool) -> u32 {
        let is_own = name.starts_with('/')
            && (Path::new(name).starts_with(&self.directory) || name.ends_with("/libpreheat.so"));
        let name = if is_own { "[recorder]" } else { name };
        let id = match self.names.get(name) {
            Some(id) => *id,
            None => {
                let id = self.mapped.names.len() as u32;
                self.names.insert(name.to_owned(), id);
                self.mapped.names.push(MappedName {
                    name: name.to_owned(),
                    code: false,
                });
                id
            }
        };
        if let Some(known) = self.mapped.names.get_mut(id as usize) {
            known.code |= code && !is_own;
        }
        id
    }
}

// Parses `/proc/PID/smaps`.

/// A mapping with resident memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mapping<'a> {
    /// The path of a file, or a name in brackets.
    pub name: &'a str,
    /// True if it is a file that is mapped as code.
    pub code: bool,
    /// Resident bytes, each page divided by the number of processes that share it.
    pub proportional: u64,
    /// Resident bytes.
    pub resident: u64,
    /// The part of them that does not belong to a file.
    pub anonymous: u64,
}

/// An inaccessible mapping of at most this size below another is the guard of a stack.
const GUARD: u64 = 64 << 10;

/// All mappings in order.
fn parse(text: &str) -> impl Iterator<Item = Mapping<'_>> {
    let mut lines = text.lines().peekable();
    // The end of the last mapping, if that is a guard.
    let mut guard = None;
    std::iter::from_fn(move || {
        let mut mapping = head(lines.next()?, &mut guard);
        while let Some(line) = lines.next_if(|line| !is_head(line)) {
            let into = match line.split_once(':') {
                Some(("Rss", rest)) => (&mut mapping.resident, rest),
                Some(("Pss", rest)) => (&mut mapping.proportional, rest),
                Some(("Anonymous", rest)) => (&mut mapping.anonymous, rest),
                _ => continue,
            };
            let number = into.1.trim().trim_end_matches(" kB").parse::<u64>();
            *into.0 = number.unwrap_or(0).saturating_mul(1024);
        }
        // The kernel rounds each number, and counts pages that move between two of them.
        mapping.proportional = mapping.proportional.min(mapping.resident);
        mapping.anonymous = mapping.anonymous.min(mapping.resident);
        Some(mapping)
    })
}

/// Returns true if a line begins a mapping: fields begin with a capital letter.
fn is_head(line: &str) -> bool {
    !line.starts_with(|first: char| first.is_ascii_uppercase())
}

fn head<'a>(line: &'a str, guard: &mut Option<u64>) -> Mapping<'a> {
    let mut fields = line.splitn(6, ' ');
    let (begin, end) = fields
        .next()
        .and_then(|range| range.split_once('-'))
        .unwrap_or_default();
    let address = |text| u64::from_str_radix(text, 16).unwrap_or(0);
    let (begin, end) = (address(begin), address(end));
    let mode = fields.next().unwrap_or_default().as_bytes();
    let path = fields.nth(3).unwrap_or_default().trim_start();
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let is_code = mode.get(2) == Some(&b'x');
    let after_guard = guard.take() == Some(begin);
    if path.is_empty() && mode.starts_with(b"---") && end.saturating_sub(begin) <= GUARD {
        *guard = Some(end);
    }
    let name = match path {
        "" if is_code => "[generated code]",
        "" if after_guard => "[thread stack]",
        "" => "[anonymous]",
        _ if path.starts_with("[anon") => "[anonymous]",
        path => path,
    };
    Mapping {
        name,
        code: is_code && path.starts_with('/'),
        ..Mapping::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_due_once_memory_has_grown_and_is_stable() {
        let mut schedule = Schedule::default();
        assert!(!schedule.is_due(0, 0));
        assert!(schedule.is_due(1, 10 << 20));
        schedule.sampled = 10 << 20;
        assert!(!schedule.is_due(STABLE * 2, 10 << 20));
        assert!(!schedule.is_due(STABLE * 3, 15 << 20));
        assert!(!schedule.is_due(STABLE * 3 + 1, 15 << 20));
        assert!(schedule.is_due(STABLE * 4, 15 << 20));
        // Four times as much does not wait.
        assert!(!schedule.is_due(STABLE * 4 + 1, 39 << 20));
        assert!(schedule.is_due(STABLE * 4 + 2, 41 << 20));
    }

    #[test]
    fn this_process_is_sampled() {
        let directory = Path::new("/recording");
        let mut table = Table::new(directory);
        let data = vec![1u8; 64 << 20];
        let resident = table.sample(std::process::id());
        assert!(resident >= 64 << 20);
        assert!(table.mapped.is_valid() && data[data.len() - 1] == 1);
        let sum = |wanted: &dyn Fn(&MappedName) -> bool| -> u64 {
            let all = table.mapped.samples[0].bytes.iter();
            all.filter(|bytes| wanted(&table.mapped.names[bytes.name as usize]))
                .map(|bytes| bytes.resident)
                .sum()
        };
        assert!(sum(&|name| name.name == "[anonymous]") >= 64 << 20);
        assert!(sum(&|name| name.code && name.name.contains("libc")) > 0);
        assert_eq!(sum(&|_| true), resident);
        let own = table.name("/x/libpreheat.so", true);
        let file = directory.join("7-0.process");
        assert_eq!(table.name(file.to_str().expect("text"), false), own);
        assert_eq!(table.mapped.names[own as usize].name, "[recorder]");
    }

    const TEXT: &str = "\
55d0c0000000-55d0c0001000 r-xp 00000000 fe:00 17    /usr/lib/a b.so
Size:                  4 kB
Rss:                   8 kB
Pss:                   2 kB
Pss_Dirty:             1 kB
Anonymous:             4 kB
VmFlags: rd ex mr mw me sd
7f0000000000-7f0000001000 ---p 00000000 00:00 0
Rss:                   0 kB
7f0000001000-7f0000801000 rw-p 00000000 00:00 0
Rss:                  12 kB
Pss:                  13 kB
Anonymous:            12 kB
7f0000900000-7f0000a00000 rw-p 00000000 00:00 0
Rss:                  16 kB
Pss:                  16 kB
Anonymous:            16 kB
7f0000b00000-7f0000c00000 rw-s 00000000 00:05 9    /memfd:x (deleted)
Rss:                   4 kB
Pss:                   4 kB
";

    #[test]
    fn mappings_have_their_names_and_sizes() {
        let all: Vec<Mapping> = parse(TEXT).collect();
        let expected = [
            ("/usr/lib/a b.so", true, [2, 8, 4]),
            ("[anonymous]", false, [0, 0, 0]),
            ("[thread stack]", false, [12, 12, 12]),
            ("[anonymous]", false, [16, 16, 16]),
            ("/memfd:x", false, [4, 4, 0]),
        ];
        let expected = expected.map(|(name, code, kib)| Mapping {
            name,
            code,
            proportional: kib[0] << 10,
            resident: kib[1] << 10,
            anonymous: kib[2] << 10,
        });
        assert_eq!(all, expected);
        assert_eq!(parse("").count(), 0);
        assert_eq!(parse("nonsense\nRss: x kB").count(), 1);
    }
}
