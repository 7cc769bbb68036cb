//! How busy a thread was, as it was seen from outside.
//!
//! A thread is busy while it is on a processor or waits for one: either way it has
//! something to do. Between two looks only the share is known.

use super::super::trace::{Process, ProcessSample, Thread, ThreadSample};

/// What happened this long after the last look is not known any more.
const REACH: u64 = 50_000_000;
/// How often threads are looked at, at most.
const EVERY: u64 = 5_000_000;

/// A stretch of time in which a thread was equally busy, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stretch {
    /// It ends here.
    pub end: u64,
    /// How busy, 0 to 1; none if nobody looked.
    pub busy: Option<f64>,
}

/// Goes along a thread's samples. Times that are asked for must not go back.
pub(super) struct Samples<'a> {
    samples: &'a [ThreadSample],
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
            origin,
            next: 0,
        }
    }

    /// The stretch that `time` lies in.
    pub(super) fn at(&mut self, time: u64) -> Stretch {
        while (self.samples.get(self.next)).is_some_and(|sample| sample.time <= time) {
            self.next += 1;
        }
        let unknown = |end| Stretch { end, busy: None };
        if self.samples.is_empty() {
            return unknown(u64::MAX);
        }
        if time < self.origin {
            return unknown(self.origin);
        }
        match self.samples.get(self.next) {
            Some(sample) => Stretch {
                end: sample.time,
                busy: Some(self.between(self.next)),
            },
            None => {
                let last = self.samples.len() - 1;
                let end = self.samples[last].time.saturating_add(REACH);
                if time < end {
                    let busy = Some(self.between(last));
                    Stretch { end, busy }
                } else {
                    unknown(u64::MAX)
                }
            }
        }
    }

    /// How busy it was before sample `at`, since the one before.
    fn between(&self, at: usize) -> f64 {
        let later = &self.samples[at];
        let earlier = match at.checked_sub(1) {
            Some(before) => self.samples[before],
            None => ThreadSample {
                time: self.origin,
                ..ThreadSample::default()
            },
        };
        let cpu = later.cpu.saturating_sub(earlier.cpu);
        let waited = later.waited.saturating_sub(earlier.waited);
        let time = later.time.saturating_sub(earlier.time).max(1);
        ((cpu + waited) as f64 / time as f64).min(1.0)
    }
}

/// Goes along a process's samples. Times that are asked for must not go back.
pub(super) struct Reading<'a> {
    samples: &'a [ProcessSample],
    next: usize,
}

impl<'a> Reading<'a> {
    pub(super) fn new(process: &'a Process) -> Reading<'a> {
        Reading {
            samples: &process.samples,
            next: 0,
        }
    }

    /// Whether it read from disks around `time`.
    pub(super) fn at(&mut self, time: u64) -> bool {
        while (self.samples.get(self.next)).is_some_and(|sample| sample.time <= time) {
            self.next += 1;
        }
        let before = self.next.checked_sub(1).and_then(|at| self.samples.get(at));
        match (before, self.samples.get(self.next)) {
            (Some(a), Some(b)) => b.read > a.read || b.major_faults > a.major_faults,
            _ => false,
        }
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
            assert_eq!(
                found,
                Stretch {
                    end: end * MS,
                    busy
                },
                "{time}"
            );
        }
        assert_eq!(samples.at(80 * MS).busy, None);
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
        assert_eq!((before.end, before.busy), (95 * MS, None));
        assert_eq!(samples.at(96 * MS).busy, Some(0.2));
        let none = thread(&[]);
        assert_eq!(Samples::new(&process, &none).at(5).busy, None);
    }
}
