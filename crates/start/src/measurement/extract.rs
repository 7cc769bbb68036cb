//! Extracts observations for remedies from a recording.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use preheat_model::run::Recording;
use preheat_model::run::trace::{BytecodeWrite, Process, SpanKind, StartTrace};

use crate::Observations;

/// The observations from the last start of a recording, which had the warmest caches.
pub fn observed(recording: &Recording) -> Observations {
    let start = recording.starts.last();
    let Some((start, program)) = start.and_then(|start| Some((start, program(start)?))) else {
        return Observations::default();
    };
    let is_fork = |other: &&Process| other.pid != program.pid && other.main.is_none();
    Observations {
        modules: modules(program),
        files: files(start),
        // Only the process that was started can have its context created ahead.
        device: device(program).filter(|_| program.pid == start.pid),
        uses_cuda: uses_cuda(program),
        forks_use_device: start.processes.iter().filter(is_fork).any(uses_cuda),
        compiles_bytecode: (program.bytecode.iter())
            .any(|compiled| compiled.write != BytecodeWrite::Writes),
        caches: caches(program),
        ..Observations::default()
    }
}

/// Compile caches by the imported module that uses them. For PyTorch, that is its compiler.
const CACHES_BY_MODULE: [(&str, &[&str]); 6] = [
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

/// Compile caches by a part of the path of a file that was read.
const CACHES_BY_PATH: [(&str, &str); 3] = [
    ("/ComputeCache/", "CUDA_CACHE_PATH"),
    ("/libpocl", "POCL_CACHE_DIR"),
    ("/.triton/cache/", "TRITON_CACHE_DIR"),
];

/// The variables of the compile caches that the process uses.
fn caches(process: &Process) -> Vec<String> {
    let imported: BTreeSet<&str> = (process.imports.iter())
        .filter(|import| !import.failed)
        .map(|import| import.name.as_str())
        .collect();
    let by_import = CACHES_BY_MODULE
        .iter()
        .filter(|(module, _)| imported.contains(module));
    let by_import = by_import.flat_map(|(_, names)| names.iter().copied());
    let read = |part: &str| process.files.iter().any(|file| file.contains(part));
    let by_file = CACHES_BY_PATH.iter().filter(|(part, _)| read(part));
    let names: BTreeSet<&str> = by_import.chain(by_file.map(|(_, name)| *name)).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// The main process of the program: the one with the most spans, among those that used a
/// GPU, or among all.
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
        if matches!(span.what, SpanKind::Call | SpanKind::Heavy) {
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

/// The GPU on which the process created its primary context. A recording does not include
/// the index, so it is known only if one GPU is visible.
fn device(process: &Process) -> Option<u32> {
    let called = called(process);
    // Flags must be set before the context exists, so it cannot be created ahead.
    let made = called.contains("cuDevicePrimaryCtxRetain")
        && !called
            .iter()
            .any(|name| name.starts_with("cuDevicePrimaryCtxSetFlags"));
    let chosen = std::env::var("CUDA_VISIBLE_DEVICES").ok();
    (made && visible(chosen.as_deref(), gpus()) == 1).then_some(0)
}

/// The number of GPUs that are visible to a program.
fn visible(chosen: Option<&str>, all: usize) -> usize {
    match chosen {
        None => all,
        // MIG devices and UUIDs count as one each.
        Some(names) => names
            .split(',')
            .filter(|name| !name.trim().is_empty())
            .count(),
    }
}

/// The number of NVIDIA GPUs in this machine or container.
fn gpus() -> usize {
    let entries = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    let is_gpu = |name: &str| {
        let number = name.strip_prefix("nvidia").unwrap_or("x");
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_gpu))
        .count()
}

/// Modules in the order in which their imports began, with their files, matched by name, without
/// the recorder's.
fn modules(process: &Process) -> Vec<(String, String)> {
    let mut by_name: BTreeMap<String, &str> = BTreeMap::new();
    for file in &process.files {
        for name in names_of(file) {
            by_name.entry(name).or_insert(file);
        }
    }
    let mut listed = BTreeSet::new();
    let mut imports: Vec<(u64, u32)> = (process.threads.iter())
        .flat_map(|thread| &thread.spans)
        .filter(|span| span.what == SpanKind::Import)
        .map(|span| (span.begin, span.detail))
        .collect();
    imports.sort_unstable();
    imports
        .into_iter()
        .filter_map(|(_, at)| process.imports.get(at as usize))
        .filter(|import| !import.failed && listed.insert(&import.name))
        .map(|import| {
            let file = by_name.get(&import.name).copied().unwrap_or_default();
            (import.name.clone(), file.to_owned())
        })
        .filter(|(_, file)| !preheat_launch::is_recorders(Path::new(file)))
        .collect()
}

/// The possible module names of a file: for
/// `/usr/lib/python3/dist-packages/numpy/core/__init__.py`, `core`, `numpy.core` and so on.
fn names_of(file: &str) -> Vec<String> {
    let Some((directory, name)) = file.rsplit_once('/') else {
        return Vec::new();
    };
    let Some((stem, ending)) = name.split_once('.') else {
        return Vec::new();
    };
    if ending != "py" && !ending.ends_with("so") {
        return Vec::new();
    }
    let mut parts: Vec<&str> = directory
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    if stem != "__init__" {
        parts.push(stem);
    }
    let depth = parts.len().min(8);
    (1..=depth)
        .map(|count| parts[parts.len() - count..].join("."))
        .collect()
}

/// The files that any process of a start read, in the order of their first use.
fn files(start: &StartTrace) -> Vec<PathBuf> {
    let mut listed = BTreeSet::new();
    let all = start.processes.iter().flat_map(|process| &process.files);
    all.filter(|file| file.starts_with('/') && listed.insert(*file))
        .map(PathBuf::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use preheat_host::Scratch;
    use preheat_model::run::trace::{Import, Span, Thread};

    use super::*;

    #[test]
    fn visible_devices_are_counted() {
        assert_eq!(visible(None, 8), 8);
        assert_eq!(visible(Some("3"), 8), 1);
        assert_eq!(visible(Some("0,GPU-7e,"), 8), 2);
        assert_eq!(visible(Some(""), 8), 0);
    }

    #[test]
    fn the_recorders_module_does_not_belong_to_the_program() {
        let scratch = Scratch::new("own").expect("a directory for the test");
        let recorder = scratch.path();
        std::fs::write(recorder.join("libpreheat.so"), "").expect("it is written");
        let files = [
            format!("{}/python/sitecustomize.py", recorder.display()),
            "/lib/a.py".to_owned(),
        ];
        let mut process = Process {
            files: files.to_vec(),
            ..Process::default()
        };
        let mut thread = Thread::default();
        for (at, name) in ["sitecustomize", "a"].into_iter().enumerate() {
            process.imports.push(Import {
                name: name.to_owned(),
                ..Import::default()
            });
            thread.spans.push(Span {
                begin: at as u64,
                end: 9,
                what: SpanKind::Import,
                detail: at as u32,
                symbol: 0,
                depth: 0,
            });
        }
        process.threads.push(thread);
        assert_eq!(modules(&process), [("a".to_owned(), files[1].clone())]);
    }

    #[test]
    fn a_file_has_all_possible_module_names() {
        let names = names_of("/usr/lib/python3/dist-packages/numpy/core/__init__.py");
        assert!(names.contains(&"numpy.core".to_owned()), "{names:?}");
        let names = names_of("/lib/_C.cpython-311-x86_64-linux-gnu.so");
        assert_eq!(names, ["_C", "lib._C"]);
        assert!(names_of("/etc/passwd").is_empty());
        assert!(names_of("/lib/libc.txt").is_empty());
    }
}
