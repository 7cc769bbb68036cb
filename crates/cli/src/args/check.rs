//! The flags of `preheat check`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub struct CheckArguments {
    /// A recording's directory, or a result of `preheat run --json`
    #[arg(value_name = "RECORDING")]
    pub recording: PathBuf,
}
