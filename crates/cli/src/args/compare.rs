//! The flags of `preheat compare`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use preheat_analyze::check::{Unit, headroom};
use preheat_analyze::compare::{DEFAULT_GATE, QUANTITIES};
use preheat_analyze::run::Temperature;

use super::{TEMPLATE, iterations, seconds, starts, temperature};
use crate::show::ShowArguments;

#[derive(Debug, Args)]
#[command(
    before_help = "Compares two recordings of `preheat run`, two results that --json wrote, or two commands that are run now, their starts interleaved at random. For time to first, the first and the steady iteration, warm-up, memory and every cause it tells the difference with its 95 % interval and a verdict (faster, slower, same, inconclusive), and which cause and which module, library or kernel explains it.

A verdict of faster or slower takes into account how many quantities are looked at: two equal programs are told apart in at most one comparison of twenty. A comparison fails (exit code 1) only if the whole interval of a quantity lies beyond --max-regression and its change is not below --min-change.",
    help_template = TEMPLATE,
    after_help = "Examples:
  preheat compare preheat-train preheat-train-2        two recordings
  preheat compare main.json branch.json                two results of run --json or lab --json
  preheat compare 'python train.py' 'python new.py'    two commands, 10 starts each
  preheat compare --starts 20 --max-regression 3% './old' './new --flag \"two words\"'
  preheat compare base new --html compare.html --json compare.json

A command is split into words as a shell would (quotes, backslashes), but no shell is used: nothing is expanded. For that, write sh -c '...'. Its output is not shown (see --all-output).

Exit codes: 0 no regression; 1 a regression; 2 wrong usage or unreadable input; 3 inconclusive, if asked for; 125 a command failed or preheat itself did; 126 a command cannot be executed; 127 it was not found; 130 interrupted (what was measured until then is compared)."
)]
pub struct CompareArguments {
    /// What it was: a recording's directory, a result as JSON (- for standard input), or a command
    #[arg(value_name = "BASE")]
    pub base: String,

    /// What it is now: likewise
    #[arg(value_name = "NEW")]
    pub new: String,

    /// The regression that is still allowed, as a percentage
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percentage, allow_hyphen_values = true)]
    pub max_regression: f64,

    /// A smaller change of time to first or the first iteration is no regression; of the steady iteration a hundredth of it [default: 1ms, 10us for the lab]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub min_change: Option<f64>,

    /// A smaller change of memory is no regression
    #[arg(long, value_name = "BYTES", default_value = "1MiB", value_parser = size, allow_hyphen_values = true)]
    pub min_memory: f64,

    /// What can fail the comparison, several with commas: time-to-first, first, steady, ratio, warmup, excess, device-memory, host-memory, region
    #[arg(long, value_name = "QUANTITY", value_delimiter = ',', default_values = DEFAULT_GATE, value_parser = quantity)]
    pub gate: Vec<String>,

    /// Exit with 3 if one of these is inconclusive and none regressed
    #[arg(long)]
    pub fail_on_inconclusive: bool,

    /// What an iteration is, of commands and recordings (see `preheat run --help`) [default: auto, or as recorded]
    #[arg(long, value_name = "HOW", value_parser = iterations)]
    pub iterations: Option<String>,

    #[command(flatten)]
    pub show: ShowArguments,

    #[command(flatten)]
    pub live: LiveArguments,
}

/// What can be asked for only where commands are run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for commands")]
pub struct LiveArguments {
    /// Starts of each command, the first of each reported apart [default: 10, fewer where --budget ends before]
    #[arg(long, value_name = "N", value_parser = starts, allow_negative_numbers = true)]
    pub starts: Option<usize>,

    /// Begin no further start after this long [default: 120; none with --starts]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub budget: Option<Duration>,

    /// How cold each start is made: process, disk or caches [default: process]
    #[arg(long, value_name = "T", value_parser = temperature)]
    pub temperature: Option<Temperature>,

    /// The directory of both recordings [default: preheat-compare, numbered, here]
    #[arg(long, short, value_name = "DIRECTORY")]
    pub output: Option<PathBuf>,

    /// Wait for the device at the end of each iteration that Python sees
    #[arg(long)]
    pub synchronize: bool,

    /// Show the output of the commands
    #[arg(long)]
    pub all_output: bool,

    /// The most that is recorded of a process [default: 256]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=65536))]
    pub limit: Option<u64>,

    /// Seeds the order of the starts [default: 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

impl LiveArguments {
    /// The first of these flags that was given.
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

/// `5%` is 0.05, read as `preheat check` reads a head-room.
fn percentage(text: &str) -> Result<f64, String> {
    match headroom(text) {
        Ok(part) if part > 0.0 => Ok(part),
        _ => Err("it is a percentage of more than 0% and at most 1000%, as in 5% or 0.5%".into()),
    }
}

/// `1ms`, `250 us`, `2s`: seconds. Nothing is nothing without a unit too.
fn time(text: &str) -> Result<f64, String> {
    Unit::Seconds.amount(text)
}

/// `1MiB`, `500 MB`: bytes.
fn size(text: &str) -> Result<f64, String> {
    Unit::Bytes.amount(text)
}

fn quantity(id: &str) -> Result<String, String> {
    match QUANTITIES.contains(&id) {
        true => Ok(id.to_owned()),
        false => Err(format!(
            "there is no such quantity; there are {}",
            QUANTITIES.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_signs_and_units() {
        for five in ["5%", "5 %", " 5% ", "5"] {
            assert_eq!(percentage(five), Ok(0.05), "{five}");
        }
        assert_eq!(percentage(" 0.5 % "), Ok(0.005));
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
        assert!(quantity("first").is_ok() && quantity("First").is_err());
    }
}
