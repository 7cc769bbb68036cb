//! `preheat report`: shows a saved result again.

use std::process::ExitCode;

use anyhow::Result;

use crate::args::ReportArguments;
use crate::exit::Usage;
use crate::kept::{self, AnySaved, Saved};
use crate::show::{Targets, send};

pub fn run(arguments: &ReportArguments) -> Result<ExitCode> {
    let path = &arguments.file;
    let saved = kept::read_any(path, arguments.iterations.as_deref())?;
    let (csv, perfetto) = match &saved {
        AnySaved::Result(Saved::Recording(_)) => (true, true),
        AnySaved::Result(Saved::Run(_)) => (true, false),
        AnySaved::Result(Saved::Lab(_)) | AnySaved::Measurement(_) => (false, false),
    };
    for (flag, possible, given) in [
        ("--csv", csv, arguments.export.csv.is_some()),
        ("--perfetto", perfetto, arguments.export.perfetto.is_some()),
        (
            "--speedscope",
            perfetto,
            arguments.export.speedscope.is_some(),
        ),
        ("--otlp", perfetto, arguments.export.otlp.is_some()),
    ] {
        if given && !possible {
            return Err(Usage(format!(
                "{flag} needs a recording made by `preheat run`, and {} is not one",
                path.display()
            ))
            .into());
        }
    }
    let targets = Targets::open(&arguments.show, Some(&arguments.export))?;
    match &saved {
        AnySaved::Result(Saved::Recording(of)) => {
            targets.show_run(&of.recording, &of.findings)?;
            send(&arguments.export, &of.recording, &of.findings)?;
        }
        AnySaved::Result(Saved::Run(report)) => targets.show_run_document(report)?,
        AnySaved::Result(Saved::Lab(report)) => targets.show_lab(report)?,
        AnySaved::Measurement(report) => targets.show_tried(report)?,
    }
    Ok(ExitCode::SUCCESS)
}
