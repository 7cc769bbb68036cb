//! Samples the command from outside while it runs: the CPU time of its threads, how long
//! they waited for a processor, and the memory and disk reads of its processes.
//!
//! A thread of preheat does this every few milliseconds. It keeps the files of `/proc`
//! open. It samples less often as the command runs longer or has more to sample, so that sampling
//! uses about 2 % of one processor, half of that for stacks. The first 200 ms of CPU time, mostly
//! for work that is done once, are not counted. A second thread reads which mappings hold the memory ([`mapped`]), a few
//! times.

mod file;
mod mapped;
mod proc;
mod tree;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

use preheat_host::clock;

use crate::program;
use crate::stacks::Collector;
use tree::Tree;

pub(crate) use file::Writer;
pub(crate) use proc::waited_for_processor;

/// The launcher's process file, with samples and matching lines.
#[derive(Clone)]
pub(crate) struct Samples(Arc<Mutex<Writer>>);

impl Samples {
    /// Creates the file in the directory of a start.
    pub(crate) fn create(directory: &Path, limit: u64) -> io::Result<Samples> {
        let writer = Writer::create(&directory.join("launcher.process"), limit)?;
        Ok(Samples(Arc::new(Mutex::new(writer))))
    }

    /// Locks the file for writing.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Writer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the file, unless it is in use.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Writer>> {
        match self.0.try_lock() {
            Ok(writer) => Some(writer),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// The results that are not in the file.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// The peak resident memory of one process, in bytes.
    pub peak_resident: u64,
    /// Programs that cannot be recorded, with the reasons.
    pub unrecorded: Vec<(PathBuf, &'static str)>,
    /// Notes on data that could not be sampled.
    pub notes: Vec<String>,
}

/// Samples until it is stopped.
pub(crate) struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Summary>,
}

impl Sampler {
    /// Starts to sample a process, its descendants, and any other process with a process
    /// file in the directory of the start.
    pub(crate) fn begin(
        process: u32,
        directory: &Path,
        samples: Samples,
        stacks: Collector,
    ) -> io::Result<Sampler> {
        let (stop, stopped) = channel();
        let directory = directory.to_owned();
        let thread = std::thread::Builder::new()
            .name("sampler".into())
            .spawn(move || sample(Tree::new(process, directory, stacks), &samples, &stopped))?;
        Ok(Sampler { stop, thread })
    }

    /// Takes a last sample and stops. The process has exited but is not reaped yet, so its
    /// total usage can still be read.
    pub(crate) fn end(self) -> Summary {
        // Fails only if the thread has ended, which `join` reports.
        let _ = self.stop.send(());
        self.thread.join().unwrap_or_default()
    }
}

fn sample(mut tree: Tree, samples: &Samples, stopped: &Receiver<()>) -> Summary {
    let began = clock::now();
    let mut cost = 0;
    for count in 0u64.. {
        let before = clock::own_cpu();
        tree.sample(count % FULL_SAMPLE_EVERY == 0, &mut samples.lock());
        cost += clock::own_cpu().saturating_sub(before);
        let pause = interval(clock::now().saturating_sub(began), cost);
        match stopped.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => break,
        }
    }
    tree.end(&mut samples.lock())
}

/// Every fourth sample includes descendants, new threads and disk reads.
const FULL_SAMPLE_EVERY: u64 = 4;

/// The pause before the next sample. `age` is the time since the command began, and `cost` the CPU
/// time of all samples so far, both in nanoseconds. Samples take 2 % of one processor, plus an
/// allowance for work that is done once: the sample that finds the interpreter must not be followed
/// by a pause as long as a short program.
fn interval(age: u64, cost: u64) -> Duration {
    const SECOND: u64 = 1_000_000_000;
    const ALLOWANCE: u64 = SECOND / 5;
    let by_age = match age {
        _ if age < 60 * SECOND => 5,
        _ if age < 600 * SECOND => 20,
        _ => 200,
    };
    let due = cost.saturating_sub(ALLOWANCE).saturating_mul(50);
    let by_cost = due.saturating_sub(age).min(SECOND);
    Duration::from_millis(by_age).max(Duration::from_nanos(by_cost))
}

// Programs that the command started and that the recorder cannot be loaded into.

/// The program that a process executes.
#[derive(Default)]
struct Executed {
    code_address: u64,
    samples: u32,
}

impl Executed {
    /// Returns true at the second sample after each `exec`. Programs that exit sooner, such
    /// as `ldconfig`, make no difference.
    fn lasts(&mut self, code_address: u64) -> bool {
        if self.code_address != code_address {
            *self = Executed {
                code_address,
                samples: 0,
            };
        }
        self.samples = self.samples.saturating_add(1);
        code_address != 0 && self.samples == 2
    }
}

/// The programs and the reasons, by executable file.
#[derive(Default)]
struct Unrecorded(BTreeMap<PathBuf, &'static str>);

impl Unrecorded {
    /// Inspects the program of a process.
    fn inspect(&mut self, pid: u32) {
        let path = format!("/proc/{pid}/exe");
        let (Ok(name), Ok(file)) = (fs::read_link(&path), File::open(&path)) else {
            return;
        };
        // `ld-linux` itself has no PT_INTERP, so it looks static, but it does load the recorder.
        let is_loader = name
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"ld-linux"));
        if let Some(why) = program::unrecorded(&file).filter(|_| !is_loader) {
            self.0.insert(name, why);
        }
    }

    fn all(self) -> Vec<(PathBuf, &'static str)> {
        self.0.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_grows_with_age_and_cost() {
        let of = |age_s: u64, cost_ms: u64| interval(age_s * 1_000_000_000, cost_ms * 1_000_000);
        assert_eq!(of(1, 20), Duration::from_millis(5));
        assert_eq!(of(1, 200), Duration::from_millis(5));
        assert_eq!(of(1, 230), Duration::from_millis(500));
        assert_eq!(of(61, 20), Duration::from_millis(20));
        assert_eq!(of(61, 1500), Duration::from_secs(1));
        assert_eq!(of(601, 20), Duration::from_millis(200));
        assert_eq!(of(601, u64::MAX / 1_000_000), Duration::from_secs(1));
    }

    #[test]
    fn each_program_is_inspected_at_its_second_sample() {
        let mut executed = Executed::default();
        let codes = [0, 0, 7, 7, 7, 9, 7, 7];
        let lasts = codes.map(|code| executed.lasts(code));
        let expected = [false, false, false, true, false, false, false, true];
        assert_eq!(lasts, expected);
    }
}
