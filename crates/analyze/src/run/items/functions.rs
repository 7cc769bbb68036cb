//! The functions behind the program's own CPU time, from sampled stacks.
//!
//! The seconds of an item are divided equally among its samples. Samples are of CPU time,
//! so a function gets the share of the seconds that it has of the samples. An item with too few
//! samples leaves a part of its seconds to no function.

use std::collections::{BTreeMap, HashMap};

use super::super::examine::{Examined, seconds};
use super::super::path::ItemId;
use super::super::trace::StartTrace;
use super::super::{Cause, FlameNode, FunctionReport, StackFrame, Stacks};
use super::{MAX_ITEMS, kernel};

/// Functions below this share of the total are omitted from the flame graph.
const MIN_SHARE: f64 = 0.003;
/// Deeper stacks are truncated in the flame graph.
const MAX_DEPTH: usize = 64;
/// Fewer samples do not stand for a whole item, but each for this share of it or for these
/// seconds, twice the sampling period, if they are more.
const MIN_SAMPLES: f64 = 5.0;
const SAMPLE_SECONDS: f64 = 0.01;

/// The sampled functions of a start.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::run) struct Functions {
    /// The functions with the most exclusive time.
    pub list: Vec<FunctionReport>,
    /// All functions, nested by caller.
    pub flame: Vec<FlameNode>,
}

impl Functions {
    /// The functions on the path of a start.
    pub(in crate::run) fn of(examined: &Examined, trace: &StartTrace) -> Functions {
        let stacks = &trace.stacks;
        let samples = weigh(examined);
        let total: f64 = samples.iter().map(|(_, weight)| weight).sum();
        if total <= 0.0 {
            return Functions::default();
        }
        Functions {
            list: list(stacks, &samples),
            flame: flame(stacks, &samples, total),
        }
    }

    /// Multiplies all seconds: samples come from one start, but the report averages all
    /// starts.
    pub(in crate::run) fn scale(&mut self, factor: f64, total: f64) {
        for function in &mut self.list {
            function.seconds *= factor;
            function.share = if total > 0.0 {
                function.seconds / total
            } else {
                0.0
            };
        }
    }
}

/// The samples on the path, each as a stack node and its seconds.
fn weigh(examined: &Examined) -> Vec<(u32, f64)> {
    let mut counts: HashMap<(ItemId, bool), f64> = HashMap::new();
    for sampled in &examined.sampled {
        *counts.entry((sampled.item, sampled.in_first)).or_default() += 1.0;
    }
    let mut sums: HashMap<(ItemId, bool), f64> = HashMap::new();
    let cold = examined.cold[Cause::OwnCpu.index()];
    for (tally, in_first, part) in [
        (&examined.before, false, 1.0),
        (&examined.first, true, cold),
    ] {
        for (cause, item, sum) in tally.items() {
            if cause == Cause::OwnCpu {
                let sums = sums.entry((item, in_first)).or_default();
                *sums += seconds(sum.nanoseconds) * part;
            }
        }
    }
    let samples = examined.sampled.iter().map(|sampled| {
        let key = (sampled.item, sampled.in_first);
        let sum = sums.get(&key).copied().unwrap_or(0.0);
        let count = counts.get(&key).copied().unwrap_or(1.0);
        (sampled.node, weight(sum, count))
    });
    samples.collect()
}

/// The seconds of each of `count` samples of an item.
fn weight(seconds: f64, count: f64) -> f64 {
    (seconds / count).min((seconds / MIN_SAMPLES).max(SAMPLE_SECONDS))
}

/// The key for summing functions: name, file and library.
type Key<'a> = (&'a str, &'a str, &'a str);

fn key(frame: &StackFrame) -> Key<'_> {
    (&frame.function, &frame.file, &frame.library)
}

/// The running totals of a function.
#[derive(Default)]
struct Sums<'a> {
    seconds: f64,
    samples: u64,
    lines: BTreeMap<u32, f64>,
    /// Native code that it called: library and symbol.
    native: BTreeMap<(&'a str, &'a str), f64>,
}

fn list(stacks: &Stacks, samples: &[(u32, f64)]) -> Vec<FunctionReport> {
    let mut functions: BTreeMap<Key, Sums> = BTreeMap::new();
    for (node, weight) in samples {
        let mut frames = stacks.frames_of(*node);
        let Some(innermost) = frames.next() else {
            continue;
        };
        // Native code called by a Python function is reported with that function.
        let caller = match innermost.library.as_str() {
            "" => None,
            _ => frames.find(|frame| frame.library.is_empty()),
        };
        let function = caller.unwrap_or(innermost);
        let sums = functions.entry(key(function)).or_default();
        sums.seconds += weight;
        sums.samples += 1;
        *sums.lines.entry(function.line).or_default() += weight;
        if caller.is_some() {
            let native = (innermost.library.as_str(), innermost.function.as_str());
            *sums.native.entry(native).or_default() += weight;
        }
    }
    let mut list: Vec<FunctionReport> = (functions.into_iter())
        .map(|((function, file, library), sums)| {
            let line = largest(&sums.lines).copied().unwrap_or(0);
            // Mention native code only if it accounts for most of the function's time.
            let native = largest(&sums.native);
            let native = native.filter(|native| sums.native[native] * 2.0 > sums.seconds);
            let (library, symbol) = match (native, library) {
                (Some((library, symbol)), _) => (*library, *symbol),
                (None, library) => (library, ""),
            };
            FunctionReport {
                function: kernel(function),
                file: Some(file)
                    .filter(|file| !file.is_empty())
                    .map(str::to_owned),
                line: Some(line).filter(|line| *line > 0),
                library: Some(library)
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned),
                symbol: Some(symbol).filter(|name| !name.is_empty()).map(kernel),
                seconds: sums.seconds,
                share: 0.0,
                samples: sums.samples,
            }
        })
        .collect();
    list.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    list.truncate(MAX_ITEMS);
    list
}

fn largest<K: Ord>(sums: &BTreeMap<K, f64>) -> Option<&K> {
    sums.iter()
        .max_by(|a, b| a.1.total_cmp(b.1))
        .map(|(key, _)| key)
}

/// A node of the flame graph during summation.
#[derive(Default)]
struct Level<'a> {
    seconds: f64,
    own: f64,
    /// Seconds by line.
    lines: BTreeMap<u32, f64>,
    within: BTreeMap<Key<'a>, Level<'a>>,
}

fn flame(stacks: &Stacks, samples: &[(u32, f64)], total: f64) -> Vec<FlameNode> {
    let mut root = Level::default();
    for (node, weight) in samples {
        let mut frames: Vec<&StackFrame> = stacks.frames_of(*node).collect();
        frames.reverse();
        frames.truncate(MAX_DEPTH);
        let mut level = &mut root;
        for frame in frames {
            level = level.within.entry(key(frame)).or_default();
            level.seconds += weight;
            *level.lines.entry(frame.line).or_default() += weight;
        }
        level.own += weight;
    }
    let mut begin = 0.0;
    nodes(&root, MIN_SHARE * total, &mut begin)
}

/// The nodes of a level, laid out from `begin` on, largest first.
fn nodes(level: &Level, least: f64, begin: &mut f64) -> Vec<FlameNode> {
    let mut within: Vec<(&Key, &Level)> = (level.within.iter())
        .filter(|(_, level)| level.seconds >= least)
        .collect();
    within.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds));
    let nodes = within
        .into_iter()
        .map(|((function, file, library), level)| {
            let mut inner = *begin;
            let node = FlameNode {
                name: match (function.is_empty(), library.is_empty()) {
                    (true, false) => super::file_name(library).to_owned(),
                    _ => kernel(function),
                },
                detail: match (file.is_empty(), largest(&level.lines)) {
                    (false, Some(line)) if *line > 0 => {
                        format!("{}:{line}", super::file_name(file))
                    }
                    (false, _) => super::file_name(file).to_owned(),
                    (true, _) => super::file_name(library).to_owned(),
                },
                begin: *begin,
                seconds: level.seconds,
                own: level.own,
                children: nodes(level, least, &mut inner),
            };
            *begin += level.seconds;
            node
        });
    nodes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, line: u32, library: &str) -> StackFrame {
        StackFrame {
            function: function.to_owned(),
            file: if library.is_empty() {
                "/a/train.py".to_owned()
            } else {
                String::new()
            },
            line,
            library: library.to_owned(),
        }
    }

    fn stacks() -> Stacks {
        Stacks {
            frames: vec![
                frame("main", 9, ""),
                frame("hot", 3, ""),
                frame("hot", 4, ""),
                frame("_ZN4blas4gemmEv", 0, "/usr/lib/libblas.so.3"),
            ],
            // main; main > hot:3; main > hot:4; main > hot:4 > gemm; gemm alone.
            nodes: vec![
                (None, 0),
                (Some(0), 1),
                (Some(0), 2),
                (Some(2), 3),
                (None, 3),
            ],
            ..Stacks::default()
        }
    }

    #[test]
    fn few_samples_do_not_stand_for_a_whole_item() {
        assert_eq!(weight(1.0, 100.0), 0.01);
        assert_eq!(weight(1.0, 5.0), 0.2);
        assert_eq!(weight(1.0, 1.0), 0.2);
        // A sample is of a few milliseconds.
        assert_eq!(weight(0.005, 1.0), 0.005);
        assert_eq!(weight(0.03, 1.0), 0.01);
    }

    #[test]
    fn native_code_counts_for_the_python_function_that_called_it() {
        let samples = [(0, 1.0), (1, 1.0), (3, 3.0), (3, 3.0), (4, 2.0)];
        let list = list(&stacks(), &samples);
        let hot = &list[0];
        assert_eq!((hot.function.as_str(), hot.line), ("hot", Some(4)));
        assert_eq!((hot.seconds, hot.samples), (7.0, 3));
        assert_eq!(hot.library.as_deref(), Some("/usr/lib/libblas.so.3"));
        assert_eq!(hot.symbol.as_deref(), Some("blas::gemm"));
        let alone = &list[1];
        assert_eq!(alone.function, "blas::gemm");
        assert_eq!((alone.file.as_ref(), alone.seconds), (None, 2.0));
        assert_eq!(list[2].function, "main");
    }

    #[test]
    fn the_flame_graph_has_each_function_within_its_caller() {
        let samples = [(0, 1.0), (1, 1.0), (2, 2.0), (3, 3.0)];
        let flame = flame(&stacks(), &samples, 7.0);
        let [main] = flame.as_slice() else {
            panic!("{flame:?}");
        };
        assert_eq!((main.seconds, main.own), (7.0, 1.0));
        let [hot] = main.children.as_slice() else {
            panic!("{main:?}");
        };
        assert_eq!((hot.seconds, hot.own), (6.0, 3.0));
        assert_eq!(hot.detail, "train.py:4");
        assert_eq!(hot.children[0].name, "blas::gemm");
        assert_eq!(hot.children[0].detail, "libblas.so.3");
    }
}
