//! `preheat start --measure`: flags → recorded starts of all configurations → analysis →
//! renderings, and the remedies that help are kept.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use preheat_analyze::measurement::{self, decide};
use preheat_analyze::run::{Findings, analyze};
use preheat_host::interrupt::interrupted;
use preheat_launch::{LaunchError, Request};
use preheat_model::measurement::{MeasurementReport, SkippedRemedy};
use preheat_model::run::{Manifest, RunReport, Temperature};
use preheat_model::stats::MIN_STARTS;
use preheat_report::{measurement_html, measurement_json, measurement_terminal, run_html};
use preheat_start::measurement::{Configuration, Measurement, PLAIN, configurations, observed};
use preheat_start::{CommandState, Imports, Observations, Reason, Remedies, Remedy};

use crate::args::StartArguments;
use crate::exit::{FAILED, INTERRUPTED, Usage, complain, failure};
use crate::progress::{Bar, Progress};
use crate::run::{PAGE, directory_line, name};
use crate::saved::MEASUREMENT;
use crate::show::{DocumentFormat, Targets};
use crate::{output, recorded};
use preheat_model::RemedyId;

/// The default number of starts per configuration; the first is a warm-up.
const STARTS: usize = 6;

pub fn run(arguments: &StartArguments) -> Result<ExitCode> {
    check_usage(arguments)?;
    let targets = Targets::of(&[
        (DocumentFormat::Json, arguments.measuring.json.as_deref()),
        (DocumentFormat::Html, arguments.measuring.html.as_deref()),
    ])?;
    let known = match CommandState::of(&arguments.command) {
        Ok(known) => known,
        Err(why) => return Ok(not_started(&why)),
    };
    if can_be_read_once() {
        complain("standard input can be read only once; the program is measured with /dev/null");
        leave_input().context("cannot replace standard input with /dev/null")?;
    }
    let stem = format!("preheat-start-{}", name(&arguments.command));
    let output = output::directory(arguments.measuring.output.as_deref(), &stem)?;
    let measurement = Measurement {
        request: request(arguments, &output),
        remedies: arguments.remedies(),
    };
    let manifest = match measurement.record_plain() {
        Ok(manifest) => manifest,
        Err(why) => {
            let _ = fs::remove_dir(&output);
            return Ok(not_started(&why));
        }
    };
    let first = read_plain(&measurement)?;
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
        .observe(&first.observed)
        .context("cannot store the observations")?;
    let (mut found, prepared) = measurement.prepare(&known);
    if interrupted() {
        return Ok(nothing_decided());
    }
    if found.applicable.is_empty() {
        nothing_applies(&found.skipped);
        return Ok(ExitCode::SUCCESS);
    }
    let configurations = configurations(&found.applicable);
    let recorded = {
        let bar = Bar::new();
        measurement.record(&configurations, &prepared, |progress| {
            let mut shown = Progress::from(progress);
            shown.next = configurations[progress.series].title();
            bar.draw(&shown);
        })
    };
    let measured = match recorded {
        Ok(measured) => measured,
        Err(Reason::Launch(why)) => return Ok(not_started(&why)),
        Err(why) => return Err(why.into()),
    };
    let interrupted = interrupted();
    let failed = first_failure(&configurations, &measured.manifests, &output);
    if let Some(failed) = failed.filter(|_| !interrupted) {
        complain(&failed);
        return Ok(ExitCode::from(FAILED));
    }
    let applicable = &found.applicable;
    found
        .skipped
        .retain(|(remedy, _)| !applicable.contains(remedy));
    let plain = &first.findings.report;
    let mut report = match judged(&configurations, &output, plain, &found.skipped) {
        // Not every configuration has a start.
        Err(_) if interrupted => {
            return Ok(nothing_decided());
        }
        judged => judged?,
    };
    for remedy in &mut report.remedies {
        remedy.holds = measured.holds(remedy.id);
        remedy.variables = Remedy::of(remedy.id).map_or(Vec::new(), |id| known.variables(id));
    }
    if interrupted {
        report.interrupt();
    } else if report.decides() {
        store_decision(&known, &report)?;
    }
    if report.kept.contains(&RemedyId::WarmParent) {
        // The imports are known, so the next start can have its parent created.
        let _ = preheat_start::learn(&arguments.command, &first.imports);
    }
    write_results(&report, &targets, &output)?;
    Ok(match interrupted {
        true => ExitCode::from(INTERRUPTED),
        false => ExitCode::SUCCESS,
    })
}

/// Returns an error if these flags would measure nothing.
fn check_usage(arguments: &StartArguments) -> Result<(), Usage> {
    if arguments
        .measuring
        .starts
        .is_some_and(|starts| starts < MIN_STARTS + 1)
    {
        return Err(Usage(format!(
            "--measure needs at least {} starts per configuration: the first is a warm-up",
            MIN_STARTS + 1
        )));
    }
    if arguments.remedies().is_some_and(|only| only.is_empty()) {
        return Err(Usage("--measure --only none would measure nothing".into()));
    }
    Ok(())
}

/// Reports why each remedy does not apply.
fn nothing_applies(skipped: &[(Remedy, Reason)]) {
    complain("no remedy applies to this program:");
    for (remedy, why) in skipped {
        complain(&format!("  {}: {why}", remedy.title()));
    }
}

/// The message about the first configuration with a failed start.
fn first_failure(
    configurations: &[Configuration],
    manifests: &[Manifest],
    output: &Path,
) -> Option<String> {
    let mut each = configurations.iter().zip(manifests);
    let (configuration, manifest) =
        each.find(|(_, manifest)| manifest.starts.iter().any(|start| start.exit_code != 0))?;
    let place = output.join(configuration.directory());
    Some(failure(&configuration.title(), &place, manifest))
}

/// Writes and shows the report.
fn write_results(
    report: &MeasurementReport,
    targets: &Targets<DocumentFormat>,
    output: &Path,
) -> Result<()> {
    let written = targets.write_measurement(report);
    // These copies are optional.
    let _ = fs::write(output.join(MEASUREMENT), measurement_json(report));
    let _ = fs::write(output.join(PAGE), measurement_html(report));
    let mut text = String::from("\n");
    let terminal = output::stderr_terminal();
    text.push_str(&measurement_terminal(report, &terminal));
    text.push_str(&format!("\nreport      {}/{PAGE}\n", output.display()));
    text.push_str(&directory_line(
        "recordings  ",
        output,
        "this",
        terminal.width,
    ));
    text.push_str(&targets.files());
    let _ = io::stderr().write_all(text.as_bytes());
    written
}

fn nothing_decided() -> ExitCode {
    complain("interrupted: nothing was decided");
    ExitCode::from(INTERRUPTED)
}

/// Returns true if standard input is a pipe or a socket, which only the first start could
/// read.
fn can_be_read_once() -> bool {
    let input = fs::metadata("/proc/self/fd/0");
    input.is_ok_and(|input| input.file_type().is_fifo() || input.file_type().is_socket())
}

/// Replaces standard input with /dev/null.
fn leave_input() -> io::Result<()> {
    let empty = fs::File::open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdin(&empty)?)
}

/// The results of the plain starts.
struct Plain {
    observed: Observations,
    imports: Imports,
    findings: Findings,
}

/// Reads the plain starts of a measurement.
fn read_plain(measurement: &Measurement<'_>) -> Result<Plain> {
    let recording = recorded::read(&measurement.request.output.join(PLAIN))?;
    let mut observed = observed(&recording);
    if measurement.prefetches() {
        observed.read_cached_ranges();
    }
    let findings = analyze(&recording);
    let (names, files) = preheat_trace::imports(&recording.starts);
    Ok(Plain {
        observed,
        imports: Imports { names, files },
        findings,
    })
}

/// Analyzes the starts of all configurations.
fn judged(
    configurations: &[Configuration],
    output: &Path,
    plain: &RunReport,
    skipped: &[(Remedy, Reason)],
) -> Result<MeasurementReport> {
    let mut reports = Vec::new();
    for configuration in configurations {
        let place: PathBuf = output.join(configuration.directory());
        let recording = recorded::read(&place)?;
        let mut findings = analyze(&recording);
        // The page is optional.
        let _ = fs::write(place.join(PAGE), run_html(&findings.report, &findings.view));
        if configuration.remedies.is_empty() && configuration.temperature == Temperature::Process {
            add_predictions(&mut findings.report, plain);
        }
        reports.push((place.display().to_string(), findings.report));
    }
    let ids: Vec<Vec<RemedyId>> = (configurations.iter())
        .map(|configuration| {
            configuration
                .remedies
                .iter()
                .map(|remedy| remedy.remedy_id())
                .collect()
        })
        .collect();
    let starts: Vec<measurement::Configuration> = (configurations.iter().zip(&ids).zip(&reports))
        .map(
            |((configuration, remedies), (recording, report))| measurement::Configuration {
                remedies,
                against: configuration.against,
                recording,
                report,
            },
        )
        .collect();
    let skipped = skipped.iter().map(|(remedy, why)| SkippedRemedy {
        id: remedy.remedy_id(),
        why: why.to_string(),
    });
    Ok(decide(
        &starts,
        skipped.collect(),
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
fn store_decision(known: &CommandState, report: &MeasurementReport) -> Result<()> {
    let kept = report.kept.iter().filter_map(|id| Remedy::of(*id));
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

fn request<'a>(arguments: &StartArguments, output: &Path) -> Request<'a> {
    let measuring = &arguments.measuring;
    let command = arguments.command.clone();
    Request {
        starts: Some(measuring.starts.unwrap_or(STARTS)),
        budget: measuring.budget,
        iterations: measuring.iterations.clone().unwrap_or_default(),
        ..Request::new(command, output.to_path_buf(), &preheat_trace::files)
    }
}
