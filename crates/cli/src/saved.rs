//! Reads saved results: the directory of a recording, or a document written by `--json`.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Result;
use preheat_analyze::lab;
use preheat_analyze::run::{self, Findings};
use preheat_model::Document;
use preheat_model::compare::CompareReport;
use preheat_model::lab::{LabReport, Measured};
use preheat_model::measurement::MeasurementReport;
use preheat_model::run::{IterationRule, Recording};

use crate::exit::Usage;

/// A saved result.
pub enum Saved {
    /// A recording, analyzed again.
    Recording(Box<AnalyzedRecording>),
    /// A document, with the findings of the preheat that wrote it. Lab results are analyzed
    /// again.
    Document(Document),
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

/// The error where a single result is needed: `report` compares two.
pub fn is_comparison(path: &Path, report: &CompareReport) -> Usage {
    Usage(format!(
        "{} is a comparison: name one of the results it compares, such as {}, or show it \
         with `preheat report`",
        path.display(),
        report.base.source,
    ))
}

/// The error where a single result is needed: `report` covers several recordings.
pub fn is_measurement(path: &Path, report: &MeasurementReport) -> Usage {
    let plain = report.configurations.first();
    let plain = plain.map_or("plain", |configuration| &*configuration.recording);
    Usage(format!(
        "{} is a measurement of remedies: name one of its recordings, such as {plain}",
        path.display()
    ))
}

/// Reads a result (`-` is standard input). `iterations` overrides how the iterations of a
/// recording are detected.
pub fn read(path: &Path, iterations: Option<&IterationRule>) -> Result<Saved> {
    let measurement = path.join(MEASUREMENT);
    if iterations.is_none() && measurement.is_file() {
        return read_document(&measurement);
    }
    if is_recording(path) {
        let recorded = read_recording(path, iterations)?;
        return Ok(Saved::Recording(Box::new(recorded)));
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

fn read_recording(path: &Path, iterations: Option<&IterationRule>) -> Result<AnalyzedRecording> {
    let mut recording = preheat_trace::read(path).map_err(|why| Usage(why.to_string()))?;
    if let Some(how) = iterations {
        let is_lines = matches!(how, IterationRule::Lines(_));
        if is_lines && *how != recording.manifest.settings.iterations {
            return Err(Usage(
                "lines are matched while the program runs: record again with this --iterations"
                    .into(),
            )
            .into());
        }
        recording.manifest.settings.iterations = how.clone();
    }
    let findings = run::analyze(&recording);
    Ok(AnalyzedRecording {
        recording,
        findings,
    })
}

fn read_document(path: &Path) -> Result<Saved> {
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
fn parse(path: &Path, text: &str) -> Result<Saved> {
    let document =
        Document::parse(text).map_err(|problem| Usage(format!("{} {problem}", path.display())))?;
    Ok(Saved::Document(match document {
        Document::Lab(report) => Document::Lab(Box::new(analyze_lab(path, &report)?)),
        other => other,
    }))
}

/// Analyzes the raw values again, with the statistics of this version. `preheat` stays the
/// version that measured.
fn analyze_lab(path: &Path, saved: &LabReport) -> Result<LabReport> {
    let analyzed = lab::analyze(&Measured::from_report(saved), &saved.preheat);
    Ok(analyzed.ok_or_else(|| Usage(format!("{} lists no device", path.display())))?)
}

#[cfg(test)]
mod tests {
    use preheat_analyze::check;
    use preheat_analyze::compare::{RunInput, Settings, compare_labs, compare_runs};
    use preheat_model::compare::CompareKind;
    use preheat_model::run::RUN_SCHEMA;
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
                let families = ["run", "lab", "compare", "start"];
                let is_document = |text: &str| {
                    families
                        .iter()
                        .any(|name| text.contains(&format!("\"preheat.{name}/")))
                };
                if !is_json || !is_document(&text) {
                    continue;
                }
                match parse(&path, &text).unwrap_or_else(|why| panic!("{why}")) {
                    Saved::Document(Document::Run(report)) => {
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
    fn analyze(saved: &Saved) {
        let Saved::Document(document) = saved else {
            return;
        };
        match document {
            Document::Measurement(report) => drop(preheat_report::measurement_html(report)),
            Document::Comparison(report) => {
                drop(preheat_report::compare_html(report, None, None));
            }
            Document::Run(report) => {
                let input = RunInput {
                    source: "",
                    report,
                    all_items: None,
                };
                compare_runs(&input, &input, &Settings::new(CompareKind::Runs, ""));
                // A report without times gives an error instead of a budget.
                let _ = check::draft(report, 0.25);
                check::measured(report);
            }
            Document::Lab(report) => {
                let settings = Settings::new(CompareKind::Lab, "");
                compare_labs(("", report), ("", report), &settings);
            }
        }
    }
}
