//! Display names of the threads and processes on a path.

use super::super::Origin;
use super::super::items::demangle as readable;
use super::super::trace::{Process, Thread};
use super::children;
use super::tally::Label;

/// The display name of a thread.
pub(in crate::run) fn thread_name(pid: u32, thread: &Thread) -> String {
    match thread.name.as_str() {
        _ if thread.id == pid => "main thread".to_owned(),
        "" => format!("thread {}", thread.id),
        name => readable::thread(name),
    }
}

/// Display names for a path.
#[derive(Clone, Copy)]
pub(super) struct Names {
    /// True if the path has several processes, so that names need a process id.
    several: bool,
    /// The beginning of the last program on the path. Earlier programs in the same process are
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
    pub(super) fn followed(self, process: &Process, thread: &Thread) -> Label {
        let main = is_main(process, thread);
        let is_wrapper = process.began < self.program_began;
        match (self.several, main) {
            (false, true) if is_wrapper => children::called(process).into(),
            (true, true) => numbered(process, str::to_owned),
            (true, false) => numbered(process, |process| {
                format!("{} of {process}", a_thread(thread))
            }),
            (false, true) => Label {
                name: "main thread".to_owned(),
                origin: Some(Origin::MainThread),
            },
            (false, false) => thread_name(process.pid, thread).as_str().into(),
        }
    }

    /// The name of a thread that worked while the followed thread waited. The main thread
    /// needs no explanation: it existed before the followed thread.
    pub(super) fn beside(self, process: &Process, thread: &Thread, followed: &Thread) -> Label {
        if is_main(process, thread) {
            return self.followed(process, thread);
        }
        let waited = match is_main(process, followed) {
            true => "the main thread".to_owned(),
            false => a_thread(followed),
        };
        let thread = a_thread(thread);
        match self.several {
            true => numbered(process, |process| {
                format!("{thread}, while {waited} of {process} waited")
            }),
            false => (format!("{thread}, while {waited} waited").as_str()).into(),
        }
    }
}

/// Returns true for the first thread of a process, and for an unknown thread.
fn is_main(process: &Process, thread: &Thread) -> bool {
    thread.id == process.pid || thread.id == 0
}

fn a_thread(thread: &Thread) -> String {
    match thread.name.as_str() {
        "" => format!("thread {}", thread.id),
        name => format!("thread {}", readable::thread(name)),
    }
}

/// A name that contains the name of a process, `python3 (4711)`, which differs between
/// starts.
fn numbered(process: &Process, name: impl Fn(&str) -> String) -> Label {
    let (with_id, without) = match children::called(process) {
        "" => (format!("process {}", process.pid), "process"),
        program => (format!("{program} ({})", process.pid), program),
    };
    Label {
        name: name(&with_id),
        origin: Some(Origin::Process {
            name: name(without),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_the_name_by_which_it_was_started() {
        let called = |program: &str, argument: &str| {
            let process = Process {
                pid: 7,
                program: program.to_owned(),
                arguments: vec![argument.to_owned()],
                ..Process::default()
            };
            numbered(&process, str::to_owned).name
        };
        let redis = called("/usr/bin/redis-check-rdb", "redis-server");
        assert_eq!(redis, "redis-server (7)");
        assert_eq!(
            called("/usr/bin/python3.11", "/venv/bin/python"),
            "python3.11 (7)"
        );
        assert_eq!(called("/usr/bin/bash", "-bash"), "bash (7)");
        assert_eq!(called("/usr/bin/dash", "sh"), "dash (7)");
        assert_eq!(called("", "sh"), "sh (7)");
    }

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
        assert_eq!(alone.followed(&process, &main).name, "main thread");
        assert_eq!(alone.followed(&process, &server).name, "server");
        assert_eq!(among.followed(&process, &main).name, "python3 (7)");
        assert_eq!(
            among.followed(&process, &server).name,
            "thread server of python3 (7)"
        );
        assert_eq!(
            alone.beside(&process, &server, &main).name,
            "thread server, while the main thread waited"
        );
        assert_eq!(
            alone.beside(&process, &other, &server).name,
            "thread 9, while thread server waited"
        );
        assert_eq!(alone.beside(&process, &main, &server).name, "main thread");
        assert_eq!(
            among.beside(&process, &other, &main).name,
            "thread 9, while the main thread of python3 (7) waited"
        );
    }

    #[test]
    fn names_with_a_process_id_are_comparable_without_it() {
        let process = Process {
            pid: 7,
            program: "/usr/bin/python3".to_owned(),
            ..Process::default()
        };
        let thread = Thread {
            id: 9,
            ..Thread::default()
        };
        let main = Thread {
            id: 7,
            ..Thread::default()
        };
        let names = Names::of([&Process::default(), &process].into_iter());
        let name = "thread 9, while the main thread of python3 waited".to_owned();
        assert_eq!(
            names.beside(&process, &thread, &main).origin,
            Some(Origin::Process { name })
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
        assert_eq!(names.followed(&env, &main).name, "env");
        assert_eq!(names.followed(&python, &main).name, "main thread");
    }
}
