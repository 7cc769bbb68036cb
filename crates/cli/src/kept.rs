//! Reads saved results: the directory of a recording, or a document written by `--json`.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Result;
use preheat_analyze::lab;
use preheat_analyze::run::{self, Findings};
use preheat_model::compare::{COMPARE_SCHEMA, CompareReport};
use preheat_model::lab::{Experiment, LabReport, MOST_STARTS, Measured, SampleKind};
use preheat_model::run::{RUN_SCHEMA, RUN_SCHEMAS, Recording, RunReport, StartReport};
use preheat_model::tried::{TRIED_SCHEMA, TriedReport};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::exit::Usage;

/// A saved result of one run or of the lab.
pub enum Saved {
    /// A recording, analyzed again.
    Recording(Box<AnalyzedRecording>),
    /// The document of a run, with the findings of the preheat that wrote it.
    Run(Box<RunReport>),
    /// A lab result, analyzed again.
    Lab(Box<LabReport>),
}

/// A saved result, or a document about several of them.
pub enum AnySaved {
    /// A single result.
    Result(Saved),
    /// A comparison of two results.
    Comparison(Box<CompareReport>),
    /// A measurement of remedies, which covers several recordings.
    Measurement(Box<TriedReport>),
}

/// The document that a measurement of remedies writes next to its recordings.
pub const MEASUREMENT: &str = "measurement.json";

/// A recording and its analysis.
pub struct AnalyzedRecording {
    pub recording: Recording,
    pub findings: Findings,
}

/// Returns true for a directory or its `recording.json`: these are read as a recording.
pub fn is_recording(path: &Path) -> bool {
    path.is_dir()
        || path
            .file_name()
            .is_some_and(|name| name == "recording.json")
}

/// Reads a result (`-` is standard input). `iterations` overrides how the iterations of a
/// recording are detected.
pub fn read(path: &Path, iterations: Option<&str>) -> Result<Saved> {
    match read_any(path, iterations)? {
        AnySaved::Result(saved) => Ok(saved),
        AnySaved::Comparison(report) => Err(Usage(format!(
            "{} is a comparison: name one of the results it compares, such as {}, or show it \
             with `preheat report`",
            path.display(),
            report.base.source,
        ))
        .into()),
        AnySaved::Measurement(report) => {
            let plain = report.variants.first();
            let plain = plain.map_or("plain", |variant| &*variant.recording);
            Err(Usage(format!(
                "{} is a measurement of remedies: name one of its recordings, such as {plain}",
                path.display()
            ))
            .into())
        }
    }
}

/// Like [`read`], but also accepts a comparison and a measurement of remedies.
pub fn read_any(path: &Path, iterations: Option<&str>) -> Result<AnySaved> {
    let measurement = path.join(MEASUREMENT);
    if iterations.is_none() && measurement.is_file() {
        return read_document(&measurement);
    }
    if is_recording(path) {
        let recorded = read_recording(path, iterations)?;
        return Ok(AnySaved::Result(Saved::Recording(Box::new(recorded))));
    }
    if iterations.is_some() {
        return Err(Usage(format!(
            "--iterations needs a recording made by `preheat run`, and {} is not one",
            path.display()
        ))
        .into());
    }
    read_document(path)
}

fn read_recording(path: &Path, iterations: Option<&str>) -> Result<AnalyzedRecording> {
    let mut recording = preheat_trace::read(path).map_err(|why| Usage(why.to_string()))?;
    if let Some(how) = iterations {
        if how.starts_with("lines:") && how != recording.manifest.settings.iterations {
            return Err(Usage(
                "lines are matched while the program runs: record again with this --iterations"
                    .into(),
            )
            .into());
        }
        how.clone_into(&mut recording.manifest.settings.iterations);
    }
    let findings = run::analyze(&recording);
    Ok(AnalyzedRecording {
        recording,
        findings,
    })
}

fn read_document(path: &Path) -> Result<AnySaved> {
    let file = path.display();
    let text = if path == Path::new("-") {
        io::read_to_string(io::stdin())
    } else {
        fs::read_to_string(path)
    };
    let text = text.map_err(|why| {
        Usage(format!(
            "cannot read {file}: {why}; name a recording made by `preheat run`, or a file that `preheat run`, `lab`, `compare` or `start --measure` wrote with --json"
        ))
    })?;
    parse(path, &text)
}

/// Parses and validates the document; the error names the problem and its position.
fn parse(path: &Path, text: &str) -> Result<AnySaved> {
    let file = path.display();
    let document: Value = serde_json::from_str(text)
        .map_err(|why| Usage(format!("{file} is not JSON, or is truncated: {why}")))?;
    let schema = document.get("schema").and_then(Value::as_str);
    match schema {
        Some(schema) if preheat_model::lab::SCHEMAS.contains(&schema) => {
            let report = deserialize(path, schema, text)?;
            Ok(AnySaved::Result(Saved::Lab(Box::new(analyze_lab(
                path, report,
            )?))))
        }
        Some(schema) if RUN_SCHEMAS.contains(&schema) => {
            let mut report: RunReport = deserialize(path, schema, text)?;
            RUN_SCHEMA.clone_into(&mut report.schema);
            validate_run(&report).map_err(|what| Usage(format!("{file}: {what}")))?;
            Ok(AnySaved::Result(Saved::Run(Box::new(report))))
        }
        Some(TRIED_SCHEMA) => {
            let report: TriedReport = deserialize(path, TRIED_SCHEMA, text)?;
            validate_measurement(&report).map_err(|what| Usage(format!("{file}: {what}")))?;
            Ok(AnySaved::Measurement(Box::new(report)))
        }
        Some(COMPARE_SCHEMA) => {
            let report: CompareReport = deserialize(path, COMPARE_SCHEMA, text)?;
            Ok(AnySaved::Comparison(Box::new(report)))
        }
        Some(other) if SCHEMAS.iter().any(|schema| other.starts_with(schema)) => Err(Usage(format!(
            "{file} has the schema {other}, and preheat {} reads {}, {RUN_SCHEMA}, {COMPARE_SCHEMA} and {TRIED_SCHEMA}; a newer preheat is needed",
            env!("CARGO_PKG_VERSION"),
            preheat_model::lab::SCHEMA,
        ))
        .into()),
        _ => Err(Usage(format!(
            "{file} is not a `preheat run`, `lab`, `compare` or `start --measure` result, as written by --json: {}",
            match schema {
                Some(schema) => format!("its \"schema\" is \"{}\"", schema.escape_debug()),
                None => "it has no \"schema\"".to_owned(),
            }
        ))
        .into()),
    }
}

/// The schemas of the documents that can be read, without their version.
const SCHEMAS: [&str; 4] = [
    "preheat.lab/",
    "preheat.run/",
    "preheat.compare/",
    "preheat.start/",
];

/// Deserializes from the text rather than the parsed value, so that errors have a line and
/// a column.
fn deserialize<T: DeserializeOwned>(path: &Path, schema: &str, text: &str) -> Result<T> {
    Ok(serde_json::from_str(text).map_err(|why| {
        Usage(format!(
            "{} does not conform to {schema}: {why}",
            path.display()
        ))
    })?)
}

/// Analyzes the raw values again, with the statistics of this version. `preheat` stays the
/// version that measured.
fn analyze_lab(path: &Path, saved: LabReport) -> Result<LabReport> {
    let file = path.display();
    for experiment in &saved.experiments {
        validate_experiment(experiment).map_err(|what| {
            Usage(format!(
                "{file}: {} on {}: {what}",
                experiment.id.id(),
                experiment.subject()
            ))
        })?;
    }
    let analyzed = lab::analyze(&Measured::from_report(&saved), &saved.preheat);
    Ok(analyzed.ok_or_else(|| Usage(format!("{file} lists no device")))?)
}

/// The accepted range of times.
const SECONDS: std::ops::Range<f64> = 1e-12..1e9;
/// The accepted range of sizes and counts.
const BYTES: std::ops::Range<f64> = 0.0..1e18;

/// Returns an error if the lab cannot have measured a value.
fn validate_experiment(experiment: &Experiment) -> Result<(), String> {
    if let Some(failure) = experiment.failures.iter().find(|f| f.start >= MOST_STARTS) {
        return Err(format!(
            "the start number {} is out of range",
            failure.start
        ));
    }
    for series in &experiment.series {
        if series.iterations.len() > MOST_STARTS {
            return Err(format!("too many starts: {}", series.iterations.len()));
        }
        let (possible, unit) = match series.kind {
            SampleKind::Iterations | SampleKind::Stage => (SECONDS, "s"),
            SampleKind::Memory | SampleKind::Count => (BYTES, "bytes or counts"),
        };
        let mut values = series.iterations.iter().flatten();
        if let Some(value) = values.find(|value| !possible.contains(*value)) {
            return Err(format!(
                "{value} {unit} of \"{}\" is out of range",
                series.name
            ));
        }
    }
    Ok(())
}

/// Returns an error if a recorded run cannot have a value.
fn validate_run(report: &RunReport) -> Result<(), String> {
    if report.starts.len() > MOST_STARTS {
        return Err(format!("too many starts: {}", report.starts.len()));
    }
    for (at, start) in report.starts.iter().enumerate() {
        validate_start(start).map_err(|what| format!("start {}: {what}", at + 1))?;
    }
    Ok(())
}

fn validate_start(start: &StartReport) -> Result<(), String> {
    let iterations = start.iterations.iter().map(|time| ("an iteration", time));
    let times = iterations.chain(
        start
            .time_to_first
            .iter()
            .map(|time| ("time_to_first", time)),
    );
    for (what, seconds) in times {
        if !SECONDS.contains(seconds) {
            return Err(format!("{what} of {} s is out of range", short(*seconds)));
        }
    }
    for part in &start.causes {
        validate_cause(part.cause.as_str(), part.seconds)?;
    }
    Ok(())
}

/// Returns an error if the time of a cause is out of range; 0 is valid.
fn validate_cause(cause: &str, seconds: f64) -> Result<(), String> {
    match (0.0..SECONDS.end).contains(&seconds) {
        true => Ok(()),
        false => Err(format!("{cause} of {} s is out of range", short(seconds))),
    }
}

/// Returns an error if a measurement of remedies cannot have a value.
fn validate_measurement(report: &TriedReport) -> Result<(), String> {
    for variant in &report.variants {
        let times = variant.time_to_first.iter().map(|time| &time.value);
        for seconds in variant.values.iter().chain(times) {
            if !SECONDS.contains(seconds) {
                let seconds = short(*seconds);
                return Err(format!("time_to_first of {seconds} s is out of range"));
            }
        }
        for part in &variant.causes {
            validate_cause(part.cause.as_str(), part.seconds)?;
        }
    }
    Ok(())
}

/// Formats a number in scientific notation if it would have many digits.
fn short(number: f64) -> String {
    match (1e-3..1e9).contains(&number.abs()) || number == 0.0 {
        true => number.to_string(),
        false => format!("{number:e}"),
    }
}

#[cfg(test)]
mod tests {
    use preheat_analyze::check;
    use preheat_analyze::compare::{RunInput, Settings, compare_labs, compare_runs};
    use preheat_model::compare::CompareKind;
    use preheat_model::stats::Rng;

    use super::*;

    /// Values, valid and invalid, to put in place of a number in the document.
    const OTHERS: [&str; 12] = [
        "0", "-1", "1e300", "-1e300", "1e-300", "1e999", "null", "true", "\"x\"", "[]", "{}", "",
    ];

    /// The document with one number or one byte replaced, or truncated.
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
                let at = text.ceil_char_boundary(at);
                let Some(found) = text[at..].find(|c: char| c.is_ascii_digit()) else {
                    return text.to_owned();
                };
                let begin = text[..at + found]
                    .char_indices()
                    .rfind(|(_, c)| !is_number(*c))
                    .map_or(0, |(at, c)| at + c.len_utf8());
                let end = text[begin..]
                    .find(|c| !is_number(c))
                    .map_or(text.len(), |length| begin + length);
                let other = OTHERS[rng.below(OTHERS.len())];
                format!("{}{other}{}", &text[..begin], &text[end..])
            }
        }
    }

    #[test]
    fn results_of_earlier_versions_are_read() {
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
        let mut directories = vec![results];
        let (mut runs, mut others) = (0, 0);
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    directories.push(path);
                    continue;
                }
                let is_json = path.extension().is_some_and(|name| name == "json");
                let text = fs::read_to_string(&path).unwrap_or_default();
                if !is_json || !SCHEMAS.iter().any(|schema| text.contains(schema)) {
                    continue;
                }
                match parse(&path, &text).unwrap_or_else(|why| panic!("{why}")) {
                    AnySaved::Result(Saved::Run(report)) => {
                        assert_eq!(report.schema, RUN_SCHEMA);
                        runs += 1;
                    }
                    _ => others += 1,
                }
            }
        }
        assert!(runs > 20 && others > 5, "{runs} runs and {others} others");
    }

    #[test]
    fn damaged_documents_are_rejected_or_analyzed_without_panics() {
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/h200");
        let mut rng = Rng::new(7);
        let (mut rejected, mut accepted) = (0, 0);
        for (name, count) in [
            ("linear.json", 400),
            ("lab.json", 40),
            ("start-linear.json", 400),
            ("compare-warm-up.json", 400),
        ] {
            let text = fs::read_to_string(results.join(name)).unwrap();
            for _ in 0..count {
                let text = mutated(&text, &mut rng);
                match parse(Path::new(name), &text) {
                    Err(why) => {
                        rejected += 1;
                        let why = why
                            .downcast_ref::<Usage>()
                            .expect("it is a usage error")
                            .to_string();
                        assert!(why.starts_with(name) && why.len() < 600, "{why}");
                    }
                    Ok(saved) => {
                        accepted += 1;
                        analyze(&saved);
                    }
                }
            }
        }
        println!("{rejected} rejected, {accepted} accepted");
        assert!(rejected > 50 && accepted > 50);
    }

    /// Compares, checks or renders a document with arbitrary values.
    fn analyze(saved: &AnySaved) {
        let saved = match saved {
            AnySaved::Result(saved) => saved,
            AnySaved::Measurement(report) => return drop(preheat_report::tried_html(report)),
            AnySaved::Comparison(report) => {
                return drop(preheat_report::compare_html(report, None, None));
            }
        };
        match saved {
            Saved::Run(report) => {
                let input = RunInput {
                    source: "",
                    report,
                    behind: None,
                };
                compare_runs(&input, &input, &Settings::new(CompareKind::Runs, ""));
                // A report without times gives an error instead of a budget.
                let _ = check::draft(report, 0.25);
                check::measured(report);
            }
            Saved::Lab(report) => {
                let settings = Settings::new(CompareKind::Lab, "");
                compare_labs(("", report), ("", report), &settings);
            }
            Saved::Recording(_) => {}
        }
    }
}
