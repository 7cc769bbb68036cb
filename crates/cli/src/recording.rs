//! `preheat report RECORDING`: a recording, analysed and shown again.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use preheat_analyze::run::analyze;

use crate::args::ReportArguments;
use crate::exit::Usage;
use crate::show::Targets;

/// Whether this is to be read as a recording: a directory, or the head of one.
pub fn is_one(path: &Path) -> bool {
    path.is_dir()
        || path
            .file_name()
            .is_some_and(|name| name == "recording.json")
}

pub fn report(arguments: &ReportArguments) -> Result<ExitCode> {
    let mut recording =
        preheat_trace::read(&arguments.file).map_err(|why| Usage(why.to_string()))?;
    if let Some(how) = &arguments.iterations {
        if how.starts_with("lines:") && *how != recording.manifest.settings.iterations {
            return Err(Usage(
                "lines are matched while the program runs: record again with that --iterations"
                    .into(),
            )
            .into());
        }
        recording.manifest.settings.iterations.clone_from(how);
    }
    let targets = Targets::open(&arguments.show, Some(&arguments.export))?;
    let findings = analyze(&recording);
    targets.show_run(&recording, &findings)?;
    Ok(ExitCode::SUCCESS)
}
