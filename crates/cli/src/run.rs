//! `preheat run`: flags → recorded starts → analysis → renderings.
//!
//! Standard output belongs to the command; preheat prints to standard error.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use preheat_analyze::run::{Findings, analyze};
use preheat_launch::{LaunchError, Recorded, Request};
use preheat_model::run::Manifest;
use preheat_report::{run_html, run_terminal, text_width};

use crate::args::RunArguments;
use crate::exit::{Usage, complain};
use crate::progress::{Bar, Progress};
use crate::show::{RunFormat, Targets, send};
use crate::{output, recorded};

/// The HTML page in every recording.
pub const PAGE: &str = "report.html";

pub fn run(arguments: &RunArguments) -> Result<ExitCode> {
    let targets = Targets::of_run(&arguments.show, &arguments.export)?;
    if targets.use_stdout() {
        return Err(Usage(
            "standard output belongs to the command: name a file, or use `preheat report` afterwards"
                .into(),
        )
        .into());
    }
    let stem = format!("preheat-{}", name(&arguments.command));
    let output = output::directory(arguments.output.as_deref(), &stem)?;
    let request = request(arguments, &output);

    let recorded = {
        let bar = Bar::new();
        preheat_launch::record(&request, |progress| {
            // The first start may use the terminal, so no progress bar is drawn.
            if progress.done > 0 && !arguments.all_output {
                bar.draw(&Progress::from(progress));
            }
        })
    };
    let recorded = match recorded {
        Ok(recorded) => recorded,
        Err(why) => return Ok(failed(&why, &output)),
    };
    let code = code(&recorded.manifest);

    if let Some(why) = lost(&recorded, &output) {
        complain(&why);
        let succeeded = recorded
            .manifest
            .starts
            .iter()
            .all(|start| start.exit_code == 0);
        return Ok(if succeeded { ExitCode::from(125) } else { code });
    }

    // The command has run: from here on, errors do not change the exit code.
    if let Err(why) = show(&targets, &output, &recorded, arguments) {
        complain(&format!("{why:#}"));
    }
    Ok(code)
}

/// The message if the recording could not be written.
fn lost(recorded: &Recorded, output: &Path) -> Option<String> {
    if output.join("recording.json").exists() {
        return None;
    }
    let starts = match recorded.manifest.starts.len() {
        1 => "one start".to_owned(),
        count => format!("{count} starts"),
    };
    Some(format!(
        "the recording of {starts} is lost: {}. The command has run; use --output to choose a \
         directory on another disk",
        why_unsaved(recorded)
    ))
}

fn why_unsaved(recorded: &Recorded) -> &str {
    let why = recorded.unsaved.as_deref();
    why.unwrap_or("recording.json could not be written")
}

/// A note on the starts after the last one for which `recording.json` was written.
fn lost_starts(recorded: &Recorded, saved: &Manifest) -> Option<String> {
    let all = recorded.manifest.starts.len();
    let lost = all.saturating_sub(saved.starts.len());
    (lost > 0).then(|| {
        format!(
            "Recordings of starts are lost ({lost} of {all}): {}; use --output to choose a \
             directory on another disk.",
            why_unsaved(recorded)
        )
    })
}

/// Shows the recording that was just written, as `preheat report` would.
fn show(
    targets: &Targets<RunFormat>,
    output: &Path,
    recorded: &Recorded,
    arguments: &RunArguments,
) -> Result<()> {
    let mut recording = recorded::read(output)?;
    let lost = lost_starts(recorded, &recording.manifest);
    recording.manifest.notes.extend(lost);
    let findings = analyze(&recording);
    let written = targets.write_run(&recording, &findings);
    let page = output.join(PAGE);
    let paged = fs::write(&page, run_html(&findings.report, &findings.view))
        .with_context(|| format!("{} could not be written", page.display()));
    if !arguments.quiet {
        print_report(&findings, output, paged.is_ok().then_some(&page), targets);
    }
    let sent = send(&arguments.export, &recording, &findings).map(|line| {
        if !arguments.quiet {
            let _ = io::stderr().write_all(line.as_bytes());
        }
    });
    let opened = match arguments.open && paged.is_ok() {
        true => output::open(&page),
        false => Ok(()),
    };
    written.and(paged).and(sent).and(opened)
}

/// Prints the terminal report.
fn print_report(
    findings: &Findings,
    output: &Path,
    page: Option<&PathBuf>,
    targets: &Targets<RunFormat>,
) {
    let terminal = output::stderr_terminal();
    let mut text = String::from("\n");
    text.push_str(&run_terminal(&findings.report, &terminal));
    if let Some(page) = page {
        text.push_str(&format!("\nreport     {}\n", page.display()));
    }
    text.push_str(&directory_line("recording  ", output, "it", terminal.width));
    text.push_str(&targets.files());
    // A closed standard error must not change the exit code.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// The line with a directory and the command that shows its contents again, on a second line
/// if the terminal is narrow.
pub fn directory_line(label: &str, directory: &Path, what: &str, width: usize) -> String {
    let line = format!("{label}{}", directory.display());
    let hint = format!(
        "(`preheat report {}` shows {what} again)",
        directory.display()
    );
    match text_width(&line) + 3 + text_width(&hint) <= width {
        true => format!("{line}   {hint}\n"),
        false => format!("{line}\n{}{hint}\n", " ".repeat(text_width(label))),
    }
}

/// Reports that the command could not be started, and removes the empty recording.
fn failed(why: &LaunchError, output: &Path) -> ExitCode {
    complain(&why.to_string());
    // Fails if the directory is not empty.
    let _ = fs::remove_dir(output);
    ExitCode::from(why.exit_code())
}

/// The exit code of the first start that failed, else 0.
fn code(manifest: &Manifest) -> ExitCode {
    let failed = manifest.starts.iter().find(|start| start.exit_code != 0);
    ExitCode::from(failed.map_or(0, |start| (start.exit_code & 0xff) as u8))
}

/// A short name for the command: `train` for `python -u src/train.py`, `serve` for
/// `python -m serve`, else the name of the program. `preheat start` and `env` are named after
/// the command that they start.
pub fn name(command: &[OsString]) -> String {
    let stem = |path: &OsStr| {
        Path::new(path)
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let mut words = command.iter();
    let program = words
        .next()
        .map(|program| stem(program))
        .unwrap_or_default();
    let is_start = program == "preheat" && command.get(1).is_some_and(|word| word == "start");
    if let Some(at) = command.iter().position(|word| word == "--")
        && is_start
    {
        return name(&command[at + 1..]);
    }
    // Options of `env` can have arguments, so it keeps its own name with one.
    let is_assignment = |word: &OsString| word.to_string_lossy().contains('=');
    let started = command.iter().skip(1).position(|word| !is_assignment(word));
    if let ("env", Some(at)) = (program.as_str(), started)
        && !command[at + 1].to_string_lossy().starts_with('-')
    {
        return name(&command[at + 1..]);
    }
    let mut name = program.clone();
    if program.starts_with("python") {
        while let Some(word) = words.next() {
            if word == "-m" {
                name = words
                    .next()
                    .map_or(program, |module| module.to_string_lossy().into_owned());
                break;
            }
            if word == "-c" || word == "-" {
                break;
            }
            if !word.to_string_lossy().starts_with('-') {
                name = stem(word);
                break;
            }
        }
    }
    name.retain(|c| c.is_alphanumeric() || "._-".contains(c));
    if name.is_empty() {
        "command".to_owned()
    } else {
        name
    }
}

fn request<'a>(arguments: &RunArguments, output: &Path) -> Request<'a> {
    let mut temperatures = arguments.temperature.clone();
    temperatures.sort();
    temperatures.dedup();
    let command = arguments.command.clone();
    Request {
        starts: arguments.starts,
        budget: arguments.budget,
        temperatures,
        iterations: arguments.iterations.clone(),
        limit: arguments.limit << 20,
        synchronize: arguments.synchronize,
        seed: arguments.seed,
        output_of_all: arguments.all_output,
        ..Request::new(command, output.to_path_buf(), &preheat_trace::files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_that_does_not_fit_has_its_own_line() {
        let of = |name: &str| directory_line("recording  ", Path::new(name), "it", 80);
        assert_eq!(
            of("preheat-train"),
            "recording  preheat-train   (`preheat report preheat-train` shows it again)\n"
        );
        assert_eq!(
            of("preheat-train_initialized"),
            "recording  preheat-train_initialized\n           \
             (`preheat report preheat-train_initialized` shows it again)\n"
        );
    }

    #[test]
    fn a_recording_is_named_after_what_is_run() {
        let name = |line: &str| name(&line.split(' ').map(Into::into).collect::<Vec<_>>());
        assert_eq!(name("python -u src/train.py --epochs 3"), "train");
        assert_eq!(name("bin/preheat start -v -- python train.py"), "train");
        assert_eq!(name("preheat start"), "preheat");
        assert_eq!(name("/bin/env A=1 B=x.py python train.py"), "train");
        assert_eq!(name("env -u A python train.py"), "env");
        assert_eq!(name("env A=1"), "env");
        assert_eq!(name("/usr/bin/python3.11 -m mine.serve"), "mine.serve");
        assert_eq!(name("python -c pass"), "python");
        assert_eq!(name("./build/infer model.onnx"), "infer");
        assert_eq!(name("/"), "command");
    }
}
