//! How busy a thread was, as it was seen from outside.
//!
//! A thread that waits for a processor has something to do as well, but the program is
//! not to blame for it. Between two looks only the shares are known.

use super::super::trace::{Process, ProcessSample, Thread, ThreadSample};

/// What happened this long after the last look is not known any more.
const REACH: u64 = 50_000_000;
/// How often threads are looked at, at most.
const EVERY: u64 = 5_000_000;
/// A thread that was this busy did nothing else.
const BUSY: f64 = 0.95;
/// A thread that was less busy than this was not.
pub(super) const NOT_BUSY: f64 = 0.05;

/// A share of a length. Nearly all is all, and nearly nothing is nothing.
pub(super) fn portion(length: u64, share: f64) -> u64 {
    if share >= BUSY {
        length
    } else if share < NOT_BUSY {
        0
    } else {
        (share * length as f64) as u64
    }
}

/// What a thread did in a stretch of time, as shares of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Load {
    /// It was on a processor.
    pub cpu: f64,
    /// It waited for one.
    pub waited: f64,
}

impl Load {
    /// It had something to do.
    pub(super) fn busy(self) -> f64 {
        self.cpu + self.waited
    }

    /// The same in parts of the stretch that make it up in this proportion.
    pub(super) fn times(self, factor: f64) -> Load {
        let cpu = (self.cpu * factor).min(1.0);
        let waited = (self.waited * factor).min(1.0 - cpu);
        Load { cpu, waited }
    }

    /// How much of a busy length was waiting; a little is not worth telling.
    pub(super) fn waited_of(self, length: u64) -> u64 {
        if self.waited < NOT_BUSY {
            return 0;
        }
        ((self.waited / self.busy() * length as f64) as u64).min(length)
    }
}

/// A stretch of time in which a thread was equally busy, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stretch {
    /// From here.
    pub begin: u64,
    /// It ends here.
    pub end: u64,
    /// How busy; none if nobody looked.
    pub load: Option<Load>,
}

/// Goes along a thread's samples. Times that are asked for must not go back.
pub(super) struct Samples<'a> {
    samples: &'a [ThreadSample],
    /// By sample: what the thread waited for a processor since the one before; empty if
    /// it never did.
    waited: Vec<u64>,
    /// When the thread had used nothing yet.
    origin: u64,
    next: usize,
}

impl<'a> Samples<'a> {
    pub(super) fn new(process: &Process, thread: &'a Thread) -> Samples<'a> {
        let samples = &thread.samples[..];
        let origin = samples.first().map_or(0, |first| {
            let used = first.cpu.saturating_add(first.waited);
            let main = thread.id == process.pid && process.made < first.time;
            // When a thread began is not known. It was not there at the look before, or
            // it had used all the time until now.
            let since = first.time.saturating_sub(used.max(EVERY));
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

    /// The stretch that `time` lies in.
    pub(super) fn at(&mut self, time: u64) -> Stretch {
        while (self.samples.get(self.next)).is_some_and(|sample| sample.time <= time) {
            self.next += 1;
        }
        let unknown = |begin, end| Stretch {
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
            Some(sample) => Stretch {
                begin: before(self.samples, self.origin, self.next).time,
                end: sample.time,
                load: Some(self.between(self.next)),
            },
            None => {
                let end = last.time.saturating_add(REACH);
                if time < end {
                    Stretch {
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

    /// How busy it was before sample `at`, since the one before.
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

/// The look before sample `at`; before the first, when the thread began.
fn before(samples: &[ThreadSample], origin: u64, at: usize) -> ThreadSample {
    match at.checked_sub(1) {
        Some(before) => samples[before],
        None => ThreadSample {
            time: origin,
            ..ThreadSample::default()
        },
    }
}

/// Time, time on a processor and time of waiting for one, from one look to the next. A
/// thread that waits for others of its own program is part of what that computes.
fn since(samples: &[ThreadSample], origin: u64, at: usize) -> (u64, u64, u64) {
    let (earlier, later) = (before(samples, origin, at), &samples[at]);
    (
        later.time.saturating_sub(earlier.time),
        (later.cpu + later.waited_for_own).saturating_sub(earlier.cpu + earlier.waited_for_own),
        later.waited.saturating_sub(earlier.waited),
    )
}

/// What a thread waited for a processor before each sample. The kernel tells of waiting
/// only when the thread runs again: what is more than the time since the look before was
/// before that look, back to where the thread last ran.
fn waited(samples: &[ThreadSample], origin: u64) -> Vec<u64> {
    if samples.last().is_none_or(|last| last.waited == 0) {
        return Vec::new();
    }
    let mut result = vec![0; samples.len()];
    let mut carried = 0u64;
    for at in (0..samples.len()).rev() {
        let (time, cpu, told) = since(samples, origin, at);
        let room = time.saturating_sub(cpu);
        let here = told.min(room);
        let from_later = carried.min(room - here);
        result[at] = here + from_later;
        let beyond = if cpu == 0 { carried - from_later } else { 0 };
        carried = (told - here).saturating_add(beyond);
    }
    result
}

/// A disk is hardly slower than this, in bytes a second.
const DISK: f64 = 50e6;
/// A page fault hardly takes longer than this, in nanoseconds.
const FAULT: u64 = 1_000_000;

/// Goes along a process's samples. Times that are asked for must not go back.
pub(super) struct Reading<'a> {
    samples: &'a [ProcessSample],
    next: usize,
    /// How much of the time around the last one that was asked for was reading.
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

    /// Goes to `time`, and says until when the same is known of it.
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

    /// How long what was read until the next look can have taken.
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

    /// Of an idle length, of which only a share counts: what was waiting for a disk.
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
    fn between_two_looks_the_share_is_known() {
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
    fn a_thread_that_came_later_was_not_there_before() {
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
    fn waiting_is_told_when_the_thread_runs_again() {
        // It runs until 10, waits until 30, and runs again: the look at 35 tells of it.
        let looks = [(10, 10, 0), (20, 10, 0), (25, 10, 0), (35, 15, 20)];
        let samples = looks.map(|(time, cpu, waited)| ThreadSample {
            time: time * MS,
            cpu: cpu * MS,
            waited: waited * MS,
            ..ThreadSample::default()
        });
        assert_eq!(waited(&samples, 0), [0, 10 * MS, 5 * MS, 5 * MS]);
        // Never beyond where it ran.
        let looks = [(10, 0, 0), (20, 5, 0), (30, 10, 40)];
        let samples = looks.map(|(time, cpu, waited)| ThreadSample {
            time: time * MS,
            cpu: cpu * MS,
            waited: waited * MS,
            ..ThreadSample::default()
        });
        assert_eq!(waited(&samples, 0), [0, 5 * MS, 5 * MS]);
    }

    #[test]
    fn no_more_is_waiting_for_a_disk_than_what_was_read_takes() {
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
