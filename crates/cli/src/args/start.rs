//! The flags of `preheat start`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use preheat_model::run::IterationRule;
use preheat_start::{Form, Remedies, Remedy, Standby, form, with_needed};

use super::epilogue::Epilogue;
use super::{TEMPLATE, seconds, values};

/// The text below the flags of `preheat start`.
pub const EPILOGUE: Epilogue = Epilogue {
    examples: &[
        ("preheat start -- python train.py", ""),
        (
            "preheat start -v -- python -m mypackage.serve",
            "show how it was started",
        ),
        (
            "preheat start --measure -- python train.py",
            "measure remedies, keep those that help",
        ),
        ("preheat start --prepare --from REC -- python serve.py", ""),
        (
            "preheat start --standby -- python train.py",
            "start on a GPU that is ready",
        ),
        ("preheat start --list", "list the running warm parents"),
        (
            "preheat start --stop",
            "stop them; running programs continue",
        ),
        ("preheat start --caches /mnt/kept -- python serve.py", ""),
        (
            "preheat start --pack kept.tar",
            "pack compiled code for other machines",
        ),
    ],
    notes: &[],
    exit_codes: "that of the program, or the same signal; with --measure 0, or 125 if a start failed; 2 wrong usage, 125 preheat itself failed, 126 the program cannot be executed, 127 it was not found.",
};

#[derive(Debug, Args)]
#[command(
    before_help = "The first start of a Python program is a plain one; as it exits, preheat records which modules it imported. A warm parent then imports them in the background, and later starts are forked from it: the same output, the same exit code, a fraction of the wait. If a warm start might behave differently, the program is started plainly, and -v shows why.

With --measure, the warm parent and other remedies (driver initialization during imports, reading files ahead, kept compile caches and bytecode, driver settings) are compared with plain starts, interleaved. Later starts use the remedies that clearly help on this machine.",
    help_template = TEMPLATE
)]
pub struct StartArguments {
    /// The command and its arguments
    #[arg(
        value_name = "COMMAND",
        required_unless_present_any = ["list", "stop", "pack", "unpack"],
        trailing_var_arg = true,
        value_hint = ValueHint::CommandWithArguments
    )]
    pub command: Vec<OsString>,

    /// Print to standard error whether the start was warm, and if not, why; with --list, also list modules that are not imported ahead
    #[arg(long, short)]
    pub verbose: bool,

    /// Do not print hints. By default, one line at the terminal explains why a program cannot be started warm, the first time only
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,

    /// The Python that a command turned into, as the kernel found it; the command holds its arguments
    #[arg(long, value_name = "PATH", hide = true)]
    pub reached: Option<PathBuf>,

    /// Stop a warm parent after this long without a start [default: 1800]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub idle: Option<Duration>,

    /// Start plainly if the warm parent has not answered after this long [default: 0.2]; with --prepare, give up if the parent is not ready after this long [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub patience: Option<Duration>,

    /// Start from a standby: a waiting process that has initialized the GPU and has run the program's GPU operations once. Then prepare the next standby. A parked standby holds no device memory while it waits; a hot one does, and starts faster [default: parked]
    #[arg(
        long,
        value_name = "FORM",
        value_parser = values::form(),
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "parked",
        conflicts_with_all = ["list", "stop", "measure"]
    )]
    pub standby: Option<Form>,

    /// With --standby: the number to keep ready, 1 to 64 [default: 1]
    #[arg(long, value_name = "N", value_parser = values::standbys, requires = "standby")]
    pub standby_count: Option<usize>,

    /// Use only these remedies, separated by commas, instead of those chosen by --measure; with --measure, try only these
    #[arg(long, value_name = "REMEDIES", value_delimiter = ',', value_parser = values::remedy())]
    pub only: Option<Vec<Option<Remedy>>>,

    /// Measure the remedies that apply, interleaved with plain starts; remedies that help are used for later starts
    #[arg(long, conflicts_with_all = ["list", "stop"])]
    pub measure: bool,

    #[command(flatten)]
    pub measuring: MeasuringArguments,

    /// Take the list of imports from a `preheat run` recording instead of from the first normal start
    #[arg(long, value_name = "RECORDING", conflicts_with_all = ["list", "stop", "measure"])]
    pub from: Option<PathBuf>,

    /// Create the warm parent, wait until it is ready, and exit
    #[arg(long, conflicts_with_all = ["list", "stop", "measure"])]
    pub prepare: bool,

    /// Delete everything that was measured and observed about the command, stop its warm parents, and exit
    #[arg(long, conflicts_with_all = ["list", "stop", "measure", "prepare"])]
    pub forget: bool,

    /// Fail rather than leave out a remedy of --only
    #[arg(long, hide = true, requires = "only")]
    pub strictly: bool,

    /// Directory for everything the program compiles (or set PREHEAT_CACHES). Without this flag: ~/.cache/preheat/caches, only if --measure decided to keep caches
    #[arg(long, value_name = "DIR", conflicts_with_all = ["list", "stop"])]
    pub caches: Option<PathBuf>,

    /// Pack the kept caches into one file, for machines with the same GPU model and driver
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "list", "stop", "unpack"])]
    pub pack: Option<PathBuf>,

    /// Unpack a file written by --pack (- for standard input) into the --caches directory; without --caches, to its original path
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "list", "stop"])]
    pub unpack: Option<PathBuf>,

    /// List the running warm parents, and exit
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
    /// With --measure: starts per configuration, at least 4; the first of each is a warm-up. There are 2 to 20 configurations [default: 6]
    #[arg(long, value_name = "N", value_parser = values::starts, allow_negative_numbers = true)]
    pub starts: Option<usize>,

    /// With --measure: stop beginning new starts after this long [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub budget: Option<Duration>,

    /// With --measure: how iterations are detected (see `preheat run --help`) [default: auto]
    #[arg(long, value_name = "HOW")]
    pub iterations: Option<IterationRule>,

    /// With --measure: write the result as JSON; - for standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// With --measure: write the result as one HTML page; - for standard output
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// With --measure: the directory for the recordings [default: preheat-start-NAME]
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

impl StartArguments {
    /// The remedies of --only; `None` for those chosen by a measurement.
    pub fn remedies(&self) -> Option<Remedies> {
        let only = self.only.as_ref()?;
        Some(with_needed(only.iter().flatten().copied().collect()))
    }

    /// The standbys of --standby, or of --only.
    pub fn standby(&self) -> Option<Standby> {
        let count = self.standby_count.unwrap_or(1);
        let only = || self.remedies().and_then(|only| form(&only));
        let form = self.standby.or_else(only);
        form.map(|form| Standby { form, count })
    }

    /// The options that also apply to the Python that the command turns into.
    pub fn chain_options(&self) -> Vec<OsString> {
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

    /// Returns true if `--only none` is combined with other remedies.
    pub fn contradicts_itself(&self) -> bool {
        let only = self.only.as_deref().unwrap_or_default();
        only.len() > 1 && only.contains(&None)
    }
}
