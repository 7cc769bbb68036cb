//! The activity of a process while its memory without a file grew.

use super::super::super::examine::Examined;
use super::super::super::iterations::StartData;
use super::super::super::path::Part;
use super::super::super::trace::Process;
use super::super::super::{Cause, HostUse, StackFrame, Stacks, items};
use super::Items;

/// A stack that was sampled so close to an interval stands for it, in nanoseconds.
const MAX_DISTANCE_NS: u64 = 10_000_000;

/// A process on the path.
pub(super) struct Growth<'a> {
    start: &'a StartData<'a>,
    examined: &'a Examined,
    process: &'a Process,
    /// Its sampled stacks: when, and the node.
    stacks: Vec<(u64, u32)>,
}

impl<'a> Growth<'a> {
    /// The growth of the process whose thread runs the iterations.
    pub(super) fn new(
        start: &'a StartData<'a>,
        examined: &'a Examined,
        process: &'a Process,
        thread: usize,
    ) -> Growth<'a> {
        let thread = process.threads.get(thread).map_or(0, |thread| thread.id);
        let samples = start.trace.stacks.samples.iter();
        let own = samples.filter(|sample| sample.process == process.pid && sample.thread == thread);
        Growth {
            start,
            examined,
            process,
            stacks: own.map(|sample| (sample.time, sample.node)).collect(),
        }
    }

    /// The bytes that are still there at a time, by what allocated them. Memory that was
    /// given back is what came last.
    pub(super) fn until(&self, until: u64) -> Items {
        let mut grown: Vec<((HostUse, String), f64)> = Vec::new();
        let mut before = (self.process.made, 0);
        for sample in &self.process.samples {
            if sample.time > until {
                break;
            }
            let size = sample.resident.saturating_sub(sample.file_backed);
            if size >= before.1 {
                self.add((before.0, sample.time), size - before.1, &mut grown);
            } else {
                give_back(&mut grown, (before.1 - size) as f64);
            }
            before = (sample.time, size);
        }
        let mut items = Items::new();
        for (key, bytes) in grown {
            *items.entry(key).or_default() += bytes;
        }
        items
    }

    fn add(&self, (from, to): (u64, u64), bytes: u64, grown: &mut Vec<((HostUse, String), f64)>) {
        if bytes == 0 {
            return;
        }
        let parts = &self.examined.parts;
        let first = parts.partition_point(|part| part.end <= from);
        let mut left = bytes as f64;
        let length = to.saturating_sub(from).max(1) as f64;
        for part in parts[first..].iter().take_while(|part| part.begin < to) {
            let lapped = part.end.min(to).saturating_sub(part.begin.max(from));
            let share = (bytes as f64 * lapped as f64 / length).min(left);
            left -= share;
            grown.push((self.key(part, (from, to)), share));
        }
        // After the path, only the program runs.
        if left >= 1.0 {
            grown.push(((HostUse::Program, self.line(from, to)), left));
        }
    }

    fn key(&self, part: &Part, time: (u64, u64)) -> (HostUse, String) {
        let name = || items::name(self.examined.meaning(part.item), self.start.facts);
        match part.cause {
            Cause::ProcessStart => (HostUse::Libraries, "process start".to_owned()),
            Cause::LibraryLoading => (HostUse::Libraries, name()),
            Cause::PythonImports | Cause::BytecodeCompilation => {
                (HostUse::Modules, items::package(&name()).to_owned())
            }
            Cause::OwnCpu | Cause::Idle | Cause::SteadyWork => {
                (HostUse::Program, self.line(time.0, time.1))
            }
            Cause::Unexplained => (HostUse::Unexplained, "not recorded".to_owned()),
            cause => (HostUse::Drivers, cause.as_str().to_owned()),
        }
    }

    /// The line of the program that ran in an interval: the last that was sampled in it, or
    /// shortly before or after.
    fn line(&self, from: u64, to: u64) -> String {
        let after = self.stacks.partition_point(|(time, _)| *time <= to);
        let last = (self.stacks[..after].last())
            .filter(|last| last.0 >= from.saturating_sub(MAX_DISTANCE_NS));
        let next =
            (self.stacks.get(after)).filter(|next| next.0 <= to.saturating_add(MAX_DISTANCE_NS));
        let node = match (last, next) {
            (Some(last), Some(next)) if from.saturating_sub(last.0) > next.0 - to => Some(next.1),
            (Some(last), _) => Some(last.1),
            (None, next) => next.map(|next| next.1),
        };
        let line = node.and_then(|node| line_of(&self.start.trace.stacks, node));
        line.unwrap_or_else(|| "without a sampled line".to_owned())
    }
}

/// Removes bytes, the last ones first.
fn give_back(grown: &mut Vec<((HostUse, String), f64)>, mut bytes: f64) {
    while let Some((_, last)) = grown.last_mut() {
        if *last > bytes {
            *last -= bytes;
            return;
        }
        bytes -= *last;
        grown.pop();
    }
}

/// The innermost line of the program's own code in a stack; of any Python code, if there is
/// none.
fn line_of(stacks: &Stacks, node: u32) -> Option<String> {
    let python = || {
        let frames = stacks.frames_of(node);
        frames.filter(|frame| frame.library.is_empty() && !frame.file.is_empty())
    };
    let frame = python().find(|frame| is_own(&frame.file));
    let frame = frame.or_else(|| python().next());
    let describe = |frame: &StackFrame| {
        let file = items::file_name(&frame.file);
        match frame.function.as_str() {
            "<module>" | "" => format!("{file}:{}", frame.line),
            function => format!("{file}:{} {function}", frame.line),
        }
    };
    match frame {
        Some(frame) => Some(describe(frame)),
        None => (stacks.frames_of(node).next())
            .map(|frame| items::file_name(&frame.library).to_owned())
            .filter(|name| !name.is_empty()),
    }
}

/// Returns true if a file is the program's, not that of an installed package or of Python itself.
fn is_own(file: &str) -> bool {
    const NOT_OWN: [&str; 4] = [
        "/site-packages/",
        "/dist-packages/",
        "/lib/python3",
        "/lib64/python3",
    ];
    !file.starts_with('<') && !NOT_OWN.iter().any(|directory| file.contains(directory))
}

/// Rounds parts to whole numbers that add up to `total`, which is about their sum.
pub(super) fn rounded(total: u64, parts: impl Iterator<Item = f64>) -> Vec<u64> {
    let mut exact = 0.0;
    let mut given = 0u64;
    let mut whole: Vec<u64> = parts
        .map(|part| {
            // Rounding the running sum, not each part, keeps the error below one.
            exact += part.max(0.0);
            let until = (exact.round() as u64).min(total);
            let part = until - given;
            given = until;
            part
        })
        .collect();
    if let Some(largest) = whole.iter_mut().max() {
        *largest += total - given;
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_growth_is_given_back_first() {
        let key = |name: &str| (HostUse::Program, name.to_owned());
        let mut grown = vec![(key("a"), 5.0), (key("b"), 3.0), (key("c"), 1.0)];
        give_back(&mut grown, 2.0);
        assert_eq!(grown, [(key("a"), 5.0), (key("b"), 2.0)]);
        give_back(&mut grown, 100.0);
        assert!(grown.is_empty());
    }

    #[test]
    fn lines_are_those_of_the_program() {
        let frame = |file: &str, function: &str, library: &str| StackFrame {
            function: function.to_owned(),
            file: file.to_owned(),
            line: 3,
            library: library.to_owned(),
        };
        let stacks = Stacks {
            frames: vec![
                frame("/home/me/train.py", "build", ""),
                frame("/x/site-packages/torch/nn/init.py", "normal_", ""),
                frame("", "memset", "/usr/lib/libc.so.6"),
                frame("<frozen importlib>", "load", ""),
            ],
            nodes: vec![(None, 0), (Some(0), 1), (Some(1), 2), (None, 2), (None, 3)],
            ..Stacks::default()
        };
        let line = |node| line_of(&stacks, node).unwrap_or_default();
        assert_eq!(line(2), "train.py:3 build");
        assert_eq!(line(3), "libc.so.6");
        assert_eq!(line(4), "<frozen importlib>:3 load");
    }

    #[test]
    fn parts_add_up() {
        assert_eq!(rounded(10, [3.4, 3.4, 3.4].into_iter()), [3, 4, 3]);
        assert_eq!(rounded(3, [1.0, -0.5, 1.0].into_iter()), [1, 0, 2]);
        assert_eq!(rounded(1, [2.0, 2.0].into_iter()), [1, 0]);
        assert!(rounded(0, std::iter::empty()).is_empty());
    }
}
