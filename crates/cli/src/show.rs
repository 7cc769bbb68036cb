//! A finished report to wherever it was asked for.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use preheat_analyze::lab::LabReport;
use preheat_report::{lab_html, lab_json, lab_terminal};

use crate::exit::Usage;
use crate::output::{Target, print};
use crate::terminal;

/// The flags that say where a report goes beside the terminal.
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// Write the result as JSON (preheat.lab/1); - for standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the result as one HTML page; - for standard output
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Where a report goes, known to be writable.
pub struct Targets {
    json: Option<Target>,
    html: Option<Target>,
}

impl Targets {
    /// The places that the flags name.
    pub fn open(arguments: &ShowArguments) -> Result<Targets> {
        if let (Some(json), Some(html)) = (&arguments.json, &arguments.html)
            && same_place(json, html)
        {
            return Err(Usage("--json and --html name one place; give each its own".into()).into());
        }
        let target = |flag, path: &Option<PathBuf>| {
            path.as_deref()
                .map(|path| Target::open(flag, path))
                .transpose()
        };
        Ok(Targets {
            json: target("--json", &arguments.json)?,
            html: target("--html", &arguments.html)?,
        })
    }

    /// Write the files and show the report on the terminal. Each is tried even if another
    /// fails: what was measured is kept.
    pub fn show(&self, report: &LabReport) -> Result<()> {
        // Files first: a terminal that is gone must not cost them.
        let written = [
            self.json
                .as_ref()
                .map(|target| target.write(&lab_json(report))),
            self.html
                .as_ref()
                .map(|target| target.write(&lab_html(report))),
        ];
        let shown = lab_terminal(report, &terminal::of_stdout());
        let targets = [&self.json, &self.html].into_iter().flatten();
        let printed = if targets.into_iter().any(Target::is_stdout) {
            let _ = io::stderr().write_all(shown.as_bytes());
            Ok(())
        } else {
            print(&shown)
        };
        written.into_iter().flatten().chain([printed]).collect()
    }
}

/// Whether both paths name one file, there or not yet there.
fn same_place(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        fs::canonicalize(path).or_else(|_| {
            let parent = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            let parent = fs::canonicalize(parent.unwrap_or(Path::new(".")))?;
            Ok::<_, io::Error>(parent.join(path.file_name().unwrap_or_default()))
        })
    };
    a == b || matches!((place(a), place(b)), (Ok(a), Ok(b)) if a == b)
}
