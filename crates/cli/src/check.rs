//! `preheat check`: a recording against its budget.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::args::CheckArguments;

pub fn run(_: &CheckArguments) -> Result<ExitCode> {
    bail!("not built yet")
}
