//! Reads the process files of a start, and nothing outside the recording.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use preheat_model::run::trace::StartTrace;
use preheat_model::run::{MAPPED_FILE, Manifest, Mapped, STACKS_FILE, Stacks, StartInfo};

use crate::join::join;
use crate::process::{Decoded, decode};
use crate::thread_names::name_by_function;
use crate::{ReadError, document};

/// The file name of the launcher's samples.
const LAUNCHER: &str = "launcher.process";

/// The suffix of process files.
pub(crate) const ENDING: &str = ".process";

/// Reads all starts. It is an error if no file is readable and one is of another version.
pub(crate) fn read_all(root: &Path, manifest: &Manifest) -> Result<Vec<StartTrace>, ReadError> {
    let mut reader = Reader {
        root,
        known: HashSet::new(),
        other_version: None,
        any: false,
    };
    let starts = manifest
        .starts
        .iter()
        .map(|info| reader.start(info))
        .collect();
    match reader.other_version {
        Some(error) if !reader.any => Err(error),
        _ => Ok(starts),
    }
}

struct Reader<'a> {
    root: &'a Path,
    /// Directories that were read; none is read twice.
    known: HashSet<&'a str>,
    /// A file of another version.
    other_version: Option<ReadError>,
    /// True if any file could be read.
    any: bool,
}

impl<'a> Reader<'a> {
    fn start(&mut self, info: &'a StartInfo) -> StartTrace {
        let mut problems = Vec::new();
        let names = self.names(info).unwrap_or_else(|problem| {
            problems.push(problem.to_string());
            None
        });
        let mut processes = Vec::new();
        let mut launcher = None;
        let mut has_launcher = false;
        for name in names.iter().flatten() {
            has_launcher |= name == LAUNCHER;
            let Some(decoded) = self.file(info, name, &mut problems) else {
                continue;
            };
            if name == LAUNCHER {
                launcher = Some(decoded);
            } else {
                processes.push(decoded);
            }
        }
        if names.is_some() && info.unrecorded.is_none() {
            let directory = &info.directory;
            if !processes
                .iter()
                .any(|process| process.header.pid == info.pid)
            {
                problems.push(format!(
                    "{directory} has no readable process file of the command (process {})",
                    info.pid
                ));
            }
            if !has_launcher {
                problems.push(format!(
                    "{directory}/{LAUNCHER} is missing: waiting times and resident memory are not \
                     known"
                ));
            }
        }
        let stacks = match &names {
            Some(_) => self.stacks(info, &mut problems),
            None => Stacks::default(),
        };
        let mapped = match &names {
            Some(_) => self.mapped(info, &mut problems),
            None => Mapped::default(),
        };
        let mut start = StartTrace {
            stacks,
            mapped,
            ..join(info, processes, launcher, problems)
        };
        name_by_function(&mut start.processes, &start.stacks);
        start
    }

    /// The sampled stacks of a start; none if it has none.
    fn stacks(&self, info: &StartInfo, problems: &mut Vec<String>) -> Stacks {
        let path = self.root.join(&info.directory).join(STACKS_FILE);
        if path.symlink_metadata().is_err() {
            return Stacks::default();
        }
        document::read_stacks(&path, info.exec).unwrap_or_else(|why| {
            problems.push(format!("{}/{STACKS_FILE} {why}", info.directory));
            Stacks::default()
        })
    }

    /// The memory of a start by mapping; none if it was not sampled.
    fn mapped(&self, info: &StartInfo, problems: &mut Vec<String>) -> Mapped {
        let path = self.root.join(&info.directory).join(MAPPED_FILE);
        if path.symlink_metadata().is_err() {
            return Mapped::default();
        }
        document::read_mapped(&path, info.exec).unwrap_or_else(|why| {
            problems.push(format!("{}/{MAPPED_FILE} {why}", info.directory));
            Mapped::default()
        })
    }

    /// The sorted names of the process files of a start. `None` if it has no directory and
    /// does not need one.
    fn names(&mut self, info: &'a StartInfo) -> Result<Option<Vec<String>>, DirectoryProblem> {
        let directory = &info.directory;
        if !self.known.insert(directory) {
            return Err(DirectoryProblem::ListedTwice(directory.clone()));
        }
        self.inside(directory)?;
        let entries = match fs::read_dir(self.root.join(directory)) {
            Err(_) if info.unrecorded.is_some() => return Ok(None),
            other => other.map_err(|error| DirectoryProblem::Unreadable {
                directory: directory.clone(),
                error,
            })?,
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        let mut names: Vec<String> = names
            .filter_map(|name| name.into_string().ok())
            .filter(|name| name.ends_with(ENDING))
            .collect();
        names.sort();
        Ok(Some(names))
    }

    /// Rejects a directory outside the recording.
    fn inside(&self, directory: &str) -> Result<(), DirectoryProblem> {
        let mut path = self.root.to_owned();
        for component in Path::new(directory).components() {
            let Component::Normal(name) = component else {
                return Err(DirectoryProblem::Outside(directory.to_owned()));
            };
            path.push(name);
            if path.is_symlink() {
                return Err(DirectoryProblem::Link(directory.to_owned()));
            }
        }
        match path == self.root {
            true => Err(DirectoryProblem::Unnamed),
            false => Ok(()),
        }
    }

    /// Reads one process file and reports its damage.
    fn file(
        &mut self,
        info: &StartInfo,
        name: &str,
        problems: &mut Vec<String>,
    ) -> Option<Decoded> {
        let short = format!("{}/{name}", info.directory);
        let path = self.root.join(&info.directory).join(name);
        match decode_file(&path, info.exec) {
            Ok(mut decoded) => {
                self.any = true;
                let sentences = std::mem::take(&mut decoded.problems).into_sentences();
                problems.extend(
                    sentences
                        .iter()
                        .map(|sentence| format!("{short}: {sentence}")),
                );
                Some(decoded)
            }
            Err(problem) => {
                match problem {
                    Unusable::Kind(sentence) => problems.push(format!("{short} {sentence}")),
                    Unusable::Error(error) => {
                        problems.push(format!("{short} {error}"));
                        if matches!(error, ReadError::Newer { .. } | ReadError::Older { .. }) {
                            self.other_version = Some(error.at(path));
                        }
                    }
                }
                None
            }
        }
    }
}

/// The reason that the directory of a start was not read.
#[derive(Debug, thiserror::Error)]
enum DirectoryProblem {
    #[error("{0} is listed twice in recording.json; it was read once")]
    ListedTwice(String),
    #[error("{directory} cannot be read: {error}")]
    Unreadable { directory: String, error: io::Error },
    #[error(
        "recording.json refers to the directory {0:?}, which is outside the recording and was not \
         read"
    )]
    Outside(String),
    #[error("{0} is a symbolic link, which may point outside the recording, and was not read")]
    Link(String),
    #[error("recording.json lists a start without a directory, which was not read")]
    Unnamed,
}

/// The reason that a file was not read.
pub(crate) enum Unusable {
    /// It is not a plain file.
    Kind(&'static str),
    /// It cannot be read.
    Error(ReadError),
}

/// Opens a process file. Only plain files are accepted: a link may point anywhere, and
/// reading anything else might never end.
pub(crate) fn open(path: &Path) -> Result<File, Unusable> {
    let failed = |error| {
        Unusable::Error(ReadError::Io {
            path: PathBuf::new(),
            error,
        })
    };
    let kind = fs::symlink_metadata(path).map_err(failed)?.file_type();
    if kind.is_symlink() {
        return Err(Unusable::Kind(
            "is a symbolic link, which may point outside the recording, and was not read",
        ));
    }
    if !kind.is_file() {
        return Err(Unusable::Kind("is not a plain file and was not read"));
    }
    File::open(path).map_err(failed)
}

fn decode_file(path: &Path, exec: u64) -> Result<Decoded, Unusable> {
    decode(&mut open(path)?, exec).map_err(Unusable::Error)
}
