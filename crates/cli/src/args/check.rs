//! The flags of `preheat check`.

use std::error::Error;
use std::path::PathBuf;

use clap::Args;
use clap::error::{ContextKind, ContextValue};
use preheat_analyze::check::{Limit, headroom, limit};
use preheat_model::Quantity;
use preheat_model::check::Limited;
use preheat_model::run::IterationRule;
use serde::Serialize;

use super::TEMPLATE;
use super::epilogue::{Epilogue, Note, Row};

/// The text below the flags of `preheat check`.
pub const EPILOGUE: Epilogue = Epilogue {
    examples: &[
        ("preheat run --starts 5 --output rec -- python train.py", ""),
        (
            "preheat check --init rec",
            "write preheat.toml from the recording",
        ),
        ("preheat check rec", "check the recording against it"),
        (
            "preheat check rec --time-to-first 2s --cause 'python imports=1.5s'",
            "",
        ),
        ("preheat check rec --github --junit junit.xml", "in CI"),
    ],
    notes: &[Note::Paragraph("A budget:"), Note::Table(BUDGET)],
    exit_codes: "0 every limit is met or inconclusive; 1 a limit is exceeded or was not measured, or a start failed; 2 wrong usage, an unreadable budget or recording, or too few starts; 3 inconclusive, with --fail-on-inconclusive; 125 preheat itself failed.",
};

/// A budget, line by line.
const BUDGET: &[Row] = &[
    (r#"time_to_first = "2 s""#, "also first, steady, excess"),
    ("first_ratio = 50", "first ÷ steady"),
    ("warmup = 3", "iterations before the steady state"),
    (
        r#"device_memory = "1 GiB""#,
        "peak; also host_memory, of the largest process",
    ),
    (
        r#"cause."python imports" = "1.5 s""#,
        "until the end of the first iteration",
    ),
    ("starts = 5", "require at least this many starts"),
    ("[temperature.disk]", "limits for colder starts"),
    (r#"time_to_first = "6 s""#, ""),
];

#[derive(Debug, Args)]
#[command(
    before_help = "A budget sets upper limits for a program. It comes from `preheat.toml` in the current directory, another file, or flags. A limit passes if the measured value is within it, fails if the whole 95 % interval is above it, and is inconclusive otherwise. In CI, use the exit code, and write the details as JUnit XML, Markdown or GitHub annotations.",
    help_template = TEMPLATE
)]
pub struct CheckArguments {
    /// The directory of a recording, or a file written by `preheat run --json` (- for standard input)
    #[arg(value_name = "RECORDING|FILE")]
    pub recording: PathBuf,

    /// The budget [default: preheat.toml in the current directory, if it exists]
    #[arg(long, value_name = "FILE")]
    pub budget: Option<PathBuf>,

    /// Write a budget that the recording meets, and exit
    #[arg(long)]
    pub init: bool,

    /// With --init: how far to set each limit above the measured value
    #[arg(long, value_name = "PERCENT", default_value = "25%", value_parser = headroom, requires = "init", allow_hyphen_values = true)]
    pub headroom: f64,

    /// With --init: overwrite an existing budget
    #[arg(long, requires = "init")]
    pub force: bool,

    /// Detect the recording's iterations differently than when it was made (see `preheat run --help`)
    #[arg(long, value_name = "HOW")]
    pub iterations: Option<IterationRule>,

    /// Ignore limits on quantities that were not measured
    #[arg(long)]
    pub allow_missing: bool,

    /// Exit with 3 if a limit is inconclusive
    #[arg(long)]
    pub fail_on_inconclusive: bool,

    /// Only read the limits; one that is invalid is written to standard output as JSON
    #[arg(long, hide = true, conflicts_with = "init")]
    pub validate: bool,

    #[command(flatten)]
    pub limits: LimitArguments,

    #[command(flatten)]
    pub results: ResultArguments,
}

/// A flag whose value is rejected, for programs that pass on limits.
#[derive(Debug, PartialEq, Serialize)]
pub struct InvalidFlag {
    flag: String,
    value: String,
    reason: String,
}

impl InvalidFlag {
    /// The flag of `preheat check --validate` that the error is about; `None` for other errors.
    pub fn of(error: &clap::Error, command: &clap::Command) -> Option<InvalidFlag> {
        let (Some(ContextValue::String(shown)), Some(ContextValue::String(value))) = (
            error.get(ContextKind::InvalidArg),
            error.get(ContextKind::InvalidValue),
        ) else {
            return None;
        };
        let mut flags = command.find_subcommand("check")?.get_arguments();
        let flag = flags.find(|flag| flag.to_string() == *shown)?;
        Some(InvalidFlag {
            flag: format!("--{}", flag.get_long()?),
            value: value.clone(),
            reason: error.source()?.to_string(),
        })
    }
}

// Limits as flags; they override those of the budget. (A doc comment here would become the
// description of the command.)
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits (override the budget)")]
pub struct LimitArguments {
    /// From exec to the end of the first iteration
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = |text: &str| limit(Quantity::TimeToFirst, text))]
    pub time_to_first: Option<Limit>,

    /// The first iteration
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = |text: &str| limit(Quantity::First, text))]
    pub first: Option<Limit>,

    /// The steady iteration
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = |text: &str| limit(Quantity::Steady, text))]
    pub steady: Option<Limit>,

    /// The first iteration divided by the steady one
    #[arg(long, value_name = "RATIO", allow_hyphen_values = true, value_parser = |text: &str| limit(Quantity::Ratio, text))]
    pub first_ratio: Option<Limit>,

    /// Iterations before the steady state
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = |text: &str| limit(Quantity::Warmup, text))]
    pub warmup: Option<Limit>,

    /// Extra time spent in warm-up
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = |text: &str| limit(Quantity::Excess, text))]
    pub excess: Option<Limit>,

    /// Peak device memory in use
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = |text: &str| limit(Quantity::DeviceMemory, text))]
    pub device_memory: Option<Limit>,

    /// Peak host memory: the largest resident size of a process
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = |text: &str| limit(Quantity::HostMemory, text))]
    pub host_memory: Option<Limit>,

    /// A cause on the path to the end of the first iteration; can be repeated
    #[arg(long, value_name = "NAME=TIME", allow_hyphen_values = true, value_parser = cause)]
    pub cause: Vec<Limit>,

    /// Require at least this many starts
    #[arg(long, value_name = "N", value_parser = super::values::starts, allow_negative_numbers = true)]
    pub starts: Option<usize>,

    /// The exit code that every start must have [default: 0]
    #[arg(long, value_name = "CODE", value_parser = clap::value_parser!(i32).range(0..=255), allow_negative_numbers = true)]
    pub exit_code: Option<i32>,
}

// Output destinations besides the terminal.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct ResultArguments {
    /// Print GitHub annotations, and append to the job summary ($GITHUB_STEP_SUMMARY)
    #[arg(long)]
    pub github: bool,

    /// Write the result as JSON (preheat.check/2); - for standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the limits as test cases in JUnit XML; - for standard output
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// Write the result as Markdown; - for standard output
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Write the measured values in Bencher Metric Format; - for standard output
    #[arg(long, value_name = "FILE")]
    pub bmf: Option<PathBuf>,

    /// Write the measured values for github-action-benchmark; - for standard output
    #[arg(long, value_name = "FILE")]
    pub benchmark_action: Option<PathBuf>,

    /// The program's name in these files [default: from the command: train for python train.py]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub name: Option<String>,
}

fn cause(text: &str) -> anyhow::Result<Limit> {
    let Some((name, most)) = text.rsplit_once('=') else {
        anyhow::bail!("expected a cause and its limit, as in 'python imports=1.5s'");
    };
    Ok(limit(Limited::cause_named(name)?, most)?)
}

#[cfg(test)]
mod tests {
    use preheat_analyze::check::Budget;

    use super::*;

    #[test]
    fn an_invalid_limit_is_described_by_its_fields() {
        let invalid = |arguments: &[&str]| {
            let mut command = crate::args::Arguments::of_width(80);
            let words = ["preheat", "check", "--validate", "rec"];
            let error = command.try_get_matches_from_mut(words.iter().chain(arguments));
            InvalidFlag::of(&error.expect_err("it is invalid"), &command)
        };
        let time = invalid(&["--first", "1 parsec"]).expect("a limit");
        assert_eq!((&*time.flag, &*time.value), ("--first", "1 parsec"));
        assert!(
            !time.reason.is_empty() && !time.reason.contains("--first"),
            "{time:?}"
        );
        let cause = invalid(&["--cause", "dreaming=1s"]).expect("a limit");
        assert_eq!((&*cause.flag, &*cause.value), ("--cause", "dreaming=1s"));
        assert_eq!(invalid(&["--unknown"]), None);
    }

    #[test]
    fn the_budget_in_the_help_can_be_read() {
        let lines: Vec<&str> = BUDGET.iter().map(|(line, _)| *line).collect();
        let read = Budget::read(&lines.join("\n"));
        assert!(read.is_ok(), "{read:?}");
    }
}
