//! `preheat report`: a kept result, shown again.

use std::process::ExitCode;

use anyhow::Result;

use crate::args::ReportArguments;
use crate::exit::Usage;
use crate::kept::{self, Any, Kept};
use crate::show::Targets;

pub fn run(arguments: &ReportArguments) -> Result<ExitCode> {
    let path = &arguments.file;
    let kept = kept::read_any(path, arguments.iterations.as_deref())?;
    let (csv, perfetto) = match &kept {
        Any::Kept(Kept::Recording(_)) => (true, true),
        Any::Kept(Kept::Run(_)) => (true, false),
        Any::Kept(Kept::Lab(_)) | Any::Tried(_) => (false, false),
    };
    for (flag, possible, given) in [
        ("--csv", csv, arguments.export.csv.is_some()),
        ("--perfetto", perfetto, arguments.export.perfetto.is_some()),
    ] {
        if given && !possible {
            return Err(Usage(format!(
                "{flag} is for recordings of `preheat run`, and {} is none",
                path.display()
            ))
            .into());
        }
    }
    let targets = Targets::open(&arguments.show, Some(&arguments.export))?;
    match &kept {
        Any::Kept(Kept::Recording(of)) => targets.show_run(&of.recording, &of.findings)?,
        Any::Kept(Kept::Run(report)) => targets.show_run_document(report)?,
        Any::Kept(Kept::Lab(report)) => targets.show_lab(report)?,
        Any::Tried(report) => targets.show_tried(report)?,
    }
    Ok(ExitCode::SUCCESS)
}
