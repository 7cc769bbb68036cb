//! Runs of XLA-compiled programs, which JAX reports as NVTX ranges.
//!
//! The first iteration begins with the compilation of the program, since the function was
//! called then. Later ones extend from one run to the next.

use std::collections::HashMap;

use super::super::facts::Facts;
use super::super::trace::{Span, What};
use super::{Found, Seen, earliest};

/// The range prefix of a run of a module.
const RUN: &str = "XlaModule:#hlo_module=";
/// The range prefix of the compilation of a module.
const COMPILATION: &str = "XlaCompile:#module=";

/// The module that runs often enough and until the end. Others run during set-up, or when
/// the compiler autotunes.
pub(super) fn propose(start: &Seen, least: usize) -> Option<String> {
    // By name: the number of runs, and the time of the last.
    let mut runs: HashMap<&str, (usize, u64)> = HashMap::new();
    for facts in start.facts {
        for thread in 0..facts.process.threads.len() {
            for (span, text) in ranges(facts, thread) {
                if let Some(name) = module(text, RUN) {
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

/// The runs of the module with this name.
pub(super) fn find(start: &Seen, name: &str) -> Option<Found> {
    let of = |facts: &Facts, thread: usize, begin: &str| -> Vec<(u64, u64)> {
        let named = ranges(facts, thread).filter(|(_, text)| module(text, begin) == Some(name));
        named.map(|(span, _)| (span.begin, span.end)).collect()
    };
    let mut found = earliest(start, |facts, thread| of(facts, thread, RUN))?;
    let facts = &start.facts[found.process];
    let runs = &found.iterations;
    let (first, last) = (*runs.first()?, *runs.last()?);
    let threads = 0..facts.process.threads.len();
    let compilations = threads.flat_map(|thread| of(facts, thread, COMPILATION));
    let called = compilations
        .map(|(begin, _)| begin)
        .filter(|begin| *begin < first.0)
        .max();
    let begins =
        std::iter::once(called.unwrap_or(first.0)).chain(runs[1..].iter().map(|run| run.0));
    let ends = runs[1..].iter().map(|run| run.0).chain([last.1]);
    found.iterations = begins.zip(ends).collect();
    Some(found)
}

/// The module name in a text such as `XlaModule:#hlo_module=jit_step,program_id=3#`.
fn module<'a>(text: &'a str, begin: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(begin)?;
    rest.split([',', '#']).next()
}

fn ranges<'a>(facts: &Facts<'a>, thread: usize) -> impl Iterator<Item = (&'a Span, &'a str)> {
    let process = facts.process;
    let any = facts.count(thread, What::Range) > 0;
    let spans = process.threads[thread].spans.iter().filter(move |_| any);
    spans.filter(|span| span.what == What::Range).map(|span| {
        let text = process.texts.get(span.detail as usize);
        (span, text.map_or("", String::as_str))
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
        assert_eq!(module("XlaPass:#name=dce#", RUN), None);
    }
}
