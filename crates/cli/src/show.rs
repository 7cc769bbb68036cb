//! Writes a finished report to the files and the terminal.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use preheat_analyze::run::{Findings, span_causes};
use preheat_model::compare::CompareReport;
use preheat_model::lab::LabReport;
use preheat_model::measurement::MeasurementReport;
use preheat_model::run::{Recording, RunReport, RunView};
use preheat_report::{
    compare_html, compare_json, lab_html, lab_json, lab_terminal, measurement_html,
    measurement_json, run_csv, run_html, run_json, run_otlp, run_perfetto, run_speedscope,
};

use crate::exit::Usage;
use crate::otlp::{Collector, collector};
use crate::output::{Target, print, stdout_terminal};
use crate::{otlp, run};

/// The flags for output files of any result.
#[derive(Clone, Debug, Args)]
pub struct ShowArguments {
    /// Write the result as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the result as a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// The flags for output files that need a recording.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// Write causes and iterations of every start as CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Write every recorded span as a trace for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,

    /// Write causes and recorded spans as profiles for speedscope.app
    #[arg(long, value_name = "FILE")]
    pub speedscope: Option<PathBuf>,

    /// Send, as spans, the start shown in the report to an OpenTelemetry collector (OTLP over HTTP, such as http://localhost:4318)
    #[arg(long, value_name = "URL", value_parser = collector)]
    pub otlp: Option<Collector>,
}

impl ExportArguments {
    /// The first given flag that needs a recording.
    pub fn needs_recording(&self) -> Option<&'static str> {
        let given = [
            ("--perfetto", self.perfetto.is_some()),
            ("--speedscope", self.speedscope.is_some()),
            ("--otlp", self.otlp.is_some()),
        ];
        given
            .into_iter()
            .find_map(|(flag, given)| given.then_some(flag))
    }

    /// The first given flag that needs a recording, or the document of a run.
    pub fn needs_run(&self) -> Option<&'static str> {
        let csv = self.csv.is_some().then_some("--csv");
        csv.or_else(|| self.needs_recording())
    }
}

/// The formats of result files, each named by a flag. A verb declares its formats as an enum,
/// so that the compiler finds a format that is not rendered.
pub trait Format: Copy {
    /// The flag that names the file.
    fn flag(self) -> &'static str;
}

/// The formats of every result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentFormat {
    Json,
    Html,
}

impl Format for DocumentFormat {
    fn flag(self) -> &'static str {
        match self {
            DocumentFormat::Json => "--json",
            DocumentFormat::Html => "--html",
        }
    }
}

/// The formats of a recorded run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunFormat {
    Json,
    Html,
    Csv,
    Perfetto,
    Speedscope,
}

impl Format for RunFormat {
    fn flag(self) -> &'static str {
        match self {
            RunFormat::Json => "--json",
            RunFormat::Html => "--html",
            RunFormat::Csv => "--csv",
            RunFormat::Perfetto => "--perfetto",
            RunFormat::Speedscope => "--speedscope",
        }
    }
}

/// The formats of the document of a run without its recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunDocumentFormat {
    Json,
    Html,
    Csv,
}

impl Format for RunDocumentFormat {
    fn flag(self) -> &'static str {
        match self {
            RunDocumentFormat::Json => "--json",
            RunDocumentFormat::Html => "--html",
            RunDocumentFormat::Csv => "--csv",
        }
    }
}

/// The destinations of a result, each checked to be writable, with its format.
pub struct Targets<F>(Vec<(F, Target)>);

impl Targets<RunFormat> {
    /// The destinations named by the flags of `run`.
    pub fn of_run(show: &ShowArguments, export: &ExportArguments) -> Result<Targets<RunFormat>> {
        Targets::of(&[
            (RunFormat::Json, show.json.as_deref()),
            (RunFormat::Html, show.html.as_deref()),
            (RunFormat::Csv, export.csv.as_deref()),
            (RunFormat::Perfetto, export.perfetto.as_deref()),
            (RunFormat::Speedscope, export.speedscope.as_deref()),
        ])
    }

    /// Writes the report of a recording to the files only.
    pub fn write_run(&self, recording: &Recording, findings: &Findings) -> Result<()> {
        self.write(|format| match format {
            RunFormat::Json => run_json(&findings.report).into_bytes(),
            RunFormat::Html => run_html(&findings.report, &findings.view).into_bytes(),
            RunFormat::Csv => run_csv(&findings.report).into_bytes(),
            RunFormat::Speedscope => {
                run_speedscope(recording, &findings.starts, findings.view.start).into_bytes()
            }
            RunFormat::Perfetto => {
                let mut trace = Vec::new();
                // Writing to memory cannot fail.
                let _ = run_perfetto(recording, &findings.starts, span_causes, &mut trace);
                trace
            }
        })
    }
}

impl Targets<RunDocumentFormat> {
    /// The destinations named by the flags of `report` for a document of a run.
    pub fn of_run_document(
        show: &ShowArguments,
        export: &ExportArguments,
    ) -> Result<Targets<RunDocumentFormat>> {
        Targets::of(&[
            (RunDocumentFormat::Json, show.json.as_deref()),
            (RunDocumentFormat::Html, show.html.as_deref()),
            (RunDocumentFormat::Csv, export.csv.as_deref()),
        ])
    }

    /// Writes the document of a run, which has no timelines and no import tree, to the
    /// files only.
    pub fn write_run_document(&self, report: &RunReport) -> Result<()> {
        self.write(|format| match format {
            RunDocumentFormat::Json => run_json(report).into_bytes(),
            RunDocumentFormat::Html => run_html(report, &RunView::default()).into_bytes(),
            RunDocumentFormat::Csv => run_csv(report).into_bytes(),
        })
    }
}

impl Targets<DocumentFormat> {
    /// The destinations named by `--json` and `--html`.
    pub fn of_document(show: &ShowArguments) -> Result<Targets<DocumentFormat>> {
        Targets::of(&[
            (DocumentFormat::Json, show.json.as_deref()),
            (DocumentFormat::Html, show.html.as_deref()),
        ])
    }

    /// Writes a lab result to the files, then to the terminal. Every destination is
    /// attempted even if another fails, so that the measurements are not lost.
    pub fn show_lab(&self, report: &LabReport) -> Result<()> {
        let written = self.write_lab(report);
        // Write files first, so that a closed terminal does not lose them.
        let printed = self.print(&lab_terminal(report, &stdout_terminal()));
        written.and(printed)
    }

    /// Writes a lab result to the files only.
    pub fn write_lab(&self, report: &LabReport) -> Result<()> {
        self.write(|format| match format {
            DocumentFormat::Json => lab_json(report).into_bytes(),
            DocumentFormat::Html => lab_html(report).into_bytes(),
        })
    }

    /// Writes a comparison to the files only; `views` are the timelines of both sides.
    pub fn write_comparison(
        &self,
        report: &CompareReport,
        [base, new]: [Option<&RunView>; 2],
    ) -> Result<()> {
        self.write(|format| match format {
            DocumentFormat::Json => compare_json(report).into_bytes(),
            DocumentFormat::Html => compare_html(report, base, new).into_bytes(),
        })
    }

    /// Writes a measurement of remedies to the files only.
    pub fn write_measurement(&self, report: &MeasurementReport) -> Result<()> {
        self.write(|format| match format {
            DocumentFormat::Json => measurement_json(report).into_bytes(),
            DocumentFormat::Html => measurement_html(report).into_bytes(),
        })
    }
}

impl<F: Format> Targets<F> {
    /// The destinations of the formats; those without a path are skipped.
    pub fn of(formats: &[(F, Option<&Path>)]) -> Result<Targets<F>> {
        let given: Vec<(F, &Path)> = formats
            .iter()
            .filter_map(|(format, path)| Some((*format, (*path)?)))
            .collect();
        for (at, (format, path)) in given.iter().enumerate() {
            if let Some((other, _)) = given[..at].iter().find(|(_, other)| same_file(path, other)) {
                let (other, flag) = (other.flag(), format.flag());
                return Err(Usage(format!("{other} and {flag} point to the same file")).into());
            }
        }
        let opened = given
            .into_iter()
            .map(|(format, path)| Ok((format, Target::open(format.flag(), path)?)));
        Ok(Targets(opened.collect::<Result<_>>()?))
    }

    /// Fails if a destination is also one of the inputs.
    pub fn spare<'a>(&self, inputs: impl IntoIterator<Item = &'a Path>) -> Result<()> {
        for input in inputs {
            let over = self.0.iter().find(|(_, target)| match target {
                Target::File(path) => same_file(path, input),
                Target::Stdout => false,
            });
            if let Some((format, _)) = over {
                let flag = format.flag();
                return Err(Usage(format!(
                    "{flag} would overwrite the input {}; choose another file",
                    input.display()
                ))
                .into());
            }
        }
        Ok(())
    }

    /// Returns true if a document is written to standard output.
    pub fn use_stdout(&self) -> bool {
        self.0.iter().any(|(_, target)| target.is_stdout())
    }

    /// Prints a saved result or, if it was written to files, their names.
    pub fn print_or_name_files(&self, text: impl FnOnce() -> String) -> Result<()> {
        match self.0.is_empty() {
            true => self.print(&text()),
            false => self.print(&self.files()),
        }
    }

    /// A line for each file that was written.
    pub fn files(&self) -> String {
        let files = self.0.iter().filter_map(|(_, target)| match target {
            Target::File(path) => Some(format!("wrote {}\n", path.display())),
            Target::Stdout => None,
        });
        files.collect()
    }

    /// Writes to every target what `render` returns for its format.
    pub fn write(&self, render: impl Fn(F) -> Vec<u8>) -> Result<()> {
        let written: Vec<Result<()>> = (self.0.iter())
            .map(|(format, target)| target.write(&render(*format)))
            .collect();
        written.into_iter().collect()
    }

    /// Prints the terminal report: to standard output, or to standard error if a document
    /// is written to standard output.
    pub fn print(&self, text: &str) -> Result<()> {
        if self.use_stdout() {
            let _ = io::stderr().write_all(text.as_bytes());
            Ok(())
        } else {
            print(text.as_bytes())
        }
    }
}

/// Sends the start that the report shows to the collector, if there is one. Returns the line
/// that reports it.
pub fn send(
    export: &ExportArguments,
    recording: &Recording,
    findings: &Findings,
) -> Result<String> {
    let Some(collector) = &export.otlp else {
        return Ok(String::new());
    };
    let (starts, shown) = (&findings.report.starts, findings.view.start);
    let command: Vec<OsString> = recording.manifest.command.iter().map(Into::into).collect();
    let resource = otlp::attributes(&run::name(&command)).context("no spans were sent")?;
    let headers = otlp::headers().context("no spans were sent")?;
    let Some(request) = run_otlp(recording, &findings.starts, starts, shown, &resource) else {
        bail!("--otlp: the recording has no start that could be sent");
    };
    collector.send(&headers, &request.body)?;
    Ok(format!("sent {} spans to {collector}\n", request.spans))
}

/// Returns true if both paths name the same file, even if it does not exist yet.
fn same_file(a: &Path, b: &Path) -> bool {
    let resolve = |path: &Path| {
        fs::canonicalize(path).or_else(|_| {
            let parent = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            let parent = fs::canonicalize(parent.unwrap_or(Path::new(".")))?;
            Ok::<_, io::Error>(parent.join(path.file_name().unwrap_or_default()))
        })
    };
    a == b || matches!((resolve(a), resolve(b)), (Ok(a), Ok(b)) if a == b)
}
