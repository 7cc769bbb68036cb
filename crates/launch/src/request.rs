//! What is asked for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::LaunchError;
use crate::lines::Pattern;
use preheat_analyze::lab::Machine;
use preheat_analyze::run::Temperature;

/// Starts at each temperature, where no number is asked for.
pub const DEFAULT_STARTS: usize = 5;

/// How long the starts may take together, where neither their number nor a budget is
/// asked for.
pub const DEFAULT_BUDGET: Duration = Duration::from_secs(60);

/// The most bytes of a process file, where none is asked for.
pub const DEFAULT_LIMIT: u64 = 256 << 20;

/// A command, and how it is to be run.
pub struct Request<'a> {
    /// The command: a program and its arguments.
    pub command: Vec<OsString>,
    /// The recording's directory; it must not exist, or be empty.
    pub output: PathBuf,
    /// Starts at each temperature; `None` for [`DEFAULT_STARTS`], of which fewer are
    /// made where the budget does not suffice or the input can be read only once.
    pub starts: Option<usize>,
    /// How long the starts may take together; `None` for [`DEFAULT_BUDGET`] if the
    /// number of starts is not given either, and for no bound if it is.
    pub budget: Option<Duration>,
    /// How cold the starts are made; none for [`Temperature::Process`] alone.
    pub temperatures: Vec<Temperature>,
    /// How iterations are to be found: `auto`, `nvtx[:NAME]`, `python`, `kernels` or
    /// `lines:REGEX`. With the last, the command's output goes through preheat;
    /// the recorder is told all of them.
    pub iterations: String,
    /// The most bytes of a process file.
    pub limit: u64,
    /// Wait for the device at the end of each iteration that Python sees.
    pub synchronize: bool,
    /// Seeds the order of the starts.
    pub seed: u64,
    /// Show the output of all starts; else only that of the first.
    pub output_of_all: bool,
    /// The machine, for the manifest.
    pub machine: Machine,
    /// The version of preheat, for the manifest.
    pub preheat: String,
    /// The time now in RFC 3339, for the manifest.
    pub created: String,
    /// Which files the start in this directory has read, by its process files: what is
    /// evicted from the page cache before a start at [`Temperature::Disk`].
    pub files_of: &'a dyn Fn(&Path) -> Vec<PathBuf>,
}

/// Where one or several series of starts stand; told before each of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Starts that are done.
    pub done: usize,
    /// Starts that are planned.
    pub total: usize,
    /// Which request the next one is of, by its place.
    pub series: usize,
    /// How cold the next one is made.
    pub temperature: Temperature,
    /// Time since the series began.
    pub elapsed: Duration,
}

impl Request<'_> {
    /// The expressions that lines of output are matched with, if any are asked for.
    pub(crate) fn pattern(&self) -> Result<Option<Pattern>, LaunchError> {
        let Some(pattern) = self.iterations.strip_prefix("lines:") else {
            return Ok(None);
        };
        Pattern::parse(pattern).map(Some).map_err(|(part, why)| {
            LaunchError::Usage(format!(
                "`{part}` is not a regular expression ({why}); use one that matches a line of output, as in lines:'^step'"
            ))
        })
    }

    /// Whether the recorder hooks Python's frameworks: not where the user says that an
    /// iteration is something else.
    pub(crate) fn hooks_frameworks(&self) -> bool {
        ["auto", "python", "timers"].contains(&self.iterations.as_str())
    }

    /// How long the starts may take together, if that is bounded.
    pub(crate) fn budget(&self) -> Option<Duration> {
        self.budget
            .or_else(|| self.starts.is_none().then_some(DEFAULT_BUDGET))
    }
}
