//! Regions between CUDA events, which the device times.

use std::collections::HashMap;

use super::super::trace::{Clock, Process, Reading};
use super::regions::{Execution, Found, Key, Places};

/// Regions between CUDA events: the device time, between the calls that recorded them.
pub(super) fn events(number: usize, process: &Process, places: &Places) -> Vec<Found> {
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
            found.push(Found {
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
