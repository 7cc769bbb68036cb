//! The flags of `preheat compare`.

use clap::Args;

use crate::show::ShowArguments;

#[derive(Debug, Args)]
pub struct CompareArguments {
    /// What it was: a recording, a result as JSON, or a command
    #[arg(value_name = "BASE")]
    pub base: String,

    /// What it is now: likewise
    #[arg(value_name = "NEW")]
    pub new: String,

    #[command(flatten)]
    pub show: ShowArguments,
}
