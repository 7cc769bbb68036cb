//! Runs of the program that XLA compiled: JAX says so by NVTX ranges of its own.
//!
//! The first iteration begins where that program's compilation begins: the function was
//! called then. The others follow each other from one run to the next.

use std::collections::HashMap;

use super::super::facts::Facts;
use super::super::trace::{Span, What};
use super::{Found, Seen, earliest};

/// What a run of a module is called.
const RUN: &str = "XlaModule:#hlo_module=";
/// What the compilation of a module is called.
const COMPILATION: &str = "XlaCompile:#module=";

/// The module that is run often enough and to the end: others are run while something is
/// set up, or tried out by the compiler.
pub(super) fn propose(start: &Seen, least: usize) -> Option<String> {
    // By name: how often, and when last.
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

/// The runs of the module of this name.
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

/// The module's name in a text such as `XlaModule:#hlo_module=jit_step,program_id=3#`.
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
