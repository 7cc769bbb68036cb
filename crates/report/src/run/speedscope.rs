//! Exports a recording as a profile for speedscope.app.
//!
//! Each start has a profile of its causes with their items, and one for each thread that
//! recorded something. Frames always nest, even if the recording is inconsistent: a frame
//! that would outlast its parent ends with it.

use std::collections::HashMap;

use preheat_model::run::trace::{Process, Thread};
use preheat_model::run::{Recording, StartAnalysis};
use serde::Serialize;

use super::perfetto::span_name;
use crate::html::command_line;

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

#[derive(Serialize)]
struct File {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: String,
    name: String,
    #[serde(rename = "activeProfileIndex")]
    active: usize,
    shared: Shared,
    profiles: Vec<Profile>,
}

#[derive(Default, Serialize)]
struct Shared {
    frames: Vec<Frame>,
}

#[derive(Serialize)]
struct Frame {
    name: String,
}

#[derive(Serialize)]
struct Profile {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start: u64,
    #[serde(rename = "endValue")]
    end: u64,
    events: Vec<Event>,
}

#[derive(Serialize)]
struct Event {
    /// `O` opens a frame, `C` closes it.
    #[serde(rename = "type")]
    kind: char,
    frame: usize,
    at: u64,
}

/// The recording as a speedscope file. `analyses` has one entry per start, in the same
/// order. Speedscope opens the profile of the causes of start `shown` first.
pub fn run_speedscope(recording: &Recording, analyses: &[StartAnalysis], shown: usize) -> String {
    let mut frames = Frames::default();
    let mut profiles = Vec::new();
    let mut active = 0;
    for (index, trace) in recording.starts.iter().enumerate() {
        let prefix = match recording.starts.len() {
            1 => String::new(),
            _ => format!("start {}: ", index + 1),
        };
        if let Some(analysis) = analyses.get(index).filter(|of| !of.path.is_empty()) {
            if index == shown {
                active = profiles.len();
            }
            profiles.push(causes(format!("{prefix}causes"), analysis, &mut frames));
        }
        for process in &trace.processes {
            for thread in process.threads.iter().filter(|of| !of.spans.is_empty()) {
                let name = format!("{prefix}{} {}", process.pid, thread.name);
                profiles.push(calls(name, process, thread, &mut frames));
            }
        }
    }
    let file = File {
        schema: SCHEMA,
        exporter: format!("preheat {}", recording.manifest.preheat),
        name: command_line(&recording.manifest.command),
        active,
        shared: Shared { frames: frames.all },
        profiles,
    };
    // Strings and numbers can always be written as JSON.
    serde_json::to_string(&file).unwrap_or_default()
}

/// The frames of all profiles, without duplicates.
#[derive(Default)]
struct Frames {
    all: Vec<Frame>,
    known: HashMap<String, usize>,
}

impl Frames {
    fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.known.get(name) {
            return *number;
        }
        let number = self.all.len();
        self.all.push(Frame {
            name: name.to_owned(),
        });
        self.known.insert(name.to_owned(), number);
        number
    }
}

/// The path of a start: its causes, and below each its items.
fn causes(name: String, analysis: &StartAnalysis, frames: &mut Frames) -> Profile {
    let mut stack = Stack::default();
    for part in &analysis.path {
        let cause = frames.number(part.cause.as_str());
        if !stack.is_open(cause, part.begin) {
            stack.close_until(0, part.begin);
            stack.open(cause, part.begin, u64::MAX);
        }
        stack.close_until(1, part.begin);
        let what = analysis.names.get(part.item as usize);
        if let Some(what) = what.filter(|what| !what.is_empty()) {
            stack.open(frames.number(what), part.begin, part.end);
        }
        stack.reach(part.end);
    }
    stack.profile(name)
}

/// The recorded operations of a thread.
fn calls(name: String, process: &Process, thread: &Thread, frames: &mut Frames) -> Profile {
    let mut stack = Stack::default();
    for span in &thread.spans {
        stack.add(
            frames.number(&span_name(process, span)),
            span.begin,
            span.end,
        );
    }
    stack.profile(name)
}

/// The events of a profile, well nested and in order.
#[derive(Default)]
struct Stack {
    events: Vec<Event>,
    /// The open frames and their ends.
    open: Vec<(usize, u64)>,
    /// The time of the last event, and the latest end.
    last: u64,
    latest: u64,
    began: Option<u64>,
}

impl Stack {
    /// Adds a frame, and closes those that end before it.
    fn add(&mut self, frame: usize, begin: u64, end: u64) {
        let begin = begin.max(self.last);
        while let Some((frame, end)) = self.open.pop_if(|(_, end)| *end <= begin) {
            self.event('C', frame, end);
        }
        let around = self.open.last().map_or(u64::MAX, |(_, end)| *end);
        self.open(frame, begin, end.max(begin).min(around));
    }

    fn open(&mut self, frame: usize, begin: u64, end: u64) {
        self.event('O', frame, begin);
        self.open.push((frame, end));
        if end != u64::MAX {
            self.reach(end);
        }
    }

    fn reach(&mut self, end: u64) {
        self.latest = self.latest.max(end);
    }

    /// Returns true if this is the outermost open frame, with no gap before `time`.
    fn is_open(&self, frame: usize, time: u64) -> bool {
        self.open.first().is_some_and(|(open, _)| *open == frame) && self.latest >= time
    }

    /// Closes all but `depth` frames, at their ends or at `time`.
    fn close_until(&mut self, depth: usize, time: u64) {
        while self.open.len() > depth {
            if let Some((frame, end)) = self.open.pop() {
                let latest = self.latest;
                self.event('C', frame, end.min(time).min(latest));
            }
        }
    }

    fn event(&mut self, kind: char, frame: usize, at: u64) {
        let at = at.max(self.last);
        self.began.get_or_insert(at);
        self.last = at;
        self.events.push(Event { kind, frame, at });
    }

    fn profile(mut self, name: String) -> Profile {
        let latest = self.latest;
        self.close_until(0, latest);
        Profile {
            kind: "evented",
            name,
            unit: "nanoseconds",
            start: self.began.unwrap_or(0),
            end: self.last,
            events: self.events,
        }
    }
}

#[cfg(test)]
mod tests {
    use preheat_model::run::{Cause, PathPart};

    use super::*;

    fn events(stack: Stack) -> Vec<(char, usize, u64)> {
        let profile = stack.profile("it".to_owned());
        assert_eq!(profile.end, profile.events.last().unwrap().at);
        let events = profile.events.iter();
        events.map(|e| (e.kind, e.frame, e.at)).collect()
    }

    #[test]
    fn frames_nest_even_if_spans_do_not() {
        let mut stack = Stack::default();
        stack.add(0, 10, 50);
        // Outlasts its parent.
        stack.add(1, 20, 90);
        // Begins before the previous one.
        stack.add(2, 15, 30);
        stack.add(3, 60, 70);
        assert_eq!(
            events(stack),
            [
                ('O', 0, 10),
                ('O', 1, 20),
                ('O', 2, 20),
                ('C', 2, 30),
                ('C', 1, 50),
                ('C', 0, 50),
                ('O', 3, 60),
                ('C', 3, 70)
            ]
        );
    }

    #[test]
    fn a_cause_stays_open_over_its_parts() {
        let part = |begin, end, cause, item| PathPart {
            begin,
            end,
            cause,
            item,
        };
        let analysis = StartAnalysis {
            path: vec![
                part(0, 10, Cause::PythonImports, 0),
                part(10, 30, Cause::PythonImports, 1),
                part(30, 40, Cause::Idle, 2),
            ],
            names: ["os", "json", ""].map(str::to_owned).to_vec(),
            ..StartAnalysis::default()
        };
        let mut frames = Frames::default();
        let profile = causes("it".to_owned(), &analysis, &mut frames);
        let named = profile.events.iter().map(|event| {
            let name = frames.all[event.frame].name.as_str();
            (event.kind, name, event.at)
        });
        assert_eq!(
            named.collect::<Vec<_>>(),
            [
                ('O', "Python imports", 0),
                ('O', "os", 0),
                ('C', "os", 10),
                ('O', "json", 10),
                ('C', "json", 30),
                ('C', "Python imports", 30),
                ('O', "idle", 30),
                ('C', "idle", 40)
            ]
        );
    }
}
