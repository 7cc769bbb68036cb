//! The flags of `preheat classify`.

use std::path::PathBuf;

use clap::Args;
use preheat_times::Unit;

use super::TEMPLATE;
use crate::show::ShowArguments;

#[derive(Debug, Args)]
#[command(
    before_help = "Reads iteration times that any benchmark tool wrote and says, for each start and overall: how they behave (flat, cold-first, warmup, slowdown, no steady state), where steady begins, first, steady, ratio and excess with 95 % intervals, and how many iterations to discard.

What a file is is told by what it holds, never by its name:
  warmup_stats CSV    process_exec_idx, bench_name, 0, 1, …
  Krun results        JSON, also compressed with bzip2
  pyperf JSON         warm-ups are the first iterations of their run
  JMH JSON            its warm-up iterations are not kept there
  hyperfine JSON      each time is a start: how the machine warms up
  preheat run JSON    the iterations of each start
  a JSON list         [0.2, 0.1, …], or a list of such lists, one for each start
  one number a line   an empty line ends a start, # begins a comment",
    help_template = TEMPLATE,
    after_help = "Examples:
  preheat classify results.json.bz2            a whole experiment of Krun
  preheat classify *.csv --html judged.html    many files, one page
  ./benchmark | preheat classify --unit ms     one number a line
  for i in 1 2 3 4 5; do ./benchmark; echo; done | preheat classify
                                               five starts, an empty line between
  hyperfine -N -r 30 --export-json h.json ./program; preheat classify h.json

Exit codes: 0 done, 2 wrong usage or a file that could not be read (the others are judged and reported), 125 preheat itself failed."
)]
pub struct ClassifyArguments {
    /// Files with iteration times; - or none for standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Unit of files that do not say theirs (lines, JSON lists, CSV): s, ms, us or ns [default: s]
    #[arg(long, value_name = "UNIT", value_parser = unit)]
    pub unit: Option<Unit>,

    /// Take starts of a benchmark that have different numbers of iterations, as long as they are
    #[arg(long)]
    pub mixed_lengths: bool,

    /// Seeds all resampling
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    #[command(flatten)]
    pub show: ShowArguments,
}

fn unit(text: &str) -> Result<Unit, String> {
    text.parse()
}
