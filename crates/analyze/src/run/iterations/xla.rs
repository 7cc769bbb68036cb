//! Runs of XLA-compiled programs, which JAX reports as NVTX ranges.
//!
//! The first iteration begins with the compilation of the program, since the function was
//! called then. Later ones extend from one run to the next.

use std::collections::HashMap;

use super::super::facts::Facts;
use super::super::trace::{Span, What};
use super::{Detected, StartData, earliest};

/// The type of the range of a run, and the name of the field with its module.
const RUN: (&str, &str) = ("XlaModule", "hlo_module");
/// The same of a compilation.
const COMPILATION: (&str, &str) = ("XlaCompile", "module");

/// The module that runs often enough and until the end. Others run during set-up.
pub(super) fn propose(start: &StartData, least: usize) -> Option<String> {
    // By name: the number of runs, and the time of the last.
    let mut runs: HashMap<&str, (usize, u64)> = HashMap::new();
    for facts in start.facts {
        let compiling = compilations(facts, None);
        for thread in 0..facts.process.threads.len() {
            for (span, name) in ranges(facts, thread, RUN) {
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
pub(super) fn find(start: &StartData, name: &str) -> Option<Detected> {
    let mut found = find_runs(start, name)?;
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
pub(super) fn find_runs(start: &StartData, name: &str) -> Option<Detected> {
    earliest(start, |facts, thread| {
        let compiling = compilations(facts, None);
        let named = ranges(facts, thread, RUN).filter(|(_, module)| *module == name);
        let runs = named.map(|(span, _)| (span.begin, span.end));
        runs.filter(|run| !during(&compiling, run.0)).collect()
    })
}

/// The compilations in all threads of a process, or only those of the module with this name.
fn compilations(facts: &Facts, name: Option<&str>) -> Vec<(u64, u64)> {
    let threads = 0..facts.process.threads.len();
    let all = threads.flat_map(|thread| ranges(facts, thread, COMPILATION));
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
fn ranges<'a>(
    facts: &Facts<'a>,
    thread: usize,
    of: (&'static str, &'static str),
) -> impl Iterator<Item = (&'a Span, &'a str)> {
    let process = facts.process;
    let any = facts.count(thread, What::Range) > 0;
    let spans = process.threads[thread].spans.iter().filter(move |_| any);
    let ranges = spans.filter(|span| span.what == What::Range);
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
