//! The timed regions of a start: the time between two clock readings, which `pairs` and
//! `events` match.

use std::collections::{HashMap, HashSet};

use super::super::Timers;
use super::super::path::{is_compiler, is_preheat_start, root};
use super::super::trace::{Clock, Process, Reading, StartTrace};
use super::events::events;
use super::frames::{Frame, frames, position, without_returns};
use super::pairs::{TIMEIT, pairs};
use super::site::{Site, locate};

/// Maximum number of regions of a start; further ones are dropped.
const MAX_REGIONS: usize = 256;

/// The regions of one start, in order of first execution.
#[derive(Clone, Debug, Default)]
pub(in crate::run) struct Regions {
    pub all: Vec<Region>,
    /// Lines with readings that are not part of any region, and the number of their
    /// readings.
    pub unpaired: Vec<(Frame, usize)>,
}

/// A region and all of its executions, on any thread.
#[derive(Clone, Debug)]
pub(in crate::run) struct Region {
    pub key: Key,
    /// The location where its first execution began, innermost frame first; never empty.
    pub from: Vec<Frame>,
    /// The frames that belong to a helper, such as a decorator.
    pub site: Site,
    /// True if the source shows that the two readings are subtracted; otherwise, they are
    /// paired by order.
    pub known: bool,
    /// Its source text; equal texts mean the same work.
    pub body: Option<Text>,
    /// The hash of its source text, which is the same in other programs.
    pub code: Option<u32>,
    pub executions: Vec<Execution>,
}

/// Identifies a source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum Text {
    /// The id of a text of whole lines.
    Lines(u32),
    /// Statements within a line of a file, and their number.
    Within { file: usize, line: u32, number: u32 },
}

/// Identifies a region across starts by where it ends. It may begin at several locations,
/// such as before a loop and at the end of its body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::run) struct Key {
    /// The location of the later reading, innermost frame first; never empty.
    pub to: Vec<Frame>,
    pub clock: Clock,
    /// The location of the earlier reading, if several regions end at the same location:
    /// readings are paired by order, or the program subtracts several variables.
    pub from: Option<Frame>,
}

/// One execution of a region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::run) struct Execution {
    pub process: usize,
    pub thread: usize,
    /// The time of the first reading, since `exec`.
    pub begin: u64,
    /// The time of the second reading.
    pub end: u64,
    /// The difference of the two readings, as the program calculates it.
    pub seconds: f64,
}

impl Regions {
    /// Groups of regions of a straight-line program with the same code: executed once each,
    /// one after the other, with the same source text. Regions without a match are groups
    /// of one.
    pub(in crate::run) fn alike(&self) -> Vec<Vec<&Region>> {
        let mut groups: Vec<Vec<&Region>> = Vec::new();
        let once = |region: &&Region| region.known && region.executions.len() == 1;
        for region in self.all.iter().filter(once) {
            let same = |group: &&mut Vec<&Region>| {
                let (first, last) = (group[0], group[group.len() - 1]);
                let (was, is) = (&last.executions[0], &region.executions[0]);
                region.body.is_some()
                    && (region.body, region.key.clock) == (first.body, first.key.clock)
                    && region.loops() == first.loops()
                    && (was.process, was.thread) == (is.process, is.thread)
                    && was.end <= is.begin
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(region),
                None => groups.push(vec![region]),
            }
        }
        groups
    }
}

impl Region {
    /// The number of loops that `timeit` makes in each execution, 0 if it is not known; none
    /// for regions that the program times itself.
    pub(in crate::run) fn loops(&self) -> Option<u64> {
        let frame = self.from.first().filter(|frame| frame.file == TIMEIT)?;
        let loops = frame.function.rsplit_once('×');
        Some(loops.and_then(|(_, loops)| loops.parse().ok()).unwrap_or(0))
    }

    /// The executions with their ends on the device: for CUDA events, the completion of the
    /// event, which may be after the call that recorded it.
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

    /// The executions on the thread of the first one, which follow each other.
    pub(in crate::run) fn on_first_thread(&self) -> impl Iterator<Item = &Execution> {
        let of = self.executions.first().map(|one| (one.process, one.thread));
        let all = self.executions.iter();
        all.filter(move |one| Some((one.process, one.thread)) == of)
    }
}

/// Installed packages, as parts of paths.
const PACKAGES: [&str; 2] = ["/site-packages/", "/dist-packages/"];

/// Finds the regions of a start. Compilers run by the program and `preheat start` are
/// skipped: their timers are not the program's own code. Neither are those of a package's own
/// programs, if any other process times a region.
pub(in crate::run) fn regions(trace: &StartTrace, timers: &Timers) -> Regions {
    let root = root(trace);
    let processes = (trace.processes.iter().enumerate())
        .filter(|(number, process)| Some(*number) == root || !is_compiler(process))
        .filter(|(_, process)| !is_preheat_start(process));
    let mut all: Vec<(usize, &Process, Places, Vec<TimedRegion>)> = processes
        .map(|(number, process)| (number, process, Places::new(process, timers)))
        .filter(|(.., places)| !places.by_text.is_empty())
        .map(|(number, process, places)| {
            let pairs = pairs(number, process, &places, timers);
            (number, process, places, pairs)
        })
        .collect();
    let times = |places: &Places, pairs: &[_]| !places.are_of_packages() && !pairs.is_empty();
    if all.iter().any(|(.., places, pairs)| times(places, pairs)) {
        all.retain(|(.., places, _)| !places.are_of_packages());
    }
    let mut found = Vec::new();
    let mut regions = Regions::default();
    for (number, process, places, pairs) in all {
        unpaired(process, (&places, timers), &pairs, &mut regions.unpaired);
        found.extend(pairs);
        found.extend(events(number, process, &places));
    }
    // Regions that begin with the same reading are in the order of their ends.
    found.sort_by_key(|found: &TimedRegion| found.read);
    let mut keys: HashMap<Key, usize> = HashMap::new();
    // The end of the execution that each reading ends.
    let mut ended: HashMap<(usize, usize, u64), u64> = HashMap::new();
    // The end of the last execution of each region on each thread.
    let mut ends: HashMap<(usize, usize, usize), u64> = HashMap::new();
    for found in found {
        let count = regions.all.len();
        if count == MAX_REGIONS && !keys.contains_key(&found.key) {
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
                code: None,
                executions: Vec::new(),
            });
        }
        let mut execution = found.execution;
        // Regions that share a reading do not overlap.
        let shared = (execution.process, execution.thread, found.read[0]);
        let begin = ended.get(&shared).copied().unwrap_or(0);
        execution.begin = execution.begin.max(begin.min(execution.end - 1));
        let shared = (execution.process, execution.thread, found.read[1]);
        ended.insert(shared, execution.end);
        let last = ends.entry((at, execution.process, execution.thread));
        let last = last.or_insert(0);
        // The time since a begin that was already used is not another execution.
        if found.read[0] >= *last {
            *last = found.read[1];
            regions.all[at].executions.push(execution);
        }
    }
    locate(&mut regions.all);
    for region in &mut regions.all {
        let (from, to) = (region.begins(), region.ends());
        let body = (from.file == to.file)
            .then(|| timers.body(&from.file, from.line, to.line))
            .flatten()
            .filter(|_| !is_unlike(timers, from));
        region.code = body.and_then(|body| body.code);
        region.body = body.map(|body| Text::Lines(body.text));
    }
    for (file, known) in timers.files.iter().enumerate() {
        for (line, numbers) in &known.within {
            name_within(&mut regions.all, (file, &known.file, *line), numbers);
        }
    }
    regions
}

/// Gives the regions of a line with different work their texts, if all were executed: their
/// order is that of the line.
fn name_within(all: &mut [Region], (file, path, line): (usize, &str, u32), numbers: &[u32]) {
    let is_here = |frame: &Frame| frame.file == path && frame.line == line;
    let here: Vec<&mut Region> = (all.iter_mut())
        .filter(|region| is_here(region.begins()) && is_here(region.ends()))
        .collect();
    if here.len() == numbers.len() {
        for (region, number) in here.into_iter().zip(numbers) {
            region.body = Some(Text::Within {
                file,
                line,
                number: *number,
            });
        }
    }
}

/// Returns true for a line with several regions that do different things.
pub(super) fn is_unlike(timers: &Timers, frame: &Frame) -> bool {
    let file = timers.file(&frame.file);
    file.is_some_and(|file| file.unlike.contains(&frame.line))
}

/// Adds the lines whose readings are in none of these pairs, without conditions on the time
/// that has passed. A reading left over at the end of a loop is of a line with other pairs.
fn unpaired(
    process: &Process,
    (places, timers): (&Places, &Timers),
    pairs: &[TimedRegion],
    lines: &mut Vec<(Frame, usize)>,
) {
    let is_condition = |line: &Frame| {
        let file = timers.file(&line.file);
        file.is_some_and(|file| file.conditions.contains(&line.line))
    };
    let paired: HashSet<u64> = pairs.iter().flat_map(|found| found.read).collect();
    let (known, left): (Vec<&Reading>, Vec<&Reading>) = (process.readings.iter())
        .filter(|reading| reading.clock != Clock::CudaEvent)
        .partition(|reading| paired.contains(&reading.time));
    let known: HashSet<&Frame> = (known.into_iter())
        .filter_map(|reading| places.of(reading).first())
        .collect();
    for reading in left {
        let line = places.of(reading).first();
        let Some(line) = line.filter(|line| !is_condition(line) && !known.contains(line)) else {
            continue;
        };
        match lines.iter_mut().find(|(known, _)| known == line) {
            Some((_, count)) => *count += 1,
            None => lines.push((line.clone(), 1)),
        }
    }
}

/// The frames of each location of a process, by text index.
pub(super) struct Places {
    by_text: HashMap<u32, Vec<Frame>>,
    positions: HashMap<u32, String>,
}

impl Places {
    fn new(process: &Process, timers: &Timers) -> Places {
        let mut by_text = HashMap::new();
        let mut positions = HashMap::new();
        for reading in &process.readings {
            let text = process.texts.get(reading.place as usize);
            if let Some(position) = text.and_then(|text| position(text)) {
                positions.insert(reading.place, position.to_owned());
            }
            by_text.entry(reading.place).or_insert_with(|| {
                let text = process.texts.get(reading.place as usize);
                let place = text.map_or("", String::as_str);
                without_returns(frames(place, &process.program, timers), timers)
            });
        }
        Places { by_text, positions }
    }

    /// Returns true if all readings are by installed packages: the process runs a program of one.
    fn are_of_packages(&self) -> bool {
        let mut first = self.by_text.values().filter_map(|frames| frames.first());
        first.all(|frame| PACKAGES.iter().any(|part| frame.file.contains(part)))
    }

    /// The location of a reading, with its position within the line and that of the reading
    /// that ends the region, if they are known.
    pub(super) fn within_line(&self, from: &Reading, to: &Reading) -> Option<Frame> {
        let frame = self.of(from).first()?.clone();
        let [from, to] = [from, to].map(|reading| self.positions.get(&reading.place));
        Some(Frame {
            function: format!("{}{}{}", frame.function, from?, to?),
            ..frame
        })
    }

    /// The position of a reading within its line: an offset or an address.
    pub(super) fn position(&self, reading: &Reading) -> Option<u64> {
        let text = self.positions.get(&reading.place)?;
        let digits = text.get(1..)?.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    }

    pub(super) fn of(&self, reading: &Reading) -> &[Frame] {
        self.by_text.get(&reading.place).map_or(&[], Vec::as_slice)
    }
}

/// An execution and its region.
pub(super) struct TimedRegion {
    pub key: Key,
    pub from: Vec<Frame>,
    pub known: bool,
    /// The times at which the two readings were recorded. The execution is as long as the
    /// difference that the program calculates.
    pub read: [u64; 2],
    pub execution: Execution,
}

#[cfg(test)]
mod tests {
    use super::super::super::TimedFile;
    use super::super::fixture::{all_of, lengths, of_places, start, timers, trace};
    use super::*;
    use preheat_model::run::Body;

    #[test]
    fn regions_of_the_same_lines_are_repetitions() {
        let readings = [(10, 3), (30, 5), (40, 3), (45, 5), (50, 3), (54, 5)];
        let found = start(&readings, &[(3, 5)]);
        assert_eq!(found, [(3, 5, vec![20, 5, 4])]);
        // The order alone gives the same result.
        assert_eq!(start(&readings, &[]), found);
    }

    #[test]
    fn a_straight_program_has_its_regions_in_order() {
        let readings = [(10, 1), (30, 2), (40, 3), (45, 4)];
        let expected = [(1, 2, vec![20]), (3, 4, vec![5])];
        assert_eq!(start(&readings, &[(1, 2), (3, 4)]), expected);
        assert_eq!(start(&readings, &[]), expected);
        // The same names again: each end is paired with the last begin.
        let all = [(1, 2), (1, 4), (3, 2), (3, 4)];
        assert_eq!(start(&readings, &all), expected);
    }

    #[test]
    fn elapsed_time_since_one_reading_is_reported_once() {
        let readings = [(0, 1), (10, 3), (13, 3), (15, 3)];
        assert_eq!(start(&readings, &[(1, 3)]), [(1, 3, vec![10])]);
    }

    #[test]
    fn regions_with_the_same_begin_are_in_the_order_of_their_ends() {
        let place = |line: u32| format!("a.py\0{line}\0<module>");
        let [a, b, c] = [1, 2, 3].map(place);
        let mut trace = trace(&[(100, 0, &*a), (110, 0, &*b), (120, 0, &*c)]);
        // The last reading was recorded sooner after it was made than the first one.
        trace.processes[0].readings[2].value += 5;
        let file = TimedFile {
            differences: vec![(1, 2), (1, 3)],
            ..TimedFile::default()
        };
        let found = regions(&trace, &timers(file)).all;
        let ends: Vec<u32> = found.iter().map(|region| region.ends().line).collect();
        assert_eq!(ends, [2, 3]);
    }

    #[test]
    fn neighbors_that_overlap_by_a_late_recording_are_both_executions() {
        let place = |line: u32| format!("a.py\0{line}\0<module>");
        let (a, b) = (place(1), place(3));
        let readings = [(0, 0, &*a), (100, 0, &*b), (200, 0, &*b)];
        let mut trace = trace(&readings);
        trace.processes[0].readings[2].value += 5;
        let file = TimedFile {
            differences: vec![(1, 3), (3, 3)],
            ..TimedFile::default()
        };
        let found = regions(&trace, &timers(file)).all;
        let counts: Vec<usize> = found.iter().map(|one| one.executions.len()).collect();
        assert_eq!(counts, [2]);
        let [first, second] = [0, 1].map(|at| found[0].executions[at]);
        assert!(first.end <= second.begin, "{first:?} {second:?}");
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
    fn unpaired_readings_are_counted_by_line() {
        let place = |line: u32| format!("a.py\0{line}\0<module>");
        let (a, b, c) = (place(1), place(3), place(7));
        let readings = [(0, 0, &*a), (10, 0, &*b), (20, 0, &*c), (30, 0, &*c)];
        let left: Vec<(u32, usize)> = (all_of(&readings, &[(1, 3)]).unpaired.iter())
            .map(|(frame, count)| (frame.line, *count))
            .collect();
        assert_eq!(left, [(7, 2)]);
    }

    #[test]
    fn regions_with_the_same_source_text_share_its_id() {
        let place = |line: u32| format!("a.py\0{line}\0<module>");
        let [a, b, c, d] = [1, 2, 4, 5].map(place);
        let readings = [(0, 0, &*a), (10, 0, &*b), (20, 0, &*c), (21, 0, &*d)];
        let trace = trace(&readings);
        let body = |from, to| Body {
            file: "a.py".into(),
            from,
            to,
            text: 7,
            code: None,
        };
        let mut timers = timers(TimedFile {
            differences: vec![(1, 2), (4, 5)],
            ..TimedFile::default()
        });
        timers.bodies = vec![body(1, 2), body(4, 5)];
        let found = regions(&trace, &timers).all;
        let bodies: Vec<_> = found.iter().map(|region| region.body).collect();
        assert_eq!(bodies, [Some(Text::Lines(7)); 2]);
    }
}
