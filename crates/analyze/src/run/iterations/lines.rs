//! Lines of output that end (and optionally begin) iterations.
//!
//! No line precedes the first iteration. If something repeats between later lines (regions
//! that the program times, steps and calls of a framework, kernel launches), as many
//! repetitions belong to the first iteration; earlier ones are a warm-up without output. If
//! nothing repeats, the begin is assumed: such a warm-up would be part of the first
//! iteration.

use std::collections::HashSet;

use preheat_model::run::{StackFrame, Stacks};

use super::{Detected, StartData};
use crate::run::FirstBegin;
use crate::run::facts::Facts;
use crate::run::path::{is_compiler, main_thread, root};
use crate::run::timers::Region;
use crate::run::trace::{Iteration, Process, SpanKind, StartTrace, Thread};

/// The number of lines with the same time as the previous one, because they were read
/// together.
pub(in crate::run) fn together(lines: &[u64]) -> usize {
    let same = lines.windows(2).filter(|pair| pair[0] == pair[1]);
    same.count()
}

/// Iterations from one line to the next. The beginning of the first is derived from the content
/// of later ones. If there are lines that begin iterations, each iteration begins with its
/// last such line.
pub(super) fn find(start: &StartData) -> Option<Detected> {
    let (process, thread) = iterating(start.trace, &start.trace.lines).unwrap_or((usize::MAX, 0));
    let timed = as_timed(start, process);
    let repeated = repeated(start, process, timed.as_ref().unwrap_or(&start.trace.lines));
    let lines = &timed.unwrap_or_else(|| spread(&start.trace.lines, start.trace.end));
    let first = *lines.first()?;
    let begin = start.trace.processes.get(process).map_or(0, |found| {
        repeated.map(|repeated| repeated.begin).unwrap_or_else(|| {
            let sampled = samples_begin(&start.trace.stacks, found.pid, lines);
            code_begins(found, first).max(sampled.unwrap_or(0))
        })
    });
    let mut iterations = vec![(begin.min(first.saturating_sub(1)), first)];
    iterations.extend(lines.windows(2).map(|pair| (pair[0], pair[1])));
    begin_with_lines(&mut iterations, &start.trace.line_begins);
    let marked = iterations[0].0 != begin.min(first.saturating_sub(1));
    Some(Detected {
        process,
        thread,
        iterations,
        first_begin: Some(FirstBegin {
            known: marked || repeated.is_some(),
            silent: repeated.map_or(0, |repeated| repeated.before),
        }),
        ..Detected::default()
    })
}

/// The beginning of the first iteration according to something that repeats between lines.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Repeated {
    begin: u64,
    /// Complete repetitions before it, without output.
    before: usize,
}

/// The beginning of the first iteration that ends at the first of these times: where the program
/// begins to time it, or by its kernel launches; else after the last import, which may be
/// earlier. The second value is true if it is known.
pub(super) fn begin_before(start: &StartData, process: usize, ends: &[u64]) -> (u64, bool) {
    let regions = regions_begin(start, process, ends);
    let repeated = regions.or_else(|| launches_begin(start, process, ends));
    let first = ends.first().copied().unwrap_or(0);
    let assumed = || {
        let found = start.trace.processes.get(process);
        found.map_or(0, |found| code_begins(found, first))
    };
    let begin = repeated.map_or_else(assumed, |repeated| repeated.begin);
    (begin, repeated.is_some())
}

/// The beginning of the first iteration in this process: where the program begins to time it,
/// else after a warm-up by its steps or calls, else by its kernel launches, else by its first
/// steps or calls.
fn repeated(start: &StartData, process: usize, lines: &[u64]) -> Option<Repeated> {
    let regions = regions_begin(start, process, lines);
    let marks = marks_begin(start, process, lines);
    let after_warm_up = || marks.filter(|marks| marks.before > 0);
    let launches = || launches_begin(start, process, lines);
    let found = regions.or_else(after_warm_up).or_else(launches).or(marks)?;
    Some(Repeated {
        before: marks.unwrap_or(found).before,
        ..found
    })
}

/// The times of lines that were read together, if the program times one region before each
/// line: the ends of its executions. Lines that were read separately keep their times.
fn as_timed(start: &StartData, process: usize) -> Option<Vec<u64>> {
    let lines = &start.trace.lines;
    let ends = |region: &Region| -> Option<Vec<u64>> {
        let wall = region.known && !region.key.clock.is_cpu_time();
        let own: Vec<u64> = (region.on_first_thread())
            .filter(|one| wall && one.process == process)
            .map(|one| one.end)
            .collect();
        let matches = own.len() == lines.len() && own.iter().zip(lines).all(|(a, b)| a <= b);
        matches.then_some(own)
    };
    let ends = (together(lines) > 0)
        .then(|| start.regions.all.iter().filter_map(ends))?
        .max_by_key(|ends| ends.first().copied())?;
    let mut last = 0;
    let time = |(at, line): (usize, &u64)| {
        let before = at.checked_sub(1).and_then(|at| lines.get(at));
        let is_together = [before, lines.get(at + 1)].contains(&Some(line));
        // Each line is an iteration and must have a duration.
        last = (if is_together { ends[at] } else { *line }).max(last + 1);
        last
    };
    Some(lines.iter().enumerate().map(time).collect())
}

/// Gives each line a distinct time. Lines that were read together were written since the
/// previous read, so they are spread evenly over that time. The first line keeps its time,
/// since the first result was not visible before. Lines read together with it are spread
/// over the time until the next read, or until the `end` of the program.
fn spread(lines: &[u64], end: u64) -> Vec<u64> {
    let Some(first) = lines.first() else {
        return Vec::new();
    };
    let mut times = vec![*first];
    let mut rest = &lines[1..];
    while !rest.is_empty() {
        let from = times.last().copied().unwrap_or(0);
        // The lines up to the next read, and those read together with it.
        let until = rest.iter().find(|time| **time > from).copied();
        let until = until.unwrap_or_else(|| end.max(from));
        let count = rest.partition_point(|time| *time <= until);
        // Each line is an iteration and must have a duration.
        let length = (until.saturating_sub(from)).max(count as u64);
        let time = |at: usize| {
            let part = u128::from(length) * at as u128 / count as u128;
            from + part as u64
        };
        times.extend((1..=count).map(time));
        rest = &rest[count..];
    }
    times
}

/// Makes each iteration begin with the last of these lines before its end, if there was one
/// since the previous iteration.
fn begin_with_lines(iterations: &mut [(u64, u64)], begins: &[u64]) {
    let mut last = 0;
    for (begin, end) in iterations {
        let before = begins.partition_point(|time| *time < *end);
        if let Some(line) = begins[..before].last().filter(|line| **line >= last) {
            *begin = *line;
        }
        last = *end;
    }
}

/// The beginning of the program's own code, after the last import before the first line.
fn code_begins(process: &Process, first: u64) -> u64 {
    let begin = process.python_ready.or(process.main);
    let spans = process.threads.iter().flat_map(|thread| &thread.spans);
    let imports = spans.filter(|span| span.what == SpanKind::Import && span.end < first);
    let last = imports.map(|span| span.end).max().unwrap_or(0);
    begin.unwrap_or(process.began).max(last)
}

/// The begin according to sampled stacks: the last sample before the first line that was in
/// other lines of the program than those sampled between later lines, such as a warm-up or
/// the loading of data.
fn samples_begin(stacks: &Stacks, pid: u32, lines: &[u64]) -> Option<u64> {
    /// With fewer samples between later lines, not all lines of the loop may be known.
    const MIN_SAMPLES: usize = 5;
    let (first, last) = (*lines.first()?, *lines.last()?);
    let own = || stacks.samples.iter().filter(|one| one.process == pid);
    let later: Vec<Vec<(u32, &str)>> = own()
        .filter(|one| first < one.time && one.time <= last)
        .filter_map(|one| own_lines(stacks, one.node))
        .collect();
    if later.len() < MIN_SAMPLES {
        return None;
    }
    let iterating: HashSet<Vec<(u32, &str)>> = later.into_iter().collect();
    let before = own().filter(|one| one.time < first);
    let other = before
        .filter(|one| own_lines(stacks, one.node).is_some_and(|lines| !iterating.contains(&lines)));
    other.map(|one| one.time).max()
}

/// The lines and functions of a stack that are in the file of its outermost frame: the
/// program's own.
fn own_lines(stacks: &Stacks, node: u32) -> Option<Vec<(u32, &str)>> {
    let mut frames = Vec::new();
    let mut next = Some(node);
    while let Some(node) = next {
        let (caller, frame) = *stacks.nodes.get(node as usize)?;
        frames.push(stacks.frames.get(frame as usize)?);
        next = caller;
    }
    let known = |frame: &&&StackFrame| !frame.file.is_empty() && frame.line > 0;
    let file = &frames.iter().rev().find(known)?.file;
    let own = frames.iter().filter(|frame| frame.file == *file);
    Some(own.map(|frame| (frame.line, &*frame.function)).collect())
}

/// The begin according to timed regions: if a region is executed between lines, its
/// execution that the first line ends. A line is read slightly after it is written, when
/// the next execution may already have begun, so executions count by their midpoint.
fn regions_begin(start: &StartData, process: usize, lines: &[u64]) -> Option<Repeated> {
    let regions = start.regions.all.iter();
    let begins = regions.filter(|region| region.known).filter_map(|region| {
        let executions = region.executions.iter();
        let own: Vec<(u64, u64)> = executions
            .filter(|one| one.process == process)
            .map(|one| (one.begin, one.begin + (one.end - one.begin) / 2))
            .collect();
        let middles: Vec<u64> = own.iter().map(|(_, middle)| *middle).collect();
        let (first, before) = first_of_rare(lines, &middles)?;
        Some(Repeated {
            begin: own[first].0,
            before,
        })
    });
    begins.min_by_key(|repeated| repeated.begin)
}

/// Steps and calls that Python reports, most specific first.
const MARKS: [Iteration; 11] = [
    Iteration::Named,
    Iteration::OptimizerStep,
    Iteration::TrainStep,
    Iteration::PredictStep,
    Iteration::TestStep,
    Iteration::Predict,
    Iteration::Evaluate,
    Iteration::ModelCall,
    Iteration::CompiledCall,
    Iteration::FunctionCall,
    Iteration::Backward,
];

/// The begin according to steps and calls that Python reports. A step of an optimizer ends
/// an iteration, so after a warm-up the first one begins with the end of the previous step.
fn marks_begin(start: &StartData, process: usize, lines: &[u64]) -> Option<Repeated> {
    let facts = start.facts.get(process)?;
    let of = |which: Iteration| Marks::of(facts, which, lines);
    let (which, marks) = (MARKS.into_iter()).find_map(|which| Some((which, of(which)?)))?;
    let begin = match which {
        Iteration::OptimizerStep if marks.first > 0 => marks.all[marks.first - 1].1,
        Iteration::OptimizerStep => {
            let call = of(Iteration::ModelCall).map_or(u64::MAX, |calls| calls.begin());
            call.min(marks.begin())
        }
        _ => marks.begin(),
    };
    Some(Repeated {
        begin,
        before: marks.before,
    })
}

/// The steps or calls of a type.
struct Marks {
    /// Begin and end of each, in order.
    all: Vec<(u64, u64)>,
    /// The index of the one that begins the first iteration.
    first: usize,
    /// The number of iterations before it.
    before: usize,
}

impl Marks {
    /// The marks of this type, if they repeat between lines.
    fn of(facts: &Facts, which: Iteration, lines: &[u64]) -> Option<Marks> {
        if facts.count_in_all(which) == 0 {
            return None;
        }
        let spans = (facts.process.threads.iter()).flat_map(|thread| &thread.spans);
        let mut all: Vec<(u64, u64)> = spans
            .filter(|span| span.what == SpanKind::Iteration(which))
            .map(|span| (span.begin, span.end))
            .collect();
        all.sort_unstable();
        let middles: Vec<u64> = (all.iter())
            .map(|(begin, end)| begin + end.saturating_sub(*begin) / 2)
            .collect();
        // The recorder stops to hook model calls after some steps.
        let last = *middles.last()?;
        let with_marks = lines.partition_point(|line| *line < last) + 1;
        let lines = &lines[..with_marks.min(lines.len())];
        let (first, before) = first_of_rare(lines, &middles)?;
        Some(Marks { all, first, before })
    }

    fn begin(&self) -> u64 {
        self.all[self.first].0
    }
}

/// The begin according to kernel launches: as many as between later lines, after the
/// preceding synchronization.
fn launches_begin(start: &StartData, process: usize, lines: &[u64]) -> Option<Repeated> {
    let facts = start.facts.get(process)?;
    let spans = facts
        .process
        .threads
        .iter()
        .flat_map(|thread| &thread.spans);
    let mut launches: Vec<u64> = spans
        .clone()
        .filter(|span| span.what == SpanKind::Launch)
        .map(|span| span.begin)
        .collect();
    launches.sort_unstable();
    let (first, before) = first_of_first(lines, &launches)?;
    let launch = launches[first];
    let waits = spans.filter(|span| span.end <= launch && facts.waits_for_device(span));
    // Without a preceding synchronization, everything since the first driver call belongs
    // to it.
    let calls = facts
        .process
        .threads
        .iter()
        .flat_map(|thread| &thread.spans);
    let first_call = calls
        .filter(|span| facts.is_call(span))
        .map(|span| span.begin)
        .min();
    let begin = waits.map(|span| span.end).max().or(first_call)?;
    Some(Repeated { begin, before })
}

/// The event that begins the first iteration, if most later iterations have the same number
/// of events: that many before the first line. Earlier ones are a warm-up; the second number
/// is that of its iterations.
fn first_of_first(lines: &[u64], events: &[u64]) -> Option<(usize, usize)> {
    let before = |time: u64| events.partition_point(|event| *event < time);
    let in_first = before(*lines.first()?);
    let usual = usual(lines, events).filter(|_| in_first > 0)?;
    let first = in_first - usual.min(in_first);
    Some((first, first / usual))
}

/// Like [`first_of_first`], for events that are rare enough to count through several lines. A
/// busy machine may read the first line late, after events of the next iteration; the line
/// that was read most timely decides.
fn first_of_rare(lines: &[u64], events: &[u64]) -> Option<(usize, usize)> {
    /// The number of lines to count through.
    const MAX_COUNTED: usize = 16;
    let before = |time: u64| events.partition_point(|event| *event < time);
    let (late, _) = first_of_first(lines, events)?;
    let usual = usual(lines, events)?;
    let firsts = (lines.iter().take(MAX_COUNTED).enumerate())
        .map(|(at, line)| before(*line).saturating_sub(usual * (at + 1)));
    let first = firsts.min().unwrap_or(late);
    Some((first, first / usual))
}

/// The median number of events between two lines, unless it is 0.
fn usual(lines: &[u64], events: &[u64]) -> Option<usize> {
    let before = |time: u64| events.partition_point(|event| *event < time);
    let mut counts: Vec<usize> = (lines.windows(2))
        .take(1000)
        .map(|pair| before(pair[1]).saturating_sub(before(pair[0])))
        .collect();
    counts.sort_unstable();
    let usual = *counts.get(counts.len() / 2)?;
    (usual > 0).then_some(usual)
}

/// A process that did this share of the work of the busiest one is the program itself, if
/// it is the earlier one; one that did less is a wrapper.
const MIN_WORK_SHARE: f64 = 0.2;

/// The process to follow if there are no iterations, and its first active thread.
pub(in crate::run) fn busiest(trace: &StartTrace) -> Option<(usize, usize)> {
    busiest_of(trace, |_| true)
}

/// The process that iterates: the busiest that runs from the first line to later ones. A
/// script may start others in each iteration.
fn iterating(trace: &StartTrace, lines: &[u64]) -> Option<(usize, usize)> {
    let runs = |process: &Process| match lines {
        // The last line may be read after the end of the process.
        [first, .., _] if lines.len() > 2 => {
            process.made <= *first && lines[lines.len() / 2] <= process.ended
        }
        _ => true,
    };
    busiest_of(trace, runs)
}

/// The busiest of the processes with a property, and of the command itself.
fn busiest_of(trace: &StartTrace, is_meant: impl Fn(&Process) -> bool) -> Option<(usize, usize)> {
    let root = root(trace);
    // Compilers and other tools are subprocesses of the program, not the program itself.
    let is_meant = |process: &Process| is_meant(process) && !is_compiler(process);
    let own: Vec<usize> = (0..trace.processes.len())
        .filter(|at| Some(*at) == root || is_meant(&trace.processes[*at]))
        .collect();
    let first_of = |work: fn(&Process) -> u64| {
        let most = own.iter().map(|at| work(&trace.processes[*at])).max()?;
        let least = MIN_WORK_SHARE * most as f64;
        let works = |at: &&usize| most > 0 && work(&trace.processes[**at]) as f64 >= least;
        own.iter()
            .filter(works)
            .min_by_key(|at| trace.processes[**at].began)
    };
    let found = first_of(cpu).or_else(|| first_of(spans)).copied().or(root);
    let found = found.or_else(|| own.first().copied())?;
    Some((found, main_thread(&trace.processes[found])))
}

fn cpu(process: &Process) -> u64 {
    let of = |thread: &Thread| {
        let first = thread.samples.first().map_or(0, |sample| sample.cpu);
        let last = thread.samples.last().map_or(0, |sample| sample.cpu);
        last.saturating_sub(first)
    };
    process.threads.iter().map(of).sum()
}

fn spans(process: &Process) -> u64 {
    process
        .threads
        .iter()
        .map(|thread| thread.spans.len() as u64)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::trace::ThreadSample;
    use preheat_model::run::StackSample;

    #[test]
    fn a_script_iterates_and_not_the_programs_that_it_starts() {
        let process = |pid: u32, made: u64, ended: u64, cpu: u64| Process {
            pid,
            made,
            began: made,
            ended,
            threads: vec![Thread {
                id: pid,
                samples: [0, cpu]
                    .map(|cpu| ThreadSample {
                        cpu,
                        ..ThreadSample::default()
                    })
                    .to_vec(),
                ..Thread::default()
            }],
            ..Process::default()
        };
        let trace = StartTrace {
            end: 100,
            pid: 1,
            processes: vec![
                process(1, 0, 100, 1),
                process(2, 5, 20, 900),
                process(3, 30, 50, 900),
                process(4, 5, 100, 500),
            ],
            ..StartTrace::default()
        };
        let found = |lines: &[u64]| iterating(&trace, lines).map(|(process, _)| process);
        assert_eq!(found(&[25, 55, 80, 90]), Some(3));
        assert_eq!(found(&[25]), Some(1));
        let mut alone = trace.clone();
        alone.processes.pop();
        assert_eq!(
            iterating(&alone, &[25, 55, 80]).map(|found| found.0),
            Some(0)
        );
    }

    #[test]
    fn lines_read_together_get_distinct_times() {
        assert!(spread(&[], 9).is_empty());
        assert_eq!(spread(&[10, 20, 30], 40), [10, 20, 30]);
        assert_eq!(spread(&[10, 40, 40, 40], 50), [10, 20, 30, 40]);
        // Lines read together with the first share the time until the next read.
        assert_eq!(spread(&[10, 10, 40, 40], 50), [10, 20, 30, 40]);
        // All lines were read together: spread until the end.
        assert_eq!(spread(&[10, 10, 10], 50), [10, 30, 50]);
        assert_eq!(spread(&[10, 10, 10], 10), [10, 11, 12]);
        // More lines than nanoseconds.
        let many = spread(&[10, 11, 11, 11, 50], 60);
        assert_eq!(many, [10, 11, 12, 13, 50]);
    }

    #[test]
    fn lines_can_begin_iterations() {
        let mut iterations = [(0, 10), (10, 20), (20, 30)];
        begin_with_lines(&mut iterations, &[3, 5, 12]);
        assert_eq!(iterations, [(5, 10), (12, 20), (20, 30)]);
    }

    #[test]
    fn other_lines_of_the_program_precede_the_first_iteration() {
        let frame = |file: &str, line| StackFrame {
            file: file.into(),
            line,
            function: "f".into(),
            library: String::new(),
        };
        // a.py:3 and a.py:7 call the same function of another file.
        let mut stacks = Stacks {
            frames: vec![frame("a.py", 3), frame("a.py", 7), frame("svd.py", 1)],
            nodes: vec![(None, 0), (None, 1), (Some(0), 2), (Some(1), 2)],
            ..Stacks::default()
        };
        let mut sample = |time, node| {
            stacks.samples.push(StackSample {
                time,
                process: 1,
                thread: 1,
                node,
            });
        };
        for time in [10, 20, 30] {
            sample(time, 2);
        }
        for time in [40, 50, 60, 70, 80, 90, 100] {
            sample(time, 3);
        }
        assert_eq!(samples_begin(&stacks, 1, &[55, 75, 105]), Some(30));
        // Another process, and too few samples.
        assert_eq!(samples_begin(&stacks, 2, &[55, 75, 105]), None);
        assert_eq!(samples_begin(&stacks, 1, &[85, 105]), None);
    }

    #[test]
    fn the_first_line_ends_as_many_events_as_a_later_one() {
        let begin = |lines: &[u64], events: &[u64]| {
            let (first, _) = first_of_first(lines, events)?;
            events.get(first).copied()
        };
        // The first two events precede the first iteration.
        let events = [10, 20, 35, 45, 55];
        assert_eq!(begin(&[40, 50, 60], &events), Some(35));
        assert_eq!(first_of_first(&[40, 50, 60], &events), Some((2, 2)));
        // Two events per line.
        let events = [5, 10, 21, 24, 41, 44, 61, 64];
        assert_eq!(begin(&[30, 50, 70], &events), Some(21));
        assert_eq!(begin(&[30], &events), None);
        // The first line was read late, together with the second one.
        let events = [10, 20, 35, 45, 55, 65];
        assert_eq!(first_of_first(&[51, 51, 60, 70], &events), Some((3, 3)));
        assert_eq!(first_of_rare(&[51, 51, 60, 70], &events), Some((2, 2)));
        assert_eq!(begin(&[30, 50], &[]), None);
        assert_eq!(begin(&[30, 50], &[40]), None);
    }
}
