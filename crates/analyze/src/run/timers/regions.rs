//! Pairs the clock readings of a start: what lies between two of them is a region.
//!
//! Where the source says which readings are subtracted, a reading that ends a region is
//! paired with the last one that can begin it, and others mean something else. Where the
//! source is not known, readings are paired by their order: every other interval is a
//! region, whichever half took longer.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::super::path::{is_compiler, root};
use super::super::trace::{Clock, Process, Reading, StartTrace};
use super::super::{TimedFile, Timers};
use super::place::{Frame, frames, without_returns};
use super::site::{Site, locate};

/// The file of the code that Python's `timeit` generates, which reads a clock twice.
pub(super) const TIMEIT: &str = "<timeit-src>";

/// Maximum number of regions of a start; further ones are dropped.
const MOST_REGIONS: usize = 256;

/// The regions of one start, in the order in which they were first executed.
#[derive(Clone, Debug, Default)]
pub(in crate::run) struct Regions {
    pub all: Vec<Region>,
    /// Lines with readings that are part of no region, and how many they made.
    pub unpaired: Vec<(Frame, usize)>,
}

/// A region, and each time that it was executed, on any thread.
#[derive(Clone, Debug)]
pub(in crate::run) struct Region {
    pub key: Key,
    /// The place where its first execution began, innermost frame first; never empty.
    pub from: Vec<Frame>,
    /// The frames that are a helper's, such as a decorator's.
    pub site: Site,
    /// Whether the source says that the two readings are subtracted; else only their order.
    pub known: bool,
    /// The number of its source text; equal numbers do the same.
    pub body: Option<u32>,
    pub executions: Vec<Execution>,
}

/// Identifies a region in all starts: by where it ends. It may begin in several places,
/// such as before a loop and at the end of its body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::run) struct Key {
    /// The place of the later reading, innermost frame first; never empty.
    pub to: Vec<Frame>,
    pub clock: Clock,
    /// The place of the earlier reading, where several regions end at one: only the order
    /// pairs them, or the program subtracts several variables.
    pub from: Option<Frame>,
}

/// One execution of a region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::run) struct Execution {
    pub process: usize,
    pub thread: usize,
    /// When its clock was read first, since `exec`.
    pub begin: u64,
    /// When it was read again.
    pub end: u64,
    /// The difference of the two readings: what the program calculates.
    pub seconds: f64,
}

impl Region {
    /// The executions with their ends on the device: of CUDA events when it was done, which
    /// may be after the call that recorded the later one.
    pub(in crate::run) fn on_device(&self) -> Vec<Execution> {
        let mut all = self.executions.clone();
        if self.key.clock != Clock::CudaEvent {
            return all;
        }
        for at in 0..all.len() {
            let Execution {
                process, thread, ..
            } = all[at];
            let mut later = all[at + 1..].iter();
            let next = later.find(|one| (one.process, one.thread) == (process, thread));
            let end = all[at].begin + (all[at].seconds * 1e9) as u64;
            all[at].end = next.map_or(end, |next| end.min(next.begin));
        }
        all
    }

    /// The executions on the thread of the first, which follow each other.
    pub(in crate::run) fn on_first_thread(&self) -> impl Iterator<Item = &Execution> {
        let of = self.executions.first().map(|one| (one.process, one.thread));
        let all = self.executions.iter();
        all.filter(move |one| Some((one.process, one.thread)) == of)
    }
}

/// Finds the regions of a start. A compiler that the program runs times itself too, which is
/// not the program's own code.
pub(in crate::run) fn regions(trace: &StartTrace, timers: &Timers) -> Regions {
    let root = root(trace);
    let processes = (trace.processes.iter().enumerate())
        .filter(|(number, process)| Some(*number) == root || !is_compiler(process));
    let mut found = Vec::new();
    let mut regions = Regions::default();
    for (number, process) in processes {
        let places = Places::new(process, timers);
        let pairs = pairs(number, process, &places, timers);
        unpaired(process, &places, &pairs, &mut regions.unpaired);
        found.extend(pairs);
        found.extend(events(number, process, &places));
    }
    found.sort_by_key(|found: &Found| found.execution.begin);
    let mut keys: HashMap<Key, usize> = HashMap::new();
    // The end of the last execution of each region on each thread.
    let mut ends: HashMap<(usize, usize, usize), u64> = HashMap::new();
    for found in found {
        let count = regions.all.len();
        if count == MOST_REGIONS && !keys.contains_key(&found.key) {
            continue;
        }
        let at = *keys.entry(found.key.clone()).or_insert(count);
        if at == count {
            regions.all.push(Region {
                known: found.known,
                key: found.key,
                from: found.from,
                site: Site::default(),
                body: None,
                executions: Vec::new(),
            });
        }
        let execution = found.execution;
        let last = ends.entry((at, execution.process, execution.thread));
        let last = last.or_insert(0);
        // The time since a beginning that was already used is not another execution.
        if execution.begin >= *last {
            *last = execution.end;
            regions.all[at].executions.push(execution);
        }
    }
    locate(&mut regions.all);
    for region in &mut regions.all {
        let (from, to) = (region.begins(), region.ends());
        region.body = (from.file == to.file)
            .then(|| timers.body(&from.file, from.line, to.line))
            .flatten();
    }
    regions
}

/// Adds the lines whose readings are in none of these pairs.
fn unpaired(process: &Process, places: &Places, pairs: &[Found], lines: &mut Vec<(Frame, usize)>) {
    let both = |found: &Found| [found.execution.begin, found.execution.end];
    let paired: HashSet<u64> = pairs.iter().flat_map(both).collect();
    for reading in &process.readings {
        if reading.clock == Clock::CudaEvent || paired.contains(&reading.time) {
            continue;
        }
        let Some(line) = places.of(reading).first() else {
            continue;
        };
        match lines.iter_mut().find(|(known, _)| known == line) {
            Some((_, count)) => *count += 1,
            None => lines.push((line.clone(), 1)),
        }
    }
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

/// An execution, and the region that it is of.
struct Found {
    key: Key,
    from: Vec<Frame>,
    known: bool,
    execution: Execution,
}

/// Pairs of readings of one clock on one thread.
fn pairs(number: usize, process: &Process, places: &Places, timers: &Timers) -> Vec<Found> {
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
        let mut unknown: Vec<&Reading> = Vec::new();
        let mut generated: Vec<&Reading> = Vec::new();
        for reading in sequence.iter() {
            let frames = places.of(reading);
            match timers.file(&frames[0].file) {
                _ if frames[0].file == TIMEIT => generated.push(reading),
                None => unknown.push(reading),
                Some(file) => {
                    let earlier = pairing.earlier(reading, frames, file);
                    for (at, earlier) in earlier.into_iter().enumerate() {
                        let pair = (earlier, *reading);
                        found.extend(region(number, places, pair, true, at > 0));
                    }
                }
            }
        }
        for pair in generated.chunks_exact(2) {
            found.extend(region(number, places, (pair[0], pair[1]), true, false));
        }
        for pair in by_order(&unknown) {
            found.extend(region(number, places, pair, false, true));
        }
    }
    found
}

fn region(
    process: usize,
    places: &Places,
    (from, to): (&Reading, &Reading),
    known: bool,
    by_beginning: bool,
) -> Option<Found> {
    let difference = to.value.wrapping_sub(from.value) as i64;
    let execution = Execution {
        process,
        thread: from.thread as usize,
        begin: from.time,
        end: to.time,
        // A clock that was set back while it was read says nothing.
        seconds: match difference {
            1.. => difference as f64 * 1e-9,
            _ => to.time.checked_sub(from.time)? as f64 * 1e-9,
        },
    };
    let begins = places.of(from);
    (execution.end > execution.begin).then(|| Found {
        key: Key {
            to: without_instances(places.of(to)),
            clock: from.clock,
            from: by_beginning.then(|| begins[0].clone()),
        },
        from: begins.to_vec(),
        known,
        execution,
    })
}

/// The frames without the names of C++ functions: instances of a template share its lines.
fn without_instances(frames: &[Frame]) -> Vec<Frame> {
    let mut frames = frames.to_vec();
    for frame in &mut frames {
        if frame.line > 0 && frame.function.starts_with("_Z") {
            frame.function.clear();
        }
    }
    frames
}

/// Readings that may yet begin a region, by file and line.
#[derive(Default)]
struct Pairing<'a> {
    last: HashMap<(String, u32), Vec<Beginning<'a>>>,
}

/// The last reading of a line that was called in this way.
struct Beginning<'a> {
    frames: &'a [Frame],
    reading: &'a Reading,
}

impl<'a> Pairing<'a> {
    /// The readings that are subtracted from this one, that of each variable, the last one
    /// first.
    fn earlier(
        &mut self,
        reading: &'a Reading,
        frames: &'a [Frame],
        file: &TimedFile,
    ) -> Vec<&'a Reading> {
        let place = &frames[0];
        if file.one_line.contains(&place.line) {
            return self.on_one_line(reading, frames).into_iter().collect();
        }
        // Of each variable rather a reading of the same call than one of the same function,
        // which has a variable of its own, than any other.
        let mut best: BTreeMap<u32, &Beginning<'a>> = BTreeMap::new();
        let rank = |beginning: &Beginning| {
            let same_function = beginning.frames[0].function == place.function;
            let same_callers = beginning.frames[1..] == frames[1..];
            (same_function, same_callers, beginning.reading.time)
        };
        for (at, (from, to)) in file.differences.iter().enumerate() {
            let beginnings = (*to == place.line)
                .then(|| self.last.get(&(place.file.clone(), *from)))
                .flatten();
            let variable = file.variables.get(at).copied().unwrap_or(0);
            for beginning in beginnings.into_iter().flatten() {
                let known = best.entry(variable).or_insert(beginning);
                if rank(beginning) > rank(known) {
                    *known = beginning;
                }
            }
        }
        let mut earlier: Vec<&Beginning> = best.into_values().collect();
        earlier.sort_by_key(|beginning| std::cmp::Reverse(rank(beginning)));
        let mut earlier: Vec<&'a Reading> = earlier
            .into_iter()
            .map(|beginning| beginning.reading)
            .collect();
        // Two variables may hold one reading.
        earlier.dedup_by_key(|reading| reading.time);
        let last = self.last.entry((place.file.clone(), place.line));
        let last = last.or_default();
        match last.iter_mut().find(|known| known.frames == frames) {
            Some(known) => known.reading = reading,
            None => last.push(Beginning { frames, reading }),
        }
        earlier
    }

    /// Readings of a line that holds a whole region: one begins it, the next ends it.
    fn on_one_line(&mut self, reading: &'a Reading, frames: &'a [Frame]) -> Option<&'a Reading> {
        let place = &frames[0];
        let last = self.last.entry((place.file.clone(), place.line));
        let open = last.or_default();
        match open.iter().position(|known| known.frames == frames) {
            Some(at) => Some(open.swap_remove(at).reading),
            None => {
                open.push(Beginning { frames, reading });
                None
            }
        }
    }
}

/// Every other interval between neighbours: the half that took longer. A single place that
/// reads again and again ends one region and begins the next.
fn by_order<'a>(readings: &[&'a Reading]) -> Vec<(&'a Reading, &'a Reading)> {
    let all = || readings.windows(2).map(|pair| (pair[0], pair[1]));
    if readings
        .iter()
        .all(|reading| reading.place == readings[0].place)
    {
        return all().collect();
    }
    let half = |from: usize| all().skip(from).step_by(2);
    let length = |from: usize| -> u64 { half(from).map(|(a, b)| b.time - a.time).sum() };
    half(usize::from(length(1) > length(0))).collect()
}

/// Regions between CUDA events: the device's own time, between the calls that recorded them.
fn events(number: usize, process: &Process, places: &Places) -> Vec<Found> {
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
    use super::super::super::trace::Elapsed;
    use super::*;
    use preheat_model::run::Body;

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
                    ..TimedFile::default()
                })
                .collect(),
            ..Timers::default()
        };
        let found = regions(&trace, &timers).all;
        let lines = |region: Region| {
            let times = region.executions.iter().map(|e| e.end - e.begin);
            (region.from[0].line, region.key.to[0].line, times.collect())
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
        assert_eq!(found, [(1, 3, vec![10, 3, 2])]);
        assert_eq!(start(&readings[1..], &[]), [(3, 3, vec![3, 2])]);
    }

    #[test]
    fn a_timer_that_is_set_again_in_its_loop_has_one_region() {
        // Before the loop on line 1, in it on line 6; read on line 5.
        let readings = [(0, 1), (50, 5), (52, 6), (55, 5), (56, 6), (59, 5)];
        let found = start(&readings, &[(1, 5), (6, 5)]);
        assert_eq!(found, [(1, 5, vec![50, 3, 3])]);
    }

    #[test]
    fn an_outer_timer_does_not_shift_what_is_paired_by_order() {
        let readings = [(0, 1), (1, 3), (31, 5), (32, 3), (42, 5), (43, 9)];
        assert_eq!(start(&readings, &[]), [(3, 5, vec![30, 10])]);
    }

    /// Readings as (time, thread, place), each a text with its frames.
    fn of_places(readings: &[(u64, u32, &str)], differences: &[(u32, u32)]) -> Vec<Region> {
        all_of(readings, differences).all
    }

    fn of_file(readings: &[(u64, u32, &str)], file: TimedFile) -> Vec<Region> {
        regions(&trace(readings), &timers(file)).all
    }

    fn all_of(readings: &[(u64, u32, &str)], differences: &[(u32, u32)]) -> Regions {
        let file = TimedFile {
            differences: differences.to_vec(),
            ..TimedFile::default()
        };
        regions(&trace(readings), &timers(file))
    }

    fn timers(file: TimedFile) -> Timers {
        Timers {
            files: vec![TimedFile {
                file: "a.py".into(),
                ..file
            }],
            ..Timers::default()
        }
    }

    fn trace(readings: &[(u64, u32, &str)]) -> StartTrace {
        let mut process = Process {
            texts: vec![String::new()],
            ..Process::default()
        };
        for (time, thread, place) in readings {
            let known = process.texts.iter().position(|text| text == place);
            let place = known.unwrap_or_else(|| {
                process.texts.push((*place).to_owned());
                process.texts.len() - 1
            });
            process.readings.push(Reading {
                time: *time,
                thread: *thread,
                place: place as u32,
                clock: Clock::Time,
                value: 1_000_000 + time,
            });
        }
        StartTrace {
            processes: vec![process],
            ..StartTrace::default()
        }
    }

    fn lengths(region: &Region) -> Vec<u64> {
        region.executions.iter().map(|e| e.end - e.begin).collect()
    }

    #[test]
    fn a_line_may_hold_whole_regions() {
        let place = |time| (time, 0, "a.py\x003\0timed");
        let readings = [place(10), place(30), place(100), place(105)];
        let file = TimedFile {
            one_line: vec![3],
            ..TimedFile::default()
        };
        let found = of_file(&readings, file);
        let all: Vec<_> = found.iter().map(lengths).collect();
        assert_eq!(all, [vec![20, 5]]);
    }

    #[test]
    fn each_variable_that_is_subtracted_makes_a_region() {
        let place = |time: u64, line: u32| (time, line, format!("a.py\0{line}\0<module>"));
        let places = [place(0, 1), place(10, 2), place(40, 3)];
        let readings: Vec<(u64, u32, &str)> = (places.iter())
            .map(|(time, _, text)| (*time, 0, &**text))
            .collect();
        // s, m, e on lines 1, 2, 3: m − s, e − s, e − m.
        let file = TimedFile {
            differences: vec![(1, 2), (1, 3), (2, 3)],
            variables: vec![0, 0, 1],
            ..TimedFile::default()
        };
        let found = of_file(&readings, file);
        let mut all: Vec<_> = found.iter().flat_map(lengths).collect();
        all.sort_unstable();
        assert_eq!(all, [10, 30, 40]);
        assert!(found.iter().all(|region| region.known));
    }

    #[test]
    fn a_compiler_has_regions_only_if_it_is_the_program() {
        let texts = vec![
            "a.py\x001\0<module>".to_owned(),
            "a.py\x002\0<module>".to_owned(),
        ];
        let reading = |time: u64, place: u32| Reading {
            time,
            place,
            value: time,
            thread: 0,
            clock: Clock::Time,
        };
        let compiler = Process {
            pid: 7,
            program: "/usr/local/cuda/bin/ptxas".into(),
            texts,
            readings: vec![reading(10, 0), reading(30, 1)],
            ..Process::default()
        };
        for (pid, expected) in [(1, 0), (7, 1)] {
            let trace = StartTrace {
                pid,
                processes: vec![compiler.clone()],
                ..StartTrace::default()
            };
            assert_eq!(regions(&trace, &Timers::default()).all.len(), expected);
        }
    }

    #[test]
    fn a_function_has_its_own_variable() {
        let (main, load) = ("<module>", "load");
        let place = |line: u32, function: &str| format!("a.py\0{line}\0{function}");
        let (a, b, c, d) = (
            place(9, main),
            place(3, load),
            place(5, load),
            place(11, main),
        );
        let readings = [(0, 0, &*a), (10, 0, &*b), (15, 0, &*c), (50, 0, &*d)];
        let found = of_places(&readings, &[(3, 5), (9, 5), (3, 11), (9, 11)]);
        let all: Vec<_> = found.iter().map(lengths).collect();
        assert_eq!(all, [vec![50], vec![5]]);
    }

    #[test]
    fn instances_of_a_template_are_one_region() {
        let place = |line: u32, instance: &str| format!("a.py\0{line}\0_Z5timedI{instance}Edv");
        let [a, b, c, d] = [place(3, "A"), place(5, "A"), place(3, "B"), place(5, "B")];
        let readings = [(0, 0, &*a), (50, 0, &*b), (60, 0, &*c), (65, 0, &*d)];
        let found = of_places(&readings, &[(3, 5)]);
        let all: Vec<_> = found.iter().map(lengths).collect();
        assert_eq!(all, [vec![50, 5]]);
    }

    #[test]
    fn a_timer_within_another_use_of_it_belongs_to_its_caller() {
        let place = |line: u32, caller: u32| format!("a.py\0{line}\0f\0a.py\0{caller}\0<module>");
        let (outer, inner) = (place(3, 20), place(3, 21));
        let (end_inner, end_outer) = (place(5, 21), place(5, 20));
        let readings = [
            (0, 0, &*outer),
            (10, 0, &*inner),
            (15, 0, &*end_inner),
            (50, 0, &*end_outer),
        ];
        let found = of_places(&readings, &[(3, 5)]);
        let all: Vec<_> = found.iter().map(lengths).collect();
        assert_eq!(all, [vec![50], vec![5]]);
    }

    #[test]
    fn threads_share_a_region() {
        let (from, to) = ("a.py\x003\0f", "a.py\x005\0f");
        let readings = [(0, 0, from), (2, 1, from), (50, 0, to), (102, 1, to)];
        let found = of_places(&readings, &[(3, 5)]);
        assert_eq!(found.len(), 1);
        assert_eq!(lengths(&found[0]), [50, 100]);
        assert_eq!(found[0].on_first_thread().count(), 1);
    }

    #[test]
    fn a_source_that_subtracts_nothing_has_no_regions() {
        assert!(found(&[(0, 1), (10, 2), (11, 2)], Some(&[])).is_empty());
    }

    #[test]
    fn readings_that_no_region_has_are_counted_by_line() {
        let place = |line: u32| format!("a.py\0{line}\0<module>");
        let (a, b, c) = (place(1), place(3), place(7));
        let readings = [(0, 0, &*a), (10, 0, &*b), (20, 0, &*c), (30, 0, &*c)];
        let left: Vec<(u32, usize)> = (all_of(&readings, &[(1, 3)]).unpaired.iter())
            .map(|(frame, count)| (frame.line, *count))
            .collect();
        assert_eq!(left, [(7, 2)]);
    }

    #[test]
    fn regions_with_the_same_source_text_have_its_number() {
        let place = |line: u32| format!("a.py\0{line}\0<module>");
        let [a, b, c, d] = [1, 2, 4, 5].map(place);
        let readings = [(0, 0, &*a), (10, 0, &*b), (20, 0, &*c), (21, 0, &*d)];
        let trace = trace(&readings);
        let body = |from, to| Body {
            file: "a.py".into(),
            from,
            to,
            text: 7,
        };
        let mut timers = timers(TimedFile {
            differences: vec![(1, 2), (4, 5)],
            ..TimedFile::default()
        });
        timers.bodies = vec![body(1, 2), body(4, 5)];
        let found = regions(&trace, &timers).all;
        let bodies: Vec<_> = found.iter().map(|region| region.body).collect();
        assert_eq!(bodies, [Some(7), Some(7)]);
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
        assert_eq!(found[0].on_device()[0].end, 5_010);
    }
}
