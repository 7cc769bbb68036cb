//! The data of one start for the HTML page, bounded by what can be visible.

mod bars;

use super::examine::{Examined, seconds};
use super::facts::Facts;
use super::items::{self, Tree, importer};
use super::iterations::StartData;
use super::memory::{Live, Step, device_samples};
use super::path::{at_most, is_compiler, program_name, thread_name};
use super::trace::Process;
use super::{Bar, Cause, FlameNode, MemoryPoint, Row, RunView, Segment};

/// The maximum numbers of rows, bars and parts of the path.
const ROWS: usize = 12;
const BARS: usize = 3000;
const SEGMENTS: usize = 1500;

/// The charts of a start.
pub(super) fn view(
    shown: usize,
    start: &StartData,
    examined: &Examined,
    trees: &[Tree],
) -> RunView {
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
                label: items::name(examined.meaning(part.item), start.facts),
            })
            .collect(),
        iterations: iterations
            .take_while(|(begin, _)| *begin < until)
            .map(|(begin, end)| (seconds(*begin), seconds(*end)))
            .collect(),
        rows: rows(start, examined, until),
        imports: process.map_or(Vec::new(), |process| {
            tree(start.facts[process].process, &trees[process])
        }),
        functions: Vec::new(),
        memory: process.map_or(Vec::new(), |process| points(&start.facts[process], until)),
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
fn rows(start: &StartData, examined: &Examined, until: u64) -> Vec<Row> {
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
fn compiler_row(start: &StartData, compilers: &[usize], until: u64, most: usize) -> Row {
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

// The imports as a tree, without modules too small to be visible.

/// Modules below this share of all imports are omitted.
const MIN_SHARE: f64 = 0.003;

/// The top-level imports, each with its nested imports.
fn tree(process: &Process, tree: &Tree) -> Vec<FlameNode> {
    let count = process.imports.len();
    let wall = |at: usize| tree.spans[at].1.saturating_sub(tree.spans[at].0);
    let mut within = vec![0u64; count];
    let mut all = 0;
    for at in &tree.order {
        match tree.parents[*at as usize] {
            Some(parent) => within[parent as usize] += wall(*at as usize),
            None => all += wall(*at as usize),
        }
    }
    let least = MIN_SHARE * all as f64;
    let mut children: Vec<Vec<FlameNode>> = vec![Vec::new(); count];
    let mut roots = Vec::new();
    // Children come after their parents, so that in reverse order each node is complete.
    for at in tree.order.iter().rev() {
        let index = *at as usize;
        if (wall(index) as f64) < least {
            continue;
        }
        let import = &process.imports[index];
        let mut inner = std::mem::take(&mut children[index]);
        inner.reverse();
        let node = FlameNode {
            name: import.name.clone(),
            detail: importer(import).to_string(),
            begin: seconds(tree.spans[index].0),
            seconds: seconds(wall(index)),
            own: seconds(wall(index).saturating_sub(within[index])),
            children: inner,
        };
        match tree.parents[index] {
            Some(parent) => children[parent as usize].push(node),
            None => roots.push(node),
        }
    }
    roots.sort_by(|a: &FlameNode, b: &FlameNode| a.begin.total_cmp(&b.begin));
    roots
}

// Memory over time.

/// The maximum number of points.
const POINTS: usize = 600;

/// All memory samples until `until`, in order. If there are too many, close ones are
/// merged, keeping the largest.
fn points(facts: &Facts, until: u64) -> Vec<MemoryPoint> {
    let process = facts.process;
    let mut points: Vec<(u64, MemoryPoint)> = Vec::new();
    let mut add = |time: u64, point: MemoryPoint| {
        if time <= until {
            let time_in_seconds = seconds(time);
            points.push((
                time,
                MemoryPoint {
                    time: time_in_seconds,
                    ..point
                },
            ));
        }
    };
    for sample in device_samples(process) {
        add(
            sample.time,
            MemoryPoint {
                device: Some(sample.used),
                ..MemoryPoint::default()
            },
        );
    }
    for step in &Live::of(facts).steps {
        let allocated = Some(Step::device(step));
        add(
            step.time,
            MemoryPoint {
                allocated,
                ..MemoryPoint::default()
            },
        );
    }
    for sample in &process.allocator {
        add(
            sample.time,
            MemoryPoint {
                used: Some(sample.used),
                ..MemoryPoint::default()
            },
        );
    }
    // A process that has ended has no resident memory.
    for sample in process.samples.iter().filter(|sample| sample.resident > 0) {
        add(
            sample.time,
            MemoryPoint {
                resident: Some(sample.resident),
                ..MemoryPoint::default()
            },
        );
    }
    points.sort_by_key(|(time, _)| *time);
    fewer(points, until)
}

/// One point per interval, with the maximum of each quantity in it.
fn fewer(points: Vec<(u64, MemoryPoint)>, until: u64) -> Vec<MemoryPoint> {
    if points.len() <= POINTS {
        return points.into_iter().map(|(_, point)| point).collect();
    }
    let grain = until / (POINTS as u64 - 1) + 1;
    let mut result: Vec<(u64, MemoryPoint)> = Vec::new();
    for (time, point) in points {
        let cell = time / grain;
        match result.last_mut() {
            Some((last, sum)) if *last == cell => {
                sum.time = point.time;
                sum.device = sum.device.max(point.device);
                sum.allocated = sum.allocated.max(point.allocated);
                sum.used = sum.used.max(point.used);
                sum.resident = sum.resident.max(point.resident);
            }
            _ => result.push((cell, point)),
        }
    }
    result.into_iter().map(|(_, point)| point).collect()
}
