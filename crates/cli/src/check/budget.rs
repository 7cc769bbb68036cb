//! Where the budget comes from: a file, and flags over it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Result;
use preheat_analyze::check::Budget;

use crate::args::{CheckArguments, LimitArguments};
use crate::exit::Usage;

/// What is looked for where no budget is named.
pub const USUAL: &str = "preheat.toml";
/// A budget has a few dozen lines: what is larger than this is something else.
const LARGEST: u64 = 1 << 20;

/// The budget, and the file that it is from.
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
            None => format!("there is no budget: no {USUAL} is here, and no flag sets a limit"),
        };
        return Err(Usage(format!(
            "{what}; `preheat check --init {}` writes one, or say it here, as in --time-to-first 2s",
            arguments.recording.display()
        ))
        .into());
    }
    Ok((budget, file))
}

fn read(path: &Path, recording: &Path) -> Result<Budget> {
    let place = path.display();
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
            "the budget {place} cannot be read: {why}; `preheat check --init` writes one"
        ))
    })?;
    if bytes.len() as u64 > LARGEST {
        return Err(Usage(format!(
            "{place} is no budget: it has more than {} KiB",
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
            "{place}:{line}:{column}: this is no text: it is not UTF-8"
        ))
    })?;
    Ok(Budget::read(&text).map_err(|why| Usage(format!("{place}:{why}")))?)
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
    // A flag that is given again holds.
    flags.override_with(Budget {
        limits: limits.collect(),
        ..Budget::default()
    });
    flags
}
