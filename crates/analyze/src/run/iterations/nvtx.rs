//! NVTX ranges: repeated ones, and the runs of XLA-compiled programs, which JAX reports as
//! ranges.
//!
//! The first iteration of a compiled program begins with its compilation, since the function
//! was called then. Later ones extend from one run to the next.

use std::collections::HashMap;

use super::super::facts::Facts;
use super::super::trace::{Span, SpanKind};
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
            if facts.count(thread, SpanKind::Range) == 0 {
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
    spans.filter(|span| span.what == SpanKind::Range)
}

/// The ranges with this name.
pub(super) fn find(start: &StartData, name: &str) -> Option<Detected> {
    let named = |facts: &Facts, thread: usize| {
        if facts.count(thread, SpanKind::Range) == 0 {
            return Vec::new();
        }
        let spans = ranges(facts, thread).filter(|span| text_of(facts, span.detail) == name);
        spans.map(|span| (span.begin, span.end)).collect()
    };
    earliest(start, named)
}

/// The type of the range of a run, and the name of the field with its module.
const RUN: (&str, &str) = ("XlaModule", "hlo_module");
/// The same of a compilation.
const COMPILATION: (&str, &str) = ("XlaCompile", "module");

/// The module that runs often enough and until the end. Others run during set-up.
pub(super) fn propose_xla(start: &StartData, least: usize) -> Option<String> {
    // By name: the number of runs, and the time of the last.
    let mut runs: HashMap<&str, (usize, u64)> = HashMap::new();
    for facts in start.facts {
        let compiling = compilations(facts, None);
        for thread in 0..facts.process.threads.len() {
            for (span, name) in xla_ranges(facts, thread, RUN) {
                if !during(&compiling, span.begin) {
                    let (count, last) = runs.entry(name).or_default();
                    *count += 1;
                    *last = span.begin.max(*last);
                }
            }
        }
    }
    let often = runs.into_iter().filter(|(_, (count, _))| *count >= least);
    let last = often.max_by_key(|(_, (_, last))| *last);
    last.map(|(name, _)| name.to_owned())
}

/// The iterations with the module of this name.
pub(super) fn find_xla(start: &StartData, name: &str) -> Option<Detected> {
    let mut found = find_xla_runs(start, name)?;
    let facts = &start.facts[found.process];
    let runs = &found.iterations;
    let (first, last) = (*runs.first()?, *runs.last()?);
    let called = (compilations(facts, Some(name)).into_iter())
        .map(|(begin, _)| begin)
        .filter(|begin| *begin < first.0)
        .max();
    let begins =
        std::iter::once(called.unwrap_or(first.0)).chain(runs[1..].iter().map(|run| run.0));
    let ends = runs[1..].iter().map(|run| run.0).chain([last.1]);
    found.iterations = begins.zip(ends).collect();
    Some(found)
}

/// The runs of the module with this name, each until the host continues.
pub(super) fn find_xla_runs(start: &StartData, name: &str) -> Option<Detected> {
    earliest(start, |facts, thread| {
        let compiling = compilations(facts, None);
        let named = xla_ranges(facts, thread, RUN).filter(|(_, module)| *module == name);
        let runs = named.map(|(span, _)| (span.begin, span.end));
        runs.filter(|run| !during(&compiling, run.0)).collect()
    })
}

/// The compilations in all threads of a process, or only those of the module with this name.
fn compilations(facts: &Facts, name: Option<&str>) -> Vec<(u64, u64)> {
    let threads = 0..facts.process.threads.len();
    let all = threads.flat_map(|thread| xla_ranges(facts, thread, COMPILATION));
    let named = all.filter(|(_, module)| name.is_none_or(|name| name == *module));
    named.map(|(span, _)| (span.begin, span.end)).collect()
}

/// Returns true if a run begins during a compilation: to autotune, the compiler runs candidates
/// in separate threads.
fn during(compiling: &[(u64, u64)], begin: u64) -> bool {
    (compiling.iter()).any(|(from, to)| (*from..*to).contains(&begin))
}

/// The module named in a text such as `XlaModule:#hlo_module=jit_step,program_id=3#`.
fn module<'a>(text: &'a str, (kind, field): (&str, &str)) -> Option<&'a str> {
    let fields = text.strip_prefix(kind)?.strip_prefix(":#")?;
    let mut fields = fields.trim_end_matches('#').split(',');
    fields.find_map(|text| text.strip_prefix(field)?.strip_prefix('='))
}

/// The ranges of a type in a thread, with the module of each.
fn xla_ranges<'a>(
    facts: &Facts<'a>,
    thread: usize,
    of: (&'static str, &'static str),
) -> impl Iterator<Item = (&'a Span, &'a str)> {
    let process = facts.process;
    let any = facts.count(thread, SpanKind::Range) > 0;
    let spans = process.threads[thread].spans.iter().filter(move |_| any);
    let ranges = spans.filter(|span| span.what == SpanKind::Range);
    ranges.filter_map(move |span| {
        let text = process.texts.get(span.detail as usize)?;
        Some((span, module(text, of)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_modules() {
        assert_eq!(
            module("XlaModule:#hlo_module=jit_step,program_id=3#", RUN),
            Some("jit_step")
        );
        assert_eq!(
            module("XlaCompile:#module=jit_step#", COMPILATION),
            Some("jit_step")
        );
        assert_eq!(
            module(
                "XlaModule:#prefix=args[0],hlo_module=jit_cast,program_id=0#",
                RUN
            ),
            Some("jit_cast")
        );
        for text in [
            "XlaPass:#name=dce#",
            "XlaModule:#",
            "XlaModules:#hlo_module=a#",
        ] {
            assert_eq!(module(text, RUN), None, "{text}");
        }
    }
}
