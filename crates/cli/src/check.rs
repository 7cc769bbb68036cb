//! `preheat check`: checks a recording against its budget.
//!
//! The flags, the budget and the output files are validated before the recording is read.

mod budget;
mod init;

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use preheat_analyze::check::check;
use preheat_model::check::{CheckReport, CheckSettings, Verdict};
use preheat_model::run::RunReport;
use preheat_report::{
    check_benchmark_action, check_bmf, check_github, check_json, check_junit, check_markdown,
    check_terminal,
};

use crate::args::{CheckArguments, ResultArguments};
use crate::exit::{self, Usage, complain};
use crate::kept::{self, Saved};
use crate::show::{Format, Targets};
use crate::terminal;

pub fn run(arguments: &CheckArguments) -> Result<ExitCode> {
    if arguments.init {
        return init::run(arguments);
    }
    let (budget, file) = budget::of(arguments)?;
    let results = &arguments.results;
    let targets = targets(results)?;
    let inputs = [Some(arguments.recording.as_path()), file.as_deref()];
    targets.spare(inputs.into_iter().flatten())?;
    let run = read(arguments)?;
    let settings = CheckSettings {
        allow_missing: arguments.allow_missing,
        fail_on_inconclusive: arguments.fail_on_inconclusive,
    };
    let mut report = check(&run, &budget, settings).map_err(|why| Usage(why.to_string()))?;
    env!("CARGO_PKG_VERSION").clone_into(&mut report.preheat);
    report.name = name(arguments, &run);
    report.recording = arguments.recording.display().to_string();
    report.budget = file.map(|path| path.display().to_string());
    show(&report, results, &targets)?;
    Ok(code(&report))
}

/// The report of the run. A recording is analyzed again; a document is used unchanged.
fn read(arguments: &CheckArguments) -> Result<RunReport> {
    let path = &arguments.recording;
    match kept::read(path, arguments.iterations.as_deref())? {
        Saved::Recording(recorded) => Ok(recorded.findings.report),
        Saved::Run(report) => Ok(*report),
        Saved::Lab(_) => Err(Usage(format!(
            "{} is a lab result, but budgets are for programs; name a recording made by `preheat run`",
            path.display()
        ))
        .into()),
    }
}

/// The formats of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckFormat {
    Json,
    Junit,
    Markdown,
    Bmf,
    BenchmarkAction,
}

impl Format for CheckFormat {
    fn flag(self) -> &'static str {
        match self {
            CheckFormat::Json => "--json",
            CheckFormat::Junit => "--junit",
            CheckFormat::Markdown => "--markdown",
            CheckFormat::Bmf => "--bmf",
            CheckFormat::BenchmarkAction => "--benchmark-action",
        }
    }
}

fn targets(results: &ResultArguments) -> Result<Targets<CheckFormat>> {
    Targets::of(&[
        (CheckFormat::Json, results.json.as_deref()),
        (CheckFormat::Junit, results.junit.as_deref()),
        (CheckFormat::Markdown, results.markdown.as_deref()),
        (CheckFormat::Bmf, results.bmf.as_deref()),
        (
            CheckFormat::BenchmarkAction,
            results.benchmark_action.as_deref(),
        ),
    ])
}

/// The program's name in exports.
fn name(arguments: &CheckArguments, run: &RunReport) -> String {
    let words = || run.command.iter().map(OsString::from).collect::<Vec<_>>();
    let given = arguments.results.name.clone();
    given.unwrap_or_else(|| crate::run::name(&words()))
}

/// Writes the files, then the terminal output and the GitHub annotations.
fn show(
    report: &CheckReport,
    results: &ResultArguments,
    targets: &Targets<CheckFormat>,
) -> Result<()> {
    let written = targets.write(|format| {
        let text = match format {
            CheckFormat::Json => check_json(report),
            CheckFormat::Junit => check_junit(report),
            CheckFormat::Markdown => check_markdown(report),
            CheckFormat::Bmf => check_bmf(report),
            CheckFormat::BenchmarkAction => check_benchmark_action(report),
        };
        text.into_bytes()
    });
    let mut text = check_terminal(report, &terminal::of_stdout());
    if results.github {
        text.push_str(&check_github(report));
        summarize(report);
    }
    let printed = targets.print(&text);
    written.and(printed)
}

/// Appends to the GitHub job summary. A summary that cannot be written must not fail the build.
fn summarize(report: &CheckReport) {
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
        return;
    };
    let path = Path::new(&path);
    let file = OpenOptions::new().append(true).create(true).open(path);
    let written = file.and_then(|mut file| file.write_all(check_markdown(report).as_bytes()));
    if let Err(why) = written {
        complain(&format!(
            "could not write the summary {}: {why}",
            path.display()
        ));
    }
}

fn code(report: &CheckReport) -> ExitCode {
    match report.verdict {
        Verdict::Fail => ExitCode::from(exit::REGRESSED),
        Verdict::Inconclusive if report.settings.fail_on_inconclusive => {
            ExitCode::from(exit::INCONCLUSIVE)
        }
        _ => ExitCode::SUCCESS,
    }
}
