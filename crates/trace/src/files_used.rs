//! Lists the files that a start used, so that they can be evicted from the page cache, and the
//! modules that it imported.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use preheat_model::run::trace::{Process, SpanKind, StartTrace};
use preheat_wire::{Event, Kind};

use crate::error::Problems;
use crate::layout;
use crate::recorded_start::{ENDING, open};
use crate::slots::{BLOCK, each_record, text};

/// All files that were opened, imported, mapped or executed, each once, as the program
/// named them. `path` is a process file, the directory of a start, or a whole recording.
///
/// Files that cannot be read are skipped: the list is best effort.
pub fn files(path: &Path) -> Vec<PathBuf> {
    let mut found = Files::default();
    if path.is_dir() {
        found.directory(path);
        for entry in entries(path) {
            if !entry.is_symlink() && entry.is_dir() {
                found.directory(&entry);
            }
        }
    } else {
        found.file(path);
    }
    found.order
}

/// The entries of a directory, sorted by name.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.sort();
    paths
}

#[derive(Default)]
struct Files {
    known: HashSet<PathBuf>,
    order: Vec<PathBuf>,
    buffer: Vec<u8>,
}

impl Files {
    fn directory(&mut self, directory: &Path) {
        for path in entries(directory) {
            let name = path.file_name().unwrap_or_default();
            if name.as_bytes().ends_with(ENDING.as_bytes()) {
                self.file(&path);
            }
        }
    }

    fn file(&mut self, path: &Path) {
        let (Ok(mut source), mut problems) = (open(path), Problems::default()) else {
            return;
        };
        let Ok(layout) = layout::read(&mut source, &mut problems) else {
            return;
        };
        self.buffer.resize(BLOCK, 0);
        let (known, order) = (&mut self.known, &mut self.order);
        for chunk in layout.chunks.iter().filter(|chunk| !chunk.totals) {
            let buffer = &mut self.buffer;
            each_record(
                &mut source,
                chunk,
                buffer,
                &mut problems,
                |record, more, _| {
                    if record.kind != Kind::Event as u8 {
                        return;
                    }
                    let event = Event::from_u16(record.symbol);
                    if !matches!(event, Some(Event::File | Event::Library | Event::Program)) {
                        return;
                    }
                    let path = Path::new(OsStr::from_bytes(text(more, 0)));
                    if !path.as_os_str().is_empty() && !known.contains(path) {
                        known.insert(path.to_owned());
                        order.push(path.to_owned());
                    }
                },
            );
        }
    }
}

// Lists a program's imports, for preloading by the warm parent.

/// The names of the modules that a program imported successfully, in the order in which
/// their imports ended, and the files that it read, including those of the modules.
///
/// They come from the last start that has any imports: from the process that was started,
/// or else from the one with the most imports.
pub fn imports(starts: &[StartTrace]) -> (Vec<String>, Vec<PathBuf>) {
    for start in starts.iter().rev() {
        let own = start.processes.iter().filter(|it| it.pid == start.pid);
        let most = |process: &&Process| process.imports.len();
        let chosen = own.max_by_key(most).filter(|it| !it.imports.is_empty());
        let chosen = chosen.or_else(|| start.processes.iter().max_by_key(most));
        if let Some(process) = chosen.filter(|it| !it.imports.is_empty()) {
            let files = process.files.iter().map(PathBuf::from).collect();
            return (names(process), files);
        }
    }
    (Vec::new(), Vec::new())
}

fn names(process: &Process) -> Vec<String> {
    let spans = process.threads.iter().flat_map(|thread| &thread.spans);
    let mut ended: Vec<(u64, &str)> = spans
        .filter(|span| span.what == SpanKind::Import)
        .filter_map(|span| Some((span.end, process.imports.get(span.detail as usize)?)))
        .filter(|(_, import)| !import.failed)
        .map(|(end, import)| (end, &import.name[..]))
        .collect();
    ended.sort_by_key(|&(end, _)| end);
    ended.into_iter().map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use preheat_model::run::trace::{Import, Span, Thread};

    use super::*;

    fn process(pid: u32, imports: &[(&str, bool, u64)]) -> Process {
        let spans = imports.iter().enumerate().map(|(at, &(_, _, end))| Span {
            begin: 0,
            end,
            detail: at as u32,
            symbol: 0,
            what: SpanKind::Import,
            depth: 0,
        });
        let import = |&(name, failed, _): &(&str, bool, u64)| Import {
            name: name.into(),
            failed,
            ..Import::default()
        };
        Process {
            pid,
            threads: vec![Thread {
                spans: spans.collect(),
                ..Thread::default()
            }],
            imports: imports.iter().map(import).collect(),
            files: vec![format!("/of/{pid}.py")],
            ..Process::default()
        }
    }

    fn of(processes: Vec<Process>) -> (Vec<String>, Vec<PathBuf>) {
        let start = |processes| StartTrace {
            pid: 7,
            processes,
            ..StartTrace::default()
        };
        // The last start recorded nothing.
        imports(&[start(processes), start(Vec::new())])
    }

    #[test]
    fn inner_imports_come_before_outer_ones_and_failures_not_at_all() {
        let own = process(
            7,
            &[
                ("torch", false, 9),
                ("torch.x", false, 5),
                ("gone", true, 6),
            ],
        );
        let worker = process(
            8,
            &[
                ("a", false, 1),
                ("b", false, 2),
                ("c", false, 3),
                ("d", false, 4),
            ],
        );
        let (names, files) = of(vec![own, worker]);
        assert_eq!(names, ["torch.x", "torch"]);
        assert_eq!(files, [PathBuf::from("/of/7.py")]);
    }

    #[test]
    fn a_launcher_stands_for_what_it_has_started() {
        let (names, _) = of(vec![process(7, &[]), process(9, &[("numpy", false, 1)])]);
        assert_eq!(names, ["numpy"]);
        assert_eq!(of(Vec::new()).0, [""; 0]);
    }
}
