//! `preheat lab`: flags → plan → run → analysis → renderings.

use std::process::ExitCode;

use anyhow::{Result, bail};
use preheat_analyze::lab::{CLAIMS, ExperimentId, LabReport, analyze};
use preheat_lab::{Plan, Request};
use preheat_report::{lab_html, lab_json, lab_terminal};

use crate::args::LabArguments;
use crate::exit;
use crate::output::{Target, print};
use crate::progress::Bar;
use crate::terminal;

pub fn run(arguments: &LabArguments) -> Result<ExitCode> {
    if arguments.list {
        print(&list())?;
        return Ok(ExitCode::SUCCESS);
    }
    let target = |flag, path: &Option<_>| {
        path.as_ref()
            .map(|path: &std::path::PathBuf| Target::open(flag, path))
            .transpose()
    };
    let json = target("--json", &arguments.json)?;
    let html = target("--html", &arguments.html)?;

    preheat_lab::install_interrupt();
    let plan = Plan::new(&request(arguments))?;
    for remark in &plan.remarks {
        eprintln!("preheat: {remark}");
    }
    let measured = {
        let bar = Bar::new();
        preheat_lab::run(&plan, command(), |progress| bar.draw(progress))?
    };
    let Some(report) = analyze(&measured, env!("CARGO_PKG_VERSION")) else {
        bail!("no device was measured");
    };

    let shown = lab_terminal(&report, &terminal::of_stdout());
    if [&json, &html].into_iter().flatten().any(Target::is_stdout) {
        eprint!("{shown}");
    } else {
        print(&shown)?;
    }
    // Each is tried even if the other fails: what was measured is kept.
    let written = [
        json.map(|target| target.write(&lab_json(&report))),
        html.map(|target| target.write(&lab_html(&report))),
    ];
    written.into_iter().flatten().collect::<Result<()>>()?;
    Ok(code(&report))
}

fn code(report: &LabReport) -> ExitCode {
    if preheat_lab::interrupted() {
        ExitCode::from(exit::INTERRUPTED)
    } else if report
        .experiments
        .iter()
        .all(|experiment| experiment.series.is_empty())
    {
        eprintln!(
            "preheat: nothing could be measured; `preheat doctor` shows what this machine has"
        );
        ExitCode::from(exit::FAILED)
    } else {
        ExitCode::SUCCESS
    }
}

fn request(arguments: &LabArguments) -> Request {
    Request {
        experiments: arguments.experiments.clone(),
        devices: arguments.device.clone(),
        framework: arguments.framework,
        python: arguments.python.clone(),
        starts: arguments.starts,
        quick: arguments.quick,
        seed: arguments.seed,
        budget: arguments.budget,
        start_limit: arguments.start_limit,
    }
}

/// The command line as it was given, without the directory of the program.
fn command() -> Vec<String> {
    std::iter::once("preheat".to_owned())
        .chain(
            std::env::args_os()
                .skip(1)
                .map(|argument| argument.to_string_lossy().into_owned()),
        )
        .collect()
}

fn list() -> String {
    let mut text = String::from("Experiments:\n");
    for id in ExperimentId::ALL {
        text.push_str(&format!("  {:<19} {}\n", id.id(), id.title()));
    }
    text.push_str("\nClaims:\n");
    for claim in CLAIMS {
        text.push_str(&format!("  {:>2}  {}\n", claim.id, claim.text));
    }
    text
}
