//! `preheat start --measure`: a recorded look at the program → the remedies that apply →
//! starts of every kind in turn → what pays, which is kept.
//!
//! Each kind is a command of its own: `preheat start --only … -- CMD`, recorded as any other
//! program is. So plain and remedied starts differ in nothing but the remedies.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use preheat_analyze::run::{Findings, analyze};
use preheat_analyze::tried::{Variant, try_out};
use preheat_host::interrupt::interrupted;
use preheat_launch::{LaunchError, Request, record, record_in_turn};
use preheat_model::run::{Manifest, RunReport, Temperature};
use preheat_model::stats::FEWEST;
use preheat_model::tried::{NotTried, TriedReport};
use preheat_report::{run_html, tried_html, tried_json, tried_terminal};
use preheat_start::{Imports, Known, Remedies, Remedy, Seen};

use super::kinds::{Kind, kinds};
use super::made::Made;
use super::seen::seen;
use crate::args::StartArguments;
use crate::exit::{FAILED, INTERRUPTED, Usage, complain};
use crate::failure::failure;
use crate::kept::MEASUREMENT;
use crate::place;
use crate::progress::{Bar, Progress};
use crate::recorded;
use crate::run::directory_line;
use crate::run::{PAGE, name};
use crate::show::Targets;
use crate::terminal;

/// Starts of each kind, the first of which does not count.
const STARTS: usize = 6;

pub fn run(arguments: &StartArguments) -> Result<ExitCode> {
    if arguments
        .measuring
        .starts
        .is_some_and(|starts| starts < FEWEST + 1)
    {
        return Err(Usage(format!(
            "--measure needs at least {} starts of each kind: the first does not count",
            FEWEST + 1
        ))
        .into());
    }
    if arguments.remedies().is_some_and(|only| only.is_empty()) {
        return Err(Usage("--measure --only none would measure nothing".into()).into());
    }
    let targets = Targets::of(&[
        ("--json", arguments.measuring.json.as_deref()),
        ("--html", arguments.measuring.html.as_deref()),
    ])?;
    let known = match Known::of(&arguments.command) {
        Ok(known) => known,
        Err(why) => return Ok(not_started(&why)),
    };
    if can_be_read_once() {
        complain("standard input can be read only once: the program is measured with an empty one");
        leave_input().context("standard input cannot be left")?;
    }
    let stem = format!("preheat-start-{}", name(&arguments.command));
    let output = place::directory(arguments.measuring.output.as_deref(), &stem)?;
    let (first, manifest) = match look(arguments, &output) {
        Ok(looked) => looked,
        Err(why) => {
            let _ = fs::remove_dir(&output);
            return why.downcast::<LaunchError>().map(|why| not_started(&why));
        }
    };
    if interrupted() {
        return Ok(nothing_decided());
    }
    if manifest.starts.iter().any(|start| start.exit_code != 0) {
        complain(&format!(
            "{}; remedies are measured on a program that succeeds",
            failure("the plain start", &output.join(LOOK), &manifest)
        ));
        return Ok(ExitCode::from(FAILED));
    }
    known
        .saw(&first.seen)
        .context("what was seen cannot be kept")?;
    // Those that are made from here on are for recorded starts, and of no use to others.
    let _made = Made::since(&arguments.command);
    let (tried, mut not_tried) = applicable(arguments, &known, &output);
    if interrupted() {
        return Ok(nothing_decided());
    }
    if tried.is_empty() {
        complain("no remedy applies to this program:");
        for (remedy, why) in &not_tried {
            complain(&format!("  {}: {why}", remedy.title()));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let kinds = kinds(&tried);
    let recorded = series(arguments, &kinds, &output)?;
    let manifests = match recorded {
        Ok(manifests) => manifests,
        Err(why) => return Ok(not_started(&why)),
    };
    let interrupted = interrupted();
    for (kind, manifest) in kinds.iter().zip(&manifests) {
        if !interrupted && manifest.starts.iter().any(|start| start.exit_code != 0) {
            let place = output.join(kind.directory());
            complain(&failure(&kind.title(), &place, manifest));
            return Ok(ExitCode::from(FAILED));
        }
    }
    not_tried.retain(|(remedy, _)| !tried.contains(remedy));
    let mut report = match judged(&kinds, &output, &first.findings.report, &not_tried) {
        // Not even the first start of each kind was made.
        Err(_) if interrupted => {
            return Ok(nothing_decided());
        }
        judged => judged?,
    };
    if interrupted {
        report.interrupt();
    } else if report.decides() {
        decide(&known, &report)?;
    }
    if report.kept.iter().any(|id| id == Remedy::WarmParent.id()) {
        // What it imports is known: the next start has its parent made.
        let _ = preheat_start::learn(&arguments.command, &first.imports);
    }
    let written = targets.write_tried(&report);
    // Nothing depends on these.
    let _ = fs::write(output.join(MEASUREMENT), tried_json(&report));
    let _ = fs::write(output.join(PAGE), tried_html(&report));
    let mut text = String::from("\n");
    let terminal = terminal::of_stderr();
    text.push_str(&tried_terminal(&report, &terminal));
    text.push_str(&format!("\nreport      {}/{PAGE}\n", output.display()));
    text.push_str(&directory_line(
        "recordings  ",
        &output,
        "this",
        terminal.width,
    ));
    text.push_str(&targets.files());
    let _ = io::stderr().write_all(text.as_bytes());
    written.map(|()| match interrupted {
        true => ExitCode::from(INTERRUPTED),
        false => ExitCode::SUCCESS,
    })
}

fn nothing_decided() -> ExitCode {
    complain("interrupted: nothing was decided");
    ExitCode::from(INTERRUPTED)
}

/// Whether standard input is a pipe or the like, which only the first start could read.
fn can_be_read_once() -> bool {
    let is = fs::metadata("/proc/self/fd/0");
    is.is_ok_and(|is| is.file_type().is_fifo() || is.file_type().is_socket())
}

/// An empty standard input in its place.
fn leave_input() -> io::Result<()> {
    let empty = fs::File::open("/dev/null")?;
    // SAFETY: dup2 takes numbers; nothing here has read from standard input.
    match unsafe { libc::dup2(empty.as_raw_fd(), 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Where the first look is.
const LOOK: &str = "look";

/// What a plain start showed.
struct Look {
    seen: Seen,
    imports: Imports,
    findings: Findings,
}

/// A plain start or two, recorded: what there is to remedy.
fn look(arguments: &StartArguments, output: &Path) -> Result<(Look, Manifest)> {
    let place = output.join(LOOK);
    let mut request = request(arguments, arguments.command.clone(), &place);
    request.starts = Some(1);
    let asked = arguments.remedies();
    let prefetch = asked.is_none_or(|asked| asked.contains(&Remedy::Prefetch));
    if prefetch {
        // A start that finds nothing in memory shows which parts of its files it needs.
        request.temperatures.push(Temperature::Disk);
    }
    let manifest = record(&request, |_| {})?;
    let recording = recorded::read(&place)?;
    let mut seen = seen(&recording);
    if prefetch {
        seen.read_cached_ranges();
    }
    let findings = analyze(&recording);
    let (names, files) = preheat_trace::imports(&recording.starts);
    let look = Look {
        seen,
        imports: Imports { names, files },
        findings,
    };
    Ok((look, manifest))
}

/// The remedies that apply, and why the others do not.
fn applicable(
    arguments: &StartArguments,
    known: &Known,
    output: &Path,
) -> (Remedies, Vec<(Remedy, String)>) {
    let mut tried = Remedies::new();
    let mut not_tried = Vec::new();
    let asked = arguments.remedies();
    for (remedy, applies) in known.applicable(&arguments.command) {
        if asked.as_ref().is_some_and(|asked| !asked.contains(&remedy)) {
            continue;
        }
        let ready = applies.and_then(|()| match remedy {
            Remedy::WarmParent => prepare(arguments, output),
            _ => Ok(()),
        });
        match ready {
            Ok(()) => drop(tried.insert(remedy)),
            Err(why) => not_tried.push((remedy, why)),
        }
    }
    (tried, not_tried)
}

/// Has the warm parent made, as recorded starts need it; or why there can be none.
fn prepare(arguments: &StartArguments, output: &Path) -> Result<(), String> {
    let place = output.join("prepare");
    let look = output.join(LOOK);
    let flags = [
        OsStr::new("--prepare"),
        OsStr::new("--from"),
        look.as_os_str(),
    ];
    let command = with(&[Remedy::WarmParent], &flags, &arguments.command);
    let mut request = request(arguments, command.map_err(|why| why.to_string())?, &place);
    request.starts = Some(1);
    let made = record(&request, |_| {}).map_err(|why| why.to_string())?;
    let code = made.starts.last().map_or(0, |start| start.exit_code);
    let _ = fs::remove_dir_all(&place);
    match code {
        0 => Ok(()),
        // It has said why.
        _ => Err("its warm parent could not be made, as told above".to_owned()),
    }
}

/// Starts of every kind, in turn.
fn series(
    arguments: &StartArguments,
    kinds: &[Kind],
    output: &Path,
) -> Result<Result<Vec<Manifest>, LaunchError>> {
    let mut requests = Vec::new();
    for kind in kinds {
        let command = match kind.remedies.is_empty() {
            true => arguments.command.clone(),
            false => {
                let remedies: Vec<Remedy> = kind.remedies.iter().copied().collect();
                let flags = ["--patience", "5", "--strictly"].map(OsStr::new);
                // The first start finds everything in memory, and nothing to read ahead.
                let strictly = !remedies.contains(&Remedy::Prefetch);
                let flags = if strictly { &flags[..] } else { &flags[..2] };
                with(&remedies, flags, &arguments.command)?
            }
        };
        let mut request = request(arguments, command, &output.join(kind.directory()));
        request.temperatures = vec![kind.temperature];
        requests.push(request);
    }
    let bar = Bar::new();
    Ok(record_in_turn(&requests, |progress| {
        let mut shown = Progress::from(progress);
        shown.next = kinds[progress.series].title();
        bar.draw(&shown);
    }))
}

/// `preheat start` with some remedies, as a command.
fn with(remedies: &[Remedy], flags: &[&OsStr], command: &[OsString]) -> Result<Vec<OsString>> {
    let ourselves = std::env::current_exe().context("preheat cannot find itself")?;
    let only: Vec<&str> = remedies.iter().map(|remedy| remedy.id()).collect();
    let mut words: Vec<OsString> = vec![
        ourselves.into(),
        "start".into(),
        "--only".into(),
        only.join(",").into(),
    ];
    words.extend(flags.iter().map(OsString::from));
    words.push("--".into());
    words.extend(command.iter().cloned());
    Ok(words)
}

/// What all the starts say.
fn judged(
    kinds: &[Kind],
    output: &Path,
    look: &RunReport,
    not_tried: &[(Remedy, String)],
) -> Result<TriedReport> {
    let mut reports = Vec::new();
    for kind in kinds {
        let place: PathBuf = output.join(kind.directory());
        let recording = recorded::read(&place)?;
        let mut findings = analyze(&recording);
        // Nothing depends on the page.
        let _ = fs::write(place.join(PAGE), run_html(&findings.report, &findings.view));
        if kind.remedies.is_empty() && kind.temperature == Temperature::Process {
            add_predictions(&mut findings.report, look);
        }
        reports.push((place.display().to_string(), findings.report));
    }
    let ids: Vec<Vec<&str>> = (kinds.iter())
        .map(|kind| kind.remedies.iter().map(|remedy| remedy.id()).collect())
        .collect();
    let variants: Vec<Variant> = (kinds.iter().zip(&ids).zip(&reports))
        .map(|((kind, remedies), (recording, report))| Variant {
            remedies,
            against: kind.against,
            recording,
            report,
        })
        .collect();
    let not_tried = not_tried.iter().map(|(remedy, why)| NotTried {
        id: remedy.id().to_owned(),
        why: why.clone(),
    });
    Ok(try_out(
        &variants,
        not_tried.collect(),
        env!("CARGO_PKG_VERSION"),
    ))
}

/// What only the first look predicts is told too: it was as cold as it happened to be.
fn add_predictions(report: &mut RunReport, look: &RunReport) {
    for remedy in &look.remedies {
        if report.remedies.iter().all(|known| known.id != remedy.id) {
            report.remedies.push(remedy.clone());
        }
    }
}

/// Keep what pays.
fn decide(known: &Known, report: &TriedReport) -> Result<()> {
    let kept = report.kept.iter().filter_map(|id| id.parse().ok());
    let kept: Remedies = kept.collect();
    known
        .decide(&kept)
        .context("what was decided cannot be kept")
}

fn not_started(why: &LaunchError) -> ExitCode {
    complain(&why.to_string());
    ExitCode::from(match interrupted() {
        true => INTERRUPTED,
        false => why.exit_code(),
    })
}

fn request<'a>(arguments: &StartArguments, command: Vec<OsString>, output: &Path) -> Request<'a> {
    let measuring = &arguments.measuring;
    let iterations = measuring.iterations.as_deref().unwrap_or("auto");
    Request {
        command,
        output: output.to_path_buf(),
        starts: Some(measuring.starts.unwrap_or(STARTS)),
        budget: measuring.budget,
        temperatures: vec![Temperature::Process],
        iterations: iterations.to_owned(),
        limit: preheat_launch::DEFAULT_LIMIT,
        synchronize: false,
        seed: 1,
        output_of_all: false,
        machine: preheat_host::machine(),
        preheat: env!("CARGO_PKG_VERSION").to_owned(),
        created: preheat_host::now_rfc3339(),
        files_of: &preheat_trace::files,
    }
}
