//! What a recording shows of a program that remedies want to know.

use std::collections::BTreeSet;
use std::path::PathBuf;

use preheat_analyze::run::Recording;
use preheat_analyze::run::trace::{Process, StartTrace, What};
use preheat_start::Seen;

/// Of the last start of a recording, which found most in its place.
pub fn seen(recording: &Recording) -> Seen {
    let start = recording.starts.last();
    let Some((start, program)) = start.and_then(|start| Some((start, program(start)?))) else {
        return Seen::default();
    };
    let is_fork = |other: &&Process| other.pid != program.pid && other.main.is_none();
    Seen {
        files: files(start),
        device: device(program),
        uses_cuda: uses_cuda(program),
        forks_use_device: start.processes.iter().filter(is_fork).any(uses_cuda),
        caches: caches(program),
    }
}

/// Caches for compiled code, by what a program imports or loads that uses them. Which of
/// PyTorch's are used is known by its compiler, not by PyTorch itself.
const USERS: [(&str, &[&str]); 6] = [
    (
        "torch._inductor.codecache",
        &["TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"],
    ),
    ("triton.compiler", &["TRITON_CACHE_DIR"]),
    ("jax", &["JAX_COMPILATION_CACHE_DIR"]),
    ("cupy", &["CUPY_CACHE_DIR", "CUDA_CACHE_PATH"]),
    ("numba", &["NUMBA_CACHE_DIR"]),
    ("pyopencl", &["POCL_CACHE_DIR"]),
];

/// The same by a part of the path of a file that was read.
const PLACES: [(&str, &str); 3] = [
    ("/ComputeCache/", "CUDA_CACHE_PATH"),
    ("/libpocl", "POCL_CACHE_DIR"),
    ("/.triton/cache/", "TRITON_CACHE_DIR"),
];

/// The variables of the caches that it would read or write.
fn caches(process: &Process) -> Vec<String> {
    let imported: BTreeSet<&str> = (process.imports.iter())
        .filter(|import| !import.failed)
        .map(|import| import.name.as_str())
        .collect();
    let by_import = USERS.iter().filter(|(module, _)| imported.contains(module));
    let by_import = by_import.flat_map(|(_, names)| names.iter().copied());
    let read = |part: &str| process.files.iter().any(|file| file.contains(part));
    let by_file = PLACES.iter().filter(|(part, _)| read(part));
    let names: BTreeSet<&str> = by_import.chain(by_file.map(|(_, name)| *name)).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// The process that does the program's work: of those that used a GPU, or else of all, the
/// one that did most.
fn program(start: &StartTrace) -> Option<&Process> {
    let work = |process: &&Process| -> (bool, usize) {
        let spans = process.threads.iter().map(|thread| thread.spans.len());
        (uses_cuda(process), spans.sum())
    };
    start.processes.iter().max_by_key(work)
}

/// Names of the functions that were called.
fn called(process: &Process) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for span in process.threads.iter().flat_map(|thread| &thread.spans) {
        if matches!(span.what, What::Call | What::Heavy) {
            found.insert(process.symbol(span));
        }
    }
    found
}

fn uses_cuda(process: &Process) -> bool {
    called(process)
        .iter()
        .any(|name| name.starts_with("cuInit"))
}

/// The GPU that it made a context on, if it was one.
fn device(process: &Process) -> Option<u32> {
    // TODO
    uses_cuda(process).then_some(0)
}

/// Everything that any of its processes read, in the order in which it was first seen.
fn files(start: &StartTrace) -> Vec<PathBuf> {
    let mut told = BTreeSet::new();
    let all = start.processes.iter().flat_map(|process| &process.files);
    all.filter(|file| file.starts_with('/') && told.insert(*file))
        .map(PathBuf::from)
        .collect()
}
