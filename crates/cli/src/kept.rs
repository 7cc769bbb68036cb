//! Kept results: a recording's directory, or a document that `--json` wrote.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Result;
use preheat_analyze::lab::{self, Experiment, LabReport, MOST_STARTS, Measured, SampleKind};
use preheat_analyze::run::{self, Findings, RUN_SCHEMA, Recording, RunReport, StartReport};
use preheat_analyze::tried::{TRIED_SCHEMA, TriedReport};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::exit::Usage;

/// What was kept.
pub enum Kept {
    /// A recording, analysed anew.
    Recording(Box<Recorded>),
    /// The document of a run: what its preheat found.
    Run(Box<RunReport>),
    /// A result of the lab, analysed anew.
    Lab(Box<LabReport>),
}

/// A result, or what follows from several.
pub enum Any {
    /// A result.
    Kept(Kept),
    /// What a measurement of remedies has shown.
    Tried(Box<TriedReport>),
}

/// The document that a measurement of remedies leaves beside its recordings.
pub const MEASUREMENT: &str = "measurement.json";

/// A recording and what it shows.
pub struct Recorded {
    /// What was recorded.
    pub recording: Recording,
    /// What that shows.
    pub findings: Findings,
}

/// Whether this is to be read as a recording: a directory, or the head of one.
pub fn is_recording(path: &Path) -> bool {
    path.is_dir()
        || path
            .file_name()
            .is_some_and(|name| name == "recording.json")
}

/// Reads the result that is kept there (`-` is standard input). `iterations` finds a
/// recording's iterations in another way than when it was made.
pub fn read(path: &Path, iterations: Option<&str>) -> Result<Kept> {
    match read_any(path, iterations)? {
        Any::Kept(kept) => Ok(kept),
        Any::Tried(report) => {
            let plain = report.variants.first();
            let plain = plain.map_or("plain", |variant| &*variant.recording);
            Err(Usage(format!(
                "{} is a measurement of remedies: name one of its recordings, as {plain}",
                path.display()
            ))
            .into())
        }
    }
}

/// Reads whatever is kept there, as [`read`] does.
pub fn read_any(path: &Path, iterations: Option<&str>) -> Result<Any> {
    let measurement = path.join(MEASUREMENT);
    if iterations.is_none() && measurement.is_file() {
        return read_document(&measurement);
    }
    if is_recording(path) {
        let recorded = read_recording(path, iterations)?;
        return Ok(Any::Kept(Kept::Recording(Box::new(recorded))));
    }
    if iterations.is_some() {
        return Err(Usage(format!(
            "--iterations is for recordings of `preheat run`, and {} is none",
            path.display()
        ))
        .into());
    }
    read_document(path)
}

fn read_recording(path: &Path, iterations: Option<&str>) -> Result<Recorded> {
    let mut recording = preheat_trace::read(path).map_err(|why| Usage(why.to_string()))?;
    if let Some(how) = iterations {
        if how.starts_with("lines:") && how != recording.manifest.settings.iterations {
            return Err(Usage(
                "lines are matched while the program runs: record again with that --iterations"
                    .into(),
            )
            .into());
        }
        how.clone_into(&mut recording.manifest.settings.iterations);
    }
    let findings = run::analyze(&recording);
    Ok(Recorded {
        recording,
        findings,
    })
}

fn read_document(path: &Path) -> Result<Any> {
    let place = path.display();
    let text = if path == Path::new("-") {
        io::read_to_string(io::stdin())
    } else {
        fs::read_to_string(path)
    };
    let text = text.map_err(|why| {
        Usage(format!(
            "{place} cannot be read: {why}; name a recording of `preheat run`, or a file that `preheat run --json` or `preheat lab --json` wrote"
        ))
    })?;
    parse(path, &text)
}

/// The document, or a sentence that says what is wrong with it and where.
fn parse(path: &Path, text: &str) -> Result<Any> {
    let place = path.display();
    let document: Value = serde_json::from_str(text)
        .map_err(|why| Usage(format!("{place} is not JSON, or was cut off: {why}")))?;
    let schema = document.get("schema").and_then(Value::as_str);
    match schema {
        Some(lab::SCHEMA) => {
            let report = keeping_to(path, lab::SCHEMA, text)?;
            Ok(Any::Kept(Kept::Lab(Box::new(of_lab(path, report)?))))
        }
        Some(RUN_SCHEMA) => {
            let report: RunReport = keeping_to(path, RUN_SCHEMA, text)?;
            possible_run(&report)
                .map_err(|what| Usage(format!("{place} has {what}, which cannot be")))?;
            Ok(Any::Kept(Kept::Run(Box::new(report))))
        }
        Some(TRIED_SCHEMA) => {
            let report: TriedReport = keeping_to(path, TRIED_SCHEMA, text)?;
            possible_tried(&report)
                .map_err(|what| Usage(format!("{place} has {what}, which cannot be")))?;
            Ok(Any::Tried(Box::new(report)))
        }
        Some(other) if KINDS.iter().any(|kind| other.starts_with(kind)) => Err(Usage(format!(
            "{place} is {other}, and this preheat {} reads {}, {RUN_SCHEMA} and {TRIED_SCHEMA}; a newer preheat reads it",
            env!("CARGO_PKG_VERSION"),
            lab::SCHEMA,
        ))
        .into()),
        _ => Err(Usage(format!(
            "{place} is no result of `preheat run` or `preheat lab`: it does not begin with \"schema\": \"{RUN_SCHEMA}\" or \"{}\"",
            lab::SCHEMA
        ))
        .into()),
    }
}

/// What the documents that are read here begin with, before their version.
const KINDS: [&str; 3] = ["preheat.lab/", "preheat.run/", "preheat.start/"];

/// From the text and not from its value, so that an error names line and column.
fn keeping_to<T: DeserializeOwned>(path: &Path, schema: &str, text: &str) -> Result<T> {
    Ok(serde_json::from_str(text).map_err(|why| {
        Usage(format!(
            "{} says {schema} and does not keep to it: {why}",
            path.display()
        ))
    })?)
}

/// From the raw values: this version's statistics, not those of the version that
/// measured. Its name stays, since it says what was run.
fn of_lab(path: &Path, kept: LabReport) -> Result<LabReport> {
    let place = path.display();
    for experiment in &kept.experiments {
        possible(experiment).map_err(|what| {
            Usage(format!(
                "{place} has {what} in {} on {}, which cannot be",
                experiment.id.id(),
                experiment.subject()
            ))
        })?;
    }
    let analysed = lab::analyze(&Measured::from_report(&kept), &kept.preheat);
    Ok(analysed.ok_or_else(|| Usage(format!("{place} names no device")))?)
}

/// What times and sizes there can be.
const SECONDS: std::ops::Range<f64> = 1e-12..1e9;
const BYTES: std::ops::Range<f64> = 0.0..1e18;

/// Whether a run of the lab can have measured this; else what it cannot have measured.
fn possible(experiment: &Experiment) -> Result<(), String> {
    if let Some(failure) = experiment.failures.iter().find(|f| f.start >= MOST_STARTS) {
        return Err(format!("a failure of start {}", failure.start));
    }
    for series in &experiment.series {
        if series.iterations.len() > MOST_STARTS {
            return Err(format!("{} starts", series.iterations.len()));
        }
        let (possible, unit) = match series.kind {
            SampleKind::Iterations | SampleKind::Stage => (SECONDS, "s"),
            SampleKind::Memory | SampleKind::Count => (BYTES, "bytes or counts"),
        };
        let mut values = series.iterations.iter().flatten();
        if let Some(value) = values.find(|value| !possible.contains(*value)) {
            return Err(format!("{value} {unit} of \"{}\"", series.name));
        }
    }
    Ok(())
}

/// Whether a recorded run can have given these numbers; else which it cannot.
fn possible_run(report: &RunReport) -> Result<(), String> {
    if report.starts.len() > MOST_STARTS {
        return Err(format!("{} starts", report.starts.len()));
    }
    for (at, start) in report.starts.iter().enumerate() {
        possible_start(start).map_err(|what| format!("{what} in start {}", at + 1))?;
    }
    Ok(())
}

fn possible_start(start: &StartReport) -> Result<(), String> {
    let iterations = start.iterations.iter().map(|time| ("an iteration", time));
    let times = iterations.chain(
        start
            .time_to_first
            .iter()
            .map(|time| ("time_to_first", time)),
    );
    for (what, seconds) in times {
        if !SECONDS.contains(seconds) {
            return Err(format!("{} s as {what}", short(*seconds)));
        }
    }
    for part in &start.causes {
        // A part may be nothing at all.
        if !(0.0..SECONDS.end).contains(&part.seconds) {
            let seconds = short(part.seconds);
            return Err(format!("{seconds} s of {}", part.cause.as_str()));
        }
    }
    Ok(())
}

/// Whether a measurement of remedies can have given these numbers; else which it cannot.
fn possible_tried(report: &TriedReport) -> Result<(), String> {
    for variant in &report.variants {
        let times = variant.time_to_first.iter().map(|time| &time.value);
        for seconds in variant.values.iter().chain(times) {
            if !SECONDS.contains(seconds) {
                return Err(format!("{} s as time_to_first", short(*seconds)));
            }
        }
        for part in &variant.causes {
            if !(0.0..SECONDS.end).contains(&part.seconds) {
                let seconds = short(part.seconds);
                return Err(format!("{seconds} s of {}", part.cause.as_str()));
            }
        }
    }
    Ok(())
}

/// A number that may have hundreds of digits.
fn short(number: f64) -> String {
    match (1e-3..1e9).contains(&number.abs()) || number == 0.0 {
        true => number.to_string(),
        false => format!("{number:e}"),
    }
}

#[cfg(test)]
mod tests {
    use preheat_analyze::check;
    use preheat_analyze::compare::{CompareKind, RunInput, Settings, compare_labs, compare_runs};
    use preheat_analyze::stats::Rng;

    use super::*;

    /// Numbers, and what is none, in place of a number of the document.
    const OTHERS: [&str; 12] = [
        "0", "-1", "1e300", "-1e300", "1e-300", "1e999", "null", "true", "\"x\"", "[]", "{}", "",
    ];

    /// The document with one number in it another one, or one byte another one, or cut off.
    fn mutated(text: &str, rng: &mut Rng) -> String {
        let at = rng.below(text.len());
        match rng.below(4) {
            0 => String::from_utf8_lossy(&text.as_bytes()[..at]).into_owned(),
            1 => {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] = b"0{}[],:\"-e \x7f"[rng.below(12)];
                String::from_utf8_lossy(&bytes).into_owned()
            }
            _ => {
                let is_number = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
                let Some(found) = text[at..].find(|c: char| c.is_ascii_digit()) else {
                    return text.to_owned();
                };
                let begin = text[..at + found]
                    .rfind(|c| !is_number(c))
                    .map_or(0, |place| place + 1);
                let end = text[begin..]
                    .find(|c| !is_number(c))
                    .map_or(text.len(), |length| begin + length);
                let other = OTHERS[rng.below(OTHERS.len())];
                format!("{}{other}{}", &text[..begin], &text[end..])
            }
        }
    }

    #[test]
    fn damaged_documents_are_refused_in_a_sentence_or_taken_without_harm() {
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/h200");
        let mut rng = Rng::new(7);
        let (mut refused, mut taken) = (0, 0);
        for (name, count) in [
            ("linear.json", 400),
            ("lab.json", 40),
            ("start-linear.json", 400),
        ] {
            let text = fs::read_to_string(results.join(name)).unwrap();
            for _ in 0..count {
                let text = mutated(&text, &mut rng);
                match parse(Path::new(name), &text) {
                    Err(why) => {
                        refused += 1;
                        let why = why
                            .downcast_ref::<Usage>()
                            .expect("it is the user's")
                            .to_string();
                        assert!(why.starts_with(name) && why.len() < 600, "{why}");
                    }
                    Ok(kept) => {
                        taken += 1;
                        judge(&kept);
                    }
                }
            }
        }
        println!("{refused} refused, {taken} taken");
        assert!(refused > 50 && taken > 50);
    }

    /// Whatever a document says, to judge it does no harm.
    fn judge(kept: &Any) {
        let kept = match kept {
            Any::Kept(kept) => kept,
            Any::Tried(report) => return drop(preheat_report::tried_html(report)),
        };
        match kept {
            Kept::Run(report) => {
                let input = RunInput {
                    source: "",
                    report,
                    behind: None,
                };
                compare_runs(&input, &input, &Settings::new(CompareKind::Runs, ""));
                // A report without times gives no budget, in a sentence.
                let _ = check::draft(report, 0.25);
                check::measured(report);
            }
            Kept::Lab(report) => {
                let settings = Settings::new(CompareKind::Lab, "");
                compare_labs(("", report), ("", report), &settings);
            }
            Kept::Recording(_) => {}
        }
    }
}
