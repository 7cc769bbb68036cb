//! The flags of `preheat classify`.

use std::path::PathBuf;

use clap::Args;

use crate::show::ShowArguments;

#[derive(Debug, Args)]
pub struct ClassifyArguments {
    /// Files with iteration times; - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub show: ShowArguments,
}
