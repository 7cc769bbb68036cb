//! `preheat check --init`: writes a budget derived from a recording.

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
        return Err(already_exists(path).into());
    }
    let report = super::read(arguments)?;
    let draft = draft(&report, arguments.headroom).map_err(|why| {
        Usage(format!(
            "cannot derive a budget from {}: {why}",
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
            "Wrote {}: {} limits, {:.0} % above the measured values.\nCheck them with `preheat check {recording}{budget}`.\n",
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
            .with_context(|| format!("could not write {}", path.display()));
    }
    // Another process may have created it since.
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    match file.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(()),
        Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(already_exists(path).into())
        }
        Err(why) => Err(Usage(format!(
            "cannot write {}: {why}; use --budget to choose another file",
            path.display()
        ))
        .into()),
    }
}

fn already_exists(path: &Path) -> Usage {
    Usage(format!(
        "{} already exists; use --force to overwrite it or --budget to choose another file",
        path.display()
    ))
}
