//! The inputs of `preheat classify`: files and standard input.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::exit::Usage;

/// A file, or standard input.
pub(super) enum Input {
    Stdin,
    File(PathBuf),
}

impl Input {
    /// The named files, or standard input if none is named and it is not a terminal.
    pub fn of(files: &[PathBuf]) -> Result<Vec<Input>> {
        if files.is_empty() {
            if io::stdin().is_terminal() {
                return Err(Usage(
                    "name files with iteration times, or pipe them in, one number per line; \
                     `preheat classify --help` has examples"
                        .to_owned(),
                )
                .into());
            }
            return Ok(vec![Input::Stdin]);
        }
        let stdin = |path: &&PathBuf| path.as_path() == Path::new("-");
        if files.iter().filter(stdin).count() > 1 {
            return Err(Usage("standard input (-) can be read only once".to_owned()).into());
        }
        let input = |path: &PathBuf| match stdin(&path) {
            true => Input::Stdin,
            false => Input::File(path.clone()),
        };
        Ok(files.iter().map(input).collect())
    }

    /// The name of the input in reports.
    pub fn label(&self) -> String {
        match self {
            Input::Stdin => "standard input".to_owned(),
            Input::File(path) => path.display().to_string(),
        }
    }

    /// The name of a benchmark that has none in the file: the file stem.
    pub fn name(&self) -> String {
        match self {
            Input::Stdin => self.label(),
            Input::File(path) => (path.file_stem())
                .map_or_else(|| self.label(), |stem| stem.to_string_lossy().into_owned()),
        }
    }

    /// Opens the input for reading.
    pub fn open(&self) -> io::Result<Box<dyn Read>> {
        Ok(match self {
            Input::Stdin => Box::new(io::stdin()),
            Input::File(path) => Box::new(File::open(path)?),
        })
    }
}
