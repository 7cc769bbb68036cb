//! Processes that a program waits for: compilers, workers.

use super::super::trace::{Process, StartTrace, UNKNOWN_CHILD};
use super::super::{Cause, Compiler, Origin, torch_compile};
use super::phases::starting;
use super::sampled::{ByThread, Cursor};
use super::samples::{Load, NOT_BUSY, Samples};
use super::tally::{Catalogue, ItemId, Label};

/// Programs that compile, assemble or link kernels.
const COMPILERS: &[&str] = &[
    "ptxas",
    "nvcc",
    "cicc",
    "fatbinary",
    "nvlink",
    "cudafe++",
    "cuobjdump",
    "nvdisasm",
    "gcc",
    "g++",
    "cc",
    "c++",
    "cpp",
    "cc1",
    "cc1plus",
    "as",
    "ld",
    "ld.bfd",
    "ld.gold",
    "ld.lld",
    "lld",
    "mold",
    "collect2",
    "lto1",
    "lto-wrapper",
    "clang",
    "clang++",
    "llc",
    "opt",
    "ninja",
    "ccache",
];

/// The file name of a process's program, without the prefixes and suffixes of Debian and
/// LLVM.
pub(in crate::run) fn name(process: &Process) -> &str {
    let path = match process.program.as_str() {
        "" => process.arguments.first().map_or("", String::as_str),
        path => path,
    };
    path.rsplit('/').next().unwrap_or(path)
}

/// The name by which a process was started, if its executable contains several programs, as
/// `redis-server` is a link to `redis-check-rdb`; otherwise the name of the executable.
pub(super) fn called(process: &Process) -> &str {
    let executable = name(process);
    let called = process.arguments.first().map_or("", String::as_str);
    let called = called.rsplit('/').next().unwrap_or("");
    // `python` is python3.11, and a login shell `-bash`.
    let same = |name: &str| executable.contains(name) || name.contains(executable);
    match called.is_empty() || executable.is_empty() || same(called.trim_start_matches('-')) {
        true => executable,
        false => called,
    }
}

/// Returns true if a process compiles kernels for its whole lifetime.
pub(in crate::run) fn is_compiler(process: &Process) -> bool {
    let name = name(process);
    // x86_64-linux-gnu-gcc-12 is gcc, clang-14 is clang.
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let plain = plain
        .rsplit_once("linux-gnu-")
        .map_or(plain, |(_, plain)| plain);
    name.starts_with("triton-") || COMPILERS.contains(&name) || COMPILERS.contains(&plain)
}

/// Returns true if a process is `preheat start`, which is not the program that it starts.
pub(in crate::run) fn is_preheat_start(process: &Process) -> bool {
    let verb = process.arguments.get(1).map(String::as_str);
    name(process) == "preheat" && verb == Some("start")
}

/// Returns true if a process is a worker that compiles kernels while it is busy.
pub(in crate::run) fn is_compile_worker(process: &Process) -> bool {
    let mut arguments = process.arguments.iter();
    arguments.any(|a| a.contains("torch/_inductor/compile_worker"))
}

/// Describes a process and its work: `g++`, `python3 -c, imports torch`.
fn described(process: &Process) -> String {
    let name = name(process);
    let mut words = match name {
        "" | UNKNOWN_CHILD => UNKNOWN_CHILD.to_owned(),
        _ if is_compile_worker(process) => "a compile worker".to_owned(),
        _ if is_compiler(process) => return name.to_owned(),
        _ => match process.arguments.get(1).map(String::as_str) {
            Some(option) if option.starts_with('-') => format!("{name} {option}"),
            Some(script) => format!("{name} {}", script.rsplit('/').next().unwrap_or(script)),
            None => name.to_owned(),
        },
    };
    if imports_torch(process) {
        words.push_str(", imports torch");
    }
    words
}

/// The label of a process that works for torch.compile.
fn compiling(name: &str) -> Label {
    Label {
        name: name.to_owned(),
        origin: Some(Origin::Compilation {
            compiler: Compiler::TorchCompile,
        }),
    }
}

/// Returns true if a process imports PyTorch. Imports of a process with a changed
/// PYTHONPATH, such as those started by torch.compile, are not recorded, but the files it
/// opened are.
fn imports_torch(process: &Process) -> bool {
    let mut files = process.files.iter();
    process.imports.iter().any(|import| import.name == "torch")
        || files.any(|file| {
            file.contains("/torch/__pycache__/__init__.") || file.ends_with("/torch/__init__.py")
        })
}

/// Iterates over the processes next to those on the path. Times must not decrease.
pub(super) struct Children<'a> {
    /// Future processes, the next one last.
    future: Vec<&'a Process>,
    stacks: &'a ByThread,
    present: Vec<Child<'a>>,
}

/// A running process and its work.
pub(super) struct Child<'a> {
    process: &'a Process,
    compiler: bool,
    threads: Vec<Samples<'a>>,
    /// The sampled stacks of its threads.
    stacks: Vec<Cursor<'a>>,
    /// The item of its work, and the cause.
    pub item: ItemId,
    /// Its item while torch.compile waits for it.
    pub for_torch_compile: ItemId,
    pub cause: Cause,
    /// Its item and cause after its own start.
    work: (ItemId, Cause),
    /// The load of its busiest thread; a compiler is always busy.
    pub load: Load,
}

impl<'a> Children<'a> {
    /// All processes except those at `on_path`.
    pub(super) fn new(
        trace: &'a StartTrace,
        on_path: &[usize],
        stacks: &'a ByThread,
    ) -> Children<'a> {
        let all = trace.processes.iter().enumerate();
        let mut future: Vec<&Process> = all
            .filter(|(index, _)| !on_path.contains(index))
            .map(|(_, process)| process)
            .collect();
        future.sort_by_key(|process| std::cmp::Reverse(process.made));
        Children {
            future,
            stacks,
            present: Vec::new(),
        }
    }

    /// Updates their loads to `now`, and returns until when they are valid; changes closer
    /// than `gap` are merged.
    pub(super) fn update(&mut self, now: u64, gap: u64, catalogue: &mut Catalogue) -> u64 {
        self.present.retain(|child| child.process.ended > now);
        while let Some(process) = self.future.pop_if(|process| process.made <= now) {
            if process.ended > now {
                self.present
                    .push(Child::new(process, self.stacks, catalogue));
            }
        }
        let next = self.future.last();
        let mut until = next.map_or(u64::MAX, |process| process.made);
        for child in &mut self.present {
            let end = child.update(now, catalogue).max(now.saturating_add(gap));
            until = until.min(end);
        }
        // Compilers first, then the busiest.
        self.present.sort_by(|a, b| {
            let order = |child: &Child| child.cause != Cause::KernelCompilation;
            let busy = b.load.busy().total_cmp(&a.load.busy());
            order(a).cmp(&order(b)).then(busy)
        });
        until
    }

    /// The processes that are busy.
    pub(super) fn at_work_mut(&mut self) -> impl Iterator<Item = &mut Child<'a>> {
        let present = self.present.iter_mut();
        present.filter(|child| child.load.busy() >= NOT_BUSY)
    }
}

impl<'a> Child<'a> {
    fn new(process: &'a Process, stacks: &'a ByThread, catalogue: &mut Catalogue) -> Child<'a> {
        let compiler = is_compiler(process);
        let worker = is_compile_worker(process);
        let item = match name(process) {
            "" | UNKNOWN_CHILD => catalogue.named(Label {
                name: format!("{UNKNOWN_CHILD} ({})", process.pid),
                origin: Some(Origin::Process {
                    name: UNKNOWN_CHILD.to_owned(),
                }),
            }),
            _ if worker => catalogue.named(compiling("a compile worker of TorchInductor")),
            _ => catalogue.named(called(process)),
        };
        let for_torch_compile = format!("{}: {}", torch_compile::COMPILE, described(process));
        let cause = match compiler || worker {
            true => Cause::KernelCompilation,
            false => Cause::OwnCpu,
        };
        Child {
            process,
            compiler,
            for_torch_compile: catalogue.named(compiling(&for_torch_compile)),
            threads: (process.threads.iter())
                .map(|thread| Samples::new(process, thread))
                .collect(),
            stacks: (process.threads.iter())
                .map(|thread| stacks.cursor(process.pid, thread.id))
                .collect(),
            item,
            cause,
            work: (item, cause),
            load: Load::default(),
        }
    }

    /// Updates its load to `now`, and returns until when it is valid.
    fn update(&mut self, now: u64, catalogue: &mut Catalogue) -> u64 {
        if self.compiler {
            self.load = Load {
                cpu: 1.0,
                waited: 0.0,
            };
            return self.process.ended;
        }
        let mut until = self.process.ended;
        (self.item, self.cause) = self.work;
        if self.cause == Cause::OwnCpu
            && let Some((cause, name, ends)) = starting(self.process, now)
        {
            (self.item, self.cause) = (catalogue.named(name), cause);
            until = until.min(ends);
        }
        self.load = Load::default();
        for thread in &mut self.threads {
            let interval = thread.at(now);
            until = until.min(interval.end);
            if let Some(load) = interval.load
                && load.busy() > self.load.busy()
            {
                self.load = load;
            }
        }
        until
    }

    /// Its sampled stacks in an interval, as time and node.
    pub(super) fn samples(&mut self, begin: u64, end: u64) -> impl Iterator<Item = (u64, u32)> {
        let threads = self.stacks.iter_mut();
        threads.flat_map(move |thread| thread.take(begin, end).iter().copied())
    }

    /// The part of an interval in which it was running.
    pub(super) fn within(&self, begin: u64, end: u64) -> (u64, u64) {
        (
            self.process.made.max(begin),
            self.process.ended.clamp(begin, end),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::trace::Import;
    use super::*;

    fn program(path: &str) -> Process {
        Process {
            program: path.to_owned(),
            ..Process::default()
        }
    }

    #[test]
    fn the_start_of_a_program_is_not_the_program() {
        let process = |program: &str, verb: &str| Process {
            program: program.to_owned(),
            arguments: vec!["preheat".into(), verb.into()],
            ..Process::default()
        };
        assert!(is_preheat_start(&process("/usr/bin/preheat", "start")));
        assert!(!is_preheat_start(&process("/usr/bin/preheat", "lab")));
        assert!(!is_preheat_start(&process("/usr/bin/python3", "start")));
    }

    #[test]
    fn compilers_are_known_by_their_names() {
        for path in [
            "/usr/local/cuda/bin/ptxas",
            "/usr/bin/x86_64-linux-gnu-gcc-12",
            "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
            "/usr/bin/clang-14",
            "/usr/bin/x86_64-linux-gnu-ld.bfd",
            "/usr/bin/x86_64-linux-gnu-as",
        ] {
            assert!(is_compiler(&program(path)), "{path}");
        }
        for path in ["/usr/bin/python3.11", "/bin/bash", "", "/usr/bin/basic"] {
            assert!(!is_compiler(&program(path)), "{path}");
        }
        let worker = Process {
            arguments: vec![
                "python3".into(),
                "/x/torch/_inductor/compile_worker/__main__.py".into(),
            ],
            ..Process::default()
        };
        assert!(is_compile_worker(&worker));
        assert_eq!(name(&worker), "python3");
        assert_eq!(described(&worker), "a compile worker");
        let check = Process {
            program: "/usr/bin/python3.11".to_owned(),
            arguments: vec!["python3".into(), "-c".into(), "import torch".into()],
            imports: vec![Import {
                name: "torch".to_owned(),
                ..Import::default()
            }],
            ..Process::default()
        };
        assert_eq!(described(&check), "python3.11 -c, imports torch");
        let without_records = Process {
            imports: Vec::new(),
            files: vec!["/v/torch/__pycache__/__init__.cpython-311.pyc".to_owned()],
            ..check
        };
        assert_eq!(described(&without_records), "python3.11 -c, imports torch");
        assert_eq!(described(&program("/usr/bin/g++")), "g++");
    }
}
