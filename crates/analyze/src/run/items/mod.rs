//! The items behind causes: modules, libraries, kernels, calls.

mod bytecode;
mod compiling;
mod functions;
mod imports;
pub(super) mod names;
mod steady;

pub(super) use bytecode::{Reasons, reasons};
pub(super) use functions::Functions;
pub(crate) use imports::LISTED_IMPORT;
pub(super) use imports::{Tree, importer, package};
pub(super) use names::kernel;

use std::collections::HashMap;

use super::examine::{Examined, seconds};
use super::facts::{Facts, NUMBA, Thing};
use super::iterations::Seen;
use super::path::{Meant, Sum};
use super::{Behind, Cause, Compiler, Item, Origin, torch_compile};

/// The number of items of a cause in a report.
pub(super) const MOST: usize = 20;

/// The name of an item.
pub(super) fn name(meant: Meant, facts: &[Facts]) -> String {
    match meant {
        Meant::Named(label) => label.name.clone(),
        Meant::Of(process, thing) => {
            let facts = &facts[process];
            let process = facts.process;
            match thing {
                Thing::Symbol(at) => match process.symbols.get(at as usize) {
                    Some(symbol) => symbol.name.clone(),
                    None => "a call".to_owned(),
                },
                Thing::Function(at) => kernel(&process.functions[at as usize].name),
                Thing::Import(at) => process.imports[at as usize].name.clone(),
                Thing::Load(at) => file_name(&process.loads[at as usize].path).to_owned(),
                Thing::Bytecode(at) => facts.compiled_package(at).to_owned(),
                Thing::Text(at) => compiled(&process.texts[at as usize]).to_owned(),
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
pub(super) fn list(examined: &Examined, start: &Seen, trees: &[Tree]) -> Behind {
    let facts = start.facts;
    let mut by_name: HashMap<(Cause, String), Item> = HashMap::new();
    let mut imports: HashMap<(usize, u32), Sum> = HashMap::new();
    // Items of the first iteration. Whether they are cold is known only once all are
    // collected.
    let mut names: Vec<((Cause, String), u64)> = Vec::new();
    let mut in_first: Vec<(Meant, Sum)> = Vec::new();
    for (tally, first) in [(&examined.before, false), (&examined.first, true)] {
        for (cause, id, sum) in tally.items() {
            let meant = examined.meant(id);
            if let (Cause::PythonImports, Meant::Of(process, Thing::Import(at))) = (cause, meant) {
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
    let steady = steady::steady(examined, start);
    let cold = steady::cold_parts(&names, &steady, &examined.cold);
    for (((key, _), (meant, sum)), cold) in names.into_iter().zip(in_first).zip(cold) {
        add(&mut by_name, key, meant, facts, &sum, cold);
    }
    let until = examined.time_to_first.unwrap_or(start.trace.end);
    compiling::count(&mut by_name, facts, until);
    bytecode::describe(&mut by_name, facts, until);
    // Steady work is a single item.
    let steady = examined.causes[Cause::SteadyWork.index()];
    let mut behind = Behind::default();
    let lists = &mut behind.items;
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
    behind.modules = imports::modules(&imports, trees, facts);
    behind
}

fn add(
    items: &mut HashMap<(Cause, String), Item>,
    key: (Cause, String),
    meant: Meant,
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
fn has_bytes(cause: Cause, meant: Meant) -> bool {
    match cause {
        Cause::DeviceAllocation
        | Cause::PinnedAllocation
        | Cause::HostToDevice
        | Cause::DeviceToHost
        | Cause::LibraryLoading => true,
        // Device-to-device copies are also cheap calls.
        Cause::KernelLoading | Cause::KernelCompilation | Cause::OwnCpu => {
            matches!(meant, Meant::Of(_, Thing::Symbol(_)))
        }
        _ => false,
    }
}

/// Returns true if the waiting time of an item was recorded.
fn waits(cause: Cause, meant: Meant) -> bool {
    matches!(meant, Meant::Of(_, Thing::Load(_)))
        || matches!(
            cause,
            Cause::DriverInit
                | Cause::ContextCreation
                | Cause::KernelCompilation
                | Cause::LibrarySetUp
        ) && matches!(meant, Meant::Of(_, Thing::Symbol(_)))
}

/// Where an item comes from. The importers of modules are added by [`imports::list`].
fn origin(meant: Meant, facts: &[Facts]) -> Option<Origin> {
    match meant {
        Meant::Named(label) => label.origin.clone(),
        Meant::Of(process, Thing::Text(at)) => {
            let range = facts[process].process.texts.get(at as usize);
            let compiler = match range.map_or("", String::as_str) {
                range if torch_compile::is_part(range) => Compiler::TorchCompile,
                range if range.starts_with(NUMBA) => Compiler::Numba,
                _ => Compiler::Xla,
            };
            Some(Origin::Compilation { compiler })
        }
        Meant::Of(..) => None,
    }
}

fn detail(meant: Meant, facts: &[Facts]) -> String {
    match meant {
        Meant::Of(_, Thing::Function(_)) => "first launch".to_owned(),
        Meant::Of(process, Thing::Text(at)) => {
            let range = facts[process].process.texts.get(at as usize);
            match range.map_or("", String::as_str) {
                torch_compile::COMPILE => "outside its phases".to_owned(),
                range if torch_compile::is_part(range) => String::new(),
                range if range.starts_with(NUMBA) => "compiled by Numba".to_owned(),
                _ => "compiled by XLA".to_owned(),
            }
        }
        Meant::Of(process, Thing::Symbol(at)) => {
            let symbols = &facts[process].process.symbols;
            symbols
                .get(at as usize)
                .map_or(String::new(), |symbol| symbol.library.clone())
        }
        Meant::Of(process, Thing::Load(at)) => {
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
