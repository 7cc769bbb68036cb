//! Processes that a program waits for: compilers, workers.

use super::super::Cause;
use super::super::trace::{Process, StartTrace};
use super::catalogue::{Catalogue, ItemId};
use super::samples::Samples;

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

/// A process must be this busy to be what a program waits for.
pub(super) const BUSY: f64 = 0.3;

/// The file name of a process's program, without Debian's and LLVM's decorations.
pub(in crate::run) fn name(process: &Process) -> &str {
    let path = match process.program.as_str() {
        "" => process.arguments.first().map_or("", String::as_str),
        path => path,
    };
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a process compiles kernels for as long as it lives.
pub(in crate::run) fn is_compiler(process: &Process) -> bool {
    let name = name(process);
    // x86_64-linux-gnu-gcc-12 is gcc, clang-14 is clang.
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let plain = plain
        .rsplit_once("linux-gnu-")
        .map_or(plain, |(_, plain)| plain);
    name.starts_with("triton-") || COMPILERS.contains(&name) || COMPILERS.contains(&plain)
}

/// Whether a process waits for kernels to compile, and compiles while it is busy.
pub(in crate::run) fn is_compile_worker(process: &Process) -> bool {
    let mut arguments = process.arguments.iter();
    arguments.any(|a| a.contains("torch/_inductor/compile_worker"))
}

/// Goes along the processes beside the ones on the path. Times must not go back.
pub(super) struct Children<'a> {
    /// Those to come, the next one last.
    coming: Vec<&'a Process>,
    here: Vec<Child<'a>>,
}

struct Child<'a> {
    process: &'a Process,
    item: ItemId,
    compiler: bool,
    cause: Cause,
    threads: Vec<Samples<'a>>,
}

/// What a child did from here to there.
pub(super) struct Work {
    pub begin: u64,
    pub end: u64,
    pub cause: Cause,
    pub item: ItemId,
}

impl<'a> Children<'a> {
    /// All processes but those at `apart`.
    pub(super) fn new(trace: &'a StartTrace, apart: &[usize]) -> Children<'a> {
        let all = trace.processes.iter().enumerate();
        let mut coming: Vec<&Process> = all
            .filter(|(index, _)| !apart.contains(index))
            .map(|(_, process)| process)
            .collect();
        coming.sort_by_key(|process| std::cmp::Reverse(process.made));
        Children {
            coming,
            here: Vec::new(),
        }
    }

    /// What they did within this stretch, compilers first.
    pub(super) fn work(&mut self, begin: u64, end: u64, catalogue: &mut Catalogue) -> Vec<Work> {
        self.here.retain(|child| child.process.ended > begin);
        while let Some(process) = self.coming.pop_if(|process| process.made < end) {
            if process.ended > begin {
                self.here.push(Child::new(process, catalogue));
            }
        }
        let mut work = Vec::new();
        for child in &mut self.here {
            let busiest = child.threads.iter_mut().filter_map(|t| t.at(begin).busy);
            if child.compiler || busiest.fold(0.0, f64::max) >= BUSY {
                work.push(Work {
                    begin: child.process.made.max(begin),
                    end: child.process.ended.min(end),
                    cause: child.cause,
                    item: child.item,
                });
            }
        }
        work.sort_by_key(|work| work.cause != Cause::KernelCompilation);
        work
    }
}

impl<'a> Child<'a> {
    fn new(process: &'a Process, catalogue: &mut Catalogue) -> Child<'a> {
        let compiler = is_compiler(process);
        let worker = is_compile_worker(process);
        let name = match name(process) {
            "" => "another process",
            _ if worker => "a compile worker of TorchInductor",
            name => name,
        };
        Child {
            process,
            item: catalogue.named(name),
            compiler,
            cause: if compiler || worker {
                Cause::KernelCompilation
            } else {
                Cause::OwnCpu
            },
            threads: (process.threads.iter())
                .map(|thread| Samples::new(process, thread))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(path: &str) -> Process {
        Process {
            program: path.to_owned(),
            ..Process::default()
        }
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
    }
}
