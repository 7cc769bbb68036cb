//! Runs two commands with interleaved starts, and compares them.
//!
//! Their output is hidden, since the output of two programs would be mixed. If a start
//! fails, the end of its standard error is shown.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use preheat_analyze::run::analyze;
use preheat_host::interrupt::interrupted;
use preheat_launch::{DEFAULT_LIMIT, LaunchError, Request, record_in_turn};
use preheat_model::run::{Manifest, Temperature};
use preheat_model::stats::MIN_STARTS;
use preheat_report::{compare_html, run_html};

use super::{Content, Side, code, compare_sides, show};
use crate::args::CompareArguments;
use crate::exit::{FAILED, INTERRUPTED, Usage, complain, failure};
use crate::progress::{Bar, Progress};
use crate::run::PAGE;
use crate::show::{DocumentFormat, Targets};
use crate::{output, recorded};

/// The default number of starts per command.
const STARTS: usize = 10;
/// The budget for all starts if neither --starts nor --budget is given.
const BUDGET: Duration = Duration::from_secs(120);
/// The names of the two sides, in directories and messages.
const SIDES: [&str; 2] = ["base", "new"];
/// The page written next to the recordings.
const COMPARISON: &str = "compare.html";

pub fn run(
    arguments: &CompareArguments,
    commands: [Vec<String>; 2],
    targets: &Targets<DocumentFormat>,
) -> Result<ExitCode> {
    if arguments.live.all_output && targets.use_stdout() {
        return Err(Usage(
            "with --all-output the commands write to standard output: name a file".into(),
        )
        .into());
    }
    let output = output::directory(arguments.live.output.as_deref(), "preheat-compare")?;
    let directories = SIDES.map(|side| output.join(side));
    let [base, new] = commands;
    let requests = [
        request(arguments, base, &directories[0]),
        request(arguments, new, &directories[1]),
    ];
    let recorded = {
        let bar = Bar::new();
        record_in_turn(&requests, |progress| {
            if !arguments.live.all_output {
                let mut shown = Progress::from(progress);
                SIDES[progress.series].clone_into(&mut shown.next);
                bar.draw(&shown);
            }
        })
    };
    match recorded {
        Ok(manifests) => finish(arguments, targets, &output, &directories, &manifests),
        Err(why) => Ok(not_started(arguments, &why, &output, &directories)),
    }
}

/// Compares the recordings and chooses the exit code.
fn finish(
    arguments: &CompareArguments,
    targets: &Targets<DocumentFormat>,
    output: &Path,
    directories: &[PathBuf; 2],
    manifests: &[Manifest],
) -> Result<ExitCode> {
    let failed = manifests.iter().position(|manifest| {
        let last = manifest.starts.last();
        last.is_some_and(|start| start.exit_code != 0)
    });
    let ended = match failed {
        _ if interrupted() => Some(INTERRUPTED),
        Some(which) => {
            complain(&failure(
                SIDES[which],
                &directories[which],
                &manifests[which],
            ));
            Some(FAILED)
        }
        None => None,
    };
    let sides = [side(&directories[0])?, side(&directories[1])?];
    let report = compare_sides(arguments, &sides);
    let few = report.base.counted_starts.min(report.new.counted_starts) < MIN_STARTS;
    if let (Some(code), true) = (ended, few) {
        complain(&format!(
            "too few starts completed to compare them; the recordings are in {}",
            output.display()
        ));
        return Ok(ExitCode::from(code));
    }
    let shown = show(targets, &report, &sides);
    let page = output.join(COMPARISON);
    let paged = fs::write(
        &page,
        compare_html(&report, sides[0].view(), sides[1].view()),
    )
    .with_context(|| format!("{} could not be written", page.display()));
    let _ = writeln!(
        io::stderr(),
        "\nreport      {}\nrecordings  {} and {}",
        page.display(),
        directories[0].display(),
        directories[1].display()
    );
    shown.and(paged)?;
    Ok(ended.map_or_else(|| code(arguments, &report), ExitCode::from))
}

/// Analyzes one recording and writes its page next to it, as `preheat run` does.
fn side(directory: &Path) -> Result<Side> {
    let recording = recorded::read(directory)?;
    let findings = analyze(&recording);
    // The comparison does not depend on the page.
    let _ = fs::write(
        directory.join(PAGE),
        run_html(&findings.report, &findings.view),
    );
    Ok(Side {
        source: directory.display().to_string(),
        content: Content::Recording(Box::new(findings)),
    })
}

/// Reports that a command could not be started, and removes empty directories. The other
/// command may have completed a start.
fn not_started(
    arguments: &CompareArguments,
    why: &LaunchError,
    output: &Path,
    directories: &[PathBuf; 2],
) -> ExitCode {
    // `remove_dir` fails on directories that are not empty.
    for directory in directories.iter().map(PathBuf::as_path).chain([output]) {
        let _ = fs::remove_dir(directory);
    }
    let mut message = why.to_string();
    if let Some(directory) = directories.iter().find(|directory| directory.exists()) {
        message.push_str(&format!(
            "; the recording so far is in {}",
            directory.display()
        ));
    } else if matches!(why, LaunchError::NotFound(_)) {
        let both = [&arguments.base, &arguments.new];
        // A single word may be a misspelled path.
        if let Some(word) = both.iter().find(|text| !text.contains(' ')) {
            message.push_str(&format!(
                "; {word} is not a recording or saved result either"
            ));
        }
    }
    complain(&message);
    ExitCode::from(match interrupted() {
        true => INTERRUPTED,
        false => why.exit_code(),
    })
}

fn request<'a>(arguments: &CompareArguments, command: Vec<String>, output: &Path) -> Request<'a> {
    let live = &arguments.live;
    let command = command.into_iter().map(Into::into).collect();
    Request {
        starts: Some(live.starts.unwrap_or(STARTS)),
        budget: live
            .budget
            .or_else(|| live.starts.is_none().then_some(BUDGET)),
        temperatures: vec![live.temperature.unwrap_or(Temperature::Process)],
        iterations: arguments.iterations.clone().unwrap_or_default(),
        limit: live
            .limit
            .map_or(DEFAULT_LIMIT, |mebibytes| mebibytes << 20),
        synchronize: live.synchronize,
        seed: live.seed.unwrap_or(1),
        output_of_all: live.all_output,
        ..Request::new(command, output.to_path_buf(), &preheat_trace::files)
    }
}
