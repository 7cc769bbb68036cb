//! `preheat classify`: classifies iteration times from other tools.

mod files;
mod input;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use preheat_model::classify::{CLASSIFY_SCHEMA, ClassifyReport, Unread};
use preheat_report::{ClassifySketch, classify_html, classify_json, classify_terminal};

use crate::args::ClassifyArguments;
use crate::exit::{USAGE, complain};
use crate::show::{Document, Targets};
use crate::terminal;
use files::FileResult;
use input::Input;

/// The maximum number of unreadable files to report individually.
const MAX_ERRORS: usize = 20;

pub fn run(arguments: &ClassifyArguments) -> Result<ExitCode> {
    let inputs = Input::of(&arguments.files)?;
    let targets = Targets::of_document(&arguments.show)?;
    targets.spare(arguments.files.iter().map(PathBuf::as_path))?;
    let (report, sketches) = gather(arguments, &inputs);
    if !report.benchmarks.is_empty() || !report.unread.is_empty() {
        let written = targets.write(|format| match format {
            Document::Json => classify_json(&report).into_bytes(),
            Document::Html => classify_html(&report, &sketches).into_bytes(),
        });
        let printed = match report.benchmarks.len() {
            0 => Ok(()),
            _ => targets.print(&classify_terminal(&report, &terminal::of_stdout())),
        };
        written.and(printed)?;
    }
    Ok(report_errors(&report.unread))
}

/// Classifies all inputs and merges the results in the order of the files.
fn gather(
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
    for (input, result) in inputs.iter().zip(files::classify_all(arguments, inputs)) {
        let FileResult {
            benchmarks,
            sketches: of_file,
            notes,
            failure,
        } = result;
        report.benchmarks.extend(benchmarks);
        sketches.extend(of_file);
        let labelled = |note| format!("{}: {note}", input.label());
        report.notes.extend(notes.into_iter().map(labelled));
        report.unread.extend(failure.map(|why| Unread {
            file: input.label(),
            why,
        }));
    }
    (report, sketches)
}

/// Prints the files that could not be read to standard error, and chooses the exit code.
fn report_errors(unread: &[Unread]) -> ExitCode {
    for Unread { file, why } in unread.iter().take(MAX_ERRORS) {
        complain(&format!("{file}: {why}"));
    }
    if unread.len() > MAX_ERRORS {
        let more = unread.len() - MAX_ERRORS;
        complain(&format!("{more} more files could not be read"));
    }
    match unread.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(USAGE),
    }
}
