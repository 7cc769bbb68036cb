//! The flags of `preheat classify`.

use std::path::PathBuf;

use clap::Args;
use preheat_times::TimeUnit;

use super::TEMPLATE;
use super::epilogue::Epilogue;
use crate::show::ShowArguments;

/// The text below the flags of `preheat classify`.
pub const EPILOGUE: Epilogue = Epilogue {
    examples: &[
        (
            "preheat classify results.json.bz2",
            "a whole Krun experiment",
        ),
        (
            "preheat classify *.csv --html classes.html",
            "many files, one page",
        ),
        (
            "./benchmark | preheat classify --unit ms",
            "one number per line",
        ),
        (
            "for i in 1 2 3 4 5; do ./benchmark; echo; done | preheat classify",
            "five starts, separated by empty lines",
        ),
        (
            "hyperfine -N -r 30 --export-json h.json ./program; preheat classify h.json",
            "",
        ),
    ],
    notes: &[],
    exit_codes: "0 done, 2 wrong usage or an unreadable file (the other files are still reported), 125 preheat itself failed.",
};

#[derive(Debug, Args)]
#[command(
    before_help = "Reads iteration times written by any benchmark tool and reports, for each start and overall: the class (flat, cold-first, warmup, slowdown, no steady state), where the steady state begins, first, steady, ratio and excess with 95 % intervals, and how many iterations to discard.

The format is detected from the content, never from the file name:
  warmup_stats CSV    process_exec_idx, bench_name, 0, 1, …
  Krun results        JSON, also compressed with bzip2
  pyperf JSON         warm-ups count as the first iterations of their run
  JMH JSON            the format does not include warm-up iterations
  hyperfine JSON      each time is a start: shows how the machine warms up
  preheat run JSON    the iterations of each start
  JSON list           [0.2, 0.1, …], or a list of such lists, one per start
  plain text          one number per line; an empty line ends a start, # begins a comment",
    help_template = TEMPLATE,
    mut_args(super::with_standard_output)
)]
pub struct ClassifyArguments {
    /// Files with iteration times [default: standard input, also -]
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Unit of formats that do not specify one (plain text, JSON lists, CSV) [default: s]
    #[arg(long, value_name = "UNIT", value_parser = super::values::unit())]
    pub unit: Option<TimeUnit>,

    /// Accept starts with differing iteration counts
    #[arg(long)]
    pub mixed_lengths: bool,

    /// Seed for resampling
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    #[command(flatten)]
    pub show: ShowArguments,
}
