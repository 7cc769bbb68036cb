//! Repeated NVTX ranges.

use std::collections::HashMap;

use super::super::facts::Facts;
use super::super::trace::{Span, What};
use super::{Detected, Rule, StartData, earliest};

/// Domains used by libraries, not by the program.
const LIBRARIES: &[&str] = &[
    // The recorder's ranges for Python frameworks.
    "preheat",
    "nccl",
    "cudnn",
    "cublas",
    "cusparse",
    "cusolver",
    "cufft",
    "curand",
    "tensorrt",
    "tsl",
    "cccl",
    "thrust",
    "cub",
    "nvshmem",
    "libcudf",
    "librmm",
    "rmm",
    "kvikio",
    "libkvikio",
    "raft",
    "dali",
    "optix",
    "cutensor",
    "cupti",
    "onnxruntime",
    "legion",
    "ucx",
];

/// Prefixes of the names of single framework operations.
const OPERATIONS: &[&str] = &["aten::", "autograd::", "torch::", "cudaLaunch", "c10::"];

/// The most frequent name of the outermost level that has a repeated one.
pub(super) fn propose(start: &StartData, least: usize) -> Option<Rule> {
    let mut best: Option<(usize, u32, &str)> = None;
    for facts in start.facts {
        for thread in 0..facts.process.threads.len() {
            if facts.count(thread, What::Range) == 0 {
                continue;
            }
            for ((level, text), count) in levels(facts, thread) {
                let name = text_of(facts, text);
                if (count as usize) < least || name.is_empty() {
                    continue;
                }
                let better = best.is_none_or(|(other, most, other_name)| {
                    // Break ties by name, so that all starts agree.
                    (level, u32::MAX - count, name) < (other, u32::MAX - most, other_name)
                });
                if better {
                    best = Some((level, count, name));
                }
            }
        }
    }
    best.map(|(_, _, name)| Rule::Nvtx(name.to_owned()))
}

/// The number of ranges by nesting level and name.
fn levels(facts: &Facts, thread: usize) -> HashMap<(usize, u32), u32> {
    let mut counts = HashMap::new();
    let mut open: Vec<u64> = Vec::new();
    for span in ranges(facts, thread) {
        if !is_own(facts, span) {
            continue;
        }
        while open.pop_if(|end| *end <= span.begin).is_some() {}
        *counts.entry((open.len(), span.detail)).or_insert(0) += 1;
        open.push(span.end);
    }
    counts
}

fn is_own(facts: &Facts, span: &Span) -> bool {
    let domain = match span.symbol {
        0 => "",
        symbol => text_of(facts, u32::from(symbol)),
    };
    let domain = domain.to_ascii_lowercase();
    let library = LIBRARIES.iter().any(|library| domain.starts_with(library));
    let name = text_of(facts, span.detail);
    !library && !OPERATIONS.iter().any(|begin| name.starts_with(begin))
}

fn text_of<'a>(facts: &Facts<'a>, text: u32) -> &'a str {
    let texts = &facts.process.texts;
    texts.get(text as usize).map_or("", String::as_str)
}

fn ranges<'a>(facts: &Facts<'a>, thread: usize) -> impl Iterator<Item = &'a Span> {
    let spans = facts.process.threads[thread].spans.iter();
    spans.filter(|span| span.what == What::Range)
}

/// The ranges with this name.
pub(super) fn find(start: &StartData, name: &str) -> Option<Detected> {
    let named = |facts: &Facts, thread: usize| {
        if facts.count(thread, What::Range) == 0 {
            return Vec::new();
        }
        let spans = ranges(facts, thread).filter(|span| text_of(facts, span.detail) == name);
        spans.map(|span| (span.begin, span.end)).collect()
    };
    earliest(start, named)
}
