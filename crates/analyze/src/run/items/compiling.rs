//! Counts compilations.
//!
//! Compiler passes are ranges nested in other ranges. The outermost range is named after
//! the compiled function, and only these are counted: a hundred passes are one compilation.

use std::collections::HashMap;

use super::super::facts::{Facts, Thing};
use super::super::path::Meant;
use super::super::trace::What;
use super::super::{Cause, Item};
use super::name;

/// Sets the count of each compiler item to the number of its outermost ranges that began
/// before `until`.
pub(super) fn count(items: &mut HashMap<(Cause, String), Item>, facts: &[Facts], until: u64) {
    let mut counts: HashMap<(usize, u32), u64> = HashMap::new();
    for (place, facts) in facts.iter().enumerate() {
        for (index, thread) in facts.process.threads.iter().enumerate() {
            if facts.count(index, What::Range) == 0 {
                continue;
            }
            let mut compiling_until = 0;
            let spans = thread.spans.iter().take_while(|span| span.begin < until);
            for span in spans.filter(|span| span.what == What::Range) {
                let judged = facts.judge(span, None);
                let compiles = judged.is_some_and(|j| j.cause == Cause::KernelCompilation);
                if compiles && span.begin >= compiling_until {
                    compiling_until = span.end;
                    *counts.entry((place, span.detail)).or_insert(0) += 1;
                }
            }
        }
    }
    let mut by_name: HashMap<String, u64> = HashMap::new();
    for ((place, text), count) in counts {
        let name = name(Meant::Of(place, Thing::Text(text)), facts);
        *by_name.entry(name).or_insert(0) += count;
    }
    for (name, count) in by_name {
        if let Some(item) = items.get_mut(&(Cause::KernelCompilation, name)) {
            item.count = count;
        }
    }
}
