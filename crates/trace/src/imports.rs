//! Lists a program's imports, for preloading by the warm parent.

use std::path::PathBuf;

use preheat_model::run::trace::{Process, StartTrace, What};

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
        .filter(|span| span.what == What::Import)
        .filter_map(|span| Some((span.end, process.imports.get(span.detail as usize)?)))
        .filter(|(_, import)| !import.failed)
        .map(|(end, import)| (end, &import.name[..]))
        .collect();
    ended.sort_by_key(|&(end, _)| end);
    ended.into_iter().map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use preheat_model::run::trace::{Import, Span, Thread};

    fn process(pid: u32, imports: &[(&str, bool, u64)]) -> Process {
        let spans = imports.iter().enumerate().map(|(at, &(_, _, end))| Span {
            begin: 0,
            end,
            detail: at as u32,
            symbol: 0,
            what: What::Import,
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
