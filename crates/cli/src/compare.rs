//! `preheat compare`: two kept results, or two commands run in turn → what changed.

mod live;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use preheat_analyze::compare::{
    CompareKind, CompareReport, RunInput, Settings, compare_labs, compare_runs,
};
use preheat_analyze::lab::LabReport;
use preheat_analyze::run::{Findings, RunReport};
use preheat_report::{compare_html, compare_json, compare_terminal};

use crate::args::CompareArguments;
use crate::exit::{INCONCLUSIVE, REGRESSED, Usage};
use crate::kept::{self, Kept};
use crate::show::Targets;
use crate::{terminal, words};

pub fn run(arguments: &CompareArguments) -> Result<ExitCode> {
    let show = &arguments.show;
    let targets = Targets::of(&[
        ("--json", show.json.as_deref()),
        ("--html", show.html.as_deref()),
    ])?;
    let (base, new) = (&arguments.base, &arguments.new);
    targets.spare([Path::new(base), Path::new(new)])?;
    match (is_kept(base), is_kept(new)) {
        (true, true) => of_kept(arguments, &targets),
        (false, false) => live::run(
            arguments,
            [command("BASE", base)?, command("NEW", new)?],
            &targets,
        ),
        (kept, _) => {
            let (kept, command) = if kept { (base, new) } else { (new, base) };
            Err(Usage(format!(
                "{kept} is a kept result and `{command}` a command: compare two kept results, or two commands (`preheat run` keeps one's result)"
            ))
            .into())
        }
    }
}

/// A directory, a JSON file, or a file that begins as one.
fn is_kept(argument: &str) -> bool {
    let path = Path::new(argument);
    let is_json = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    if argument == "-" || kept::is_recording(path) || (is_json && !argument.contains(' ')) {
        return true;
    }
    // Only a plain file is looked into: what a pipe holds can be read only once.
    let mut head = [0; 64];
    let read = || fs::File::open(path)?.read(&mut head);
    let length = path.is_file().then(read).and_then(Result::ok).unwrap_or(0);
    head[..length].trim_ascii_start().first() == Some(&b'{')
}

fn command(place: &str, text: &str) -> Result<Vec<String>> {
    let split = words::split(text);
    Ok(split.map_err(|why| Usage(format!("{place} is no command that can be run: {why}")))?)
}

fn of_kept(arguments: &CompareArguments, targets: &Targets) -> Result<ExitCode> {
    if let Some(flag) = arguments.live.given() {
        return Err(Usage(format!(
            "{flag} is for commands that are run, and {} and {} are kept results",
            arguments.base, arguments.new
        ))
        .into());
    }
    if arguments.base == "-" && arguments.new == "-" {
        return Err(Usage("standard input can be only one of the two".into()).into());
    }
    let read = |argument: &str| kept::read(Path::new(argument), arguments.iterations.as_deref());
    let base = Side::of(&arguments.base, read(&arguments.base)?);
    let new = Side::of(&arguments.new, read(&arguments.new)?);
    match (base, new) {
        (Err(base), Err(new)) => of_labs(arguments, targets, [&base, &new]),
        (Err(_), Ok(_)) => Err(kinds("BASE", "NEW")),
        (Ok(_), Err(_)) => Err(kinds("NEW", "BASE")),
        (Ok(base), Ok(new)) => {
            let sides = [base, new];
            let report = compared(arguments, &sides);
            show(targets, &report, &sides)?;
            something(&report)?;
            Ok(code(arguments, &report))
        }
    }
}

/// A side of which no start counts is no result, whatever the other one says.
fn something(report: &CompareReport) -> Result<()> {
    let sides = [("base", &report.base), ("new", &report.new)];
    match sides.iter().find(|(_, side)| side.counted_starts == 0) {
        Some((name, side)) => Err(Usage(format!(
            "nothing to compare: no start of {name} counts, of {} in {}; `preheat report {}` shows what became of them",
            side.starts, side.source, side.source
        ))
        .into()),
        None => Ok(()),
    }
}

fn kinds(lab: &str, run: &str) -> anyhow::Error {
    Usage(format!(
        "{lab} is a result of `preheat lab` and {run} one of `preheat run`: compare two of a kind"
    ))
    .into()
}

/// One side of a comparison of runs.
struct Side {
    source: String,
    /// What a recording shows; of a document only its report.
    shows: Shows,
}

enum Shows {
    Recording(Box<Findings>),
    Document(Box<RunReport>),
}

impl Side {
    /// A run; a result of the lab is no side of it.
    fn of(source: &str, kept: Kept) -> Result<Side, Box<LabReport>> {
        let shows = match kept {
            Kept::Recording(recorded) => Shows::Recording(Box::new(recorded.findings)),
            Kept::Run(report) => Shows::Document(report),
            Kept::Lab(report) => return Err(report),
        };
        Ok(Side {
            source: source.to_owned(),
            shows,
        })
    }

    fn input(&self) -> RunInput<'_> {
        let (report, behind) = match &self.shows {
            Shows::Recording(findings) => (&findings.report, Some(&findings.behind)),
            Shows::Document(report) => (&**report, None),
        };
        RunInput {
            source: &self.source,
            report,
            behind,
        }
    }

    fn view(&self) -> Option<&preheat_analyze::run::RunView> {
        match &self.shows {
            Shows::Recording(findings) => Some(&findings.view),
            Shows::Document(_) => None,
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

fn compared(arguments: &CompareArguments, [base, new]: &[Side; 2]) -> CompareReport {
    let settings = settings(arguments, CompareKind::Runs);
    compare_runs(&base.input(), &new.input(), &settings)
}

fn show(targets: &Targets, report: &CompareReport, [base, new]: &[Side; 2]) -> Result<()> {
    let written = targets.write(|flag| match flag {
        "--json" => compare_json(report).into_bytes(),
        _ => compare_html(report, base.view(), new.view()).into_bytes(),
    });
    // Files first: a terminal that is gone must not cost them.
    let printed = targets.print(&compare_terminal(report, &terminal::of_stdout()));
    written.and(printed)
}

fn of_labs(
    arguments: &CompareArguments,
    targets: &Targets,
    [base, new]: [&LabReport; 2],
) -> Result<ExitCode> {
    let settings = settings(arguments, CompareKind::Lab);
    let report = compare_labs((&arguments.base, base), (&arguments.new, new), &settings);
    let written = targets.write(|flag| match flag {
        "--json" => compare_json(&report).into_bytes(),
        _ => compare_html(&report, None, None).into_bytes(),
    });
    let printed = targets.print(&compare_terminal(&report, &terminal::of_stdout()));
    written.and(printed)?;
    Ok(code(arguments, &report))
}

/// What the comparison says to a pipeline.
fn code(arguments: &CompareArguments, report: &CompareReport) -> ExitCode {
    if report.regressed {
        ExitCode::from(REGRESSED)
    } else if report.inconclusive && arguments.fail_on_inconclusive {
        ExitCode::from(INCONCLUSIVE)
    } else {
        ExitCode::SUCCESS
    }
}
