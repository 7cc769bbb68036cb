//! `preheat classify`: iteration times from elsewhere, judged.

mod files;
mod input;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use preheat_analyze::classify::{CLASSIFY_SCHEMA, ClassifyReport, Unread};
use preheat_report::{ClassifySketch, classify_html, classify_json, classify_terminal};

use crate::args::ClassifyArguments;
use crate::exit::{USAGE, complain};
use crate::show::Targets;
use crate::terminal;
use files::Judged;
use input::Input;

/// So many files that cannot be read are told one by one.
const TOLD: usize = 20;

pub fn run(arguments: &ClassifyArguments) -> Result<ExitCode> {
    let inputs = Input::of(&arguments.files)?;
    let targets = Targets::of(&[
        ("--json", arguments.show.json.as_deref()),
        ("--html", arguments.show.html.as_deref()),
    ])?;
    targets.spare(arguments.files.iter().map(PathBuf::as_path))?;
    let (report, sketches) = gathered(arguments, &inputs);
    if !report.benchmarks.is_empty() || !report.unread.is_empty() {
        let written = targets.write(|flag| match flag {
            "--json" => classify_json(&report).into_bytes(),
            _ => classify_html(&report, &sketches).into_bytes(),
        });
        let printed = match report.benchmarks.len() {
            0 => Ok(()),
            _ => targets.print(&classify_terminal(&report, &terminal::of_stdout())),
        };
        written.and(printed)?;
    }
    Ok(told(&report.unread))
}

/// Everything that was judged, in the order of the files.
fn gathered(
    arguments: &ClassifyArguments,
    inputs: &[Input],
) -> (ClassifyReport, Vec<Option<ClassifySketch>>) {
    let mut report = ClassifyReport {
        schema: CLASSIFY_SCHEMA.to_owned(),
        preheat: env!("CARGO_PKG_VERSION").to_owned(),
        seed: arguments.seed,
        files: inputs.len(),
        benchmarks: Vec::new(),
        unread: Vec::new(),
        notes: Vec::new(),
    };
    let mut sketches = Vec::new();
    for (input, judged) in inputs.iter().zip(files::judge(arguments, inputs)) {
        let Judged {
            benchmarks,
            sketches: own,
            notes,
            failure,
        } = judged;
        report.benchmarks.extend(benchmarks);
        sketches.extend(own);
        let of_file = |note| format!("{}: {note}", input.label());
        report.notes.extend(notes.into_iter().map(of_file));
        report.unread.extend(failure.map(|why| Unread {
            file: input.label(),
            why,
        }));
    }
    (report, sketches)
}

/// What could not be read, on standard error.
fn told(unread: &[Unread]) -> ExitCode {
    for Unread { file, why } in unread.iter().take(TOLD) {
        complain(&format!("{file}: {why}"));
    }
    if unread.len() > TOLD {
        let more = unread.len() - TOLD;
        complain(&format!("{more} more files could not be read"));
    }
    match unread.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(USAGE),
    }
}
