//! The request: a command, and how to run it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::LaunchError;
use crate::output_lines::Pattern;
use preheat_model::Machine;
use preheat_model::run::{IterationRule, Temperature};

/// The number of starts at each temperature, unless given.
pub const DEFAULT_STARTS: usize = 5;

/// The time limit for all starts together, if neither their number nor a budget is given.
pub const DEFAULT_BUDGET: Duration = Duration::from_secs(60);

/// The maximum size of a process file in bytes, unless given.
pub const DEFAULT_LIMIT: u64 = 256 << 20;

/// A command, and how to run it.
#[derive(Clone)]
pub struct Request<'a> {
    /// The command: a program and its arguments.
    pub command: Vec<OsString>,
    /// The recording's directory; it must not exist, or be empty.
    pub output: PathBuf,
    /// Starts at each temperature; `None` for [`DEFAULT_STARTS`], or fewer if the budget
    /// does not suffice or the input can be read only once.
    pub starts: Option<usize>,
    /// The time limit for all starts together; `None` for [`DEFAULT_BUDGET`] if the number
    /// of starts is not given either, and for no limit if it is.
    pub budget: Option<Duration>,
    /// The temperatures of the starts; empty for only [`Temperature::Process`].
    pub temperatures: Vec<Temperature>,
    /// The rule by which iterations are found. The manifest keeps this setting.
    pub iterations: IterationRule,
    /// The maximum size of a process file in bytes.
    pub limit: u64,
    /// Wait for the device at the end of each iteration that Python marks.
    pub synchronize: bool,
    /// Seeds the order of the starts.
    pub seed: u64,
    /// Show the output of all starts; otherwise only that of the first.
    pub output_of_all: bool,
    /// The machine, for the manifest.
    pub machine: Machine,
    /// The version of preheat, for the manifest.
    pub preheat: String,
    /// The time now in RFC 3339, for the manifest.
    pub created: String,
    /// The files that the start in this directory has read, from its process files: these
    /// are evicted from the page cache before a start at [`Temperature::Disk`].
    pub files_of: &'a dyn Fn(&Path) -> Vec<PathBuf>,
}

/// The progress of one or several series, reported before each start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Completed starts.
    pub done: usize,
    /// Planned starts.
    pub total: usize,
    /// The index of the request of the next start.
    pub series: usize,
    /// The temperature of the next start.
    pub temperature: Temperature,
    /// Time since the series began.
    pub elapsed: Duration,
}

impl<'a> Request<'a> {
    /// A request with default settings, on this machine, now.
    pub fn new(
        command: Vec<OsString>,
        output: PathBuf,
        files_of: &'a dyn Fn(&Path) -> Vec<PathBuf>,
    ) -> Request<'a> {
        Request {
            command,
            output,
            starts: None,
            budget: None,
            temperatures: vec![Temperature::Process],
            iterations: IterationRule::Auto,
            limit: DEFAULT_LIMIT,
            synchronize: false,
            seed: 1,
            output_of_all: false,
            machine: preheat_host::machine(),
            preheat: env!("CARGO_PKG_VERSION").to_owned(),
            created: preheat_host::now_rfc3339(),
            files_of,
        }
    }
}

impl Request<'_> {
    /// The regular expressions for lines of output, if any.
    pub(crate) fn pattern(&self) -> Result<Option<Pattern>, LaunchError> {
        let IterationRule::Lines(rule) = &self.iterations else {
            return Ok(None);
        };
        Pattern::new(rule).map(Some).map_err(|(part, why)| {
            LaunchError::Usage(format!(
                "`{part}` is not a regular expression ({why}); use one that matches a line of output, as in lines:'^step'"
            ))
        })
    }

    /// Returns whether the recorder hooks Python frameworks: not if the user defines
    /// iterations differently. If lines end them, the steps show where the first one begins.
    pub(crate) fn hooks_frameworks(&self) -> bool {
        match self.iterations {
            IterationRule::Auto
            | IterationRule::Python
            | IterationRule::Timers
            | IterationRule::Lines(_) => true,
            IterationRule::Nvtx(_) | IterationRule::Call(_) | IterationRule::Kernels => false,
        }
    }

    /// The time limit for all starts together, if any.
    pub(crate) fn budget(&self) -> Option<Duration> {
        self.budget
            .or_else(|| self.starts.is_none().then_some(DEFAULT_BUDGET))
    }
}
