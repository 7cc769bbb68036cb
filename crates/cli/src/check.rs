//! `preheat check`: checks a recording against its budget.
//!
//! The flags, the budget and the output files are validated before the recording is read.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use preheat_analyze::check::{Budget, check, draft};
use preheat_model::Document;
use preheat_model::check::{CheckReport, CheckSettings, Verdict};
use preheat_model::run::RunReport;
use preheat_report::{
    check_benchmark_action, check_bmf, check_draft, check_github, check_json, check_junit,
    check_markdown, check_terminal,
};

use crate::args::{CheckArguments, LimitArguments, ResultArguments};
use crate::exit::{self, Usage, complain};
use crate::output::{print, stdout_terminal};
use crate::saved::{self, Saved};
use crate::show::{Format, Targets};

pub fn run(arguments: &CheckArguments) -> Result<ExitCode> {
    if arguments.init {
        return write_draft(arguments);
    }
    let (budget, file) = budget(arguments)?;
    if arguments.validate {
        return Ok(ExitCode::SUCCESS);
    }
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
    let why = match saved::read(path, arguments.iterations.as_ref())? {
        Saved::Recording(recorded) => return Ok(recorded.findings.report),
        Saved::Document(Document::Run(report)) => return Ok(*report),
        Saved::Document(Document::Lab(_)) => Usage(format!(
            "{} is a lab result, but budgets are for programs; name a recording made by `preheat run`",
            path.display()
        )),
        Saved::Document(Document::Comparison(report)) => saved::is_comparison(path, &report),
        Saved::Document(Document::Measurement(report)) => saved::is_measurement(path, &report),
    };
    Err(why.into())
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
    let mut text = check_terminal(report, &stdout_terminal());
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
        Verdict::Inconclusive | Verdict::Pass | Verdict::NotMeasured => ExitCode::SUCCESS,
    }
}

// `preheat check --init`: writes a budget derived from a recording.

fn write_draft(arguments: &CheckArguments) -> Result<ExitCode> {
    let path = arguments
        .budget
        .as_deref()
        .unwrap_or(Path::new(DEFAULT_FILE));
    let to_stdout = path == Path::new("-");
    if !to_stdout && !arguments.force && fs::symlink_metadata(path).is_ok() {
        return Err(already_exists(path).into());
    }
    let report = read(arguments)?;
    let draft = draft(&report, arguments.headroom).map_err(|why| {
        Usage(format!(
            "cannot derive a budget from {}: {why}",
            arguments.recording.display()
        ))
    })?;
    let text = check_draft(&draft, &report);
    if to_stdout {
        print(text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    write(path, &text, arguments.force)?;
    let recording = arguments.recording.display();
    let budget = match &arguments.budget {
        Some(path) => format!(" --budget {}", path.display()),
        None => String::new(),
    };
    print(
        format!(
            "Wrote {}: {} limits, {:.0} % above the measured values.\nCheck them with `preheat check {recording}{budget}`.\n",
            path.display(),
            draft.lines.len(),
            draft.headroom * 100.0,
        )
        .as_bytes(),
    )?;
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, text: &str, force: bool) -> Result<()> {
    if force {
        return fs::write(path, text)
            .with_context(|| format!("could not write {}", path.display()));
    }
    // Another process may have created it since.
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    match file.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(()),
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Err(already_exists(path).into()),
        Err(why) => Err(Usage(format!(
            "cannot write {}: {why}; use --budget to choose another file",
            path.display()
        ))
        .into()),
    }
}

fn already_exists(path: &Path) -> Usage {
    Usage(format!(
        "{} already exists; use --force to overwrite it or --budget to choose another file",
        path.display()
    ))
}

// Loads the budget from a file, overridden by flags.

/// The default budget file.
const DEFAULT_FILE: &str = "preheat.toml";
/// The maximum size. A budget has a few dozen lines; a larger file is something else.
const MAX_BYTES: u64 = 1 << 20;

/// The budget and its file, if it has one.
fn budget(arguments: &CheckArguments) -> Result<(Budget, Option<PathBuf>)> {
    let file = arguments.budget.clone().or_else(|| {
        let usual = PathBuf::from(DEFAULT_FILE);
        usual.exists().then_some(usual)
    });
    let mut budget = match &file {
        Some(path) => read_budget(path, &arguments.recording)?,
        None => Budget::default(),
    };
    budget.override_with(flags(&arguments.limits));
    if budget.is_empty() {
        let what = match &file {
            Some(path) => format!("{} sets no limit", path.display()),
            None => {
                format!("no budget: {DEFAULT_FILE} does not exist here and no flag sets a limit")
            }
        };
        return Err(Usage(format!(
            "{what}; `preheat check --init {}` writes a budget, or use a flag such as --time-to-first 2s",
            arguments.recording.display()
        ))
        .into());
    }
    Ok((budget, file))
}

fn read_budget(path: &Path, recording: &Path) -> Result<Budget> {
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
        io::stdin()
            .lock()
            .take(MAX_BYTES + 1)
            .read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
    };
    read.map_err(|why| {
        Usage(format!(
            "cannot read the budget {file}: {why}; `preheat check --init` writes one"
        ))
    })?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Usage(format!(
            "{file} is not a budget: it is larger than {} KiB",
            MAX_BYTES >> 10
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
