//! Two commands, run in turn, and compared.
//!
//! Their output is not shown: two programs at once are not to be read. Of a start that
//! fails, the end of what it wrote to standard error is.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use preheat_analyze::run::{Manifest, Temperature, analyze};
use preheat_analyze::stats::FEWEST;
use preheat_launch::{DEFAULT_LIMIT, LaunchError, Request, interrupted, record_in_turn};
use preheat_report::{compare_html, run_html};

use super::{Shows, Side, code, compared, show};
use crate::args::CompareArguments;
use crate::exit::{FAILED, INTERRUPTED, Usage, complain};
use crate::failure::failure;
use crate::place;
use crate::progress::{Bar, Progress};
use crate::recorded;
use crate::run::PAGE;
use crate::show::Targets;

/// Starts of each command.
const STARTS: usize = 10;
/// How long all of them may take, where neither their number nor a budget is asked for.
const BUDGET: Duration = Duration::from_secs(120);
/// What the two are called, in files and sentences.
const SIDES: [&str; 2] = ["base", "new"];
/// The page that lies beside the recordings.
const COMPARISON: &str = "compare.html";

pub fn run(
    arguments: &CompareArguments,
    commands: [Vec<String>; 2],
    targets: &Targets,
) -> Result<ExitCode> {
    if arguments.live.all_output && targets.use_stdout() {
        return Err(Usage(
            "with --all-output standard output is the commands' own: name a file".into(),
        )
        .into());
    }
    let output = place::directory(arguments.live.output.as_deref(), "preheat-compare")?;
    let places = SIDES.map(|side| output.join(side));
    let [base, new] = commands;
    let requests = [
        request(arguments, base, &places[0]),
        request(arguments, new, &places[1]),
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
        Ok(manifests) => after(arguments, targets, &output, &places, &manifests),
        Err(why) => Ok(not_started(arguments, &why, &output, &places)),
    }
}

/// Compares what was recorded, and chooses the exit code.
fn after(
    arguments: &CompareArguments,
    targets: &Targets,
    output: &Path,
    places: &[PathBuf; 2],
    manifests: &[Manifest],
) -> Result<ExitCode> {
    let failed = manifests.iter().position(|manifest| {
        let last = manifest.starts.last();
        last.is_some_and(|start| start.exit_code != 0)
    });
    let ended = match failed {
        _ if interrupted() => Some(INTERRUPTED),
        Some(which) => {
            complain(&failure(SIDES[which], &places[which], &manifests[which]));
            Some(FAILED)
        }
        None => None,
    };
    let sides = [side(&places[0])?, side(&places[1])?];
    let report = compared(arguments, &sides);
    let few = report.base.counted_starts.min(report.new.counted_starts) < FEWEST;
    if let (Some(code), true) = (ended, few) {
        complain(&format!(
            "too few starts were made to compare them; the recordings are in {}",
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
        places[0].display(),
        places[1].display()
    );
    shown.and(paged)?;
    Ok(ended.map_or_else(|| code(arguments, &report), ExitCode::from))
}

/// A recording as `preheat run` leaves it, its page beside it.
fn side(place: &Path) -> Result<Side> {
    let recording = recorded::read(place)?;
    let findings = analyze(&recording);
    // The comparison does not depend on it.
    let _ = fs::write(place.join(PAGE), run_html(&findings.report, &findings.view));
    Ok(Side {
        source: place.display().to_string(),
        shows: Shows::Recording(Box::new(findings)),
    })
}

/// A command could not be started at all; an empty directory is of no use. The other one may
/// have had its first start.
fn not_started(
    arguments: &CompareArguments,
    why: &LaunchError,
    output: &Path,
    places: &[PathBuf; 2],
) -> ExitCode {
    // Only if there is nothing in them.
    for place in places.iter().map(PathBuf::as_path).chain([output]) {
        let _ = fs::remove_dir(place);
    }
    let mut sentence = why.to_string();
    if let Some(place) = places.iter().find(|place| place.exists()) {
        sentence.push_str(&format!(
            "; what was recorded until then is in {}",
            place.display()
        ));
    } else if matches!(why, LaunchError::NotFound(_)) {
        let both = [&arguments.base, &arguments.new];
        // One word may have been meant as a path.
        if let Some(word) = both.iter().find(|text| !text.contains(' ')) {
            sentence.push_str(&format!(
                "; and {word} is no recording or kept result either"
            ));
        }
    }
    complain(&sentence);
    ExitCode::from(match interrupted() {
        true => INTERRUPTED,
        false => why.exit_code(),
    })
}

fn request<'a>(arguments: &CompareArguments, command: Vec<String>, output: &Path) -> Request<'a> {
    let live = &arguments.live;
    let iterations = arguments.iterations.as_deref().unwrap_or("auto");
    Request {
        command: command.into_iter().map(Into::into).collect(),
        output: output.to_path_buf(),
        starts: Some(live.starts.unwrap_or(STARTS)),
        budget: live
            .budget
            .or_else(|| live.starts.is_none().then_some(BUDGET)),
        temperatures: vec![live.temperature.unwrap_or(Temperature::Process)],
        iterations: iterations.to_owned(),
        limit: live
            .limit
            .map_or(DEFAULT_LIMIT, |mebibytes| mebibytes << 20),
        synchronize: live.synchronize,
        // Who says otherwise what an iteration is has the frameworks left alone.
        seed: live.seed.unwrap_or(1),
        output_of_all: live.all_output,
        machine: preheat_lab::machine(),
        preheat: env!("CARGO_PKG_VERSION").to_owned(),
        created: preheat_lab::now_rfc3339(),
        files_of: &preheat_trace::files,
    }
}
