//! The items behind causes: modules, libraries, kernels, calls.

mod bytecode;
pub(super) mod demangle;
mod functions;
mod imports;

use std::collections::HashMap;

use super::detail::detailed;
use super::examine::{Examined, seconds, steady_ones};
use super::facts::{Facts, ItemRef, NUMBA};
use super::iterations::StartData;
use super::path::{CAUSES, ItemMeaning, Request, Sum, partition};
use super::trace::SpanKind;
use super::{AllItems, Cause, Compiler, Item, Origin, torch_compile};

pub(super) use bytecode::{Reasons, reasons};
pub(super) use demangle::kernel;
pub(super) use functions::Functions;
pub(crate) use imports::LISTED_IMPORT;
pub(super) use imports::{Tree, importer, package};

/// The number of items of a cause in a report.
pub(super) const MAX_ITEMS: usize = 20;

/// The name of an item.
pub(super) fn name(meant: ItemMeaning, facts: &[Facts]) -> String {
    match meant {
        ItemMeaning::Named(label) => label.name.clone(),
        ItemMeaning::Of(process, thing) => {
            let facts = &facts[process];
            let process = facts.process;
            match thing {
                ItemRef::Symbol(at) => match process.symbols.get(at as usize) {
                    Some(symbol) => symbol.name.clone(),
                    None => "a call".to_owned(),
                },
                ItemRef::Function(at) => kernel(&process.functions[at as usize].name),
                ItemRef::Import(at) => process.imports[at as usize].name.clone(),
                ItemRef::Load(at) => file_name(&process.loads[at as usize].path).to_owned(),
                ItemRef::Bytecode(at) => facts.compiled_package(at).to_owned(),
                ItemRef::Text(at) => compiled(&process.texts[at as usize]).to_owned(),
            }
        }
    }
}

/// The name of the compiled function or module in a compiler range, such as
/// `XlaCompile:#module=jit_step#`.
fn compiled(range: &str) -> &str {
    if let Some(phase) = torch_compile::phase(range) {
        return phase;
    }
    let module = range.split_once("module=").map(|(_, rest)| rest);
    let module = module.and_then(|rest| rest.split([',', '#']).next());
    module.unwrap_or(range)
}

/// The last part of a path.
pub(super) fn file_name(path: &str) -> &str {
    match path.rsplit('/').next() {
        Some(name) if !name.is_empty() => name,
        _ => path,
    }
}

/// All items behind each cause on the path, without steady work, in seconds.
pub(super) fn list(examined: &Examined, start: &StartData, trees: &[Tree]) -> AllItems {
    let facts = start.facts;
    let mut by_name: HashMap<(Cause, String), Item> = HashMap::new();
    let mut imports: HashMap<(usize, u32), Sum> = HashMap::new();
    // Items of the first iteration. Whether they are cold is known only once all are
    // collected.
    let mut names: Vec<((Cause, String), u64)> = Vec::new();
    let mut in_first: Vec<(ItemMeaning, Sum)> = Vec::new();
    for (tally, first) in [(&examined.before, false), (&examined.first, true)] {
        for (cause, id, sum) in tally.items() {
            let meant = examined.meaning(id);
            if let (Cause::PythonImports, ItemMeaning::Of(process, ItemRef::Import(at))) =
                (cause, meant)
            {
                let cold = if first {
                    examined.cold[cause.index()]
                } else {
                    1.0
                };
                let scaled = Sum {
                    nanoseconds: (sum.nanoseconds as f64 * cold) as u64,
                    waiting: sum.waiting * cold,
                    ..sum
                };
                imports.entry((process, at)).or_default().add(&scaled);
            } else if first {
                names.push(((cause, name(meant, facts)), sum.nanoseconds));
                in_first.push((meant, sum));
            } else {
                let key = (cause, name(meant, facts));
                add(&mut by_name, key, meant, facts, &sum, 1.0);
            }
        }
    }
    let steady = steady(examined, start);
    let cold = cold_parts(&names, &steady, &examined.cold);
    for (((key, _), (meant, sum)), cold) in names.into_iter().zip(in_first).zip(cold) {
        add(&mut by_name, key, meant, facts, &sum, cold);
    }
    let until = examined.time_to_first.unwrap_or(start.trace.end);
    count(&mut by_name, facts, until);
    bytecode::describe(&mut by_name, facts, until);
    // Steady work is a single item.
    let steady = examined.causes[Cause::SteadyWork.index()];
    let mut all_items = AllItems::default();
    let lists = &mut all_items.items;
    for ((cause, _), item) in by_name {
        lists[cause.index()].push(item);
    }
    if steady > 0.0 {
        let mut item = Item::named("one typical iteration");
        (item.seconds, item.inclusive, item.count) = (steady, steady, 1);
        lists[Cause::SteadyWork.index()].push(item);
    }
    lists[Cause::PythonImports.index()].extend(imports::list(&imports, trees, facts, until));
    for list in lists {
        // Sort ties by name, so that reports are deterministic.
        list.sort_by(|a, b| {
            let order = b.seconds.total_cmp(&a.seconds);
            order.then_with(|| a.name.cmp(&b.name))
        });
        list.retain(|item| item.seconds > 0.0);
        // Items that are not calls, or that began before the interval, count once.
        (list.iter_mut()).for_each(|item| item.count = item.count.max(1));
    }
    all_items.modules = imports::modules(&imports, trees, facts);
    all_items
}

fn add(
    items: &mut HashMap<(Cause, String), Item>,
    key: (Cause, String),
    meant: ItemMeaning,
    facts: &[Facts],
    sum: &Sum,
    cold: f64,
) {
    let cause = key.0;
    let item = items.entry(key).or_insert_with_key(|(_, name)| Item {
        detail: detail(meant, facts),
        origin: origin(meant, facts),
        ..Item::named(name)
    });
    let seconds = seconds(sum.nanoseconds) * cold;
    item.seconds += seconds;
    item.inclusive += seconds;
    item.count += sum.count;
    if sum.bytes > 0 && has_bytes(cause, meant) {
        *item.bytes.get_or_insert(0) += sum.bytes;
    }
    if waits(cause, meant) {
        *item.waiting.get_or_insert(0.0) += sum.waiting * 1e-9 * cold;
    }
}

/// Returns true if the bytes of an item are meaningful: for allocations, copies and loaded
/// code. The bytes of a cheap call do not count for its outer call.
fn has_bytes(cause: Cause, meant: ItemMeaning) -> bool {
    match cause {
        Cause::DeviceAllocation
        | Cause::PinnedAllocation
        | Cause::HostToDevice
        | Cause::DeviceToHost
        | Cause::LibraryLoading => true,
        // Device-to-device copies are also cheap calls.
        Cause::KernelLoading | Cause::KernelCompilation | Cause::OwnCpu => {
            matches!(meant, ItemMeaning::Of(_, ItemRef::Symbol(_)))
        }
        _ => false,
    }
}

/// Returns true if the waiting time of an item was recorded.
fn waits(cause: Cause, meant: ItemMeaning) -> bool {
    matches!(meant, ItemMeaning::Of(_, ItemRef::Load(_)))
        || matches!(
            cause,
            Cause::DriverInit
                | Cause::ContextCreation
                | Cause::KernelCompilation
                | Cause::LibrarySetUp
        ) && matches!(meant, ItemMeaning::Of(_, ItemRef::Symbol(_)))
}

/// The origin of an item. The importers of modules are added by [`imports::list`].
fn origin(meant: ItemMeaning, facts: &[Facts]) -> Option<Origin> {
    match meant {
        ItemMeaning::Named(label) => label.origin.clone(),
        ItemMeaning::Of(process, ItemRef::Text(at)) => {
            let range = facts[process].process.texts.get(at as usize);
            let compiler = match range.map_or("", String::as_str) {
                range if torch_compile::is_part(range) => Compiler::TorchCompile,
                range if range.starts_with(NUMBA) => Compiler::Numba,
                _ => Compiler::Xla,
            };
            Some(Origin::Compilation { compiler })
        }
        ItemMeaning::Of(..) => None,
    }
}

fn detail(meant: ItemMeaning, facts: &[Facts]) -> String {
    match meant {
        ItemMeaning::Of(_, ItemRef::Function(_)) => "first launch".to_owned(),
        ItemMeaning::Of(process, ItemRef::Text(at)) => {
            let range = facts[process].process.texts.get(at as usize);
            match range.map_or("", String::as_str) {
                torch_compile::COMPILE => "outside its phases".to_owned(),
                range if torch_compile::is_part(range) => String::new(),
                range if range.starts_with(NUMBA) => "compiled by Numba".to_owned(),
                _ => "compiled by XLA".to_owned(),
            }
        }
        ItemMeaning::Of(process, ItemRef::Symbol(at)) => {
            let symbols = &facts[process].process.symbols;
            symbols
                .get(at as usize)
                .map_or(String::new(), |symbol| symbol.library.clone())
        }
        ItemMeaning::Of(process, ItemRef::Load(at)) => {
            let load = &facts[process].process.loads[at as usize];
            if load.failed {
                "failed".to_owned()
            } else {
                String::new()
            }
        }
        _ => String::new(),
    }
}

// Counts compilations.
//
// Compiler passes are ranges nested in other ranges. The outermost range is named after
// the compiled function, and only these are counted: a hundred passes are one compilation.

/// Sets the count of each compiler item to the number of its outermost ranges that began
/// before `until`.
fn count(items: &mut HashMap<(Cause, String), Item>, facts: &[Facts], until: u64) {
    let mut counts: HashMap<(usize, u32), u64> = HashMap::new();
    for (place, facts) in facts.iter().enumerate() {
        for (index, thread) in facts.process.threads.iter().enumerate() {
            if facts.count(index, SpanKind::Range) == 0 {
                continue;
            }
            let mut compiling_until = 0;
            let spans = thread.spans.iter().take_while(|span| span.begin < until);
            for span in spans.filter(|span| span.what == SpanKind::Range) {
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
        let name = name(ItemMeaning::Of(place, ItemRef::Text(text)), facts);
        *by_name.entry(name).or_insert(0) += count;
    }
    for (name, count) in by_name {
        if let Some(item) = items.get_mut(&(Cause::KernelCompilation, name)) {
            item.count = count;
        }
    }
}

// The steady work of each item.
//
// `examine` splits each cause into cold and steady seconds. The items of a typical steady
// iteration show which of its items are steady: a kernel launched in every iteration is,
// one launched only in the first is not.

/// The typical iteration is selected from this many steady iterations.
const MAX_CANDIDATES: usize = 51;

/// Nanoseconds by item in a typical steady iteration.
type Steady = HashMap<(Cause, String), u64>;

/// The items of a typical steady iteration of a start; empty if it has none.
fn steady(examined: &Examined, start: &StartData) -> Steady {
    let mut found = Steady::new();
    // Skip the search if nothing in the first iteration is steady.
    if examined.cold.iter().all(|cold| *cold >= 1.0) {
        return found;
    }
    let Some(typical) = typical(examined, start) else {
        return found;
    };
    let request = Request {
        thread: examined.thread,
        iterations: &[examined.iterations[typical]],
        threads: examined.threads.get(typical..=typical).unwrap_or(&[]),
        later: &[],
    };
    let partition = partition(start.trace, start.facts, &request);
    for (cause, id, sum) in partition.first.items() {
        let name = name(partition.catalogue.meaning(id), start.facts);
        *found.entry((cause, name)).or_insert(0) += sum.nanoseconds;
    }
    found
}

/// The number of the detailed steady iteration with the median duration.
fn typical(examined: &Examined, start: &StartData) -> Option<usize> {
    let detailed = detailed(start.trace, examined.thread, &examined.iterations);
    let steady = steady_ones(&detailed, examined.summary.as_ref());
    let mut steady: Vec<usize> = steady.into_iter().take(MAX_CANDIDATES).collect();
    steady.sort_by_key(|at| {
        let (begin, end) = examined.iterations[*at];
        end - begin
    });
    steady.get(steady.len() / 2).copied()
}

/// The cold share of each item of the first iteration, 0 to 1. `first` has the items with
/// their nanoseconds. The shares are chosen so that the cold time of each cause matches
/// `cold`.
fn cold_parts(first: &[((Cause, String), u64)], steady: &Steady, cold: &[f64; CAUSES]) -> Vec<f64> {
    let mut all = [0.0; CAUSES];
    let mut beyond = [0.0; CAUSES];
    let beyond_of = |key: &(Cause, String), nanoseconds: u64| {
        let usual = steady.get(key).copied().unwrap_or(0);
        nanoseconds.saturating_sub(usual) as f64
    };
    for (key, nanoseconds) in first {
        all[key.0.index()] += *nanoseconds as f64;
        beyond[key.0.index()] += beyond_of(key, *nanoseconds);
    }
    let part = |(key, nanoseconds): &((Cause, String), u64)| {
        let cause = key.0.index();
        let expected = cold[cause] * all[cause];
        // If items vary too much, all of them get the same share.
        if *nanoseconds == 0 || expected > beyond[cause] {
            return cold[cause];
        }
        let scale = expected / beyond[cause].max(f64::MIN_POSITIVE);
        scale * beyond_of(key, *nanoseconds) / *nanoseconds as f64
    };
    first.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: &[f64], expected: &[f64]) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
        }
    }

    #[test]
    fn items_only_in_the_first_iteration_are_cold() {
        let key = |name: &str| (Cause::OwnCpu, name.to_owned());
        let first = [(key("once"), 60), (key("always"), 40)];
        let mut cold = [1.0; CAUSES];
        cold[Cause::OwnCpu.index()] = 0.6;
        let steady = Steady::from([(key("always"), 40), (key("later"), 9)]);
        close(&cold_parts(&first, &steady, &cold), &[1.0, 0.0]);
        // The cause determines the total cold share.
        cold[Cause::OwnCpu.index()] = 0.3;
        close(&cold_parts(&first, &steady, &cold), &[0.5, 0.0]);
        // Without a steady iteration, all items get the same share.
        close(&cold_parts(&first, &Steady::new(), &cold), &[0.3, 0.3]);
        // The same if the items have less cold time than the cause.
        let other = Steady::from([(key("once"), 60), (key("always"), 40)]);
        close(&cold_parts(&first, &other, &cold), &[0.3, 0.3]);
    }
}
