//! `preheat lab`: flags → plan → run → analysis → renderings.

use std::process::ExitCode;

use anyhow::{Result, bail};
use preheat_analyze::lab::{CLAIMS, analyze};
use preheat_host::interrupt;
use preheat_lab::{Plan, Request};
use preheat_model::lab::{ExperimentId, LabReport};

use crate::args::LabArguments;
use crate::exit::{self, complain};
use crate::output::print;
use crate::progress::Bar;
use crate::show::Targets;

pub fn run(arguments: &LabArguments) -> Result<ExitCode> {
    if arguments.list {
        print(list().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let targets = Targets::of_document(&arguments.show)?;

    interrupt::install();
    let plan = Plan::new(&request(arguments));
    if interrupt::interrupted() {
        return Ok(nothing_yet());
    }
    let plan = plan?;
    for remark in &plan.remarks {
        complain(remark);
    }
    let measured = {
        let bar = Bar::new();
        preheat_lab::run(&plan, command(), |progress| bar.draw(&progress.into()))?
    };
    if interrupt::interrupted() && measured.setups.iter().all(|setup| setup.starts.is_empty()) {
        return Ok(nothing_yet());
    }
    let Some(report) = analyze(&measured, env!("CARGO_PKG_VERSION")) else {
        bail!("no device was measured");
    };

    targets.show_lab(&report)?;
    Ok(code(&report))
}

/// Interrupted before anything was measured; existing output files stay unchanged.
fn nothing_yet() -> ExitCode {
    complain("interrupted before anything was measured");
    ExitCode::from(exit::INTERRUPTED)
}

fn code(report: &LabReport) -> ExitCode {
    if interrupt::interrupted() {
        ExitCode::from(exit::INTERRUPTED)
    } else if report
        .experiments
        .iter()
        .all(|experiment| experiment.series.is_empty())
    {
        complain("nothing could be measured; `preheat doctor` shows what this machine has");
        ExitCode::from(exit::FAILED)
    } else {
        ExitCode::SUCCESS
    }
}

fn request(arguments: &LabArguments) -> Request {
    Request {
        experiments: arguments.experiments.clone(),
        devices: arguments.device.clone(),
        frameworks: arguments.framework,
        python: arguments.python.clone(),
        starts: arguments.starts,
        quick: arguments.quick,
        seed: arguments.seed,
        budget: arguments.budget,
        start_limit: arguments.start_limit,
    }
}

/// The command line, with `preheat` in place of the path of the program.
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
