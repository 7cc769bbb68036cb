//! Determines which process and thread the path follows at each time.
//!
//! A launcher or a shell may start the process that iterates. Until that process is
//! created, the path follows its ancestors.

use super::super::Cause;
use super::super::trace::{Process, StartTrace};

/// The kernel and the dynamic loader, before a program's own code.
pub(in crate::run) const LOADER: &str = "kernel and dynamic loader";
/// Initialization of libraries before `main`.
pub(in crate::run) const CONSTRUCTORS: &str = "constructors of linked libraries";
/// Python, before user code.
pub(in crate::run) const PYTHON: &str = "Python's own start";

/// The time before a child of an already running process.
pub(in crate::run) const FORKED: &str = "waiting for the warm parent";

/// An interval in which the path follows a thread of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Phase {
    pub process: usize,
    pub thread: usize,
    pub from: u64,
    pub to: u64,
}

/// The phases from `exec` to `until`, for iterations in a thread of a process.
pub(super) fn phases(trace: &StartTrace, process: usize, thread: usize, until: u64) -> Vec<Phase> {
    let all = &trace.processes;
    let mut phases = Vec::new();
    let (mut current, mut current_thread, mut to) = (process, thread, until);
    // If a process ends before `until`, the rest follows the command itself.
    let ended = all[process].ended;
    let after = after(trace, process, ended, until);
    if !after.is_empty() {
        to = ended.min(until);
    }
    phases.extend(after.into_iter().rev());
    loop {
        let before = before(trace, current);
        let from = before.map_or(0, |(_, from)| from.min(to));
        phases.push(Phase {
            process: current,
            thread: current_thread,
            from,
            to,
        });
        let Some((earlier, _)) = before else {
            break;
        };
        (current, current_thread, to) = (earlier, main_thread(&all[earlier]), from);
    }
    phases.retain(|phase| phase.from < phase.to);
    phases.reverse();
    phases
}

/// The phases after the end of a process: the programs that ran one after the other in the
/// process of the command, which may be the one that ended.
fn after(trace: &StartTrace, process: usize, ended: u64, until: u64) -> Vec<Phase> {
    let all = &trace.processes;
    let mut programs: Vec<usize> = (0..all.len())
        .filter(|index| all[*index].pid == trace.pid)
        .collect();
    programs.sort_by_key(|index| all[*index].began);
    // The last program of the command is followed to the end anyway.
    if programs.last() == Some(&process) {
        return Vec::new();
    }
    let mut phases = Vec::new();
    let mut from = 0;
    for (place, index) in programs.iter().enumerate() {
        let to = match programs.get(place + 1) {
            Some(next) => handed_over(&all[*index], &all[*next]),
            None => until,
        };
        let phase = Phase {
            process: *index,
            thread: main_thread(&all[*index]),
            from: from.max(ended),
            to: to.min(until),
        };
        from = from.max(to);
        if phase.from < phase.to {
            phases.push(phase);
        }
    }
    phases
}

/// The time at which a program was replaced by another in the same process.
fn handed_over(program: &Process, next: &Process) -> u64 {
    program
        .ended
        .clamp(program.began, next.began.max(program.began))
}

/// The first program of the command.
pub(in crate::run) fn root(trace: &StartTrace) -> Option<usize> {
    let processes = trace.processes.iter();
    processes
        .enumerate()
        .filter(|(_, process)| process.pid == trace.pid)
        .min_by_key(|(_, process)| process.began)
        .map(|(index, _)| index)
}

/// The first thread of a process.
pub(in crate::run) fn main_thread(process: &Process) -> usize {
    let main = |thread: &super::super::trace::Thread| thread.id == process.pid;
    process.threads.iter().position(main).unwrap_or(0)
}

/// The predecessor of a process, and when it handed over.
fn before(trace: &StartTrace, index: usize) -> Option<(usize, u64)> {
    let process = &trace.processes[index];
    let earlier = |pid: u32, when: u64| {
        let all = trace.processes.iter().enumerate();
        all.filter(|(at, other)| *at != index && other.pid == pid && other.began < when)
            .max_by_key(|(_, other)| other.began)
    };
    if let Some((at, same)) = earlier(process.pid, process.began) {
        return Some((at, handed_over(same, process)));
    }
    if process.pid == trace.pid {
        return None;
    }
    let (at, parent) = earlier(process.parent, process.made)
        .or_else(|| earlier(process.parent, process.began))
        .or_else(|| earlier(trace.pid, process.began))?;
    Some((at, process.made.clamp(parent.began, process.began)))
}

/// Returns true if it was created before the command was started, and then became its
/// program.
fn was_there(process: &Process) -> bool {
    process.made == 0 && process.main.is_none() && process.python_began.is_some()
}

/// The work of a process before its own code runs, where it has no spans: the cause, the
/// item, and its end. None afterwards.
pub(super) fn starting(process: &Process, time: u64) -> Option<(Cause, &'static str, u64)> {
    // A forked child that continues has no start phase.
    let loaded = process.main.is_some() || process.python_began.is_some() || process.made == 0;
    if time < process.began && was_there(process) {
        return Some((Cause::ProcessStart, FORKED, process.began));
    }
    if time < process.began && loaded {
        return Some((Cause::ProcessStart, LOADER, process.began));
    }
    if let Some(main) = process.main.filter(|main| time < *main) {
        return Some((Cause::LibraryLoading, CONSTRUCTORS, main));
    }
    let ready = process.python_ready.filter(|ready| time < *ready)?;
    Some((Cause::ProcessStart, PYTHON, ready))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, made: u64, began: u64, ended: u64) -> Process {
        Process {
            pid,
            parent,
            made,
            began,
            ended,
            ..Process::default()
        }
    }

    fn trace(processes: Vec<Process>) -> StartTrace {
        StartTrace {
            end: 1000,
            pid: 1,
            processes,
            ..StartTrace::default()
        }
    }

    fn found(trace: &StartTrace, process: usize, until: u64) -> Vec<(usize, u64, u64)> {
        let phases = phases(trace, process, 0, until);
        phases.iter().map(|p| (p.process, p.from, p.to)).collect()
    }

    #[test]
    fn a_process_alone_is_followed_throughout() {
        let trace = trace(vec![process(1, 0, 0, 5, 1000)]);
        assert_eq!(found(&trace, 0, 1000), [(0, 0, 1000)]);
    }

    #[test]
    fn a_child_is_followed_once_it_is_made_and_until_it_ends() {
        let trace = trace(vec![
            process(1, 0, 0, 5, 1000),
            process(2, 1, 100, 120, 800),
        ]);
        assert_eq!(found(&trace, 1, 500), [(0, 0, 100), (1, 100, 500)]);
        assert_eq!(
            found(&trace, 1, 1000),
            [(0, 0, 100), (1, 100, 800), (0, 800, 1000)]
        );
    }

    #[test]
    fn a_program_that_replaces_another_follows_it() {
        let trace = trace(vec![
            process(1, 0, 0, 5, 50),
            process(1, 0, 0, 60, 1000),
            process(3, 1, 200, 210, 900),
        ]);
        assert_eq!(
            found(&trace, 2, 500),
            [(0, 0, 50), (1, 50, 200), (2, 200, 500)]
        );
    }

    #[test]
    fn the_running_program_is_followed_afterwards() {
        // A shell that is replaced by its last command, after the followed process.
        let shell = trace(vec![
            process(1, 0, 0, 5, 310),
            process(2, 1, 100, 120, 300),
            process(1, 0, 0, 320, 1000),
        ]);
        assert_eq!(
            found(&shell, 1, 1000),
            [(0, 0, 100), (1, 100, 300), (0, 300, 310), (2, 310, 1000)]
        );
        // A program that is replaced at its end.
        let replaced = trace(vec![process(1, 0, 0, 5, 300), process(1, 0, 0, 310, 1000)]);
        assert_eq!(found(&replaced, 0, 1000), [(0, 0, 300), (1, 300, 1000)]);
        assert_eq!(found(&replaced, 0, 200), [(0, 0, 200)]);
    }

    #[test]
    fn a_process_without_known_parent_follows_the_command() {
        let trace = trace(vec![process(1, 0, 0, 5, 99), process(9, 8, 40, 45, 1000)]);
        assert_eq!(found(&trace, 1, 500), [(0, 0, 40), (1, 40, 500)]);
    }

    #[test]
    fn a_start_has_three_parts() {
        let python = Process {
            main: Some(20),
            python_ready: Some(50),
            ..process(1, 0, 0, 5, 99)
        };
        assert_eq!(starting(&python, 0), Some((Cause::ProcessStart, LOADER, 5)));
        let constructors = (Cause::LibraryLoading, CONSTRUCTORS, 20);
        assert_eq!(starting(&python, 5), Some(constructors));
        let own = (Cause::ProcessStart, PYTHON, 50);
        assert_eq!(starting(&python, 20), Some(own));
        assert_eq!(starting(&python, 50), None);
        let forked = process(2, 1, 40, 45, 99);
        assert_eq!(starting(&forked, 41), None);
    }
}
