//! Writes a finished report to the files and the terminal.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use preheat_analyze::run::{Findings, span_causes};
use preheat_model::lab::LabReport;
use preheat_model::run::{Recording, RunReport, RunView};
use preheat_model::tried::TriedReport;
use preheat_report::{lab_html, lab_json, lab_terminal};
use preheat_report::{run_csv, run_html, run_json, run_otlp, run_perfetto, run_speedscope};
use preheat_report::{tried_html, tried_json};

use crate::exit::Usage;
use crate::otlp::{Collector, collector};
use crate::output::{Target, print};
use crate::terminal;

/// The flags for output files of any result.
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// Write the result as JSON; - for standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the result as a self-contained HTML page; - for standard output
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// The flags for output files that need a recording.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// Write causes and iterations of every start as CSV; - for standard output
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Write every recorded span as a trace for ui.perfetto.dev; - for standard output
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,

    /// Write causes and recorded spans as profiles for speedscope.app; - for standard output
    #[arg(long, value_name = "FILE")]
    pub speedscope: Option<PathBuf>,

    /// Send the start that the report shows as spans to an OpenTelemetry collector (OTLP over HTTP, such as http://localhost:4318)
    #[arg(long, value_name = "URL", value_parser = collector)]
    pub otlp: Option<Collector>,
}

/// The destinations of a result, each checked to be writable, with the flag that named it.
pub struct Targets(Vec<(&'static str, Target)>);

impl Targets {
    /// The destinations named by the flags of `lab` and `run`.
    pub fn open(show: &ShowArguments, export: Option<&ExportArguments>) -> Result<Targets> {
        let export =
            |of: fn(&ExportArguments) -> &Option<PathBuf>| export.and_then(|e| of(e).as_deref());
        Targets::of(&[
            ("--json", show.json.as_deref()),
            ("--html", show.html.as_deref()),
            ("--csv", export(|export| &export.csv)),
            ("--perfetto", export(|export| &export.perfetto)),
            ("--speedscope", export(|export| &export.speedscope)),
        ])
    }

    /// The destinations named by the given flags; flags without a path are skipped.
    pub fn of(flags: &[(&'static str, Option<&Path>)]) -> Result<Targets> {
        let given: Vec<(&'static str, &Path)> = flags
            .iter()
            .filter_map(|(flag, path)| Some((*flag, (*path)?)))
            .collect();
        for (at, (flag, path)) in given.iter().enumerate() {
            if let Some((other, _)) = given[..at].iter().find(|(_, other)| same_file(path, other)) {
                return Err(Usage(format!("{other} and {flag} point to the same file")).into());
            }
        }
        let opened = given
            .into_iter()
            .map(|(flag, path)| Ok((flag, Target::open(flag, path)?)));
        Ok(Targets(opened.collect::<Result<_>>()?))
    }

    /// Fails if a destination is also one of the inputs.
    pub fn spare<'a>(&self, inputs: impl IntoIterator<Item = &'a Path>) -> Result<()> {
        for input in inputs {
            let over = self.0.iter().find(|(_, target)| match target {
                Target::File(path) => same_file(path, input),
                Target::Stdout => false,
            });
            if let Some((flag, _)) = over {
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

    /// Writes a lab result to the files, then to the terminal. Every destination is
    /// attempted even if another fails, so that the measurements are not lost.
    pub fn show_lab(&self, report: &LabReport) -> Result<()> {
        let written = self.write_lab(report);
        // Write files first, so that a closed terminal does not lose them.
        let printed = self.print(&lab_terminal(report, &terminal::of_stdout()));
        written.and(printed)
    }

    /// Writes a lab result to the files only.
    pub fn write_lab(&self, report: &LabReport) -> Result<()> {
        self.write(|flag| match flag {
            "--json" => lab_json(report).into_bytes(),
            _ => lab_html(report).into_bytes(),
        })
    }

    /// Writes the report of a recording to the files only.
    pub fn write_run(&self, recording: &Recording, findings: &Findings) -> Result<()> {
        self.write(|flag| match flag {
            "--json" => run_json(&findings.report).into_bytes(),
            "--html" => run_html(&findings.report, &findings.view).into_bytes(),
            "--csv" => run_csv(&findings.report).into_bytes(),
            "--speedscope" => {
                run_speedscope(recording, &findings.starts, findings.view.start).into_bytes()
            }
            _ => {
                let mut trace = Vec::new();
                // Writing to memory cannot fail.
                let _ = run_perfetto(recording, &findings.starts, span_causes, &mut trace);
                trace
            }
        })
    }

    /// Writes the document of a run, which has no timelines and no import tree, to the
    /// files only.
    pub fn write_run_document(&self, report: &RunReport) -> Result<()> {
        self.write(|flag| match flag {
            "--json" => run_json(report).into_bytes(),
            "--html" => run_html(report, &RunView::default()).into_bytes(),
            _ => run_csv(report).into_bytes(),
        })
    }

    /// Writes a measurement of remedies to the files only.
    pub fn write_tried(&self, report: &TriedReport) -> Result<()> {
        self.write(|flag| match flag {
            "--json" => tried_json(report).into_bytes(),
            _ => tried_html(report).into_bytes(),
        })
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

    /// Writes to every target what `render` returns for its flag.
    pub fn write(&self, render: impl Fn(&str) -> Vec<u8>) -> Result<()> {
        let written: Vec<Result<()>> = (self.0.iter())
            .map(|(flag, target)| target.write(&render(flag)))
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
    let Some(request) = run_otlp(recording, &findings.starts, starts, shown) else {
        bail!("--otlp: the recording has no start that could be sent");
    };
    collector.send(&request.body)?;
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
