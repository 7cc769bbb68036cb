//! The command line, typed.

mod check;
mod classify;
mod compare;
mod epilogue;
mod start;
mod values;

pub use check::{CheckArguments, InvalidFlag, LimitArguments, ResultArguments};
pub use classify::ClassifyArguments;
pub use compare::CompareArguments;
pub use epilogue::Epilogue;
use epilogue::Note;
pub use start::StartArguments;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use preheat_lab::{DeviceChoice, FrameworkChoice};
use preheat_model::lab::ExperimentId;
use preheat_model::run::{IterationRule, Temperature};

use crate::exit;
use crate::output::any_terminal_width;
use crate::show::{ExportArguments, ShowArguments};

/// The maximum width of help texts.
pub const MAX_HELP_WIDTH: usize = 100;

/// The help layout: a summary line and a short description come before the usage.
const TEMPLATE: &str =
    "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// The version and, in release builds, the commit that it was built from (see build.rs).
const VERSION: &str = env!("VERSION_AND_COMMIT");

/// Measures, explains and removes GPU cold start.
#[derive(Debug, Parser)]
#[command(
    name = "preheat",
    version = VERSION,
    propagate_version = true
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

impl Arguments {
    /// Parses the command line of this process. Help, or a message about wrong usage, ends it.
    pub fn of_process() -> Arguments {
        let width = any_terminal_width()
            .unwrap_or(MAX_HELP_WIDTH)
            .min(MAX_HELP_WIDTH);
        let mut command = Arguments::of_width(width);
        let parsed = (command.try_get_matches_from_mut(std::env::args_os()))
            .and_then(|matches| Arguments::from_arg_matches(&matches));
        parsed.unwrap_or_else(|why| {
            if is_validation(std::env::args_os())
                && let Some(invalid) = InvalidFlag::of(&why, &command)
            {
                exit::invalid(&invalid);
            }
            with_tip(why.format(&mut command)).exit()
        })
    }

    /// The flags, with help texts of this width.
    pub fn of_width(width: usize) -> clap::Command {
        let with_epilogue = |command: clap::Command| match epilogue(command.get_name()) {
            Some(epilogue) => command.after_help(epilogue.help(width)),
            None => command,
        };
        let command = Arguments::command().term_width(width);
        command.mut_subcommands(with_epilogue)
    }
}

/// Returns true for `preheat check … --validate`. Other commands pass such flags to a program.
fn is_validation(mut words: impl Iterator<Item = OsString>) -> bool {
    words.nth(1).is_some_and(|verb| verb == "check") && words.any(|word| word == "--validate")
}

/// Adds what to do to the message about `preheat python train.py`.
fn with_tip(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand)
        && error.get(ContextKind::SuggestedSubcommand).is_none()
    {
        let tip = format!("to record a program, use `preheat run -- {name} …`");
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tips);
    }
    error
}

/// The text below the flags of a command, by its name.
pub fn epilogue(command: &str) -> Option<&'static Epilogue> {
    Some(match command {
        "run" => &RUN,
        "start" => &start::EPILOGUE,
        "lab" => &LAB,
        "compare" => &compare::EPILOGUE,
        "check" => &check::EPILOGUE,
        "classify" => &classify::EPILOGUE,
        "report" => &REPORT,
        "doctor" => &DOCTOR,
        "completions" => &COMPLETIONS,
        _ => return None,
    })
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// How cold is my program? Runs it, finds its iterations, shows where the time went
    Run(RunArguments),
    /// Start my program warm, without changing it
    Start(StartArguments),
    /// How cold is this machine? Compares first executions with the steady state, and tests twenty common claims
    Lab(LabArguments),
    /// Did a change slow down startup? Compares two results or two commands
    Compare(CompareArguments),
    /// Is a recording within its budget? Fails a CI job if not
    Check(Box<CheckArguments>),
    /// Where does warm-up end? Classifies iteration times from any benchmark tool
    Classify(ClassifyArguments),
    /// Show a saved result again, on any machine
    Report(ReportArguments),
    /// Show devices, drivers and frameworks of this machine, and what is missing
    Doctor(DoctorArguments),
    /// Print shell completions
    Completions(CompletionsArguments),
    /// Write shell completions, man pages and the flag reference
    #[command(hide = true)]
    Generate(GenerateArguments),
}

/// The text below the flags of `preheat lab`.
const LAB: Epilogue = Epilogue {
    examples: &[
        (
            "preheat lab",
            "all experiments: a minute, or up to ten with a GPU",
        ),
        ("preheat lab --quick", "a first impression in seconds"),
        (
            "preheat lab launch infer --device cuda",
            "two experiments on a GPU",
        ),
        (
            "preheat lab train --python /usr/bin/python3",
            "use the frameworks in that Python",
        ),
        (
            "preheat lab --json cold.json --html cold.html",
            "save the result",
        ),
        ("preheat lab --list", "list the experiments"),
    ],
    notes: &[],
    exit_codes: "0 done, 2 wrong usage, 125 nothing could be measured, 130 interrupted (the report covers everything measured so far).",
};

#[derive(Debug, Args)]
#[command(
    before_help = "Measures driver initialization, allocation, transfer, kernel launch, training and inference: the first execution against the steady state. Every start is a fresh process, both natively and in the frameworks installed in the chosen Python. Then tests whether twenty common claims about cold start hold on this machine.",
    help_template = TEMPLATE,
    mut_args(with_standard_output)
)]
pub struct LabArguments {
    /// Experiments to run [default: all; see --list]
    #[arg(value_name = "ID", value_parser = values::experiment(), hide_possible_values = true)]
    pub experiments: Vec<ExperimentId>,

    /// Devices, separated by commas; auto uses CUDA, else OpenCL on a GPU, else the CPU
    #[arg(long, value_name = "DEVICE", value_delimiter = ',', default_value = "auto", value_parser = values::device())]
    pub device: Vec<DeviceChoice>,

    /// Framework to measure; auto measures all that are installed
    #[arg(long, value_name = "FRAMEWORK", default_value = "auto", value_parser = values::framework())]
    pub framework: FrameworkChoice,

    /// Python interpreter whose frameworks are measured [default: that of the active virtual environment, else python3]
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,

    /// Starts per experiment; the first one is reported separately [default: 10, 6 with a framework, 4 for sweeps; fewer if --budget runs out]
    #[arg(long, value_name = "N", value_parser = values::starts, allow_negative_numbers = true)]
    pub starts: Option<usize>,

    /// Measure less: fewer iterations, smaller sweeps, 4 starts, and frameworks only with --framework
    #[arg(long)]
    pub quick: bool,

    /// Seed for the order of the starts and for resampling
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        allow_negative_numbers = true
    )]
    pub seed: u64,

    /// Stop beginning new starts after this long [default: 57 on a CPU, 600 with a GPU; 12 and 40 with --quick; no limit with --starts]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub budget: Option<Duration>,

    /// Kill a start that takes longer than this
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = seconds)]
    pub start_limit: Duration,

    #[command(flatten)]
    pub show: ShowArguments,

    /// List the experiments and the claims, and exit
    #[arg(long)]
    pub list: bool,
}

/// Adds to the flags of a result, and of its exports, that they can write to standard output.
/// Those of `run` cannot: standard output belongs to the command there.
fn with_standard_output(arg: clap::Arg) -> clap::Arg {
    match arg.get_id().as_str() {
        "json" | "html" | "csv" | "perfetto" | "speedscope" => {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            arg.help(format!("{help}; - for standard output"))
        }
        _ => arg,
    }
}

/// The text below the flags of `preheat run`.
const RUN: Epilogue = Epilogue {
    examples: &[
        ("preheat run -- python train.py", ""),
        (
            "preheat run --starts 10 -- python -m mypackage.serve --once",
            "",
        ),
        (
            "preheat run --temperature process,disk,caches -- python train.py",
            "",
        ),
        (
            "preheat run --iterations 'lines:^step' -- ./train",
            "each matching line ends an iteration",
        ),
        (
            "preheat run --json run.json --perfetto run.pftrace -- ./program",
            "",
        ),
    ],
    notes: &[
        Note::Paragraph("Iterations: auto uses the first of these that finds any:"),
        Note::Numbered(&[
            "iterations that a Python program marks with `preheat.iteration()`",
            "nvtx, python or kernels, with at least three iterations",
            "nvtx, python, timers or kernels, with two iterations; or backward passes of PyTorch tensors",
            "a single timed region; calls of different models; kernels that are launched exactly twice, at the end, after set-up by other kernels; or calls in several threads at once, one per thread",
        ]),
        Note::Paragraph(
            "Steps and timed regions take precedence over the calls inside them. The rules:",
        ),
        Note::Table(&[
            (
                "nvtx[:NAME]",
                "NVTX ranges, or only those with that name; executions of XLA programs",
            ),
            (
                "python",
                "PyTorch optimizer steps and model calls; Keras predict, evaluate and fit steps; scikit-learn and XGBoost fit and predict; onnxruntime sessions; transformers generate; calls of functions compiled by tf.function and jax.jit",
            ),
            (
                "call:MODULE:FUNCTION",
                "calls of a Python function (or CLASS.METHOD) in that module",
            ),
            ("kernels", "the period of the kernel launches"),
            (
                "timers",
                "regions between two clock readings in the program's own code",
            ),
            (
                "lines:[BEGIN=>]END",
                "lines of standard output or error: each line that matches END ends an iteration; with BEGIN, it begins at the last line that matches BEGIN",
            ),
        ]),
        Note::Paragraph(
            "Timed regions are always listed with their causes. With nvtx, call or kernels, the steps and calls of Python frameworks are not recorded.",
        ),
    ],
    exit_codes: "that of the command (128 + n for signal n); 2 wrong usage, 125 preheat itself failed, 126 the command cannot be executed, 127 it was not found.",
};

#[derive(Debug, Args)]
#[command(
    before_help = "Runs the command, unmodified, in fresh processes; finds its iterations; and reports how long it takes to the first result, how much slower the first iteration is than the steady one, where every millisecond and megabyte went, and what would remove it. The output, input and exit code of the command are unchanged; the report is written to standard error.",
    help_template = TEMPLATE
)]
pub struct RunArguments {
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,

    /// Starts per temperature; the very first is reported separately [default: 5, fewer if --budget runs out]
    #[arg(long, value_name = "N", value_parser = values::starts, allow_negative_numbers = true)]
    pub starts: Option<usize>,

    /// Temperatures of the starts, separated by commas: process (fresh process), disk (files evicted from the page cache), caches (empty compile caches), bytecode (no .pyc files: PYTHONPYCACHEPREFIX names an empty directory)
    #[arg(long, value_name = "T", value_delimiter = ',', default_value = "process", value_parser = values::temperature(), hide_possible_values = true)]
    pub temperature: Vec<Temperature>,

    /// How iterations are detected: auto, nvtx[:NAME], python, call:MODULE:FUNCTION, kernels, timers or lines:[BEGIN=>]END
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub iterations: IterationRule,

    /// The directory for the recording [default: preheat-PROGRAM, or the first free preheat-PROGRAM-N]
    #[arg(long, short, value_name = "DIRECTORY")]
    pub output: Option<PathBuf>,

    /// Synchronize the device at the end of each iteration detected in Python, and whenever Python code of the program reads the clock
    #[arg(long)]
    pub synchronize: bool,

    /// Show the output of every start, not only of the first
    #[arg(long)]
    pub all_output: bool,

    /// Do not print the report; messages about problems still go to standard error
    #[arg(long, short)]
    pub quiet: bool,

    /// Stop beginning new starts after this long [default: 60; no limit with --starts]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub budget: Option<Duration>,

    /// The largest size of the recording of one process
    #[arg(long, value_name = "MIB", default_value = "256", value_parser = clap::value_parser!(u64).range(1..=65536))]
    pub limit: u64,

    /// Seed for the order of the starts and for resampling
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    #[command(flatten)]
    pub show: ShowArguments,

    #[command(flatten)]
    pub export: ExportArguments,

    /// Open the HTML report in the browser ($BROWSER, or xdg-open)
    #[arg(long)]
    pub open: bool,
}

/// The text below the flags of `preheat report`.
const REPORT: Epilogue = Epilogue {
    examples: &[
        ("preheat report preheat-train", "a recording"),
        ("preheat report preheat-train --perfetto t.pftrace", ""),
        ("preheat report cold.json --html cold.html", "a lab result"),
        (
            "preheat report preheat-start-train",
            "a measurement of remedies",
        ),
    ],
    notes: &[],
    exit_codes: "",
};

#[derive(Debug, Args)]
#[command(
    before_help = "Recordings made by `preheat run` and files written by `preheat lab --json` are analyzed again, with the statistics of this version. Files written by `preheat run --json` and measurements made by `preheat start --measure` are shown unchanged. With `--json` and similar flags, the result is written to those files instead of being shown.",
    help_template = TEMPLATE,
    mut_args(with_standard_output)
)]
pub struct ReportArguments {
    /// The directory of a recording or of a measurement of remedies, or a file written by --json of `run`, `lab`, `compare` or `start --measure` (- for standard input)
    #[arg(value_name = "RECORDING|FILE")]
    pub file: PathBuf,

    /// Detect the recording's iterations differently than when it was made (see `preheat run --help`)
    #[arg(long, value_name = "HOW")]
    pub iterations: Option<IterationRule>,

    #[command(flatten)]
    pub show: ShowArguments,

    #[command(flatten)]
    pub export: ExportArguments,

    /// Open the HTML page in the browser ($BROWSER, or xdg-open): that of --html, or the one in the directory of the recording
    #[arg(long)]
    pub open: bool,
}

/// The text below the flags of `preheat doctor`.
const DOCTOR: Epilogue = Epilogue {
    examples: &[
        ("preheat doctor", ""),
        ("preheat doctor --python /usr/bin/python3", ""),
        ("preheat doctor --json -", ""),
    ],
    notes: &[],
    exit_codes: "",
};

#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Python interpreter whose frameworks are inspected [default: that of the active virtual environment, else python3]
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,

    /// Write the findings as JSON (preheat.doctor/1); - for standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// The text below the flags of `preheat completions`.
const COMPLETIONS: Epilogue = Epilogue {
    examples: &[
        (
            "preheat completions bash >~/.local/share/bash-completion/completions/preheat",
            "",
        ),
        (r#"preheat completions zsh >"${fpath[1]}/_preheat""#, ""),
        (
            "preheat completions fish >~/.config/fish/completions/preheat.fish",
            "",
        ),
    ],
    notes: &[Note::Paragraph(
        "They are active in the next shell. bash needs the package bash-completion, and the directory of the file must exist.",
    )],
    exit_codes: "",
};

#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL", value_parser = values::shell())]
    pub shell: Shell,
}

#[derive(Debug, Args)]
pub struct GenerateArguments {
    /// The directory to write to, created if missing
    #[arg(value_name = "DIRECTORY")]
    pub directory: PathBuf,
}

pub(crate) fn seconds(text: &str) -> anyhow::Result<Duration> {
    match text.trim_end_matches('s').parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 86_400.0 => Ok(Duration::from_secs_f64(seconds)),
        _ => anyhow::bail!("expected a number of seconds above 0 and up to 86400 (one day)"),
    }
}

#[cfg(test)]
mod tests {
    use preheat_device::Kind;

    use super::*;
    use crate::shell_words;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_shown_command_has_examples_that_can_be_parsed() {
        for command in Arguments::command().get_subcommands() {
            let name = command.get_name();
            let Some(epilogue) = epilogue(name) else {
                assert!(command.is_hide_set(), "{name} has no examples");
                continue;
            };
            assert!(!epilogue.examples.is_empty(), "{name}");
            for (example, _) in epilogue.examples {
                // The command of preheat, without the pipes, patterns and files of a shell.
                let own = example.rsplit([';', '|']).next().unwrap_or_default();
                let own = own
                    .split(" >")
                    .next()
                    .unwrap_or_default()
                    .replace('*', "all");
                let words = shell_words::split(&own).expect(example);
                let parsed = Arguments::command().try_get_matches_from(&words);
                assert!(
                    words[0] == "preheat" && parsed.is_ok(),
                    "{example}: {parsed:?}"
                );
            }
        }
    }

    #[test]
    fn several_devices_can_be_named() {
        let arguments = Arguments::try_parse_from(["preheat", "lab", "--device", "cpu,opencl"])
            .expect("it is valid");
        let Command::Lab(lab) = arguments.command else {
            panic!("it is lab")
        };
        assert_eq!(
            lab.device,
            [
                DeviceChoice::Kind(Kind::Cpu),
                DeviceChoice::Kind(Kind::OpenCl)
            ]
        );
    }

    #[test]
    fn values_outside_a_list_or_a_range_are_rejected() {
        for arguments in [
            ["run", "--starts", "0"],
            ["run", "--starts", "10001"],
            ["run", "--temperature", "tepid"],
            ["lab", "--framework", "theano"],
            ["lab", "--device", "tpu"],
            ["compare", "--gate", "First"],
            ["start", "--only", "warmth"],
            ["start", "--standby-count", "65"],
        ] {
            let [verb, flag, value] = arguments;
            let why = Arguments::try_parse_from(["preheat", verb, flag, value, "a", "b"])
                .expect_err("it is rejected");
            assert!(
                why.to_string().contains("invalid value"),
                "{arguments:?}: {why}"
            );
        }
    }

    #[test]
    fn a_program_in_place_of_a_verb_is_explained() {
        let message = |verb| {
            let why = Arguments::of_width(80).try_get_matches_from(["preheat", verb, "train.py"]);
            with_tip(why.expect_err("it is not a verb")).to_string()
        };
        assert!(message("python").contains("use `preheat run -- python …`"));
        let typo = message("comparr");
        assert!(typo.contains("'compare'") && !typo.contains("preheat run"));
    }

    #[test]
    fn times_have_bounds() {
        assert!(seconds("0").is_err());
        assert!(seconds("NaN").is_err());
        assert_eq!(seconds("1.5s").ok(), Some(Duration::from_millis(1500)));
    }
}
