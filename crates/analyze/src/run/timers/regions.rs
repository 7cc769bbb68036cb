//! Pairs the clock readings of a start: what lies between two of them is a region.
//!
//! Where the source says which readings are subtracted, a reading that ends a region is
//! paired with the last one that can begin it, and others mean something else. Where the
//! source is not known, readings are paired by their order: one begins a region and the next ends it; a single place that reads again and
//! again ends one region and begins the next.

use std::collections::HashMap;

use super::super::trace::{Clock, Process, Reading, StartTrace};
use super::place::{Frame, frames, without_returns};
use super::{TimedFile, Timers};

/// The file of the code that Python's `timeit` generates, which reads a clock twice.
pub(super) const TIMEIT: &str = "<timeit-src>";

/// More regions than this are not told apart.
const MOST_REGIONS: usize = 256;

/// The regions of one start, in the order in which they were first executed.
#[derive(Clone, Debug, Default)]
pub(in crate::run) struct Regions {
    pub all: Vec<Region>,
}

/// A region, and each time that it was executed.
#[derive(Clone, Debug)]
pub(in crate::run) struct Region {
    pub key: Key,
    pub process: usize,
    pub thread: usize,
    /// Whether the source says that the two readings are subtracted; else only their order.
    pub known: bool,
    pub executions: Vec<Execution>,
}

/// What tells one region from another, in all starts alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::run) struct Key {
    /// The place of the earlier reading, innermost frame first; never empty.
    pub from: Vec<Frame>,
    /// The place of the later one; never empty.
    pub to: Vec<Frame>,
    pub clock: Clock,
}

/// One execution of a region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::run) struct Execution {
    /// When its clock was read first, since `exec`.
    pub begin: u64,
    /// When it was read again.
    pub end: u64,
    /// The difference of the two readings: what the program calculates.
    pub seconds: f64,
}

/// Finds the regions of a start.
pub(in crate::run) fn regions(trace: &StartTrace, timers: &Timers) -> Regions {
    let mut regions = Regions::default();
    let mut keys: HashMap<(Key, usize, usize), usize> = HashMap::new();
    for (number, process) in trace.processes.iter().enumerate() {
        let places = Places::new(process, timers);
        let mut found = pairs(process, &places, timers);
        found.extend(events(process, &places));
        found.sort_by_key(|(_, _, execution)| execution.begin);
        for (key, thread, execution) in found {
            let count = regions.all.len();
            let at = *keys.entry((key.clone(), number, thread)).or_insert(count);
            if at == count {
                if count == MOST_REGIONS {
                    keys.remove(&(key, number, thread));
                    continue;
                }
                regions.all.push(Region {
                    known: key.clock == Clock::CudaEvent
                        || key.from[0].file == TIMEIT
                        || timers.file(&key.from[0].file).is_some(),
                    key,
                    process: number,
                    thread,
                    executions: Vec::new(),
                });
            }
            let region = &mut regions.all[at];
            // Elapsed since the same beginning is not another execution.
            let last = region.executions.last().map_or(0, |last| last.end);
            if execution.begin >= last || region.executions.is_empty() {
                region.executions.push(execution);
            }
        }
    }
    regions.all.sort_by_key(|region| region.executions[0].begin);
    regions
}

/// The frames of each place of a process, by its text.
struct Places {
    by_text: HashMap<u32, Vec<Frame>>,
}

impl Places {
    fn new(process: &Process, timers: &Timers) -> Places {
        let mut by_text = HashMap::new();
        for reading in &process.readings {
            by_text.entry(reading.place).or_insert_with(|| {
                let text = process.texts.get(reading.place as usize);
                let place = text.map_or("", String::as_str);
                without_returns(frames(place, &process.program, timers), timers)
            });
        }
        Places { by_text }
    }

    fn of(&self, reading: &Reading) -> &[Frame] {
        self.by_text.get(&reading.place).map_or(&[], Vec::as_slice)
    }
}

type Found = (Key, usize, Execution);

/// Pairs of readings of one clock on one thread.
fn pairs(process: &Process, places: &Places, timers: &Timers) -> Vec<Found> {
    let mut sequences: HashMap<(u32, Clock), Vec<&Reading>> = HashMap::new();
    for reading in &process.readings {
        if reading.clock != Clock::CudaEvent && !places.of(reading).is_empty() {
            let sequence = sequences.entry((reading.thread, reading.clock));
            sequence.or_default().push(reading);
        }
    }
    let mut found = Vec::new();
    for sequence in sequences.values_mut() {
        sequence.sort_by_key(|reading| reading.time);
        let mut pairing = Pairing::default();
        for reading in sequence.iter() {
            let place = &places.of(reading)[0];
            let earlier = match timers.file(&place.file) {
                Some(file) => pairing.by_source(reading, place, file),
                None => pairing.by_order(reading, place),
            };
            if let Some(earlier) = earlier {
                found.extend(region(places, earlier, reading));
            }
        }
    }
    found
}

fn region(places: &Places, from: &Reading, to: &Reading) -> Option<Found> {
    let difference = to.value.wrapping_sub(from.value) as i64;
    let execution = Execution {
        begin: from.time,
        end: to.time,
        // A clock that was set back while it was read says nothing.
        seconds: match difference {
            1.. => difference as f64 * 1e-9,
            _ => to.time.checked_sub(from.time)? as f64 * 1e-9,
        },
    };
    let key = Key {
        from: places.of(from).to_vec(),
        to: places.of(to).to_vec(),
        clock: from.clock,
    };
    (execution.end > execution.begin).then_some((key, from.thread as usize, execution))
}

/// Readings that may yet begin a region.
#[derive(Default)]
struct Pairing<'a> {
    /// By file and line: the last reading there.
    last: HashMap<(String, u32), &'a Reading>,
    /// The reading that began a region, where only the order says so, and its place.
    open: Option<(&'a Reading, Frame)>,
}

impl<'a> Pairing<'a> {
    /// The last reading that this one is subtracted from.
    fn by_source(
        &mut self,
        reading: &'a Reading,
        place: &Frame,
        file: &TimedFile,
    ) -> Option<&'a Reading> {
        let begins = (file.differences.iter())
            .filter(|(_, to)| *to == place.line)
            .filter_map(|(from, _)| self.last.get(&(place.file.clone(), *from)).copied());
        let earlier = begins.max_by_key(|earlier| earlier.time);
        self.last.insert((place.file.clone(), place.line), reading);
        earlier
    }

    fn by_order(&mut self, reading: &'a Reading, place: &Frame) -> Option<&'a Reading> {
        let (earlier, rolling) = match self.open.take() {
            Some((earlier, from)) => {
                let rolling = from.line == place.line && from == *place;
                (Some(earlier), rolling)
            }
            None => (None, true),
        };
        if rolling {
            self.open = Some((reading, place.clone()));
        }
        earlier
    }
}

/// Regions between CUDA events: the device's own time, between the calls that recorded them.
fn events(process: &Process, places: &Places) -> Vec<Found> {
    let mut found = Vec::new();
    for elapsed in &process.elapsed {
        let last = |event: u64| {
            (process.readings.iter())
                .filter(|reading| reading.clock == Clock::CudaEvent && reading.value == event)
                .filter(|reading| reading.time <= elapsed.time)
                .max_by_key(|reading| reading.time)
        };
        let (Some(from), Some(to)) = (last(elapsed.from), last(elapsed.to)) else {
            continue;
        };
        if from.time < to.time && !places.of(from).is_empty() && !places.of(to).is_empty() {
            let key = Key {
                from: places.of(from).to_vec(),
                to: places.of(to).to_vec(),
                clock: Clock::CudaEvent,
            };
            let execution = Execution {
                begin: from.time,
                end: to.time,
                seconds: elapsed.nanoseconds as f64 * 1e-9,
            };
            found.push((key, from.thread as usize, execution));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::super::trace::Elapsed;
    use super::*;

    /// A start whose readings are (time, line), in a file that subtracts these lines, or
    /// whose source is not known where there are none.
    fn start(readings: &[(u64, u32)], differences: &[(u32, u32)]) -> Vec<(u32, u32, Vec<u64>)> {
        found(
            readings,
            Some(differences).filter(|known| !known.is_empty()),
        )
    }

    fn found(
        readings: &[(u64, u32)],
        differences: Option<&[(u32, u32)]>,
    ) -> Vec<(u32, u32, Vec<u64>)> {
        let mut texts = vec![String::new()];
        texts.extend((1..100).map(|line| format!("a.py\0{line}\0<module>")));
        let readings = readings.iter().map(|(time, line)| Reading {
            time: *time,
            thread: 0,
            place: *line,
            clock: Clock::Time,
            value: 1_000_000 + time,
        });
        let process = Process {
            texts,
            readings: readings.collect(),
            ..Process::default()
        };
        let trace = StartTrace {
            processes: vec![process],
            ..StartTrace::default()
        };
        let timers = Timers {
            files: (differences.into_iter())
                .map(|differences| TimedFile {
                    file: "a.py".into(),
                    differences: differences.to_vec(),
                    returns: Vec::new(),
                })
                .collect(),
            addresses: Vec::new(),
        };
        let found = regions(&trace, &timers).all;
        let lines = |region: Region| {
            let times = region.executions.iter().map(|e| e.end - e.begin);
            (
                region.key.from[0].line,
                region.key.to[0].line,
                times.collect(),
            )
        };
        found.into_iter().map(lines).collect()
    }

    #[test]
    fn regions_of_the_same_lines_are_repetitions() {
        let readings = [(10, 3), (30, 5), (40, 3), (45, 5), (50, 3), (54, 5)];
        let found = start(&readings, &[(3, 5)]);
        assert_eq!(found, [(3, 5, vec![20, 5, 4])]);
        // The order alone says the same.
        assert_eq!(start(&readings, &[]), found);
    }

    #[test]
    fn a_straight_program_has_its_regions_in_order() {
        let readings = [(10, 1), (30, 2), (40, 3), (45, 4)];
        let expected = [(1, 2, vec![20]), (3, 4, vec![5])];
        assert_eq!(start(&readings, &[(1, 2), (3, 4)]), expected);
        assert_eq!(start(&readings, &[]), expected);
        // The same names again: each end has the last beginning.
        let all = [(1, 2), (1, 4), (3, 2), (3, 4)];
        assert_eq!(start(&readings, &all), expected);
    }

    #[test]
    fn a_region_may_lie_within_another() {
        let readings = [(0, 1), (10, 3), (30, 5), (40, 3), (45, 5), (60, 9)];
        let found = start(&readings, &[(1, 9), (3, 5)]);
        assert_eq!(found, [(1, 9, vec![60]), (3, 5, vec![20, 5])]);
    }

    #[test]
    fn a_rolling_timer_has_a_region_from_each_reading_to_the_next() {
        let readings = [(0, 1), (10, 3), (13, 3), (15, 3)];
        let found = start(&readings, &[(1, 3), (3, 3)]);
        assert_eq!(found, [(1, 3, vec![10]), (3, 3, vec![3, 2])]);
        assert_eq!(start(&readings[1..], &[]), [(3, 3, vec![3, 2])]);
    }

    #[test]
    fn a_source_that_subtracts_nothing_has_no_regions() {
        assert!(found(&[(0, 1), (10, 2), (11, 2)], Some(&[])).is_empty());
    }

    #[test]
    fn what_has_elapsed_since_one_reading_is_reported_once() {
        let readings = [(0, 1), (10, 3), (13, 3), (15, 3)];
        assert_eq!(start(&readings, &[(1, 3)]), [(1, 3, vec![10])]);
    }

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
    }
}
