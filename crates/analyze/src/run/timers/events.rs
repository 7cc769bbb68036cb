//! Regions between CUDA events, which the device times.

use std::collections::HashMap;

use super::super::examine::seconds;
use super::super::facts::Facts;
use super::super::trace::{Clock, Process, Reading, SpanKind};
use super::super::{AfterReading, Unfinished};
use super::regions::{Execution, Key, Places, Region, TimedRegion};

/// Regions between CUDA events: the device time, between the calls that recorded them.
pub(super) fn events(number: usize, process: &Process, places: &Places) -> Vec<TimedRegion> {
    let mut records: HashMap<u64, Vec<&Reading>> = HashMap::new();
    for reading in &process.readings {
        if reading.clock == Clock::CudaEvent && !places.of(reading).is_empty() {
            records.entry(reading.value).or_default().push(reading);
        }
    }
    for records in records.values_mut() {
        records.sort_by_key(|reading| reading.time);
    }
    let last = |event: u64, time: u64| -> Option<&Reading> {
        let records = records.get(&event)?;
        let before = records.partition_point(|reading| reading.time <= time);
        records.get(before.checked_sub(1)?).copied()
    };
    let mut found = Vec::new();
    for elapsed in &process.elapsed {
        let both = last(elapsed.from, elapsed.time).zip(last(elapsed.to, elapsed.time));
        if let Some((from, to)) = both.filter(|(from, to)| from.time < to.time) {
            found.push(TimedRegion {
                key: Key {
                    to: places.of(to).to_vec(),
                    clock: Clock::CudaEvent,
                    from: None,
                },
                from: places.of(from).to_vec(),
                known: true,
                read: [from.time, to.time],
                execution: Execution {
                    process: number,
                    thread: from.thread as usize,
                    begin: from.time,
                    end: to.time,
                    seconds: elapsed.nanoseconds as f64 * 1e-9,
                },
            });
        }
    }
    found
}

// Device work that was still running when a region ended.
//
// The driver does not report when a kernel ends. A synchronization does: when it returns,
// everything launched before it is done. If the program went straight to one and had to
// wait, the device was done at its end; otherwise, that is an upper bound.

/// A synchronization that takes less found the device done: on an H200, one that has nothing
/// to wait for takes 5.7 µs.
const WAITS: u64 = 10_000;

/// Device work launched in the first execution of a region and not waited for when its
/// clock was read.
pub(super) fn unfinished(facts: &[Facts], region: &Region) -> Option<Unfinished> {
    // The device itself timestamps events.
    if region.key.clock == Clock::CudaEvent {
        return None;
    }
    let Execution {
        process,
        begin,
        end,
        ..
    } = *region.executions.first()?;
    let facts = facts.get(process)?;
    let mut launches: Vec<u64> = Vec::new();
    let mut waited = 0;
    let mut next_wait: Option<(u64, u64)> = None;
    let mut next_launch = u64::MAX;
    for thread in &facts.process.threads {
        let from = thread.spans.partition_point(|span| span.begin < begin);
        for span in &thread.spans[from..] {
            if facts.waits_for_device(span) {
                if span.end <= end {
                    waited = waited.max(span.end);
                } else if next_wait.is_none_or(|other| span.begin < other.0) {
                    next_wait = Some((span.begin, span.end));
                }
            } else if span.what == SpanKind::Launch {
                match span.begin < end {
                    true => launches.push(span.begin),
                    false => next_launch = next_launch.min(span.begin),
                }
            }
            // Calls of this thread after a synchronization are irrelevant.
            if span.begin > end && facts.waits_for_device(span) {
                break;
            }
        }
    }
    let launches = launches.iter().filter(|begin| **begin > waited).count() as u64;
    let then = match next_wait {
        Some((from, to)) if from < next_launch && to - from >= WAITS => AfterReading::Waited,
        Some(_) => AfterReading::Later,
        None => AfterReading::Never,
    };
    (launches > 0).then(|| Unfinished {
        launches,
        seconds: next_wait.map(|wait| seconds(wait.1.saturating_sub(end))),
        then: Some(then),
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::Timers;
    use super::super::super::trace::{Elapsed, StartTrace};
    use super::super::regions::regions;
    use super::*;

    #[test]
    fn events_have_the_time_of_the_device() {
        let event = |time, value| Reading {
            time,
            thread: 0,
            place: 1,
            clock: Clock::CudaEvent,
            value,
        };
        let process = Process {
            texts: vec![String::new(), "a.py\x004\0f".into()],
            readings: vec![event(10, 77), event(20, 88), event(60, 77)],
            elapsed: vec![Elapsed {
                time: 50,
                thread: 0,
                from: 77,
                to: 88,
                nanoseconds: 5_000,
            }],
            ..Process::default()
        };
        let trace = StartTrace {
            processes: vec![process],
            ..StartTrace::default()
        };
        let found = regions(&trace, &Timers::default()).all;
        assert_eq!(found.len(), 1);
        let execution = found[0].executions[0];
        assert_eq!((execution.begin, execution.end), (10, 20));
        assert!((execution.seconds - 5e-6).abs() < 1e-12);
        assert_eq!(found[0].on_device()[0].end, 5_010);
    }
}
