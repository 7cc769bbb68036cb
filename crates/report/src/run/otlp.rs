//! Exports one start as OpenTelemetry spans: the body of an OTLP request
//! (`ExportTraceServiceRequest`), as protobuf.
//!
//! The root span is the start, from `exec` to its end, with the program's marks as its events.
//! Below it are the time to the first iteration, with a span for each cause in order, and the
//! iterations.
//!
//! Spans cannot show steady work, which is a share of the causes of the first iteration. Each
//! span of a cause has its share as an attribute, so that the spans agree with the root span.

use preheat_model::run::{Cause, PathPart, Recording, StartAnalysis, StartReport};
use preheat_model::time::unix_seconds;
use twox_hash::XxHash64;

use crate::html::command_line;
use crate::proto::Message;

/// The maximum number of iterations that get a span.
const ITERATIONS: usize = 64;

const CAUSES: usize = Cause::ALL.len();

/// A request, and the number of spans in it.
pub struct OtlpRequest {
    /// The body, as protobuf.
    pub body: Vec<u8>,
    /// The number of spans.
    pub spans: u64,
}

/// The request for start `index`, with these attributes of its resource, or `None` if the
/// recording does not have it.
pub fn run_otlp(
    recording: &Recording,
    analyses: &[StartAnalysis],
    reports: &[StartReport],
    index: usize,
    resource: &[(String, String)],
) -> Option<OtlpRequest> {
    let trace = recording.starts.get(index)?;
    let info = recording.manifest.starts.get(index)?;
    let (analysis, report) = (analyses.get(index)?, reports.get(index)?);
    let manifest = &recording.manifest;
    let first = manifest.starts.iter().map(|start| start.exec).min()?;
    let command = command_line(&manifest.command);
    let identity = format!("{} {command} {index} {}", manifest.created, info.exec);
    let mut spans = Spans {
        trace_id: trace_id(&identity),
        // Only whole seconds are known; the distances between starts are exact.
        zero: unix_seconds(&manifest.created)?
            .checked_mul(1_000_000_000)?
            .checked_add(info.exec - first)?,
        count: 0,
        scope: Message::default(),
    };

    let mut about = vec![
        ("preheat.command", Value::Text(&command)),
        (
            "preheat.temperature",
            Value::Text(info.temperature.as_str()),
        ),
        ("preheat.start", Value::Number(index as i64 + 1)),
        (
            "process.exit.code",
            Value::Number(i64::from(info.exit_code)),
        ),
    ];
    about.extend((report.time_to_first).map(|time| ("preheat.time_to_first", Value::Real(time))));
    let causes: Vec<(String, f64)> = (report.causes.iter())
        .map(|part| (attribute_name(part.cause.as_str()), part.seconds))
        .collect();
    about.extend((causes.iter()).map(|(name, seconds)| (name.as_str(), Value::Real(*seconds))));
    let failed = info.exit_code != 0;
    let marks: Vec<(u64, &str)> = (trace.processes.iter())
        .flat_map(|process| &process.marks)
        .map(|(time, name)| (*time, name.as_str()))
        .collect();
    let root = spans.add_root("start", trace.end, &about, &marks, failed);

    let until = match (analysis.iterations.first(), analysis.path.last()) {
        (Some((_, end)), _) => *end,
        (None, Some(part)) => part.end,
        (None, None) => trace.end,
    };
    let to_first = spans.add(root, "time to first", (0, until), &[]);
    let parts: Vec<_> = (analysis.path.iter())
        .filter(|part| part.begin < until)
        .collect();
    let first = analysis.iterations.first().map_or(until, |first| first.0);
    let steady = steady_shares(&parts, report, (first, until));
    for run in parts.chunk_by(|a, b| a.cause == b.cause) {
        let longest = run.iter().max_by_key(|part| part.end - part.begin);
        let item = longest.and_then(|part| analysis.names.get(part.item as usize));
        let item = item.map_or("", String::as_str);
        let cause = run[0].cause.as_str();
        let end = run[run.len() - 1].end.min(until);
        let mut about = vec![("preheat.cause", Value::Text(cause))];
        if !item.is_empty() {
            about.push(("preheat.item", Value::Text(item)));
        }
        let in_first = end.saturating_sub(run[0].begin.max(first)) as f64 * 1e-9;
        let usual = in_first * steady[run[0].cause.index()];
        // Less is a rounding error.
        if usual >= 1e-9 {
            about.push(("preheat.steady_work", Value::Real(usual)));
        }
        spans.add(to_first, cause, (run[0].begin, end), &about);
    }
    for (number, between) in analysis.iterations.iter().take(ITERATIONS).enumerate() {
        let name = match number {
            0 => "first iteration",
            _ => "iteration",
        };
        let about = [("preheat.iteration", Value::Number(number as i64))];
        spans.add(root, name, *between, &about);
    }
    Some(OtlpRequest {
        spans: spans.count,
        body: spans.request(&manifest.preheat, &command, resource),
    })
}

/// The share of each cause's time within the first iteration that is steady work: the path has
/// more of a cause than the report, which moves that share to *steady work*.
fn steady_shares(
    parts: &[&PathPart],
    report: &StartReport,
    (first, until): (u64, u64),
) -> [f64; CAUSES] {
    let (mut in_all, mut in_first) = ([0; CAUSES], [0; CAUSES]);
    for part in parts {
        let (at, end) = (part.cause.index(), part.end.min(until));
        in_all[at] += end.saturating_sub(part.begin);
        in_first[at] += end.saturating_sub(part.begin.max(first));
    }
    let mut shares = [0.0; CAUSES];
    for cause in Cause::ALL {
        let at = cause.index();
        let reported = report.causes.iter().find(|part| part.cause == cause);
        let moved = in_all[at] as f64 * 1e-9 - reported.map_or(0.0, |part| part.seconds);
        if in_first[at] > 0 && cause != Cause::SteadyWork {
            shares[at] = (moved / (in_first[at] as f64 * 1e-9)).clamp(0.0, 1.0);
        }
    }
    shares
}

/// The attribute for the seconds of a cause. OpenTelemetry names have lower-case letters, digits
/// and underscores: `preheat.cause.python_imports`.
fn attribute_name(cause: &str) -> String {
    let cause = cause.to_lowercase().replace('\'', "");
    let cause = cause.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    format!("preheat.cause.{cause}")
}

/// The value of an attribute.
enum Value<'a> {
    Text(&'a str),
    Number(i64),
    Real(f64),
}

/// `KeyValue` with its `AnyValue`.
fn attribute(name: &str, value: &Value) -> Message {
    let mut any = Message::default();
    match value {
        Value::Text(text) => any.text(1, text),
        Value::Number(number) => any.number(3, number.cast_unsigned()),
        Value::Real(real) => any.double(4, *real),
    };
    let mut pair = Message::default();
    pair.text(1, name).message(2, &any);
    pair
}

/// The spans of one trace under construction.
struct Spans {
    trace_id: [u8; 16],
    /// `exec`, in nanoseconds since 1970.
    zero: u64,
    count: u64,
    /// `ScopeSpans`, with the spans added so far.
    scope: Message,
}

impl Spans {
    /// Adds the root span, from `exec` on, with its events; returns its number.
    fn add_root(
        &mut self,
        name: &str,
        end: u64,
        about: &[(&str, Value)],
        events: &[(u64, &str)],
        failed: bool,
    ) -> u64 {
        const ERROR: u64 = 2;
        let mut span = self.span(None, name, (0, end), about);
        for (time, name) in events {
            let mut event = Message::default();
            event
                .fixed(1, self.zero.saturating_add(*time))
                .text(2, name);
            span.message(11, &event);
        }
        if failed {
            let mut status = Message::default();
            status.number(3, ERROR);
            span.message(15, &status);
        }
        self.scope.message(2, &span);
        self.count
    }

    /// Adds a span; returns its number, which refers to it as a parent.
    fn add(
        &mut self,
        parent: u64,
        name: &str,
        between: (u64, u64),
        about: &[(&str, Value)],
    ) -> u64 {
        let span = self.span(Some(parent), name, between, about);
        self.scope.message(2, &span);
        self.count
    }

    fn span(
        &mut self,
        parent: Option<u64>,
        name: &str,
        (begin, end): (u64, u64),
        about: &[(&str, Value)],
    ) -> Message {
        const INTERNAL: u64 = 1;
        self.count += 1;
        let mut span = Message::default();
        span.data(1, &self.trace_id)
            .data(2, &self.count.to_be_bytes());
        if let Some(parent) = parent {
            span.data(4, &parent.to_be_bytes());
        }
        span.text(5, name)
            .number(6, INTERNAL)
            .fixed(7, self.zero.saturating_add(begin))
            .fixed(8, self.zero.saturating_add(end.max(begin)));
        for (name, value) in about {
            span.message(9, &attribute(name, value));
        }
        span
    }

    /// `ExportTraceServiceRequest`, with its resource.
    fn request(self, version: &str, command: &str, about: &[(String, String)]) -> Vec<u8> {
        let mut resource = Message::default();
        let command = ("process.command_line", command);
        let about = (about
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str())))
        .filter(|(name, _)| *name != command.0);
        for (name, value) in about.chain([command]) {
            resource.message(1, &attribute(name, &Value::Text(value)));
        }
        let mut scope = Message::default();
        scope.text(1, "preheat").text(2, version);
        let mut scoped = Message::default();
        scoped.message(1, &scope);
        let mut spans = scoped.bytes().to_vec();
        // The fields of a message may come in any order and in several pieces.
        spans.extend_from_slice(self.scope.bytes());
        let mut of_resource = Message::default();
        of_resource.message(1, &resource).data(2, &spans);
        let mut request = Message::default();
        request.message(1, &of_resource);
        request.bytes().to_vec()
    }
}

/// An identifier that is the same for the same start.
fn trace_id(identity: &str) -> [u8; 16] {
    let [high, low] = [0, 1].map(|seed| XxHash64::oneshot(seed, identity.as_bytes()));
    let mut id = [0; 16];
    id[..8].copy_from_slice(&high.to_be_bytes());
    // Never all zeros, which would be invalid.
    id[8..].copy_from_slice(&(low | 1).to_be_bytes());
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_no_spaces_and_apostrophes() {
        let names = ["Python imports", "program's own CPU time"].map(attribute_name);
        assert_eq!(
            names,
            [
                "preheat.cause.python_imports",
                "preheat.cause.programs_own_cpu_time"
            ]
        );
    }

    #[test]
    fn a_trace_has_an_identifier_that_depends_on_the_start() {
        assert_eq!(trace_id("one"), trace_id("one"));
        assert_ne!(trace_id("one"), trace_id("two"));
        assert_ne!(trace_id(""), [0; 16]);
    }
}
