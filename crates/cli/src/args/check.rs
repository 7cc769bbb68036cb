//! The flags of `preheat check`.

use std::path::PathBuf;

use clap::Args;
use preheat_analyze::check::{Limit, Quantity, headroom, limit};

use super::TEMPLATE;

#[derive(Debug, Args)]
#[command(
    before_help = "A budget says what a program may take at most: `preheat.toml` in this directory, another file, or flags. Each limit passes if what was measured is within it, fails if the whole 95 % interval is above it, and is inconclusive in between. Fails a pipeline, and tells it why.",
    help_template = TEMPLATE,
    after_help = "Examples:
  preheat run --starts 5 --output rec -- python train.py
  preheat check --init rec                       write preheat.toml from it
  preheat check rec                              check a recording against it
  preheat check rec --time-to-first 2s --cause 'python imports=1.5s'
  preheat check rec --github --junit junit.xml   in a pipeline

A budget:
  time_to_first = \"2 s\"              also first, steady, excess
  first_ratio = 50                   first / steady
  warmup = 3                         iterations before steady
  device_memory = \"1 GiB\"            also host_memory; both at their peak
  cause.\"python imports\" = \"1.5 s\"   until the end of the first iteration
  starts = 5                         fewer are not enough to judge
  [temperature.disk]                 the same for colder starts
  time_to_first = \"6 s\"

Exit codes: 0 every limit is kept, or inconclusive; 1 a limit is not kept, was not measured, or a start failed; 2 wrong usage, an unreadable budget or recording, too few starts; 3 inconclusive, with --fail-on-inconclusive; 125 preheat itself failed."
)]
pub struct CheckArguments {
    /// A recording's directory, or a file that `preheat run --json` wrote (- for standard input)
    #[arg(value_name = "RECORDING|FILE")]
    pub recording: PathBuf,

    /// The budget [default: preheat.toml, if there is one here]
    #[arg(long, value_name = "FILE")]
    pub budget: Option<PathBuf>,

    /// Write a budget that the recording keeps, and check nothing
    #[arg(long)]
    pub init: bool,

    /// With --init: how far each limit is above what was measured
    #[arg(long, value_name = "PERCENT", default_value = "25%", value_parser = headroom, requires = "init", allow_hyphen_values = true)]
    pub headroom: f64,

    /// With --init: overwrite a budget that is there
    #[arg(long, requires = "init")]
    pub force: bool,

    /// Find a recording's iterations in another way than when it was made (see `preheat run --help`)
    #[arg(long, value_name = "HOW", value_parser = super::iterations)]
    pub iterations: Option<String>,

    /// Pass over limits on what was not measured
    #[arg(long)]
    pub allow_missing: bool,

    /// Exit with 3 if a limit is inconclusive
    #[arg(long)]
    pub fail_on_inconclusive: bool,

    #[command(flatten)]
    pub limits: LimitArguments,

    #[command(flatten)]
    pub results: ResultArguments,
}

// Limits as flags; they override those of the budget. (A doc comment here would become the
// command's own description.)
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits, over those of the budget")]
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

    /// The first iteration in steady ones
    #[arg(long, value_name = "RATIO", allow_hyphen_values = true, value_parser = |text: &str| limit(Quantity::FirstRatio, text))]
    pub first_ratio: Option<Limit>,

    /// Iterations before steady
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = |text: &str| limit(Quantity::Warmup, text))]
    pub warmup: Option<Limit>,

    /// What warm-up cost over steady
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = |text: &str| limit(Quantity::Excess, text))]
    pub excess: Option<Limit>,

    /// Device memory in use, at its peak
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = |text: &str| limit(Quantity::DeviceMemory, text))]
    pub device_memory: Option<Limit>,

    /// Resident memory, at its peak
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = |text: &str| limit(Quantity::HostMemory, text))]
    pub host_memory: Option<Limit>,

    /// A cause on the path to the end of the first iteration; may be given again
    #[arg(long, value_name = "NAME=TIME", allow_hyphen_values = true, value_parser = cause)]
    pub cause: Vec<Limit>,

    /// The fewest starts that are enough to judge
    #[arg(long, value_name = "N", value_parser = super::starts, allow_negative_numbers = true)]
    pub starts: Option<usize>,

    /// How every start must end [default: 0]
    #[arg(long, value_name = "CODE", value_parser = clap::value_parser!(i32).range(0..=255), allow_negative_numbers = true)]
    pub exit_code: Option<i32>,
}

// Where the result goes beside the terminal.
#[derive(Debug, Args)]
#[command(next_help_heading = "Results")]
pub struct ResultArguments {
    /// Print annotations for GitHub, and append to the summary of the run ($GITHUB_STEP_SUMMARY)
    #[arg(long)]
    pub github: bool,

    /// Write the result as JSON (preheat.check/1); - for standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the limits as tests in JUnit's XML; - for standard output
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// Write the result as Markdown; - for standard output
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Write what was measured in the Bencher Metric Format; - for standard output
    #[arg(long, value_name = "FILE")]
    pub bmf: Option<PathBuf>,

    /// Write what was measured for github-action-benchmark; - for standard output
    #[arg(long, value_name = "FILE")]
    pub benchmark_action: Option<PathBuf>,

    /// What the program is called in these [default: after the command: train for python train.py]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub name: Option<String>,
}

fn cause(text: &str) -> Result<Limit, String> {
    let Some((name, most)) = text.rsplit_once('=') else {
        return Err("a cause and its limit are written as 'python imports=1.5s'".to_owned());
    };
    limit(Quantity::cause(name)?, most)
}
