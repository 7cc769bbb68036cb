//! `preheat compare`: what a change did to the cold start.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::args::CompareArguments;

pub fn run(_: &CompareArguments) -> Result<ExitCode> {
    bail!("not built yet")
}
