//! The flags of `preheat compare`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use preheat_analyze::check::headroom;
use preheat_analyze::compare::DEFAULT_GATE;
use preheat_model::Quantity;
use preheat_model::check::{InvalidValue, Unit};
use preheat_model::compare::Compared;
use preheat_model::run::{IterationRule, Temperature};

use super::epilogue::{Epilogue, Note};
use super::{TEMPLATE, seconds, values};
use crate::show::ShowArguments;

/// The text below the flags of `preheat compare`.
pub const EPILOGUE: Epilogue = Epilogue {
    examples: &[
        (
            "preheat compare preheat-train preheat-train-2",
            "two recordings",
        ),
        (
            "preheat compare main.json branch.json",
            "two results of run --json or lab --json",
        ),
        (
            "preheat compare 'python train.py' 'python new.py'",
            "two commands, 10 starts each",
        ),
        (
            r#"preheat compare --starts 20 --max-regression 3% './old' './new --flag "two words"'"#,
            "",
        ),
        (
            "preheat compare base new --html compare.html --json compare.json",
            "",
        ),
    ],
    notes: &[Note::Paragraph(
        "A command is split into words as in a shell (quotes, backslashes), but nothing is expanded. To use a shell, write sh -c '...'. The output of the commands is hidden (see --all-output).",
    )],
    exit_codes: "0 no regression; 1 a regression; 2 wrong usage or unreadable input; 3 inconclusive, with --fail-on-inconclusive; 125 a command or preheat itself failed; 126 a command cannot be executed; 127 a command was not found; 130 interrupted (everything measured so far is compared).",
};

#[derive(Debug, Args)]
#[command(
    before_help = "Compares two recordings made by `preheat run`, two results written by --json, or two commands that are run now with their starts interleaved at random. Time to first, the first and the steady iteration, warm-up, memory and every cause get a difference, a 95 % interval and a verdict (faster, slower, unchanged or inconclusive; smaller or larger for memory). The report also names the cause, module, library or kernel that explains a difference.

The verdicts are corrected for the number of quantities compared: at most one comparison in twenty reports a difference between two equal programs. A comparison fails (exit code 1) only if the whole interval of a quantity lies beyond --max-regression and its change is at least --min-change.",
    help_template = TEMPLATE,
    mut_args(super::with_standard_output)
)]
pub struct CompareArguments {
    /// The baseline: the directory of a recording, a JSON result (- for standard input), or a command
    #[arg(value_name = "BASE")]
    pub base: String,

    /// The version to compare with it, in the same form
    #[arg(value_name = "NEW")]
    pub new: String,

    /// The largest regression to accept
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percentage, allow_hyphen_values = true)]
    pub max_regression: f64,

    /// Ignore smaller changes in time; for the steady iteration, changes smaller than TIME divided by 100 [default: 1ms; for lab results 10us, also for the steady iteration]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub min_change: Option<f64>,

    /// Ignore smaller changes in memory
    #[arg(long, value_name = "BYTES", default_value = "1MiB", value_parser = size, allow_hyphen_values = true)]
    pub min_memory: f64,

    #[arg(long, value_name = "QUANTITY", value_delimiter = ',', help = gate_help(), default_values = DEFAULT_GATE.map(Quantity::id), hide_default_value = true, value_parser = values::quantity())]
    pub gate: Vec<Compared>,

    /// Exit with 3 if a gated quantity is inconclusive and none regressed
    #[arg(long)]
    pub fail_on_inconclusive: bool,

    /// Detect iterations in commands and recordings this way (see `preheat run --help`) [default: auto, or as recorded]
    #[arg(long, value_name = "HOW")]
    pub iterations: Option<IterationRule>,

    #[command(flatten)]
    pub show: ShowArguments,

    #[command(flatten)]
    pub live: LiveArguments,
}

/// The help of --gate, with the default as one would write it.
fn gate_help() -> String {
    let default = DEFAULT_GATE.map(Quantity::id).join(",");
    format!("Quantities that can fail the comparison, separated by commas [default: {default}]")
}

/// Options that apply only when commands are run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for commands")]
pub struct LiveArguments {
    /// Starts per command; the first of each is reported separately [default: 10, fewer if --budget runs out]
    #[arg(long, value_name = "N", value_parser = values::starts, allow_negative_numbers = true)]
    pub starts: Option<usize>,

    /// Stop beginning new starts after this long [default: 120; no limit with --starts]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub budget: Option<Duration>,

    /// Temperature of each start, as in `preheat run` [default: process]
    #[arg(long, value_name = "T", value_parser = values::temperature())]
    pub temperature: Option<Temperature>,

    /// The directory for both recordings [default: preheat-compare, or the first free preheat-compare-N]
    #[arg(long, short, value_name = "DIRECTORY")]
    pub output: Option<PathBuf>,

    /// Wait for the device at the end of each iteration detected in Python
    #[arg(long)]
    pub synchronize: bool,

    /// Show the output of the commands
    #[arg(long)]
    pub all_output: bool,

    /// The largest size of the recording of one process [default: 256]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=65536))]
    pub limit: Option<u64>,

    /// Seed for the order of the starts [default: 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

impl LiveArguments {
    /// The first of these flags on the command line, if any.
    pub fn given(&self) -> Option<&'static str> {
        [
            ("--starts", self.starts.is_some()),
            ("--budget", self.budget.is_some()),
            ("--temperature", self.temperature.is_some()),
            ("--output", self.output.is_some()),
            ("--synchronize", self.synchronize),
            ("--all-output", self.all_output),
            ("--limit", self.limit.is_some()),
            ("--seed", self.seed.is_some()),
        ]
        .into_iter()
        .find_map(|(flag, given)| given.then_some(flag))
    }
}

/// Parses `5%` as 0.05, in the same way as the `--headroom` of `preheat check`.
fn percentage(text: &str) -> anyhow::Result<f64> {
    match headroom(text) {
        Ok(part) if part > 0.0 => Ok(part),
        _ => anyhow::bail!("expected a percentage above 0% and up to 1000%, as in 5% or 0.5%"),
    }
}

/// Parses `1ms`, `250 us` or `2s` into seconds. Only 0 may omit the unit.
fn time(text: &str) -> Result<f64, InvalidValue> {
    Unit::Seconds.amount(text)
}

/// Parses `1MiB` or `500 MB` into bytes.
fn size(text: &str) -> Result<f64, InvalidValue> {
    Unit::Bytes.amount(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_percentages_times_and_sizes() {
        for five in ["5%", "5 %", " 5% ", "5"] {
            assert_eq!(percentage(five).ok(), Some(0.05), "{five}");
        }
        assert_eq!(percentage(" 0.5 % ").ok(), Some(0.005));
        for wrong in ["-1%", "0%", "0", "1001%", "NaN%", "inf%", "%", ""] {
            assert!(percentage(wrong).is_err(), "{wrong}");
        }
        assert_eq!(time("1ms"), Ok(1e-3));
        assert_eq!(time("2 min"), Ok(120.0));
        assert_eq!(time("0.5h"), Ok(1800.0));
        for nothing in ["0", "0s", " 0 ms "] {
            assert_eq!(time(nothing), Ok(0.0), "{nothing}");
        }
        for mebibyte in ["1MiB", "1 mib", "1024KiB"] {
            assert_eq!(size(mebibyte), Ok(1_048_576.0), "{mebibyte}");
        }
        assert_eq!(size("1.5 GB"), Ok(1.5e9));
        assert_eq!(size("0"), Ok(0.0));
        for wrong in ["1", "-1ms", "-1", "ms", "1e999s", "1 MiBB", "NaNs", ""] {
            assert!(time(wrong).is_err() && size(wrong).is_err(), "{wrong}");
        }
    }
}
