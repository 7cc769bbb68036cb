//! The flags of `preheat start`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use preheat_start::{Form, MOST_STANDBYS, Remedies, Remedy, Standby};

use super::{TEMPLATE, iterations, seconds, starts};

#[derive(Debug, Args)]
#[command(
    before_help = "The first start of a Python program is a plain one, which is only asked at its end what it has imported. Then a warm parent imports that ahead, in the background, and later starts are forked from it: the same output, the same exit code, a fraction of the wait. Where a warm start might not be the same, the program is started plainly, and -v says why.

With --measure, this and other remedies (the driver initialized during imports, files read ahead, kept compile caches and bytecode, settings of the driver) are tried against plain starts in turn, and what clearly pays on this machine is what later starts have.",
    help_template = TEMPLATE,
    after_help = "Examples:
  preheat start -- python train.py
  preheat start -v -- python -m mypackage.serve  says how it was started
  preheat start --measure -- python train.py     keeps what is shown to pay
  preheat start --prepare --from REC -- python serve.py
  preheat start --standby -- python train.py     on a GPU that is ready
  preheat start --list                           warm parents that run
  preheat start --stop                           they leave, programs stay
  preheat start --caches /mnt/kept -- python serve.py
  preheat start --pack kept.tar                  compiled code, to take along

Exit codes: the program's own, or the same signal; of --measure 0, or 125 if a start failed; 2 wrong usage, 125 preheat itself failed, 126 the program cannot be executed, 127 it was not found."
)]
pub struct StartArguments {
    /// The command and its arguments
    #[arg(
        value_name = "COMMAND",
        required_unless_present_any = ["list", "stop", "pack", "unpack"],
        trailing_var_arg = true
    )]
    pub command: Vec<OsString>,

    /// Say on standard error how it was started, or why it was started plainly; of --list, what is not imported ahead
    #[arg(long, short)]
    pub verbose: bool,

    /// Never print a hint; by default, at a terminal, one line says the first time why a program cannot be started warm
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,

    /// The Python that a command became, as the kernel found it: the command is its arguments
    #[arg(long, value_name = "PATH", hide = true)]
    pub became: Option<PathBuf>,

    /// A warm parent leaves after so long without a start [default: 1800]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub idle: Option<Duration>,

    /// Start plainly if a warm parent has not answered after so long [default: 0.2]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub patience: Option<Duration>,

    /// Start from a standby, a process that has the GPU ready and has rehearsed the program's operations, and prepare the next one; parked: it holds no device memory while it waits; hot: it does, and starts faster [default: parked]
    #[arg(
        long,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "parked",
        conflicts_with_all = ["list", "stop", "measure"]
    )]
    pub standby: Option<Form>,

    /// With --standby: how many to keep ready, 1 to 64 [default: 1]
    #[arg(long, value_name = "N", value_parser = standbys, requires = "standby")]
    pub standby_count: Option<usize>,

    /// Only these remedies, several with commas, whatever was decided: warm-parent, overlapped-init, prefetch, kept-caches, kept-bytecode, lazy-loading, loader-threads, allocator; or none
    #[arg(long, value_name = "REMEDIES", value_delimiter = ',', value_parser = only)]
    pub only: Option<Vec<Option<Remedy>>>,

    /// Try the remedies that apply: plain starts and starts with each of them take turns, and what pays is kept for later starts
    #[arg(long, conflicts_with_all = ["list", "stop"])]
    pub measure: bool,

    #[command(flatten)]
    pub measuring: MeasuringArguments,

    /// Know what the program imports from a recording of `preheat run`, rather than from its first start
    #[arg(long, value_name = "RECORDING", conflicts_with_all = ["list", "stop", "measure"])]
    pub from: Option<PathBuf>,

    /// Have the warm parent made, wait until it serves, and start nothing
    #[arg(long, conflicts_with_all = ["list", "stop", "measure"])]
    pub prepare: bool,

    /// Forget what was measured, learned and seen of the command, and start nothing
    #[arg(long, conflicts_with_all = ["list", "stop", "measure", "prepare"])]
    pub forget: bool,

    /// Fail rather than leave out a remedy of --only
    #[arg(long, hide = true, requires = "only")]
    pub strictly: bool,

    /// Keep all that the program compiles in this directory, on whatever machine or volume; also PREHEAT_CACHES [default: only what it was seen to compile, in ~/.cache/preheat/caches]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["list", "stop"])]
    pub caches: Option<PathBuf>,

    /// Pack the kept caches into one file, for machines with the same card and driver
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "list", "stop", "unpack"])]
    pub pack: Option<PathBuf>,

    /// Unpack such a file, - for standard input: where it was packed from, or into --caches
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "list", "stop"])]
    pub unpack: Option<PathBuf>,

    /// List the warm parents that run, and start nothing
    #[arg(long, conflicts_with_all = ["command", "stop"])]
    pub list: bool,

    /// Stop a warm parent by its ID from --list; without an ID, or with `all`, all of them
    #[arg(
        long,
        value_name = "ID",
        num_args = 0..=1,
        default_missing_value = "all",
        conflicts_with = "command"
    )]
    pub stop: Option<String>,
}

/// The flags of a measurement.
#[derive(Debug, Args)]
#[group(requires = "measure", multiple = true)]
pub struct MeasuringArguments {
    /// Of --measure: starts of each kind, 4 or more (there are 2 to 16 kinds); the first of each does not count [default: 6]
    #[arg(long, value_name = "N", value_parser = starts, allow_negative_numbers = true)]
    pub starts: Option<usize>,

    /// Of --measure: begin no further start after so long [default: no bound]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub budget: Option<Duration>,

    /// Of --measure: what an iteration is (see `preheat run --help`) [default: auto]
    #[arg(long, value_name = "HOW", value_parser = iterations)]
    pub iterations: Option<String>,

    /// Of --measure: write the result as JSON; - for standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Of --measure: write the result as one HTML page; - for standard output
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Of --measure: the directory of the recordings [default: preheat-start-NAME]
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

impl StartArguments {
    /// The remedies that are asked for; `None` for those that were decided on.
    pub fn remedies(&self) -> Option<Remedies> {
        let only = self.only.as_ref()?;
        Some(only.iter().flatten().copied().collect())
    }

    /// The standbys that are asked for.
    pub fn standby(&self) -> Option<Standby> {
        let count = self.standby_count.unwrap_or(1);
        self.standby.map(|form| Standby { form, count })
    }

    /// The options that apply as well to the Python that the command becomes.
    pub fn again(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut put = |name: &str, value: String| words.push(format!("{name}={value}").into());
        if let Some(idle) = self.idle {
            put("--idle", idle.as_secs_f64().to_string());
        }
        if let Some(patience) = self.patience {
            put("--patience", patience.as_secs_f64().to_string());
        }
        if let Some(form) = self.standby {
            put("--standby", form.to_string());
        }
        if let Some(count) = self.standby_count {
            put("--standby-count", count.to_string());
        }
        if let Some(only) = &self.only {
            let name = |remedy: &Option<Remedy>| remedy.map_or("none", Remedy::id).to_owned();
            put(
                "--only",
                only.iter().map(name).collect::<Vec<_>>().join(","),
            );
        }
        for (is_set, name) in [(self.verbose, "--verbose"), (self.quiet, "--quiet")] {
            if is_set {
                words.push(name.into());
            }
        }
        words
    }

    /// Whether none is asked for, and yet some.
    pub fn contradicts_itself(&self) -> bool {
        let only = self.only.as_deref().unwrap_or_default();
        only.len() > 1 && only.contains(&None)
    }
}

/// A number of standbys.
fn standbys(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (1..=MOST_STANDBYS).contains(&count) => Ok(count),
        _ => Err(format!("expected a number from 1 to {MOST_STANDBYS}")),
    }
}

/// A remedy, or none.
fn only(text: &str) -> Result<Option<Remedy>, String> {
    match text {
        "none" => Ok(None),
        other => other.parse().map(Some),
    }
}
