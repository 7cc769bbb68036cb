//! The directory of a recording: creates and describes it, and checks what a start has left
//! there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use preheat_model::run::{Manifest, RECORDING_SCHEMA, RunSettings, Timers};

use crate::request::DEFAULT_STARTS;
use crate::{LaunchError, Request, inject, manifest};

/// The process files that a start has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// One of the command's process.
    ByCommand,
    /// Only those of other processes that it started.
    ByOthers,
    /// None.
    Nothing,
}

impl Left {
    /// Inspects the directory of a start; `pid` is the command's process.
    pub(crate) fn in_directory(directory: &Path, pid: u32) -> Left {
        let own = format!("{pid}-");
        let mut left = Left::Nothing;
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.ends_with(".process") && name.starts_with(&own) {
                return Left::ByCommand;
            }
            if name.ends_with(".process") && name != "launcher.process" {
                left = Left::ByOthers;
            }
        }
        left
    }
}

/// Creates an empty directory for the recording. Returns its absolute path, since the
/// command may change directories.
pub(crate) fn prepare(output: &Path) -> Result<PathBuf, LaunchError> {
    let output = std::path::absolute(output).map_err(|why| cannot_create(output, &why))?;
    fs::create_dir_all(&output).map_err(|why| cannot_create(&output, &why))?;
    let mut entries = fs::read_dir(&output).map_err(|why| cannot_create(&output, &why))?;
    if entries.next().is_some() {
        return Err(LaunchError::Usage(format!(
            "{} is not empty; a recording needs an empty directory",
            output.display()
        )));
    }
    Ok(output)
}

/// The error if nothing can be recorded there.
pub(crate) fn cannot_create(directory: &Path, why: &io::Error) -> LaunchError {
    LaunchError::Failed(format!(
        "cannot write the recording to {}: {why}; choose another directory with --output",
        directory.display()
    ))
}

/// The manifest before the first start.
pub(crate) fn describe(request: &Request<'_>) -> Manifest {
    let directory = std::env::current_dir().unwrap_or_default();
    let text = |text: &std::ffi::OsString| text.to_string_lossy().into_owned();
    Manifest {
        schema: RECORDING_SCHEMA.to_owned(),
        preheat: request.preheat.clone(),
        created: request.created.clone(),
        command: request.command.iter().map(text).collect(),
        directory: directory.display().to_string(),
        machine: request.machine.clone(),
        settings: RunSettings {
            iterations: request.iterations.clone(),
            starts: request.starts.unwrap_or(DEFAULT_STARTS).max(1),
            seed: request.seed,
            limit: request.limit,
            synchronize: request.synchronize,
            ended_early: None,
        },
        environment: manifest::environment(std::env::vars_os()),
        starts: Vec::new(),
        timers: Timers::default(),
        started_plainly: None,
        optional_imports: Vec::new(),
        shared_imports: Vec::new(),
        notes: inject::notes(|name| std::env::var_os(name)),
    }
}
