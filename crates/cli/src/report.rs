//! `preheat report`: shows a saved result again, or writes it to files.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use preheat_model::Document;
use preheat_report::{compare_terminal, lab_terminal, measurement_terminal, run_terminal};

use crate::args::ReportArguments;
use crate::exit::Usage;
use crate::output;
use crate::run::PAGE;
use crate::saved::{self, Saved};
use crate::show::{Targets, send};

pub fn run(arguments: &ReportArguments) -> Result<ExitCode> {
    let path = &arguments.file;
    let mut show = arguments.show.clone();
    if arguments.open && show.html.is_none() {
        if !path.is_dir() {
            return Err(
                Usage("--open needs --html FILE, unless it opens a directory".into()).into(),
            );
        }
        show.html = Some(path.join(PAGE));
    }
    let opened = show.html.clone().filter(|_| arguments.open);
    if opened.as_deref() == Some(Path::new("-")) {
        return Err(Usage("--open opens a file: --html - writes to standard output".into()).into());
    }
    let saved = saved::read(path, arguments.iterations.as_ref())?;
    let flag = match &saved {
        Saved::Recording(_) => None,
        Saved::Document(Document::Run(_)) => arguments.export.needs_recording(),
        Saved::Document(Document::Lab(_) | Document::Comparison(_) | Document::Measurement(_)) => {
            arguments.export.needs_run()
        }
    };
    if let Some(flag) = flag {
        return Err(Usage(format!(
            "{flag} needs a recording made by `preheat run`, and {} is not one",
            path.display()
        ))
        .into());
    }
    let terminal = output::stdout_terminal();
    match &saved {
        Saved::Recording(of) => {
            let targets = Targets::of_run(&show, &arguments.export)?;
            targets.write_run(&of.recording, &of.findings)?;
            let sent = send(&arguments.export, &of.recording, &of.findings)?;
            targets.print_or_name_files(|| run_terminal(&of.findings.report, &terminal))?;
            targets.print(&sent)?;
        }
        Saved::Document(Document::Run(report)) => {
            let targets = Targets::of_run_document(&show, &arguments.export)?;
            targets.write_run_document(report)?;
            targets.print_or_name_files(|| run_terminal(report, &terminal))?;
        }
        Saved::Document(Document::Lab(report)) => {
            let targets = Targets::of_document(&show)?;
            targets.write_lab(report)?;
            targets.print_or_name_files(|| lab_terminal(report, &terminal))?;
        }
        Saved::Document(Document::Comparison(report)) => {
            let targets = Targets::of_document(&show)?;
            targets.write_comparison(report, [None, None])?;
            targets.print_or_name_files(|| compare_terminal(report, &terminal))?;
        }
        Saved::Document(Document::Measurement(report)) => {
            let targets = Targets::of_document(&show)?;
            targets.write_measurement(report)?;
            targets.print_or_name_files(|| measurement_terminal(report, &terminal))?;
        }
    }
    if let Some(page) = opened {
        output::open(&page)?;
    }
    Ok(ExitCode::SUCCESS)
}
