//! `preheat check --init`: a budget from a recording.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use preheat_analyze::check::draft;
use preheat_report::check_draft;

use super::budget::USUAL;
use crate::args::CheckArguments;
use crate::exit::Usage;
use crate::output::print;

pub fn run(arguments: &CheckArguments) -> Result<ExitCode> {
    let path = arguments.budget.as_deref().unwrap_or(Path::new(USUAL));
    let to_stdout = path == Path::new("-");
    if !to_stdout && !arguments.force && fs::symlink_metadata(path).is_ok() {
        return Err(taken(path).into());
    }
    let report = super::read(arguments)?;
    let draft = draft(&report, arguments.headroom).map_err(|why| {
        Usage(format!(
            "no budget can be made from {}: {why}",
            arguments.recording.display()
        ))
    })?;
    let text = check_draft(&draft, &report);
    if to_stdout {
        print(text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    write(path, &text, arguments.force)?;
    let recording = arguments.recording.display();
    let budget = match &arguments.budget {
        Some(path) => format!(" --budget {}", path.display()),
        None => String::new(),
    };
    print(
        format!(
            "{} is written: {} limits, {:.0} % above what was measured.\n`preheat check {recording}{budget}` checks them.\n",
            path.display(),
            draft.lines.len(),
            draft.headroom * 100.0,
        )
        .as_bytes(),
    )?;
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, text: &str, force: bool) -> Result<()> {
    if force {
        return fs::write(path, text)
            .with_context(|| format!("{} could not be written", path.display()));
    }
    // Somebody else may have made it since.
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    match file.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(()),
        Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => Err(taken(path).into()),
        Err(why) => Err(Usage(format!(
            "{} cannot be written: {why}; --budget names another file",
            path.display()
        ))
        .into()),
    }
}

fn taken(path: &Path) -> Usage {
    Usage(format!(
        "{} is there already; --force overwrites it, --budget names another file",
        path.display()
    ))
}
