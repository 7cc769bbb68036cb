//! Facts that need a pass over a whole process before a single span can be classified: the
//! first launch of each kernel, the device's address ranges, the time that calls waited.

use super::driver_calls::{Meaning, meaning};
use super::items::{file_name, package};
use super::memory::Ranges;
use super::nested::Waiting;
use super::trace::{Process, Span, SpanKind, Usage};
use super::{Cause, torch_compile};

/// A process, with facts about all of its spans.
pub(super) struct Facts<'a> {
    pub process: &'a Process,
    /// Indexed by symbol.
    meanings: Vec<Meaning>,
    /// Indexed by text: whether a range with this name is a compilation.
    compiling: Vec<bool>,
    /// Indexed by text: some for torch.compile and its parts; true for a part with a phase.
    torch_compile: Vec<Option<bool>>,
    /// Indexed by function: the time of its first launch.
    first_launch: Vec<u64>,
    /// Indexed by thread: the number of spans of each type.
    counts: Vec<[u32; SpanKind::COUNT]>,
    /// Indexed like `bytecode`: the import that caused the compilation.
    compiled_for: Vec<Option<u32>>,
    /// Addresses ever allocated on the device, and page-locked addresses.
    pub device: Ranges,
    pub pinned: Ranges,
    waiting: Waiting,
}

/// The object that an item refers to, as an index into a table of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemRef {
    Symbol(u32),
    Function(u32),
    Import(u32),
    Load(u32),
    /// A module compiled from source.
    Bytecode(u32),
    /// A range, by its name in the text table.
    Text(u32),
}

/// A classified span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ClassifiedSpan {
    pub cause: Cause,
    pub thing: ItemRef,
    /// The share of its time, without nested spans, spent waiting; if known.
    pub waiting: f32,
}

impl<'a> Facts<'a> {
    pub(super) fn of(process: &'a Process) -> Facts<'a> {
        let mut facts = Facts {
            process,
            meanings: process.symbols.iter().map(|s| meaning(&s.name)).collect(),
            compiling: process
                .texts
                .iter()
                .map(|text| is_compiling(text))
                .collect(),
            torch_compile: (process.texts.iter())
                .map(|text| {
                    let part = torch_compile::is_part(text);
                    part.then(|| torch_compile::phase(text).is_some())
                })
                .collect(),
            first_launch: vec![u64::MAX; process.functions.len()],
            counts: vec![[0; SpanKind::COUNT]; process.threads.len()],
            compiled_for: vec![None; process.bytecode.len()],
            device: Ranges::default(),
            pinned: Ranges::default(),
            waiting: Waiting::new(process),
        };
        for (index, thread) in process.threads.iter().enumerate() {
            let mut counts = [0; SpanKind::COUNT];
            let mut imports: Vec<&Span> = Vec::new();
            for span in &thread.spans {
                counts[span.what.index()] += 1;
                if matches!(span.what, SpanKind::Import | SpanKind::Bytecode) {
                    while imports.pop_if(|outer| outer.end <= span.begin).is_some() {}
                    match span.what {
                        SpanKind::Import => imports.push(span),
                        _ => facts.see_compiled(span, imports.last().copied()),
                    }
                }
                facts.see(span);
            }
            facts.counts[index] = counts;
            facts.waiting.end_of_thread();
        }
        facts.device.sort();
        facts.pinned.sort();
        facts
    }

    fn see_compiled(&mut self, span: &Span, import: Option<&Span>) {
        if let Some(place) = self.compiled_for.get_mut(span.detail as usize) {
            *place = import.map(|import| import.detail);
        }
    }

    /// The package of a compiled module: from its import, or else from the file name.
    pub(super) fn compiled_package(&self, at: u32) -> &'a str {
        let import = self.compiled_for.get(at as usize).copied().flatten();
        let import = import.and_then(|import| self.process.imports.get(import as usize));
        match (import, self.process.bytecode.get(at as usize)) {
            (Some(import), _) => package(&import.name),
            (None, Some(bytecode)) => {
                let file = file_name(&bytecode.path);
                file.strip_suffix(".py").unwrap_or(file)
            }
            (None, None) => "",
        }
    }

    fn see(&mut self, span: &Span) {
        match span.what {
            SpanKind::Launch => {
                if let Some(first) = self.first_launch.get_mut(span.detail as usize) {
                    *first = span.begin.min(*first);
                }
            }
            SpanKind::Allocate => {
                let pinned = self.meaning(span) == Meaning::Is(Cause::PinnedAllocation);
                let made = self.process.allocations.get(span.detail as usize);
                if let Some(made) = made.filter(|made| made.status == 0) {
                    let ranges = if pinned {
                        &mut self.pinned
                    } else {
                        &mut self.device
                    };
                    ranges.add(made.pointer, made.bytes);
                }
            }
            SpanKind::Heavy
            | SpanKind::Module
            | SpanKind::Import
            | SpanKind::Load
            | SpanKind::Bytecode => {
                if let Some(usage) = usage(self.process, span) {
                    self.waiting.see(span, usage);
                }
            }
            _ => {}
        }
    }

    fn meaning(&self, span: &Span) -> Meaning {
        let meaning = self.meanings.get(usize::from(span.symbol));
        meaning.copied().unwrap_or(Meaning::Plain)
    }

    /// The number of spans of a type in a thread.
    pub(super) fn count(&self, thread: usize, what: impl Into<SpanKind>) -> u32 {
        let what = what.into().index();
        self.counts.get(thread).map_or(0, |counts| counts[what])
    }

    /// The number of spans of a type in all threads.
    pub(super) fn count_in_all(&self, what: impl Into<SpanKind>) -> u64 {
        let what = what.into().index();
        let counts = self.counts.iter();
        counts.map(|counts| u64::from(counts[what])).sum()
    }

    /// Returns true if the span is a call to a driver or library.
    pub(super) fn is_call(&self, span: &Span) -> bool {
        match span.what {
            SpanKind::Call
            | SpanKind::Heavy
            | SpanKind::Allocate
            | SpanKind::Free
            | SpanKind::Copy
            | SpanKind::Launch
            | SpanKind::Module
            | SpanKind::Lookup => true,
            SpanKind::Import
            | SpanKind::Bytecode
            | SpanKind::Load
            | SpanKind::Iteration(_)
            | SpanKind::Range => false,
        }
    }

    /// Returns true if this launch is the first of its kernel.
    pub(super) fn is_first_launch(&self, span: &Span) -> bool {
        span.what == SpanKind::Launch
            && self.first_launch.get(span.detail as usize) == Some(&span.begin)
    }

    /// Returns true if the span returns only after the device has finished its work.
    pub(super) fn waits_for_device(&self, span: &Span) -> bool {
        match span.what {
            SpanKind::Call | SpanKind::Heavy => {
                self.meaning(span) == Meaning::Is(Cause::WaitingForDevice)
            }
            SpanKind::Copy => self.copy(span) == Some(Cause::DeviceToHost),
            _ => false,
        }
    }

    /// Classifies a span within its classified outer span; none for spans that only group
    /// others.
    pub(super) fn judge(
        &self,
        span: &Span,
        within: Option<&ClassifiedSpan>,
    ) -> Option<ClassifiedSpan> {
        let symbol = ItemRef::Symbol(u32::from(span.symbol));
        let (cause, thing) = match span.what {
            SpanKind::Iteration(_) => return None,
            SpanKind::Range if self.compiling.get(span.detail as usize) == Some(&true) => {
                // The outermost range is named after the compiled function, the inner ones
                // after compiler passes. The phases of torch.compile are separate items.
                let outer = within.filter(|outer| outer.cause == Cause::KernelCompilation);
                let phase = self.torch_compile.get(span.detail as usize) == Some(&Some(true));
                let outer = outer.filter(|_| !phase);
                let thing = outer.map_or(ItemRef::Text(span.detail), |outer| outer.thing);
                (Some(Cause::KernelCompilation), thing)
            }
            SpanKind::Range => return None,
            SpanKind::Import => (Some(Cause::PythonImports), ItemRef::Import(span.detail)),
            SpanKind::Load => (Some(Cause::LibraryLoading), ItemRef::Load(span.detail)),
            SpanKind::Bytecode => (
                Some(Cause::BytecodeCompilation),
                ItemRef::Bytecode(span.detail),
            ),
            SpanKind::Launch if self.is_first_launch(span) => {
                let named = self.process.functions.get(span.detail as usize);
                let named = named.is_some_and(|function| !function.name.is_empty());
                let thing = if named {
                    ItemRef::Function(span.detail)
                } else {
                    symbol
                };
                (Some(Cause::KernelLoading), thing)
            }
            SpanKind::Launch => (None, symbol),
            SpanKind::Module => (Some(self.module(span)), symbol),
            SpanKind::Lookup => (Some(Cause::KernelLoading), symbol),
            SpanKind::Copy => (self.copy(span), symbol),
            SpanKind::Allocate | SpanKind::Free | SpanKind::Call | SpanKind::Heavy => {
                let cause = match (self.meaning(span), span.what) {
                    (Meaning::Is(cause), _) => Some(cause),
                    (_, SpanKind::Allocate | SpanKind::Free) => Some(Cause::DeviceAllocation),
                    _ => None,
                };
                (cause, symbol)
            }
        };
        let waiting = self.waiting.share(span);
        Some(match (cause, within) {
            (Some(cause), _) => ClassifiedSpan {
                cause,
                thing,
                waiting,
            },
            (None, Some(outer)) => *outer,
            (None, None) => ClassifiedSpan {
                cause: Cause::OwnCpu,
                thing,
                waiting,
            },
        })
    }

    /// Returns true if this is torch.compile, which delegates work to other processes.
    pub(super) fn is_torch_compile(&self, thing: ItemRef) -> bool {
        match thing {
            ItemRef::Text(at) => matches!(self.torch_compile.get(at as usize), Some(Some(_))),
            _ => false,
        }
    }

    /// A module that has only PTX is compiled by the driver as it is loaded.
    fn module(&self, span: &Span) -> Cause {
        match self.process.modules.get(span.detail as usize) {
            Some(module) if module.machine_code.is_empty() && !module.ptx.is_empty() => {
                Cause::KernelCompilation
            }
            _ => match self.meaning(span) {
                Meaning::Is(cause) => cause,
                _ => Cause::KernelLoading,
            },
        }
    }

    fn copy(&self, span: &Span) -> Option<Cause> {
        match self.meaning(span) {
            Meaning::Is(cause) => Some(cause),
            _ => {
                let copied = self.process.copies.get(span.detail as usize)?;
                let from = self.device.holds(copied.source);
                let to = self.device.holds(copied.destination);
                match (from, to) {
                    (false, true) => Some(Cause::HostToDevice),
                    (true, false) => Some(Cause::DeviceToHost),
                    _ => None,
                }
            }
        }
    }

    /// The number of bytes that a span allocates, copies or loads.
    pub(super) fn bytes(&self, span: &Span) -> u64 {
        let at = span.detail as usize;
        match span.what {
            SpanKind::Allocate => self.process.allocations.get(at).map_or(0, |a| a.bytes),
            SpanKind::Copy => self.process.copies.get(at).map_or(0, |c| c.bytes),
            SpanKind::Module => self.process.modules.get(at).map_or(0, |m| m.bytes),
            _ => 0,
        }
    }
}

/// The prefix of the ranges in which Numba compiles.
pub(super) const NUMBA: &str = "NumbaCompile";

/// Returns true if a range with this name is a compilation. XLA emits such NVTX ranges
/// itself; the recorder's Python code names those of PyTorch and Numba.
fn is_compiling(name: &str) -> bool {
    [
        "torch.compile",
        NUMBA,
        "XlaCompile",
        "XlaPass",
        "XlaEmit",
        "XlaOptimize",
        "XlaAutotune",
    ]
    .iter()
    .any(|begin| name.starts_with(begin))
}

/// The resource usage of a span, if recorded.
pub(super) fn usage<'a>(process: &'a Process, span: &Span) -> Option<&'a Usage> {
    let at = span.detail as usize;
    match span.what {
        SpanKind::Heavy => process.usages.get(at),
        SpanKind::Module => process.modules.get(at).map(|m| &m.usage),
        SpanKind::Import => process.imports.get(at).map(|i| &i.usage),
        SpanKind::Load => process.loads.get(at).map(|l| &l.usage),
        SpanKind::Bytecode => process.bytecode.get(at).map(|b| &b.usage),
        _ => None,
    }
}
