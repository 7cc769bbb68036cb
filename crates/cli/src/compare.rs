//! `preheat compare`: compares two saved results, or two commands with interleaved starts.

mod live;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use preheat_analyze::compare::{RunInput, Settings, compare_labs, compare_runs};
use preheat_analyze::run::Findings;
use preheat_model::Document;
use preheat_model::compare::{CompareKind, CompareReport};
use preheat_model::lab::LabReport;
use preheat_model::run::{IterationRule, RunReport};
use preheat_report::compare_terminal;

use crate::args::CompareArguments;
use crate::exit::{INCONCLUSIVE, REGRESSED, Usage};
use crate::saved::{self, Saved};
use crate::show::{DocumentFormat, Targets};
use crate::{output, shell_words};

pub fn run(arguments: &CompareArguments) -> Result<ExitCode> {
    let targets = Targets::of_document(&arguments.show)?;
    let (base, new) = (&arguments.base, &arguments.new);
    targets.spare([Path::new(base), Path::new(new)])?;
    match (is_saved(base), is_saved(new)) {
        (true, true) => compare_saved(arguments, &targets),
        (false, false) => live::run(
            arguments,
            [command("BASE", base)?, command("NEW", new)?],
            &targets,
        ),
        (base_is_saved, _) => {
            let (saved, command) = if base_is_saved {
                (base, new)
            } else {
                (new, base)
            };
            Err(Usage(format!(
                "{saved} is a saved result and `{command}` is a command: compare two saved results or two commands (`preheat run` saves the result of a command)"
            ))
            .into())
        }
    }
}

/// Returns true for a directory, a JSON file, or a file that begins like one.
fn is_saved(argument: &str) -> bool {
    let path = Path::new(argument);
    let is_json = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    if argument == "-" || saved::is_recording(path) || (is_json && !argument.contains(' ')) {
        return true;
    }
    // Peek only into regular files: a pipe can be read only once.
    let mut head = [0; 64];
    let read = || fs::File::open(path)?.read(&mut head);
    let length = path.is_file().then(read).and_then(Result::ok).unwrap_or(0);
    head[..length].trim_ascii_start().first() == Some(&b'{')
}

fn command(argument: &str, text: &str) -> Result<Vec<String>> {
    let split = shell_words::split(text);
    Ok(split.map_err(|why| Usage(format!("{argument} is not a valid command: {why}")))?)
}

fn compare_saved(
    arguments: &CompareArguments,
    targets: &Targets<DocumentFormat>,
) -> Result<ExitCode> {
    if let Some(flag) = arguments.live.given() {
        return Err(Usage(format!(
            "{flag} applies only to commands, but {} and {} are saved results",
            arguments.base, arguments.new
        ))
        .into());
    }
    if arguments.base == "-" && arguments.new == "-" {
        return Err(Usage("only one of the two can be standard input".into()).into());
    }
    let read = |argument: &str| Input::read(argument, arguments.iterations.as_ref());
    match (read(&arguments.base)?, read(&arguments.new)?) {
        (Input::Lab(base), Input::Lab(new)) => {
            compare_lab_results(arguments, targets, [&base, &new])
        }
        (Input::Lab(_), Input::Run(_)) => Err(mismatch("BASE", "NEW")),
        (Input::Run(_), Input::Lab(_)) => Err(mismatch("NEW", "BASE")),
        (Input::Run(base), Input::Run(new)) => {
            let sides = [base, new];
            let report = compare_sides(arguments, &sides);
            show(targets, &report, &sides)?;
            ensure_usable_starts(&report)?;
            Ok(code(arguments, &report))
        }
    }
}

/// Fails if either side has no usable start: there is nothing to compare then.
fn ensure_usable_starts(report: &CompareReport) -> Result<()> {
    let sides = [("base", &report.base), ("new", &report.new)];
    match sides.iter().find(|(_, side)| side.counted_starts == 0) {
        Some((name, side)) => Err(Usage(format!(
            "nothing to compare: {} ({name}) has no usable start out of {}; `preheat report {}` shows why",
            side.source, side.starts, side.source
        ))
        .into()),
        None => Ok(()),
    }
}

fn mismatch(lab: &str, run: &str) -> anyhow::Error {
    Usage(format!(
        "{lab} is a `preheat lab` result and {run} is a `preheat run` result: compare two of the same type"
    ))
    .into()
}

/// A saved result that can be compared with another of its type.
enum Input {
    Lab(Box<LabReport>),
    Run(Side),
}

impl Input {
    fn read(source: &str, iterations: Option<&IterationRule>) -> Result<Input> {
        let path = Path::new(source);
        let content = match saved::read(path, iterations)? {
            Saved::Recording(recorded) => Content::Recording(Box::new(recorded.findings)),
            Saved::Document(Document::Run(report)) => Content::Document(report),
            Saved::Document(Document::Lab(report)) => return Ok(Input::Lab(report)),
            Saved::Document(Document::Comparison(report)) => {
                return Err(saved::is_comparison(path, &report).into());
            }
            Saved::Document(Document::Measurement(report)) => {
                return Err(saved::is_measurement(path, &report).into());
            }
        };
        Ok(Input::Run(Side {
            source: source.to_owned(),
            content,
        }))
    }
}

/// One side of a comparison of runs.
struct Side {
    source: String,
    content: Content,
}

/// The input of one side: a recording also has details and a timeline, a document does not.
enum Content {
    Recording(Box<Findings>),
    Document(Box<RunReport>),
}

impl Side {
    fn input(&self) -> RunInput<'_> {
        let (report, all_items) = match &self.content {
            Content::Recording(findings) => (&findings.report, Some(&findings.all_items)),
            Content::Document(report) => (&**report, None),
        };
        RunInput {
            source: &self.source,
            report,
            all_items,
        }
    }

    fn view(&self) -> Option<&preheat_model::run::RunView> {
        match &self.content {
            Content::Recording(findings) => Some(&findings.view),
            Content::Document(_) => None,
        }
    }
}

fn settings(arguments: &CompareArguments, kind: CompareKind) -> Settings {
    let mut settings = Settings::new(kind, env!("CARGO_PKG_VERSION"));
    settings.max_regression = arguments.max_regression;
    settings.gate.clone_from(&arguments.gate);
    settings.floors.bytes = arguments.min_memory;
    if let Some(seconds) = arguments.min_change {
        settings.floors.seconds = seconds;
        settings.floors.steady = seconds / 100.0;
    }
    settings
}

fn compare_sides(arguments: &CompareArguments, [base, new]: &[Side; 2]) -> CompareReport {
    let settings = settings(arguments, CompareKind::Runs);
    compare_runs(&base.input(), &new.input(), &settings)
}

fn show(
    targets: &Targets<DocumentFormat>,
    report: &CompareReport,
    [base, new]: &[Side; 2],
) -> Result<()> {
    let written = targets.write_comparison(report, [base.view(), new.view()]);
    // Write files first, so that a closed terminal does not lose them.
    let printed = targets.print(&compare_terminal(report, &output::stdout_terminal()));
    written.and(printed)
}

fn compare_lab_results(
    arguments: &CompareArguments,
    targets: &Targets<DocumentFormat>,
    [base, new]: [&LabReport; 2],
) -> Result<ExitCode> {
    let settings = settings(arguments, CompareKind::Lab);
    let report = compare_labs((&arguments.base, base), (&arguments.new, new), &settings);
    let written = targets.write_comparison(&report, [None, None]);
    let printed = targets.print(&compare_terminal(&report, &output::stdout_terminal()));
    written.and(printed)?;
    Ok(code(arguments, &report))
}

/// The exit code for the result of the comparison.
fn code(arguments: &CompareArguments, report: &CompareReport) -> ExitCode {
    if report.regressed {
        ExitCode::from(REGRESSED)
    } else if report.inconclusive && arguments.fail_on_inconclusive {
        ExitCode::from(INCONCLUSIVE)
    } else {
        ExitCode::SUCCESS
    }
}
