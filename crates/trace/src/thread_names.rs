//! Names the threads that have no name after the function that they were sampled in most:
//! OpenMP workers, threads of older Pythons, the main thread of Java.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use preheat_model::run::trace::Process;
use preheat_model::run::{StackFrame, Stacks};

/// Python modules that start threads; the function that they call is of interest.
const THREAD_STARTERS: [&str; 2] = ["/threading.py", "/concurrent/futures/thread.py"];

/// Names the unnamed threads, other than main threads.
pub(crate) fn name_by_function(processes: &mut [Process], stacks: &Stacks) {
    let mut counts: HashMap<(u32, u32), BTreeMap<String, usize>> = HashMap::new();
    for sample in &stacks.samples {
        let outermost = (stacks.frames_of(sample.node))
            .filter(|frame| !is_starter(frame))
            .last();
        if let Some(name) = outermost.and_then(name_of) {
            let functions = counts.entry((sample.process, sample.thread)).or_default();
            *functions.entry(name).or_default() += 1;
        }
    }
    for process in processes {
        let pid = process.pid;
        let unnamed = (process.threads.iter_mut())
            .filter(|thread| thread.name.is_empty() && thread.id != pid);
        for thread in unnamed {
            let functions = counts.get(&(pid, thread.id));
            let most = functions.and_then(|found| found.iter().max_by_key(|(_, count)| **count));
            if let Some((name, _)) = most {
                thread.name.clone_from(name);
            }
        }
    }
}

fn is_starter(frame: &StackFrame) -> bool {
    let mut starters = THREAD_STARTERS.iter();
    starters.any(|starter| frame.file.ends_with(starter))
}

/// `work (train.py)` for Python, `main._omp_fn.0 (program)` or `libgomp.so.1` for native code.
fn name_of(frame: &StackFrame) -> Option<String> {
    let of = match frame.library.as_str() {
        "[kernel]" => return None,
        "" => frame.file.as_str(),
        library => library,
    };
    let of = Path::new(of).file_name().and_then(|name| name.to_str());
    match (frame.function.as_str(), of) {
        ("", None) => None,
        ("", Some(of)) => Some(of.to_owned()),
        (function, None) => Some(function.to_owned()),
        (function, Some(of)) => Some(format!("{function} ({of})")),
    }
}

#[cfg(test)]
mod tests {
    use preheat_model::run::StackSample;
    use preheat_model::run::trace::Thread;

    use super::*;

    fn frame(function: &str, file: &str, library: &str) -> StackFrame {
        StackFrame {
            function: function.to_owned(),
            file: file.to_owned(),
            line: 1,
            library: library.to_owned(),
        }
    }

    #[test]
    fn unnamed_threads_have_the_name_of_their_function() {
        let stacks = Stacks {
            frames: vec![
                frame("Thread.run", "/lib/python3.11/threading.py", ""),
                frame("work", "/home/train.py", ""),
                frame("sha256", "", "/lib/libcrypto.so.3"),
                frame("", "", "/lib/libgomp.so.1"),
                frame("", "", "[kernel]"),
            ],
            nodes: vec![(None, 0), (Some(0), 1), (Some(1), 2), (None, 3), (None, 4)],
            samples: [
                (8, 2),
                (8, 2),
                (8, 3),
                (9, 3),
                (9, 4),
                (9, 4),
                (10, 4),
                (11, 2),
            ]
            .map(|(thread, node)| StackSample::from((0, 7, thread, node)))
            .to_vec(),
            ..Stacks::default()
        };
        let thread = |id: u32, name: &str| Thread {
            id,
            name: name.to_owned(),
            ..Thread::default()
        };
        let mut processes = [Process {
            pid: 7,
            threads: vec![
                thread(7, ""),
                thread(8, ""),
                thread(9, ""),
                thread(10, ""),
                thread(11, "server"),
            ],
            ..Process::default()
        }];
        name_by_function(&mut processes, &stacks);
        let names: Vec<&str> = (processes[0].threads.iter())
            .map(|thread| thread.name.as_str())
            .collect();
        assert_eq!(names, ["", "work (train.py)", "libgomp.so.1", "", "server"]);
    }
}
