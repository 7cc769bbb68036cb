//! The data of one start for the HTML page, bounded by what can be visible.

mod bars;
mod imports;
mod memory;

use super::examine::{Examined, seconds};
use super::facts::Facts;
use super::items::{self, Tree};
use super::iterations::Seen;
use super::path::{at_most, is_compiler, program_name, thread_name};
use super::trace::Process;
use super::{Bar, Cause, Row, RunView, Segment};

/// The maximum numbers of rows, bars and parts of the path.
const ROWS: usize = 12;
const BARS: usize = 3000;
const SEGMENTS: usize = 1500;

/// The charts of a start.
pub(super) fn view(shown: usize, start: &Seen, examined: &Examined, trees: &[Tree]) -> RunView {
    let until = examined.parts.last().map_or(0, |part| part.end);
    let path = at_most(SEGMENTS, &examined.parts).into_iter();
    let iterations = examined.iterations.iter();
    let process = examined.thread.map(|(process, _)| process);
    RunView {
        start: shown,
        until: seconds(until),
        path: path
            .map(|part| Segment {
                begin: seconds(part.begin),
                end: seconds(part.end),
                cause: part.cause,
                label: items::name(examined.meant(part.item), start.facts),
            })
            .collect(),
        iterations: iterations
            .take_while(|(begin, _)| *begin < until)
            .map(|(begin, end)| (seconds(*begin), seconds(*end)))
            .collect(),
        rows: rows(start, examined, until),
        imports: process.map_or(Vec::new(), |process| {
            imports::tree(start.facts[process].process, &trees[process])
        }),
        functions: Vec::new(),
        memory: process.map_or(Vec::new(), |process| {
            memory::points(&start.facts[process], until)
        }),
    }
}

/// The display name of a process: `python3 train.py (4711)`.
fn process_name(process: &Process) -> String {
    let mut name = program_name(process).to_owned();
    let mut arguments = process.arguments.iter().skip(1);
    if let Some(argument) = arguments.find(|argument| !argument.starts_with('-')) {
        let short: String = items::file_name(argument).chars().take(40).collect();
        name.push(' ');
        name.push_str(&short);
    }
    format!("{name} ({})", process.pid)
}

/// The most active threads, starting with the one that iterates, and compilers.
fn rows(start: &Seen, examined: &Examined, until: u64) -> Vec<Row> {
    let mut threads: Vec<(u64, usize, usize)> = Vec::new();
    let mut compilers: Vec<usize> = Vec::new();
    for (index, facts) in start.facts.iter().enumerate() {
        if is_compiler(facts.process) && facts.process.made < until {
            compilers.push(index);
            continue;
        }
        for thread in 0..facts.process.threads.len() {
            let time = time_in_spans(facts, thread, until);
            if examined.thread == Some((index, thread)) {
                threads.push((u64::MAX, index, thread));
            } else if time > 0 {
                threads.push((time, index, thread));
            }
        }
    }
    threads.sort_by_key(|(time, process, thread)| (std::cmp::Reverse(*time), *process, *thread));
    // All compilers share one row: hundreds may run one after the other.
    let rest = ROWS - usize::from(!compilers.is_empty());
    threads.truncate(rest);
    let count = threads.len() + usize::from(!compilers.is_empty());
    let each = BARS / count.max(1);
    let mut rows: Vec<Row> = (threads.iter())
        .map(|(_, process, thread)| {
            let facts = &start.facts[*process];
            let process = facts.process;
            Row {
                name: thread_name(process.pid, &process.threads[*thread]),
                process: process_name(process),
                bars: bars::bars(facts, *thread, until, each),
            }
        })
        .collect();
    if !compilers.is_empty() {
        rows.push(compiler_row(start, &compilers, until, each));
    }
    rows
}

fn time_in_spans(facts: &Facts, thread: usize, until: u64) -> u64 {
    let spans = facts.process.threads[thread].spans.iter();
    let outermost = spans.take_while(|span| span.begin < until);
    let outermost = outermost.filter(|span| span.depth == 0);
    outermost
        .map(|span| span.end.min(until).saturating_sub(span.begin))
        .sum()
}

/// The compilers, side by side where they overlap.
fn compiler_row(start: &Seen, compilers: &[usize], until: u64, most: usize) -> Row {
    let mut lanes: Vec<u64> = Vec::new();
    let mut bars: Vec<Bar> = Vec::new();
    let mut processes: Vec<&Process> = (compilers.iter())
        .map(|index| start.facts[*index].process)
        .collect();
    processes.sort_by_key(|process| process.made);
    for process in processes.into_iter().take(most) {
        let free = lanes.iter().position(|end| *end <= process.made);
        let lane = free.unwrap_or(lanes.len());
        if lane == lanes.len() {
            lanes.push(0);
        }
        lanes[lane] = process.ended;
        bars.push(Bar {
            begin: seconds(process.made),
            end: seconds(process.ended.min(until)),
            depth: lane.min(15) as u32,
            cause: Some(Cause::KernelCompilation),
            label: program_name(process).to_owned(),
            detail: process_name(process),
            spans: 1,
        });
    }
    Row {
        name: "compilers".to_owned(),
        process: "separate processes".to_owned(),
        bars,
    }
}
