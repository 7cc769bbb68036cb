//! `preheat classify`: iteration times from elsewhere, judged.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::args::ClassifyArguments;

pub fn run(_: &ClassifyArguments) -> Result<ExitCode> {
    bail!("not built yet")
}
