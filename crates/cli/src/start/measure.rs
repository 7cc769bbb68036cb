//! `preheat start --measure`: records a plain start → finds the remedies that apply →
//! interleaves starts of all configurations → keeps the remedies that help.
//!
//! Each configuration is a separate command, `preheat start --only … -- CMD`, recorded like
//! any other program. Plain and remedied starts thus differ only in the remedies.

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
use preheat_model::tried::{Holds, NotTried, TriedReport};
use preheat_report::{run_html, tried_html, tried_json, tried_terminal};
use preheat_start::{Form, Imports, Known, Reason, Remedies, Remedy, RunningStandby, Seen};

use super::kinds::{Kind, kinds};
use super::made::Made;
use super::observations::seen;
use crate::args::StartArguments;
use crate::exit::{FAILED, INTERRUPTED, Usage, complain};
use crate::failure::failure;
use crate::kept::MEASUREMENT;
use crate::output_directory;
use crate::progress::{Bar, Progress};
use crate::recorded;
use crate::run::directory_line;
use crate::run::{PAGE, name};
use crate::show::{Document, Targets};
use crate::terminal;

/// The default number of starts per configuration; the first is a warm-up.
const STARTS: usize = 6;

pub fn run(arguments: &StartArguments) -> Result<ExitCode> {
    if arguments
        .measuring
        .starts
        .is_some_and(|starts| starts < FEWEST + 1)
    {
        return Err(Usage(format!(
            "--measure needs at least {} starts per configuration: the first is a warm-up",
            FEWEST + 1
        ))
        .into());
    }
    if arguments.remedies().is_some_and(|only| only.is_empty()) {
        return Err(Usage("--measure --only none would measure nothing".into()).into());
    }
    let targets = Targets::of(&[
        (Document::Json, arguments.measuring.json.as_deref()),
        (Document::Html, arguments.measuring.html.as_deref()),
    ])?;
    let known = match Known::of(&arguments.command) {
        Ok(known) => known,
        Err(why) => return Ok(not_started(&why)),
    };
    if can_be_read_once() {
        complain("standard input can be read only once; the program is measured with /dev/null");
        leave_input().context("cannot replace standard input with /dev/null")?;
    }
    let stem = format!("preheat-start-{}", name(&arguments.command));
    let output = output_directory::directory(arguments.measuring.output.as_deref(), &stem)?;
    let (first, manifest) = match record_plain(arguments, &output) {
        Ok(recorded) => recorded,
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
            "{}; remedies can only be measured on a program that succeeds",
            failure("the plain start", &output.join(PLAIN), &manifest)
        ));
        return Ok(ExitCode::from(FAILED));
    }
    known
        .saw(&first.seen)
        .context("cannot store the observations")?;
    // Warm parents created from here on serve recorded starts only.
    let made = Made::since(&arguments.command);
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
    let forms: Vec<Form> = tried.iter().filter_map(|remedy| remedy.form()).collect();
    let recorded = series(arguments, &kinds, &output, &|| {
        made.wait_for_standbys(&forms);
    })?;
    made.wait_for_standbys(&forms);
    let standbys = made.standbys();
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
        // Not every configuration has a start.
        Err(_) if interrupted => {
            return Ok(nothing_decided());
        }
        judged => judged?,
    };
    for remedy in &mut report.remedies {
        remedy.holds = holds(&remedy.id, &standbys);
    }
    if interrupted {
        report.interrupt();
    } else if report.decides() {
        decide(&known, &report)?;
    }
    if report.kept.iter().any(|id| id == Remedy::WarmParent.id()) {
        // The imports are known, so the next start can have its parent created.
        let _ = preheat_start::learn(&arguments.command, &first.imports);
    }
    let written = targets.write_tried(&report);
    // These copies are optional.
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

/// Returns true if standard input is a pipe or a socket, which only the first start could
/// read.
fn can_be_read_once() -> bool {
    let is = fs::metadata("/proc/self/fd/0");
    is.is_ok_and(|is| is.file_type().is_fifo() || is.file_type().is_socket())
}

/// Replaces standard input with /dev/null.
fn leave_input() -> io::Result<()> {
    let empty = fs::File::open("/dev/null")?;
    // SAFETY: dup2 takes numbers; nothing here has read from standard input.
    match unsafe { libc::dup2(empty.as_raw_fd(), 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The directory of the plain starts that are recorded first.
const PLAIN: &str = "look";

/// The results of the plain starts.
struct Plain {
    seen: Seen,
    imports: Imports,
    findings: Findings,
}

/// Records one or two plain starts, to find the remedies that apply.
fn record_plain(arguments: &StartArguments, output: &Path) -> Result<(Plain, Manifest)> {
    let place = output.join(PLAIN);
    let mut request = request(arguments, arguments.command.clone(), &place);
    request.starts = Some(1);
    let asked = arguments.remedies();
    let prefetch = asked.is_none_or(|asked| asked.contains(&Remedy::Prefetch));
    if prefetch {
        // A start with an empty page cache shows which parts of its files it reads.
        request.temperatures.push(Temperature::Disk);
    }
    let manifest = record(&request, |_| {})?.manifest;
    let recording = recorded::read(&place)?;
    let mut seen = seen(&recording);
    if prefetch {
        seen.read_cached_ranges();
    }
    let findings = analyze(&recording);
    let (names, files) = preheat_trace::imports(&recording.starts);
    let plain = Plain {
        seen,
        imports: Imports { names, files },
        findings,
    };
    Ok((plain, manifest))
}

/// The remedies that apply, and the others with the reasons why they do not.
fn applicable(
    arguments: &StartArguments,
    known: &Known,
    output: &Path,
) -> (Remedies, Vec<(Remedy, Reason)>) {
    let mut tried = Remedies::new();
    let mut not_tried = Vec::new();
    let asked = arguments.remedies();
    for (remedy, applies) in known.applicable(&arguments.command) {
        if asked.as_ref().is_some_and(|asked| !asked.contains(&remedy)) {
            continue;
        }
        let ready = applies.and_then(|()| match remedy {
            Remedy::WarmParent => prepare(arguments, output),
            Remedy::StandbyParked | Remedy::StandbyHot => {
                match tried.contains(&Remedy::WarmParent) {
                    true => prepare_standby(arguments, remedy, output),
                    false => Err(Reason::NeedsParent),
                }
            }
            _ => Ok(()),
        });
        match ready {
            Ok(()) => drop(tried.insert(remedy)),
            Err(why) => not_tried.push((remedy, why)),
        }
    }
    (tried, not_tried)
}

/// The memory that a waiting standby of this form holds.
fn holds(id: &str, standbys: &[RunningStandby]) -> Option<Holds> {
    let form = id.parse().ok().and_then(Remedy::form)?.to_string();
    let standby = standbys.iter().find(|it| it.state == form)?;
    Some(Holds {
        device: standby.device_memory,
        host: standby.memory,
    })
}

/// Has a start learn the operations of the program, and prepares a standby for recorded
/// starts; an error is the reason why there is none.
fn prepare_standby(
    arguments: &StartArguments,
    remedy: Remedy,
    output: &Path,
) -> Result<(), Reason> {
    let place = output.join("prepare");
    for (flags, failed) in [
        (&[][..], Reason::NotLearned),
        (&[OsStr::new("--prepare")][..], Reason::StandbyNotPrepared),
    ] {
        let command = with(&[remedy], flags, &arguments.command)?;
        let mut request = request(arguments, command, &place);
        request.starts = Some(1);
        let made = record(&request, |_| {});
        let _ = fs::remove_dir_all(&place);
        let made = made?.manifest;
        if made.starts.last().is_some_and(|start| start.exit_code != 0) {
            return Err(failed);
        }
    }
    Ok(())
}

/// Creates the warm parent for recorded starts; an error is the reason why there is none.
fn prepare(arguments: &StartArguments, output: &Path) -> Result<(), Reason> {
    let place = output.join("prepare");
    let plain = output.join(PLAIN);
    let flags = [
        OsStr::new("--prepare"),
        OsStr::new("--from"),
        plain.as_os_str(),
    ];
    let command = with(&[Remedy::WarmParent], &flags, &arguments.command)?;
    let mut request = request(arguments, command, &place);
    request.starts = Some(1);
    let made = record(&request, |_| {})?;
    let code = made
        .manifest
        .starts
        .last()
        .map_or(0, |start| start.exit_code);
    let _ = fs::remove_dir_all(&place);
    match code {
        0 => Ok(()),
        // The command has printed the reason.
        _ => Err(Reason::ParentNotCreated),
    }
}

/// Records the starts of all configurations, interleaved. Calls `before_each` before each
/// start.
fn series(
    arguments: &StartArguments,
    kinds: &[Kind],
    output: &Path,
    before_each: &dyn Fn(),
) -> Result<Result<Vec<Manifest>, LaunchError>> {
    let mut requests = Vec::new();
    for kind in kinds {
        let command = match kind.remedies.is_empty() {
            true => arguments.command.clone(),
            false => {
                let remedies: Vec<Remedy> = kind.remedies.iter().copied().collect();
                let flags = ["--patience", "5", "--strictly"].map(OsStr::new);
                // The first start finds all files in the page cache, so prefetch is left out.
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
        before_each();
    }))
}

/// The command line of `preheat start` with these remedies.
fn with(
    remedies: &[Remedy],
    flags: &[&OsStr],
    command: &[OsString],
) -> Result<Vec<OsString>, Reason> {
    let ourselves = std::env::current_exe().map_err(|why| Reason::Proc(why.into()))?;
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

/// Analyzes the starts of all configurations.
fn judged(
    kinds: &[Kind],
    output: &Path,
    plain: &RunReport,
    not_tried: &[(Remedy, Reason)],
) -> Result<TriedReport> {
    let mut reports = Vec::new();
    for kind in kinds {
        let place: PathBuf = output.join(kind.directory());
        let recording = recorded::read(&place)?;
        let mut findings = analyze(&recording);
        // The page is optional.
        let _ = fs::write(place.join(PAGE), run_html(&findings.report, &findings.view));
        if kind.remedies.is_empty() && kind.temperature == Temperature::Process {
            add_predictions(&mut findings.report, plain);
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
        why: why.to_string(),
    });
    Ok(try_out(
        &variants,
        not_tried.collect(),
        env!("CARGO_PKG_VERSION"),
    ))
}

/// Adds predictions that only the first plain start made, which may have been colder.
fn add_predictions(report: &mut RunReport, plain: &RunReport) {
    for remedy in &plain.remedies {
        if report.remedies.iter().all(|known| known.id != remedy.id) {
            report.remedies.push(remedy.clone());
        }
    }
}

/// Stores the remedies that help.
fn decide(known: &Known, report: &TriedReport) -> Result<()> {
    let kept = report.kept.iter().filter_map(|id| id.parse().ok());
    let kept: Remedies = kept.collect();
    known.decide(&kept).context("cannot store the decision")
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
