//! Display names of the threads and processes on a path.

use super::super::trace::{Process, Thread};
use super::children;

/// The display name of a thread.
pub(in crate::run) fn thread_name(pid: u32, thread: &Thread) -> String {
    match thread.name.as_str() {
        _ if thread.id == pid => "main thread".to_owned(),
        "" => format!("thread {}", thread.id),
        name => name.to_owned(),
    }
}

/// Display names for a path.
#[derive(Clone, Copy)]
pub(super) struct Names {
    /// True if the path has several processes, so that names need a process id.
    several: bool,
    /// The begin of the last program on the path. Earlier programs in the same process are
    /// wrappers that replaced themselves by `exec`: `env`, or a pyenv shim script.
    program_began: u64,
}

impl Names {
    /// The names for a path through these processes.
    pub(super) fn of<'a>(on_path: impl Iterator<Item = &'a Process> + Clone) -> Names {
        let mut pids = on_path.clone().map(|process| process.pid);
        let first = pids.next();
        Names {
            several: pids.any(|pid| Some(pid) != first),
            program_began: on_path.map(|process| process.began).max().unwrap_or(0),
        }
    }

    /// The name of a followed thread.
    pub(super) fn followed(self, process: &Process, thread: &Thread) -> String {
        let main = is_main(process, thread);
        let is_wrapper = process.began < self.program_began;
        match (self.several, main) {
            (false, true) if is_wrapper => children::name(process).to_owned(),
            (true, true) => process_name(process),
            (true, false) => format!("{} of {}", a_thread(thread), process_name(process)),
            (false, true) => "main thread".to_owned(),
            (false, false) => thread_name(process.pid, thread),
        }
    }

    /// The name of a thread that worked while the followed thread waited. The main thread
    /// needs no explanation: it existed before the followed thread.
    pub(super) fn beside(self, process: &Process, thread: &Thread, followed: &Thread) -> String {
        if is_main(process, thread) {
            return self.followed(process, thread);
        }
        let waited = match is_main(process, followed) {
            true => "the main thread".to_owned(),
            false => a_thread(followed),
        };
        let of = if self.several {
            format!(" of {}", process_name(process))
        } else {
            String::new()
        };
        format!("{}, while {waited}{of} waited", a_thread(thread))
    }
}

/// Returns true for the first thread of a process, and for an unknown thread.
fn is_main(process: &Process, thread: &Thread) -> bool {
    thread.id == process.pid || thread.id == 0
}

fn a_thread(thread: &Thread) -> String {
    match thread.name.as_str() {
        "" => format!("thread {}", thread.id),
        name => format!("thread {name}"),
    }
}

/// `python3 (4711)`.
fn process_name(process: &Process) -> String {
    match children::name(process) {
        "" => format!("process {}", process.pid),
        name => format!("{name} ({})", process.pid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_distinct_names() {
        let process = Process {
            pid: 7,
            program: "/usr/bin/python3".to_owned(),
            ..Process::default()
        };
        let thread = |id, name: &str| Thread {
            id,
            name: name.to_owned(),
            ..Thread::default()
        };
        let (main, server, other) = (thread(7, "python3"), thread(8, "server"), thread(9, ""));
        let alone = Names::of([&process].into_iter());
        let parent = Process::default();
        let among = Names::of([&parent, &process].into_iter());
        assert_eq!(alone.followed(&process, &main), "main thread");
        assert_eq!(alone.followed(&process, &server), "server");
        assert_eq!(among.followed(&process, &main), "python3 (7)");
        assert_eq!(
            among.followed(&process, &server),
            "thread server of python3 (7)"
        );
        assert_eq!(
            alone.beside(&process, &server, &main),
            "thread server, while the main thread waited"
        );
        assert_eq!(
            alone.beside(&process, &other, &server),
            "thread 9, while thread server waited"
        );
        assert_eq!(alone.beside(&process, &main, &server), "main thread");
        assert_eq!(
            among.beside(&process, &other, &main),
            "thread 9, while the main thread of python3 (7) waited"
        );
    }
    #[test]
    fn a_wrapper_that_execs_the_program_is_named() {
        let began = |program: &str, began: u64| Process {
            pid: 7,
            program: program.to_owned(),
            began,
            ..Process::default()
        };
        let (env, python) = (began("/usr/bin/env", 1), began("/usr/bin/python3", 2));
        let main = Thread {
            id: 7,
            ..Thread::default()
        };
        let names = Names::of([&env, &python].into_iter());
        assert_eq!(names.followed(&env, &main), "env");
        assert_eq!(names.followed(&python, &main), "main thread");
    }
}
