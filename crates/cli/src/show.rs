//! A finished report to wherever it was asked for.

use std::path::PathBuf;

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
        if arguments.json.is_some() && arguments.json == arguments.html {
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
            eprint!("{shown}");
            Ok(())
        } else {
            print(&shown)
        };
        written.into_iter().flatten().chain([printed]).collect()
    }
}
