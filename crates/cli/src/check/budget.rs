//! Loads the budget from a file, overridden by flags.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Result;
use preheat_analyze::check::Budget;

use crate::args::{CheckArguments, LimitArguments};
use crate::exit::Usage;

/// The default budget file.
pub const USUAL: &str = "preheat.toml";
/// The maximum size. A budget has a few dozen lines; a larger file is something else.
const LARGEST: u64 = 1 << 20;

/// The budget and its file, if it has one.
pub fn of(arguments: &CheckArguments) -> Result<(Budget, Option<PathBuf>)> {
    let file = arguments.budget.clone().or_else(|| {
        let usual = PathBuf::from(USUAL);
        usual.exists().then_some(usual)
    });
    let mut budget = match &file {
        Some(path) => read(path, &arguments.recording)?,
        None => Budget::default(),
    };
    budget.override_with(flags(&arguments.limits));
    if budget.is_empty() {
        let what = match &file {
            Some(path) => format!("{} sets no limit", path.display()),
            None => format!("no budget: {USUAL} does not exist here and no flag sets a limit"),
        };
        return Err(Usage(format!(
            "{what}; `preheat check --init {}` writes a budget, or use a flag such as --time-to-first 2s",
            arguments.recording.display()
        ))
        .into());
    }
    Ok((budget, file))
}

fn read(path: &Path, recording: &Path) -> Result<Budget> {
    let file = path.display();
    let stdin = Path::new("-");
    if path == stdin && recording == stdin {
        return Err(Usage(
            "the recording and the budget cannot both be standard input; name a file".into(),
        )
        .into());
    }
    let mut bytes = Vec::new();
    let read = if path == stdin {
        io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
    };
    read.map_err(|why| {
        Usage(format!(
            "cannot read the budget {file}: {why}; `preheat check --init` writes one"
        ))
    })?;
    if bytes.len() as u64 > LARGEST {
        return Err(Usage(format!(
            "{file} is not a budget: it is larger than {} KiB",
            LARGEST >> 10
        ))
        .into());
    }
    let text = String::from_utf8(bytes).map_err(|why| {
        let good = &why.as_bytes()[..why.utf8_error().valid_up_to()];
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        let start = good
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let column = String::from_utf8_lossy(&good[start..]).chars().count() + 1;
        Usage(format!(
            "{file}:{line}:{column}: the file is not valid UTF-8"
        ))
    })?;
    Ok(Budget::read(&text).map_err(|why| Usage(format!("{file}:{why}")))?)
}

fn flags(given: &LimitArguments) -> Budget {
    let plain = [
        given.time_to_first,
        given.first,
        given.steady,
        given.first_ratio,
        given.warmup,
        given.excess,
        given.device_memory,
        given.host_memory,
    ];
    let limits = plain
        .into_iter()
        .flatten()
        .chain(given.cause.iter().copied());
    let mut flags = Budget {
        starts: given.starts,
        exit_code: given.exit_code,
        limits: Vec::new(),
    };
    // If a flag is repeated, the last one wins.
    flags.override_with(Budget {
        limits: limits.collect(),
        ..Budget::default()
    });
    flags
}
