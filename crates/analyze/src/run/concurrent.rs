//! Other threads that iterate besides the reported one, and concurrent iterations.

use std::path::Path;

use super::ThreadReport;
use super::iterations::{Detected, Other};
use super::trace::StartTrace;
use crate::units;

/// The number of threads that a note lists.
const MAX_LISTED: usize = 4;

/// All other threads that iterate.
pub(super) fn list(trace: &StartTrace, found: &Detected) -> Vec<ThreadReport> {
    let others = found.others.iter().map(|other| {
        let process = trace.processes.get(other.process);
        ThreadReport {
            process: process.map_or(0, |process| process.pid),
            name: name(trace, found, other),
            iterations: other.count,
            time_to_first: other.first as f64 * 1e-9,
        }
    });
    others.collect()
}

/// The name of the program, or of the thread if several threads of the process iterate.
fn name(trace: &StartTrace, found: &Detected, other: &Other) -> String {
    let Some(process) = trace.processes.get(other.process) else {
        return String::new();
    };
    let siblings = found.others.iter();
    let siblings = siblings.filter(|sibling| sibling.process == other.process);
    let alone = found.process != other.process && siblings.count() == 1;
    let thread = process.threads.get(other.thread);
    match thread.filter(|thread| !alone && !thread.name.is_empty()) {
        Some(thread) => thread.name.clone(),
        None => {
            let file = Path::new(&process.program).file_name();
            file.map_or(String::new(), |file| file.to_string_lossy().into_owned())
        }
    }
}

/// A note about iterations that are left out because they overlap others.
pub(super) fn concurrent(found: &Detected) -> Option<String> {
    let all = found.iterations.len() + found.overlapping;
    let verb = match found.overlapping {
        0 => return None,
        1 => "began while another was under way on the same thread and does",
        _ => "began while another was under way on the same thread and do",
    };
    Some(format!(
        "{} of {all} iterations {verb} not count: concurrent tasks share a thread.",
        found.overlapping
    ))
}

/// A note about them, if there are any.
pub(super) fn note(trace: &StartTrace, found: &Detected) -> Option<String> {
    let count = found.others.len();
    if count == 0 {
        return None;
    }
    // The report has means over the starts, which times of one start do not compare to.
    let first = found.iterations.first().map_or(0, |(_, end)| *end);
    let later = |time: u64| units::duration(time.saturating_sub(first) as f64 * 1e-9);
    let mut processes: Vec<usize> = found.others.iter().map(|other| other.process).collect();
    processes.push(found.process);
    processes.sort_unstable();
    processes.dedup();
    let of = match processes.len() {
        1 => "threads".to_owned(),
        // One thread per process.
        processes if processes == count + 1 => "processes".to_owned(),
        processes => format!("threads of {processes} processes"),
    };
    let listed = found.others.iter().take(MAX_LISTED).map(|other| {
        let pid = trace.processes.get(other.process).map_or(0, |p| p.pid);
        let count = match other.count {
            1 => "1 iteration".to_owned(),
            count => format!("{count} iterations"),
        };
        format!(
            "{} of process {pid} {} later ({count})",
            name(trace, found, other),
            later(other.first),
        )
    });
    let listed: Vec<String> = listed.collect();
    let more = match count.saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some(format!(
        "{} {of} iterate; the numbers are those of the one that finished its first iteration \
         first. The others followed: {}{more}.",
        count + 1,
        listed.join(", ")
    ))
}
