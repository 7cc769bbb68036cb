//! The load of a thread, sampled from outside.
//!
//! A thread that waits for a processor has work to do, but the program is not to blame for
//! it. Between two samples, only the shares are known.

use super::super::trace::{Process, ProcessSample, Thread, ThreadSample};

/// A load is unknown this long after the last sample.
const LOAD_VALID_FOR_NS: u64 = 50_000_000;
/// The shortest interval between samples.
const MIN_SAMPLE_INTERVAL_NS: u64 = 5_000_000;
/// A load above this counts as full.
const FULL_LOAD: f64 = 0.95;
/// A load below this counts as idle.
pub(super) const NOT_BUSY: f64 = 0.05;

/// A share of a length, rounded to all or nothing if it is close.
pub(super) fn portion(length: u64, share: f64) -> u64 {
    if share >= FULL_LOAD {
        length
    } else if share < NOT_BUSY {
        0
    } else {
        (share * length as f64) as u64
    }
}

/// The load of a thread in an interval, as shares of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Load {
    /// On a processor.
    pub cpu: f64,
    /// Waiting for a processor.
    pub waited: f64,
}

impl Load {
    /// The total: on a processor, or waiting for one.
    pub(super) fn busy(self) -> f64 {
        self.cpu + self.waited
    }

    /// The load multiplied by a factor, limited to full load.
    pub(super) fn times(self, factor: f64) -> Load {
        let cpu = (self.cpu * factor).min(1.0);
        let waited = (self.waited * factor).min(1.0 - cpu);
        Load { cpu, waited }
    }

    /// The waiting time within a busy length; 0 if negligible.
    pub(super) fn waited_of(self, length: u64) -> u64 {
        if self.waited < NOT_BUSY {
            return 0;
        }
        ((self.waited / self.busy() * length as f64) as u64).min(length)
    }
}

/// An interval in which a thread had a constant load, as far as known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LoadInterval {
    /// Begin.
    pub begin: u64,
    /// End.
    pub end: u64,
    /// The load; none if it was not sampled.
    pub load: Option<Load>,
}

/// Iterates over the samples of a thread. Times must not decrease.
pub(super) struct Samples<'a> {
    samples: &'a [ThreadSample],
    /// Indexed by sample: the time the thread waited for a processor since the previous
    /// one; empty if it never waited.
    waited: Vec<u64>,
    /// The time at which the thread had used no CPU time yet.
    origin: u64,
    next: usize,
}

impl<'a> Samples<'a> {
    pub(super) fn new(process: &Process, thread: &'a Thread) -> Samples<'a> {
        let samples = &thread.samples[..];
        let origin = samples.first().map_or(0, |first| {
            let used = first.cpu.saturating_add(first.waited);
            let main = thread.id == process.pid && process.made < first.time;
            // The beginning of a thread is unknown. It did not exist at the previous sample, or
            // its CPU time reaches further back.
            let since = first.time.saturating_sub(used.max(MIN_SAMPLE_INTERVAL_NS));
            if main {
                process.made.min(since)
            } else {
                since.max(process.made.min(first.time))
            }
        });
        Samples {
            samples,
            waited: waited(samples, origin),
            origin,
            next: 0,
        }
    }

    /// The interval that contains `time`.
    pub(super) fn at(&mut self, time: u64) -> LoadInterval {
        while (self.samples.get(self.next)).is_some_and(|sample| sample.time <= time) {
            self.next += 1;
        }
        let unknown = |begin, end| LoadInterval {
            begin,
            end,
            load: None,
        };
        let Some(last) = self.samples.last() else {
            return unknown(0, u64::MAX);
        };
        if time < self.origin {
            return unknown(0, self.origin);
        }
        match self.samples.get(self.next) {
            Some(sample) => LoadInterval {
                begin: before(self.samples, self.origin, self.next).time,
                end: sample.time,
                load: Some(self.between(self.next)),
            },
            None => {
                let end = last.time.saturating_add(LOAD_VALID_FOR_NS);
                if time < end {
                    LoadInterval {
                        begin: last.time,
                        end,
                        load: Some(self.between(self.samples.len() - 1)),
                    }
                } else {
                    unknown(end, u64::MAX)
                }
            }
        }
    }

    /// The load between the previous sample and sample `at`.
    fn between(&self, at: usize) -> Load {
        let (time, cpu, _) = since(self.samples, self.origin, at);
        let waited = self.waited.get(at).copied().unwrap_or(0);
        let time = time.max(1) as f64;
        Load {
            cpu: cpu as f64 / time,
            waited: waited as f64 / time,
        }
        .times(1.0)
    }
}

/// The sample before `at`; for the first one, the beginning of the thread.
fn before(samples: &[ThreadSample], origin: u64, at: usize) -> ThreadSample {
    match at.checked_sub(1) {
        Some(before) => samples[before],
        None => ThreadSample {
            time: origin,
            ..ThreadSample::default()
        },
    }
}

/// The time, CPU time and waiting time between two samples. Waiting for other threads of
/// the same program counts as computing.
fn since(samples: &[ThreadSample], origin: u64, at: usize) -> (u64, u64, u64) {
    let (earlier, later) = (before(samples, origin, at), &samples[at]);
    (
        later.time.saturating_sub(earlier.time),
        (later.cpu + later.waited_for_own).saturating_sub(earlier.cpu + earlier.waited_for_own),
        later.waited.saturating_sub(earlier.waited),
    )
}

/// The time that a thread waited for a processor before each sample. The kernel reports
/// waiting only when the thread runs again: an excess over the time since the previous
/// sample belongs to earlier intervals, back to when the thread last ran.
fn waited(samples: &[ThreadSample], origin: u64) -> Vec<u64> {
    if samples.last().is_none_or(|last| last.waited == 0) {
        return Vec::new();
    }
    let mut result = vec![0; samples.len()];
    let mut carried = 0u64;
    for at in (0..samples.len()).rev() {
        let (time, cpu, reported) = since(samples, origin, at);
        let room = time.saturating_sub(cpu);
        let here = reported.min(room);
        let from_later = carried.min(room - here);
        result[at] = here + from_later;
        let beyond = if cpu == 0 { carried - from_later } else { 0 };
        carried = (reported - here).saturating_add(beyond);
    }
    result
}

/// A lower bound for the speed of a disk, in bytes per second.
const DISK: f64 = 50e6;
/// An upper bound for the duration of a page fault, in nanoseconds.
const FAULT: u64 = 1_000_000;

/// Iterates over the samples of a process. Times must not decrease.
pub(super) struct Reading<'a> {
    samples: &'a [ProcessSample],
    next: usize,
    /// The remaining reading time in the current interval, in nanoseconds.
    left: f64,
}

impl<'a> Reading<'a> {
    pub(super) fn new(process: &'a Process) -> Reading<'a> {
        Reading {
            samples: &process.samples,
            next: 0,
            left: 0.0,
        }
    }

    /// Advances to `time`, and returns until when the result is valid.
    pub(super) fn at(&mut self, time: u64) -> u64 {
        let before = self.next;
        while (self.samples.get(self.next)).is_some_and(|sample| sample.time <= time) {
            self.next += 1;
        }
        if self.next != before {
            self.left = self.covered();
        }
        let next = self.samples.get(self.next);
        next.map_or(u64::MAX, |sample| sample.time)
    }

    /// The longest time that the reads until the next sample can have taken.
    fn covered(&self) -> f64 {
        let earlier = self.next.checked_sub(1).and_then(|at| self.samples.get(at));
        let (Some(earlier), Some(later)) = (earlier, self.samples.get(self.next)) else {
            return 0.0;
        };
        let bytes = later.read.saturating_sub(earlier.read);
        let faults = later.major_faults.saturating_sub(earlier.major_faults);
        let time = later.time.saturating_sub(earlier.time);
        let covered = (bytes as f64 / DISK * 1e9).max(faults.saturating_mul(FAULT) as f64);
        covered.min(time as f64)
    }

    /// The time within an idle length that was spent waiting for a disk, if only a share of
    /// the length counts.
    pub(super) fn take(&mut self, length: u64, share: f64) -> u64 {
        if self.left < 1.0 || share <= 0.0 {
            return 0;
        }
        let part = ((self.left / share) as u64).min(length);
        self.left -= part as f64 * share;
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn thread(samples: &[(u64, u64)]) -> Thread {
        let sample = |(time, cpu): &(u64, u64)| ThreadSample {
            time: time * MS,
            cpu: cpu * MS,
            waited: 0,
            ..ThreadSample::default()
        };
        Thread {
            id: 7,
            samples: samples.iter().map(sample).collect(),
            ..Thread::default()
        }
    }

    #[test]
    fn shares_are_known_between_two_samples() {
        let process = Process {
            pid: 7,
            ..Process::default()
        };
        let thread = thread(&[(10, 5), (20, 15), (30, 15)]);
        let mut samples = Samples::new(&process, &thread);
        for (time, end, busy) in [
            (0, 10, Some(0.5)),
            (10, 20, Some(1.0)),
            (25, 30, Some(0.0)),
            (79, 80, Some(0.0)),
        ] {
            let found = samples.at(time * MS);
            let found = (found.end, found.load.map(Load::busy));
            assert_eq!(found, (end * MS, busy), "{time}");
        }
        assert_eq!(samples.at(80 * MS).load, None);
    }

    #[test]
    fn a_later_thread_has_no_earlier_load() {
        let process = Process {
            pid: 1,
            ..Process::default()
        };
        let late = thread(&[(100, 1), (105, 6)]);
        let mut samples = Samples::new(&process, &late);
        let before = samples.at(0);
        assert_eq!((before.end, before.load), (95 * MS, None));
        assert_eq!(samples.at(96 * MS).load.map(Load::busy), Some(0.2));
        let none = thread(&[]);
        assert_eq!(Samples::new(&process, &none).at(5).load, None);
    }

    #[test]
    fn waiting_is_reported_when_the_thread_runs_again() {
        // It runs until 10, waits until 30, and runs again; the sample at 35 reports the
        // wait.
        let values = [(10, 10, 0), (20, 10, 0), (25, 10, 0), (35, 15, 20)];
        let samples = values.map(|(time, cpu, waited)| ThreadSample {
            time: time * MS,
            cpu: cpu * MS,
            waited: waited * MS,
            ..ThreadSample::default()
        });
        assert_eq!(waited(&samples, 0), [0, 10 * MS, 5 * MS, 5 * MS]);
        // The wait never extends into time when it ran.
        let values = [(10, 0, 0), (20, 5, 0), (30, 10, 40)];
        let samples = values.map(|(time, cpu, waited)| ThreadSample {
            time: time * MS,
            cpu: cpu * MS,
            waited: waited * MS,
            ..ThreadSample::default()
        });
        assert_eq!(waited(&samples, 0), [0, 5 * MS, 5 * MS]);
    }

    #[test]
    fn waiting_for_a_disk_is_bounded_by_the_bytes_read() {
        let sample = |time: u64, read| ProcessSample {
            time: time * MS,
            read,
            ..ProcessSample::default()
        };
        let process = Process {
            // 500 kB take 10 ms.
            samples: vec![sample(0, 0), sample(100, 500_000), sample(200, 500_000)],
            ..Process::default()
        };
        let mut reading = Reading::new(&process);
        assert_eq!(reading.at(5 * MS), 100 * MS);
        assert_eq!(reading.take(4 * MS, 1.0), 4 * MS);
        assert_eq!(reading.at(20 * MS), 100 * MS);
        assert_eq!(reading.take(4 * MS, 0.5), 4 * MS);
        assert_eq!(reading.take(50 * MS, 1.0), 4 * MS);
        assert_eq!(reading.take(50 * MS, 1.0), 0);
        reading.at(150 * MS);
        assert_eq!(reading.take(50 * MS, 1.0), 0);
    }
}
